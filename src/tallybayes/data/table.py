"""Reading input: any supported table becomes a `Table`, without copying its numbers.

A `Table` is one numeric matrix, one sparse matrix, or a tuple of columns. It knows nothing of models.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

import numpy as np

from tallybayes.data.frame_columns import (
    category_column,
    frame_column,
    from_ticks,
    has_arrow,
    series_objects,
)
from tallybayes.data.raw_column import (
    RawColumn,
    all_exact,
    arrow_of,
    check_arrow,
    complex_numbers,
    is_missing,
    missing_as_none,
    object_column,
)
from tallybayes.data.sparse import read_sparse
from tallybayes.errors import NestedValueError, TableError, brief
from tallybayes.utils.array_types import Array
from tallybayes.utils.lazy_imports import nw

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

BOOLEAN = np.dtype(bool)
ARROW_NUMBERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)} | {"float", "double"}
TEXT_AS_DICTIONARY = {
    b"tallybayes.text": b"dictionary"
}  # metadata of an Arrow field: its values, not its dictionary, count
MAX_COPIED_ROWS = 1000  # a pandas frame of at most so many rows is copied into one block
Container = Literal["numpy", "sparse", "pandas", "polars", "pyarrow", "rows"]


@dataclass(frozen=True, slots=True)
class Table:
    """An input table: `matrix`, `csr` or `columns`, whichever is not None.

    Parameters
    ----------
    n : int
        Number of rows.
    d : int
        Number of columns.
    container : {'numpy', 'sparse', 'pandas', 'polars', 'pyarrow', 'rows'}
        The type of the input.
    names : tuple of str, default=None
        The names of the columns, where they have names.
    matrix : ndarray of shape (n, d), default=None
        A table that is a matrix.
    csr : scipy sparse matrix, default=None
        A table that is sparse.
    columns : tuple of RawColumn, default=None
        A table of columns.
    """

    n: int
    d: int
    container: Container
    names: tuple[str, ...] | None = None
    matrix: Array | None = None
    csr: Any = None
    columns: tuple[RawColumn, ...] | None = None

    def name(self, j: int) -> str:
        """The name of a column.

        Parameters
        ----------
        j : int
            Its position.

        Returns
        -------
        str
            Its name, or 'x0', 'x1', … where columns have no names.
        """
        return self.names[j] if self.names is not None else f"x{j}"

    def values(self, j: int) -> list[Any]:
        """A column as plain Python values.

        Parameters
        ----------
        j : int
            Its position.

        Returns
        -------
        list
            One value for each row; None is missing.
        """
        if self.columns is not None:
            return self.columns[j].plain()
        found = self.csr[:, [j]].toarray().ravel() if self.matrix is None else self.matrix[:, j]
        return [None if v != v else v for v in found.tolist()]


def read_table(X: object) -> Table:
    """Read NumPy arrays, scipy sparse matrices, pandas, polars and pyarrow tables, and rows as dicts."""
    if isinstance(X, Table):
        return X
    if type(X) is np.ndarray and _is_matrix(X):
        return _from_matrix(X)
    if _is_sparse(X):
        csr = read_sparse(X)
        n, d = csr.shape
        return Table(n, d, "sparse", csr=csr)
    if isinstance(X, Mapping):
        raise TableError(
            "Got one dict. For one row as a dict use predict_proba_one or learn_one; for many rows give a list of "
            "dicts; for columns as a dict make a data frame of it first."
        )
    if _is_pandas(X):
        return _from_pandas(X)
    if _is_arrow(X):
        return _from_arrow(X)
    frame = _frame_of(X)
    if frame is not None:
        return _from_frame(frame)
    texts = _from_texts(X)
    if texts is not None:
        return texts
    if isinstance(X, Sequence) and len(X) > 0 and all(isinstance(row, Mapping) for row in X):
        return _from_rows(X)
    return _from_array(X)


def _is_matrix(X: Array) -> bool:
    return X.ndim == 2 and X.dtype.kind in "fiub" and X.dtype.itemsize in (1, 2, 4, 8)


def _frame_of(X: Any) -> nw.DataFrame[Any] | None:
    """X as a data frame of a supported library; None if it is none."""
    if isinstance(X, list | tuple | np.ndarray):
        return None
    try:
        frame = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise TableError(_duplicate([str(c) for c in X.columns])) from None
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if isinstance(frame, nw.DataFrame):
        return frame
    found = arrow_of(X)
    return None if found is None else nw.from_native(found, eager_only=True)


def _from_texts(X: object) -> Table | None:
    """A list, array or series of strings as a table of one text column; None for anything else."""
    if isinstance(X, np.ndarray):
        if X.ndim != 1 or X.dtype.kind not in "OUT" or not _are_texts(X):
            return None
        values = X.astype(object)
    elif isinstance(X, list | tuple):
        if not _are_texts(X):
            return None
        values = np.fromiter(X, dtype=object, count=len(X))
    else:
        return _from_series(X)
    return Table(len(values), 1, "numpy", columns=(RawColumn(missing_as_none(values), "objects", "text"),))


def _from_series(X: object) -> Table | None:
    """A series of strings; None for anything else."""
    column = nw.from_native(X, pass_through=True, series_only=True)
    if not isinstance(column, nw.Series) or column.dtype != nw.String or len(column) == 0:
        return None
    native, name = column.to_native(), column.name
    names = (name,) if isinstance(name, str) and name else None
    check_arrow(native, name or "x0")
    in_arrow = has_arrow(native)
    held = RawColumn(native if in_arrow else series_objects(column), "arrow" if in_arrow else "objects", "text")
    container: Container = "polars" if column.implementation.is_polars() else "pyarrow"
    if column.implementation.is_pandas():
        container = "pandas"
    return Table(len(column), 1, container, names, columns=(held,))


def _are_texts(values: Sequence[object] | Array) -> bool:
    """Strings and missing values, with at least one string."""
    types = set(map(type, values))
    if types and all(issubclass(t, str) for t in types):
        return True
    return any(issubclass(t, str) for t in types) and all(isinstance(v, str) or is_missing(v) for v in values)


def _from_matrix(X: Array) -> Table:
    n, d = X.shape
    if n == 0:
        raise TableError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required.")
    if d == 0:
        raise TableError(f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required.")
    if X.dtype == np.float16:
        X = X.astype(np.float32)
    if not X.flags.aligned:  # fields of packed records
        X = X.copy()
    if not X.dtype.isnative:
        X = X.astype(X.dtype.newbyteorder("="))
    return Table(n, d, "numpy", matrix=X)


def _from_array(X: object) -> Table:
    """Lists, array-likes, matrices of strings or of Python objects."""
    check_arrow(X, "x0")
    a = _two_dimensional(_array(X), X)
    if a.dtype.kind in "fiub":
        return _from_matrix(a.astype(np.float64) if a.dtype.itemsize > 8 else a)
    if a.dtype.kind in "UST":
        a = a.astype(object)
    if a.dtype.kind in "mM" and a.size:
        temporal = [RawColumn(from_ticks(a[:, j]), "datetimes", "date") for j in range(a.shape[1])]
        return Table(a.shape[0], a.shape[1], "numpy", columns=tuple(temporal))
    if a.dtype != object:
        raise TableError(f"Got an array of type {a.dtype}. Allowed: numbers, booleans, strings, dates or objects.")
    if a.shape[0] == 0 or a.shape[1] == 0:
        return _from_matrix(a.astype(np.float64))
    columns = tuple(object_column(a[:, j], f"x{j}") for j in range(a.shape[1]))
    if all(c.storage == "numbers" and c.kind == "real" for c in columns) and _have_common_type(columns):
        return _from_matrix(np.column_stack([c.values for c in columns]))
    return Table(a.shape[0], a.shape[1], "numpy", columns=columns)


def _have_common_type(columns: Sequence[RawColumn]) -> bool:
    """Whether the columns can be one matrix without rounding an integer."""
    kinds = {c.values.dtype.kind for c in columns}
    return len(kinds) == 1 or all(all_exact(c.values) for c in columns if c.values.dtype.kind in "iu")


def _array(X: object) -> Array:
    """NumPy's reading of it, without turning numbers into text."""
    if isinstance(X, np.ma.MaskedArray):  # masked values are missing
        mask, X = np.ma.getmaskarray(X), X.data.astype(object)
        X[mask] = None
    try:
        a = np.asarray(X)
    except ValueError as e:
        raise TableError(f"The rows do not form a table: {e}") from e
    except MemoryError:
        raise
    except Exception as e:  # of another library, which gives its own arrays
        raise TableError(f"Cannot read a {type(X).__name__} as a table: {e!s:.200}. Give an array or a frame.") from e
    if a.ndim == 2 and a.dtype.kind in "US" and not isinstance(X, np.ndarray):
        return np.asarray(X, dtype=object)  # a list of mixed rows
    if a.ndim == 2 and a.dtype.kind == "f" and isinstance(X, list | tuple) and not all_exact(a):
        return np.asarray(X, dtype=object)  # NumPy rounds integers that stand beside other numbers
    return a


def _two_dimensional(a: Array, X: object) -> Array:
    if a.ndim == 1 and a.dtype == object and len(a) and isinstance(a[0], list | tuple):
        raise TableError("The rows have different lengths; a table needs as many values in each row.")
    if a.dtype.kind == "c":
        raise complex_numbers("got complex numbers")
    if isinstance(X, str):
        raise TableError(
            f"Expected 2D array, got scalar array instead: one text is not a table. Give a list of texts, [{brief(X)}]."
        )
    if a.ndim == 1 and a.dtype == object and len(a) and all(is_missing(v) for v in a):
        raise TableError(
            "Expected 2D array, got 1D array instead, of missing values alone. Texts are a list such as ['…'] with at "
            "least one text; a row of which nothing is known is [{}]."
        )
    if a.ndim == 0:
        raise TableError(
            f"Expected 2D array, got scalar array instead: {type(X).__name__} is not a table. Give a data frame, a "
            "matrix, or a list of dicts."
        )
    if a.ndim != 2:
        raise TableError(
            f"Expected 2D array, got {a.ndim}D array instead. Reshape your data: "
            "array.reshape(-1, 1) if it has a single feature, array.reshape(1, -1) if it is a single sample."
        )
    return a


def _from_rows(rows: Sequence[Mapping[object, object]]) -> Table:
    names: dict[object, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    if len({str(name) for name in names}) < len(names):
        raise TableError(_duplicate([str(name) for name in names]))
    columns = []
    for name in names:
        values = np.empty(len(rows), dtype=object)
        values[:] = [row.get(name) for row in rows]
        columns.append(object_column(values, str(name)))
    return Table(len(rows), len(columns), "rows", tuple(str(n) for n in names), columns=tuple(columns))


def _from_frame(frame: Any) -> Table:
    n, d = frame.shape
    implementation = str(frame.implementation.value if hasattr(frame.implementation, "value") else frame.implementation)
    container: Container = (
        "polars" if "polars" in implementation else "pyarrow" if "pyarrow" in implementation else "pandas"
    )
    names = _text_names(list(frame.columns), (n, d))
    columns = tuple(frame_column(s, names[j] if names else f"x{j}") for j, s in enumerate(frame.iter_columns()))
    return Table(n, d, container, names, columns=columns)


def _is_sparse(X: object) -> bool:
    """Whether X is a scipy sparse matrix, without importing scipy.sparse: its maker has."""
    issparse = getattr(sys.modules.get("scipy.sparse"), "issparse", None)  # another thread may be importing it
    return issparse is not None and bool(issparse(X))


def _is_pandas(X: object) -> TypeGuard[pd.DataFrame]:
    """Without importing pandas: a caller with a frame has imported it."""
    frame = getattr(sys.modules.get("pandas"), "DataFrame", None)  # another thread may be importing it
    return frame is not None and type(X) is frame


def _from_pandas(X: pd.DataFrame) -> Table:
    """As _from_frame, faster for NumPy columns: most of the time of a small prediction."""
    n, d = X.shape
    names = _text_names(X.columns.tolist(), (n, d))
    types = X.dtypes.tolist()
    if n <= MAX_COPIED_ROWS and all(t is types[0] for t in types) and _is_plain(types[0]):
        block, integer = X.to_numpy(), types[0].kind != "f"
        columns = [RawColumn(block[:, j], "numbers", "real", integer=integer) for j in range(d)]
        return Table(n, d, "pandas", names, columns=tuple(columns))
    columns = []
    for j, (_, s) in enumerate(X.items()):
        if _is_plain(types[j]):
            columns.append(RawColumn(s.to_numpy(), "numbers", "real", integer=types[j].kind != "f"))
        elif types[j] is BOOLEAN:
            columns.append(RawColumn(s.to_numpy().astype(np.int8), "coded", "binary", declared=(False, True)))
        elif type(types[j]).__name__ == "CategoricalDtype":
            columns.append(category_column(s, names[j] if names else f"x{j}"))
        elif type(types[j]).__name__ == "StringDtype" and hasattr(s, "__arrow_c_stream__"):
            columns.append(RawColumn(s, "arrow", "categorical"))
        else:
            columns.append(frame_column(nw.from_native(s, series_only=True), names[j] if names else f"x{j}"))
    return Table(n, d, "pandas", names, columns=tuple(columns))


def _is_arrow(X: object) -> TypeGuard[pa.Table]:
    table = getattr(sys.modules.get("pyarrow"), "Table", None)
    return table is not None and type(X) is table


def _from_arrow(X: pa.Table) -> Table:
    """The same for a pyarrow table."""
    index = pandas_index(X.schema)
    X = X.drop_columns(list(index)) if index else X
    n, d = X.shape
    names = _text_names(X.column_names, (n, d))
    columns = []
    for j, s in enumerate(X.itercolumns()):
        if (kind := str(s.type)) in ARROW_NUMBERS and not ("int" in kind and s.null_count):
            check_arrow(s, names[j] if names else f"x{j}")
            columns.append(RawColumn(s.to_numpy(), "numbers", "real", integer="int" in kind))
        elif X.schema.field(j).metadata == TEXT_AS_DICTIONARY:
            check_arrow(s, names[j] if names else f"x{j}")
            columns.append(RawColumn(s, "arrow", "categorical"))
        else:
            columns.append(frame_column(nw.from_native(s, series_only=True), names[j] if names else f"x{j}"))
    return Table(n, d, "pyarrow", names, columns=tuple(columns))


def pandas_index(schema: pa.Schema) -> tuple[str, ...]:
    """Columns that hold a saved index of pandas, by the metadata that pandas writes: row labels, not features."""
    try:
        marked = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))["index_columns"]
    except (ValueError, KeyError, TypeError):
        return ()
    return tuple(name for name in schema.names if isinstance(marked, list) and name in marked)


def _is_plain(t: object) -> bool:
    """Whether the kernels read this type without conversion."""
    return isinstance(t, np.dtype) and t.kind in "fiu" and t.itemsize in (1, 2, 4, 8) and t != np.float16 and t.isnative


def _text_names(raw_names: list[object], shape: tuple[int, int]) -> tuple[str, ...] | None:
    """Column names; None if they are numbers."""
    if len(set(raw_names)) != len(raw_names):
        raise TableError(_duplicate([str(c) for c in raw_names]))
    if 0 in shape:
        what = "sample" if shape[0] == 0 else "feature"
        raise TableError(f"Found a table with 0 {what}(s) (shape={shape}) while a minimum of 1 is required.")
    texts = [c for c in raw_names if isinstance(c, str)]
    if texts and len(texts) < len(raw_names):
        raise NestedValueError(
            "Feature names are only supported if all input features have string names, but your input has "
            f"{sorted({type(c).__name__ for c in raw_names})} as feature name / column name types. If you want feature "
            "names to be stored and validated, you must convert them all to strings, by using "
            "X.columns = X.columns.astype(str) for example."
        )
    return tuple(texts) if len(texts) == len(raw_names) else None


def _duplicate(names: list[str]) -> str:
    name = next(n for n in names if names.count(n) > 1)
    return f"Several columns are called {name!r}. Each column needs a name of its own."

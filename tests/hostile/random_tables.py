"""Tables, labels and weights drawn from one number: usual ones, strange ones and broken ones.

A `World` is what the tables of one case have in common: columns, classes, and the kind of table that they mostly are.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from scipy import sparse

WORDS = ("red", "green", "blue", "grey", "", "nan", "ä\u0301", "None", "1")
Random = np.random.Generator
Draw = Callable[[Random, int], Any]


def _with_gaps(draw: Draw) -> Draw:
    def drawn(rng: Random, n: int) -> Any:
        return np.where(rng.random(n) < 0.3, np.nan, draw(rng, n))

    return drawn


def _normal(rng: Random, n: int) -> Any:
    return rng.normal(size=n)


def _count(rng: Random, n: int) -> Any:
    return rng.poisson(3.0, n).astype(float)


# name: how to draw a column of floats
NUMBERS: dict[str, Draw] = {
    "normal": _normal,
    "count": _count,
    "code": lambda rng, n: rng.integers(0, 4, n).astype(float),
    "flag": lambda rng, n: rng.integers(0, 2, n).astype(float),
    "constant": lambda rng, n: np.full(n, 7.0),  # noqa: ARG005
    "zero": lambda rng, n: np.zeros(n),  # noqa: ARG005
    "huge": lambda rng, n: rng.normal(size=n) * 1e300,
    "large": lambda rng, n: rng.normal(size=n) * 1e153,
    "huge count": lambda rng, n: np.floor(rng.random(n) * 1e300),
    "tiny": lambda rng, n: rng.normal(size=n) * 1e-160,
    "least": lambda rng, n: rng.integers(0, 5, n) * 5e-324,
    "far": lambda rng, n: rng.normal(size=n) + 1e9,
    "both": lambda rng, n: rng.normal(size=n) * 10.0 ** rng.choice([-300, -160, 0, 100, 150], n),
    "nothing": lambda rng, n: np.full(n, np.nan),  # noqa: ARG005
    "gaps": _with_gaps(_normal),
    "count gaps": _with_gaps(_count),
}
PLAIN = ("normal", "count", "code", "flag", "gaps", "constant")
WORDY = ("word", "many", "truth", "missing word")
HOMES = ("numpy", "numpy", "pandas", "pandas", "polars", "pyarrow", "dicts", "lists", "sparse")
FLAVOURS = ("real", "count", "code", "word", "mixed", "mixed", "hostile", "hostile", "wide")


def words(rng: Random, n: int, name: str) -> list[Any]:
    """A column of labels."""
    if name == "many":
        return [f"id{v}" for v in rng.integers(0, 500, n)]
    if name == "truth":
        return [bool(v) for v in rng.random(n) < 0.5]
    found: list[Any] = [WORDS[v] for v in rng.integers(0, 4 if rng.random() < 0.8 else len(WORDS), n)]
    if name == "missing word":
        return [None if rng.random() < 0.3 else v for v in found]
    return found


class World:
    """Columns and classes, from one number."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([seed, 1])
        flavour = str(rng.choice(FLAVOURS))
        d = int(rng.integers(1, 6)) if flavour != "wide" else int(rng.choice([40, 130]))
        alike = {"real": ("normal", "gaps"), "count": ("count",), "code": ("code",), "word": ("word",), "wide": PLAIN}
        pool = alike.get(flavour, (*PLAIN, *WORDY) if flavour == "mixed" else (*NUMBERS, *WORDY))
        self.columns = {f"x{j}": str(rng.choice(pool)) for j in range(d)}
        self.home = str(rng.choice(HOMES))
        self.K = int(rng.choice([1, 2, 2, 3, 3, 4]))
        self.kind = str(rng.choice(["text", "text", "whole", "truth", "float", "objects"]))
        self.rows = int(rng.choice([1, 2, 3, 6, 12, 12, 30, 30]))

    # --- tables ------------------------------------------------------------------------------------------------

    def table(self, seed: int, n: int | None = None) -> Any:
        """n rows, mostly as the kind of table that is usual here."""
        rng = np.random.default_rng([seed, 2])
        n = self.rows if n is None else n
        home = self.home if rng.random() < 0.9 else str(rng.choice(HOMES))
        columns = {name: self._column(rng, n, kind) for name, kind in self.columns.items()}
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return getattr(self, f"_as_{home}")(rng, columns, n)

    def _column(self, rng: Random, n: int, kind: str) -> list[Any]:
        if kind in NUMBERS:
            found: list[Any] = np.asarray(NUMBERS[kind](rng, n), dtype=float).tolist()
        else:
            found = words(rng, n, kind)
        if n and rng.random() < 0.02:
            found[int(rng.integers(n))] = [np.inf, -np.inf, np.nan, -1.0, 2.5, None, "?", 10**25][int(rng.integers(8))]
        return found

    def _as_numpy(self, rng: Random, columns: dict[str, list[Any]], n: int) -> Any:
        rows = _object_rows(columns, n)
        if any(isinstance(v, str | bool) or v is None for v in rows.ravel()):
            return rows if rng.random() < 0.7 or not n else rows.astype(str)
        found = rows.astype(float)
        kind = str(rng.choice(["f8", "f8", "f8", "f4", "f2", "i8", "u1", "O", ">f8", "?", "longdouble"]))
        if np.isfinite(found).all() or kind in ("f8", "f4", "O", ">f8"):
            found = found.astype(kind)
        how = int(rng.integers(4))
        return (found, np.asfortranarray(found), np.repeat(found, 2, axis=0)[::2], found[:, ::-1][:, ::-1])[how]

    def _as_lists(self, rng: Random, columns: dict[str, list[Any]], n: int) -> Any:  # noqa: ARG002
        return _object_rows(columns, n).tolist()

    def _as_dicts(self, rng: Random, columns: dict[str, list[Any]], n: int) -> Any:
        rows = [{name: values[i] for name, values in columns.items()} for i in range(n)]
        return [{k: v for k, v in row.items() if rng.random() > 0.02} for row in rows]

    def _as_pandas(self, rng: Random, columns: dict[str, list[Any]], n: int) -> Any:  # noqa: ARG002
        frame = pd.DataFrame(dict(columns))
        for name, kind in self.columns.items():
            other = {"word": "category", "many": "string", "truth": "boolean", "count": "Int64", "gaps": "Float64"}
            if kind in other and rng.random() < 0.4:
                try:
                    frame[name] = frame[name].astype(other[kind])
                except (TypeError, ValueError, OverflowError):
                    continue
        if rng.random() < 0.1:
            frame = frame[list(frame.columns)[::-1]]
        return frame.set_index(frame.index * 2 + 5) if rng.random() < 0.3 else frame

    def _as_polars(self, rng: Random, columns: dict[str, list[Any]], n: int) -> Any:  # noqa: ARG002
        frame = pl.DataFrame(columns, strict=False)
        texts = [k for k in self.columns if frame.schema[k] == pl.String]
        return frame.with_columns(pl.col(k).cast(pl.Categorical) for k in texts if rng.random() < 0.4)

    def _as_pyarrow(self, rng: Random, columns: dict[str, list[Any]], n: int) -> Any:
        try:
            found = pa.table(columns)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            return self._as_dicts(rng, columns, n)
        if rng.random() < 0.3:
            found = found.set_column(0, found.column_names[0], found.column(0).dictionary_encode())
        return found

    def _as_sparse(self, rng: Random, columns: dict[str, list[Any]], n: int) -> Any:
        rows = _object_rows(columns, n)
        if any(not isinstance(v, float) for v in rows.ravel()):
            return self._as_pandas(rng, columns, n)
        found = rows.astype(float)
        made = [sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array, sparse.csr_array, sparse.lil_matrix]
        return made[int(rng.integers(len(made)))](np.where(rng.random(found.shape) < 0.5, found, 0.0))

    # --- labels and weights ------------------------------------------------------------------------------------

    def classes(self) -> list[Any]:
        kinds: dict[str, list[Any]] = {
            "text": ["b", "a", "c", ""],
            "whole": [3, -1, 0, 2**40],
            "truth": [True, False],
            "float": [1.0, 2.0, -3.0, 0.0],
            "objects": ["b", "a", "zz", "c"],
        }
        return kinds[self.kind][: self.K]

    def labels(self, seed: int, n: int) -> Any:
        """n labels, in some container."""
        rng = np.random.default_rng([seed, 3])
        classes = self.classes()
        found = [classes[int(v)] for v in rng.integers(0, len(classes), n)]
        if self.kind == "objects":
            return np.array(found, dtype=object)
        makers: list[Callable[[Any], Any]] = [list, tuple, np.array, pd.Series, pd.Categorical, pl.Series, pa.array]
        return makers[int(rng.choice(len(makers), p=[0.3, 0.05, 0.4, 0.1, 0.05, 0.05, 0.05]))](found)

    def some_labels(self, seed: int, n: int) -> list[Any]:
        """The same, some of them None: rows without a label."""
        rng = np.random.default_rng([seed, 4])
        return [None if rng.random() < 0.4 else v for v in np.asarray(self.labels(seed, n), dtype=object).tolist()]

    def row(self, seed: int) -> dict[str, Any]:
        """One row as a dict."""
        rng = np.random.default_rng([seed, 5])
        row = {name: self._column(rng, 1, kind)[0] for name, kind in self.columns.items()}
        return {k: v for k, v in row.items() if rng.random() > 0.05}


def weights(seed: int, n: int) -> Any:
    """Weights of n rows: mostly good ones."""
    rng = np.random.default_rng([seed, 6])
    one = rng.random(n)
    good: list[Any] = [
        None, np.ones(n), rng.integers(0, 3, n), one, one.tolist(), np.zeros(n), np.full(n, 1e-300), np.full(n, 1e299),
        one * 1e12, np.where(one < 0.5, 0.0, 1.0), one.astype("f4"), pd.Series(one), np.full(n, 5e-324), one * 1e150,
        np.where(one < 0.3, 1e-200, 1e100), one > 0.5,
    ]  # fmt: skip
    bad: list[Any] = [
        -np.ones(n), np.full(n, np.nan), np.full(n, np.inf), np.ones(n + 1), np.ones((n, 2)), "heavy", ["a"] * n, 2.0,
        np.full(n, 1e308), np.full(n, 1j), [None] * n, {}, -0.0 * one,
    ]  # fmt: skip
    pool = good if rng.random() < 0.85 else bad
    return pool[int(rng.integers(len(pool)))]


def _object_rows(columns: dict[str, list[Any]], n: int) -> Any:
    rows = np.empty((n, len(columns)), dtype=object)
    for j, values in enumerate(columns.values()):
        rows[:, j] = values
    return rows


def _broken_sparse(how: int) -> Any:
    """A sparse table whose arrays do not fit each other."""
    found = sparse.csr_matrix(np.eye(4))
    if how == 0:
        found.indices = np.array([0, 1, 2, 9], dtype=np.int32)
    elif how == 1:
        found.indptr = np.array([0, 3, 2, 3, 4], dtype=np.int32)
    elif how == 2:
        found.indices = np.array([0, -1, 2, 3], dtype=np.int32)
    else:
        found.data = np.array([1.0, np.nan, np.inf, 1.0])
    return found


def broken(seed: int) -> Any:
    """What is no table, or one that should be refused."""
    day = datetime.date(2020, 1, 1)
    made: list[Callable[[], Any]] = [
        lambda: None, lambda: "text", lambda: 7, list, lambda: [[]], lambda: [{}], lambda: {"x0": [1, 2]},
        lambda: np.zeros((0, 3)), lambda: np.zeros((3, 0)), lambda: np.zeros(3), lambda: np.zeros((2, 2, 2)),
        lambda: np.zeros((3, 2), dtype=complex), lambda: np.zeros((3, 2), dtype="datetime64[s]"),
        lambda: [[1.0], [1, 2]],
        lambda: pd.DataFrame(), lambda: pd.DataFrame({"x0": []}), lambda: pl.DataFrame(), lambda: pa.table({}),
        lambda: pd.DataFrame([[1, 2]] * 3, columns=["x0", "x0"]), lambda: pd.DataFrame({"x0": [day] * 3}),
        lambda: pd.DataFrame({"x0": [1, "x", None]}), lambda: pl.DataFrame({"x0": [[1], [2]]}), lambda: {1, 2},
        lambda: pa.table({"x0": [{"a": 1}] * 3}), lambda: pd.DataFrame({0: [1.0], "x1": [2.0]}),
        lambda: pd.Series([1.0]),
        lambda: [{"x0": [1]}], lambda: [{"x0": object()}], lambda: [{0: 1.0}], lambda: [{"x0": decimal.Decimal("1")}],
        lambda: np.array([[b"a"], [b"b"]]), lambda: np.zeros(3, dtype=[("x0", "f8")]), lambda: iter([{"x0": 1.0}]),
        lambda: np.ma.masked_array([[1.0]], mask=[[True]]), lambda: pd.DataFrame({"x0": [pd.NA, 1.0]}, dtype=object),
        lambda: pd.DataFrame({"x0": pd.Categorical([1.5, None])}), lambda: [{"x0": 10**400}], lambda: [[float("inf")]],
        lambda: pd.DataFrame({("a", "b"): [1.0]}), lambda: [{"x0": np.array(1.0)}],
        lambda: pl.DataFrame({"x0": [None]}),
        lambda: pd.DataFrame({"x0": pd.arrays.SparseArray([0.0, 1.0])}), lambda: np.array([[10**30]], dtype=object),
        lambda: pd.DataFrame({"x0": ["a", "b"]}, dtype="string[pyarrow]"), lambda: pl.LazyFrame({"x0": [1.0]}),
        lambda: _broken_sparse(0), lambda: _broken_sparse(1), lambda: _broken_sparse(2), lambda: _broken_sparse(3),
        lambda: sparse.csr_matrix((0, 3)), lambda: sparse.csr_matrix(np.eye(2) * 1j),
        lambda: sparse.csr_array(np.eye(2) > 0),
    ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made[seed % len(made)]()


def broken_labels(seed: int, n: int) -> Any:
    """What is no column of labels for n rows, or hardly."""
    made: list[Callable[[], Any]] = [
        lambda: None, lambda: "abc", list, lambda: ["a"] * (n + 1), lambda: [1.5] * n, lambda: [np.nan] * n,
        lambda: [None] * n, lambda: ["a", 1] * n, lambda: [[1]] * n, lambda: np.zeros((n, 2)), lambda: np.zeros((n, 1)),
        lambda: [{}] * n, lambda: 5, lambda: {"a": 1}, lambda: np.array([1j] * n), lambda: [pd.NA] * n, lambda: {1, 2},
        lambda: np.array(["2020"] * n, dtype="datetime64[D]"), lambda: [datetime.date(2020, 1, 1)] * n,
        lambda: [b"a"] * n,
        lambda: pd.Series([True, None] * n, dtype="boolean")[:n], lambda: [(1, 2)] * n, lambda: [10**30] * n,
        lambda: [float("inf")] * n, lambda: pd.DataFrame({"y": ["a"] * n}), lambda: ["a", "new class"][: max(n, 1)] * n,
    ]  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made[seed % len(made)]()


class Floating(datetime.tzinfo):
    """A time zone that gives no offset."""

    def utcoffset(self, when: datetime.datetime | None) -> None:  # noqa: ARG002
        return None


def _struct(rows: Any) -> Any:
    """Structured NumPy rows whose fields do not lie at multiples of their size."""
    packed = np.zeros(len(rows), dtype=[("x0", "i1"), ("x1", "f8"), ("x2", "U2")])
    packed["x0"], packed["x1"] = rows % 3, rows
    return packed


# Columns of types that are rare, of the numbers 0 to 6.
STRANGE: tuple[Callable[[Any], Any], ...] = (
    lambda v: pd.DataFrame({"x0": pd.cut(v, [-1, 2, 4, 9])}),
    lambda v: pd.DataFrame({"x0": pd.arrays.IntervalArray.from_arrays(v, v + 1.0)}),
    lambda v: [{"x0": pd.Interval(i, i + 1)} for i in v.tolist()],
    lambda v: pa.table({"x0": [{"a": i, "b": "t"} for i in v.tolist()]}),
    lambda v: pl.DataFrame({"x0": [{"a": i} for i in v.tolist()]}),
    lambda v: pd.DataFrame({"x0": [{"a": i} for i in v.tolist()]}),
    lambda v: pd.DataFrame({"x0": [[i] for i in v.tolist()]}),
    *(lambda v, unit=unit: v.astype(f"M8[{unit}]")[:, None] for unit in ("ps", "fs", "as", "Y", "M", "W", "ns")),
    lambda v: v.astype("m8[fs]")[:, None],
    lambda v: np.full((len(v), 1), np.datetime64("NaT")),
    lambda v: np.array([f"{2000 + i}" for i in v], dtype="M8[as]").astype(object)[:, None],
    lambda v: [{"x0": datetime.datetime(2020, 1, 1 + i, tzinfo=Floating())} for i in v.tolist()],
    lambda v: [{"x0": datetime.time(i, tzinfo=Floating())} for i in v.tolist()],
    lambda v: [{"x0": 2**63 + i, "x1": -(10**30) - i} for i in v.tolist()],
    lambda v: pd.DataFrame({"x0": [2**64 + i for i in v.tolist()]}, dtype=object),
    lambda v: pl.DataFrame({"x0": pl.Series([2**70 + i for i in v.tolist()], dtype=pl.Int128)}),
    lambda v: pl.DataFrame({"x0": pl.Series(v).cast(pl.Int128)}),
    _struct,
    lambda v: pd.DataFrame(_struct(v)),
    lambda v: pa.table({"x0": pa.array([f"w{i}" for i in v], pa.string_view())}),
    lambda v: pa.table({"x0": pa.array([b"w%d" % i for i in v.tolist()], pa.binary_view())}),
    lambda v: pa.table({"x0": pa.array([b"w%d" % i for i in v.tolist()]).dictionary_encode()}),
    lambda v: pa.table({"x0": pa.array(v.astype("M8[D]")).dictionary_encode()}),
    lambda v: pa.table({"x0": pa.array(v.astype("M8[s]"), pa.timestamp("s", "+05:30"))}),
    lambda v: pa.table({"x0": pa.array([decimal.Decimal(i) for i in v.tolist()], pa.decimal256(60))}),
    lambda v: pa.table({"x0": pa.array([[i] for i in v.tolist()])}),
    lambda v: pa.table({"x0": pa.array([(i, 0, 0) for i in v.tolist()], pa.month_day_nano_interval())}),
    lambda v: pa.table({"x0": pa.RunEndEncodedArray.from_arrays(np.arange(1, len(v) + 1, dtype="i4"), v.astype("f8"))}),
    lambda v: pa.table({"x0": pa.nulls(len(v)), "x1": v.astype("f2")}),
    lambda v: pl.Series([f"the word w{i} comes here" for i in v]),
    lambda v: pd.Series([f"the word w{i} comes here" for i in v]),
    lambda v: pd.DataFrame({"x0": pd.Categorical([f"{i}".encode() for i in v])}),
    lambda v: pd.DataFrame({"x0": pd.Categorical(pd.to_datetime(v, unit="D"))}),
    lambda v: pd.DataFrame({"x0": pd.Categorical([i if i % 2 else str(i) for i in v.tolist()])}),
    lambda v: pd.DataFrame({"x0": pd.period_range("2020", periods=len(v), freq="M")}),
    lambda v: pd.DataFrame({"x0": pd.to_datetime(v, unit="D").tz_localize("Asia/Tokyo"), "x1": v * 1j}),
    lambda v: pd.DataFrame({"x0": pd.arrays.SparseArray(v)}),
    lambda v: pl.DataFrame({"x0": pl.Series([decimal.Decimal(i) for i in v.tolist()]), "x1": v}),
    lambda v: pl.DataFrame({"x0": pl.Series([f"{i}".encode() for i in v]), "x1": v}),
    lambda v: pl.DataFrame({"x1": [datetime.time(i) for i in v.tolist()]}),
    lambda v: pl.DataFrame({"x0": pl.Series([object() for _ in v], dtype=pl.Object)}),
    lambda v: pl.DataFrame({"x0": pl.Series(v.astype(str), dtype=pl.Enum([str(i) for i in range(7)]))}),
    lambda v: np.ma.masked_equal(v.astype(float), 3.0)[:, None],
    lambda v: np.array([f"{i}" for i in v], dtype="S3")[:, None],
    lambda v: np.array([f"{i}" for i in v], dtype=np.dtypes.StringDType())[:, None],
    lambda v: np.matrix(v).T,
    lambda v: [{"x0": np.float32(i), "x1": np.str_("a"), "x2": np.datetime64("2020")} for i in v],
    lambda v: [[frozenset([i])] for i in v.tolist()],
    lambda v: [[b"\xff" * i] for i in v.tolist()],
    lambda v: [["\ud800" * i] for i in v.tolist()],
    lambda v: [[fractions.Fraction(i, 3)] for i in v.tolist()],
)


def strange(kind: int, seed: int, n: int) -> Any:
    """n rows with a column of a type that is rare."""
    rng = np.random.default_rng([seed, 7])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return STRANGE[kind % len(STRANGE)](rng.integers(0, 7, n))


STRANGE_LABELS: tuple[Callable[[Any], Any], ...] = (
    lambda v: pd.cut(v, [-1, 2, 4, 9]),
    lambda v: pd.Series(pd.cut(v, [-1, 2, 4, 9])),
    lambda v: pd.qcut(v, 2, duplicates="drop"),
    lambda v: pd.cut(v, 3, labels=["low", "middle", "high"]),
    lambda v: pd.Categorical(pd.to_datetime(v, unit="D")),
    lambda v: pd.Categorical([b"%d" % i for i in v.tolist()]),
    lambda v: pd.Categorical([i if i % 2 else str(i) for i in v.tolist()]),
    lambda v: pd.Categorical.from_codes(v % 2 - 1, ["a"]),
    lambda v: pl.Series(v).cast(pl.Int128),
    lambda v: pl.Series(v.astype(str), dtype=pl.Enum([str(i) for i in range(7)])),
    lambda v: v.astype("M8[fs]"),
    lambda v: pa.array(v.astype("M8[D]")).dictionary_encode(),
    lambda v: pa.array([f"{i}" for i in v], pa.string_view()),
    lambda v: pa.chunked_array([pa.array(v).dictionary_encode()]),
    lambda v: [pd.Interval(i, i + 1) for i in v.tolist()],
    lambda v: [frozenset([i]) for i in v.tolist()],
    lambda v: [{"a": i} for i in v.tolist()],
    lambda v: [decimal.Decimal(i) for i in v.tolist()],
    lambda v: [2**63 + i for i in v.tolist()],
    lambda v: np.ma.masked_equal(v, 3),
    lambda v: v[:, None],
    lambda v: v[None, :, None],
    lambda v: pd.DataFrame({"y": v}),
    lambda v: pd.arrays.SparseArray(v),
    lambda v: pd.period_range("2020", periods=len(v), freq="M"),
    lambda v: pd.MultiIndex.from_arrays([v, v]),
    lambda v: sparse.csr_matrix(v),
    lambda v: np.array([f"{i}" for i in v], dtype=np.dtypes.StringDType()),
    lambda v: memoryview(np.ascontiguousarray(v)),
    lambda v: (i for i in v.tolist()),
)


def strange_labels(kind: int, seed: int, n: int) -> Any:
    """n labels of a type that is rare."""
    rng = np.random.default_rng([seed, 8])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return STRANGE_LABELS[kind % len(STRANGE_LABELS)](rng.integers(0, 7, n))

"""What each column is: name, kind, levels, cuts. A schema grows by appending and never reorders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core, notebook
from tallybayes.arrays import Array
from tallybayes.errors import (
    IdentifierColumnWarning,
    OptionError,
    TableError,
    TextColumnWarning,
    brief,
    listing,
    warn,
)
from tallybayes.given import Given, given_of, spread, spread_table
from tallybayes.looks import looks_like_date, looks_like_id, looks_like_text
from tallybayes.raw import RawColumn
from tallybayes.source import Container, Table

Kind = Literal["real", "categorical", "binary", "count", "text"]
KINDS: tuple[str, ...] = get_args(Kind)
SAID: tuple[str, ...] = (*KINDS, "date", "id")  # what schema= may say of a column; these two are no kinds that are read
FEW = 12  # an integer column with at most this many values might be categories


class Levels:
    """The labels of a column by code.

    It never changes: extend gives another. Those that came from one another share the labels and the index of them
    (`known`), so that a longer one costs what is new in it, and a lookup costs the same however many there are.

    Parameters
    ----------
    labels : iterable, default=()
        The labels, in the order of their codes; or what another holds as `known`.
    declared : frozenset of int, default=frozenset()
        Codes that the column's type lists, met or not.
    """

    __slots__ = ("_labels", "declared", "known", "memo")

    known: _core.LevelList
    declared: frozenset[int]
    memo: tuple[object, Any]  # what was last made of these for another list of labels, and that list

    def __init__(self, labels: Iterable[object] | _core.LevelList = (), declared: frozenset[int] = frozenset()) -> None:
        self.known = labels if isinstance(labels, _core.LevelList) else _core.LevelList(labels)
        self.declared = declared
        self._labels: tuple[Any, ...] | None = None
        self.memo = (None, None)

    @property
    def labels(self) -> tuple[Any, ...]:
        """tuple: the labels, in the order of their codes."""
        if self._labels is None:
            self._labels = self.known.labels()
        return self._labels

    def __len__(self) -> int:
        return len(self.known)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Levels):
            return NotImplemented
        same = self.known.shares(other.known) and len(self) == len(other)
        return (same or self.labels == other.labels) and self.declared == other.declared

    def __hash__(self) -> int:
        return hash((self.labels, self.declared))

    def __repr__(self) -> str:
        return f"Levels(labels={self.labels!r}, declared={self.declared!r})"

    def __reduce__(self) -> tuple[type[Levels], tuple[tuple[object, ...], frozenset[int]]]:
        return Levels, (self.labels, self.declared)

    def __copy__(self) -> Levels:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Levels:
        return self

    def index(self) -> dict[object, int]:
        """Give the code of each label.

        Returns
        -------
        dict from label to int
            Made anew by each call.
        """
        return {label: code for code, label in enumerate(self.labels)}

    def find(self, labels: Sequence[object]) -> NDArray[np.int32]:
        """Look up the codes of some labels.

        Parameters
        ----------
        labels : sequence
            What to look up.

        Returns
        -------
        ndarray of int32
            One code for each; −2 for those that are not among these.
        """
        return self.known.find(labels)

    def extend(self, labels: Iterable[object], declared: bool = False) -> Levels:
        """Append what is new.

        Parameters
        ----------
        labels : iterable
            Labels, known or not.
        declared : bool, default=False
            Whether the column's type lists them.

        Returns
        -------
        Levels
            These and the new ones; codes stay as they were.
        """
        codes, known = self.known.extend(labels)
        return self.grown(known, codes.tolist() if declared else ())

    def grown(self, known: _core.LevelList, declared: Iterable[int] = ()) -> Levels:
        """Take over a longer list that comes from these.

        Parameters
        ----------
        known : list of levels of the core
            The longer list.
        declared : iterable of int, default=()
            More codes that the column's type lists.

        Returns
        -------
        Levels
            These, longer; the same object if nothing is new.
        """
        more = self.declared.union(declared)
        if known is self.known and len(more) == len(self.declared):
            return self
        return Levels(known, more)


@dataclass(frozen=True)
class Cuts:
    """Where a numeric column is cut into intervals, and the range that was seen (for sampling).

    Parameters
    ----------
    points : ndarray
        The cut points, rising: one less than there are intervals.
    low : float
        The smallest number that was seen.
    high : float
        The largest number that was seen.
    """

    points: NDArray[np.float64]
    low: float
    high: float

    @property
    def intervals(self) -> Levels:
        """Levels: the intervals as levels, which exist whether or not a value fell into them."""
        return Levels().extend(range(len(self.points) + 1), declared=True)

    def labels(self) -> list[str]:
        """Tell the intervals in words.

        Returns
        -------
        list of str
            Such as '< 3', '3 to 5' and '>= 5'; 'any' if there is no cut.
        """
        edges = [f"{p:.6g}" for p in self.points]
        if not edges:
            return ["any"]
        middle = [f"{a} to {b}" for a, b in pairwise(edges)]
        return [f"< {edges[0]}", *middle, f">= {edges[-1]}"]


@dataclass(frozen=True)
class Choice:
    """Which distribution was chosen for a column, and by what.

    Parameters
    ----------
    name : str
        The distribution, as ``distributions=`` names it.
    losses : dict from str to float, default={}
        The leave-one-out log-loss of the class by this column alone, of each distribution that was tried; empty where
        there were too few rows to choose.
    rows : int, default=0
        How many rows it was chosen on.
    """

    name: str
    losses: Mapping[str, float] = field(default_factory=dict)
    rows: int = 0

    def __str__(self) -> str:
        others = ", ".join(f"{name} {loss:.3f}" for name, loss in self.losses.items() if name != self.name)
        own = f" {self.losses[self.name]:.3f}" if self.name in self.losses else ""
        return f"{self.name}{own}" + (f" (log-loss; {others})" if others else "")


@dataclass(frozen=True, repr=False)
class Schema:
    """What each column of a table is, in the order in which the model keeps them. Print it.

    Every fitted model has one as ``schema_``. Given to another model as ``schema=``, it makes that one use the same
    kinds, levels and cuts. It grows by appending and never reorders.

    Parameters
    ----------
    kinds : tuple of {'real', 'categorical', 'binary', 'count', 'text'}
        The kind of each column.
    names : tuple of str, default=None
        Their names, where they have names.
    container : str, default='numpy'
        What kind of table it was: 'pandas', 'polars', 'pyarrow', 'numpy', 'sparse' or 'rows'.
    levels : dict from position to Levels, default={}
        The labels of columns that have labels; of another column of categories the codes are the labels, from 0. Of a
        column of texts the words.
    cuts : dict from position to Cuts, default={}
        Where numbers are cut into intervals.
    ambiguous : tuple of int, default=()
        Columns of integers with few values, which might be categories and were taken as numbers.
    chosen : dict from position to Choice, default={}
        The distributions that NaiveBayes chose for numbers, and by what.
    given : tuple of Given, default=None
        The columns of the table as it is given, where they are not those that are read: a date is read as several
        columns, and one that names rows is left out.
    extra : bool, default=False
        Whether a column that was not there at fit is left out; else it is an error.

    Attributes
    ----------
    kinds, names, container, levels, cuts, ambiguous, chosen, given, extra
        As above.
    d : int
        How many columns are read.
    given_names : tuple of str or None
        The names of the columns that are given, where they have names.
    dates : tuple of str
        Those of them that are read as their parts: dates, times and durations.
    needed_names : tuple of str or None
        The same without ids, which need not be there.
    given_columns : tuple of Given
        The columns that are given, and what becomes of them.
    given_d : int
        How many columns are given.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> rows = [{"sky": "clear", "wind": 2.0}, {"sky": "grey", "wind": 9.5}]
    >>> model = NaiveBayes().fit(rows, ["sail", "stay"])
    >>> print(model.schema_)
    sky: categorical  2 levels: clear, grey
    wind: real
    >>> NaiveBayes(schema=model.schema_).fit(rows[:1], ["sail"]).describe("sky")
    {'sail': {'clear': 1.0}}
    """

    kinds: tuple[Kind, ...]
    names: tuple[str, ...] | None = None
    container: Container = "numpy"
    levels: Mapping[int, Levels] = field(default_factory=dict)  # absent: the codes are the labels 0, 1, 2, …
    cuts: Mapping[int, Cuts] = field(default_factory=dict)
    ambiguous: tuple[int, ...] = ()
    chosen: Mapping[int, Choice] = field(default_factory=dict)
    given: tuple[Given, ...] | None = None
    extra: bool = False
    memo: dict[Any, Any] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )  # made of it, see encode.py

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "memo": {}}

    @property
    def d(self) -> int:
        """int: how many columns are read."""
        return len(self.kinds)

    @property
    def given_names(self) -> tuple[str, ...] | None:
        """tuple of str or None: the names of the columns that are given, where they have names."""
        if self.given is None:
            return self.names
        names = tuple(g.name for g in self.given if g.name is not None)
        return names if len(names) == len(self.given) else None

    @property
    def given_d(self) -> int:
        """int: how many columns are given."""
        return self.d if self.given is None else len(self.given)

    @property
    def dates(self) -> tuple[str, ...]:
        """tuple of str: the columns that are given and read as their parts."""
        found = [(j, g) for j, g in enumerate(self.given or ()) if g.what not in ("column", "id")]
        return tuple(f"x{j}" if g.name is None else g.name for j, g in found)

    @property
    def needed_names(self) -> tuple[str, ...] | None:
        """tuple of str or None: the names of the columns that must be given, where they have names; not of ids."""
        names = self.given_names
        return (
            names
            if names is None
            else tuple(n for n, g in zip(names, self.given_columns, strict=True) if g.what != "id")
        )

    @property
    def given_columns(self) -> tuple[Given, ...]:
        """tuple of Given: the columns that are given, whether or not something becomes of them."""
        if self.given is not None:
            return self.given
        return tuple(Given(None if self.names is None else name) for name in self.names or [""] * self.d)

    def by_given(self, values: Array) -> Array:
        """Add up numbers of the columns that are read, by the columns that are given.

        Parameters
        ----------
        values : ndarray of shape (d,)
            A number for each column that is read.

        Returns
        -------
        ndarray of shape (given_d,)
            The sums; 0 for one that is left out.
        """
        if self.given is None:
            return values
        ends = np.cumsum([len(g.columns(j)) for j, g in enumerate(self.given)]).tolist()
        return np.array([values[start:end].sum() for start, end in pairwise([0, *ends])])

    def name(self, j: int) -> str:
        """Tell what a column is called.

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

    def position(self, column: object) -> int:
        """Find a column.

        Parameters
        ----------
        column : str or int
            Its name (or 'x3' where columns have no names), or its position.

        Returns
        -------
        int
            Its position.

        Raises
        ------
        OptionError
            If there is no such column.
        """
        if isinstance(column, str):
            if self.names is not None and column in self.names:
                return self.names.index(column)
            if self.names is None and column[:1] == "x" and column[1:].isdigit() and int(column[1:]) < self.d:
                return int(column[1:])
        elif isinstance(column, int | np.integer) and not isinstance(column, bool) and 0 <= column < self.d:
            return int(column)
        known = listing([self.name(j) for j in range(self.d)])
        raise OptionError(f"There is no column {brief(column)}. Columns: {known}.")

    def without_extra(self, row: Mapping[Any, Any]) -> dict[Any, Any]:
        """Leave out keys that are no columns.

        Parameters
        ----------
        row : dict from column to value
            With the columns that are read, as far as it has them.

        Returns
        -------
        dict
            The same without others.
        """
        known: frozenset[object] | None = self.memo.get("names")
        if known is None:
            known = self.memo["names"] = frozenset(self.name(j) for j in range(self.d))
        return {name: v for name, v in row.items() if name in known}

    def with_levels(self, levels: Mapping[int, Levels]) -> Schema:
        """Replace the levels of some columns.

        Parameters
        ----------
        levels : dict from position to Levels
            The new levels; other columns keep theirs.

        Returns
        -------
        Schema
            Another schema; this one stays as it is.
        """
        return replace(self, levels={**self.levels, **levels})

    def __str__(self) -> str:
        notes = [self._note(j) for j in range(self.d)]
        lines = [f"{self.name(j)}: {self.kinds[j]}{'  ' * bool(note)}{note}" for j, note in enumerate(notes)]
        ids = [
            f"{f'x{j}' if g.name is None else g.name}: {g}" for j, g in enumerate(self.given or ()) if g.what == "id"
        ]
        return "\n".join((*lines, *ids))

    def _note(self, j: int) -> str:
        """What is known of a column besides its kind."""
        note = ""
        if self.kinds[j] == "text" and j in self.levels:
            note = f"{len(self.levels[j])} words"
        elif j in self.levels:
            shown = [str(label) for label in self.levels[j].labels[:6]]
            note = f"{len(self.levels[j])} levels: {', '.join(shown)}{', …' if len(self.levels[j]) > 6 else ''}"
        if j in self.cuts:
            note = f"cut into {len(self.cuts[j].points) + 1}: {', '.join(self.cuts[j].labels()[:6])}"
        if j in self.chosen and self.chosen[j].losses:
            note = f"{self.chosen[j]}{', ' * bool(note)}{note}"
        if j in self.ambiguous:
            note += "  " * bool(note) + "(integers with few values: categories? declare with schema=)"
        return note

    def __repr__(self) -> str:
        first = ", ".join(f"{self.name(j)} {self.kinds[j]}" for j in range(min(self.d, 3)))
        return f"Schema({self.d} column{'s' * (self.d != 1)}: {first}{', …' if self.d > 3 else ''})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = [(self.name(j), kind, self._note(j)) for j, kind in enumerate(self.kinds)]
        return notebook.page(notebook.table(("column", "kind", ""), rows, words=(0, 1, 2)))


def infer_schema(
    table: Table,
    given: object,
    default: Kind = "real",
    reads_text: bool = False,
    who: str = "this model",
    counted: Array | None = None,
) -> Schema:
    """Kinds from the table's types, then what the user said of them.

    Dates become columns of their own, and strings that are different in nearly every row are left out, with a warning:
    `align` gives the table as it is then read. An integer column with few values is ambiguous: it is taken as real, and
    listed. A column of strings that looks like text is text where the model reads text, else categories, with a
    warning. who: the model's name; counted: which rows have a weight, None: all.
    """
    if isinstance(given, Schema):
        align(table, given)  # raises if it does not fit
        _check_text(given, reads_text, who)
        return replace(given, container=table.container)
    if table.d == 0:
        raise TableError(f"Found {table.n} dict(s) with 0 feature(s) while a minimum of 1 is required.")
    if isinstance(given, str):
        given = dict.fromkeys(range(table.d), given)
    given = {} if given is None else given
    if not isinstance(given, Mapping):
        raise OptionError(f"schema must be a kind, a dict of kinds or a Schema; got {type(given).__name__}.")
    given, columns = _given(table, given, counted)
    if columns is not None:
        table = spread_table(_in_columns(table), columns)
    schema = Schema(_kinds(table, default), table.names, table.container, given=columns)
    said = _said(schema, given)
    texts = [j for j in range(table.d) if j not in said and _is_text(table, j)]
    if texts and not reads_text:
        _tell_text([schema.name(j) for j in texts], who)
    said |= dict.fromkeys(texts, "text" if reads_text else "categorical")
    kinds = tuple(said.get(j, kind) for j, kind in enumerate(schema.kinds))
    _check_text(replace(schema, kinds=kinds), reads_text, who)
    ambiguous = tuple(j for j in range(table.d) if j not in said and kinds[j] == "real" and _ambiguous(table, j))
    return replace(schema, kinds=kinds, ambiguous=ambiguous)


def _given(
    table: Table, said: Mapping[Any, object], counted: Array | None
) -> tuple[Mapping[Any, object], tuple[Given, ...] | None]:
    """What is said of the columns that are read, and what becomes of those that are given; None: they are the same."""
    own = _said_of_given(table, said)
    if table.columns is None:
        if not {"date", "id"} & set(own.values()):
            return said, None
        table = _in_columns(table)
    assert table.columns is not None
    found, ids, dates = [], [], []
    for j, column in enumerate(table.columns):
        name, kind = None if table.names is None else table.names[j], own.get(j)
        if kind == "date" or (column.storage == "moments" and kind in (None, "real", "count")):
            found.append(given_of(column, name, j, kind, counted))
        elif kind == "id" or (kind is None and looks_like_id(column, counted)):
            found.append(Given(name, "id"))
            if kind is None:
                ids.append(table.name(j))
                dates += [table.name(j)] if looks_like_date(column) else []
        else:
            found.append(Given(name))
    if all(g.what == "column" for g in found):
        return said, None
    if all(g.what == "id" for g in found):
        raise TableError(
            f"Every row has a value of its own in every column ({listing([table.name(j) for j in range(table.d)])}): "
            f"nothing can be learned about other rows. schema={{{table.name(0)!r}: 'categorical'}} takes one as it is."
        )
    if ids:
        _tell_ids(ids, dates)
    at = {j: g.columns(j) for j, g in enumerate(found)}
    rest = {key: kind for key, kind in said.items() if _place(table, key) is None}  # of parts, or of none
    rest |= {at[j][0]: kind for j, kind in own.items() if kind not in ("date", "id")}
    return rest, tuple(found)


def _said_of_given(table: Table, said: Mapping[Any, object]) -> dict[int, object]:
    """What is said of columns as they are given, by position."""
    for column, kind in said.items():
        if kind not in SAID:
            raise OptionError(f"Column {brief(column)} was given the kind {brief(kind)}. Allowed: {', '.join(SAID)}.")
    places = {key: _place(table, key) for key in said}
    return {j: said[key] for key, j in places.items() if j is not None}


def _place(table: Table, column: object) -> int | None:
    try:
        return Schema(tuple("real" for _ in range(table.d)), table.names).position(column)
    except OptionError:
        return None


def _in_columns(table: Table) -> Table:
    """A matrix by its columns."""
    if table.columns is not None:
        return table
    if table.matrix is None:
        raise OptionError("A sparse matrix has no dates and no ids: leave such columns out.")
    columns = tuple(RawColumn(table.matrix[:, j], "numbers", "real") for j in range(table.d))
    return replace(table, matrix=None, columns=columns)


def _tell_ids(names: Sequence[str], dates: Sequence[str]) -> None:
    read = f" schema={{{dates[0]!r}: 'date'}} reads {dates[0]!r} as dates." if dates else ""
    warn(
        f"Column(s) {listing(names, most=20)}: nearly every row has a value of its own, from which nothing can be "
        f"learned about other rows. They are left out; schema={{{names[0]!r}: 'id'}} says so without this warning, "
        f"schema={{{names[0]!r}: 'categorical'}} takes them as they are.{read}",
        IdentifierColumnWarning,
    )


def _kinds(table: Table, default: Kind) -> tuple[Kind, ...]:
    """What the types say. default: what numbers are."""
    if table.columns is not None:
        return tuple(_kind(c, default) for c in table.columns)
    truth = table.matrix is not None and table.matrix.dtype == bool and default == "real"
    return ("binary" if truth else default,) * table.d


def _kind(column: RawColumn, default: Kind) -> Kind:
    """A column of moments that is not spread is said to be something else."""
    return default if column.kind == "real" else "categorical" if column.kind == "date" else column.kind


def _said(schema: Schema, given: Mapping[Any, object]) -> dict[int, Kind]:
    """What the user says, by position."""
    for column, kind in given.items():
        if kind not in KINDS:
            raise OptionError(f"Column {brief(column)} was given the kind {brief(kind)}. Allowed: {', '.join(KINDS)}.")
    return {schema.position(column): cast(Kind, kind) for column, kind in given.items()}


def _is_text(table: Table, j: int) -> bool:
    return table.columns is not None and looks_like_text(table.columns[j])


def _tell_text(names: Sequence[str], who: str) -> None:
    warn(
        f"Column(s) that look like text: {listing(names)}. {who} takes each text as a category, and learns little from "
        "texts that hardly repeat; NaiveBayes and BayesClassifier read the words. "
        f"schema={{{names[0]!r}: 'categorical'}} says that categories are meant.",
        TextColumnWarning,
    )


def _check_text(schema: Schema, reads_text: bool, who: str) -> None:
    if "text" in schema.kinds and not reads_text:
        name = schema.name(schema.kinds.index("text"))
        raise OptionError(
            f"Column {name!r} is text, which {who} does not read; NaiveBayes and BayesClassifier do. "
            f"schema={{{name!r}: 'categorical'}} takes each text as a category."
        )


def _ambiguous(table: Table, j: int) -> bool:
    """Integers that may be categories?"""
    if table.columns is not None:
        return table.columns[j].integer and _few(table.columns[j].values)
    return table.matrix is not None and table.matrix.dtype.kind in "iu" and _few(table.matrix[:, j])


def _few(values: Array) -> bool:
    found = len(np.unique(values[:10_000]))
    return found <= FEW and 2 * found < len(values)


def align(table: Table, schema: Schema, who: str = "this model") -> Table:
    """The table as it is read: its columns in the schema's order, dates as their parts, without those that are left
    out. A missing or surplus column is named. who: the model's name."""
    if table.names is not None and table.names == schema.names:  # a table that is aligned already, too
        return table
    expected = schema.given_names
    if table.names is not None and (expected is not None or table.container == "rows"):
        if table.container == "rows" and expected is None:
            expected = tuple(f"x{j}" for j in range(schema.given_d))
        assert expected is not None
        return _by_name(table, schema, expected)
    if table.d != schema.given_d:
        raise TableError(f"X has {table.d} features, but {who} is expecting {schema.given_d} features as input.")
    if schema.given is None:
        return table
    return spread_table(_in_columns(table), schema.given)


def _by_name(table: Table, schema: Schema, expected: tuple[str, ...]) -> Table:
    """Columns by name. In place of a date its parts may be there; what is left out need not be there, and of dicts any
    key: it is a missing value."""
    assert table.names is not None
    assert table.columns is not None
    given = schema.given_columns
    at = dict(zip(table.names, table.columns, strict=True))
    parts = {name: g.columns(j) for j, (name, g) in enumerate(zip(expected, given, strict=True))}
    rows = table.container == "rows"
    known = {*expected, *(part for own in parts.values() for part in own)}
    surplus = [name for name in table.names if name not in known and not schema.extra]
    instead = {name: rows or all(p in at for p in own) for name, own in parts.items()}
    missing = [name for name in expected if name not in at and not instead[name]]
    if surplus and rows:
        raise TableError(
            f"The rows have keys that were not there at fit: {listing(sorted(surplus))}. model.ignore_extra() leaves "
            "such keys out."
        )
    if surplus or missing:
        _refuse_names(sorted(surplus), sorted(missing))
    absent = RawColumn(np.full(table.n, np.nan), "numbers", "real")
    columns: list[RawColumn] = []
    for j, (name, g) in enumerate(zip(expected, given, strict=True)):
        if name in at:
            columns += spread([at[name]], [g if g.name is not None else replace(g, name=f"x{j}")])
        else:
            columns += [at.get(part, absent) for part in parts[name]]
    names = schema.names or expected
    return replace(table, d=len(names), names=names, columns=tuple(columns))


def _refuse_names(surplus: list[str], missing: list[str]) -> None:
    message = "The feature names should match those that were passed during fit.\n"
    for head, names in (("unseen at fit time", surplus), ("seen at fit time, yet now missing", missing)):
        if names:
            shown = "".join(f"- {name}\n" for name in names[:5]) + ("- ...\n" if len(names) > 5 else "")
            message += f"Feature names {head}:\n{shown}"
    raise TableError(message)

"""Schema: name, kind, levels and cuts of each column; and a table in its order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.expansion import Expansion, expand, expand_table
from tallybayes.data.raw_column import RawColumn
from tallybayes.data.table import Container, Table
from tallybayes.errors import OptionError, TableError, brief, did_you_mean, listing
from tallybayes.utils import notebook
from tallybayes.utils.array_types import Array


class Levels:
    """The labels of a column by code.

    It never changes: extend gives another. Those that came from one another share the labels and the index of them
    (`known`), so that a longer one costs what is new in it, and a lookup costs the same however many there are.

    Parameters
    ----------
    labels : iterable, default=()
        The labels, in the order of their codes; or what another holds as `known`.
    declared : frozenset of int, default=frozenset()
        Codes that the column's type lists, seen or not.
    """

    __slots__ = ("_labels", "declared", "known", "memo")

    known: _core.LevelList
    declared: frozenset[int]
    memo: tuple[object, Any]  # what was last made of these for another list of labels, and that list

    def __init__(self, labels: Iterable[object] | _core.LevelList = (), declared: frozenset[int] = frozenset()) -> None:
        self.known = labels if isinstance(labels, _core.LevelList) else _core.LevelList(labels)
        self.declared = declared
        self._labels: tuple[object, ...] | None = None
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

    def __deepcopy__(self, memo: dict[int, object]) -> Levels:
        return self

    def index(self) -> dict[object, int]:
        """Return the code of each label.

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


Kind = Literal["real", "categorical", "binary", "count", "text"]
KINDS: tuple[str, ...] = get_args(Kind)


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
        """Describe the intervals in words.

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
class DistributionChoice:
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
    """Names, kinds, levels and cut points of the columns of a table. Print it.

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
    chosen : dict from position to DistributionChoice, default={}
        The distributions that NaiveBayes chose for numbers, and by what; and the categories of so many levels that a
        network takes each by itself.
    expansion : tuple of Expansion, default=None
        What becomes of each column of the input table, where the model does not read the columns as they are: a date
        is expanded into several columns, and an identifier is left out.
    extra : bool, default=False
        Whether a column that was not there at fit is left out; else it is an error.

    Attributes
    ----------
    kinds, names, container, levels, cuts, ambiguous, chosen, expansion, extra
        As above.
    d : int
        Number of columns after the expansion: those that the model reads.
    input_names : tuple of str or None
        The names of the columns of the input table, where they have names.
    dates : tuple of str
        The input columns that are expanded into their parts: dates, times and durations.
    needed_names : tuple of str or None
        The names of the input columns that must be present: all but identifiers.
    input_columns : tuple of Expansion
        What becomes of each column of the input table.
    n_inputs : int
        Number of columns of the input table.

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
    chosen: Mapping[int, DistributionChoice] = field(default_factory=dict)
    expansion: tuple[Expansion, ...] | None = None
    extra: bool = False
    memo: dict[Any, Any] = field(default_factory=dict, init=False, compare=False, repr=False)  # made of it, see encode/

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "memo": {}}

    @property
    def d(self) -> int:
        """int: number of columns that the model reads."""
        return len(self.kinds)

    @property
    def input_names(self) -> tuple[str, ...] | None:
        """tuple of str or None: names of the columns of the input table, where they have names."""
        if self.expansion is None:
            return self.names
        names = tuple(g.name for g in self.expansion if g.name is not None)
        return names if len(names) == len(self.expansion) else None

    @property
    def n_inputs(self) -> int:
        """int: number of columns of the input table."""
        return self.d if self.expansion is None else len(self.expansion)

    @property
    def dates(self) -> tuple[str, ...]:
        """tuple of str: input columns that are expanded into their parts."""
        found = [(j, g) for j, g in enumerate(self.expansion or ()) if g.what not in ("column", "id")]
        return tuple(g.called(j) for j, g in found)

    @property
    def needed_names(self) -> tuple[str, ...] | None:
        """tuple of str or None: names of the input columns that must be present, where they have names; not of ids."""
        names = self.input_names
        return (
            names
            if names is None
            else tuple(n for n, g in zip(names, self.input_columns, strict=True) if g.what != "id")
        )

    @property
    def input_columns(self) -> tuple[Expansion, ...]:
        """tuple of Expansion: what becomes of each column of the input table."""
        if self.expansion is not None:
            return self.expansion
        return tuple(Expansion(None if self.names is None else name) for name in self.names or [""] * self.d)

    def by_input(self, values: Array) -> Array:
        """Sum values of the columns that the model reads by input column.

        Parameters
        ----------
        values : ndarray of shape (d,)
            A value for each column that the model reads.

        Returns
        -------
        ndarray of shape (n_inputs,)
            The sums; 0 for a column that is left out.
        """
        if self.expansion is None:
            return values
        ends = np.cumsum([len(g.columns(j)) for j, g in enumerate(self.expansion)]).tolist()
        return np.array([values[start:end].sum() for start, end in pairwise([0, *ends])])

    def name(self, j: int) -> str:
        """Return what a column is called.

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
        ids = [f"{g.called(j)}: {g}" for j, g in enumerate(self.expansion or ()) if g.what == "id"]
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
        if j in self.chosen and self.kinds[j] == "categorical":
            note += f"{'  ' * bool(note)}(in a network by itself: more levels than rows can fill tables of)"
        elif j in self.chosen and self.chosen[j].losses:
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


# --- a table in the column order of a schema, matched by name or by position -----------------------------------------


def align(table: Table, schema: Schema, who: str = "this model") -> Table:
    """The expanded table in the schema's column order; refuses missing and unexpected columns."""
    if table.names is not None and table.names == schema.names:  # a table that is aligned already, too
        return table
    expected = schema.input_names
    if table.names is not None and (expected is not None or table.container == "rows"):
        if table.container == "rows" and expected is None:
            expected = tuple(f"x{j}" for j in range(schema.n_inputs))
        assert expected is not None
        return _by_name(table, schema, expected)
    if table.d != schema.n_inputs:
        raise TableError(f"X has {table.d} features, but {who} is expecting {schema.n_inputs} features as input.")
    if schema.expansion is None:
        return table
    return expand_table(in_columns(table), schema.expansion)


def _by_name(table: Table, schema: Schema, expected: tuple[str, ...]) -> Table:
    """Match by name. A date may come as its parts; an identifier, and any key of a dict, may be absent."""
    assert table.names is not None
    assert table.columns is not None
    expansion = schema.input_columns
    parts = {name: g.columns(j) for j, (name, g) in enumerate(zip(expected, expansion, strict=True))}
    _check_names(table, parts, schema.extra)
    at = dict(zip(table.names, table.columns, strict=True))
    absent = RawColumn(np.full(table.n, np.nan), "numbers", "real")
    columns: list[RawColumn] = []
    for name, g in zip(expected, expansion, strict=True):
        if name in at:
            columns += expand([at[name]], [g if g.name is not None else replace(g, name=name)])
        else:
            columns += [at.get(part, absent) for part in parts[name]]
    names = schema.names or expected
    return replace(table, d=len(names), names=names, columns=tuple(columns))


def _check_names(table: Table, parts: Mapping[str, tuple[str, ...]], extra: bool) -> None:
    """Refuse missing and unexpected names. parts: expanded names by column; extra: others may be there."""
    there = dict.fromkeys(table.names or ())
    known = {*parts, *(part for own in parts.values() for part in own)}
    surplus = [] if extra else sorted(name for name in there if name not in known)
    if table.container == "rows":
        if surplus:
            raise TableError(
                f"The rows have keys that were not there at fit: {listing(surplus)}. model.ignore_extra() leaves "
                f"such keys out.{did_you_mean(surplus[0], [name for name in parts if name not in there])}"
            )
        return
    missing = sorted(name for name, own in parts.items() if name not in there and not there.keys() >= set(own))
    if surplus or missing:
        _refuse_names(surplus, missing)


def _refuse_names(surplus: list[str], missing: list[str]) -> None:
    message = "The feature names should match those that were passed during fit.\n"
    for head, names in (("unseen at fit time", surplus), ("seen at fit time, yet now missing", missing)):
        if names:
            shown = "".join(f"- {name}\n" for name in names[:5]) + ("- ...\n" if len(names) > 5 else "")
            message += f"Feature names {head}:\n{shown}"
    hints = {name: did_you_mean(name, missing) for name in surplus[:20]}
    near = next((f"{name!r} was not there at fit.{hint}" for name, hint in hints.items() if hint), None)
    if near is not None:
        message += near
    elif missing:
        message += "Give each column that is missing; one of which nothing is known may hold NaN or None in every row."
    else:
        message += "Leave such columns out, or say model.ignore_extra(), which does."
    raise TableError(message)


def in_columns(table: Table) -> Table:
    """A matrix as a table of columns."""
    if table.columns is not None:
        return table
    if table.matrix is None:
        raise OptionError("A sparse matrix has no dates and no ids: leave such columns out.")
    columns = tuple(RawColumn(table.matrix[:, j], "numbers", "real") for j in range(table.d))
    return replace(table, matrix=None, columns=columns)

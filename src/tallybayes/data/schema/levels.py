"""The levels of a categorical column: labels by code, append-only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core


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

"""How tallies add: what merging, forgetting, fading and files ask of a distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.schema import Levels
from tallybayes.distributions.arithmetic import spread, subtract
from tallybayes.distributions.context import Context, Counted, P, S
from tallybayes.distributions.contract import Contract
from tallybayes.distributions.records import arrays_of, changed, record_of
from tallybayes.utils.array_types import Array


class Adds(Contract[S, P]):
    """Tallies added, taken away, scaled, renumbered, and read from a file."""

    def layout(self) -> tuple[object, ...]:
        """Tell what its tally is made of: two distributions of one layout have tallies that add.

        Returns
        -------
        tuple
            Compared with that of another; by default the class alone.
        """
        return (type(self),)

    def counted_as(self) -> Counted | None:
        """Tell what its tally is of, where a database could count it by grouping rows.

        'moments': n, mean, low and m2 of single columns of numbers.  'levels': count and sizes of single columns.
        'sets': single, sizes and joint, of single columns and of the sets in `tables`. These are the arrays that
        `statistics_from` is given.

        Returns
        -------
        str or None
            None if it is none of these, by default.
        """
        return None

    def combine(self, a: S, b: S, sign: int = 1) -> S:
        """Add two tallies, or take the second away from the first.

        Parameters
        ----------
        a : sums
            A tally.
        b : sums
            Another one, of the same layout and classes.
        sign : {1, -1}, default=1
            1: a + b; −1: a − b.

        Returns
        -------
        sums
            Another tally; a and b stay as they are.

        Raises
        ------
        ForgetError
            If b holds more than a.
        """
        one, two = arrays_of(a), arrays_of(b)
        add = np.add if sign > 0 else subtract
        return changed(a, {key: add(one[key], two[key]) for key in self.cells})

    def scale(self, s: S, factor: float) -> S:
        """Let every row count `factor` times as much.

        Parameters
        ----------
        s : sums
            A tally.
        factor : float
            Above 0.

        Returns
        -------
        sums
            Another tally.
        """
        arrays = arrays_of(s)
        return changed(s, {key: arrays[key] * factor for key in self.cells})

    def reclass(self, s: S, to: Sequence[int], K: int) -> S:
        """Renumber the classes: class c becomes class to[c] of K.

        Parameters
        ----------
        s : sums
            A tally.
        to : sequence of int
            The new number of each class; below 0 drops it.
        K : int
            How many classes there are afterwards.

        Returns
        -------
        sums
            Another tally.
        """
        arrays = arrays_of(s)
        return changed(s, {key: spread(arrays[key], to, K) for key in self.cells})

    def relevel(self, s: S, maps: Sequence[Sequence[int] | None]) -> S:  # noqa: ARG002
        """Renumber the levels: level v of column j becomes level maps[j][v].

        Parameters
        ----------
        s : sums
            A tally.
        maps : sequence of (sequence of int) or None
            One for each column; None leaves a column as it is.

        Returns
        -------
        sums
            Another tally; by default the same, of a distribution that reads numbers.
        """
        return s

    def join_levels(self, first: Levels, second: Levels) -> Levels:
        """Make one list of the levels of two models of a column.

        Parameters
        ----------
        first : Levels
            Those of one model, which keep their codes.
        second : Levels
            Those of the other.

        Returns
        -------
        Levels
            The first one's, then what only the second has.
        """
        return first.extend(second.labels)

    def level_map(self, own: Levels, joined: Levels) -> list[int]:
        """Tell what the levels of a column are among those of two models together.

        Parameters
        ----------
        own : Levels
            Those of one model.
        joined : Levels
            What `join_levels` gave.

        Returns
        -------
        list of int
            The new code of each.
        """
        index = joined.index()
        return [index[label] for label in own.labels]

    def statistics_from(self, arrays: Mapping[str, Array]) -> S:
        """Read the sums that a file's arrays stand for.

        Parameters
        ----------
        arrays : dict from str to ndarray
            What the file holds.

        Returns
        -------
        sums
            Not yet checked.

        Raises
        ------
        ValueError
            If they are none of this distribution's.
        """
        found: Any = dict(arrays) if self.statistics_type is dict else record_of(self.statistics_type, arrays)
        statistics: S = found
        return statistics

    def check(self, s: S, context: Context) -> None:
        """Refuse a tally that no rows can have: it comes from a file, and may be anything.

        Parameters
        ----------
        s : sums
            A tally.
        context : Context
            The weight of each class, and the labels behind the codes.

        Raises
        ------
        ValueError
            If no rows can have this tally.
        """
        arrays = arrays_of(s)
        missing = [key for key in self.cells if key not in arrays]
        if missing:
            raise ValueError(f"{missing[0]!r} is missing")
        for key, a in arrays.items():
            if a.dtype.kind not in "fiu" or not np.isfinite(a).all():
                raise ValueError(f"{key!r} does not hold finite numbers")
            if key in self.cells and a.shape[:1] != (context.K,):
                raise ValueError(f"{key!r} has the shape {a.shape}; its first axis is the class, of {context.K}")

    def level_weights(self, s: S) -> NDArray[np.float64] | None:  # noqa: ARG002
        """Tell the weight of the rows that had each level, the levels of one column after those of the other.

        Parameters
        ----------
        s : sums
            A tally.

        Returns
        -------
        ndarray or None
            As many numbers as `sizes` has in all; None if it counts no levels.
        """
        return None

    def sizes(self, s: S) -> NDArray[np.int64] | None:  # noqa: ARG002
        """Tell how many codes each of its columns has had. Columns that stay numbers come last, and are not listed.

        Parameters
        ----------
        s : sums
            A tally.

        Returns
        -------
        ndarray of int64 or None
            None if it reads numbers.
        """
        return None

    def met(self, s: S, d: int) -> NDArray[np.bool_]:  # noqa: ARG002
        """Tell which of its columns had a value in some row, as far as the tally shows.

        Parameters
        ----------
        s : sums
            A tally.
        d : int
            How many columns it has.

        Returns
        -------
        ndarray of bool, of shape (d,)
            Of the others nothing is said and none is drawn; by default all are met.
        """
        return np.ones(d, dtype=bool)

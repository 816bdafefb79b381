"""What every distribution must say: the contract. All else that it may say has a default, in `sides/`.

A distribution looks after a group of columns at once. Its tally holds sums only, in arrays whose first axis is the
class: smoothing, floors and shrinkage enter in `estimate`, so that adding and subtracting stay exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Data
from tallybayes.distributions.context import Context, Needs, P, S, Weights
from tallybayes.utils.array_types import Array


class Contract(ABC, Generic[S, P]):
    """What a distribution is called, what it takes, and the five methods that it writes."""

    name: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]  # the kinds of column it can take
    needs: ClassVar[Needs] = "numbers"
    one_column: ClassVar[bool] = False  # each of its columns has a term of its own
    cells: ClassVar[tuple[str, ...]] = ()  # arrays of the tally that merge by plain addition
    statistics_type: ClassVar[type[Any]] = (
        dict  # the record that holds its sums; a file's arrays become one by `statistics_from`
    )
    waits: ClassVar[bool] = False  # `estimate` refuses no tally: after more rows it may wait until it is asked for

    @abstractmethod
    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> S:
        """Count rows: make the tally of these alone.

        Parameters
        ----------
        data : Numbers, Coded, Codes or Sparse
            Its columns, as `encode` gave them.
        y : ndarray of int32, of shape (n,)
            The class of each row; below 0, the row does not count.
        w : ndarray of shape (n,) or None
            The weight of each row; None weighs each 1.
        K : int
            How many classes there are.

        Returns
        -------
        sums
            A record of arrays, or a dict of them, whose first axis is the class.
        """

    @abstractmethod
    def estimate(self, s: S, context: Context) -> P:
        """Make parameters of a tally: smoothing, floors and shrinkage go here.

        Parameters
        ----------
        s : sums
            A tally.
        context : Context
            The weight of each class, and the labels behind the codes.

        Returns
        -------
        params
            What people read, and what `score` and the others work with.
        """

    @abstractmethod
    def score(self, scorer: _core.Scorer, data: Data, p: P) -> None:
        """Add log P(x | class) of its columns to the scorer.

        Parameters
        ----------
        scorer : Scorer
            The log joint of each row and class so far; ``scorer.added(terms)`` adds an array (n, K).
        data : Numbers, Coded, Codes or Sparse
            Its columns.
        p : params
            Parameters.
        """

    @abstractmethod
    def sample(self, p: P, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        """Draw one value for each row and column, given the class of each row.

        Parameters
        ----------
        p : params
            Parameters.
        y : ndarray of int32, of shape (n,)
            The class of each row.
        rng : numpy.random.Generator
            What they are drawn with.

        Returns
        -------
        list of ndarrays of shape (n,)
            One for each column: numbers, or codes.
        """

    @abstractmethod
    def describe(self, p: P, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:
        """Tell what class k says of column j, in words and numbers.

        Parameters
        ----------
        p : params
            Parameters.
        j : int
            The column.
        k : int
            The class.
        labels : sequence of str
            What its codes stand for; empty if it has none.

        Returns
        -------
        dict from str to float
            Such as a mean and a variance, or the probability of each label.
        """

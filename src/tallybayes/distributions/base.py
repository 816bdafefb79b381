"""Distribution: sufficient statistics → parameters → log-likelihood, in nine methods. All else is a capability."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data import encoding
from tallybayes.data.encoding import Data, Sparse
from tallybayes.data.schema import Schema
from tallybayes.data.table import Table
from tallybayes.distributions.capabilities import KEPT, REPLACED, ClassOptions, Reclassing, Rescaling, capability
from tallybayes.distributions.context import Context, Exported, Needs, P, S, Weights
from tallybayes.distributions.statistics import arrays_of, changed, kind_of, spread, subtract
from tallybayes.utils.array_types import Array


class Distribution(ABC, Generic[S, P]):
    """A distribution P(x | class) of a group of columns.

    Its sufficient statistics are arrays whose first axis is the class. Smoothing, variance floors and shrinkage enter
    in `estimate` only, so that statistics add and subtract exactly. A subclass is a frozen dataclass whose fields are
    its options. It writes `add`, `estimate`, `score`, `sample` and `describe`; the other four methods have defaults.
    For one column of numbers SimpleDistribution asks for less. Closed forms and fast paths are capabilities, see
    ``tallybayes.distributions.capabilities``: none is required.

    Attributes
    ----------
    name : str
        Its name in ``distributions=`` and in files.
    kinds : tuple of str
        The kinds of column that it takes.
    needs : {'numbers', 'levels', 'cuts', 'codes', 'texts'}
        What it reads: numbers, codes of labels, codes of intervals, codes of either, or the words of texts.
    one_column : bool
        Whether it takes one column only: then each of its columns has a term of its own.
    cells : tuple of str
        The arrays of its statistics whose first axis is the class.
    weighted : tuple of str
        Those of `cells` that are proportional to the weight of the rows; None for all.
    statistics_type : type or tuple of types
        The record, or the forms of record, that holds its statistics; dict by default.
    statistics_options : tuple of str
        The options on which its statistics depend: two models whose options agree in these have statistics that add.
    waits : bool
        Whether `estimate` accepts any statistics, so that after more rows it may wait until parameters are needed.
    capabilities : collection of types
        What it offers besides the verbs.

    See Also
    --------
    SimpleDistribution : A distribution of one column whose statistics are sums.
    register : Give it a name.

    Examples
    --------
    >>> from tallybayes import GaussianNB
    >>> from tallybayes.distributions import Distribution
    >>> (term,) = GaussianNB().fit([[1.0], [2.0], [7.0], [8.0]], ["low", "low", "high", "high"]).fitted_.terms
    >>> isinstance(term.distribution, Distribution), term.distribution.name, term.distribution.kinds
    (True, 'gaussian', ('real', 'count', 'binary'))
    """

    name: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]
    needs: ClassVar[Needs] = "numbers"
    one_column: ClassVar[bool] = False
    cells: ClassVar[tuple[str, ...]] = ()
    weighted: ClassVar[tuple[str, ...] | None] = None
    statistics_type: ClassVar[type[Any] | tuple[type[Any], ...]] = dict
    statistics_options: ClassVar[tuple[str, ...]] = ()
    waits: ClassVar[bool] = False
    capabilities: ClassVar[Collection[type]] = frozenset()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        known = frozenset[type]().union(
            *(base.capabilities for base in cls.__bases__ if issubclass(base, Distribution))
        )
        if REPLACED & vars(cls).keys():
            known &= KEPT
        cls.capabilities = known | set(vars(cls).get("capabilities", ()))

    def encode(
        self, table: Table, schema: Schema, columns: Sequence[int], grow: bool, sizes: Mapping[int, int]
    ) -> tuple[Data, Schema]:
        """Read its columns as it needs them.

        Parameters
        ----------
        table : Table
            The rows.
        schema : Schema
            What the columns are.
        columns : sequence of int
            Its columns.
        grow : bool
            Whether unseen labels are appended to the schema.
        sizes : dict from int to int
            How many integer codes a column without a dictionary has had so far.

        Returns
        -------
        data : Numbers, Coded, Codes or Sparse
            The columns.
        schema : Schema
            The schema, with the labels that were new.
        """
        if self.needs == "levels":
            return encoding.levels(table, schema, columns, grow, sizes)
        if self.needs == "cuts":
            return encoding.cut_codes(table, schema, columns), schema
        if table.csr is not None:
            return Sparse(table.csr if tuple(columns) == tuple(range(table.d)) else table.csr[:, list(columns)]), schema
        return encoding.numbers(table, schema, columns, grow), schema

    @abstractmethod
    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> S:
        """Compute the sufficient statistics of rows.

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
        statistics
            A record of arrays, or a dict of them, whose first axis is the class.
        """

    def combine(self, a: S, b: S, sign: int = 1) -> S:
        """Add two statistics, or subtract the second from the first.

        Parameters
        ----------
        a : statistics
            Of some rows.
        b : statistics
            Of others, with the same options and classes.
        sign : {1, -1}, default=1
            1: a + b; −1: a − b.

        Returns
        -------
        statistics
            New ones; a and b stay as they are.

        Raises
        ------
        ForgetError
            If b holds more than a.
        """
        one, two = arrays_of(a), arrays_of(b)
        add = np.add if sign > 0 else subtract
        return changed(a, {key: add(one[key], two[key]) for key in self.cells})

    @abstractmethod
    def estimate(self, s: S, context: Context) -> P:
        """Estimate parameters: smoothing, variance floors and shrinkage go here.

        Parameters
        ----------
        s : statistics
            What was learned.
        context : Context
            The weight of each class, and the labels behind the codes.

        Returns
        -------
        params
            What `score` and the others work with.
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
            The source of random numbers.

        Returns
        -------
        list of ndarrays of shape (n,)
            One for each column: numbers, or codes.
        """

    @abstractmethod
    def describe(self, p: P, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:
        """Describe column j in class k by names and numbers.

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

    def check(self, s: S, context: Context) -> None:
        """Refuse statistics that no rows can have: they come from a file, and may be anything.

        Parameters
        ----------
        s : statistics
            What a file holds.
        context : Context
            The weight of each class, and the labels behind the codes.

        Raises
        ------
        ValueError
            If no rows can have these statistics.
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

    def export(self, p: P, context: Context) -> Exported | str:  # noqa: ARG002
        """Return its parameters as plain JSON values, in one of the forms of docs/model-json.md.

        What they add to log P(x | class) may differ from `score` by a term that all classes share.

        Parameters
        ----------
        p : params
            Parameters.
        context : Context
            The weight of each class, and the labels behind the codes.

        Returns
        -------
        dict or str
            ``form`` and what goes with it; ``reads``, how each column is read, where `needs` does not say it. By
            default a sentence that says why there is none.
        """
        return f"the distribution {self.name!r} has no form for other programs"


D = TypeVar("D", bound=Distribution[Any, Any])


def same_statistics(a: Distribution, b: Distribution) -> bool:
    """Whether statistics of the two add."""
    return type(a) is type(b) and all(getattr(a, key) == getattr(b, key) for key in a.statistics_options)


def scale(d: Distribution, s: Any, factor: float) -> Any:
    """The statistics where every row counts `factor` times as much."""
    own = capability(d, Rescaling)
    if own is not None:
        return own.scale(s, factor)
    arrays = arrays_of(s)
    keys = d.cells if d.weighted is None else d.weighted
    return s if factor == 1 else changed(s, {key: arrays[key] * factor for key in keys if key in arrays})


def reclass(d: Distribution, s: Any, to: Sequence[int], K: int) -> Any:
    """The statistics where class c has become class to[c] of K; below 0, it is dropped."""
    own = capability(d, Reclassing)
    if own is not None:
        return own.reclass(s, to, K)
    arrays = arrays_of(s)
    return changed(s, {key: spread(arrays[key], to, K) for key in d.cells if key in arrays})


def with_classes(d: D, to: Sequence[int], K: int) -> D:
    """The distribution where class c has become class to[c] of K."""
    own = capability(d, ClassOptions)
    return d if own is None else cast("D", own.with_classes(to, K))


def statistics_from(d: Distribution, arrays: Mapping[str, Array]) -> Any:
    """The statistics that a file's arrays stand for, not yet checked; ValueError if they are none of this one's."""
    kinds = d.statistics_type if isinstance(d.statistics_type, tuple) else (d.statistics_type,)
    return dict(arrays) if kinds == (dict,) else kind_of(arrays, *kinds).from_arrays(arrays)

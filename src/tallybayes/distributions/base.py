"""What a distribution is: how it adds, how it is read, how it scores and samples.

A distribution looks after a group of columns at once. Its tally is a dict of arrays whose first axis is the class,
and which holds sums only: smoothing, floors and shrinkage enter in `estimate`, so that adding and subtracting stay
exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core, encode
from tallybayes.arrays import Array, Floats
from tallybayes.distributions.exported import Exported
from tallybayes.distributions.records import arrays_of, changed, record_of
from tallybayes.distributions.terms import split as split_terms
from tallybayes.encode import Data, Sparse, rows_of
from tallybayes.errors import ForgetError, TableError
from tallybayes.schema import Levels, Schema
from tallybayes.source import Table

if TYPE_CHECKING:  # defaults of type variables are newer than the oldest Python here
    from typing_extensions import TypeVar

    S = TypeVar("S", default=Any)
    P = TypeVar("P", default=Any)
else:
    from typing import TypeVar

    S, P = TypeVar("S"), TypeVar("P")

Stats = dict[str, Array]  # of a distribution that has no record for its sums
Params = dict[str, Any]
Needs = Literal["numbers", "levels", "cuts", "codes", "texts"]
Features = Literal["numbers", "squares", "products", "sphere", "levels", "threshold", "counts"]
Weights = NDArray[np.float64] | None

NEVER_LEARNED = (
    "Asked to forget rows that were not learned (or with more weight than they had): a count or a sum of squares would "
    "fall below zero. Nothing was changed."
)
DUST = 8 * np.finfo(np.float64).eps  # what rounding leaves of a weight that was taken away whole


@dataclass(frozen=True)
class Context:
    """What a tally cannot know by itself: the weight of each class, and the labels behind the codes.

    Parameters
    ----------
    class_weight : ndarray of shape (K,)
        The weight of the rows of each class.
    levels : sequence of Levels or None, default=()
        One for each column: its labels, if it has labels.
    """

    class_weight: NDArray[np.float64]
    levels: Sequence[Levels | None] = ()  # one for each column

    @property
    def K(self) -> int:
        """int: how many classes there are."""
        return len(self.class_weight)

    def without(self, k: int, unit: float) -> Context:
        """Take weight away from a class.

        Parameters
        ----------
        k : int
            The class.
        unit : float
            How much weight it loses.

        Returns
        -------
        Context
            The same otherwise.
        """
        weight = self.class_weight.copy()
        weight[k] = max(weight[k] - unit, 0.0)
        return Context(weight, self.levels)

    @property
    def d(self) -> int:
        """int: how many columns there are."""
        return len(self.levels)


@dataclass(frozen=True)
class RowColumn:
    """A column of rows that come one at a time.

    Parameters
    ----------
    place : int
        Its place in the schema.
    kind : str
        Its kind.
    points : ndarray, default=None
        Where it is cut, if it is.
    """

    place: int
    kind: str
    points: NDArray[np.float64] | None = None


class Distribution(ABC, Generic[S, P]):
    """One kind of factor P(x_j | class), for a group of columns: how it adds, scores and samples.

    Its tally holds sums only, in arrays whose first axis is the class: smoothing, floors and shrinkage enter in
    `estimate`, so that adding and subtracting stay exact. A subclass is a frozen dataclass whose fields are its
    options; it writes `add`, `estimate`, `score`, `sample` and `describe`, and of the others those whose default is not
    right for it. For one column of numbers SimpleDistribution asks for less.

    Attributes
    ----------
    name : str
        What it is called in ``distributions=`` and in files.
    kinds : tuple of str
        The kinds of column that it can take.
    needs : {'numbers', 'levels', 'cuts', 'codes', 'texts'}
        What it reads: numbers, codes of labels, codes of intervals, codes of either, or the words of texts.
    one_column : bool
        Whether it takes one column only: then each of its columns has a term of its own.
    cells : tuple of str
        Arrays of the tally that merge by plain addition.
    sums : type
        The record that holds its sums; dict by default.
    always : dict
        Options that it had once: files name them, and they say always the same.

    Examples
    --------
    >>> from tallybayes import Distribution, GaussianNB
    >>> (term,) = GaussianNB().fit([[1.0], [2.0], [7.0], [8.0]], ["low", "low", "high", "high"]).fitted_.terms
    >>> isinstance(term.distribution, Distribution), term.distribution.name, term.distribution.kinds
    (True, 'gaussian', ('real', 'count', 'binary'))
    """

    name: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]  # the kinds of column it can take
    needs: ClassVar[Needs] = "numbers"
    one_column: ClassVar[bool] = False  # each of its columns has a term of its own
    cells: ClassVar[tuple[str, ...]] = ()  # arrays of the tally that merge by plain addition
    sums: ClassVar[type[Any]] = dict  # the record that holds its sums; a file's arrays become one by `sums_of`
    always: ClassVar[Mapping[str, object]] = {}  # options that it had once: files name them; they say always the same

    def layout(self) -> tuple[object, ...]:
        """Tell what its tally is made of: two distributions of one layout have tallies that add.

        Returns
        -------
        tuple
            Compared with that of another; by default the class alone.
        """
        return (type(self),)

    # --- what it reads -----------------------------------------------------------------------------------------

    def learn_cuts(
        self,
        table: Table,  # noqa: ARG002
        schema: Schema,
        columns: Sequence[int],  # noqa: ARG002
        y: NDArray[np.int32],  # noqa: ARG002
        w: Weights,  # noqa: ARG002
        K: int,  # noqa: ARG002
    ) -> Schema:
        """Cut those of its columns that it wants cut and that have no cuts yet; by default none.

        Parameters
        ----------
        table : Table
            The first rows.
        schema : Schema
            What the columns are.
        columns : sequence of int
            Its columns.
        y : ndarray of int32, of shape (n,)
            The class of each row; below 0, the row does not count.
        w : ndarray of shape (n,) or None
            The weight of each row; None weighs each 1.
        K : int
            How many classes there are.

        Returns
        -------
        Schema
            With the cuts.
        """
        return schema

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
            Whether labels not met before are appended to the schema.
        sizes : dict from int to int
            How many integer codes a column without a dictionary has had so far.

        Returns
        -------
        data : Numbers, Coded, Codes or Sparse
            The columns.
        schema : Schema
            The schema, grown where labels were new.
        """
        if self.needs == "levels":
            codes, schema = encode.levels(table, schema, columns, grow, sizes)
            if grow:
                check_binary(schema, columns)
            return codes, schema
        if self.needs == "cuts":
            return encode.cut_codes(table, schema, columns), schema
        if table.csr is not None:
            return Sparse(table.csr if len(columns) == table.d else table.csr[:, list(columns)]), schema
        return encode.numbers(table, schema, columns, grow), schema

    # --- what it sums ------------------------------------------------------------------------------------------

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

    def tally(
        self,
        table: Table,
        schema: Schema,
        columns: Sequence[int],
        sizes: Mapping[int, int],
        y: NDArray[np.int32],
        w: Weights,
        K: int,
    ) -> tuple[S, Schema]:
        """Count the rows of a table, and keep nothing else of them: `encode` and `add` in one.

        Parameters
        ----------
        table : Table
            The rows.
        schema : Schema
            What the columns are.
        columns : sequence of int
            Its columns.
        sizes : dict from int to int
            How many integer codes a column without a dictionary has had so far.
        y : ndarray of int32, of shape (n,)
            The class of each row; below 0, the row does not count.
        w : ndarray of shape (n,) or None
            The weight of each row; None weighs each 1.
        K : int
            How many classes there are.

        Returns
        -------
        sums
            As `add` gives them.
        schema : Schema
            The schema, grown where labels were new.
        """
        data, schema = self.encode(table, schema, columns, True, sizes)
        return self.add(data, y, w, K), schema

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

    def sums_of(self, arrays: Mapping[str, Array]) -> S:
        """Read the sums that a file's arrays stand for.

        Parameters
        ----------
        arrays : dict from str to ndarray
            What the file holds, of this version or an earlier one.

        Returns
        -------
        sums
            Not yet checked.

        Raises
        ------
        ValueError
            If they are none of this distribution's.
        """
        found: Any = dict(arrays) if self.sums is dict else record_of(self.sums, arrays)
        sums: S = found
        return sums

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

    def estimate_again(self, s: S, context: Context, p: P) -> P:  # noqa: ARG002
        """Make parameters of another tally, with what was chosen by leave-one-out or the like kept as it is.

        Parameters
        ----------
        s : sums
            A tally.
        context : Context
            The weight of each class, and the labels behind the codes.
        p : params
            Those of the tally on which it was chosen.

        Returns
        -------
        params
            Of s; by default what `estimate` gives.
        """
        return self.estimate(s, context)

    def left_out(
        self, data: Data, y: NDArray[np.int32], unit: NDArray[np.float64], s: S, p: P, context: Context
    ) -> Array:
        """Tell log P(x | class) of rows that are in the tally, each by the tally without the row itself.

        This way is right for any distribution, at the cost of an estimate for each row.

        Parameters
        ----------
        data : Numbers, Coded, Codes or Sparse
            Its columns.
        y : ndarray of int32, of shape (n,)
            The class of each row.
        unit : ndarray of shape (n,)
            How much of each row is taken out of its class; 0 leaves the row in.
        s : sums
            The tally of all rows.
        p : params
            Its parameters.
        context : Context
            The weight of each class, and the labels behind the codes.

        Returns
        -------
        ndarray of shape (n, K)
            Up to a term that all classes share.
        """
        out = np.empty((len(y), context.K))
        for i in range(len(y)):
            row = rows_of(data, slice(i, i + 1))
            less = self.combine(s, self.add(row, y[i : i + 1], unit[i : i + 1], context.K), -1)
            found = self.estimate_again(less, context.without(int(y[i]), float(unit[i])), p)
            scorer = _core.Scorer(1, np.zeros(context.K))
            self.score(scorer, row, found)
            out[i] = scorer.joint()[0]
        return out

    def penalty(self, s: S, p: P) -> float:  # noqa: ARG002
        """Tell the log prior density under which `estimate` is the most probable value, up to a constant.

        The likelihood plus this is what EM climbs.

        Parameters
        ----------
        s : sums
            A tally.
        p : params
            Its parameters.

        Returns
        -------
        float
            0 where the estimate is maximum likelihood (or no maximum at all).
        """
        return 0.0

    def row_door(self, columns: Sequence[RowColumn], s: S, context: Context) -> _core.DoorPart | str:  # noqa: ARG002
        """Make what learns and scores these columns of one dict at a time in compiled code.

        It does so to the bit as `add`, `combine`, `estimate` and `score` do.

        Parameters
        ----------
        columns : sequence of RowColumn
            Its columns.
        s : sums
            The tally so far.
        context : Context
            The weight of each class, and the labels behind the codes.

        Returns
        -------
        DoorPart or str
            A sentence that says why there is none, by default.
        """
        return f"the distribution {self.name!r} has no compiled form for one row"

    def export(self, p: P, context: Context) -> Exported | str:  # noqa: ARG002
        """Give its parameters as plain JSON values, in one of the forms that scorers elsewhere know.

        The forms are listed in the guide, docs/model-json.md; what they add to log P(x | class) may differ from `score`
        by a term that all classes share.

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

    # --- how it answers ----------------------------------------------------------------------------------------

    def compile(self, p: P, context: Context) -> P:  # noqa: ARG002
        """Make the parameters as `score`, `answer` and `terms` read them fastest: once for many questions.

        Parameters
        ----------
        p : params
            Parameters.
        context : Context
            The weight of each class, and the labels behind the codes.

        Returns
        -------
        params
            By default the same.
        """
        return p

    def answer(self, data: Data, p: P, how: str, start: Array) -> Array | None:  # noqa: ARG002
        """Give a whole answer, where this is the only distribution of a model and has a shorter way to it than `score`.

        Parameters
        ----------
        data : Numbers, Coded, Codes or Sparse
            Its columns.
        p : params
            Parameters.
        how : {'joint', 'log_proba', 'proba', 'best', 'evidence'}
            What is asked.
        start : ndarray of shape (K,) or (n, K)
            What the log joint starts from.

        Returns
        -------
        ndarray or None
            None where there is no shorter way, by default.
        """
        return None

    def matrix_door(self, p: P, start: Array) -> _core.MatrixDoor | None:  # noqa: ARG002
        """Open compiled code that reads a matrix of numbers and answers in one call, where this is all of a model.

        Parameters
        ----------
        p : params
            Parameters, compiled.
        start : ndarray of shape (K,)
            What the log joint starts from.

        Returns
        -------
        MatrixDoor or None
            None where there is no such code, by default.
        """
        return None

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

    def look(self, scorer: _core.Scorer, data: Data, p: P) -> None:
        """Refuse what `score` refuses and report the categories that it reports, where only that is asked.

        Parameters
        ----------
        scorer : Scorer
            As for `score`; its numbers are not read afterwards.
        data : Numbers, Coded, Codes or Sparse
            Its columns.
        p : params
            Parameters.
        """
        self.score(scorer, data, p)

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

    def column(self, p: P, j: int) -> P | None:  # noqa: ARG002
        """Take out the parameters of column j alone.

        Parameters
        ----------
        p : params
            Parameters.
        j : int
            The column.

        Returns
        -------
        params or None
            None where the columns are not independent given the class, by default.
        """
        return None

    def terms(self, data: Data, p: P, K: int) -> Array:
        """Tell what each column adds to log P(x | class). They sum to what `score` adds.

        log P(x_j | class) if `column` gives the parameters of one column; else log P(x_j | x_1 … x_(j−1), class) in
        the order of the columns, with those that follow taken as missing.

        Parameters
        ----------
        data : Numbers, Coded, Codes or Sparse
            Its columns.
        p : params
            Parameters.
        K : int
            How many classes there are.

        Returns
        -------
        ndarray of shape (n, columns, K)
            The terms.
        """
        return split_terms(self, data, p, K)

    def pieces(self, data: Data, p: P, i: int) -> list[tuple[str, Floats]] | None:  # noqa: ARG002
        """Tell what the pieces of a value add to log P(x | class), where it has pieces: the words of a text.

        Parameters
        ----------
        data : Numbers, Coded, Codes or Sparse
            Its columns, of which there is one.
        p : params
            Parameters.
        i : int
            The row.

        Returns
        -------
        list of (str, ndarray of shape (K,)) or None
            Each piece and what it adds, summing to `terms`; None where values have none, by default.
        """
        return None

    def outcomes(self, p: P, j: int) -> Array | None:  # noqa: ARG002
        """Tell the log probability of each value that column j can have.

        Parameters
        ----------
        p : params
            Parameters.
        j : int
            The column.

        Returns
        -------
        ndarray of shape (values, K) or None
            None if they are not a short list, by default.
        """
        return None

    def linear(self, p: P, log_prior: NDArray[np.float64]) -> tuple[Array, Array] | None:  # noqa: ARG002
        """Give weight and bias with log P(x | class) = weight x + bias, up to a term that all classes share.

        A weight is infinite where a probability is 0. A column of levels counts as one column for each of them, 1 where
        a row has it; for a threshold x is 1 above it.

        Parameters
        ----------
        p : params
            Parameters.
        log_prior : ndarray of shape (K,)
            Of the classes; the numbers may be kept small by it.

        Returns
        -------
        tuple of (ndarray of shape (K, columns), ndarray of shape (K,)) or None
            Weight and bias; None where it is not linear in x, by default.
        """
        return None

    def quadratic(self, p: P) -> tuple[Array, Array, Array] | None:  # noqa: ARG002
        """Give A, b and c with log P(x | class) = xᵀ A x + xᵀ b + c.

        Parameters
        ----------
        p : params
            Parameters.

        Returns
        -------
        tuple of ndarrays of shapes (K, d, d), (K, d) and (K,), or None
            None where that is not its form, by default.
        """
        return None

    def normal(self, p: P) -> tuple[Array, Array] | None:  # noqa: ARG002
        """Give means (from those of the first class) and variances, if each column by itself is Gaussian in each class.

        Parameters
        ----------
        p : params
            Parameters.

        Returns
        -------
        tuple of two ndarrays of shape (K, columns), or None
            None where that is not its form, by default.
        """
        return None

    def features(self) -> Features | None:
        """Tell in which functions of its columns the log-odds of two classes are linear.

        'numbers': x.  'squares': x, x².  'products': x, all x_i x_j.  'sphere': x, Σ x².  'levels': 0 or 1 for each
        level.  'threshold': 0 or 1, by the field `threshold`.  'counts': x, of numbers that are 0 or more.

        Returns
        -------
        str or None
            None if in none of these, by default.
        """
        return None

    def n_parameters(self, p: P, context: Context) -> int | None:  # noqa: ARG002
        """Tell how many free numbers P(x | class) has, in all classes together.

        Parameters
        ----------
        p : params
            Parameters.
        context : Context
            The weight of each class, and the labels behind the codes.

        Returns
        -------
        int or None
            None if no fixed number, by default.
        """
        return None


def check_binary(schema: Schema, columns: Sequence[int]) -> None:
    """TableError if a binary column has met a third value."""
    for j in columns:
        if schema.kinds[j] == "binary" and j in schema.levels and len(schema.levels[j]) > 2:
            labels = ", ".join(repr(v) for v in schema.levels[j].labels[:4])
            raise TableError(
                f"Column {schema.name(j)!r} is binary but has {len(schema.levels[j])} values ({labels}). Declare it "
                f"categorical with schema={{{schema.name(j)!r}: 'categorical'}}."
            )


def expect(s: object, shapes: Mapping[str, tuple[int, ...]], at_least_0: Sequence[str]) -> None:
    """Raises ValueError unless s has these arrays and no others: float64, finite, none below 0 where said."""
    arrays = arrays_of(s)
    if set(arrays) != set(shapes):
        raise ValueError(f"it has {sorted(arrays)}; expected {sorted(shapes)}")
    for key, shape in shapes.items():
        a = arrays[key]
        if a.dtype != np.float64 or a.shape != shape:
            raise ValueError(f"{key!r} is {a.dtype} of shape {a.shape}; expected float64 of shape {shape}")
        if not np.isfinite(a).all() or (key in at_least_0 and (a < 0).any()):
            raise ValueError(f"{key!r} holds NaN, an infinity or a negative number")


def spread(a: Array, to: Sequence[int], K: int) -> Array:
    out = np.zeros((K, *a.shape[1:]), dtype=a.dtype)
    index = np.asarray(to, dtype=np.intp)
    out[index[index >= 0]] = a[index >= 0]
    return out


def subtract(a: Array, b: Array) -> Array:
    """a − b ≥ 0, with rounding dust swept away."""
    r = a - b
    scale = np.maximum(np.abs(a), np.abs(b))
    if (r < -1e-9 * scale).any():
        raise ForgetError(NEVER_LEARNED)
    r[r <= DUST * scale] = 0.0
    return r


def met_codes(count: Array, sizes: Array) -> NDArray[np.bool_]:
    """Which columns were counted at all; count: of all columns side by side, sizes: how many codes each has."""
    there = np.append(np.cumsum(count.any(axis=0)), 0)  # index −1: nothing before the first
    ends = np.cumsum(sizes) - 1
    return np.asarray(there[ends] > there[ends - sizes])


def dense_sum(d: Distribution[S, P], data: Sparse, y: NDArray[np.int32], w: Weights, K: int) -> S:
    """The tally of sparse rows for a distribution that reads dense numbers: block by block."""
    total: S | None = None
    for span, block in data.dense_blocks():
        with rows_from(span.start):
            part = d.add(block, y[span], None if w is None else w[span], K)
        total = part if total is None else d.combine(total, part)
    assert total is not None
    return total


def dense_scores(d: Distribution[S, P], scorer: _core.Scorer, data: Sparse, p: P, K: int) -> None:
    """Adds the scores of sparse rows for a distribution that reads dense numbers: block by block."""
    terms = np.empty((data.n, K))
    for span, block in data.dense_blocks():
        part = _core.Scorer(block.n, np.zeros(K))
        with rows_from(span.start):
            d.score(part, block, p)
            terms[span] = part.joint()
    scorer.added(terms)


def dense_left_out(
    d: Distribution[S, P],
    data: Sparse,
    y: NDArray[np.int32],
    unit: NDArray[np.float64],
    s: S,
    p: P,
    context: Context,
) -> Array:
    """left_out of sparse rows for a distribution that reads dense numbers: block by block."""
    out = np.empty((data.n, context.K))
    for span, block in data.dense_blocks():
        out[span] = d.left_out(block, y[span], unit[span], s, p, context)
    return out


@contextmanager
def rows_from(first: int) -> Iterator[None]:
    """A value refused in a block of rows is at another row of the table."""
    try:
        yield
    except _core.BadValue as e:
        kind, row, col, value = e.args
        raise _core.BadValue(kind, row + first, col, value) from None

"""Fitted: a whole model as data. What files hold, what machines send each other, what every mode of learning adds to.

fit(A ∪ B) = fit(A) + fit(B). Sums are raw: smoothing, floors, shrinkage and priors enter in `estimate` and are never
put back, so that adding and taking away stay exact. Knows no scikit-learn, no file, no thread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tallybayes import _core
from tallybayes.data.encoding import rows_of
from tallybayes.data.labels import Target, positions, union
from tallybayes.data.schema import Levels, Schema
from tallybayes.data.table import Table
from tallybayes.distributions.base import reclass, scale, with_classes
from tallybayes.distributions.capabilities import (
    LevelCounts,
    ParameterCount,
    TableCounts,
    Vocabulary,
    capability,
    leave_one_out,
)
from tallybayes.distributions.capabilities import sizes as code_counts
from tallybayes.distributions.context import Context
from tallybayes.distributions.statistics import spread, subtract
from tallybayes.errors import MergeError, OptionError, listing
from tallybayes.model.column_order import in_order_of
from tallybayes.model.distribution_selection import differs
from tallybayes.model.forgotten_levels import renamed_alike, without_forgotten
from tallybayes.model.priors import log_prior
from tallybayes.model.rows import Rows
from tallybayes.model.term import Term, refused, same_shape
from tallybayes.utils.array_types import Array, Floats

Starts = Callable[[Floats], Floats]

GONE = 1e-250  # the weight of a class that has faded away; the same number is in cpp/core/rowpath/row_model.cpp


@dataclass(frozen=True)
class Fitted:
    """What was learned: the model as data. What files hold and machines send.

    Parameters
    ----------
    schema : Schema
        What each column is.
    classes : ndarray of shape (K,)
        The labels.
    weight : ndarray of shape (K,)
        The weight of the rows of each class.
    terms : tuple of Term
        The distributions on their columns, with sums; with parameters too, once they are estimated.
    classes_fixed : bool, default=False
        Whether the classes were declared, so that another label is an error.
    log_prior : ndarray of shape (K,), default=None
        The log prior; None until the parameters are estimated.
    """

    schema: Schema
    classes: Array
    weight: Floats
    terms: tuple[Term, ...]
    classes_fixed: bool = False
    log_prior: Floats | None = None

    @property
    def K(self) -> int:
        """int: how many classes there are."""
        return len(self.classes)

    @property
    def prior(self) -> Floats:
        """ndarray of shape (K,): log_prior, where parameters are estimated."""
        assert self.log_prior is not None
        return self.log_prior

    def term_of(self, j: int) -> tuple[Term, int]:
        """Find who looks after a column.

        Parameters
        ----------
        j : int
            The column.

        Returns
        -------
        tuple of (Term, int)
            Its term, and its place there.
        """
        term = next(t for t in self.terms if j in t.columns)
        return term, term.columns.index(j)

    def sizes(self) -> dict[int, int]:
        """Return how many codes each column has had whose codes are not those of cuts.

        Returns
        -------
        dict from int to int
            By column.
        """
        return {j: size for term in self.terms for j, size in _code_counts(term).items() if j not in self.schema.cuts}

    def context(self, term: Term) -> Context:
        """Return what a term's tally cannot know by itself.

        Parameters
        ----------
        term : Term
            One of its terms.

        Returns
        -------
        Context
            Labels, or intervals for a distribution of cut columns: those exist whether or not a value fell into them.
        """
        cut = self.schema.cuts if term.distribution.needs in ("cuts", "codes") else ()
        schema = self.schema
        if not cut and not schema.levels:  # a matrix may have very many columns
            return Context(self.weight, [None] * len(term.columns))
        return Context(
            self.weight,
            [schema.cuts[j].intervals if j in cut else schema.levels.get(j) for j in term.columns],
        )

    # --- sums --------------------------------------------------------------------------------------------------

    def add(self, other: Fitted) -> Fitted:
        """Add what was counted of other rows.

        Parameters
        ----------
        other : Fitted
            Counted with this one's schema, or one that has grown from it.

        Returns
        -------
        Fitted
            The two together.
        """
        return replace(self._combined(other, 1), schema=other.schema)

    def subtract(self, other: Fitted) -> Fitted:
        """Take away what was counted of some rows.

        Parameters
        ----------
        other : Fitted
            Counted with this one's schema, or one that has grown from it.

        Returns
        -------
        Fitted
            What is left, without the names of levels and words that no row has any more.

        Raises
        ------
        ForgetError
            If the other had more of something.
        """
        return without_forgotten(self._without(other), self)

    def _without(self, other: Fitted) -> Fitted:
        """The same; all levels keep their codes, those without rows too."""
        left = self._combined(other, -1)
        if not self.classes_fixed and (left.weight == 0).any():
            left = left.reclass(left.classes[left.weight > 0])
        return left

    def _combined(self, other: Fitted, sign: int) -> Fitted:
        classes = union(self.classes, other.classes)
        a, b = self.reclass(classes), other.reclass(classes)
        theirs = {t.columns: t.statistics for t in b.terms}
        terms = tuple(_raw(t, t.distribution.combine(t.statistics, theirs[t.columns], sign)) for t in a.terms)
        weight = a.weight + b.weight if sign > 0 else subtract(a.weight, b.weight)
        return replace(self, classes=classes, weight=weight, terms=terms, log_prior=None)

    def scale(self, factor: float) -> Fitted:
        """Let every row learned so far count `factor` times as much.

        Parameters
        ----------
        factor : float
            At least 0.

        Returns
        -------
        Fitted
            With the same classes; one of which hardly anything is left (below 1e-250) has no rows any more, before its
            statistics are no numbers any more.
        """
        terms = tuple(_raw(t, scale(t.distribution, t.statistics, factor)) for t in self.terms)
        weight = self.weight * factor
        left = replace(self, weight=weight, terms=terms, log_prior=None)
        gone = (self.weight > 0) & (weight < GONE)
        return left.emptied(gone) if gone.any() else left

    def reclass(self, classes: Array) -> Fitted:
        """Return the same statistics over another set of classes.

        Parameters
        ----------
        classes : ndarray
            The labels; one that was there before and is not among them is dropped.

        Returns
        -------
        Fitted
            Over these classes.
        """
        if np.array_equal(self.classes, classes):
            return replace(self, classes=classes)
        to, K = positions(self.classes, classes).tolist(), len(classes)
        terms = tuple(
            _raw(
                replace(t, distribution=with_classes(t.distribution, to, K)),
                reclass(t.distribution, t.statistics, to, K),
            )
            for t in self.terms
        )
        return replace(self, classes=classes, weight=spread(self.weight, to, K), terms=terms, log_prior=None)

    def emptied(self, which: Array | None = None) -> Fitted:
        """Return the same schema, classes and distributions, with no rows: what has been settled, and nothing counted.

        Parameters
        ----------
        which : ndarray of bool, of shape (K,), default=None
            The classes that lose their rows; None: all.

        Returns
        -------
        Fitted
            Whose sums of these classes are those of no rows.
        """
        gone = np.ones(self.K, dtype=bool) if which is None else which
        to = np.where(gone, -1, np.arange(self.K)).tolist()
        terms = tuple(_raw(t, reclass(t.distribution, t.statistics, to, self.K)) for t in self.terms)
        return replace(self, weight=np.where(gone, 0.0, self.weight), terms=terms, log_prior=None)

    def merge(self, other: Fitted) -> Fitted:
        """Add another model, with a schema and classes of its own, as if all rows had been learned here.

        Parameters
        ----------
        other : Fitted
            Of the same columns, in any order where they have names, and the same distributions.

        Returns
        -------
        Fitted
            Both together.

        Raises
        ------
        MergeError
            If the two count different things.
        """
        other = in_order_of(other, self)
        schema = union_schema(self, other)
        if not same_shape(self.terms, other.terms):
            raise MergeError(
                "The two models use different distributions, or count different combinations, for their columns."
            )
        both = self.relevel(schema).add(other.relevel(schema))
        return replace(both, classes_fixed=self.classes_fixed and other.classes_fixed)

    def relevel(self, schema: Schema) -> Fitted:
        """Return the same counts under a schema that numbers the levels in another order.

        Parameters
        ----------
        schema : Schema
            With all levels of this one's.

        Returns
        -------
        Fitted
            Under that schema.
        """
        terms = []
        for term in self.terms:
            counts = _code_counts(term)
            maps = [
                None
                if j in self.schema.cuts or j not in schema.levels
                else _level_map(term, _levels(self.schema, j, counts), schema.levels[j])
                for j in counts
            ]
            levels = capability(term.distribution, LevelCounts)
            terms.append(_raw(term, levels.relevel(term.statistics, maps)) if levels is not None and counts else term)
        return replace(self, schema=schema, terms=tuple(terms), log_prior=None)

    def with_terms(self, terms: Sequence[Term]) -> Fitted:
        """Return the same statistics, to be read with other options.

        Parameters
        ----------
        terms : sequence of Term
            Those whose distributions have the options.

        Returns
        -------
        Fitted
            Without parameters.
        """
        statistics = {t.columns: t.statistics for t in self.terms}
        return replace(self, terms=tuple(_raw(t, statistics[t.columns]) for t in terms), log_prior=None)

    # --- parameters --------------------------------------------------------------------------------------------

    def estimate(self, priors: object) -> Fitted:
        """Read parameters from the statistics.

        Parameters
        ----------
        priors : None, 'uniform', 'laplace', array, dict, Series or callable
            The class prior: counted, or as `priors.log_prior` reads it.

        Returns
        -------
        Fitted
            With parameters in its terms, and a log prior.
        """
        terms = []
        for term in self.terms:
            try:
                terms.append(replace(term, params=term.distribution.estimate(term.statistics, self.context(term))))
            except _core.BadValue as e:
                raise refused(e, self.schema, term.columns, "this model") from None
        return replace(self, terms=tuple(terms), log_prior=log_prior(self.weight, self.classes, priors))

    def leave_one_out(self, rows: Rows, priors: object, starts: Starts) -> tuple[Floats, Floats]:
        """Return the log prior and log P(x | class) of rows that were learned, each without the row itself.

        Of a row of weight 2, which is two rows, one is left out (`Rows.weight_left_out`). What was chosen
        with all rows (cuts, structure, concentration of back-off, shrinkage, a given prior) stays.

        Parameters
        ----------
        rows : Rows
            Learned before.
        priors : None, 'uniform', 'laplace', array, dict, Series or callable
            The class prior, as for the estimate.
        starts : callable
            What the log joint starts from, given the log prior.

        Returns
        -------
        prior : ndarray of shape (n, K)
            The log prior; NaN for a row without which its class has none.
        likelihood : ndarray of shape (n, K)
            log P(x | class), up to a term that all classes share.
        """
        y = rows.classes_of_rows
        unit = np.where(y < 0, 0.0, rows.weight_left_out())
        label = np.maximum(y, 0).astype(np.int32)
        own = self.weight[label]
        last = (unit > 0) & (own - unit <= 1e-9 * own)
        unit = np.where(last, 0.0, unit)
        pairs, which = np.unique(np.column_stack([label, unit]), axis=0, return_inverse=True)
        begin = np.empty((len(pairs), self.K))
        for i, (k, u) in enumerate(pairs.tolist()):
            weight = self.weight.copy()
            weight[int(k)] -= u
            begin[i] = starts(log_prior(weight, self.classes, priors))
        prior = begin[which.reshape(-1)]
        likelihood = np.zeros((rows.n, self.K))
        for t in self.terms:
            try:
                likelihood += leave_one_out(
                    t.distribution, rows.of(t), label, unit, t.statistics, t.params, self.context(t)
                )
            except _core.BadValue as e:
                raise refused(e, self.schema, t.columns, "this model") from None
        prior[last], likelihood[last] = np.nan, np.nan
        return prior, likelihood

    def without_only_rows(
        self, rows: Rows, priors: object, starts: Starts, prior: Floats, likelihood: Floats
    ) -> tuple[Floats, Floats]:
        """The same with the only row of a class judged too: by an estimate without that class, as after `forget`.

        Parameters
        ----------
        rows : Rows
            Learned before.
        priors : None, 'uniform', 'laplace', array, dict or Series
            The class prior, as for the estimate. One that names classes keeps the class, which has no rows then.
        starts : callable
            What the log joint starts from, given the log prior.
        prior, likelihood : ndarray of shape (n, K)
            As `leave_one_out` gives them: NaN for these rows.

        Returns
        -------
        prior : ndarray of shape (n, K)
            −inf for a class that is not there; 0 if no row is left.
        likelihood : ndarray of shape (n, K)
            log P(x | class), up to a term that all classes share.
        """
        only = np.flatnonzero(np.isnan(prior).any(axis=1))
        prior, likelihood = prior.copy(), likelihood.copy()
        kept = not (priors is None or isinstance(priors, str) or callable(priors))  # it names classes
        unit = rows.weight_left_out()
        for i in only.tolist():
            data = {j: rows_of(data, slice(i, i + 1)) for j, data in rows.data.items()}
            one = replace(rows, data=data, w=unit[i : i + 1])
            row = count(replace(one, y=rows.classes_of_rows[i : i + 1]), self.terms, self.classes, self.classes_fixed)
            less = self._combined(row, -1) if kept else self._without(row)  # the row keeps its codes
            prior[i], likelihood[i] = 0.0, 0.0
            if not less.weight.sum() > 0:
                continue
            there = positions(less.classes, self.classes)
            less = less.estimate(priors)
            scorer = _core.Scorer(1, np.zeros(less.K))
            for term in less.terms:
                term.distribution.score(scorer, one.of(term), term.params)
            prior[i] = -np.inf
            prior[i, there], likelihood[i, there] = starts(less.prior), scorer.joint()[0]
        return prior, likelihood


def count_parameters(fitted: Fitted) -> int:
    """How many numbers an estimated model has: K − 1 priors, and those of each factor; OptionError if there is no such
    number."""
    total = fitted.K - 1
    for term in fitted.terms:
        own = capability(term.distribution, ParameterCount)
        found = None if own is None else own.n_parameters(term.params, fitted.context(term))
        if found is None:
            raise OptionError(f"The distribution {term.distribution.name!r} has no fixed number of parameters.")
        total += found
    return total


def count(rows: Rows, terms: Sequence[Term], classes: Array, classes_fixed: bool = False) -> Fitted:
    """The sums of rows whose classes are numbered as `classes` are."""
    y, K, counted = rows.classes_of_rows, len(classes), []
    for term in terms:
        try:
            statistics = term.distribution.add(rows.of(term), y, rows.w, K)
            counted.append(Term(term.distribution, term.columns, statistics))
        except _core.BadValue as e:
            raise refused(e, rows.schema, term.columns, rows.who) from None
    return Fitted(rows.schema, classes, _core.class_weights(y, rows.w, K), tuple(counted), classes_fixed)


def tally(
    table: Table,
    schema: Schema,
    terms: Sequence[Term],
    sizes: Mapping[int, int],
    who: str,
    target: Target,
    classes_fixed: bool = False,
) -> Fitted:
    """The sums of an aligned table whose rows are not looked at again: as `count` gives them, one term at a time."""
    K, counted = len(target.classes), []
    for term in terms:
        try:
            d, direct = term.distribution, capability(term.distribution, TableCounts)
            found = None if direct is None else direct.count_table(table, schema, term.columns, target.y, target.w, K)
            if found is None:
                data, schema = d.encode(table, schema, term.columns, True, sizes)
                found = d.add(data, target.y, target.w, K), schema
            statistics, schema = found
            counted.append(Term(d, term.columns, statistics))
        except _core.BadValue as e:
            raise refused(e, schema, term.columns, who) from None
    weight = _core.class_weights(target.y, target.w, K)
    return Fitted(schema, target.classes, weight, tuple(counted), classes_fixed)


def _raw(term: Term, statistics: object) -> Term:
    """The term with these sums; parameters that others had are no longer its own."""
    return replace(term, statistics=statistics, params=None)


def _code_counts(term: Term) -> dict[int, int]:
    """How many codes each column of a term has; columns that stay numbers come last, and have none."""
    sizes = code_counts(term.distribution, term.statistics)
    return {} if sizes is None else dict(zip(term.columns, sizes.tolist(), strict=False))


def union_schema(one: Fitted, two: Fitted) -> Schema:
    """One schema for two models: the first one's levels first, then what only the other has. Cuts must be the same."""
    a, b = one.schema, two.schema
    _same_columns(a, b)
    sizes_a, sizes_b = one.sizes(), two.sizes()
    levels = {}
    for j in sorted(set(a.levels) | set(b.levels)):
        first, second = _levels(a, j, sizes_a), _levels(b, j, sizes_b)
        words = capability(one.term_of(j)[0].distribution, Vocabulary)
        if words is None:
            first, second = renamed_alike(first, second)
        joined = first.extend(second.labels) if words is None else words.join_levels(first, second)
        levels[j] = joined.extend([second.labels[c] for c in sorted(second.declared)], declared=True)
    return replace(a, levels=levels)


def _level_map(term: Term, own: Levels, joined: Levels) -> list[int]:
    """The code of each of a model's own levels among those of two models together."""
    words = capability(term.distribution, Vocabulary)
    if words is not None:
        return words.level_map(own, joined)
    index = joined.index()
    return [index.get(label, code) for code, label in enumerate(own.labels)]  # a name forgotten here only: same code


def _levels(schema: Schema, j: int, sizes: Mapping[int, int]) -> Levels:
    """The levels of a column; where its codes are its labels, 0, 1, 2, …"""
    return schema.levels[j] if j in schema.levels else Levels(tuple(range(sizes.get(j, 0))))


def _same_columns(a: Schema, b: Schema) -> None:
    """Raises MergeError unless counts of the two mean the same columns, taken in the same way."""
    _same_names(a, b)
    _same_ways(a, b)


def _same_names(a: Schema, b: Schema) -> None:
    mine, theirs = a.input_columns, b.input_columns
    if [g.name for g in mine] == [g.name for g in theirs] and mine != theirs:
        first, second = next((g, h) for g, h in zip(mine, theirs, strict=True) if g != h)
        raise MergeError(
            f"Column {first.name!r} is read in one model as {first} and in the other as {second}. Fit the second one "
            "with schema=first.schema_, so that both read the same columns."
        )
    if a.d != b.d or a.names != b.names:
        only = sorted(set(a.names or ()) ^ set(b.names or ()))
        what = f"Columns only in one of them: {listing(only)}." if only else f"{a.d} and {b.d} columns."
        raise MergeError(f"The two models were fitted on different columns. {what}")


def _same_ways(a: Schema, b: Schema) -> None:
    """Kinds, distributions that the rows chose, cuts."""
    if a.kinds != b.kinds:
        j = next(i for i in range(a.d) if a.kinds[i] != b.kinds[i])
        raise MergeError(
            f"Column {a.name(j)!r} is {a.kinds[j]} in one model and {b.kinds[j]} in the other. Give both the same "
            "schema."
        )
    other = differs(a, b)
    if other is not None:
        j, one, two = other
        raise MergeError(
            f"Column {a.name(j)!r} was taken as {one!r} in one model and as {two!r} in the other, each as its own rows "
            "suggested. Fit the second one with schema=first.schema_, so that both use the same distributions."
        )
    for j, cuts in a.cuts.items():
        if j not in b.cuts or not np.array_equal(cuts.points, b.cuts[j].points):
            raise MergeError(
                f"Column {a.name(j)!r} was cut at different points in the two models, and counts of intervals cannot "
                "be cut again. Fit the second one with schema=first.schema_, so that both use the same cuts."
            )

"""Semi-naive Bayes: columns that depend on the class and on one more column (SPODE, TAN); what all networks share."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import CUT, MAX_BINS, Coded
from tallybayes.data.labels import Target, read_target
from tallybayes.data.schema import Schema
from tallybayes.data.table import Table
from tallybayes.distributions.networks.counted_sets import CountedSets
from tallybayes.distributions.networks.family_network import FamilyNetwork
from tallybayes.distributions.networks.joint_counts import GRID
from tallybayes.distributions.networks.joint_statistics import JointParams
from tallybayes.distributions.univariate.categorical import Categorical
from tallybayes.errors import LabelError, MergeError, OptionError, brief, listing, require_scores
from tallybayes.estimators import row_memory
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.estimators.learning import are_all
from tallybayes.estimators.model_lock import lock_of
from tallybayes.estimators.parameters import memory_of
from tallybayes.estimators.provenance import note_choices
from tallybayes.estimators.row_weights import with_class_weights
from tallybayes.estimators.state import ModelState
from tallybayes.model.fitted import Fitted
from tallybayes.model.rows import Rows, read_rows
from tallybayes.model.term import Term, refused
from tallybayes.structure.graph import Graph, shown
from tallybayes.structure.high_cardinality import apart, set_apart
from tallybayes.structure.search import best_tree, by_information, one_parent
from tallybayes.utils.array_types import Floats
from tallybayes.utils.ties import level_ties

Labelled = tuple[Coded, NDArray[np.int32], Floats | None]  # codes, classes and weights

CUTS = ("mdl", "frequency", "width")


class NetworkClassifier(GenerativeClassifier):
    """What the networks share: one group of columns, as levels or intervals; structure chosen once and kept. Beside it
    stand those whose tables no rows can fill."""

    schema: Any
    smoothing: str
    alpha: float
    cuts: str | None
    bins: int
    priors: object
    unseen: str
    _can_be_other = False
    _structure_name = "network structure"

    def _check_options(self) -> None:
        super()._check_options()
        if self.unseen not in ("ignore", "error"):
            raise OptionError(f"unseen must be 'ignore' or 'error'; got {brief(self.unseen)}.")
        if self.cuts is not None and self.cuts not in CUTS:
            raise OptionError(f"cuts must be {', '.join(map(repr, CUTS))}, or None; got {brief(self.cuts)}.")
        if not isinstance(self.bins, int) or not 1 <= self.bins <= MAX_BINS:
            raise OptionError(f"bins must be a whole number from 1 to {MAX_BINS:,}; got {brief(self.bins)}.")

    def _options(self) -> dict[str, Any]:
        return {"smoothing": self.smoothing, "alpha": self.alpha, "method": self.cuts, "bins": self.bins}

    def _chooses_on_rows(self, schema: Schema) -> bool:
        known = self.schema.cuts if isinstance(self.schema, Schema) else {}
        bins = self.cuts is not None and any(kind in CUT and j not in known for j, kind in enumerate(schema.kinds))
        return self.tempered or bins or self._chooses_parents()

    def _chooses_parents(self) -> bool:
        return self._has_structure()

    def _columns(self, schema: Schema) -> tuple[tuple[int, ...], int]:
        """The columns in the order of their group, and how many of them, the last ones, stay real."""
        real = [j for j, kind in enumerate(schema.kinds) if self.cuts is None and kind in CUT and j not in schema.cuts]
        elsewhere = {*real, *self._apart(schema)}
        return (*(j for j in range(schema.d) if j not in elsewhere), *real), len(real)

    # --- columns that stand apart ------------------------------------------------------------------------------

    def _together(self) -> int | None:
        """How many columns the largest tables have whose columns are not named one by one; None: all are named."""
        return None

    def _select_distributions(self, table: Table, schema: Schema, target: Target) -> Schema:
        together = self._together()
        if together is None or isinstance(self.schema, Schema):  # what it says was settled before
            return schema
        return set_apart(table, schema, target, together)

    def _apart(self, schema: Schema) -> tuple[int, ...]:
        return () if self._together() is None else apart(schema)

    def _with_apart(self, schema: Schema, network: CountedSets[Any], columns: tuple[int, ...]) -> tuple[Term, ...]:
        """The network on its columns, and beside it those that stand apart; without it where all of them do."""
        beside = self._apart(schema)
        if not beside:
            return (Term(network, columns),)
        own = (Term(network, columns),) if columns else ()
        return (*own, Term(Categorical(alpha=self.alpha), beside))

    def _check_merge(self, other: ModelState) -> None:
        super()._check_merge(other)
        mine, theirs = self.fitted_.schema, other.fitted_.schema
        if (mine.names, mine.kinds) != (theirs.names, theirs.kinds):
            return
        one, two = set(self._apart(mine)), set(self._apart(theirs))
        if one != two:
            raise MergeError(
                f"Column(s) {listing([mine.name(j) for j in sorted(one ^ two)])}: in one of the two models they have "
                "so many levels that they stand apart, with the class as their only parent; in the other they do not. "
                "Fit the second one with schema=first.schema_, so that both count the same tables."
            )

    @property
    def graph_(self) -> Graph:
        """Graph: who depends on whom, and how much information each arrow carries (in nats, from the counts so far)."""
        self._require_attribute("graph_")
        fitted, schema = self.fitted_, self.schema_
        beside, term = self._apart(schema), network_term(fitted)
        if term is None:
            return shown(((),) * len(beside), [schema.name(j) for j in beside], None)
        network = network_of(term)
        between, _ = network.information(term.statistics)
        parents = network.parents or ((),) * len(term.columns)
        return shown((*parents, *((),) * len(beside)), [schema.name(j) for j in (*term.columns, *beside)], between)


class LearnedNetwork(NetworkClassifier):
    """Networks whose parents are chosen from a count of all pairs of columns."""

    _role: ClassVar[str | None] = None  # the parameter that names a column to have children, if there is one

    def _together(self) -> int:
        return 2

    def _make_terms(self, schema: Schema) -> tuple[Term, ...]:
        columns, reals = self._columns(schema)
        return self._with_apart(schema, FamilyNetwork(order=2, reals=reals, **self._options()), columns)

    def _terms_for_update(self, fitted: Fitted) -> tuple[Term, ...]:
        """The structure as it was chosen, with the smoothing as it is asked for now."""
        asked, options = self._make_terms(fitted.schema), self._options()
        if [type(t.distribution) for t in asked] != [type(t.distribution) for t in fitted.terms]:
            return asked
        return tuple(
            replace(had, distribution=replace(had.distribution, **options))
            if isinstance(had.distribution, FamilyNetwork)
            else now
            for had, now in zip(fitted.terms, asked, strict=True)
        )

    def _select_structure(self, fitted: Fitted, rows: Rows | None) -> Fitted:
        self._check_role(fitted.schema)
        term = network_term(fitted)
        if term is None:
            return fitted
        try:
            found = self._learn_parents(replace(fitted, terms=(term,)), rows)
        except _core.BadValue as e:
            raise refused(e, fitted.schema, term.columns, type(self).__name__) from None
        return replace(fitted, terms=(found, *(t for t in fitted.terms if t is not term)))

    def _check_role(self, schema: Schema) -> None:
        """Raises OptionError if a column is to have children that stands apart."""
        column = "auto" if self._role is None else getattr(self, self._role)
        if not _auto(column) and schema.position(column) in self._apart(schema):
            raise OptionError(
                f"The {self._role} {column!r} has so many levels that no rows fill its tables, and such a column "
                "cannot be a parent. Choose another column, or group its levels."
            )

    def _learn_parents(self, fitted: Fitted, rows: Rows | None) -> Term:
        """The network with its parents, and the sums that it needs. fitted: with a count of all pairs, and nothing
        beside them. rows: those learned (or some of them), None where only the sums are left."""
        raise NotImplementedError

    def relearn(self, X: object = None, y: object = None, sample_weight: object = None) -> Self:
        """Choose the structure again, from the counts of all that was learned so far.

        While rows are added or forgotten, the structure stays as it was chosen on the first ones; with
        ``memory='rows'`` it always follows the rows. Given all rows that remain, kinds of columns and bins are chosen
        again too, as ``fit`` does; else they stay.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns), default=None
            All rows that remain; or some of them, for a choice that is judged by leave-one-out; None chooses from the
            counts alone.
        y : array-like of shape (n_rows,), default=None
            Their labels; needed with X.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights that they were learned with.

        Returns
        -------
        self : estimator
            The same model, with the structure that is best now.

        Raises
        ------
        OptionError
            If the choice needs rows, or counts that were not kept.
        """
        if memory_of(self) == "rows" or (X is None and row_memory.holds_all(self)):
            return super().relearn(X, y, sample_weight)
        with lock_of(self):
            self._check_options()
            fitted, rows = self.fitted_, None
            self._require_rows(fitted)
            if X is not None:
                refusal = "relearn takes rows among those learned: these have the label(s) {}."
                rows = read_rows(X, fitted.schema, fitted.terms, fitted.sizes(), type(self).__name__)
                rows = rows.of_target(
                    with_class_weights(self, read_target(y, rows.n, sample_weight)).within(fitted.classes, refusal)
                )
                if not (rows.classes_of_rows >= 0).any():
                    raise LabelError("relearn takes rows among those learned: these have no weight at all.")
                if are_all(fitted, rows):
                    return super().relearn(X, y, sample_weight)
            self._estimate_and_set(self._select_structure(replace(fitted, log_prior=None), rows))
            used = int(fitted.weight.sum()) if rows is None else int((rows.classes_of_rows >= 0).sum())
            note_choices(self, fitted, used, self._chosen_on_rows())
        return self


class TAN(LearnedNetwork):
    """Tree-augmented naive Bayes: each column depends on the class and on one other column, in a tree.

    The tree is the one with the largest sum of I(x_i; x_j | y) (Chow and Liu 1968; Friedman, Geiger and Goldszmidt
    1997). One pass over the rows counts all pairs; ``relearn()`` builds the tree again from the counts.
    A category of so many levels that no rows fill its tables stands apart: the class is its only parent, and it is
    nobody's parent.

    Parameters
    ----------
    root : 'auto' or a column, default='auto'
        Root of the tree. 'auto': the column with the largest mutual information with the class; see ``root_``.
    schema : None, str, dict or Schema, default=None
        Column kinds where the data type is not enough: one kind for all columns, or a dict such as ``{"zip":
        "categorical"}``. Kinds: 'real', 'categorical', 'binary', 'count', 'date', 'id', 'text'. The ``schema_`` of
        another model makes this one use the same levels and bins.
    smoothing : {'backoff', 'laplace'}, default='backoff'
        Estimate of P(x | class, parents) from counts. 'laplace' adds alpha to every count. 'backoff' is hierarchical
        back-off smoothing: the estimate with one parent less is the prior, with a concentration chosen by
        leave-one-out.
    alpha : float, default=1.0
        Laplace smoothing; with back-off, of the estimate without parents.
    cuts : {'mdl', 'frequency', 'width'} or None, default='mdl'
        Discretisation of numbers, once, on the first rows: by minimum description length (Fayyad and Irani 1993), equal
        frequency, or equal width. None: numbers stay numbers, Gaussian given the class and discrete parents; they are
        not parents themselves.
    bins : int, default=10
        Number of bins for 'frequency' and 'width'.
    priors : None, 'uniform', 'laplace', array, dict or Series, default=None
        Class prior. None: class frequencies; 'laplace': frequencies with add-one smoothing; 'uniform': equal. An array
        is in the order of ``classes_``; a dict or a Series goes by label.
    unseen : {'ignore', 'error'}, default='ignore'
        How predict treats an unseen category: as a missing value (with one warning), or as an error.
    tempered : bool, default=False
        Whether to multiply the log-likelihood by ``temperature_``, chosen by leave-one-out log-loss on the rows of fit.
    class_weight : None, 'balanced' or dict, default=None
        Weight of the rows of each class, by label (1 where a label is not named). 'balanced': n / (K n_c), which needs
        all rows at once, so it goes with ``fit`` only. The weights in use are ``class_weight_``; forget uses the same.
    half_life : float or 'auto', default=None
        For streams that drift: number of rows after which a row counts half as much (exponential decay). Rows fade in
        the order in which they are learned, whatever their weight. None: no decay. 'auto': a mixture of the half-lives
        ∞, 10⁴, 10³ and 10² rows, weighted by their prequential log-loss.
    verbose : bool, default=False
        Whether fit shows progress on standard error.
    memory : {'sums', 'hashes', 'sample', 'rows'}, default='sums'
        'sums' keeps sufficient statistics: after ``forget`` they are those of the rows that are left, and what was
        chosen at the fit stays chosen. 'hashes' also keeps a hash of each row, by which ``forget`` refuses rows that
        were never learned. 'sample' also keeps a sample of the rows, at most 64 MB and in the file too: while it has
        all rows, ``relearn()`` makes every choice again without X. 'rows' keeps every row, in the file too: after any
        ``partial_fit``, ``forget`` and ``merge`` the model equals, to the bit, a fit on the rows that are left.

    Attributes
    ----------
    graph_ : Graph
        The network: parents of each column. Print it, or use ``networkx.DiGraph(model.graph_.edges)``.
    root_ : str
        The column that depends on the class alone; None if no discrete column takes part.
    classes_ : ndarray of shape (n_classes,)
        Class labels, in the order of all predictions.
    class_count_ : ndarray of shape (n_classes,)
        Total weight of the rows of each class.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where the table has names.
    schema_ : Schema
        Name, kind, levels and bins of each column.
    provenance_ : dict from str to Choice
        What was chosen on rows, on which, and whether rows forgotten since took part.
    is_fitted : bool
        Whether the model is fitted; exists before fit too.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Mutual information of each column and the class, as a share of the sum.
    class_weight_ : dict from label to float
        The weights found by ``class_weight='balanced'``; only then.
    half_life_ : float
        The half-life in force: with ``half_life='auto'`` that of the largest weight; ∞ without a half-life.
    half_life_weights_ : dict from half-life to float
        Weights of the mixture; with ``half_life='auto'`` only.
    temperature_ : float
        Factor of the log-likelihood; after ``tempered=True`` or ``temper`` only.
    loo_log_proba_ : ndarray of shape (n_rows, n_classes)
        Leave-one-out log P(class | x) of the rows that chose the temperature, until other rows are learned.
    loo_score_ : float
        Minus the mean log-loss of ``loo_log_proba_``.
    fitted_ : Fitted
        The model as data: schema, classes, and the sufficient statistics of each term.
    predictor_ : Predictor
        The model compiled for prediction, with its parameters; not saved.

    See Also
    --------
    AODE : Averages over all parents; no structure to learn.
    KDB : Up to k parents.
    BayesNetwork : A given graph.

    References
    ----------
    * Friedman, Geiger and Goldszmidt (1997), Bayesian network classifiers. Machine Learning 29.

    Examples
    --------
    >>> from tallybayes import TAN
    >>> from tallybayes.datasets import load_census
    >>> people, income = load_census()
    >>> model = TAN().fit(people[:7000], income[:7000])
    >>> round(model.score(people[7000:], income[7000:]), 2)
    0.85
    >>> model.root_, model.graph_.parents["education"]
    ('relationship', ('occupation',))
    """

    def __init__(
        self,
        root: object = "auto",
        schema: object = None,
        *,
        smoothing: str = "backoff",
        alpha: float = 1.0,
        cuts: str | None = "mdl",
        bins: int = 10,
        priors: object = None,
        unseen: str = "ignore",
        tempered: bool = False,
        class_weight: object = None,
        half_life: float | str | None = None,
        verbose: bool = False,
        memory: str = "sums",
    ) -> None:
        self.root = root
        self.schema = schema
        self.smoothing = smoothing
        self.alpha = alpha
        self.cuts = cuts
        self.bins = bins
        self.priors = priors
        self.unseen = unseen
        self.tempered = tempered
        self.class_weight = class_weight
        self.half_life = half_life
        self.verbose = verbose
        self.memory = memory

    _role = "root"

    def _learn_parents(self, fitted: Fitted, rows: Rows | None) -> Term:  # noqa: ARG002
        (term,) = fitted.terms
        pairs = network_of(term)
        between, with_class = map(level_ties, pairs.information(term.statistics))
        inner = len(term.columns) - pairs.reals
        root = _parent(term, fitted.schema, self.root, "root") if not _auto(self.root) else 0
        if _auto(self.root) and inner:
            root = by_information(with_class[:inner])[0]
        return replace(term, distribution=replace(pairs, parents=best_tree(between, root, inner)))

    @property
    def root_(self) -> str | None:
        """str or None: the column that depends on the class alone; None where all columns stay real."""
        self._require_attribute("root_")
        return _without_parents(self)


class SPODE(LearnedNetwork):
    """Super-parent one-dependence estimator: each column depends on the class and on one column, the super-parent.

    A category of so many levels that no rows fill its tables stands apart: the class is its only parent, and it is
    nobody's parent.

    Parameters
    ----------
    superparent : 'auto' or a column, default='auto'
        The parent of all columns. 'auto' takes the column with the smallest leave-one-out log-loss; ``relearn()``
        without rows takes the one with the largest sum of I(x_j; x_p | y), which needs counts only. See
        ``superparent_``.
    schema : None, str, dict or Schema, default=None
        Column kinds where the data type is not enough: one kind for all columns, or a dict such as ``{"zip":
        "categorical"}``. Kinds: 'real', 'categorical', 'binary', 'count', 'date', 'id', 'text'. The ``schema_`` of
        another model makes this one use the same levels and bins.
    smoothing : {'backoff', 'laplace'}, default='backoff'
        Estimate of P(x | class, parents) from counts. 'laplace' adds alpha to every count. 'backoff' is hierarchical
        back-off smoothing: the estimate with one parent less is the prior, with a concentration chosen by
        leave-one-out.
    alpha : float, default=1.0
        Laplace smoothing; with back-off, of the estimate without parents.
    cuts : {'mdl', 'frequency', 'width'} or None, default='mdl'
        Discretisation of numbers, once, on the first rows: by minimum description length (Fayyad and Irani 1993), equal
        frequency, or equal width. None: numbers stay numbers, Gaussian given the class and discrete parents; they are
        not parents themselves.
    bins : int, default=10
        Number of bins for 'frequency' and 'width'.
    priors : None, 'uniform', 'laplace', array, dict or Series, default=None
        Class prior. None: class frequencies; 'laplace': frequencies with add-one smoothing; 'uniform': equal. An array
        is in the order of ``classes_``; a dict or a Series goes by label.
    unseen : {'ignore', 'error'}, default='ignore'
        How predict treats an unseen category: as a missing value (with one warning), or as an error.
    tempered : bool, default=False
        Whether to multiply the log-likelihood by ``temperature_``, chosen by leave-one-out log-loss on the rows of fit.
    class_weight : None, 'balanced' or dict, default=None
        Weight of the rows of each class, by label (1 where a label is not named). 'balanced': n / (K n_c), which needs
        all rows at once, so it goes with ``fit`` only. The weights in use are ``class_weight_``; forget uses the same.
    half_life : float or 'auto', default=None
        For streams that drift: number of rows after which a row counts half as much (exponential decay). Rows fade in
        the order in which they are learned, whatever their weight. None: no decay. 'auto': a mixture of the half-lives
        ∞, 10⁴, 10³ and 10² rows, weighted by their prequential log-loss.
    verbose : bool, default=False
        Whether fit shows progress on standard error.
    memory : {'sums', 'hashes', 'sample', 'rows'}, default='sums'
        'sums' keeps sufficient statistics: after ``forget`` they are those of the rows that are left, and what was
        chosen at the fit stays chosen. 'hashes' also keeps a hash of each row, by which ``forget`` refuses rows that
        were never learned. 'sample' also keeps a sample of the rows, at most 64 MB and in the file too: while it has
        all rows, ``relearn()`` makes every choice again without X. 'rows' keeps every row, in the file too: after any
        ``partial_fit``, ``forget`` and ``merge`` the model equals, to the bit, a fit on the rows that are left.

    Attributes
    ----------
    graph_ : Graph
        The network: parents of each column. Print it, or use ``networkx.DiGraph(model.graph_.edges)``.
    superparent_ : str
        The column that all others depend on; None if no discrete column takes part.
    classes_ : ndarray of shape (n_classes,)
        Class labels, in the order of all predictions.
    class_count_ : ndarray of shape (n_classes,)
        Total weight of the rows of each class.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where the table has names.
    schema_ : Schema
        Name, kind, levels and bins of each column.
    provenance_ : dict from str to Choice
        What was chosen on rows, on which, and whether rows forgotten since took part.
    is_fitted : bool
        Whether the model is fitted; exists before fit too.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Mutual information of each column and the class, as a share of the sum.
    class_weight_ : dict from label to float
        The weights found by ``class_weight='balanced'``; only then.
    half_life_ : float
        The half-life in force: with ``half_life='auto'`` that of the largest weight; ∞ without a half-life.
    half_life_weights_ : dict from half-life to float
        Weights of the mixture; with ``half_life='auto'`` only.
    temperature_ : float
        Factor of the log-likelihood; after ``tempered=True`` or ``temper`` only.
    loo_log_proba_ : ndarray of shape (n_rows, n_classes)
        Leave-one-out log P(class | x) of the rows that chose the temperature, until other rows are learned.
    loo_score_ : float
        Minus the mean log-loss of ``loo_log_proba_``.
    fitted_ : Fitted
        The model as data: schema, classes, and the sufficient statistics of each term.
    predictor_ : Predictor
        The model compiled for prediction, with its parameters; not saved.

    See Also
    --------
    AODE : The mean of the SPODEs of all columns.
    TAN : A tree.

    References
    ----------
    * Webb, Boughton and Wang (2005), Not so naive Bayes: aggregating one-dependence estimators. Machine Learning 58.

    Examples
    --------
    >>> from tallybayes import SPODE
    >>> from tallybayes.datasets import load_census
    >>> people, income = load_census()
    >>> model = SPODE().fit(people[:7000], income[:7000])
    >>> round(model.score(people[7000:], income[7000:]), 2), model.superparent_
    (0.85, 'relationship')
    """

    def __init__(
        self,
        superparent: object = "auto",
        schema: object = None,
        *,
        smoothing: str = "backoff",
        alpha: float = 1.0,
        cuts: str | None = "mdl",
        bins: int = 10,
        priors: object = None,
        unseen: str = "ignore",
        tempered: bool = False,
        class_weight: object = None,
        half_life: float | str | None = None,
        verbose: bool = False,
        memory: str = "sums",
    ) -> None:
        self.superparent = superparent
        self.schema = schema
        self.smoothing = smoothing
        self.alpha = alpha
        self.cuts = cuts
        self.bins = bins
        self.priors = priors
        self.unseen = unseen
        self.tempered = tempered
        self.class_weight = class_weight
        self.half_life = half_life
        self.verbose = verbose
        self.memory = memory

    _role = "superparent"

    def _learn_parents(self, fitted: Fitted, rows: Rows | None) -> Term:
        (term,) = fitted.terms
        pairs, d = network_of(term), len(term.columns)
        inner = len(term.columns) - pairs.reals
        if not _auto(self.superparent):
            parent = _parent(term, fitted.schema, self.superparent, "superparent")
        elif not inner:
            return replace(term, distribution=replace(pairs, parents=((),) * d))
        elif rows is None or inner == 1:
            between, _ = pairs.information(term.statistics)
            parent = int(np.argmax(level_ties(between[:, :inner].sum(axis=0))))
        else:
            require_scores(
                rows.n, fitted.K, inner * d, f"'auto' compares {inner} super-parents", "Name one: superparent=a column."
            )
            parent = int(np.argmin(level_ties(superparent_losses(fitted, rows))))
        return replace(term, distribution=replace(pairs, parents=one_parent(d, parent)))

    def _chooses_parents(self) -> bool:
        return _auto(self.superparent)

    @property
    def superparent_(self) -> str | None:
        """str or None: the column that all others depend on; None where all columns stay real."""
        self._require_attribute("superparent_")
        return _without_parents(self)


def superparent_losses(fitted: Fitted, rows: Rows) -> Floats:
    """The leave-one-out log-loss of the SPODE of each discrete column."""
    (term,) = fitted.terms
    d = len(term.columns)
    pairs, data, y, w = network_of(term), codes_of(rows, term), rows.classes_of_rows, rows.w
    p = pairs.base(term.statistics, fitted.context(term))
    if pairs.reals:
        return np.array([_one_loss(pairs, p, j, d, (data, y, w)) for j in range(d - pairs.reals)])
    counts, rank = p.counts(pairs.tables(d), pairs.alpha), np.arange(d, dtype=np.int32)
    spodes = _core.Averaged(counts, 1, rank, None)
    if pairs.smoothing == "backoff":
        spodes = _core.Averaged(counts, 1, rank, spodes.strengths(GRID))
    losses = np.zeros(d)
    for span, codes, _ in p.packed(data):
        part = None if w is None else w[span]
        losses += spodes.spode_losses(codes, y[span], part)
    return losses


def _one_loss(pairs: FamilyNetwork, p: JointParams, parent: int, d: int, rows: Labelled) -> float:
    spode = replace(pairs, parents=one_parent(d, parent))
    losses = spode.losses(p, [parent, *(j for j in range(d) if j != parent)], *rows)
    return float(losses[-1, -1])


def network_term(fitted: Fitted) -> Term | None:
    """The term of the network; None where all columns stand apart."""
    return next((t for t in fitted.terms if isinstance(t.distribution, CountedSets)), None)


def network_of(term: Term) -> FamilyNetwork:
    assert isinstance(term.distribution, FamilyNetwork)
    return term.distribution


def codes_of(rows: Rows, term: Term) -> Coded:
    data = rows.of(term)
    assert isinstance(data, Coded)
    return data


def _parent(term: Term, schema: Schema, column: object, role: str) -> int:
    """The place in the term of a column that is to have children."""
    at = term.columns.index(schema.position(column))
    if at >= len(term.columns) - network_of(term).reals:
        raise OptionError(
            f"The {role} {column!r} stays real with cuts=None, and a real column cannot be a parent. Choose a discrete "
            "column, or cut the numbers (cuts='mdl')."
        )
    return at


def _auto(column: object) -> bool:
    return isinstance(column, str) and column == "auto"


def _without_parents(model: NetworkClassifier) -> str | None:
    term = network_term(model.fitted_)
    if term is None or network_of(term).reals == len(term.columns):
        return None
    network = network_of(term)
    return model.schema_.name(term.columns[next(j for j, own in enumerate(network.parents) if not own)])

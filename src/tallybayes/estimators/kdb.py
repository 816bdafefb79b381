"""KDB: k-dependence Bayes, with k and the columns selected by leave-one-out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.distributions.networks.conditional_gaussians import Sets, family_real_sets
from tallybayes.distributions.networks.count_tables import family_sets, tables
from tallybayes.distributions.networks.counted_sets import information
from tallybayes.distributions.networks.family_network import FamilyNetwork
from tallybayes.distributions.networks.joint_statistics import JointStatistics
from tallybayes.distributions.univariate.categorical import CategoricalStatistics
from tallybayes.errors import OptionError, brief, require_scores
from tallybayes.estimators.spode_tan import LearnedNetwork, codes_of, network_of, network_term
from tallybayes.model.fitted import Fitted
from tallybayes.model.rows import Rows
from tallybayes.model.term import Term
from tallybayes.structure.search import by_information, k_dependence
from tallybayes.utils.array_types import Floats
from tallybayes.utils.ties import level_ties


class KDB(LearnedNetwork):
    """k-dependence Bayes (Sahami 1996): each column depends on the class and on up to k other columns.

    Columns are taken in by falling I(x_j; y); each has as parents the k columns before it with the largest
    I(x_i; x_j | y). One pass counts all pairs, a second the chosen combinations. With `select` a third judges every
    number of columns and every number of parents up to k at once, by exact leave-one-out log-loss, and keeps the best
    (Martínez, Webb, Chen and Zaidi 2016). A column that is not selected says nothing about the class. Columns that stay
    real (cuts=None) are nobody's parents, and have the best k of all discrete columns as theirs.
    A category of so many levels that no rows fill its tables stands apart: the class is its only parent, and it is
    nobody's parent, whatever is selected.

    Parameters
    ----------
    k : int, default=2
        Maximum number of parents of a column besides the class.
    schema : None, str, dict or Schema, default=None
        Column kinds where the data type is not enough: one kind for all columns, or a dict such as ``{"zip":
        "categorical"}``. Kinds: 'real', 'categorical', 'binary', 'count', 'date', 'id', 'text'. The ``schema_`` of
        another model makes this one use the same levels and bins.
    select : bool, default=True
        Whether to choose the columns and the number of parents by leave-one-out; see ``k_`` and ``selected_``.
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
    k_ : int
        The number of parents that was chosen.
    selected_ : list of str
        The selected columns, by decreasing mutual information with the class.
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
    TAN : One parent, in a tree.
    AnDE : Averages over all sets of parents.

    References
    ----------
    * Sahami (1996), Learning limited dependence Bayesian classifiers. KDD.
    * Martínez, Webb, Chen and Zaidi (2016), Scalable learning of Bayesian network classifiers. JMLR 17.

    Examples
    --------
    >>> from tallybayes import KDB
    >>> from tallybayes.datasets import load_census
    >>> people, income = load_census()
    >>> model = KDB().fit(people[:7000], income[:7000])
    >>> round(model.score(people[7000:], income[7000:]), 2)
    0.86
    >>> model.k_, model.selected_[:3]
    (2, ['relationship', 'marital-status', 'capital-gain'])
    """

    def __init__(
        self,
        k: int = 2,
        schema: object = None,
        *,
        select: bool = True,
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
        self.k = k
        self.schema = schema
        self.select = select
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

    def _check_options(self) -> None:
        super()._check_options()
        if not isinstance(self.k, int | np.integer) or isinstance(self.k, bool) or self.k < 0:
            raise OptionError(f"k must be a whole number of at least 0; got {brief(self.k)}.")
        if not isinstance(self.select, bool | np.bool_):
            raise OptionError(f"select must be True or False; got {brief(self.select)}.")

    def _together(self) -> int:
        return max(2, int(self.k) + 1)

    def _learn_parents(self, fitted: Fitted, rows: Rows | None) -> Term:
        (term,) = fitted.terms
        stats, pairs = term.statistics, network_of(term)
        inner = len(term.columns) - pairs.reals
        between, with_class = map(level_ties, pairs.information(stats))
        order = by_information(with_class)
        parents = k_dependence(between, order, int(self.k), inner)
        network = replace(pairs, parents=parents, blind=(), extra=_beyond_pairs(parents[:inner]))
        network = replace(network, real_extra=family_real_sets(parents[inner:], 2))
        counted, real_counted = set(pairs.tables(inner).index()), _each(pairs.real_sets(inner))
        if not (set(network.extra) <= counted and _each(network.real_extra) <= real_counted):
            if rows is None or pairs.parents:  # chosen before: rows, if any, are not all that was learned
                raise OptionError(
                    f"The network that is best now needs combinations of {int(self.k) + 1} columns that were not "
                    "counted: only those of the network chosen before were. Fit again on the rows."
                )
            stats = network.count_more(stats, codes_of(rows, term), rows.classes_of_rows, rows.w, fitted.K)
        else:
            network = replace(network, extra=pairs.extra, real_extra=pairs.real_extra)
        found = replace(term, distribution=network, statistics=stats)
        if not self.select:
            return found
        if rows is None:
            raise OptionError("select=True judges by leave-one-out on rows: relearn(X, y) needs them.")
        settings = (int(self.k) + 1) * len(order)
        require_scores(rows.n, fitted.K, settings * 4, f"select=True compares {settings} networks", "Say select=False.")
        return _selected(fitted, found, order, rows)

    @property
    def k_(self) -> int:
        """int: the number of parents that was chosen."""
        self._require_attribute("k_")
        term = network_term(self.fitted_)
        return 0 if term is None else max((len(own) for own in network_of(term).parents), default=0)

    @property
    def selected_(self) -> list[str]:
        """list of str: the selected columns, by decreasing information about the class."""
        self._require_attribute("selected_")
        information: dict[int, float] = {}
        for term in self.fitted_.terms:
            network = term.distribution
            if isinstance(network, FamilyNetwork):
                _, with_class = network.information(term.statistics)
                blind = network.blind
            else:
                with_class, blind = _own_information(term.statistics), ()
            information |= {term.columns[j]: float(with_class[j]) for j in range(len(with_class)) if j not in blind}
        return [self.schema_.name(j) for j in sorted(information, key=lambda j: -information[j])]


def _selected(fitted: Fitted, term: Term, order: list[int], rows: Rows) -> Term:
    """The term with as many of its columns and parents as leave-one-out finds best."""
    network, y = network_of(term), rows.classes_of_rows
    p = network.base(term.statistics, fitted.context(term))
    losses = level_ties(network.losses(p, order, codes_of(rows, term), y, rows.w))
    k, columns = np.unravel_index(int(np.argmin(losses)), losses.shape)
    if losses[k, columns] >= _prior_loss(fitted.weight, y, rows.w):
        blind, k = tuple(range(len(term.columns))), np.intp(0)
    else:
        blind = tuple(sorted(order[int(columns) + 1 :]))
    parents = tuple(() if j in blind else own[: int(k)] for j, own in enumerate(network.parents))
    return replace(term, distribution=replace(network, parents=parents, blind=blind))


def _own_information(s: CategoricalStatistics) -> Floats:
    """I(x_j; y) of columns that stand apart."""
    none = np.zeros((len(s.count), 0), dtype=np.uint32)
    return information(tables(len(s.sizes), 1), JointStatistics(s.count, s.sizes, none))[1]


def _beyond_pairs(parents: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    return tuple(s for s in family_sets(parents) if len(s) > 2)


def _each(sets: Sets) -> set[tuple[tuple[int, ...], int]]:
    return {(s, j) for s, reals in sets for j in reals}


def _prior_loss(counted: Floats, y: NDArray[np.int32], w: Floats | None) -> float:
    """The leave-one-out log-loss of the class frequencies alone."""
    seen = y >= 0
    weight = np.ones(int(seen.sum())) if w is None else w[seen]
    unit = np.minimum(weight, 1.0)
    own, n = counted[y[seen]] - unit, counted.sum() - unit
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(-(weight * np.log(np.where(n > 0, own / n, 1.0))).sum())

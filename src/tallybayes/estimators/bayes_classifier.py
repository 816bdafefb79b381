"""BayesClassifier: the one to use when you do not want to choose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Coded
from tallybayes.data.schema import Schema
from tallybayes.distributions import Words
from tallybayes.distributions.networks.joint_counts import count_levels, packed
from tallybayes.ensemble.canonical_order import CodedRows, ContentTokens, content_tokens
from tallybayes.ensemble.ensemble_distribution import WEIGHTING, Ensemble, subset_of_networks
from tallybayes.ensemble.ensemble_statistics import EnsembleStatistics
from tallybayes.ensemble.ensemble_summary import describe
from tallybayes.ensemble.fitting import smooth_prior
from tallybayes.ensemble.fixed_choices import fixed
from tallybayes.ensemble.half_fits import HalfFit, choose_layout, count_layout, fit_half, nested_halves, wanted
from tallybayes.ensemble.layout import Recipe, is_weak
from tallybayes.ensemble.networks import log_density
from tallybayes.ensemble.row_sample import RowSample
from tallybayes.ensemble.stacking import SINGLE_FEATURE
from tallybayes.ensemble.text_component import NGRAMS, fit_texts
from tallybayes.errors import IdentifierColumnWarning, MergeError, OptionError, brief, warn
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.estimators.parameters import SUMS, memory_of, random_of
from tallybayes.estimators.state import ModelState, with_fitted
from tallybayes.model.fitted import Fitted
from tallybayes.model.rows import Rows
from tallybayes.model.term import Term, same_shape
from tallybayes.structure.graph import Graph, shown
from tallybayes.utils.array_types import Floats
from tallybayes.utils.progress import stage, step

INTERVALS = 255  # of a number, of which every component makes its own bins
CLASS_TREES = 8  # where parts asks for them and effort has none
PARTS = ("networks", "naive", "target_encoding", "gaussian", "neighbors", "class_trees", "boosting")
EFFORTS = {
    "fast": Recipe(
        networks=4,
        uniform_networks=4,
        naive=0,
        class_trees=0,
        gaussian=True,
        weighting="temperature",
        cells_per_row=8,
    ),
    "balanced": Recipe(
        networks=16,
        uniform_networks=16,
        naive=4,
        class_trees=0,
        gaussian=True,
        weighting="features",
        boosting=1,
    ),
    "best": Recipe(
        networks=24,
        uniform_networks=24,
        naive=8,
        class_trees=120,
        gaussian=True,
        weighting="features",
        neighbors=True,
        boosting=3,
        few_rows=500,
        tree_tries=8,
        cells_per_row=32,
        cells_per_row_and_class=16,
    ),
}


def _only(recipe: Recipe, parts: Sequence[str]) -> Recipe:
    """A recipe of these components; one that it has none of has the size of effort='balanced'."""
    balanced = EFFORTS["balanced"]
    return replace(
        recipe,
        networks=recipe.networks if "networks" in parts else 0,
        uniform_networks=recipe.uniform_networks if "networks" in parts else 0,
        naive=(recipe.naive or balanced.naive) if "naive" in parts else 0,
        target_encoding="target_encoding" in parts,
        gaussian="gaussian" in parts,
        neighbors="neighbors" in parts,
        class_trees=(recipe.class_trees or CLASS_TREES) if "class_trees" in parts else 0,
        few_rows=None,
        boosting=(recipe.boosting or balanced.boosting) if "boosting" in parts else 0,
    )


class BayesClassifier(GenerativeClassifier):
    """A stacked ensemble for tables of any kind, without tuning: the default choice for accuracy.

    Averaged Bayesian networks, naive Bayes, smoothed target encoding and a Gaussian discriminant on normal scores are
    stacked by a ridge logistic regression on their leave-one-out predictions; gradient-boosted oblivious trees fit the
    residuals. With effort='best' k-nearest neighbours or class trees take part too. Networks, naive Bayes and the
    discriminant are generative and kept as sufficient statistics; stacking, trees, neighbours and boosting are chosen
    on a sample of the rows: 64 MB of codes, one byte a value, and never fewer than 8,000 rows.

    Parameters
    ----------
    effort : {'balanced', 'fast', 'best'}, default='balanced'
        'fast': 8 networks, target encoding, a Gaussian discriminant, and one temperature per component instead of
        stacking weights by column; for speed and good probabilities, not for the fewest errors. 'balanced': 32
        networks, naive Bayes on finer bins, target encoding, a Gaussian discriminant, stacking weights by column, and
        boosting. 'best': 48 networks, a longer search for boosted trees, and 120 class trees below 500 rows, or
        k-nearest neighbours from 500 rows on if a column is numeric.
    schema : None, str, dict or Schema, default=None
        Column kinds where the data type is not enough: one kind for all columns, or a dict such as
        ``{"zip": "categorical"}``. Kinds: 'real', 'categorical', 'binary', 'count', 'date', 'id', 'text'. The
        ``schema_`` of another model makes this one use the same levels and bins.
    members : int, default=None
        Number of networks; None: that of effort.
    parents : int, default=None
        Maximum number of super-parents of a network; None: that of effort. With 0 every network is a naive Bayes.
    parts : sequence of str, default=None
        The components, some of 'networks', 'naive', 'target_encoding', 'gaussian', 'neighbors', 'class_trees' and
        'boosting'. None: those of effort; target encoding takes part where a category has more than ten levels.
        Boosting fits the residuals of the stacked other components, so it needs at least one of them.
    weighting : {'features', 'temperature', 'none'}, default=None
        'features': a stacking weight per component and column; 'temperature': one temperature per component; 'none':
        log-likelihoods are added unweighted. None: that of effort. Above 1,000 classes 'features' is 'temperature',
        without target encoding and boosting: stacking takes time cubic in the classes.
    smoothing : {'backoff', 'laplace'}, default='backoff'
        Estimate of P(x | class, parents) from counts. 'laplace' adds alpha to every count. 'backoff' is hierarchical
        back-off smoothing: the estimate with one parent less is the prior, with a concentration chosen by
        leave-one-out.
    alpha : float, default=1.0
        Laplace smoothing; with back-off, of the estimate without parents.
    priors : None, 'uniform', 'laplace', array, dict or Series, default=None
        Class prior. None: class frequencies with half a row added to each; 'laplace': with one row added; 'uniform':
        equal. An array is in the order of ``classes_``; a dict or a Series goes by label.
    unseen : {'ignore', 'error'}, default='ignore'
        How predict treats an unseen category: as a missing value (with one warning), or as an error.
    random_state : int, RandomState or None, default=0
        Seed of the columns that class trees try. Without class trees nothing is random.
    tempered : bool, default=False
        Whether to multiply the log-likelihood by ``temperature_``, chosen by leave-one-out log-loss on the rows of
        fit. Stacking weights leave it near 1.
    class_weight : None, 'balanced' or dict, default=None
        Weight of the rows of each class, by label (1 where a label is not named). 'balanced': n / (K n_c), which needs
        all rows at once, so it goes with ``fit`` only. The weights in use are ``class_weight_``; forget uses the same.
    verbose : bool, default=False
        Whether fit shows progress on standard error.
    memory : {'sample', 'sums', 'hashes', 'rows'}, default='sample'
        'sums' keeps sufficient statistics and no row: boosting and neighbours are left out, all else (bins, networks,
        weights) stays as chosen at the fit, and after any ``partial_fit``, ``forget`` and ``merge`` the statistics are
        those of the rows that are left, counts exactly and moments to rounding. 'hashes' also keeps a hash of each row,
        by which ``forget`` refuses rows that were never learned. 'sample' keeps sufficient statistics and a sample of
        distinct rows, binned, at most 64 MB at one byte a value (1.3 million rows of 30 columns), on which weights,
        trees and neighbours are chosen again after each change; bins and networks stay as chosen at the fit. 'rows'
        keeps every row, in the file too: after any ``partial_fit``, ``forget`` and ``merge`` the model equals, to the
        bit, a fit on the rows that are left.

    Attributes
    ----------
    weights_ : dict
        Stacking weights by component, and by column where a component has one for each.
    graph_ : Graph
        The graph of a model with one network, such as that of ``network(0)``; otherwise an AttributeError.
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
        ∞: it has no half-life.
    half_life_weights_ : dict from half-life to float
        Not there: it has no half-life.
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
    NaiveBayes : One distribution per column; faster and simpler.
    compare_models : Cross-validate the models that suit a table.

    References
    ----------
    * Wolpert (1992), Stacked generalization. Neural Networks 5.
    * Webb et al. (2012), Learning by extrapolation from marginal to full-multivariate probability
      distributions: decreasingly naive Bayesian classification. Machine Learning 86.
    * Prokhorenkova et al. (2018), CatBoost: unbiased boosting with categorical features. NeurIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tallybayes import BayesClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = BayesClassifier().fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.95)
    True
    """

    _can_be_other = False

    def __init__(
        self,
        effort: str = "balanced",
        schema: object = None,
        *,
        members: int | None = None,
        parents: int | None = None,
        parts: Sequence[str] | None = None,
        weighting: str | None = None,
        smoothing: str = "backoff",
        alpha: float = 1.0,
        priors: object = None,
        unseen: str = "ignore",
        random_state: object = 0,
        tempered: bool = False,
        class_weight: object = None,
        verbose: bool = False,
        memory: str = "sample",
    ) -> None:
        self.effort = effort
        self.schema = schema
        self.members = members
        self.parents = parents
        self.parts = parts
        self.weighting = weighting
        self.smoothing = smoothing
        self.alpha = alpha
        self.priors = priors
        self.unseen = unseen
        self.random_state = random_state
        self.tempered = tempered
        self.class_weight = class_weight
        self.verbose = verbose
        self.memory = memory

    # --- what the parameters mean ------------------------------------------------------------------------------

    def _check_options(self) -> None:
        super()._check_options()
        if not isinstance(self.effort, str) or self.effort not in EFFORTS:
            raise OptionError(f"effort must be {', '.join(map(repr, EFFORTS))}; got {brief(self.effort)}.")
        if self.weighting is not None and self.weighting not in WEIGHTING:
            raise OptionError(
                f"weighting must be {', '.join(map(repr, WEIGHTING))}, or None; got {brief(self.weighting)}."
            )
        _check_whole("members", self.members, 1, 1000)
        _check_whole("parents", self.parents, 0, 8)
        if self.parts is not None:
            self._check_parts(self.parts)
        if self.unseen not in ("ignore", "error"):
            raise OptionError(f"unseen must be 'ignore' or 'error'; got {brief(self.unseen)}.")
        self._seed()

    def _check_parts(self, parts: object) -> None:
        if (
            not isinstance(parts, list | tuple)
            or not parts
            or any(not isinstance(name, str) or name not in PARTS for name in parts)
        ):
            raise OptionError(f"parts must be None or some of {', '.join(map(repr, PARTS))}; got {brief(parts)}.")
        if set(parts) == {"boosting"}:
            raise OptionError("boosting fits the residuals of other components: name another too, such as 'networks'.")
        rows = [name for name in parts if name in ("neighbors", "boosting")]
        if rows and memory_of(self) in SUMS:
            raise OptionError(
                f"{' and '.join(rows)} need rows, and memory={self.memory!r} keeps none: leave them out of parts, or "
                "set memory='sample'."
            )
        if "boosting" in parts and self._recipe().weighting != "features":
            raise OptionError("boosting needs stacking weights: leave it out of parts, or set weighting='features'.")

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer) and not isinstance(self.random_state, bool):
            if not 0 <= self.random_state < 2**32:
                raise OptionError(f"random_state must be a whole number from 0 to 2**32 - 1; got {self.random_state}.")
            return int(self.random_state)
        return int(random_of(self.random_state).randint(2**31 - 1))

    def _recipe(self) -> Recipe:
        found = EFFORTS[self.effort]
        if self.parts is not None:
            found = _only(found, self.parts)
        if self.members is not None and found.networks:
            half = int(self.members) // 2
            found = replace(found, networks=int(self.members) - half, uniform_networks=half)
        if self.parents is not None:
            found = replace(found, parents=int(self.parents))
        weighting = found.weighting if self.weighting is None else self.weighting
        if memory_of(self) in SUMS:
            found = replace(found, neighbors=False, boosting=0)
        return replace(found, weighting=weighting, boosting=found.boosting if weighting == "features" else 0)

    def _options(self) -> dict[str, Any]:
        return {"smoothing": self.smoothing, "alpha": self.alpha}

    def _prior(self) -> object:
        return _smoothed if self.priors is None else super()._prior()

    # --- learning ----------------------------------------------------------------------------------------------

    def _make_terms(self, schema: Schema) -> tuple[Term, ...]:
        texts = [j for j, kind in enumerate(schema.kinds) if kind == "text"]
        others = tuple(j for j in range(schema.d) if j not in texts)
        ensemble = Ensemble(columns=len(others), method="frequency", bins=INTERVALS, **self._options())
        return (
            *((Term(ensemble, others),) if others else ()),
            *(Term(Words(ngrams=NGRAMS, length_normalized=True), (j,)) for j in texts),
        )

    def _terms_for_update(self, fitted: Fitted) -> tuple[Term, ...]:
        if not all(isinstance(term.distribution, Ensemble | Words) for term in fitted.terms):
            return self._make_terms(fitted.schema)
        self._require_same_memory(fitted)
        recipe = self._recipe()
        options = {"weighting": recipe.weighting, "boosting": recipe.boosting, **self._options()}
        return tuple(
            replace(t, distribution=replace(t.distribution, **options)) if isinstance(t.distribution, Ensemble) else t
            for t in fitted.terms
        )

    def _require_same_memory(self, fitted: Fitted) -> None:
        """Raises OptionError if memory='sums' was set, or weighting changed with it, after the fit."""
        for ensemble in (t.distribution for t in fitted.terms):
            if not isinstance(ensemble, Ensemble):
                continue
            if ensemble.is_fixed != (memory_of(self) in SUMS):
                raise OptionError(
                    f"memory was set to {self.memory!r} after a fit that {'kept no' if ensemble.is_fixed else 'kept'} "
                    "rows. Fit again, or set it back."
                )
            if ensemble.is_fixed and self._recipe().for_classes(fitted.K).weighting != ensemble.weighting:
                raise OptionError(
                    f"memory={self.memory!r} fixes the weights at the fit, and weighting was changed since. Fit again, "
                    "or set it back."
                )

    def _chosen_on_rows(self) -> str:
        weights = memory_of(self) in SUMS
        return f"networks, class trees{', stacking weights' if weights else ''} and numeric splits"

    def _select_structure(self, fitted: Fitted, rows: Rows) -> Fitted:
        terms = tuple(
            self._members(fitted, t, rows) if isinstance(t.distribution, Ensemble) else t for t in fitted.terms
        )
        fitted = replace(fitted, terms=terms)
        if "text" in fitted.schema.kinds:
            fitted = fit_texts(fitted, rows, self._prior(), self._offset)
        return self._without_sample(fitted) if memory_of(self) in SUMS else fitted

    def _without_sample(self, fitted: Fitted) -> Fitted:
        """With all choices fixed, and no row kept."""
        terms = []
        for term in fitted.estimate(self._prior()).terms:
            if isinstance(term.distribution, Ensemble):
                term = _fixed_term(term)
            terms.append(replace(term, params=None))
        return replace(fitted, terms=tuple(terms))

    def _arranged(self, terms: tuple[Term, ...], rows: Rows) -> tuple[tuple[Term, ...], Rows]:
        """The columns of the ensemble in canonical order, with their tokens."""
        data = dict(rows.data)
        arranged = []
        for term in terms:
            ensemble = term.distribution
            if isinstance(ensemble, Ensemble):
                own = data.pop(term.columns[0])
                assert isinstance(own, Coded)
                numeric = np.array([j in rows.schema.cuts for j in term.columns])
                order, tokens = _canonical(own, rows.classes_of_rows, rows.w, numeric)
                ensemble = replace(
                    ensemble, column_token=tokens.column, level_token=tokens.level, level_start=tokens.level_start
                )
                term = Term(ensemble, tuple(term.columns[j] for j in order.tolist()))
                data[term.columns[0]] = own.reordered(order)
            arranged.append(term)
        return tuple(arranged), replace(rows, data=data)

    def _members(self, fitted: Fitted, term: Term, rows: Rows) -> Term:
        """Lay out the components and count their chains and moments."""
        y, w = rows.classes_of_rows, rows.w
        ensemble, data, s = term.distribution, rows.of(term), term.statistics
        assert isinstance(data, Coded)
        assert isinstance(ensemble, Ensemble)

        def batches() -> Iterator[CodedRows]:
            for span, codes, _ in packed(data, s.sizes):
                yield codes, y[span], None if w is None else w[span]

        numeric = np.array([j in fitted.schema.cuts for j in term.columns])
        recipe, seed = self._recipe(), self._seed()
        stage("choosing networks")
        columns, fields = choose_layout(ensemble, s, fitted.weight, numeric, data.n, batches, recipe, seed)
        _warn_identifiers([fitted.schema.name(term.columns[j]) for j in np.flatnonzero(columns.ignored).tolist()])
        chosen = replace(ensemble, **fields)
        stage("counting networks", data.n)
        chains, gaussian = count_layout(chosen, batches, fitted.K, w is not None, step)
        statistics = EnsembleStatistics.of(s.single, s.sizes, s.sample, chains, gaussian)
        if recipe.weighting != "none" and wanted(len(s.sample_label), len(numeric), fitted.K, is_weak(columns)):
            stage("judging halves")
            levels = fitted.context(term).levels

            def fit(sample: RowSample) -> HalfFit:
                return fit_half(ensemble, sample, s.sizes, (numeric, levels), fitted.K, recipe, seed)

            found = nested_halves(s.sample, fit)
            chosen = replace(chosen, halves=(found.shrinkage, found.optimism, found.error, found.rows))
        return Term(chosen, term.columns, statistics)

    _reads_text = True
    _samples_itself = True

    def _estimates_eagerly(self, fitted: Fitted) -> bool:
        """Estimate at the first prediction after more rows: choosing takes longer than counting."""
        return not (self.is_fitted and same_shape(fitted.terms, self.fitted_.terms))

    def _check_merge(self, other: ModelState) -> None:
        super()._check_merge(other)
        mine, theirs = self.fitted_, other.fitted_
        alike = (mine.schema.names, mine.schema.kinds) == (theirs.schema.names, theirs.schema.kinds)
        if alike and not same_shape(mine.terms, theirs.terms):
            raise MergeError(
                "The two models have different bins and networks, so their counts do not add. Fit one of them, and let "
                "the other learn with first.empty().partial_fit(X, y): these can be merged."
            )

    # --- what was learned --------------------------------------------------------------------------------------

    def _ensemble(self) -> Ensemble:
        ensemble = self.fitted_.terms[0].distribution
        if not isinstance(ensemble, Ensemble):
            raise OptionError("This model has text columns only: it has no networks.")
        return ensemble

    @property
    def weights_(self) -> dict[str, Any]:
        """dict: the stacking weights by component; of 'networks', 'naive', 'target_encoding' and 'text' by column."""
        self._require_attribute("weights_")
        terms, schema = self._parameters().terms, self.schema_
        out: dict[str, Any] = {}
        texts = {schema.name(t.columns[0]): t.distribution.weight for t in terms if isinstance(t.distribution, Words)}
        if texts:
            out["text"] = texts
        ensemble, columns = terms[0].distribution, terms[0].columns
        if not isinstance(ensemble, Ensemble):
            return out
        for component in ensemble.components:
            own = ensemble.of(component.name, terms[0].params.weights)
            if component.name in SINGLE_FEATURE:
                out[component.name] = float(own[0])
            elif component.name == "target_encoding":
                names = [schema.name(columns[j]) for j in ensemble.encoded_column.tolist()]
                out[component.name] = dict(zip(names, own.tolist(), strict=True))
            else:
                each = sorted(zip(columns, own[ensemble.column_group].tolist(), strict=True))
                out[component.name] = {schema.name(j): w for j, w in each}
        return out

    def summary(self) -> str:
        """Describe the components, what is kept of the rows, and what was chosen.

        Returns
        -------
        str
            Several lines.
        """
        return describe(self._parameters())

    def network(self, i: int = 0) -> Self:
        """Extract one network as a model of its own.

        Parameters
        ----------
        i : int, default=0
            Which one, from 0.

        Returns
        -------
        BayesClassifier
            With this network alone, and a ``graph_``. It can learn, forget and be saved.

        Raises
        ------
        OptionError
            If there is no such network.
        """
        fitted = self.fitted_
        ensemble, term = self._ensemble(), fitted.terms[0]
        s, d = term.statistics, len(term.columns)
        count = ensemble.networks
        if not isinstance(i, int | np.integer) or not 0 <= i < count:
            raise OptionError(f"This model has {count} networks, from 0 to {count - 1}; got {brief(i)}.")
        chains = slice(int(i) * d, (int(i) + 1) * d)
        cells = ensemble.count_starts(chains.stop)
        own = subset_of_networks(ensemble, chains)
        _, gaussian = own.no_counts(len(self.classes_), False)
        counts = s.chains[cells[chains.start] : cells[chains.stop]]
        statistics = EnsembleStatistics.of(s.single, s.sizes, s.sample, counts, gaussian)
        other = with_fitted(self, replace(fitted, terms=(Term(own, term.columns, statistics),), log_prior=None))
        other.members, other.parts, other.weighting = 1, ("networks",), "temperature"
        if memory_of(self) == "rows":  # a fit on them would choose another network
            other.memory = "sample"
            del other.__dict__["_rows"]
        return other

    @property
    def graph_(self) -> Graph:
        """Graph: that of a model with one network (see network); with more networks an AttributeError."""
        self._require_attribute("graph_")
        ensemble = self._ensemble()
        if ensemble.networks != 1:
            raise AttributeError(
                f"graph_ needs a model with one network; this one has {ensemble.networks}: use network(i).graph_."
            )
        columns = self.fitted_.terms[0].columns
        place = np.argsort(np.argsort(columns))  # in the order of the table
        parents: list[tuple[int, ...]] = [()] * len(columns)
        for i in range(len(columns)):
            binnings = ensemble.parent[ensemble.parent_start[i] : ensemble.parent_start[i + 1]]
            own = place[ensemble.binning_column[ensemble.child[i]]]
            parents[int(own)] = tuple(place[ensemble.binning_column[binnings]].tolist())
        names = [self.schema_.name(j) for j in sorted(columns)]
        return shown(tuple(parents), names, None)

    def score_samples(self, X: object, priors: object = None) -> Floats:
        """Log density log p(x) under the first network, with numbers as intervals: the stack is not a density.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior in the place of the model's own, for this question only.

        Returns
        -------
        log_density : ndarray of shape (n_rows,)
            The lower, the stranger the row.

        Raises
        ------
        OptionError
            If the model has no networks.
        """
        predictor, ensemble = self.predictor_, self._ensemble()
        if not ensemble.networks:
            raise OptionError(
                "A BayesClassifier without networks has no p(x): that is the density of its first network."
            )
        start = predictor.offset_for(priors)
        term = predictor.fitted.terms[0]
        data = predictor.read(X).of(term)
        assert isinstance(data, Coded)
        joint = (predictor.offset if start is None else start) + log_density(ensemble, term.params, data)
        top = joint.max(axis=1)
        return np.asarray(top + np.log(np.exp(joint - top[:, None]).sum(axis=1)))


def _check_whole(name: str, value: object, least: int, most: int) -> None:
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool) and least <= value <= most
    if value is not None and not whole:
        raise OptionError(f"{name} must be None or a whole number from {least} to {most}; got {brief(value)}.")


def _canonical(
    data: Coded, y: NDArray[np.int32], w: Floats | None, numeric: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], ContentTokens]:
    """The canonical order of columns, and the tokens in that order."""
    K = int(y.max()) + 1
    single, sizes = count_levels(data, y, w, K)

    def batches() -> Iterator[CodedRows]:
        for span, codes, _ in packed(data, sizes):
            yield codes, y[span], None if w is None else w[span]

    weight = _core.class_weights(y, w, K)
    column, level, start = content_tokens(single, sizes, weight, numeric, data.known, batches)
    order = np.argsort(column, kind="stable")
    levels = [level[start[j] : start[j + 1]] for j in order.tolist()]
    starts = np.cumsum([0, *map(len, levels)]).astype(np.int64)
    return order, ContentTokens(column[order], np.concatenate(levels), starts)


def _warn_identifiers(names: list[str]) -> None:
    if names:
        warn(
            f"Column(s) {', '.join(map(repr, names))}: nearly every row has a value of its own, from which nothing can "
            "be learned about other rows. They are ignored; leave them out of the table.",
            IdentifierColumnWarning,
        )


def _fixed_term(term: Term) -> Term:
    """An estimated ensemble with its choices fixed."""
    assert isinstance(term.distribution, Ensemble)
    ensemble, statistics = fixed(term.distribution, term.statistics, term.params)
    return Term(ensemble, term.columns, statistics)


def _smoothed(weight: Floats) -> Floats:
    """The class frequencies with half a row more of each class."""
    return np.exp(smooth_prior(weight))

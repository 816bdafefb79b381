"""BayesNetwork: a graph of one's own, with one output or several."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from tallybayes.data.labels import check_weights
from tallybayes.data.schema import Schema
from tallybayes.distributions.networks.conditional_gaussians import family_real_sets
from tallybayes.distributions.networks.count_tables import family_sets
from tallybayes.distributions.networks.family_network import FamilyNetwork
from tallybayes.errors import LabelError, MergeError, OptionError, brief
from tallybayes.estimators import given_parameters
from tallybayes.estimators.outputs import Outputs, counted_prior, find_outputs, read_columns
from tallybayes.estimators.spode_tan import NetworkClassifier
from tallybayes.estimators.state import ModelState
from tallybayes.model.fitted import Fitted
from tallybayes.model.term import Term
from tallybayes.structure.graph import Edge, Graph, Parents, parents_of, read_edges
from tallybayes.utils.array_types import Array, Floats


class BayesNetwork(NetworkClassifier):
    """A Bayesian network classifier whose graph is given: P(x | class) = Π_j P(x_j | class, parents of j).

    Without a graph it is naive Bayes. Missing values are summed out exactly.

    Parameters
    ----------
    graph : None, dict, networkx.DiGraph, pairs or str, default=None
        Edges between columns: ``{"income": ["age", "job"]}`` or ``"age -> income, job -> income"``. The class is a
        parent of every column. Back-off drops the last-named parent first.
    targets : None or list of str, default=None
        Names of several outputs: y then has one column for each, and one network predicts them jointly. Edges from a
        target to a column name the targets that the column depends on (all, if there are none); edges between targets
        define their dependence (without any, their joint frequencies are used).
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
        Class prior. None: class frequencies; 'laplace': frequencies with add-one smoothing; 'uniform': equal. An
        array is in the order of ``classes_``; a dict or a Series goes by label. With targets it must be None.
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
    outputs_ : dict
        With targets: the labels of each.
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
    TAN : Learns a tree from the rows.
    KDB : Learns up to k parents per column.

    References
    ----------
    * Koller and Friedman (2009), Probabilistic graphical models. MIT Press.

    Examples
    --------
    >>> from tallybayes import BayesNetwork
    >>> from tallybayes.datasets import load_census
    >>> people, income = load_census()
    >>> def about(*names):
    ...     return [{name: person[name] for name in names} for person in people]
    >>> X = about("age", "education", "occupation", "relationship")
    >>> model = BayesNetwork("education -> occupation, age -> relationship").fit(X[:7000], income[:7000])
    >>> round(model.score(X[7000:], income[7000:]), 2)
    0.83
    >>> print(model.graph_)
    age | class
    education | class
    occupation | class, education (0.219 nats)
    relationship | class, age (0.139 nats)

    Two targets at once; the income is asked for given the sex:

    >>> Y = {"income": income, "sex": [person["sex"] for person in people]}
    >>> model = BayesNetwork(targets=["income", "sex"]).fit(about("age", "education", "occupation"), Y)
    >>> model.predict([{"age": 45, "occupation": "Exec-managerial"}]).tolist()
    [['>50K', 'Male']]
    >>> [p.round(2).tolist() for p in model.predict_proba([{"age": 45}], given={"sex": "Female"})]
    [[[0.83, 0.17]], [[1.0, 0.0]]]
    """

    def __init__(
        self,
        graph: object = None,
        targets: object = None,
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
        self.graph = graph
        self.targets = targets
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

    @classmethod
    def from_tables(
        cls, priors: Mapping[Any, float], tables: Mapping[str, Mapping[Any, Mapping[Any, float]]], graph: object = None
    ) -> Self:
        """Make a network of given conditional probability tables, without rows. One target, columns of levels.

        Parameters
        ----------
        priors : dict from label to probability
            The class prior.
        tables : dict from column to {key: {level: probability}}
            P(level | class, parents); the key is the class, or (class, value of each parent in the order of the graph).
        graph : None, dict, networkx.DiGraph, pairs or str, default=None
            The arrows between columns, as in ``"age -> income"``.

        Returns
        -------
        BayesNetwork
            A model that predicts, samples, draws and saves. It cannot learn more rows: fit learns anew.

        Examples
        --------
        >>> from tallybayes import BayesNetwork
        >>> model = BayesNetwork.from_tables({"rain": 0.2, "dry": 0.8}, {
        ...     "sprinkler": {"rain": {"on": 0.01, "off": 0.99}, "dry": {"on": 0.4, "off": 0.6}},
        ...     "grass": {("rain", "on"): {"wet": 0.99, "dull": 0.01}, ("rain", "off"): {"wet": 0.8, "dull": 0.2},
        ...               ("dry", "on"): {"wet": 0.9, "dull": 0.1}, ("dry", "off"): {"wet": 0.0, "dull": 1.0}}},
        ...     "sprinkler -> grass")
        >>> round(model.predict_proba_one({"grass": "wet"})["rain"], 4)
        0.3577
        """
        return given_parameters.network(cls, priors, tables, graph)

    # --- structure ---------------------------------------------------------------------------------------------

    def _make_terms(self, schema: Schema) -> tuple[Term, ...]:
        columns, reals = self._columns(schema)
        names = [schema.name(j) for j in columns]
        among, _, named = self._arrows(names)
        parents = parents_of(among, lambda name: columns.index(schema.position(name)), names)
        inner = schema.d - reals
        _check_real(parents, inner, names)
        outputs = self._outputs
        groups = None if outputs is None else outputs.groups([named.get(name, ()) for name in names])
        pairs = {(min(i, j), max(i, j)) for j, own in enumerate(parents[:inner]) for i in own}
        extra = tuple(sorted({*family_sets(parents[:inner]), *pairs}, key=lambda s: (len(s), s)))
        network = FamilyNetwork(
            order=1,
            extra=extra,
            parents=parents,
            groups=groups,
            reals=reals,
            real_extra=family_real_sets(parents[inner:]),
            **self._options(),
        )
        return (Term(network, columns),)

    def _arrows(self, names: list[str]) -> tuple[list[Edge], list[Edge], dict[Hashable, tuple[str, ...]]]:
        """Arrows among columns, arrows among targets, and the targets that each column names."""
        targets = () if self._outputs is None else self._outputs.names
        both = sorted(set(targets) & set(names))
        if both:
            raise OptionError(f"{both[0]!r} is a target and a column. Take it out of X, or out of targets.")
        among: list[Edge] = []
        of_targets: list[Edge] = []
        named: dict[Hashable, tuple[str, ...]] = {}
        for a, b in read_edges(self.graph):
            if a in targets and b in targets:
                of_targets.append((a, b))
            elif b in targets:
                raise OptionError(f"The arrow {a!r} -> {b!r} points from a column to a target. Turn it round.")
            elif a in targets:
                named[b] = (*named.get(b, ()), str(a))
            else:
                among.append((a, b))
        return among, of_targets, named

    @property
    def graph_(self) -> Graph:
        """Graph: who depends on whom; with targets, their arrows too."""
        graph = super().graph_
        outputs = self._outputs
        if outputs is None:
            return graph
        _, among, named = self._arrows(list(graph.columns))
        known = outputs.names
        # without arrows their joint frequencies are counted: each depends on those before it
        parents = parents_of(among, known.index, known) if among else [range(t) for t in range(len(known))]
        return graph.with_targets({t: [known[i] for i in own] for t, own in zip(known, parents, strict=True)}, named)

    def _prior(self) -> object:
        if self._outputs is None:
            return super()._prior()
        self._refuse(self.priors)
        targets = self._outputs.names
        arrows = [(a, b) for a, b in read_edges(self.graph) if a in targets and b in targets]
        return counted_prior(self._outputs, arrows, float(self.alpha))

    # --- several outputs ---------------------------------------------------------------------------------------

    @property
    def _outputs(self) -> Outputs | None:
        found: Outputs | None = self.__dict__.get("_reading")
        several = self.__dict__.get("_several")  # plain values: what a model file can hold
        return Outputs(*several) if found is None and several is not None else found

    def _check_restored(self, fitted: Fitted) -> None:
        super()._check_restored(fitted)
        outputs = self._outputs
        if outputs is not None:
            outputs.check(fitted.K)

    @property
    def outputs_(self) -> dict[str, Array]:
        """dict: with targets, the labels of each; without, an AttributeError."""
        if self._outputs is None:
            raise AttributeError("This BayesNetwork has no outputs_: it has one target, see classes_.")
        return dict(zip(self._outputs.names, self._outputs.labels, strict=True))

    def _learn(
        self,
        X: object,
        y: object,
        sample_weight: object,
        classes: object,
        *,
        from_scratch: bool,
        defer_estimation: bool = False,
        is_all_data: bool = False,
    ) -> None:
        if self.targets is None:
            if not from_scratch and self._outputs is not None:
                raise OptionError("targets was changed after the fit. Fit again.")
            super()._learn(
                X,
                y,
                sample_weight,
                classes,
                from_scratch=from_scratch,
                defer_estimation=defer_estimation,
                is_all_data=is_all_data,
            )
            self.__dict__.pop("_several", None)
            return
        targets = check_targets(self.targets)
        columns, n = read_columns(y, targets)
        known = None if from_scratch else self._outputs
        if not from_scratch and (known is None or known.names != targets):
            raise OptionError("targets was changed after the fit. Fit again.")
        outputs = known or find_outputs(targets, columns, n, classes)
        self._reading = outputs  # what _make_terms and _prior go by until the rows are learned
        try:
            every = np.arange(outputs.K) if from_scratch else None
            super()._learn(
                X,
                outputs.codes(columns, n),
                sample_weight,
                every,
                from_scratch=from_scratch,
                defer_estimation=defer_estimation,
            )
            self._several = (outputs.names, outputs.labels)
        finally:
            del self._reading

    def _labels(self, y: object) -> object:
        """With several targets, the numbers of their combinations."""
        if self._outputs is None:
            return y
        return self._outputs.codes(*read_columns(y, self._outputs.names))

    def _check_merge(self, other: ModelState) -> None:
        super()._check_merge(other)
        mine, theirs = (getattr(network, "outputs_", {}) for network in (self, other))
        if [(k, v.tolist()) for k, v in mine.items()] != [(k, v.tolist()) for k, v in theirs.items()]:
            raise MergeError(
                "The two networks have different targets, or different labels of them. Declare the labels of both with "
                "partial_fit(X, y, classes=[labels of each target])."
            )

    def with_prior(self, priors: object) -> Self:
        """Make a copy of this model under another class prior, without fitting again.

        Parameters
        ----------
        priors : array-like, dict, Series, table, 'uniform', 'laplace' or None
            An array in the order of ``classes_``; a dict, a Series or a table of labels and shares by label; None
            counts the classes. A prior of 0 rules a class out. With targets only None is allowed: how they depend on
            each other is counted.

        Returns
        -------
        BayesNetwork
            What fit with that prior would have given.

        Raises
        ------
        OptionError
            If there are several targets and priors is not None.
        """
        self._refuse(priors)
        return super().with_prior(priors)

    def _refuse(self, priors: object) -> None:
        if self._outputs is not None and priors is not None:
            raise OptionError("priors must be None with several targets: how they depend on each other is counted.")

    def predict(self, X: object, priors: object = None) -> Array:
        """Return the most probable class of each row; with targets, the most probable combination.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are summed out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior in the place of the model's own, for this question only, or an array (rows, classes) with a
            prior for each row. With targets it must be None.

        Returns
        -------
        labels : ndarray of shape (n_rows,), or (n_rows, n_targets) with targets
            One label for each row and target.
        """
        self._refuse(priors)
        if self._outputs is None:
            return super().predict(X, priors)
        best = np.asarray(self.predictor_.predict(X, "best", None), np.int64)
        return self._outputs.decode(best)

    def predict_proba(self, X: object, priors: object = None, given: Mapping[str, object] | None = None) -> Any:
        """Return P(class | x) of each row; with targets, P(label | x) of each of them.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are summed out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior in the place of the model's own, for this question only, or an array (rows, classes) with a
            prior for each row. With targets it must be None.
        given : dict from target to label, default=None
            What is known of some targets, as in ``{"colour": "red"}``: the others are answered for given that.

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes), or a list of them with targets
            Columns in the order of ``classes_``; with targets one array for each, in the order of its labels in
            ``outputs_``.
        """
        outputs = self._outputs
        if outputs is None:
            if given is not None:
                raise OptionError("given says what is known of other targets; this network has only one.")
            return super().predict_proba(X, priors)
        self._refuse(priors)
        joint = self.predict_joint_proba(X, given)
        return [
            joint.sum(axis=tuple(1 + i for i in range(len(outputs.names)) if i != t)) for t in range(joint.ndim - 1)
        ]

    def predict_log_proba(self, X: object, priors: object = None) -> Any:
        """Return log P(class | x) of each row; with targets, log P(label | x) of each of them.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are summed out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior in the place of the model's own, for this question only, or an array (rows, classes) with a
            prior for each row. With targets it must be None.

        Returns
        -------
        log_probabilities : ndarray of shape (n_rows, n_classes), or a list of them with targets
            Columns in the order of ``classes_``; with targets one array for each, in the order of its labels in
            ``outputs_``.
        """
        self._refuse(priors)
        if self._outputs is None:
            return super().predict_log_proba(X, priors)
        with np.errstate(divide="ignore"):
            return [np.log(p) for p in self.predict_proba(X)]

    def predict_joint_proba(self, X: object, given: Mapping[str, object] | None = None) -> Floats:
        """Return P(y₁, y₂, … | x) of each row, for a network with targets.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are summed out.
        given : dict from target to label, default=None
            What is known of some targets, as in ``{"colour": "red"}``: combinations that do not agree have probability
            0.

        Returns
        -------
        probabilities : ndarray of shape (n_rows, labels of the first target, labels of the second, …)
            They sum to 1 in each row.

        Raises
        ------
        OptionError
            If the network has one target only, or if what is given never happens together with a row.
        """
        self._require_fit()
        outputs = self._outputs
        if outputs is None:
            raise OptionError("predict_joint_proba is for several targets: BayesNetwork(targets=[…]).")
        log = np.where(outputs.given(given), super().predict_log_proba(X), -np.inf)
        top = log.max(axis=1, keepdims=True)
        p = np.exp(log - np.where(np.isfinite(top), top, 0.0))
        total = p.sum(axis=1, keepdims=True)
        if (total == 0).any():
            row = int(np.argmin(total))
            raise OptionError(f"What is given never happens together with row {row}: its probability is 0.")
        return np.asarray((p / total).reshape(len(p), *outputs.shape))

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Return the accuracy; with targets, the share of rows that are right in all of them.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes.
        y : array-like of shape (n_rows,), or (n_rows, n_targets) with targets
            Their true labels; with targets also a data frame or a dict with a column for each target.
        sample_weight : array-like of shape (n_rows,), default=None
            How much each row counts; None counts each once.

        Returns
        -------
        float
            From 0 to 1.
        """
        if self._outputs is None:
            return super().score(X, y, sample_weight)
        found = self.predict(X)
        columns, n = read_columns(y, self._outputs.names)
        if n != len(found):
            raise LabelError(f"X has {len(found)} rows and y has {n}.")
        weights = check_weights(sample_weight, n)
        if weights is not None and not weights.any():
            raise OptionError("There is nothing to score: every sample weight is zero.")
        right = np.logical_and.reduce([np.asarray(c) == found[:, t] for t, c in enumerate(columns)])
        return float(np.average(right, weights=weights))

    def sample(
        self, n: int = 1, y: Any = None, random_state: object = None, *, given: Mapping[str, object] | None = None
    ) -> tuple[Any, Array]:
        """Draw rows and their classes from the model; with targets y has a column for each.

        Parameters
        ----------
        n : int, default=1
            How many rows.
        y : label, array-like or dict, default=None
            The class of all rows, or of each; with targets a label for each of them, one combination for all rows or
            one for each. None draws the classes too.
        random_state : int, RandomState or None, default=None
            What they are drawn with.
        given : dict from column to value, default=None
            Known values of columns: the rest of each row is drawn given them.

        Returns
        -------
        X : table of shape (n, n_columns)
            As the kind of table that the model was fitted on.
        y : ndarray of shape (n,), or (n, n_targets) with targets
            The class of each row.
        """
        if self._outputs is None:
            return super().sample(n, y, random_state, given=given)
        if y is not None:
            one = not isinstance(y, Mapping) and np.ndim(y) == 1
            columns, rows = read_columns([y] if one else y, self._outputs.names)
            codes = self._outputs.codes(columns, rows)
            y = codes if rows > 1 else int(codes[0])
        X, codes = super().sample(n, y, random_state, given=given)
        return X, self._outputs.decode(codes)

    def explain(self, X: object = None, *, against: object = None, feature_names: object = None) -> Any:
        """Decompose the log-odds of rows into evidence of each feature; without rows, rank the features.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns), default=None
            The rows to explain; None ranks the features.
        against : label, default=None
            The class that the others are compared with; None: each class against the rest. With targets a label for
            each of them: a sequence in the order of targets, or a dict.
        feature_names : sequence of str, default=None
            Names of the columns where the table has none.

        Returns
        -------
        Explanation or FeatureRanking
            With targets the classes are the combinations of their labels, named as in 'a=1, b=0'.
        """
        outputs = self._outputs
        if outputs is None or X is None:
            return super().explain(X, against=against, feature_names=feature_names)
        found = super().explain(X, feature_names=feature_names)
        named = replace(found, classes=np.array(outputs.combinations, dtype=object))
        if against is None:
            return named
        if isinstance(against, str):
            return named.against(against)
        columns, rows = read_columns(against if isinstance(against, Mapping) else [against], outputs.names)
        return named.against(outputs.combinations[int(outputs.codes(columns, rows)[0])])

    def predict_proba_one(self, row: Mapping[str, object]) -> dict[Any, float]:
        """Return P(label | row) of one row given as a dict; with targets the labels are tuples.

        Parameters
        ----------
        row : dict from column to value
            A key left out is a missing value.

        Returns
        -------
        dict from label to probability
            In the order of ``classes_``; with targets a tuple of labels for each combination.
        """
        found = super().predict_proba_one(row) if self._outputs is None else None
        if found is not None:
            return found
        assert self._outputs is not None
        joint = self.predict_joint_proba([row])[0].ravel()
        names = self._outputs.decode(np.arange(self._outputs.K)).tolist()
        return {tuple(label): float(p) for label, p in zip(names, joint, strict=True)}


def _check_real(parents: Parents, inner: int, names: list[str]) -> None:
    """Real columns, those from `inner` on, are children only."""
    for j, own in enumerate(parents):
        for i in own:
            if i >= inner:
                raise OptionError(
                    f"The arrow {names[i]!r} -> {names[j]!r} starts at a column that stays real with cuts=None, and a "
                    f"real column cannot be a parent. Cut the numbers (cuts='mdl'), turn the arrow round, or declare "
                    f"schema={{{names[i]!r}: 'categorical'}}."
                )


def check_targets(targets: object) -> tuple[str, ...]:
    several = isinstance(targets, Iterable) and getattr(targets, "ndim", 1) > 0
    given: Any = targets
    names = (given,) if isinstance(targets, str) else tuple(given) if several else ()
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise OptionError(f"targets must be one or more different names; got {brief(targets)}.")
    return names

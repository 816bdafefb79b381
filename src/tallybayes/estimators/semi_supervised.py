"""SemiSupervised: EM on the sufficient statistics, from labelled and unlabelled rows or from unlabelled ones alone."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from tallybayes.data.labels import check_weights, read_some_labels, recode
from tallybayes.data.table import read_table
from tallybayes.distributions.capabilities import LogPrior, NoLikelihood, capability
from tallybayes.errors import LabelError, OptionError, UnseenCategoryWarning, brief, is_number, warn
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.estimators.parameters import check_label, check_single_values, random_of
from tallybayes.estimators.state import with_fitted
from tallybayes.estimators.wrapper import Wrapper
from tallybayes.model.fitted import count, count_parameters
from tallybayes.model.rows import read_rows
from tallybayes.utils.array_types import Array, Floats
from tallybayes.utils.lazy_imports import nw

NEGLIGIBLE_SHARE = 1e-30  # a share of a row that is as good as none
LOG_IMPOSSIBLE = -1e9  # the log density of a row that no class can explain: worse than any, and yet a number


class SemiSupervised(Wrapper):
    """Semi-supervised learning by EM (Nigam et al. 2000), for few labels and many unlabelled rows.

    It maximises  Σ_labelled log P(x, y) + λ Σ_unlabelled log p(x) + log prior of the parameters;  the prior is that of
    alpha (Laplace smoothing is a Dirichlet prior). With maximum-likelihood or smoothed estimates every EM step
    increases this. Otherwise (ddof=1, shrinkage, kernel densities) a step that decreases it is not taken, and learning
    ends there.

    With `n_classes` there is no label at all: EM fits a mixture of so many components, from several starts (k-means on
    the numeric columns; without any, random rows), and keeps the most likely. ``bic_`` compares numbers of components.

    A model file holds the fitted estimator: ``save(model.estimator_, path)``, not the wrapper.

    Parameters
    ----------
    estimator : an estimator of this library
        The classifier; it is cloned. ComplementNB and BayesClassifier are refused, because they define no density.
    unlabelled : label, default=None
        Label that marks an unlabelled row, such as −1. None, NaN and NA always do.
    weight : float between 0 and 1, default=1.0
        Weight λ of an unlabelled row. A smaller weight protects against a wrong model.
    max_iter : int, default=100
        Maximum number of EM iterations; beyond it a ConvergenceWarning is given.
    tol : float, default=1e-6
        Stop when an iteration raises the objective, as a mean over rows, by less.
    n_classes : int, default=None
        Number of components of a mixture, for rows without any label: ``fit(X)``. Its classes are 0, 1, ….
    n_init : int, default=5
        Number of starts of a mixture; used with n_classes only.
    random_state : int, RandomState or None, default=0
        Seed of the starts; used with n_classes only.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator, with expected counts of the unlabelled rows.
    loglik_ : ndarray of shape (n_iter_,)
        The objective after each iteration; it never decreases.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether EM converged before max_iter.
    bic_ : float
        With n_classes: −2 Σ log p(x) + (number of parameters) log n; lower is better.
    classes_ : ndarray of shape (n_classes,)
        Class labels, in the order of all predictions.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where the table has names.

    See Also
    --------
    PriorShift : Estimates only the class shares of unlabelled rows.

    References
    ----------
    * Nigam, McCallum, Thrun and Mitchell (2000), Text classification from labeled and unlabeled documents using
      EM. Machine Learning 39.

    Examples
    --------
    One iris in ten has a label:

    >>> from sklearn.datasets import load_iris
    >>> from tallybayes import GaussianNB, SemiSupervised
    >>> X, y = load_iris(return_X_y=True)
    >>> labels = [label if i % 10 == 0 else None for i, label in enumerate(y.tolist())]
    >>> model = SemiSupervised(GaussianNB()).fit(X, labels)
    >>> round(model.score(X, y), 2), round(GaussianNB().fit(X[::10], y[::10]).score(X, y), 2)
    (0.91, 0.89)

    Without labels, a mixture:

    >>> mixture = SemiSupervised(GaussianNB(), n_classes=3).fit(X)
    >>> mixture.estimator_.class_count_.round().tolist()
    [50.0, 54.0, 46.0]
    """

    def __init__(
        self,
        estimator: object,
        *,
        unlabelled: object = None,
        weight: float = 1.0,
        max_iter: int = 100,
        tol: float = 1e-6,
        n_classes: int | None = None,
        n_init: int = 5,
        random_state: object = 0,
    ) -> None:
        self.estimator = estimator
        self.unlabelled = unlabelled
        self.weight = weight
        self.max_iter = max_iter
        self.tol = tol
        self.n_classes = n_classes
        self.n_init = n_init
        self.random_state = random_state

    # --- learning ----------------------------------------------------------------------------------------------

    def fit(self, X: object, y: object = None, sample_weight: object = None) -> Self:
        """Learn from the labelled rows, then from all; with n_classes, from rows without labels.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            pandas, polars, pyarrow, NumPy, scipy sparse, or a list of dicts. Missing values are left out of the counts.
        y : array-like of shape (n_rows,), default=None
            The class label of each row, and None (or the mark `unlabelled`) where there is none. With n_classes: None.
        sample_weight : array-like of shape (n_rows,), default=None
            How many times each row counts; None counts each once.

        Returns
        -------
        self : SemiSupervised
            The same model, fitted.

        Raises
        ------
        OptionError
            If the estimator is no density, or needs all rows to have labels.
        """
        self._check_options()
        self.__dict__.pop("bic_", None)
        if self.n_classes is not None:
            return self._fit_mixture(X, y, sample_weight)
        if y is None:
            raise LabelError(
                "SemiSupervised requires y to be passed, but the target y is None. For rows without any label say "
                "n_classes, the number of components of the mixture."
            )
        table = read_table(X)
        codes, labels = read_some_labels(y, table.n, self.unlabelled)
        found = check_weights(sample_weight, table.n)
        w = np.ones(table.n) if found is None else found
        # Rows of weight 0 are absent, but their levels are known: all models on the way have the same ones.
        known = labels[np.maximum(codes, 0)], np.where(codes < 0, 0.0, w)
        first = clone(self.estimator).set_params(tempered=False).fit(X, *known)
        _check_density(first)
        _tell_marks(labels.tolist(), self.unlabelled is None and bool((codes >= 0).all()))
        climb = _Climb(first, X, recode(codes, labels, first.classes_), (codes < 0) & (w > 0), w, float(self.weight))
        model, loglik, converged = climb.run(self.max_iter, self.tol)
        if self.estimator.tempered:  # EM climbs the likelihood itself; the labelled rows say how far to believe it
            model = model.copy().set_params(tempered=True)
            model.temper(X, *known)
        self.estimator_, self.loglik_, self.converged_, self.n_iter_ = model, loglik, converged, len(loglik)
        if not converged:
            warn(f"The likelihood still rose after {self.max_iter} steps. Raise max_iter or tol.", ConvergenceWarning)
        return self

    def _fit_mixture(self, X: object, y: object, sample_weight: object) -> Self:
        """EM from no label: the best of several starts."""
        self._check_mixture()
        K: Any = self.n_classes
        table = read_table(X)
        if y is not None and (read_some_labels(y, table.n, self.unlabelled)[0] >= 0).any():
            raise OptionError("n_classes is for rows without any label; leave it out to learn from labelled rows.")
        found = check_weights(sample_weight, table.n)
        w = np.ones(table.n) if found is None else found
        there = np.flatnonzero(w > 0)
        if len(there) < K:
            raise OptionError(f"A mixture of {K} components needs at least {K} rows; got {len(there)}.")
        rng, best = random_of(self.random_state), None
        for _ in range(int(self.n_init)):
            labels, some = _initial_labels(X, table.n, there, int(K), rng)
            first = clone(self.estimator).fit(X, labels, np.where(some, w, 0.0))
            _check_density(first)
            nobody, everybody = np.full(table.n, -1, dtype=np.int32), w > 0
            climb = _Climb(first, X, nobody, everybody, w, 1.0)
            climb.labelled = climb.labelled.emptied()
            model, loglik, converged = climb.run(self.max_iter, self.tol)
            if best is None or loglik[-1] > best[1][-1]:
                best = model, loglik, converged
        assert best is not None
        self.estimator_, self.loglik_, self.converged_ = best
        self.n_iter_ = len(self.loglik_)
        density = np.where(w > 0, w * np.maximum(self.estimator_.score_samples(X), LOG_IMPOSSIBLE), 0.0).sum()
        self.bic_ = float(-2 * density + count_parameters(self.estimator_.predictor_.fitted) * np.log(w.sum()))
        if not self.converged_:
            warn(f"The likelihood still rose after {self.max_iter} steps. Raise max_iter or tol.", ConvergenceWarning)
        return self

    def _check_mixture(self) -> None:
        for name, value in (("n_classes", self.n_classes), ("n_init", self.n_init)):
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
                raise OptionError(f"{name} must be a whole number of at least 1; got {brief(value)}.")
        if self.estimator.tempered or self.estimator.class_weight is not None or self.weight != 1:
            raise OptionError("tempered=True, class_weight and weight need labels: leave them out with n_classes.")

    def _check_options(self) -> None:
        check_single_values(self)
        check_label("unlabelled", self.unlabelled)
        if not isinstance(self.estimator, GenerativeClassifier):
            raise OptionError(
                "SemiSupervised works on the tallies of this library's estimators; got "
                f"{type(self.estimator).__name__}. For others see sklearn.semi_supervised.SelfTrainingClassifier."
            )
        self.estimator._check_options()  # what cannot be an option may be what cannot be cloned
        if self.estimator.half_life is not None:
            raise OptionError(
                "SemiSupervised goes over all rows again and again, whatever their order: they cannot fade. Set "
                "half_life=None on the estimator, or give sample_weight."
            )
        if not is_number(self.weight) or not 0 <= self.weight <= 1:
            raise OptionError(f"weight must be between 0 and 1; got {brief(self.weight)}.")
        if not isinstance(self.max_iter, int | np.integer) or self.max_iter < 1:
            raise OptionError(f"max_iter must be a whole number of at least 1; got {brief(self.max_iter)}.")
        if not is_number(self.tol) or self.tol < 0:
            raise OptionError(f"tol must be a number of at least 0; got {brief(self.tol)}.")

    # --- asking ------------------------------------------------------------------------------------------------

    def predict(self, X: object, priors: object = None) -> Array:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior in the place of the model's own, for this question only.

        Returns
        -------
        labels : ndarray of shape (n_rows,)
            One of ``classes_`` for each row.
        """
        return np.asarray(self._fitted().predict(X, priors=priors))

    def predict_proba(self, X: object, priors: object = None) -> Floats:
        """Return P(class | x) of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior in the place of the model's own, for this question only.

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._fitted().predict_proba(X, priors=priors)

    def predict_log_proba(self, X: object, priors: object = None) -> Floats:
        """Return log P(class | x) of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior in the place of the model's own, for this question only.

        Returns
        -------
        log_probabilities : ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._fitted().predict_log_proba(X, priors=priors)

    def score_samples(self, X: object, priors: object = None) -> Floats:
        """Return log p(x): how likely the row is under the model.

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
        """
        return self._fitted().score_samples(X, priors=priors)

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Compute the share of rows whose class is predicted right.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        y : array-like of shape (n_rows,)
            The true class of each row.
        sample_weight : array-like of shape (n_rows,), default=None
            How many times each row counts; None counts each once.

        Returns
        -------
        accuracy : float
            From 0 to 1. A row of a class that was never learned is predicted wrong.
        """
        return self._fitted().score(X, y, sample_weight)

    def _fitted(self) -> GenerativeClassifier:
        check_is_fitted(self, "estimator_")
        model: GenerativeClassifier = self.estimator_
        return model


def _check_density(model: GenerativeClassifier) -> None:
    """Refuses a model without a likelihood to climb."""
    for term in model.fitted_.terms:
        density = capability(term.distribution, NoLikelihood)
        refusal = None if density is None else density.no_likelihood()
        if refusal is not None:
            raise OptionError(refusal)


def _initial_labels(
    X: object, n: int, there: NDArray[np.intp], K: int, rng: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """A class of each row, and which rows start with it: k-means on numeric columns; without any, random rows."""
    labels, some = np.arange(n) % K, np.zeros(n, dtype=bool)
    numbers = _numeric(X)
    if numbers is None:
        few = rng.permutation(there)[: max(len(there) // 3, K)]
        labels[few] = np.arange(len(few)) % K
        some[few] = True
        return labels, some
    from sklearn.cluster import KMeans

    x = numbers[there]
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column without a value
        scale = np.nanstd(x, axis=0)
        z = np.nan_to_num((x - np.nanmean(x, axis=0)) / np.where(scale > 0, scale, 1.0))
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different rows than classes
        found = KMeans(K, n_init=1, init="random", random_state=rng).fit(z).labels_
    for k in np.setdiff1d(np.arange(K), found):  # every class starts with a row
        found[rng.randint(len(found))] = k
    labels[there] = found
    some[there] = True
    return labels, some


def _numeric(X: Any) -> Floats | None:
    """The columns of finite numbers; None if there are none, or the table is sparse."""
    columns = [np.where(np.isinf(c), np.nan, c) for c in _number_columns(X)]
    return np.column_stack(columns) if columns and columns[0].ndim else None


def _number_columns(X: Any) -> list[Floats]:
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        names = [name for name, kind in frame.schema.items() if kind.is_numeric()]
        return [frame[name].to_numpy().astype(np.float64) for name in names]
    if isinstance(X, list) and X and all(isinstance(row, Mapping) for row in X):
        names = [k for k in X[0] if all(is_number(v) or v is None for v in (row.get(k) for row in X))]
        return [np.array([row.get(name) for row in X], dtype=np.float64) for name in names]
    try:
        return list(np.asarray(X, dtype=np.float64).T)
    except (TypeError, ValueError):
        return []


def _tell_marks(labels: list[object], all_labelled: bool) -> None:
    """Says which class may be the mark of rows without a label."""
    if all_labelled and -1 in labels:
        warn("-1 is taken as a class. If it marks rows without a label: unlabelled=-1.", UserWarning)
    blank = next((v for v in labels if isinstance(v, str) and not v.strip()), None)
    if blank is not None:
        warn(f"{blank!r} is taken as a class. If it marks rows without a label: unlabelled={blank!r}.", UserWarning)


class _Climb:
    """EM from a model of the labelled rows. The labelled sums are counted once, the others anew in each step."""

    def __init__(
        self,
        first: GenerativeClassifier,
        X: object,
        codes: NDArray[np.int32],
        open_rows: NDArray[Any],
        w: Floats,
        share: float,
    ) -> None:
        self.first, self.codes, self.open, self.w = first, codes, open_rows, w
        self.share = share
        fitted = first.fitted_
        who = type(first).__name__
        self.rows = read_rows(X, fitted.schema, fitted.terms, fitted.sizes(), who, grow=True)
        self.labelled = replace(fitted, schema=self.rows.schema)

    def run(self, max_iter: int, tol: float) -> tuple[GenerativeClassifier, Floats, bool]:
        """The best model, what was climbed after each step, and whether the top was reached."""
        model, history = self.first, list[float]()
        if self.share == 0 or not self.open.any():
            return model, np.array([self.height(model, self.joint(model))]), True
        joint = self.joint(model)
        enough = tol * (self.w[self.codes >= 0].sum() + self.share * self.w[self.open].sum())
        for _ in range(max_iter):
            step = self.counted(self.shares(joint))
            joint = self.joint(step)
            height = self.height(step, joint)
            if history and height <= history[-1]:
                return model, np.array(history), True
            model = step
            history.append(height)
            if len(history) > 1 and height - history[-2] <= enough:
                return model, np.array(history), True
        return model, np.array(history), False

    def joint(self, model: GenerativeClassifier) -> Floats:
        """log P(x, class). A level of an unlabelled row may be new to the first model: that is no mistake here."""
        predictor = model.predictor_
        if predictor.options.unseen == "error":
            predictor = predictor.with_options(predictor.options._replace(unseen="ignore"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnseenCategoryWarning)
            found: Floats = predictor.predict_rows(self.rows, "joint")
        return found

    def shares(self, joint: Floats) -> Floats:
        """P(class | x); the prior where no class can explain the row."""
        rows = np.where(np.isfinite(joint).any(axis=1, keepdims=True), joint, self.first.predictor_.offset)
        P = np.exp(rows - logsumexp(rows, axis=1, keepdims=True))
        P[P < NEGLIGIBLE_SHARE] = 0.0
        return np.asarray(P)

    def counted(self, P: Floats) -> GenerativeClassifier:
        """The model of the labelled rows and these shares of the others: class by class, without a copy of a row."""
        total = self.labelled
        for k in range(total.K):
            w = self.share * self.w * P[:, k]
            y = np.where(self.open & (w > 0), k, -1).astype(np.int32)
            total = total.add(count(self.rows.labelled(y, w), total.terms, total.classes))
        return with_fitted(self.first, total)

    def height(self, model: GenerativeClassifier, joint: Floats) -> float:
        """What is climbed: the log-likelihood of all rows and the log prior of the parameters."""
        start = model.predictor_.offset
        # a class ruled out stays so; a row of weight 0 is absent, and 0 · −inf no number
        rows = np.flatnonzero((self.codes >= 0) & (self.w > 0) & (start[self.codes] > -np.inf))
        labelled = self.w[rows] @ joint[rows, self.codes[rows]]
        evidence = np.maximum(logsumexp(joint[self.open], axis=1), LOG_IMPOSSIBLE)
        return float(labelled + self.share * (self.w[self.open] @ evidence) + penalty(model))


def penalty(model: GenerativeClassifier) -> float:
    """The log prior that the smoothing of a model stands for, up to a constant: EM climbs it with the likelihood."""
    predictor, asked = model.predictor_, model._prior()
    of_classes = float(predictor.offset.sum()) if isinstance(asked, str) and asked == "laplace" else 0.0
    priors = [(capability(t.distribution, LogPrior), t) for t in predictor.fitted.terms]
    return of_classes + sum(0.0 if d is None else d.log_prior_density(t.statistics, t.params) for d, t in priors)

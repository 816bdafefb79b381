"""Linear and quadratic discriminant analysis with the parameters and attributes of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes import _core
from tallybayes.data.encoding import Numbers, Sparse
from tallybayes.distributions.multivariate.gaussian_moments import blocks
from tallybayes.distributions.multivariate.gaussian_parameters import BlockParams
from tallybayes.distributions.statistics import LOG_2PI, away
from tallybayes.errors import OptionError, TableError, brief, is_number, warn
from tallybayes.estimators import given_covariance
from tallybayes.estimators.gaussian_discriminant import GaussianDiscriminant
from tallybayes.estimators.parameters import check_single_values, given_prior
from tallybayes.estimators.sklearn_bases import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from tallybayes.model.fitted import Fitted
from tallybayes.model.priors import plain
from tallybayes.model.rows import Rows
from tallybayes.model.term import refused
from tallybayes.utils.array_types import Floats


class _Analysis(GaussianDiscriminant):
    """What scikit-learn's two classes have in common."""

    _solvers: tuple[str, ...]
    solver: str
    store_covariance: bool
    covariance_estimator: object

    def _check_options(self) -> None:
        check_single_values(self)
        if self.solver not in self._solvers:
            raise OptionError(
                f"solver must be one of {self._solvers} (all give the same answer); got {brief(self.solver)}."
            )
        if self.covariance_estimator is not None:
            given_covariance.check(self.covariance_estimator, self.shrinkage)
        if not isinstance(self.shrinkage, str | None) and not is_number(self.shrinkage):
            raise OptionError(f"shrinkage must be None, 'auto', 'oas' or between 0 and 1; got {brief(self.shrinkage)}.")
        super()._check_options()

    def _common(self) -> dict[str, object]:
        shrinkage = "ledoit-wolf" if self.shrinkage == "auto" else self.shrinkage
        given = self.covariance_estimator is not None
        return {"covariance": "full", "shrinkage": shrinkage, "ddof": 0, "tol": self.tol, "given": given}

    def _select_structure(self, fitted: Fitted, rows: Rows) -> Fitted:
        fitted = super()._select_structure(fitted, rows)
        if self.covariance_estimator is None:
            return fitted
        return given_covariance.put(self.covariance_estimator, fitted, rows)

    def _part(self) -> BlockParams:
        part: Any = self._parameters().terms[0].params
        assert isinstance(part, BlockParams)
        return part


class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, _Analysis):  # type: ignore[misc]
    """Linear discriminant analysis: all classes share one covariance, and the boundaries are linear.

    Parameters
    ----------
    solver : {'svd', 'lsqr', 'eigen'}, default='svd'
        For compatibility with scikit-learn; all solvers give the same result.
    shrinkage : None, float between 0 and 1, 'auto' or 'oas', default=None
        A number γ makes the covariance (1 − γ) Σ + γ (tr Σ / d) I. 'auto' (Ledoit and Wolf's rule) and 'oas' (the
        oracle approximating one) shrink each class's covariance towards its own variances by the amount those rules
        give.
    priors : None, 'uniform', 'laplace', array, dict or Series, default=None
        Class prior. None: class frequencies; 'laplace': frequencies with add-one smoothing; 'uniform': equal. An
        array is in the order of ``classes_``; a dict or a Series goes by label. A prior that does not sum to 1 is
        normalised with a warning.
    n_components : int, default=None
        Number of columns that transform returns, at most K − 1; None: all.
    store_covariance : bool, default=False
        For compatibility with scikit-learn; ``covariance_`` exists either way.
    tol : float, default=1e-4
        A direction whose standard deviation, in units of the columns' own, is below tol is treated as constant: it
        takes the shared variance, and tol² if that is constant too.
    covariance_estimator : object with fit and covariance_, default=None
        An estimator of covariances such as those of ``sklearn.covariance``, with any solver: a copy finds the
        covariance of each class, and their mean, weighted by rows, is that of all. Such a model can fit, but not add,
        forget, merge or decay.
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
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) of two classes
        Σ⁻¹ (mean_k − xbar); of two classes the difference.
    intercept_ : ndarray of shape (n_classes,), or (1,) of two classes
        What is added to X coef_ᵀ.
    means_ : ndarray of shape (n_classes, n_features)
        The mean of each class.
    priors_ : ndarray of shape (n_classes,)
        The class prior in use.
    xbar_ : ndarray of shape (n_features,)
        The mean of the classes' means, weighted by the priors.
    covariance_ : ndarray of shape (n_features, n_features)
        The shared covariance.
    scalings_ : ndarray of shape (n_features, rank)
        The directions that separate the classes, the best first, with variance 1 within the classes.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        The share of the variance between the classes that each direction has.
    own_covariance_ : float
        Always 0: all classes share one covariance.
    shrinkage_ : float, or ndarray of shape (n_classes,)
        The amount of shrinkage; by class with 'auto' and 'oas'.
    n_parameters_ : int
        Number of free parameters.
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
    QuadraticDiscriminantAnalysis : A covariance per class.
    RegularizedDiscriminantAnalysis : Between the two, chosen by leave-one-out.

    References
    ----------
    * Ledoit and Wolf (2004), A well-conditioned estimator for large-dimensional covariance matrices. Journal of
      Multivariate Analysis 88.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tallybayes import LinearDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> LinearDiscriminantAnalysis(n_components=2).fit(X, y).transform(X).shape
    (150, 2)
    """

    _solvers = ("svd", "lsqr", "eigen")

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: float | str | None = None,
        priors: object = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: object = None,
        *,
        tempered: bool = False,
        class_weight: object = None,
        half_life: float | str | None = None,
        verbose: bool = False,
        memory: str = "sums",
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.n_components = n_components
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator
        self.tempered = tempered
        self.class_weight = class_weight
        self.half_life = half_life
        self.verbose = verbose
        self.memory = memory

    def _options(self) -> dict[str, Any]:
        return {**self._common(), "own_covariance": 0.0}

    def _prior(self) -> object:
        if self.priors is None or isinstance(self.priors, str | dict):
            return self.priors
        given = plain(given_prior(self, "priors"))
        labels = list(given) if isinstance(given, dict) else None
        try:
            found = np.asarray(given if labels is None else list(given.values()), dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise OptionError(f"priors must be numbers, one for each class; got {brief(self.priors)}.") from None
        if (found < 0).any():
            raise OptionError(f"priors must be non-negative; got {found.tolist()}.")
        if found.ndim == 1 and 0 < found.sum() < np.inf and abs(found.sum() - 1.0) > 1e-5:
            warn("The priors do not sum to 1. Renormalizing", UserWarning)
            found = found / found.sum()
            return found if labels is None else dict(zip(labels, found.tolist(), strict=True))
        return given

    def _set_fitted(self, fitted: Fitted, estimated: Fitted | None = None) -> None:
        most = min(fitted.K - 1, fitted.schema.d)
        if self.n_components is not None and (
            not isinstance(self.n_components, int | np.integer)
            or isinstance(self.n_components, bool)
            or self.n_components < 1
        ):
            raise OptionError(
                f"n_components must be None or a whole number of at least 1; got {brief(self.n_components)}."
            )
        if self.n_components is not None and self.n_components > most:
            raise OptionError(
                f"n_components cannot be larger than min(n_features, n_classes - 1) = {most}; got {self.n_components}."
                + (" There is only 1 class." if fitted.K == 1 else "")
            )
        super()._set_fitted(fitted, estimated)

    # --- attributes --------------------------------------------------------------------------------------------

    @property
    def xbar_(self) -> Floats:
        """ndarray of shape (n_features,): the mean of the classes' means, weighted by the priors."""
        self._require_attribute("xbar_")
        return np.asarray(self.priors_ @ self.means_)

    def _from_xbar(self) -> tuple[Floats, Floats]:
        """The means from their mean, and what xbar_ lacks of that as float64."""
        deltas = away(self._part(), self.xbar_)
        rest = self.priors_ @ deltas
        return deltas - rest, rest

    def _lines(self) -> tuple[Floats, Floats]:
        """weight and bias of (x − xbar_): log joint up to a common term."""
        p = self._parameters()
        white = self._part().whitener(0)
        deltas, rest = self._from_xbar()
        whitened = deltas @ white.T
        weight = whitened @ white
        bias = -0.5 * np.square(whitened).sum(axis=1) - weight @ rest
        return self._beta * weight, p.prior + self._beta * bias

    @property
    def coef_(self) -> Floats:
        """ndarray of shape (n_classes, n_features): Σ⁻¹ (mean_k − xbar); two classes: one row, the difference."""
        self._require_attribute("coef_")
        weight = self._lines()[0]
        return weight[1:] - weight[:1] if len(weight) == 2 else weight

    @property
    def intercept_(self) -> Floats:
        """ndarray of shape (n_classes,): what is added to X coef_ᵀ; two classes: one number, the difference."""
        self._require_attribute("intercept_")
        weight, bias = self._lines()
        bias = bias - weight @ self.xbar_
        return bias[1:] - bias[:1] if len(bias) == 2 else bias

    @property
    def covariance_(self) -> Any:
        """ndarray of shape (n_features, n_features): the shared covariance, whatever store_covariance is."""
        return super().covariance_

    def _directions(self) -> tuple[Floats, Floats]:
        """scalings (d, rank): the directions that separate the classes, in order, with variance 1 within them."""
        K, priors = len(self.classes_), self.priors_
        white = self._part().whitener(0)
        fac = self.fitted_.weight.sum() / max(K - 1, 1)
        spread = np.sqrt(fac * priors)[:, None] * (self._from_xbar()[0] @ white.T)
        _, size, turn = np.linalg.svd(spread, full_matrices=False)
        rank = int((size > self.tol * size[:1]).sum()) if len(size) and size[0] > 0 else 0
        return white.T @ turn[:rank].T, size

    @property
    def scalings_(self) -> Floats:
        """ndarray of shape (n_features, rank): the directions that separate the classes, the best first."""
        self._require_attribute("scalings_")
        return self._directions()[0]

    @property
    def explained_variance_ratio_(self) -> Floats:
        """ndarray of shape (n_components,): the share of the variance between the classes that each direction has."""
        self._require_attribute("explained_variance_ratio_")
        size = np.square(self._directions()[1])
        return np.asarray((size / size.sum())[: self._max_components()]) if size.sum() > 0 else np.empty(0)

    def _max_components(self) -> int:
        most = min(len(self.classes_) - 1, self.schema_.d)
        return most if self.n_components is None else self.n_components

    @property
    def _n_features_out(self) -> int:
        return int(min(self._max_components(), self.scalings_.shape[1]))

    def transform(self, X: object) -> Floats:
        """Return the rows along the directions that separate the classes best.

        A missing value is put where the covariance expects it, given the row's other values.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes.

        Returns
        -------
        X_new : ndarray of shape (n_rows, n_components)
            The coordinates of each row, from ``xbar_``.

        Raises
        ------
        TableError
            If a number is infinite.
        """
        rows = self.predictor_.read(X)
        scalings, xbar, rest = self.scalings_[:, : self._max_components()], self.xbar_, self._from_xbar()[1]
        out = np.empty((rows.n, scalings.shape[1]))
        for span, x in blocks(rows.of(self.fitted_.terms[0])):
            if np.isinf(x).any():
                raise TableError("Input X contains infinity: transform needs finite numbers (NaN where missing).")
            centred = x - xbar - rest
            if np.isnan(centred).any():
                self._expect(centred)
            out[span] = centred @ scalings
        return out

    def _expect(self, centred: Floats) -> None:
        """x_m − xbar_m = −Λ_mm⁻¹ Λ_mo (x_o − xbar_o), Λ = Σ⁻¹: in place of missing values, pattern by pattern."""
        precision = self._part().precision(0)
        missing = np.isnan(centred)
        for pattern in np.unique(missing[missing.any(axis=1)], axis=0):
            rows = np.flatnonzero((missing == pattern).all(axis=1))
            known = centred[np.ix_(rows, ~pattern)] @ precision[np.ix_(~pattern, pattern)]
            found = np.linalg.lstsq(precision[np.ix_(pattern, pattern)], known.T, rcond=None)[0]
            centred[np.ix_(rows, pattern)] = -found.T

    def decision_function(self, X: object) -> Floats:
        """Return the decision function of each row: positive on the side of the class.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes. A row with missing values has the log joint of what is there.

        Returns
        -------
        scores : ndarray of shape (n_rows,) or (n_rows, n_classes)
            Two classes: log P(second | x) / P(first | x). More: xᵀ coef_k + intercept_k of each class k.
        """
        self._require_fit()
        if len(self.classes_) == 2:
            return super().decision_function(X)
        (term,) = self.fitted_.terms
        data = self.predictor_.read(X).of(term)
        weight, bias = self._lines()
        found = np.empty((data.n, len(bias)))
        whole = data.dense_blocks() if isinstance(data, Sparse) else [(slice(None), data)]
        for span, block in whole:
            assert isinstance(block, Numbers)
            try:
                found[span] = _core.affine_scores(block.columns, np.ascontiguousarray(weight), bias, self.xbar_)
            except _core.BadValue as e:
                raise refused(e, self.schema_, term.columns, "this model") from None
        if np.isnan(found).any():  # missing values: the log joint of what is there
            found = np.where(np.isnan(found), self.predict_joint_log_proba(X), found)
        return found


class QuadraticDiscriminantAnalysis(_Analysis):
    """Quadratic discriminant analysis: each class has its own covariance, and the boundaries are quadratic.

    Parameters
    ----------
    solver : {'svd', 'eigen'}, default='svd'
        For compatibility with scikit-learn; both give the same result.
    shrinkage : None, float between 0 and 1, 'auto' or 'oas', default=None
        A number γ makes each covariance (1 − γ) Σ_k + γ (tr Σ_k / d) I. 'auto' (Ledoit and Wolf's rule) and 'oas' (the
        oracle approximating one) shrink it towards its own variances by the amount those rules give.
    priors : None, 'uniform', 'laplace', array, dict or Series, default=None
        Class prior. None: class frequencies; 'laplace': frequencies with add-one smoothing; 'uniform': equal. An array
        is in the order of ``classes_``; a dict or a Series goes by label.
    reg_param : float between 0 and 1, default=0.0
        Σ_k becomes (1 − reg_param) Σ_k + reg_param I, in the units of the data.
    store_covariance : bool, default=False
        For compatibility with scikit-learn; ``covariance_`` exists either way.
    tol : float, default=1e-4
        A direction whose standard deviation, in units of the columns' own, is below tol is treated as constant: it
        takes the shared variance, and tol² if that is constant too.
    covariance_estimator : object with fit and covariance_, default=None
        A covariance estimator such as those of ``sklearn.covariance``; a clone is fitted to each class. The model can
        then fit, but not add, forget, merge or decay.
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
    means_ : ndarray of shape (n_classes, n_features)
        The mean of each class.
    priors_ : ndarray of shape (n_classes,)
        The class prior in use.
    covariance_ : list of ndarrays of shape (n_features, n_features)
        The covariance of each class.
    rotations_ : list of ndarrays of shape (n_features, rank)
        The axes of each class's Gaussian, in the order of scalings_.
    scalings_ : list of ndarrays of shape (rank,)
        The variances along the axes of each class's Gaussian, largest first.
    own_covariance_ : float
        Always 1: each class has its own covariance.
    shrinkage_ : float, or ndarray of shape (n_classes,)
        The amount of shrinkage; by class with 'auto' and 'oas'.
    n_parameters_ : int
        Number of free parameters.
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
    LinearDiscriminantAnalysis : One shared covariance.
    RegularizedDiscriminantAnalysis : Between the two, chosen by leave-one-out.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tallybayes import QuadraticDiscriminantAnalysis
    >>> X, y = load_iris(return_X_y=True)
    >>> float(QuadraticDiscriminantAnalysis().fit(X, y).score(X, y))
    0.98
    """

    _solvers = ("svd", "eigen")

    def __init__(
        self,
        *,
        solver: str = "svd",
        shrinkage: float | str | None = None,
        priors: object = None,
        reg_param: float = 0.0,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: object = None,
        tempered: bool = False,
        class_weight: object = None,
        half_life: float | str | None = None,
        verbose: bool = False,
        memory: str = "sums",
    ) -> None:
        self.solver = solver
        self.shrinkage = shrinkage
        self.priors = priors
        self.reg_param = reg_param
        self.store_covariance = store_covariance
        self.tol = tol
        self.covariance_estimator = covariance_estimator
        self.tempered = tempered
        self.class_weight = class_weight
        self.half_life = half_life
        self.verbose = verbose
        self.memory = memory

    def _options(self) -> dict[str, Any]:
        return {**self._common(), "own_covariance": 1.0, "ridge": self.reg_param}

    @property
    def covariance_(self) -> Any:
        """list of ndarrays of shape (n_features, n_features): the covariance of each class."""
        return super().covariance_

    def _axes(self) -> list[tuple[Floats, Floats]]:
        """Variances and directions of each class."""
        p = self._part()
        found = []
        for k in range(len(self.classes_)):
            _, size, turn = np.linalg.svd(p.whitener(k), full_matrices=False)
            some = size > 0
            found.append((1.0 / np.square(size[some]), turn[some].T))
        return [(variance[::-1][::-1], turn) for variance, turn in found]

    @property
    def scalings_(self) -> list[Floats]:
        """list of ndarrays of shape (rank,): the variances along the axes of each class's Gaussian, largest first."""
        self._require_attribute("scalings_")
        return [np.sort(variance)[::-1] for variance, _ in self._axes()]

    @property
    def rotations_(self) -> list[Floats]:
        """list of ndarrays of shape (n_features, rank): the axes of each class's Gaussian, as ``scalings_`` goes."""
        self._require_attribute("rotations_")
        return [turn[:, np.argsort(variance)[::-1]] for variance, turn in self._axes()]

    def decision_function(self, X: object) -> Floats:
        """Return the decision function of each row: positive on the side of the class.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.

        Returns
        -------
        scores : ndarray of shape (n_rows,) or (n_rows, n_classes)
            Two classes: log P(second | x) / P(first | x). More: −½ log|Σ_k| − ½ distance² + log prior of each class k.
        """
        found = super().decision_function(X)
        if found.ndim == 2:
            found = found + 0.5 * self._beta * len(self._part().keep) * LOG_2PI
        return found

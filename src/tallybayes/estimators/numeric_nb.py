"""Naive Bayes for numbers: Gaussian, Poisson, kernel density."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tallybayes.data.schema import Kind
from tallybayes.distributions import Distribution, Gaussian, Kernel, Poisson
from tallybayes.distributions.univariate.gaussian import GaussianParams
from tallybayes.distributions.univariate.kernel_density import KernelParams
from tallybayes.distributions.univariate.poisson import PoissonParams
from tallybayes.errors import OptionError, brief, is_number
from tallybayes.estimators import var_smoothing
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.estimators.parameters import check_var_smoothing
from tallybayes.estimators.state import read_only
from tallybayes.model.fitted import Fitted
from tallybayes.model.rows import Rows
from tallybayes.model.term import Term
from tallybayes.utils.array_types import Floats

if TYPE_CHECKING:
    from sklearn.utils import Tags


class GaussianNB(GenerativeClassifier):
    """Gaussian naive Bayes: P(x_j | class) = N(mean, variance), each class its own or one variance for all.

    Parameters
    ----------
    priors : None, 'uniform', 'laplace', array, dict or Series, default=None
        Class prior. None: class frequencies; 'laplace': frequencies with add-one smoothing; 'uniform': equal. An array
        is in the order of ``classes_``; a dict or a Series goes by label.
    var_smoothing : float or 'auto', default=1e-9
        Share of each feature's overall variance that is added to its variances. 'auto': chosen by leave-one-out
        log-loss on the first rows.
    ddof : {0, 1}, default=0
        Gaussian variances divide by n (0) or n − 1 (1).
    variance : {'own', 'shared'}, default='own'
        Whether each class has its own Gaussian variance, or all share one (the posterior is then a logistic
        regression).
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
    theta_ : ndarray of shape (n_classes, n_features)
        The mean of each class and feature.
    var_ : ndarray of shape (n_classes, n_features)
        The variance of each class and feature, smoothing included.
    epsilon_ : ndarray of shape (n_features,)
        Variance added to each feature by var_smoothing.
    class_prior_ : ndarray of shape (n_classes,)
        The class prior in use.
    var_smoothing_ : float
        The smoothing in use, given or chosen by leave-one-out.
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
    NaiveBayes : For mixed tables.
    LinearDiscriminantAnalysis : Models correlations between columns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tallybayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianNB().fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2])
    0.96
    >>> model.theta_[:, :2].round(2).tolist()  # sepal length and width: the means of the three species
    [[5.02, 3.48], [5.99, 2.78], [6.5, 2.94]]
    """

    def __init__(
        self,
        *,
        priors: object = None,
        var_smoothing: float | str = 1e-9,
        ddof: int = 0,
        variance: str = "own",
        tempered: bool = False,
        class_weight: object = None,
        half_life: float | str | None = None,
        verbose: bool = False,
        memory: str = "sums",
    ) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.ddof = ddof
        self.variance = variance
        self.tempered = tempered
        self.class_weight = class_weight
        self.half_life = half_life
        self.verbose = verbose
        self.memory = memory

    def _check_options(self) -> None:
        super()._check_options()
        check_var_smoothing(self.var_smoothing)
        if self.variance not in ("own", "shared"):
            raise OptionError(f"variance must be 'own' or 'shared'; got {brief(self.variance)}.")

    def _distribution(self, d: int) -> Distribution:  # noqa: ARG002
        return Gaussian(self.ddof, self.variance == "shared", var_smoothing.in_use(self.var_smoothing, None))

    _structure_name = "variance smoothing"

    def _has_structure(self) -> bool:
        return isinstance(self.var_smoothing, str)

    def _select_structure(self, fitted: Fitted, rows: Rows) -> Fitted:
        return var_smoothing.choose(self, fitted, rows) if isinstance(self.var_smoothing, str) else fitted

    def _terms_for_update(self, fitted: Fitted) -> tuple[Term, ...]:
        terms = super()._terms_for_update(fitted)
        return var_smoothing.chosen_again(terms, fitted) if isinstance(self.var_smoothing, str) else terms

    @property
    def var_smoothing_(self) -> float:
        """float: the smoothing in use, as given or as leave-one-out has chosen."""
        self._require_attribute("var_smoothing_")
        return var_smoothing.in_use(self.var_smoothing, self.fitted_)

    @property
    def theta_(self) -> Floats:
        """ndarray of shape (n_classes, n_features): the mean of each class and feature."""
        return read_only(self._params_of("theta_", GaussianParams).mean)

    @property
    def var_(self) -> Floats:
        """ndarray of shape (n_classes, n_features): the variance of each class and feature, smoothing included."""
        return read_only(self._params_of("var_", GaussianParams).var)

    @property
    def epsilon_(self) -> Floats:
        """ndarray of shape (n_features,): what var_smoothing adds to the variances of each feature."""
        return read_only(self._params_of("epsilon_", GaussianParams).epsilon)

    @property
    def class_prior_(self) -> Floats:
        """ndarray of shape (n_classes,): the class prior in use."""
        self._require_attribute("class_prior_")
        return np.exp(self._parameters().prior)


class PoissonNB(GenerativeClassifier):
    """Poisson naive Bayes, for counts: a rate per class and feature.

    Parameters
    ----------
    alpha : float or array (features,), default=1.0
        Smoothing: number of rows with the feature's overall mean that are added to each class.
    priors : None, 'uniform', 'laplace', array, dict or Series, default=None
        Class prior. None: class frequencies; 'laplace': frequencies with add-one smoothing; 'uniform': equal. An array
        is in the order of ``classes_``; a dict or a Series goes by label.
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
    rate_ : ndarray of shape (n_classes, n_features)
        The mean count of each class and feature, as smoothed by alpha.
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
    MultinomialNB : For word counts.
    NaiveBayes : For mixed tables.

    Examples
    --------
    Handwritten digits, with the darkness of a pixel as a count from 0 to 16:

    >>> from sklearn.datasets import load_digits
    >>> from tallybayes import PoissonNB
    >>> X, y = load_digits(return_X_y=True)
    >>> round(PoissonNB().fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]), 2)
    0.86
    """

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        priors: object = None,
        tempered: bool = False,
        class_weight: object = None,
        half_life: float | str | None = None,
        verbose: bool = False,
        memory: str = "sums",
    ) -> None:
        self.alpha = alpha
        self.priors = priors
        self.tempered = tempered
        self.class_weight = class_weight
        self.half_life = half_life
        self.verbose = verbose
        self.memory = memory

    def _check_options(self) -> None:
        super()._check_options()
        if not isinstance(self.alpha, np.ndarray) and (not is_number(self.alpha) or self.alpha < 0):
            raise OptionError(f"alpha must be a number of at least 0, or an array of them; got {brief(self.alpha)}.")

    _kind: Kind = "count"

    def _distribution(self, d: int) -> Distribution:
        if isinstance(self.alpha, np.ndarray) and self.alpha.shape != (d,):
            raise OptionError(f"An array alpha has one number for each of {d} columns; got {np.shape(self.alpha)}.")
        return Poisson(self.alpha)

    @property
    def rate_(self) -> Floats:
        """ndarray of shape (n_classes, n_features): the mean count of each class and feature, as smoothed by alpha."""
        return read_only(self._params_of("rate_", PoissonParams).rate)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class KernelNB(GenerativeClassifier):
    """Kernel naive Bayes: a kernel density per class and feature, for numbers that are not normal.

    Parameters
    ----------
    bandwidth : {'silverman', 'scott', 'john-langley'} or float, default='silverman'
        Bandwidth rule; 'silverman' is R's nrd0. A number is in units of the feature's overall standard deviation.
    priors : None, 'uniform', 'laplace', array, dict or Series, default=None
        Class prior. None: class frequencies; 'laplace': frequencies with add-one smoothing; 'uniform': equal. An array
        is in the order of ``classes_``; a dict or a Series goes by label.
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
    bandwidth_ : ndarray of shape (n_classes, n_features)
        The bandwidth of each class and feature, in the units of the data.
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
    GaussianNB : For columns that are nearly normal.
    NaiveBayes : Selects a distribution per column.

    References
    ----------
    * John and Langley (1995), Estimating continuous distributions in Bayesian classifiers. UAI.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tallybayes import KernelNB
    >>> X, y = load_iris(return_X_y=True)
    >>> KernelNB().fit(X[::2], y[::2]).score(X[1::2], y[1::2])
    0.96
    """

    def __init__(
        self,
        *,
        bandwidth: str | float = "silverman",
        priors: object = None,
        tempered: bool = False,
        class_weight: object = None,
        half_life: float | str | None = None,
        verbose: bool = False,
        memory: str = "sums",
    ) -> None:
        self.bandwidth = bandwidth
        self.priors = priors
        self.tempered = tempered
        self.class_weight = class_weight
        self.half_life = half_life
        self.verbose = verbose
        self.memory = memory

    def _distribution(self, d: int) -> Distribution:  # noqa: ARG002
        return Kernel(self.bandwidth)

    @property
    def bandwidth_(self) -> Floats:
        """ndarray of shape (n_classes, n_features): the bandwidth of each class and feature."""
        return read_only(self._params_of("bandwidth_", KernelParams).bandwidth)

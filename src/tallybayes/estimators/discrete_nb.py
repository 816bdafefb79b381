"""Naive Bayes for truth values and categories, under scikit-learn's names, parameters and attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.schema import Kind
from tallybayes.distributions import Categorical, Distribution, Threshold
from tallybayes.distributions.univariate.bernoulli import ThresholdParams, ThresholdStatistics
from tallybayes.distributions.univariate.categorical import CategoricalParams, CategoricalStatistics, split
from tallybayes.errors import OptionError, TableError, brief, is_number, warn
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.estimators.parameters import given_prior, unseen_policy
from tallybayes.estimators.state import read_only
from tallybayes.utils.array_types import Floats

if TYPE_CHECKING:
    from sklearn.utils import Tags


def check_flags(**given: object) -> None:
    """Raises OptionError for what is neither True nor False: anything else would be taken for one of them."""
    for name, value in given.items():
        if not isinstance(value, bool | np.bool_):
            raise OptionError(f"{name} must be True or False; got {brief(value)}.")


class DiscreteNB(GenerativeClassifier):
    """What scikit-learn's discrete naive Bayes share: alpha, fit_prior, class_prior."""

    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: object

    def _prior(self) -> object:
        if self.class_prior is not None:
            return given_prior(self, "class_prior")
        return None if self.fit_prior else "uniform"

    def _check_options(self) -> None:
        super()._check_options()
        check_flags(force_alpha=self.force_alpha, fit_prior=self.fit_prior)

    def _alpha(self, d: int) -> Any:
        try:
            a = np.asarray(self.alpha, dtype=np.float64) if np.ndim(self.alpha) else self.alpha
        except (TypeError, ValueError):
            raise OptionError(f"alpha must be a number, or one for each feature; got {brief(self.alpha)}.") from None
        if isinstance(a, np.ndarray) and a.shape != (d,):
            raise OptionError(
                f"When alpha is an array, it should contains `n_features`. Got {a.size} elements instead of {d}."
            )
        if isinstance(a, np.ndarray) and not (a >= 0).all():
            raise OptionError("All values in alpha must be greater than 0.")
        known = isinstance(a, np.ndarray) or is_number(a)  # what is neither, the distribution refuses
        if known and not self.force_alpha and np.min(a) < 1e-10:
            warn(
                "alpha too small will result in numeric errors, setting alpha = 1.0e-10. Use `force_alpha=True` to "
                "keep alpha unchanged.",
                UserWarning,
            )
            a = np.maximum(a, 1e-10)
        return a

    @property
    def class_log_prior_(self) -> Floats:
        """ndarray of shape (n_classes,): the logarithm of the class prior in use."""
        self._require_attribute("class_log_prior_")
        return self._parameters().prior

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


class BernoulliNB(DiscreteNB):
    """Bernoulli naive Bayes, for binary features: words that are present or absent, yes or no.

    Parameters
    ----------
    alpha : float or array of shape (n_features,), default=1.0
        Additive smoothing of counts (1 is Laplace smoothing); an array has a number for each feature.
    force_alpha : bool, default=True
        If False, alpha below 1e-10 is set to 1e-10.
    binarize : float or None, default=0.0
        Threshold: larger numbers are 1, others 0. None: the features are 0 or 1 already.
    fit_prior : bool, default=True
        Whether the class prior is the class frequencies; False: uniform.
    class_prior : array, dict or Series, default=None
        Class prior that replaces what fit_prior says: an array in the order of ``classes_``, a dict or a Series by
        label.
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
    feature_count_ : ndarray of shape (n_classes, n_features)
        The weight of the rows of each class that have the feature.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        log P(feature is present | class).
    class_log_prior_ : ndarray of shape (n_classes,)
        The logarithm of the class prior in use.
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

    References
    ----------
    * McCallum and Nigam (1998), A comparison of event models for naive Bayes text classification. AAAI workshop.

    Examples
    --------
    Handwritten digits, with pixels that are dark or not:

    >>> from sklearn.datasets import load_digits
    >>> from tallybayes import BernoulliNB
    >>> X, y = load_digits(return_X_y=True)
    >>> round(BernoulliNB(binarize=7).fit(X[:1200], y[:1200]).score(X[1200:], y[1200:]), 2)
    0.86
    """

    def __init__(
        self,
        *,
        alpha: object = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: object = None,
        tempered: bool = False,
        class_weight: object = None,
        half_life: float | str | None = None,
        verbose: bool = False,
        memory: str = "sums",
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.tempered = tempered
        self.class_weight = class_weight
        self.half_life = half_life
        self.verbose = verbose
        self.memory = memory

    def _check_options(self) -> None:
        super()._check_options()
        if self.binarize is not None and not is_number(self.binarize):
            raise OptionError(f"binarize must be None or a finite number; got {brief(self.binarize)}.")

    def _distribution(self, d: int) -> Distribution:
        return Threshold(self._alpha(d), 0.0 if self.binarize is None else float(self.binarize))

    @property
    def feature_count_(self) -> Floats:
        """ndarray of shape (n_classes, n_features): the weight of the rows of each class that have the feature."""
        return read_only(self._statistics_of("feature_count_", ThresholdStatistics).yes)

    @property
    def feature_log_prob_(self) -> Floats:
        """ndarray of shape (n_classes, n_features): log P(feature is present | class)."""
        return read_only(self._params_of("feature_log_prob_", ThresholdParams).yes)


class CategoricalNB(DiscreteNB):
    """Categorical naive Bayes, for features that are categories.

    Integers are codes 0 … max, and all of them count as categories, met or not; strings and missing values are welcome.

    Parameters
    ----------
    alpha : float, default=1.0
        Additive smoothing of counts: 0 is none, 1 is Laplace smoothing.
    force_alpha : bool, default=True
        If False, alpha below 1e-10 is set to 1e-10.
    fit_prior : bool, default=True
        Whether the class prior is the class frequencies; False: uniform.
    class_prior : array, dict or Series, default=None
        Class prior that replaces what fit_prior says: an array in the order of ``classes_``, a dict or a Series by
        label.
    min_categories : int or array of shape (n_features,), default=None
        At least this many categories per feature.
    unseen : {'ignore', 'other', 'error'}, default='ignore'
        How predict treats an unseen category: leave its factor out (with one warning), give it the smoothed probability
        of one more level, or raise an error.
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
    category_count_ : list of ndarrays of shape (n_classes, n_categories)
        For each feature the weight of the rows of each class and category.
    feature_log_prob_ : list of ndarrays of shape (n_classes, n_categories)
        For each feature log P(category | class).
    n_categories_ : ndarray of shape (n_features,)
        Number of categories of each feature.
    class_log_prior_ : ndarray of shape (n_classes,)
        The logarithm of the class prior in use.
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
    AODE : Categories that depend on each other.

    Examples
    --------
    >>> from tallybayes import CategoricalNB
    >>> from tallybayes.datasets import load_watermelon
    >>> melons, ripe = load_watermelon()
    >>> X = [[value for value in melon.values() if isinstance(value, str)] for melon in melons]
    >>> X[0]
    ['green', 'curly', 'muffled', 'clear', 'hollow', 'hard']
    >>> CategoricalNB().fit(X, ripe).predict(X[:2]).tolist()
    ['yes', 'yes']
    """

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: object = None,
        min_categories: object = None,
        unseen: str = "ignore",
        tempered: bool = False,
        class_weight: object = None,
        half_life: float | str | None = None,
        verbose: bool = False,
        memory: str = "sums",
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories
        self.unseen = unseen
        self.tempered = tempered
        self.class_weight = class_weight
        self.half_life = half_life
        self.verbose = verbose
        self.memory = memory

    def _check_options(self) -> None:
        super()._check_options()
        unseen_policy(self.unseen)

    _kind: Kind = "categorical"

    def _distribution(self, d: int) -> Distribution:
        least = self.min_categories
        if least is not None:
            least = np.asarray(least)
            if least.dtype.kind not in "iu":
                raise OptionError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
            if least.ndim and least.shape != (d,):
                raise OptionError(
                    f"'min_categories' should have shape ({d},) when an array-like is provided. Got "
                    f"{least.shape} instead."
                )
        return Categorical(self._alpha(d), self.unseen == "other", True, least)

    @property
    def n_categories_(self) -> NDArray[np.int64]:
        """ndarray of shape (n_features,): how many categories each feature has."""
        N = self._params_of("n_categories_", CategoricalParams).N
        return np.asarray(N - (1 if self.unseen == "other" else 0), dtype=np.int64)

    @property
    def category_count_(self) -> list[Floats]:
        """list of ndarrays of shape (n_classes, n_categories): the weight of each category, by feature."""
        s = self._statistics_of("category_count_", CategoricalStatistics)
        return self._by_category("category_count_", split(s.count, s.sizes), 0.0)

    @property
    def feature_log_prob_(self) -> list[Floats]:
        """list of ndarrays of shape (n_classes, n_categories): log P(category | class), by feature."""
        p = self._params_of("feature_log_prob_", CategoricalParams)
        return self._by_category("feature_log_prob_", split(p.log.T, p.sizes), p.other)

    def _by_category(self, name: str, parts: list[Floats], fill: Any) -> list[Floats]:
        """One array per feature, with a column for every category up to n_categories_."""
        out = []
        for j, (part, N) in enumerate(zip(parts, self.n_categories_, strict=True)):
            known = self.schema_.levels.get(j)
            labels = () if known is None else known.labels[: part.shape[1]]
            codes = [int(v) for v in labels if isinstance(v, int) and v >= 0]  # False and True are 0 and 1
            if known is None or len(codes) < len(labels):
                codes = list(range(part.shape[1]))
            if N * part.shape[0] > 1 << 27:
                raise TableError(
                    f"{name} of feature {j} would have {N} columns. Use describe({j}) for the ones that occur."
                )
            a = np.empty((part.shape[0], int(N)))
            a[:] = fill if np.ndim(fill) == 0 else fill[j][:, None]
            keep = [i for i, c in enumerate(codes) if c < N]
            a[:, [codes[i] for i in keep]] = part[:, keep]
            out.append(a)
        return out

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags

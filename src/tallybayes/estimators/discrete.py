"""Naive Bayes for counts and categories, under scikit-learn's names, parameters and attributes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.distributions import Categorical, Complement, Distribution, Multinomial, Threshold
from tallybayes.distributions.bernoulli import ThresholdParams, ThresholdSums
from tallybayes.distributions.categorical import CategoricalParams, CategoricalSums, split
from tallybayes.distributions.counts import MultinomialParams, MultinomialSums
from tallybayes.errors import OptionError, TableError, brief, is_number, warn
from tallybayes.estimators.inputs import unseen_policy
from tallybayes.estimators.preset import Preset, read_only
from tallybayes.predictor import Predictor
from tallybayes.schema import Kind

Floats = NDArray[np.float64]


def check_flags(**given: Any) -> None:
    """Raises OptionError for what is neither True nor False: anything else would be taken for one of them."""
    for name, value in given.items():
        if not isinstance(value, bool | np.bool_):
            raise OptionError(f"{name} must be True or False; got {brief(value)}.")


class _Discrete(Preset):
    """What scikit-learn's discrete naive Bayes share: alpha, fit_prior, class_prior."""

    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: Any

    def _prior(self) -> Any:
        if self.class_prior is not None:
            return self.class_prior
        return None if self.fit_prior else "uniform"

    def _take_prior(self, priors: Any) -> None:
        self.class_prior = priors
        self.fit_prior = self.fit_prior or priors is None

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
        if not self.force_alpha and np.min(a) < 1e-10:
            warn(
                "alpha too small will result in numeric errors, setting alpha = 1.0e-10. Use `force_alpha=True` to "
                "keep alpha unchanged.",
                UserWarning,
            )
            a = np.maximum(a, 1e-10)
        return a

    @property
    def class_log_prior_(self) -> Floats:
        self._require_attribute("class_log_prior_")
        return self._parameters().prior

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


class _Counts(_Discrete):
    def _kind(self) -> Kind:
        return "count"

    @property
    def feature_count_(self) -> Floats:
        return read_only(self._sums("feature_count_", MultinomialSums).sum)

    @property
    def feature_log_prob_(self) -> Floats:
        return read_only(self._read("feature_log_prob_", MultinomialParams).weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class MultinomialNB(_Counts):
    """Multinomial naive Bayes for word counts and shares.

    Parameters
    ----------
    alpha : float or array (features,), default=1.0
    force_alpha : bool, default=True
        False raises alpha to 1e-10 where it is below.
    fit_prior : bool, default=True
        False: all classes equally likely.
    class_prior : array, dict or Series, default=None
    tempered : bool, default=False
        True: the log-likelihood counts ``temperature_`` times, as leave-one-out log-loss finds best on the rows of fit.

    Attributes
    ----------
    feature_count_, feature_log_prob_, class_log_prior_, class_count_, classes_

    Examples
    --------
    >>> from tallybayes import MultinomialNB
    >>> MultinomialNB().fit([[3, 0, 1], [0, 2, 2]], ["a", "b"]).predict([[1, 0, 0]]).tolist()
    ['a']
    """

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        tempered: bool = False,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.tempered = tempered

    def _distribution(self, d: int) -> Distribution:
        return Multinomial(self._alpha(d))


class ComplementNB(_Counts):
    """Complement naive Bayes (Rennie et al. 2003) for unbalanced text.

    Parameters
    ----------
    alpha : float or array (features,), default=1.0
    force_alpha : bool, default=True
    fit_prior : bool, default=True
        False: all classes equally likely in class_log_prior_, score_samples and sample. The rule itself has no prior.
    class_prior : array, dict or Series, default=None
        If given, its logarithm is added.
    norm : bool, default=False
        Divide the weights of each class by their sum.
    tempered : bool, default=False
        True: the log-likelihood counts ``temperature_`` times, as leave-one-out log-loss finds best on the rows of fit.

    Examples
    --------
    >>> from tallybayes import ComplementNB
    >>> ComplementNB().fit([[3, 0, 1], [0, 2, 2]], ["a", "b"]).predict([[1, 0, 0]]).tolist()
    ['a']
    """

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
        tempered: bool = False,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.norm = norm
        self.tempered = tempered

    def _check_options(self) -> None:
        super()._check_options()
        check_flags(norm=self.norm)

    def _distribution(self, d: int) -> Distribution:
        return Complement(self._alpha(d), bool(self.norm))

    @property
    def feature_all_(self) -> Floats:
        """Summed counts of each feature over all classes."""
        return np.asarray(self._sums("feature_all_", MultinomialSums).sum.sum(axis=0))

    def _start(self, log_prior: Floats) -> Floats:
        return log_prior if self.class_prior is not None or len(log_prior) == 1 else np.zeros(len(log_prior))

    def score_samples(self, X: Any, priors: Any = None) -> Floats:
        """log p(x) under the multinomial of the same counts: the complement rule itself is not a density."""
        fitted = self._parameters()
        (term,) = fitted.terms
        own = replace(term, distribution=Multinomial(self._alpha(fitted.schema.d)))
        own = replace(own, params=MultinomialParams(term.params.generative))
        density = Predictor(replace(fitted, terms=(own,)), fitted.prior, self._manner())
        found: Floats = density.answer(density.read(X), "evidence", self._other_start(priors))
        return found


class BernoulliNB(_Discrete):
    """Bernoulli naive Bayes: each feature is there or not.

    Parameters
    ----------
    alpha : float or array (features,), default=1.0
    force_alpha : bool, default=True
    binarize : float or None, default=0.0
        A number above this is a yes; None takes the table as it is (0 or 1).
    fit_prior : bool, default=True
    class_prior : array, dict or Series, default=None
    tempered : bool, default=False
        True: the log-likelihood counts ``temperature_`` times, as leave-one-out log-loss finds best on the rows of fit.

    Examples
    --------
    >>> from tallybayes import BernoulliNB
    >>> BernoulliNB().fit([[1, 0], [1, 1], [0, 1]], ["a", "a", "b"]).predict([[1, 0]]).tolist()
    ['a']
    """

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
        tempered: bool = False,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.tempered = tempered

    def _check_options(self) -> None:
        super()._check_options()
        if self.binarize is not None and not is_number(self.binarize):
            raise OptionError(f"binarize must be None or a finite number; got {brief(self.binarize)}.")

    def _distribution(self, d: int) -> Distribution:
        return Threshold(self._alpha(d), 0.0 if self.binarize is None else float(self.binarize))

    @property
    def feature_count_(self) -> Floats:
        return read_only(self._sums("feature_count_", ThresholdSums).yes)

    @property
    def feature_log_prob_(self) -> Floats:
        return read_only(self._read("feature_log_prob_", ThresholdParams).yes)


class CategoricalNB(_Discrete):
    """Categorical naive Bayes. Integers are codes 0 … max, as in scikit-learn; strings and missing values are welcome.

    Parameters
    ----------
    alpha : float, default=1.0
        0: no correction; 1: Laplace.
    force_alpha : bool, default=True
    fit_prior : bool, default=True
    class_prior : array, dict or Series, default=None
    min_categories : int or array (features,), default=None
        At least this many categories per feature.
    unseen : {'ignore', 'other', 'error'}, default='ignore'
    tempered : bool, default=False
        True: the log-likelihood counts ``temperature_`` times, as leave-one-out log-loss finds best on the rows of fit.

    Attributes
    ----------
    category_count_, feature_log_prob_ : lists of arrays (classes, categories)
    n_categories_ : array (features,)

    Examples
    --------
    >>> from tallybayes import CategoricalNB
    >>> model = CategoricalNB().fit([["red", "round"], ["red", "long"], ["green", "long"]], ["apple", "chili", "bean"])
    >>> model.predict([["green", "long"]]).tolist()
    ['bean']
    """

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        min_categories: Any = None,
        unseen: str = "ignore",
        tempered: bool = False,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories
        self.unseen = unseen
        self.tempered = tempered

    def _check_options(self) -> None:
        super()._check_options()
        unseen_policy(self.unseen)

    def _kind(self) -> Kind:
        return "categorical"

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
        N = self._read("n_categories_", CategoricalParams).N
        return np.asarray(N - (1 if self.unseen == "other" else 0), dtype=np.int64)

    @property
    def category_count_(self) -> list[Floats]:
        s = self._sums("category_count_", CategoricalSums)
        return self._by_category("category_count_", split(s.count, s.sizes), 0.0)

    @property
    def feature_log_prob_(self) -> list[Floats]:
        p = self._read("feature_log_prob_", CategoricalParams)
        return self._by_category("feature_log_prob_", split(p.log.T, p.sizes), p.other)

    def _by_category(self, name: str, parts: list[Floats], fill: Any) -> list[Floats]:
        """One array per feature, with a column for every category up to n_categories_."""
        out = []
        for j, (part, N) in enumerate(zip(parts, self.n_categories_, strict=True)):
            known = self.schema_.levels.get(j)
            codes: list[Any] = list(range(part.shape[1])) if known is None else list(known.labels)
            if not all(isinstance(v, int) and v >= 0 for v in codes[: part.shape[1]]):
                codes = list(range(part.shape[1]))
            if N * part.shape[0] > 1 << 27:
                raise TableError(
                    f"{name} of feature {j} would have {N} columns. Use describe({j}) for the ones that occur."
                )
            a = np.empty((part.shape[0], int(N)))
            a[:] = fill if np.ndim(fill) == 0 else fill[j][:, None]
            keep = [i for i, c in enumerate(codes[: part.shape[1]]) if c < N]
            a[:, [codes[i] for i in keep]] = part[:, keep]
            out.append(a)
        return out

    @property
    def _unseen(self) -> str:  # type: ignore[override]
        return self.unseen

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags

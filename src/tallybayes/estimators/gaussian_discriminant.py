"""Gaussian discriminants: one Gaussian over all columns per class, with covariances own, shared, or in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from tallybayes.data.schema import Schema
from tallybayes.distributions import Distribution
from tallybayes.distributions.multivariate import covariance as cov
from tallybayes.distributions.multivariate.diagonal_gaussian import GaussianAxes
from tallybayes.distributions.multivariate.gaussian_statistics import BlockStatistics
from tallybayes.distributions.multivariate.multivariate_gaussian import GaussianBlock
from tallybayes.distributions.statistics import Means, Record
from tallybayes.distributions.univariate.gaussian import GaussianParams, GaussianStatistics
from tallybayes.errors import MergeError, OptionError, brief, is_number, require_scores
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.estimators.state import ModelState, read_only
from tallybayes.model.fitted import Fitted
from tallybayes.model.leave_one_out import diagonal_grid, full_grid
from tallybayes.model.leave_one_out.class_prior import LeftPrior
from tallybayes.model.priors import log_prior
from tallybayes.model.rows import Rows
from tallybayes.model.term import Term
from tallybayes.utils.array_types import Floats


class GaussianDiscriminant(GenerativeClassifier):
    """One Gaussian over all columns for each class: P(x | class k) = N(mean_k, Σ_k).

    Σ_k(w, γ) = (1 − γ) Σ_k(w) + γ (tr Σ_k(w) / d) I,  Σ_k(w) = w S_k + (1 − w) Σ;  S_k: the covariance of class k, Σ:
    that of all classes about their own means; w: own_covariance (Friedman (1989) mixes scatter matrices, by
    1 − λ); γ: shrinkage.

    Parameters
    ----------
    covariance : {'full', 'diagonal', 'spherical'}, default='full'
        Which entries the covariances have: all, variances only, or one variance for all columns.
    own_covariance : float between 0 and 1, or 'auto', default=0.0
        1: each class has its own covariance (quadratic boundaries); 0: all share one (linear boundaries).
    shrinkage : None, float between 0 and 1, 'ledoit-wolf', 'oas' or 'auto', default=None
        A number is γ above, in the units of the data. 'ledoit-wolf' and 'oas' shrink each class's covariance
        towards its own variances (a diagonal one: towards their mean) by the amount those rules give. Not for
        'spherical', where nothing is left to shrink.
        'auto', here and for own_covariance: the value of 0, 0.1, … 1 with the least leave-one-out log-loss on the first
        rows learned; it stays when more rows are added.
    priors : None, 'uniform', 'laplace', array, dict or Series, default=None
        Class prior. None: class frequencies; 'laplace': frequencies with add-one smoothing; 'uniform': equal. An array
        is in the order of ``classes_``; a dict or a Series goes by label.
    ddof : {0, 1}, default=0
        Divide by n (0), or by n − K for the shared and n_k − 1 for a class's own covariance (1).
    tol : float, default=1e-4
        A direction whose standard deviation, in units of the columns' own, is below tol is treated as constant: it
        takes the shared variance, and tol² if that is constant too.
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
    covariance_ : ndarray of shape (n_features, n_features), or a list of them
        One matrix if all classes share it, else one for each class.
    own_covariance_ : float
        The weight of each class's own covariance, as given or chosen.
    shrinkage_ : float, or ndarray of shape (n_classes,)
        γ as given or chosen; one for each class with 'ledoit-wolf' and 'oas'.
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
    RegularizedDiscriminantAnalysis : Chooses its regularisation by leave-one-out.
    GaussianNB : Diagonal covariances, with options of naive Bayes.

    References
    ----------
    * Friedman (1989), Regularized discriminant analysis. Journal of the American Statistical Association 84.

    Examples
    --------
    Three wines by 13 measurements, and one of them without the last three:

    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from tallybayes import GaussianDiscriminant
    >>> X, y = load_wine(return_X_y=True)
    >>> model = GaussianDiscriminant(own_covariance=0.5).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2])
    1.0
    >>> model.predict(np.where(np.arange(13) < 10, X[:1], np.nan)).tolist()
    [0]
    """

    def __init__(
        self,
        covariance: str = "full",
        *,
        own_covariance: float | str = 0.0,
        shrinkage: float | str | None = None,
        priors: object = None,
        ddof: int = 0,
        tol: float = 1e-4,
        tempered: bool = False,
        class_weight: object = None,
        half_life: float | str | None = None,
        verbose: bool = False,
        memory: str = "sums",
    ) -> None:
        self.covariance = covariance
        self.own_covariance = own_covariance
        self.shrinkage = shrinkage
        self.priors = priors
        self.ddof = ddof
        self.tol = tol
        self.tempered = tempered
        self.class_weight = class_weight
        self.half_life = half_life
        self.verbose = verbose
        self.memory = memory

    @classmethod
    def from_parameters(
        cls,
        means: object,
        covariance: object,
        priors: object = None,
        *,
        classes: object = None,
        feature_names: Sequence[str] | None = None,
    ) -> GaussianDiscriminant:
        """Make the Bayes-optimal classifier of given Gaussians, without rows.

        Parameters
        ----------
        means : array-like of shape (n_classes, n_features)
            The mean of each class.
        covariance : array-like of shape (n_features, n_features) or (n_classes, n_features, n_features)
            One covariance for all classes (linear boundaries), or one for each.
        priors : array-like of shape (n_classes,), default=None
            The class prior; None: all classes are equally likely.
        classes : array-like of shape (n_classes,), default=None
            The labels; None: 0, 1, ….
        feature_names : sequence of str, default=None
            The names of the columns; None: the tables have none.

        Returns
        -------
        GaussianDiscriminant
            A model that predicts, samples, draws and saves. It cannot learn more rows: fit learns anew.

        Examples
        --------
        >>> from tallybayes import GaussianDiscriminant
        >>> model = GaussianDiscriminant.from_parameters([[0.0, 0.0], [2.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5])
        >>> model.predict_proba([[1.0, 5.0]]).round(3).tolist()
        [[0.5, 0.5]]
        """
        from tallybayes.estimators import given_parameters

        return given_parameters.discriminant(cls, means, covariance, priors, classes, feature_names)

    # --- what the presets say otherwise ------------------------------------------------------------------------

    def _options(self) -> dict[str, Any]:
        return {
            "covariance": self.covariance,
            "own_covariance": self.own_covariance,
            "shrinkage": self.shrinkage,
            "ddof": self.ddof,
            "tol": self.tol,
        }

    def _check_options(self) -> None:
        super()._check_options()
        o = self._options()
        if o["covariance"] not in ("full", "diagonal", "spherical"):
            raise OptionError(f"covariance must be 'full', 'diagonal' or 'spherical'; got {brief(o['covariance'])}.")
        if isinstance(o["own_covariance"], str) and o["own_covariance"] != "auto":
            raise OptionError(f"own_covariance must be between 0 and 1, or 'auto'; got {brief(o['own_covariance'])}.")
        if isinstance(o["shrinkage"], str) and o["shrinkage"] not in ("ledoit-wolf", "oas", "auto"):
            raise OptionError(
                f"shrinkage must be None, between 0 and 1, 'ledoit-wolf', 'oas' or 'auto'; got {brief(o['shrinkage'])}."
            )
        if o["covariance"] == "spherical" and o["shrinkage"] is not None:
            raise OptionError(
                f"covariance='spherical' is where shrinkage ends: nothing is left to shrink; got shrinkage="
                f"{o['shrinkage']!r}. Leave it out, or use covariance='full' or 'diagonal'."
            )
        if is_number(o["tol"]) and o["tol"] > 1:
            raise OptionError(
                f"tol must be from 0 to 1 (what varies less, beside a standard deviation of 1, does not vary); "
                f"got {brief(o['tol'])}."
            )
        if o["own_covariance"] == "auto" and o["shrinkage"] in ("ledoit-wolf", "oas"):
            raise OptionError("own_covariance='auto' goes with a number for shrinkage, or with shrinkage='auto'.")
        self._distribution(1)

    def _distribution(self, d: int) -> Distribution:  # noqa: ARG002
        o = self._options()
        gamma = 0.0 if o["shrinkage"] is None else o["shrinkage"]
        auto = "auto" in (o["own_covariance"], gamma)
        own_covariance = 0.5 if o["own_covariance"] == "auto" else o["own_covariance"]
        gamma = 0.5 if gamma == "auto" else gamma
        if o["covariance"] != "full":
            sphere = o["covariance"] == "spherical"
            return GaussianAxes(
                ddof=o["ddof"], own_covariance=own_covariance, gamma=gamma, spherical=sphere, tol=o["tol"]
            )
        more = {"ridge": o.get("ridge", 0.0), "given": o.get("given", False)}
        return GaussianBlock(own_covariance, gamma, ddof=o["ddof"], tol=o["tol"], separate=auto, **more)

    # --- learning ----------------------------------------------------------------------------------------------

    def _chooses_on_rows(self, schema: Schema) -> bool:  # noqa: ARG002
        return self.tempered or "auto" in (self._options()["own_covariance"], self._options()["shrinkage"])

    def _terms_for_update(self, fitted: Fitted) -> tuple[Term, ...]:
        """What was chosen on the first rows stays."""
        block, o = fitted.terms[0].distribution, self._options()
        if isinstance(block, GaussianBlock) and block.separate:
            return fitted.terms
        again = super()._terms_for_update(fitted)
        axes = again[0].distribution
        if isinstance(block, GaussianAxes) and isinstance(axes, GaussianAxes):
            own_covariance = block.own_covariance if o["own_covariance"] == "auto" else axes.own_covariance
            gamma = block.gamma if o["shrinkage"] == "auto" else axes.gamma
            return (Term(replace(axes, own_covariance=own_covariance, gamma=gamma), again[0].columns),)
        return again

    def _chosen_on_rows(self) -> str:
        chosen = [name for name in ("own_covariance", "shrinkage") if self._options()[name] == "auto"]
        return " and ".join(chosen)

    def _select_structure(self, fitted: Fitted, rows: Rows) -> Fitted:
        o, (term,) = self._options(), fitted.terms
        given: Any = term.distribution
        if "auto" not in (o["own_covariance"], o["shrinkage"]):
            return fitted
        grid = tuple(np.linspace(0, 1, 11).tolist())
        shares = grid if o["own_covariance"] == "auto" else (float(given.own_covariance),)
        gammas = grid if o["shrinkage"] == "auto" else (float(given.gamma),)
        require_scores(
            rows.n,
            fitted.K,
            settings := len(shares) * len(gammas),
            f"'auto' compares {settings} pairs of own_covariance and shrinkage",
            "Give numbers, such as own_covariance=0.0 and shrinkage=0.1, or fewer rows or classes.",
        )
        losses: Any = diagonal_grid.losses if isinstance(given, GaussianAxes) else full_grid.losses
        prior, y = left_prior(fitted, self._prior()), rows.classes_of_rows
        loss = losses(rows.of(term), y, rows.w, term.statistics, prior, shares, gammas, given)
        a, g = np.unravel_index(int(np.argmin(loss)), loss.shape)
        chosen = replace(given, own_covariance=shares[a], gamma=gammas[g])
        return replace(fitted, terms=(replace(term, distribution=chosen),))

    def _check_merge(self, other: ModelState) -> None:
        super()._check_merge(other)
        mine, theirs = self._block(), other.fitted_.terms[0].distribution
        if getattr(mine, "pooled", None) != getattr(theirs, "pooled", None):
            raise MergeError(
                "One model keeps a covariance for each class (own_covariance above 0, or 'auto'), the other one for "
                "all. Fit both with the same own_covariance."
            )

    def _require_adding(self) -> None:
        super()._require_adding()
        block = self._block() if self.is_fitted else None
        if getattr(block, "given", False):
            raise OptionError(
                "The covariances of this model come from covariance_estimator, which needs all rows at once: it cannot "
                "add, forget, merge or decay. shrinkage='auto', 'oas' or a number can."
            )

    # --- predicting ------------------------------------------------------------------------------------------------

    def decision_function(self, X: object) -> Floats:
        """Return the decision function of each row: positive on the side of the class.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.

        Returns
        -------
        scores : ndarray of shape (n_rows,) or (n_rows, n_classes)
            Two classes: log P(second | x) / P(first | x). More: log P(x, class) of each class.
        """
        self._require_fit()
        if len(self.classes_) == 2:
            found = self.predict_joint_log_proba(X) if not self._linear() else self.predict_log_proba(X)
            with np.errstate(invalid="ignore"):
                return np.asarray(found[:, 1] - found[:, 0])
        return self.predict_joint_log_proba(X)

    # --- attributes --------------------------------------------------------------------------------------------

    def _linear(self) -> bool:
        return bool(self._block().own_covariance == 0)

    def _block(self) -> Any:
        return self.fitted_.terms[0].distribution

    def _block_statistics(self) -> BlockStatistics:
        s: Any = self.fitted_.terms[0].statistics
        assert isinstance(s, BlockStatistics)
        return s

    @property
    def means_(self) -> Floats:
        """ndarray of shape (n_classes, n_features): the mean of each class."""
        part = cast("Means", self._params_of("means_", Record))
        return read_only(part.mean)

    @property
    def priors_(self) -> Floats:
        """ndarray of shape (n_classes,): the class prior in use."""
        self._require_attribute("priors_")
        return np.exp(self._parameters().prior)

    @property
    def own_covariance_(self) -> float:
        """float: The weight of each class's own covariance, as given or chosen."""
        self._require_attribute("own_covariance_")
        return float(self._block().own_covariance)

    @property
    def shrinkage_(self) -> Any:
        """float or ndarray of shape (n_classes,): γ as given or chosen; by class with 'ledoit-wolf' and 'oas'."""
        self._require_attribute("shrinkage_")
        d = self._block()
        if not isinstance(d.gamma, str):
            return d.gamma
        if isinstance(d, GaussianAxes):
            return d.class_amounts(self._statistics_of("shrinkage_", GaussianStatistics))
        s = self._block_statistics()
        return cov.class_amounts(s, s.written(d.pooled), d)

    @property
    def covariance_(self) -> Floats | list[Floats]:
        """ndarray of shape (n_features, n_features), or a list of one for each class: as estimated.

        One matrix if all classes share it. Its rank may be mended before it is used.
        """
        self._require_attribute("covariance_")
        block = self._block()
        if isinstance(block, GaussianAxes):
            found = [np.diag(v) for v in self._params_of("covariance_", GaussianParams).var]
            return found[0] if self._linear() else found
        assert isinstance(block, GaussianBlock)
        statistics = self._block_statistics()
        s = statistics.written(block.pooled)
        gamma = cov.class_amounts(statistics, s, block)
        pooled = cov.pooled_covariance(s, block, gamma)
        if block.shared:
            return cov.class_covariance(s, block, 0, pooled, gamma)
        return [cov.class_covariance(s, block, k, pooled, gamma) for k in range(len(self.classes_))]

    @property
    def n_parameters_(self) -> int:
        """int: how many numbers the model estimates: means, free entries of the covariances, and K − 1 priors."""
        self._require_attribute("n_parameters_")
        K, d = len(self.classes_), self.schema_.d
        shape = {"full": d * (d + 1) // 2, "diagonal": d, "spherical": 1}[self._options()["covariance"]]
        own = K if self.own_covariance_ == 1 else 1 if self.own_covariance_ == 0 else K
        return K * d + own * shape + K - 1


def left_prior(fitted: Fitted, priors: object) -> LeftPrior:
    """The prior of a row that is left out, from the rows of each class and what the user gave."""
    if priors is None:
        return LeftPrior(fitted.weight)
    if isinstance(priors, str) and priors == "laplace":
        return LeftPrior(fitted.weight, added=1.0)
    given = np.ascontiguousarray(log_prior(fitted.weight, fitted.classes, priors), dtype=np.float64)
    return LeftPrior(fitted.weight, given=given)


class RegularizedDiscriminantAnalysis(GaussianDiscriminant):
    """Regularised discriminant analysis (Friedman 1989): between LDA and QDA, chosen by leave-one-out.

    P(x | class k) = N(mean_k, Σ_k),  Σ_k(w, γ) = (1 − γ) Σ_k(w) + γ (tr Σ_k(w) / d) I,  Σ_k(w) = w S_k + (1 − w) Σ;
    S_k: the covariance of class k, Σ: that of all classes about their own means; w: own_covariance; γ: shrinkage.

    Parameters
    ----------
    own_covariance : float between 0 and 1, or 'auto', default='auto'
        1: each class has its own covariance (quadratic boundaries); 0: all share one (linear boundaries). 'auto': the
        value of 0, 0.1, … 1 with the least leave-one-out log-loss on the first rows learned; it stays when more are
        added.
    shrinkage : None, float between 0 and 1, 'ledoit-wolf', 'oas' or 'auto', default='auto'
        A number is γ above, in the units of the data. 'ledoit-wolf' and 'oas' shrink each class's covariance towards
        its own variances by the amount those rules give. 'auto': chosen as for own_covariance, together with it.
    priors : None, 'uniform', 'laplace', array, dict or Series, default=None
        Class prior. None: class frequencies; 'laplace': frequencies with add-one smoothing; 'uniform': equal. An array
        is in the order of ``classes_``; a dict or a Series goes by label.
    ddof : {0, 1}, default=0
        Divide by n (0), or by n − K for the shared and n_k − 1 for a class's own covariance (1).
    tol : float, default=1e-4
        A direction whose standard deviation, in units of the columns' own, is below tol is treated as constant: it
        takes the shared variance, and tol² if that is constant too.
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
    covariance_ : ndarray of shape (n_features, n_features), or a list of them
        One matrix if all classes share it, else one for each class.
    own_covariance_ : float
        The weight of each class's own covariance, as given or chosen.
    shrinkage_ : float, or ndarray of shape (n_classes,)
        γ as given or chosen; one for each class with 'ledoit-wolf' and 'oas'.
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
    QuadraticDiscriminantAnalysis : A covariance per class.

    References
    ----------
    * Friedman (1989), Regularized discriminant analysis. JASA 84.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tallybayes import RegularizedDiscriminantAnalysis
    >>> model = RegularizedDiscriminantAnalysis().fit(*load_iris(return_X_y=True))
    >>> 0 <= model.own_covariance_ <= 1
    True
    """

    def __init__(
        self,
        own_covariance: float | str = "auto",
        shrinkage: float | str | None = "auto",
        *,
        priors: object = None,
        ddof: int = 0,
        tol: float = 1e-4,
        tempered: bool = False,
        class_weight: object = None,
        half_life: float | str | None = None,
        verbose: bool = False,
        memory: str = "sums",
    ) -> None:
        self.own_covariance = own_covariance
        self.shrinkage = shrinkage
        self.priors = priors
        self.ddof = ddof
        self.tol = tol
        self.tempered = tempered
        self.class_weight = class_weight
        self.half_life = half_life
        self.verbose = verbose
        self.memory = memory

    def _options(self) -> dict[str, Any]:
        given = {"own_covariance": self.own_covariance, "shrinkage": self.shrinkage, "ddof": self.ddof, "tol": self.tol}
        return {**given, "covariance": "full"}

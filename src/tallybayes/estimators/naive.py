"""Naive Bayes for mixed tables: every column with the distribution that suits it."""

from __future__ import annotations

from typing import Any

from tallybayes.errors import OptionError, brief
from tallybayes.estimators.base import TallyClassifier
from tallybayes.estimators.inputs import unseen_policy
from tallybayes.plan import Term, assign
from tallybayes.schema import Schema


class NaiveBayes(TallyClassifier):
    """Naive Bayes for real tables: P(class | x) ∝ P(class) Π_j P(x_j | class).

    Parameters
    ----------
    distributions : None, str, Distribution or dict, default=None
        None chooses by kind: real → 'gaussian', categorical → 'categorical', binary → 'bernoulli',
        count → 'poisson'. One name (or instance) is for all numeric columns. A dict goes from column or kind to
        distribution, as in ``{"income": "kernel", "real": "mdl"}``.
    schema : None, str, dict or Schema, default=None
        Kinds of columns where the type does not tell: ``{"zip": "categorical"}``. Another model's ``schema_`` makes
        this one use the same levels and cuts.
    alpha : float, default=1.0
        Laplace's correction for counts.
    ddof : {0, 1}, default=0
        Gaussian variances divide by n (0) or n − 1 (1).
    variance : {'own', 'shared'}, default='own'
        Each class has its own Gaussian variance, or all share one (the posterior is then a logistic regression).
    var_smoothing : float, default=1e-9
        This part of a feature's overall variance is added to its variances.
    priors : None, 'uniform', 'laplace', array, dict or Series, default=None
        None counts the classes. An array goes in the order of ``classes_``, a dict or a Series by label.
    unseen : {'ignore', 'other', 'error'}, default='ignore'
        What to do at predict with a category never met: leave its factor out (with one warning), give it the smoothed
        probability of one more level, or refuse.
    tempered : bool, default=False
        True: the log-likelihood counts ``temperature_`` times, as leave-one-out log-loss finds best on the rows of fit.

    Attributes
    ----------
    classes_, class_count_, n_features_in_, feature_names_in_ : as in scikit-learn
    schema_ : Schema
        What each column is; print it.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> rows = [{"sky": "clear", "wind": 2.0}, {"sky": "grey", "wind": 9.5}, {"sky": "grey", "wind": 7.0},
    ...         {"sky": "clear", "wind": 3.5}]
    >>> model = NaiveBayes().fit(rows, ["sail", "stay", "stay", "sail"])
    >>> model.predict([{"sky": "grey", "wind": 8.0}, {"wind": 3.0}]).tolist()
    ['stay', 'sail']
    """

    def __init__(
        self,
        distributions: Any = None,
        schema: Any = None,
        *,
        alpha: float = 1.0,
        ddof: int = 0,
        variance: str = "own",
        var_smoothing: float = 1e-9,
        priors: Any = None,
        unseen: str = "ignore",
        tempered: bool = False,
    ) -> None:
        self.distributions = distributions
        self.schema = schema
        self.alpha = alpha
        self.ddof = ddof
        self.variance = variance
        self.var_smoothing = var_smoothing
        self.priors = priors
        self.unseen = unseen
        self.tempered = tempered

    def _check_options(self) -> None:
        super()._check_options()
        unseen_policy(self.unseen)
        if self.variance not in ("own", "shared"):
            raise OptionError(f"variance must be 'own' or 'shared'; got {brief(self.variance)}.")

    def _choose(self, schema: Schema) -> tuple[Term, ...]:
        options = {
            "alpha": self.alpha,
            "ddof": self.ddof,
            "shared": self.variance == "shared",
            "var_smoothing": self.var_smoothing,
            "other": self.unseen == "other",
        }
        return assign(schema, self.distributions, options)

    def _given_schema(self) -> Any:
        return self.schema

    def _prior(self) -> Any:
        return self.priors

    @property
    def _unseen(self) -> str:  # type: ignore[override]
        return self.unseen

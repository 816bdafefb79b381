"""Naive Bayes for mixed tables: every column with the distribution that suits it."""

from __future__ import annotations

from tallybayes.errors import OptionError, brief
from tallybayes.estimators.base import TallyClassifier
from tallybayes.estimators.inputs import unseen_policy
from tallybayes.paragraphs import documented
from tallybayes.plan import Term, assign
from tallybayes.schema import Schema


@documented
class NaiveBayes(TallyClassifier):
    """Naive Bayes for real tables: P(class | x) ∝ P(class) Π_j P(x_j | class).

    Parameters
    ----------
    distributions : None, str, Distribution or dict, default=None
        None chooses by kind: real → 'gaussian', categorical → 'categorical', binary → 'bernoulli',
        count → 'poisson'. One name (or instance) is for all numeric columns. A dict goes from column or kind to
        distribution, as in ``{"income": "kernel", "real": "mdl"}``.
    {schema}
    alpha : float, default=1.0
        Laplace's correction for counts.
    {variances}
    var_smoothing : float, default=1e-9
        This part of a feature's overall variance is added to its variances.
    {priors}
    {unseen}
    {tempered}

    Attributes
    ----------
    {learned}

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
        distributions: object = None,
        schema: object = None,
        *,
        alpha: float = 1.0,
        ddof: int = 0,
        variance: str = "own",
        var_smoothing: float = 1e-9,
        priors: object = None,
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

    def _given_schema(self) -> object:
        return self.schema

    def _prior(self) -> object:
        return self.priors

    @property
    def _unseen(self) -> str:  # type: ignore[override]
        return self.unseen

"""Naive Bayes for mixed tables: every column with the distribution that suits it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from tallybayes.data.labels import Target
from tallybayes.data.schema import KINDS, Schema
from tallybayes.data.table import Table
from tallybayes.distributions import distribution
from tallybayes.errors import OptionError, brief, is_number
from tallybayes.estimators import given_parameters, var_smoothing
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.estimators.parameters import check_var_smoothing, unseen_policy
from tallybayes.model.distribution_selection import assign, choose, to_choose
from tallybayes.model.fitted import Fitted
from tallybayes.model.rows import Rows
from tallybayes.model.term import Term

SHOWN = 50  # columns of a summary


class NaiveBayes(GenerativeClassifier):
    """Naive Bayes for mixed tables, with a distribution per column: P(class | x) ∝ P(class) Π_j P(x_j | class).

    Parameters
    ----------
    distributions : None, str, Distribution or dict, default=None
        Distribution of the columns. None chooses by kind: categorical → 'categorical', binary → 'bernoulli', count →
        'poisson', text → 'words', and for each real column the one with the best leave-one-out log-loss on a sample
        of the first rows: 'gaussian', 'log-gaussian', 'poisson', 'mdl' or 'kernel' (see ``summary()``; ``plan`` does
        not choose 'kernel', which keeps values of rows). A sparse matrix of whole counts is 'multinomial'. One
        name or instance applies to all numeric columns; 'gaussian' is the fastest. A dict maps a column or a kind to a
        distribution, as in ``{"income": "kernel", "real": "mdl"}``; 'auto' selects as None does. A column with 'words'
        is text.
    schema : None, str, dict or Schema, default=None
        Column kinds where the data type is not enough: one kind for all columns, or a dict such as
        ``{"zip": "categorical"}``. Kinds: 'real', 'categorical', 'binary', 'count', 'date', 'id', 'text'. The
        ``schema_`` of another model makes this one use the same levels and bins.
    alpha : float, default=1.0
        Laplace smoothing for counts.
    ddof : {0, 1}, default=0
        Gaussian variances divide by n (0) or n − 1 (1).
    variance : {'own', 'shared'}, default='own'
        Whether each class has its own Gaussian variance, or all share one (the posterior is then a logistic
        regression).
    var_smoothing : float or 'auto', default=1e-9
        Share of a feature's overall variance that is added to its variances. 'auto': chosen by leave-one-out log-loss
        on the first rows.
    priors : None, 'uniform', 'laplace', array, dict or Series, default=None
        Class prior. None: class frequencies; 'laplace': frequencies with add-one smoothing; 'uniform': equal. An array
        is in the order of ``classes_``; a dict or a Series goes by label.
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
    BayesClassifier : A stacked ensemble, more accurate on most tables.
    TAN : Each column may depend on another.

    References
    ----------
    * John and Langley (1995), Estimating continuous distributions in Bayesian classifiers. UAI.
    * Fayyad and Irani (1993), Multi-interval discretization of continuous-valued attributes for classification
      learning. IJCAI.

    Examples
    --------
    Does a person earn more than 50,000 dollars a year? Categories, numbers and missing values as they are:

    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.datasets import load_census
    >>> people, income = load_census()
    >>> model = NaiveBayes(tempered=True).fit(people[:7000], income[:7000])
    >>> round(model.score(people[7000:], income[7000:]), 2)
    0.86
    >>> {label: round(p, 2) for label, p in model.predict_proba_one({"age": 45, "education": "Masters"}).items()}
    {'<=50K': 0.56, '>50K': 0.44}
    """

    def __init__(
        self,
        distributions: object = None,
        schema: object = None,
        *,
        alpha: float = 1.0,
        ddof: int = 0,
        variance: str = "own",
        var_smoothing: float | str = 1e-9,
        priors: object = None,
        unseen: str = "ignore",
        tempered: bool = False,
        class_weight: object = None,
        half_life: float | str | None = None,
        verbose: bool = False,
        memory: str = "sums",
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
        self.class_weight = class_weight
        self.half_life = half_life
        self.verbose = verbose
        self.memory = memory

    _reads_text = True

    @classmethod
    def from_tables(cls, priors: Mapping[Any, float], tables: Mapping[str, Mapping[Any, Mapping[Any, float]]]) -> Self:
        """Make a model of given probabilities, without rows: for textbook examples, simulation and the Bayes risk.

        Parameters
        ----------
        priors : dict from label to probability
            The class prior.
        tables : dict from column to {label: {level: probability}}
            What `describe(column)` gives: probabilities of levels, or {"mean": …, "variance": …} of a Gaussian column.

        Returns
        -------
        NaiveBayes
            A model that predicts, samples, draws and saves. It cannot learn more rows: fit learns anew.

        Examples
        --------
        >>> from tallybayes import NaiveBayes
        >>> model = NaiveBayes.from_tables({"ripe": 0.5, "unripe": 0.5}, {"sound": {
        ...     "ripe": {"dull": 0.75, "crisp": 0.25}, "unripe": {"dull": 0.25, "crisp": 0.75}}})
        >>> round(model.predict_proba_one({"sound": "dull"})["ripe"], 4)
        0.75
        """
        return given_parameters.naive(cls, priors, tables)

    def _check_options(self) -> None:
        super()._check_options()
        if not is_number(self.alpha) or self.alpha < 0:
            raise OptionError(f"alpha must be a number of at least 0; got {brief(self.alpha)}.")
        check_var_smoothing(self.var_smoothing)
        unseen_policy(self.unseen)
        if self.variance not in ("own", "shared"):
            raise OptionError(f"variance must be 'own' or 'shared'; got {brief(self.variance)}.")

    def _options(self) -> dict[str, object]:
        """What distributions given by name take over."""
        return {
            "alpha": self.alpha,
            "ddof": self.ddof,
            "shared": self.variance == "shared",
            "var_smoothing": var_smoothing.PLAIN if isinstance(self.var_smoothing, str) else self.var_smoothing,
            "other": self.unseen == "other",
        }

    def _select_distributions(self, table: Table, schema: Schema, target: Target) -> Schema:
        options = self._options()
        columns = to_choose(schema, self.distributions, options)
        return choose(table, schema, columns, options, target, self._for_plan)

    def _make_terms(self, schema: Schema) -> tuple[Term, ...]:
        return assign(schema, self.distributions, self._options())

    def _chooses_on_rows(self, schema: Schema) -> bool:
        return bool(to_choose(schema, self.distributions, self._options())) or super()._chooses_on_rows(schema)

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

    def summary(self) -> str:
        """Describe the model: the distribution of each column and why it was chosen, and the temperature.

        Returns
        -------
        str
            Several lines: one for each column, and one on the temperature.

        Examples
        --------
        >>> from tallybayes import NaiveBayes
        >>> print(NaiveBayes("gaussian").fit([[1.0], [2.0], [7.0], [8.0]], ["low", "low", "high", "high"]).summary())
        4 rows, 1 columns, 2 classes.
        x0: gaussian
        Dependent columns count twice, which makes probabilities overconfident: tempered=True corrects it.
        """
        fitted = self.fitted_
        schema = fitted.schema
        by_column = {j: term.distribution.name for term in fitted.terms for j in term.columns}
        lines = [f"{fitted.weight.sum():g} rows, {schema.d} columns, {fitted.K} classes."]
        lines += [f"{schema.name(j)}: {schema.chosen.get(j, by_column[j])}" for j in range(schema.d)][:SHOWN]
        if schema.d > SHOWN:
            lines.append(f"… and {schema.d - SHOWN} more: print(schema_)")
        if hasattr(self, "temperature_"):
            lines.append(f"The log-likelihood counts {self.temperature_:.3g} times (tempered=True){self._loo_text()}.")
        else:
            lines.append(
                "Dependent columns count twice, which makes probabilities overconfident: tempered=True corrects it."
            )
        return "\n".join(lines)

    def _loo_text(self) -> str:
        """Both leave-one-out log-losses, as long as the rows that chose the temperature are all there are."""
        found = self.__dict__.get("loo_score_")
        return "" if found is None else f": leave-one-out log-loss {-found:.4f}"

    def _given_schema(self) -> object:
        """What was said of the columns; one that is given 'words' is text."""
        if not isinstance(self.distributions, Mapping) or not (self.schema is None or isinstance(self.schema, Mapping)):
            return self.schema
        texts = [key for key, d in self.distributions.items() if _reads_texts(d)]
        said = {key: "text" for key in texts if key not in KINDS}
        return {**said, **(self.schema or {})} or None


def _reads_texts(what: object) -> bool:
    """Whether a distribution, or the name of one, is for texts; `assign` says what is wrong with it."""
    try:
        return distribution(what, {}).needs == "texts"
    except OptionError:
        return False

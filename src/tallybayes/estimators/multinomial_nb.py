"""Naive Bayes for counts of events, such as words: multinomial, and by the complement of each class."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tallybayes.data.schema import Kind
from tallybayes.distributions import Complement, Distribution, Multinomial
from tallybayes.distributions.univariate.multinomial import MultinomialParams, MultinomialStatistics
from tallybayes.estimators.discrete_nb import DiscreteNB, check_flags
from tallybayes.estimators.state import read_only
from tallybayes.model.predictor import Predictor
from tallybayes.utils.array_types import Floats

if TYPE_CHECKING:
    from sklearn.utils import Tags


class _Counts(DiscreteNB):
    """What the two for counts share."""

    _kind: Kind = "count"

    @property
    def feature_count_(self) -> Floats:
        """ndarray of shape (n_classes, n_features): the summed counts of each class and feature, as weighted."""
        return read_only(self._statistics_of("feature_count_", MultinomialStatistics).sum)

    @property
    def feature_log_prob_(self) -> Floats:
        """ndarray of shape (n_classes, n_features): what a count of each feature is multiplied by, for each class."""
        return read_only(self._params_of("feature_log_prob_", MultinomialParams).weight)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class MultinomialNB(_Counts):
    """Multinomial naive Bayes for word counts and shares.

    Parameters
    ----------
    alpha : float or array of shape (n_features,), default=1.0
        Additive smoothing of counts (1 is Laplace smoothing); an array has a number for each feature.
    force_alpha : bool, default=True
        If False, alpha below 1e-10 is set to 1e-10.
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
        The summed counts of each class and feature, as weighted.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        log P(feature | class).
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
    ComplementNB : For unbalanced classes.
    NaiveBayes : Text columns beside other columns.

    References
    ----------
    * McCallum and Nigam (1998), A comparison of event models for naive Bayes text classification. AAAI workshop.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from tallybayes import MultinomialNB
    >>> mail = ["Free money now!", "WIN free money", "win a prize, win money", "lunch at noon?", "See you at noon"]
    >>> words = CountVectorizer()
    >>> model = MultinomialNB().fit(words.fit_transform(mail), ["spam", "spam", "spam", "ham", "ham"])
    >>> model.predict(words.transform(["free lunch money", "meeting at noon"])).tolist()
    ['spam', 'ham']
    """

    def __init__(
        self,
        *,
        alpha: object = 1.0,
        force_alpha: bool = True,
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
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.tempered = tempered
        self.class_weight = class_weight
        self.half_life = half_life
        self.verbose = verbose
        self.memory = memory

    def _distribution(self, d: int) -> Distribution:
        return Multinomial(self._alpha(d))


class ComplementNB(_Counts):
    """Complement naive Bayes (Rennie et al. 2003) for unbalanced text.

    The weights of a class come from the counts of all other classes, which are better estimated than those of a rare
    class by itself.

    Parameters
    ----------
    alpha : float or array of shape (n_features,), default=1.0
        Additive smoothing of counts (1 is Laplace smoothing); an array has a number for each feature.
    force_alpha : bool, default=True
        If False, alpha below 1e-10 is set to 1e-10.
    fit_prior : bool, default=True
        False: all classes equally likely in class_log_prior_, score_samples and sample. The rule itself has no prior.
    class_prior : array, dict or Series, default=None
        If given, its logarithm is added to the scores: an array in the order of ``classes_``, a dict or a Series by
        label.
    norm : bool, default=False
        Divide the weights of each class by their sum.
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
        The summed counts of each class and feature, as weighted.
    feature_all_ : ndarray of shape (n_features,)
        The summed counts of each feature over all classes.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        Weight of a count of each feature, for each class.
    class_log_prior_ : ndarray of shape (n_classes,)
        The logarithm of the class shares, as fit_prior and class_prior say.
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
    MultinomialNB : The generative model of word counts.

    References
    ----------
    * Rennie, Shih, Teevan and Karger (2003), Tackling the poor assumptions of naive Bayes text classifiers.
      ICML.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from tallybayes import ComplementNB
    >>> mail = ["Free money now!", "WIN free money", "win a prize, win money", "lunch at noon?", "See you at noon"]
    >>> words = CountVectorizer()
    >>> model = ComplementNB().fit(words.fit_transform(mail), ["spam", "spam", "spam", "ham", "ham"])
    >>> model.predict(words.transform(["free lunch money", "meeting at noon"])).tolist()
    ['spam', 'ham']
    """

    def __init__(
        self,
        *,
        alpha: object = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: object = None,
        norm: bool = False,
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
        self.norm = norm
        self.tempered = tempered
        self.class_weight = class_weight
        self.half_life = half_life
        self.verbose = verbose
        self.memory = memory

    def _check_options(self) -> None:
        super()._check_options()
        check_flags(norm=self.norm)

    def _distribution(self, d: int) -> Distribution:
        return Complement(self._alpha(d), bool(self.norm))

    @property
    def feature_all_(self) -> Floats:
        """ndarray of shape (n_features,): the summed counts of each feature over all classes."""
        return np.asarray(self._statistics_of("feature_all_", MultinomialStatistics).sum.sum(axis=0))

    def _offset(self, log_prior: Floats) -> Floats:
        return log_prior if self.class_prior is not None or len(log_prior) == 1 else np.zeros(len(log_prior))

    def score_samples(self, X: object, priors: object = None) -> Floats:
        """Return log p(x) under the multinomial of the same counts: the complement rule itself is not a density.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Counts, in any kind of table that fit takes.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior in the place of the model's own, for this question only.

        Returns
        -------
        log_density : ndarray of shape (n_rows,)
            The lower, the stranger the row.
        """
        fitted = self._parameters()
        (term,) = fitted.terms
        own = replace(term, distribution=Multinomial(self._alpha(fitted.schema.d)))
        own = replace(own, params=MultinomialParams(term.params.generative))
        density = Predictor(replace(fitted, terms=(own,)), fitted.prior, self._prediction_options())
        found: Floats = density.predict_rows(density.read(X), "log_density", density.offset_for(priors))
        return found

"""AODE and AnDE: no structure is chosen; the networks of all parents are averaged."""

from __future__ import annotations

from typing import Any

import numpy as np

from tallybayes.data.schema import Schema
from tallybayes.distributions.networks.averaged_networks import AveragedNetwork, most_together
from tallybayes.errors import OptionError, brief, is_number
from tallybayes.estimators.spode_tan import NetworkClassifier
from tallybayes.model.term import Term


class AnDE(NetworkClassifier):
    """Averaged n-dependence estimators: the mean of the networks of all sets of n parents.

    In each network n columns are the parents of all other columns (Webb, Boughton and Wang 2005; Webb et al. 2012). One
    pass over the rows counts all sets of n + 1 columns; no structure is chosen. Adding, forgetting and merging change
    these counts exactly for whole-number weights; cut points stay as chosen on the first batch. Memory grows with
    (levels · columns)ⁿ⁺¹ and is asked for first.
    A category of so many levels that no rows fill its tables stands apart: the class is its only parent, and it is
    nobody's parent.

    Parameters
    ----------
    n : {1, 2, 3}, default=2
        Number of parents besides the class; 1 is AODE.
    schema : None, str, dict or Schema, default=None
        Column kinds where the data type is not enough: one kind for all columns, or a dict such as ``{"zip":
        "categorical"}``. Kinds: 'real', 'categorical', 'binary', 'count', 'date', 'id', 'text'. The ``schema_`` of
        another model makes this one use the same levels and bins.
    min_count : float, default=1
        A set of parents takes part for a row if its values occurred together in at least this many training rows. If
        there is none, the prediction is that of naive Bayes.
    weighting : None or 'information', default=None
        'information' weights networks by the mutual information of their parents and the class (WAODE); None weights
        them equally.
    subsumption : bool, default=False
        Leave out values that follow from another value of the same row, as "pregnant" makes "female" redundant
        (subsumption resolution, Zheng and Webb 2006).
    smoothing : {'backoff', 'laplace'}, default='backoff'
        Estimate of P(x | class, parents) from counts. 'laplace' adds alpha to every count. 'backoff' is hierarchical
        back-off smoothing: the estimate with one parent less is the prior, with a concentration chosen by
        leave-one-out.
    alpha : float, default=1.0
        Laplace smoothing; with back-off, of the estimate without parents.
    cuts : {'mdl', 'frequency', 'width'} or None, default='mdl'
        Discretisation of numbers, once, on the first rows: by minimum description length (Fayyad and Irani 1993),
        equal frequency, or equal width. None: numbers stay numbers, Gaussian given the class and discrete parents;
        they are not parents themselves.
    bins : int, default=10
        Number of bins for 'frequency' and 'width'.
    priors : None, 'uniform', 'laplace', array, dict or Series, default=None
        Class prior. None: class frequencies; 'laplace': frequencies with add-one smoothing; 'uniform': equal. An array
        is in the order of ``classes_``; a dict or a Series goes by label.
    unseen : {'ignore', 'error'}, default='ignore'
        How predict treats an unseen category: as a missing value (with one warning), or as an error.
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
    AODE : One parent.
    KDB : Selects columns and parents.

    References
    ----------
    * Webb et al. (2012), Learning by extrapolation from marginal to full-multivariate probability
      distributions: decreasingly naive Bayesian classification. Machine Learning 86.

    Examples
    --------
    >>> from tallybayes import AnDE
    >>> from tallybayes.datasets import load_census
    >>> people, income = load_census()
    >>> names = ("age", "education", "occupation", "relationship", "hours-per-week")
    >>> people = [{name: person[name] for name in names} for person in people]
    >>> round(AnDE(n=2).fit(people[:7000], income[:7000]).score(people[7000:], income[7000:]), 2)
    0.84
    """

    def __init__(
        self,
        n: int = 2,
        schema: object = None,
        *,
        min_count: float = 1,
        weighting: str | None = None,
        subsumption: bool = False,
        smoothing: str = "backoff",
        alpha: float = 1.0,
        cuts: str | None = "mdl",
        bins: int = 10,
        priors: object = None,
        unseen: str = "ignore",
        tempered: bool = False,
        class_weight: object = None,
        half_life: float | str | None = None,
        verbose: bool = False,
        memory: str = "sums",
    ) -> None:
        self.n = n
        self.schema = schema
        self.min_count = min_count
        self.weighting = weighting
        self.subsumption = subsumption
        self.smoothing = smoothing
        self.alpha = alpha
        self.cuts = cuts
        self.bins = bins
        self.priors = priors
        self.unseen = unseen
        self.tempered = tempered
        self.class_weight = class_weight
        self.half_life = half_life
        self.verbose = verbose
        self.memory = memory

    def _check_options(self) -> None:
        super()._check_options()
        if not is_number(self._n()) or self._n() not in (1, 2, 3) or isinstance(self._n(), bool):
            raise OptionError(f"n must be 1, 2 or 3; got {brief(self._n())}. For no parents use NaiveBayes.")
        if not is_number(self.min_count) or self.min_count <= 0:
            raise OptionError(f"min_count must be a number above 0; got {brief(self.min_count)}.")
        if not isinstance(self.subsumption, bool | np.bool_):
            raise OptionError(f"subsumption must be True or False; got {brief(self.subsumption)}.")

    def _n(self) -> int:
        return self.n

    def _options(self) -> dict[str, Any]:
        more = {"min_count": self.min_count, "weighting": self.weighting, "subsumption": bool(self.subsumption)}
        return {**super()._options(), **more}

    def _make_terms(self, schema: Schema) -> tuple[Term, ...]:
        n = int(self._n())
        columns, reals = self._columns(schema)
        order = min(n + 1, most_together(len(columns), reals))
        network = AveragedNetwork(n=n, order=order, reals=reals, **self._options())
        return self._with_apart(schema, network, columns)

    def _together(self) -> int:
        return int(self._n()) + 1

    @property
    def graph_(self) -> Any:
        """Graph: there is none, and asking is an AttributeError, because the networks of all parents are averaged."""
        raise AttributeError(f"{type(self).__name__!r} has no graph_: it averages over the networks of all parents.")


class AODE(AnDE):
    """Averaged one-dependence estimators: the mean of the SPODEs of all columns (Webb, Boughton and Wang 2005).

    As accurate as a chosen structure, without choosing: one pass over the rows counts all pairs of columns. Adding,
    forgetting and merging change these counts exactly for whole-number weights; cut points stay as chosen on the first
    batch.
    A category of so many levels that no rows fill its tables stands apart: the class is its only parent, and it is
    nobody's parent.

    Parameters
    ----------
    schema : None, str, dict or Schema, default=None
        Column kinds where the data type is not enough: one kind for all columns, or a dict such as ``{"zip":
        "categorical"}``. Kinds: 'real', 'categorical', 'binary', 'count', 'date', 'id', 'text'. The ``schema_`` of
        another model makes this one use the same levels and bins.
    min_count : float, default=1
        A column is a parent for a row if its value occurred in at least this many training rows. If there is no such
        column, the prediction is that of naive Bayes.
    weighting : None or 'information', default=None
        'information' weights networks by the mutual information of their parents and the class (WAODE); None weights
        them equally.
    subsumption : bool, default=False
        Leave out values that follow from another value of the same row, as "pregnant" makes "female" redundant
        (subsumption resolution, Zheng and Webb 2006).
    smoothing : {'backoff', 'laplace'}, default='backoff'
        Estimate of P(x | class, parents) from counts. 'laplace' adds alpha to every count. 'backoff' is hierarchical
        back-off smoothing: the estimate with one parent less is the prior, with a concentration chosen by
        leave-one-out.
    alpha : float, default=1.0
        Laplace smoothing; with back-off, of the estimate without parents.
    cuts : {'mdl', 'frequency', 'width'} or None, default='mdl'
        Discretisation of numbers, once, on the first rows: by minimum description length (Fayyad and Irani 1993),
        equal frequency, or equal width. None: numbers stay numbers, Gaussian given the class and discrete parents;
        they are not parents themselves.
    bins : int, default=10
        Number of bins for 'frequency' and 'width'.
    priors : None, 'uniform', 'laplace', array, dict or Series, default=None
        Class prior. None: class frequencies; 'laplace': frequencies with add-one smoothing; 'uniform': equal. An array
        is in the order of ``classes_``; a dict or a Series goes by label.
    unseen : {'ignore', 'error'}, default='ignore'
        How predict treats an unseen category: as a missing value (with one warning), or as an error.
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
    AnDE : Several parents.
    TAN : One tree, which can be read.
    BayesClassifier : A stacked ensemble of networks.

    References
    ----------
    * Webb, Boughton and Wang (2005), Not so naive Bayes: aggregating one-dependence estimators. Machine
      Learning 58.

    Examples
    --------
    Columns of the census depend on each other, which naive Bayes does not see:

    >>> from tallybayes import AODE, NaiveBayes
    >>> from tallybayes.datasets import load_census
    >>> people, income = load_census()
    >>> for model in (NaiveBayes("mdl"), AODE()):
    ...     print(round(model.fit(people[:7000], income[:7000]).score(people[7000:], income[7000:]), 2))
    0.84
    0.85
    """

    def __init__(
        self,
        schema: object = None,
        *,
        min_count: float = 1,
        weighting: str | None = None,
        subsumption: bool = False,
        smoothing: str = "backoff",
        alpha: float = 1.0,
        cuts: str | None = "mdl",
        bins: int = 10,
        priors: object = None,
        unseen: str = "ignore",
        tempered: bool = False,
        class_weight: object = None,
        half_life: float | str | None = None,
        verbose: bool = False,
        memory: str = "sums",
    ) -> None:
        self.schema = schema
        self.min_count = min_count
        self.weighting = weighting
        self.subsumption = subsumption
        self.smoothing = smoothing
        self.alpha = alpha
        self.cuts = cuts
        self.bins = bins
        self.priors = priors
        self.unseen = unseen
        self.tempered = tempered
        self.class_weight = class_weight
        self.half_life = half_life
        self.verbose = verbose
        self.memory = memory

    def _n(self) -> int:
        return 1

"""BayesDecision: any classifier with probabilities, and what its mistakes cost → the answers that cost least."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from tallybayes.data.labels import positions, read_labels
from tallybayes.decision import Losses, check_proba, mean
from tallybayes.errors import LabelError, OptionError, brief, is_number, listing
from tallybayes.estimators.loss import label_array, read_amount_loss, read_loss, read_losses
from tallybayes.estimators.parameters import check_label
from tallybayes.estimators.wrapper import Wrapper
from tallybayes.utils import notebook
from tallybayes.utils.array_types import Array, Floats


class BayesDecision(Wrapper):
    """Decisions with minimal expected loss around any classifier: h(x) = argmin_a Σ_j λ[a, j] P(j | x).

    Parameters
    ----------
    estimator : a classifier with predict_proba
        Cloned and fitted by fit. Wrap a fitted classifier in ``sklearn.frozen.FrozenEstimator`` to keep it.
    loss : None, array (answers, classes), dict or table, default=None
        The loss λ. None: 1 for every error. An array has a row per decision and a column per class, in the order of
        ``classes_``. A dict maps (decision, class) to the loss: a correct decision costs 0 unless named, every other
        pair must be named. ``(decision, ...)`` stands for the classes not named, ``(..., ...)`` for all pairs not
        named. The decisions are the names in the dict, and all classes if at least one class is named as a decision.
        A data frame (pandas, polars, pyarrow) has classes as columns, in any order; its decisions are its index or an
        additional column, else its rows are in the order of ``classes_`` or of `answers`. A negative loss is a gain.
    reject : None or float, default=None
        Cost of a rejection (Chow 1970): a row whose best decision has a higher risk gets `reject_label`. None: no
        rejection.
    answers : None or list, default=None
        Names of the decisions, if the rows of a loss array are not the classes in order. Without a loss, the classes
        to which decisions are restricted.
    amount_loss : None, array, dict or table, default=None
        Loss per unit of a row's `amount`, added to λ; a pair not named adds 0. Then predict, score and the risk
        methods need ``amount=``, one number per row.
    reject_label : label, default=None
        Label of a rejected row. None: −1 if classes are numbers, else "reject".

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.
    answers_ : ndarray of shape (n_answers,)
        The possible decisions, the reject label last.
    loss_ : ndarray of shape (n_answers, n_classes)
        The loss λ, without the reject option.
    amount_loss_ : None or ndarray of shape (n_answers, n_classes)
        Loss per unit of the amount.
    classes_ : ndarray of shape (n_classes,)
        Class labels, in the order of all predictions.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where the table has names.

    See Also
    --------
    tallybayes.decision.conditional_risk : The same for an array of probabilities.

    References
    ----------
    * Chow (1970), On optimum recognition error and reject tradeoff. IEEE Transactions on Information Theory 16.

    Examples
    --------
    A missed tumour costs 20, a false alarm 1, a biopsy 0.3:

    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tallybayes import BayesDecision, LinearDiscriminantAnalysis
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> y = np.where(y == 0, "ill", "well")
    >>> loss = {("well", "ill"): 20, ("ill", "well"): 1, ("biopsy", ...): 0.3}
    >>> model = BayesDecision(LinearDiscriminantAnalysis(), loss=loss).fit(X[::2], y[::2])
    >>> decisions, rows = np.unique(model.predict(X[1::2]), return_counts=True)
    >>> dict(zip(decisions.tolist(), rows.tolist()))
    {'biopsy': 29, 'ill': 96, 'well': 159}
    """

    def __init__(
        self,
        estimator: object,
        loss: object = None,
        *,
        reject: float | None = None,
        answers: object = None,
        amount_loss: object = None,
        reject_label: object = None,
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.reject = reject
        self.answers = answers
        self.amount_loss = amount_loss
        self.reject_label = reject_label

    def _html_repr(self) -> str:
        """What a notebook shows: scikit-learn's diagram, and after the fit what each answer costs."""
        diagram = str(super()._html_repr())
        if not hasattr(self, "estimator_"):
            return diagram
        answers = self.answers_.tolist()[: len(self.loss_)]
        rows = [(a, *(f"{cost:g}" for cost in costs)) for a, costs in zip(answers, self.loss_.tolist(), strict=True)]
        more = "" if self.reject is None else f"Rejecting a row costs {self.reject:g}: {self.answers_.tolist()[-1]!r}."
        table = notebook.table(("decision, if the class is", *self.classes_.tolist()), rows)
        return diagram + notebook.page(table, notebook.paragraph(more))

    # --- learning ----------------------------------------------------------------------------------------------

    def fit(self, X: object, y: object, **params: object) -> Self:
        """Fit the estimator, and read the losses.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Whatever the estimator learns from.
        y : array-like of shape (n_rows,)
            The class label of each row.
        **params : dict
            For the estimator's fit, such as ``sample_weight`` (by scikit-learn's metadata routing where that is on).

        Returns
        -------
        self : BayesDecision
            The same model, fitted.

        Raises
        ------
        OptionError
            If the estimator gives no probabilities, or the losses do not fit the classes.
        """
        self._check_estimator()
        inner = clone(self.estimator).fit(X, y, **self._routed("fit", params).fit)
        if not hasattr(inner, "predict_proba") or not hasattr(inner, "classes_"):
            raise OptionError(
                f"{type(inner).__name__} gives no probabilities (predict_proba), so no risk can be computed. Choose "
                "another, or calibrate it with sklearn.calibration.CalibratedClassifierCV."
            )
        return self.restore(inner)

    def restore(self, inner: Any) -> Self:
        """Take a classifier that is fitted already, and read the losses for its classes.

        Parameters
        ----------
        inner : fitted classifier with predict_proba
            What becomes ``estimator_``.

        Returns
        -------
        self : BayesDecision
            The same model, fitted.

        Raises
        ------
        OptionError
            If the losses do not fit the classes.
        """
        classes = np.asarray(inner.classes_)
        loss, answers = read_loss(self.loss, self.answers, classes)
        each = None if self.amount_loss is None else read_amount_loss(self.amount_loss, answers, classes)
        self._check_reject(loss, each)
        if self.reject is not None:
            answers = [*answers, self._reject_label(answers, classes)]
        self.estimator_, self.loss_, self.amount_loss_, self._cost = inner, loss, each, self.reject
        self.answers_ = label_array(answers, classes)
        return self

    def _check_reject(self, loss: Floats, each: Floats | None) -> None:
        check_label("reject_label", self.reject_label)
        if self.reject is None:
            if self.reject_label is not None:
                raise OptionError("reject_label is what a rejected row is called; say what rejecting costs: reject=….")
        elif not is_number(self.reject):
            raise OptionError(
                f"reject must be None or a finite number, the cost of rejecting; got {brief(self.reject)}."
            )
        elif each is None and self.reject < loss.min():
            raise OptionError(
                f"reject={brief(self.reject)} is below every loss (the least is {loss.min():g}): every row would be "
                "rejected."
            )

    def _reject_label(self, answers: list[object], classes: Array) -> object:
        label = self.reject_label
        if label is None:
            label = -1 if classes.dtype.kind in "iuf" else "reject"
        if label in answers:
            raise OptionError(
                f"The reject label {brief(label)} is an answer already. Choose another with reject_label=…."
            )
        return label

    # --- asking ------------------------------------------------------------------------------------------------

    def predict(self, X: object, losses: object = None, amount: object = None, **params: object) -> Array:
        """Return the decision of least conditional risk for each row; of equal risks, the first in ``answers_``.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, as the estimator takes them.
        losses : array (rows, answers, classes), or any form of `loss`, default=None
            Losses of each row, or one loss for all, in the place of `loss`.
        amount : float or array-like of shape (n_rows,), default=None
            One number per row, for amount_loss.
        **params : dict
            For the estimator's predict_proba (by metadata routing where that is on), such as the priors of each row.

        Returns
        -------
        answers : ndarray of shape (n_rows,)
            One of ``answers_`` for each row.
        """
        P = self._proba(X, self._routed("predict", params))
        return np.asarray(self.answers_[self._losses(len(P), losses, amount).chosen(P, self._cost)])

    def predict_proba(self, X: object, **params: object) -> Floats:
        """Return P(class | x) of each row, as the estimator does.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, as the estimator takes them.
        **params : dict
            For the estimator's predict_proba (by metadata routing where that is on), such as the priors of each row.

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._proba(X, self._routed("predict_proba", params))

    def conditional_risk(self, X: object, losses: object = None, amount: object = None, **params: object) -> Floats:
        """Return the conditional risk R(a | x), the expected loss of each decision a, row by row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, as the estimator takes them.
        losses : array (rows, answers, classes), or any form of `loss`, default=None
            Losses of each row, or one loss for all, in the place of `loss`.
        amount : float or array-like of shape (n_rows,), default=None
            One number per row, for amount_loss.
        **params : dict
            For the estimator's predict_proba (by metadata routing where that is on), such as the priors of each row.

        Returns
        -------
        risks : ndarray of shape (n_rows, n_answers)
            Columns in the order of ``answers_`` (rejecting last, where there is a cost for it).
        """
        P = self._proba(X, self._routed("predict", params))
        risk = self._losses(len(P), losses, amount).risk(P)
        return risk if self._cost is None else np.column_stack([risk, np.full(len(P), float(self._cost))])

    def answer_risk(self, X: object, losses: object = None, amount: object = None, **params: object) -> Floats:
        """Return the conditional risk of each row's decision.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, as the estimator takes them.
        losses : array (rows, answers, classes), or any form of `loss`, default=None
            Losses of each row, or one loss for all, in the place of `loss`.
        amount : float or array-like of shape (n_rows,), default=None
            One number per row, for amount_loss.
        **params : dict
            For the estimator's predict_proba (by metadata routing where that is on), such as the priors of each row.

        Returns
        -------
        risks : ndarray of shape (n_rows,)
            The least risk of each row.
        """
        return np.asarray(self.conditional_risk(X, losses, amount, **params).min(axis=1))

    def bayes_risk(
        self, X: object, losses: object = None, amount: object = None, sample_weight: object = None, **params: object
    ) -> float:
        """Return the expected loss: the mean of answer_risk. It is as reliable as the probabilities are.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, as the estimator takes them.
        losses : array (rows, answers, classes), or any form of `loss`, default=None
            Losses of each row, or one loss for all, in the place of `loss`.
        amount : float or array-like of shape (n_rows,), default=None
            One number per row, for amount_loss.
        sample_weight : array-like of shape (n_rows,), default=None
            How much each row counts; None counts each once.
        **params : dict
            For the estimator's predict_proba (by metadata routing where that is on), such as the priors of each row.

        Returns
        -------
        float
            The mean over rows.
        """
        return mean(self.answer_risk(X, losses, amount, **params), sample_weight)

    def realised_loss(
        self, X: object, y: object, losses: object = None, amount: object = None, **params: object
    ) -> Floats:
        """Return the loss of each row's decision, given its true class.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, as the estimator takes them.
        y : array-like of shape (n_rows,)
            The true class of each row.
        losses : array (rows, answers, classes), or any form of `loss`, default=None
            Losses of each row, or one loss for all, in the place of `loss`.
        amount : float or array-like of shape (n_rows,), default=None
            One number per row, for amount_loss.
        **params : dict
            For the estimator's predict_proba (by metadata routing where that is on), such as the priors of each row.

        Returns
        -------
        losses : ndarray of shape (n_rows,)
            The loss of each row.

        Raises
        ------
        LabelError
            If y holds a label that is none of ``classes_``.
        """
        P = self._proba(X, self._routed("score", params))
        return self._realised(P, y, self._losses(len(P), losses, amount))

    def score(
        self,
        X: object,
        y: object,
        sample_weight: object = None,
        losses: object = None,
        amount: object = None,
        **params: object,
    ) -> float:
        """Return minus the mean realised loss: greater is better, as scikit-learn's searches expect.

        With loss=None and no reject it is accuracy − 1.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, as the estimator takes them.
        y : array-like of shape (n_rows,)
            The true class of each row.
        sample_weight : array-like of shape (n_rows,), default=None
            How much each row counts; None counts each once.
        losses : array (rows, answers, classes), or any form of `loss`, default=None
            Losses of each row, or one loss for all, in the place of `loss`.
        amount : float or array-like of shape (n_rows,), default=None
            One number per row, for amount_loss.
        **params : dict
            For the estimator's predict_proba (by metadata routing where that is on), such as the priors of each row.

        Returns
        -------
        float
            Minus the mean over rows.
        """
        return -mean(self.realised_loss(X, y, losses, amount, **params), sample_weight)

    def _realised(self, P: Floats, y: object, losses: Losses) -> Floats:
        codes, found = read_labels(y, len(P))
        place = positions(found, self.classes_)
        if (place < 0).any():
            raise LabelError(
                f"y holds {listing([str(v) for v in found[place < 0]])}; the classes are "
                f"{listing([str(v) for v in self.classes_])}."
            )
        answer = losses.chosen(P, self._cost)
        kept = answer < len(self.loss_)
        cost = losses.realised(np.where(kept, answer, 0), place[codes])
        return cost if self._cost is None else np.where(kept, cost, float(self._cost))

    def _losses(self, n: int, losses: object, amount: object) -> Losses:
        """The losses of n rows."""
        if losses is not None:
            if amount is not None:
                raise OptionError("Give losses or amount, not both: losses are complete.")
            return Losses(read_losses(losses, self.answers_.tolist()[: len(self.loss_)], self.classes_, n))
        if self.amount_loss_ is None:
            if amount is not None:
                raise OptionError("amount was given, but nothing says what it costs: set amount_loss, and fit again.")
            return Losses(self.loss_)
        if amount is None:
            raise OptionError("amount_loss needs the amount of each row: predict(X, amount=…).")
        return Losses(self.loss_, self.amount_loss_, _amounts(amount, n))

    def _proba(self, X: Any, routed: Any) -> Floats:
        check_is_fitted(self, "estimator_")
        return check_proba(self.estimator_.predict_proba(X, **routed.predict_proba))

    # --- house keeping -----------------------------------------------------------------------------------------

    def _routed(self, method: str, params: dict[str, object]) -> Any:
        """What goes to the estimator's methods: routed if scikit-learn's routing is on, else all of it."""
        if sklearn.get_config()["enable_metadata_routing"]:
            return process_routing(self, method, **params).estimator
        return Bunch(fit=params, predict_proba=params)

    def get_metadata_routing(self) -> object:
        """Return the metadata routing: which parameters are passed to the methods of the estimator.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRouter
            What fit, predict, predict_proba and score pass on.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        for caller in ("predict", "predict_proba", "score"):
            mapping.add(caller=caller, callee="predict_proba")
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=self.estimator, method_mapping=mapping)


def _amounts(amount: object, n: int) -> Floats:
    try:
        found = np.asarray(amount, dtype=np.float64)
    except (TypeError, ValueError):
        raise OptionError(f"amount must be one number per row; got {brief(amount)}.") from None
    found = np.full(n, float(found)) if found.ndim == 0 else found
    if found.shape != (n,):
        raise OptionError(f"amount must be one number per row ({n} of them); got the shape {found.shape}.")
    bad = ~np.isfinite(found) | (found < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise OptionError(f"An amount must be finite and at least 0; row {row} has {found[row]:g}.")
    return found

"""Bayes decision theory on arrays: from posteriors and losses to risks and answers.

    R(a | x) = Σ_j λ[a, j] P(j | x)      the conditional risk of answering a
    h*(x)    = argmin_a R(a | x)         the Bayes answer
    R*       = E_x R(h*(x) | x)          the Bayes risk, estimated by the mean over rows

λ has a row for each answer and a column for each class; answers may be more than the classes. A loss is any finite
number: below 0 it is a gain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import OptionError, brief
from tallybayes.utils.array_types import Array, Floats

__all__ = ["bayes_risk", "conditional_risk"]

ROUNDING = 8 * float(np.finfo(np.float64).eps)


def conditional_risk(proba: object, loss: object) -> Floats:
    """Compute R(a | x) = Σ_j λ[a, j] P(j | x), the expected loss of each decision a, row by row.

    Parameters
    ----------
    proba : array-like of shape (n_rows, n_classes)
        P(class | x); each row sums to 1.
    loss : array-like of shape (n_answers, n_classes), or (n_rows, n_answers, n_classes)
        λ: what each answer costs under each truth; or losses of its own for each row.

    Returns
    -------
    ndarray of shape (n_rows, n_answers)
        The risk of each answer.

    Raises
    ------
    OptionError
        If these are no probabilities, or the losses do not fit them.

    See Also
    --------
    bayes_risk : The mean of the smallest risk.
    tallybayes.BayesDecision : A classifier that decides by risk.

    Examples
    --------
    >>> from tallybayes.decision import conditional_risk
    >>> conditional_risk([[0.9, 0.1]], loss=[[0, 10], [1, 0], [0.5, 0.5]]).tolist()
    [[1.0, 0.9, 0.5]]
    """
    P = check_proba(proba)
    return Losses(check_loss(loss, P.shape)).risk(P)


def bayes_risk(proba: object, loss: object, sample_weight: object = None) -> float:
    """Compute the Bayes risk: the mean over rows of the smallest conditional risk.

    Parameters
    ----------
    proba : array-like of shape (n_rows, n_classes)
        P(class | x); each row sums to 1.
    loss : array-like of shape (n_answers, n_classes), or (n_rows, n_answers, n_classes)
        What each answer costs under each truth; or losses of its own for each row.
    sample_weight : array-like of shape (n_rows,), default=None
        How much each row counts; None counts each once.

    Returns
    -------
    float
        The Bayes risk, as these rows estimate it.

    Raises
    ------
    OptionError
        If these are no probabilities, or the losses or weights do not fit them.

    See Also
    --------
    conditional_risk : The risk of each decision.

    Examples
    --------
    >>> from tallybayes.decision import bayes_risk
    >>> bayes_risk([[0.9, 0.1], [0.2, 0.8]], loss=[[0, 1], [1, 0]])
    0.15000000000000002
    """
    return mean(conditional_risk(proba, loss).min(axis=1), sample_weight)


def mean(values: Floats, sample_weight: object = None) -> float:
    """The mean over rows, each counted `sample_weight` times."""
    w = np.ones(len(values)) if sample_weight is None else _numbers(sample_weight, "sample_weight")
    if w.shape != values.shape or not np.isfinite(w).all() or (w < 0).any():
        raise OptionError(
            f"sample_weight must be {len(values)} finite numbers of at least 0; got {brief(sample_weight)}."
        )
    if not w.sum() > 0:
        raise OptionError("The mean of no rows is no number: there are 0 rows, or every sample weight is zero.")
    return float(values @ (w / w.sum()))


@dataclass(frozen=True)
class Losses:
    """Losses, all checked: λ_i[a, j] = fixed[a, j] + amount_i · each[a, j], or fixed[i, a, j].

    Of row i, answer a and class j.

    Parameters
    ----------
    fixed : ndarray of shape (n_answers, n_classes) or (n_rows, n_answers, n_classes)
        The losses.
    each : ndarray of shape (n_answers, n_classes), default=None
        What is added for each unit of a row's amount.
    amount : ndarray of shape (n_rows,), default=None
        The amount of each row.
    """

    fixed: Floats
    each: Floats | None = None
    amount: Floats | None = None

    def risk(self, P: Floats) -> Floats:
        """Return R(a | x) for each row and decision.

        Parameters
        ----------
        P : ndarray of shape (n_rows, n_classes)
            P(class | x).

        Returns
        -------
        ndarray of shape (n_rows, n_answers)
            The risks.
        """
        found = P @ self.fixed.T if self.fixed.ndim == 2 else np.einsum("ik,iak->ia", P, self.fixed)
        if self.each is not None and self.amount is not None:
            found = found + self.amount[:, None] * (P @ self.each.T)
        return np.asarray(found)

    def size(self, P: Floats) -> Floats:
        """Return the largest Σ_j |λ[a, j]| P(j | x) of each row: rounding is a fraction of it.

        Parameters
        ----------
        P : ndarray of shape (n_rows, n_classes)
            P(class | x).

        Returns
        -------
        ndarray of shape (n_rows,)
            One number for each row.
        """
        each = None if self.each is None else np.abs(self.each)
        return np.asarray(Losses(np.abs(self.fixed), each, self.amount).risk(P).max(axis=1))

    def chosen(self, P: Floats, reject: float | None) -> NDArray[np.int64]:
        """Choose the answer of least risk, the first of equals.

        Chow's rule: where even that costs more than `reject`, it is one past the last answer. A risk equal to the cost
        of rejecting is answered. Equal is to rounding: 1 − 0.7 is not 0.2 + 0.1.

        Parameters
        ----------
        P : ndarray of shape (n_rows, n_classes)
            P(class | x).
        reject : float or None
            What rejecting costs; None: nothing is rejected.

        Returns
        -------
        ndarray of int64, of shape (n_rows,)
            The number of the answer of each row.
        """
        risk, rounding = self.risk(P), ROUNDING * self.size(P)
        least = risk.min(axis=1)
        best: NDArray[np.int64] = (risk <= (least + rounding)[:, None]).argmax(axis=1)
        if reject is not None:
            best[least > reject + np.maximum(rounding, ROUNDING * abs(reject))] = risk.shape[1]
        return best

    def realised(self, answer: Array, truth: NDArray[Any]) -> Floats:
        """Return the realised loss of each row's decision, given its class.

        Parameters
        ----------
        answer : ndarray of int, of shape (n_rows,)
            The number of the answer of each row.
        truth : ndarray of int, of shape (n_rows,)
            The number of its class.

        Returns
        -------
        ndarray of shape (n_rows,)
            The losses.
        """
        found = self.fixed[answer, truth] if self.fixed.ndim == 2 else self.fixed[np.arange(len(truth)), answer, truth]
        if self.each is not None and self.amount is not None:
            found = found + self.amount * self.each[answer, truth]
        return np.asarray(found)


def check_proba(proba: object) -> Floats:
    """Rows of probabilities."""
    P = _numbers(proba, "proba")
    if P.ndim != 2 or P.shape[1] == 0:
        raise OptionError(f"proba must be an array (rows, classes); got the shape {P.shape}.")
    bad = ~np.isfinite(P).all(axis=1) | (P < 0).any(axis=1) | ~np.isclose(P.sum(axis=1), 1.0, atol=1e-4)
    if bad.any():
        row = int(np.argmax(bad))
        raise OptionError(f"proba must hold probabilities that sum to 1 in each row; row {row} is {P[row].tolist()}.")
    return P


def check_loss(loss: object, shape: tuple[int, ...], answers: int | None = None) -> Floats:
    """Losses for posteriors of this shape (rows, classes): an array (answers, classes) or (rows, answers, classes)."""
    found = _numbers(loss, "loss")
    rows, classes = shape
    if found.ndim not in (2, 3) or 0 in found.shape[1:]:
        what = "" if answers is None else f"{answers} answers, "
        raise OptionError(
            "loss must be an array (answers, classes), or (rows, answers, classes) with losses for each row; here "
            f"there are {rows} rows, {what}{classes} classes; got the shape {found.shape}."
        )
    if found.shape[-1] != classes:
        raise OptionError(
            f"loss needs a column for each of the {classes} classes (a row is an answer, a column a truth); got the "
            f"shape {found.shape}."
        )
    if answers is not None and found.shape[-2] != answers:
        raise OptionError(f"loss needs a row for each of the {answers} answers; got the shape {found.shape}.")
    if found.ndim == 3 and len(found) != rows:
        raise OptionError(f"The losses are for {len(found)} rows; there are {rows}.")
    if not np.isfinite(found).all():
        where = tuple(np.argwhere(~np.isfinite(found))[0].tolist())
        raise OptionError(
            f"A loss must be a finite number; loss{list(where)} is {found[where]:g}. An answer that must never be "
            "given has a large loss, not an infinite one: 0 · ∞ is no number."
        )
    return found


def _numbers(values: object, name: str) -> Floats:
    try:
        found = np.asarray(values)
        if found.dtype.kind == "c":
            raise TypeError
        return np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f"{name} must be an array of numbers; got {brief(values)}.") from None

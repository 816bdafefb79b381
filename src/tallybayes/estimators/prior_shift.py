"""The same model under another class prior: given, or found from unlabelled rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tallybayes.errors import OptionError, TableError, brief, is_number, warn
from tallybayes.estimators.model_lock import lock_of
from tallybayes.estimators.state import with_fitted
from tallybayes.model import class_shares
from tallybayes.model.priors import log_prior, plain
from tallybayes.utils import notebook
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from tallybayes.estimators.base import GenerativeClassifier

Model = TypeVar("Model", bound="GenerativeClassifier")


@dataclass(frozen=True, repr=False)
class PriorShift:
    """Result of `adapt_prior`: the class shares of unlabelled rows, and a test of whether they changed. Print it.

    Parameters
    ----------
    model : estimator
        The same model under the new prior.
    classes : ndarray of shape (n_classes,)
        The labels; all arrays go in their order.
    prior : ndarray of shape (n_classes,)
        The class shares of the unlabelled rows.
    old_prior : ndarray of shape (n_classes,)
        The class prior of the original model.
    standard_error : ndarray of shape (n_classes,)
        Standard error of prior, given p(x | class).
    loglik : ndarray of shape (n_iter + 1,)
        The log-likelihood at each step of EM, the first under the old prior.
    statistic : float
        The likelihood ratio.
    p_value : float
        p-value of the hypothesis that the prior did not change.
    n_iter : int
        Number of EM iterations.
    n_rows : int
        Number of rows that are possible under some class with a prior above 0.
    converged : bool
        Whether the log-likelihood is within tol of its maximum.

    Attributes
    ----------
    model, classes, prior, old_prior, standard_error, loglik, statistic, p_value, n_iter, n_rows, converged
        As above.

    See Also
    --------
    SemiSupervised : Also learns from the unlabelled rows.

    References
    ----------
    * Saerens, Latinne and Decaestecker (2002), Adjusting the outputs of a classifier to new a priori
      probabilities. Neural Computation 14.

    Examples
    --------
    >>> from tallybayes import GaussianNB
    >>> model = GaussianNB().fit([[1.0], [2.0], [3.0], [7.0], [8.0], [9.0]], ["low"] * 3 + ["high"] * 3)
    >>> found = model.adapt_prior([[1.5], [2.0], [2.5], [8.0]])
    >>> print(found)
    prior of 4 rows: moved? p = ... (likelihood ratio ...)
      high: 0.500 → 0.250 ± ...
      low: 0.500 → 0.750 ± ...
    """

    model: Any  # the same model under the new prior
    classes: Array
    prior: Floats  # the class shares of the unlabelled rows
    old_prior: Floats
    standard_error: Floats  # of prior, as far as p(x | class) is known
    loglik: Floats  # of each step of EM, the first under the old prior
    statistic: float  # likelihood ratio
    p_value: float  # of the hypothesis that nothing moved
    n_iter: int
    n_rows: int  # rows that some class with a prior above 0 can explain; the others say nothing
    converged: bool

    def __str__(self) -> str:
        rows = (f"  {label}: {was} → {now} ± {se}" for label, was, now, se in self._lines())
        return "\n".join([self._head(), *rows])

    def _p(self) -> str:
        return "p < 0.001" if self.p_value < 0.001 else f"p = {self.p_value:.3f}"

    def _head(self) -> str:
        return f"prior of {self.n_rows} rows: moved? {self._p()} (likelihood ratio {self.statistic:.1f})"

    def _lines(self) -> list[tuple[object, str, str, str]]:
        """Each class: its share before, now, and the error of that."""
        rows = zip(self.classes.tolist(), self.old_prior, self.prior, self.standard_error, strict=True)
        return [(label, f"{was:.3f}", f"{now:.3f}", f"{se:.3f}") for label, was, now, se in rows]

    def __repr__(self) -> str:
        shares = ", ".join(f"{label!r}: {now}" for label, _, now, _ in self._lines()[:4])
        return f"PriorShift({shares}{', …' if len(self.classes) > 4 else ''}; {self._p()}, {self.n_rows} rows)"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = [(label, was, f"{now} ± {se}") for label, was, now, se in self._lines()]
        return notebook.page(notebook.heading(self._head()), notebook.table(("class", "before", "now"), rows))


def with_prior(model: Model, priors: object) -> Model:
    """A copy of a model under another class prior."""
    if callable(priors):
        raise OptionError(f"priors must be None, 'uniform', 'laplace' or one number per class; got {brief(priors)}.")
    with lock_of(model):  # two looks at one model
        fitted, learned = model._parameters(), model.fitted_
    found = log_prior(fitted.weight, fitted.classes, priors)
    other = with_fitted(model, learned, replace(fitted, log_prior=found))
    kept = plain(priors)
    kept = kept if kept is None or isinstance(kept, str | dict) else np.array(kept)
    if hasattr(model, "class_prior"):  # scikit-learn's discrete naive Bayes: fit_prior=False would be uniform
        other.__dict__.update({"class_prior": kept, "fit_prior": getattr(model, "fit_prior", True) or kept is None})
    else:
        other.__dict__["priors"] = kept
    return other


def adapt_prior(model: GenerativeClassifier, X: object, tol: float, max_iter: int) -> PriorShift:
    """The class prior of unlabelled rows by EM (Saerens et al. 2002), and a test whether it moved."""
    if not is_number(tol) or tol < 0:
        raise OptionError(f"tol must be a finite number of at least 0; got {brief(tol)}.")
    if not isinstance(max_iter, Integral) or isinstance(max_iter, bool) or max_iter < 1:
        raise OptionError(f"max_iter must be a whole number of at least 1; got {brief(max_iter)}.")
    predictor, weight = model.predictor_, model.fitted_.weight
    start = predictor.offset
    old = np.exp(start - start.max())
    old /= old.sum()
    scores: Floats = predictor.predict_rows(predictor.read(X), "joint", np.zeros(len(old)))
    alive = old > 0
    L, offset = _likelihoods(scores[:, alive])
    found = class_shares.fit_shares(L, old[alive], np.zeros(int(alive.sum())), tol, max_iter)
    if not found.converged:
        from sklearn.exceptions import ConvergenceWarning

        warn(
            f"The log-likelihood may rise by more than tol={tol:g} after {max_iter} steps. Raise max_iter or tol.",
            ConvergenceWarning,
        )
    asked = model._prior()
    counted = (asked is None or (isinstance(asked, str) and asked == "laplace")) and np.array_equal(
        start, predictor.fitted.prior
    )
    counts = weight[alive] if counted and (weight[alive] > 0).all() else None
    statistic, p_value = class_shares.moved(L, found, old[alive], counts, tol, max_iter)
    prior, error = np.zeros(len(old)), np.zeros(len(old))
    prior[alive], error[alive] = found.prior, class_shares.standard_errors(L, found.prior)
    return PriorShift(
        model=model.with_prior(prior),
        classes=model.classes_,
        prior=prior,
        old_prior=old,
        standard_error=error,
        loglik=found.loglik + offset,
        statistic=statistic,
        p_value=p_value,
        n_iter=len(found.loglik) - 1,
        n_rows=len(L),
        converged=found.converged,
    )


def _likelihoods(scores: Floats) -> tuple[Floats, float]:
    """p(x | class) of the rows that some class can explain, over the largest of each row; and what that divided out."""
    top = scores.max(axis=1)
    there = np.isfinite(top)
    if not there.any():
        raise TableError("No row of X is possible under any class with a prior above 0: they say nothing of the prior.")
    return np.exp(scores[there] - top[there, None]), float(top[there].sum())

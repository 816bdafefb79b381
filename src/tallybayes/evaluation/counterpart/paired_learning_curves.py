"""Learning curves of a pair: which of two classifiers is better with how many rows, and where one overtakes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.utils import _safe_indexing

from tallybayes.data.labels import read_labels
from tallybayes.data.output_tables import build_frame
from tallybayes.data.table import read_table
from tallybayes.errors import AmbiguousColumnWarning, LabelError, OptionError, UnseenCategoryWarning, brief
from tallybayes.estimators.parameters import random_of
from tallybayes.evaluation.counterpart.logistic import discriminative_counterpart
from tallybayes.evaluation.counterpart.parameter_count import count_parameters
from tallybayes.utils.array_types import Array, Floats

MEASURES = ("error", "log_loss")
ROUNDING = 1e-12  # of the larger mean: a smaller difference is none
EACH = 2  # rows of every class that the smallest sample has


@dataclass(frozen=True, repr=False, eq=False)
class LearningCurves:
    """Result of `learning_curves`: held-out error and log-loss of two classifiers by number of training rows.

    Made by `learning_curves`. Print it.

    Parameters
    ----------
    names : tuple of two str
        What the two are called.
    sizes : ndarray of shape (n_sizes,)
        Numbers of training rows.
    error : ndarray of shape (2, n_sizes, repeats)
        The share of wrong answers.
    log_loss : ndarray of shape (2, n_sizes, repeats)
        Minus the mean log-probability of the true class.
    parameters : tuple of two int or None
        How many numbers each estimates, fitted on all training rows; None where that is not known.
    container : str, default='numpy'
        What kind of frame `frame` gives: that of the table that was learned.

    Attributes
    ----------
    names, sizes, error, log_loss, parameters, container
        As above.

    See Also
    --------
    learning_curves : Makes them.
    tallybayes.plots.LearningCurvesDisplay : Draws them.

    References
    ----------
    - Ng and Jordan (2002), On discriminative vs. generative classifiers. NIPS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tallybayes import GaussianNB
    >>> from tallybayes.evaluation import learning_curves
    >>> X, y = load_iris(return_X_y=True)
    >>> curves = learning_curves(GaussianNB(), X, y, sizes=[10, 100], repeats=2)
    >>> curves.names, curves.sizes.tolist(), curves.error.shape
    (('GaussianNB', 'LogisticRegression'), [10, 100], (2, 2, 2))
    """

    names: tuple[str, str]
    sizes: NDArray[np.int64]
    error: Floats
    log_loss: Floats
    parameters: tuple[int | None, int | None]
    container: str = "numpy"

    def mean(self, measure: str = "error") -> Floats:
        """Return the mean over the repeats.

        Parameters
        ----------
        measure : {'error', 'log_loss'}, default='error'
            Of what.

        Returns
        -------
        ndarray of shape (2, n_sizes)
            A row for each classifier.
        """
        return np.asarray(self._of(measure).mean(axis=2))

    def standard_error(self, measure: str = "error") -> Floats:
        """Return the standard error of the mean over the repeats. Their splits overlap, so it is somewhat too small.

        Parameters
        ----------
        measure : {'error', 'log_loss'}, default='error'
            Of what.

        Returns
        -------
        ndarray of shape (2, n_sizes)
            A row for each classifier; NaN with one repeat.
        """
        return _standard_error(self._of(measure))

    def lead(self, measure: str = "error") -> tuple[Floats, Floats]:
        """Return by how much the first is better at each size, and the standard error of that.

        Parameters
        ----------
        measure : {'error', 'log_loss'}, default='error'
            In what.

        Returns
        -------
        lead : ndarray of shape (n_sizes,)
            What the second has more; negative where the first is worse.
        standard_error : ndarray of shape (n_sizes,)
            Of the lead, over the repeats.
        """
        gain = self._of(measure)[1] - self._of(measure)[0]
        return np.asarray(gain.mean(axis=1)), _standard_error(gain)

    def winner(self, measure: str = "error") -> NDArray[np.int64]:
        """Return which of the two is better at each size, as far as the repeats can tell.

        Parameters
        ----------
        measure : {'error', 'log_loss'}, default='error'
            In what.

        Returns
        -------
        ndarray of shape (n_sizes,)
            0 or 1, the position in `names`; −1 where the lead is not larger than two standard errors and rounding.
            One repeat has no standard error: there any lead beyond rounding counts.
        """
        lead, spread = self.lead(measure)
        noise = np.maximum(2 * np.nan_to_num(spread), self._rounding(measure))
        return np.where(lead > noise, 0, np.where(lead < -noise, 1, -1))

    def crossing(self, measure: str = "error") -> float | None:
        """From how many rows on the second is better for good, where the repeats show that it overtakes.

        The first must be better at some size, and the second with all rows, each by more than two standard errors and
        more than rounding (`winner`). Between two sizes the lead is taken as linear in the logarithm of the size.

        Parameters
        ----------
        measure : {'error', 'log_loss'}, default='error'
            What is compared.

        Returns
        -------
        float or None
            None if the second is not better with all rows, or the first at no size: then nothing is overtaken.
        """
        winner = self.winner(measure)
        if winner[-1] != 1 or not (winner == 0).any():
            return None
        lead, _ = self.lead(measure)
        lead = np.where(np.abs(lead) <= self._rounding(measure), 0.0, lead)
        i = int(np.flatnonzero(lead >= 0)[-1])
        part = lead[i] / (lead[i] - lead[i + 1])
        low, high = np.log(self.sizes[i : i + 2])
        return float(np.exp(low + part * (high - low)))

    def _rounding(self, measure: str) -> Floats:
        """What a difference of means may be by rounding alone."""
        return np.asarray(ROUNDING * np.abs(self._of(measure)).mean(axis=2).max(axis=0))

    def frame(self, backend: str | None = None) -> Any:
        """Return the curves as a frame with one line per model and size.

        Parameters
        ----------
        backend : {'pandas', 'polars', 'pyarrow', 'dict'}, default=None
            What to give them as; by default the kind of data frame that was learned, and a dict of arrays if it was
            none.

        Returns
        -------
        data frame or dict of arrays
            With the columns model, size, error, error_se, log_loss, log_loss_se.
        """
        columns: dict[str, Sequence[object] | Array] = {
            "model": [name for name in self.names for _ in self.sizes],
            "size": np.tile(self.sizes, 2),
        }
        for measure in MEASURES:
            columns[measure] = self.mean(measure).ravel()
            columns[f"{measure}_se"] = self.standard_error(measure).ravel()
        return build_frame(columns, self.container, backend)

    def text(self) -> str:
        """Return the curves as a table, with the better model at each size.

        Returns
        -------
        str
            Several lines.
        """
        lines = [f"{'rows':>8}  " + "  ".join(f"{name[:28]:>28}" for name in self.names) + "   (error, log-loss)"]
        for i, size in enumerate(self.sizes.tolist()):
            cells = [f"{self.mean('error')[m, i]:>17.3f}, {self.mean('log_loss')[m, i]:>9.3f}" for m in (0, 1)]
            lines.append(f"{size:>8}  " + "  ".join(cells))
        lines += [self._says(measure) for measure in MEASURES]
        known = [f"{name}: {n}" for name, n in zip(self.names, self.parameters, strict=True) if n is not None]
        return "\n".join([*lines, *([f"Parameters: {'; '.join(known)}."] if known else [])])

    def _says(self, measure: str) -> str:
        winner = self.winner(measure)
        leads = [self._leads(measure, i) for i in (0, -1)]
        at = self.crossing(measure)
        tail = ""
        if at is not None and winner[0] == 1:
            tail = f"; {self.names[1]} falls behind in between, and is ahead again from about {at:.0f} rows"
        elif at is not None:
            tail = f"; {self.names[1]} overtakes at about {at:.0f} rows"
        head = measure.replace("_", "-").capitalize()
        few, many = self.sizes[[0, -1]]
        return f"{head}: with {few} rows {leads[0]}, with {many} rows {leads[1]}{tail}."

    def _leads(self, measure: str, i: int) -> str:
        """Who is better at a size, in words."""
        best, lead = int(self.winner(measure)[i]), float(self.lead(measure)[0][i])
        if best >= 0:
            return f"{self.names[best]} is better"
        level = abs(lead) <= self._rounding(measure)[i]
        return "they are equal" if level else "no difference beyond two standard errors"

    def __repr__(self) -> str:
        return self.text()

    def _of(self, measure: str) -> Floats:
        if measure not in MEASURES:
            raise OptionError(f"measure must be 'error' or 'log_loss'; got {brief(measure)}.")
        found: Floats = getattr(self, measure)
        return found


def learning_curves(
    pair: object,
    X: object,
    y: object,
    *,
    sizes: Sequence[int] | None = None,
    repeats: int = 10,
    test_size: float = 0.3,
    random_state: object = 0,
) -> LearningCurves:
    """Compare two classifiers by the number of training rows, on held-out rows.

    Parameters
    ----------
    pair : classifier of this library, or two classifiers with predict_proba
        One classifier is compared with its counterpart.
    X : table of shape (n_rows, n_columns)
        pandas, polars, pyarrow, NumPy, scipy sparse, or a list of dicts.
    y : array-like of shape (n_rows,)
        The class label of each row.
    sizes : sequence of int, default=None
        Numbers of training rows; by default eight from few to all, evenly in the logarithm.
    repeats : int, default=10
        How often the rows are split anew.
    test_size : float between 0 and 1, default=0.3
        The part of the rows that is held out.
    random_state : int, RandomState or None, default=0
        What the rows are split with.

    Returns
    -------
    LearningCurves
        Error and log-loss of both at each size and repeat.

    Raises
    ------
    OptionError
        If an argument is outside what is allowed.
    LabelError
        If there is one class only, or a class has too few rows to learn from some and hold others out.

    See Also
    --------
    discriminative_counterpart : The logistic regression of the same form.
    tallybayes.compare_models : Cross-validates many models.

    References
    ----------
    * Ng and Jordan (2002), On discriminative vs. generative classifiers. NIPS 14.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tallybayes import LinearDiscriminantAnalysis
    >>> from tallybayes.evaluation import learning_curves
    >>> X, y = load_iris(return_X_y=True)
    >>> curves = learning_curves(LinearDiscriminantAnalysis(), X, y, sizes=[10, 100], repeats=3)
    >>> curves.mean("error").shape, curves.parameters
    ((2, 2), (24, 10))
    """
    models = tuple(pair) if isinstance(pair, tuple | list) else (pair, discriminative_counterpart(pair))
    if len(models) != 2 or not all(hasattr(m, "predict_proba") and hasattr(m, "fit") for m in models):
        raise OptionError("pair must be one classifier of this library, or two classifiers with predict_proba.")
    if not isinstance(repeats, int | np.integer) or repeats < 1:
        raise OptionError(f"repeats must be a whole number of at least 1; got {brief(repeats)}.")
    if not isinstance(test_size, float) or not 0 < test_size < 1:
        raise OptionError(f"test_size must be between 0 and 1; got {brief(test_size)}.")
    table = read_table(X)
    codes, labels = read_labels(y, table.n)
    steps = _sizes(sizes, codes, labels, test_size)
    rng = random_of(random_state)
    error, loss = np.empty((2, len(steps), repeats)), np.empty((2, len(steps), repeats))
    fitted: list[Any] = [None, None]
    for r in range(repeats):
        train, test = _split(codes, len(labels), test_size, rng)
        held, truth = rows_of(X, test), codes[test]
        for s, size in enumerate(steps.tolist()):
            learned, target = rows_of(X, train[:size]), labels[codes[train[:size]]]
            for m, model in enumerate(models):
                fitted[m], p = _answer(clone(model), learned, target, held)
                error[m, s, r] = (p.argmax(axis=1) != truth).mean()
                loss[m, s, r] = log_loss(truth, np.clip(p, 1e-15, 1.0), labels=np.arange(len(labels)))
    counts = tuple(_counted(model) for model in fitted)
    return LearningCurves(_names(models), steps, error, loss, counts, table.container)  # type: ignore[arg-type]


def _answer(model: Any, X: Any, y: Array, held: Any) -> tuple[Any, Floats]:
    """The fitted model and its probabilities: levels that few rows never had are no news here."""
    with warnings.catch_warnings():
        for kind in (UnseenCategoryWarning, AmbiguousColumnWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", kind)
        model.fit(X, y)
        p = np.asarray(model.predict_proba(held))
    return model, p / p.sum(axis=1, keepdims=True)


def _sizes(given: Any, codes: Array, labels: Array, test_size: float) -> NDArray[np.int64]:
    count = np.bincount(codes, minlength=len(labels))
    if len(labels) < 2:
        raise LabelError("Learning curves need at least two classes.")
    held = np.maximum(np.round(count * test_size), 1)
    if (count - held < EACH).any():
        label = labels[int(np.argmin(count - held))]
        raise LabelError(
            f"Class {brief(label)} has {count.min()} rows: too few to learn from {EACH} and hold others out."
        )
    least, most = EACH * len(labels), int((count - held).sum())
    if given is None:
        return np.unique(np.round(np.geomspace(min(max(least, 10), most), most, 8)).astype(np.int64))
    steps = np.unique(np.asarray(given))
    if steps.dtype.kind not in "iu" or not len(steps) or steps[0] < least or steps[-1] > most:
        raise OptionError(
            f"sizes must be whole numbers from {least} ({EACH} rows of each class) to {most} (all but those held out); "
            f"got {brief(list(np.ravel(given)))}."
        )
    return steps.astype(np.int64)


def _split(codes: Array, K: int, test_size: float, rng: np.random.RandomState) -> tuple[Array, Array]:
    """Training rows, in an order in which the first few have every class, and rows held out, both stratified."""
    first, rest, test = [], [], []
    for k in range(K):
        rows = rng.permutation(np.flatnonzero(codes == k))
        held = max(int(np.round(len(rows) * test_size)), 1)
        test.append(rows[:held])
        first.append(rows[held : held + EACH])
        rest.append(rows[held + EACH :])
    train = np.concatenate([np.concatenate(first), rng.permutation(np.concatenate(rest))])
    return train, np.concatenate(test)


def rows_of(X: Any, rows: Array) -> object:
    """Some rows of any kind of table."""
    return X.take(rows) if type(X).__module__.startswith("pyarrow") else _safe_indexing(X, rows)


def _standard_error(a: Floats) -> Floats:
    repeats = a.shape[-1]
    return np.asarray(a.std(axis=-1, ddof=1) / np.sqrt(repeats) if repeats > 1 else np.full(a.shape[:-1], np.nan))


def _names(models: tuple[Any, ...]) -> tuple[str, str]:
    names = [type(m[-1] if hasattr(m, "steps") else m).__name__ for m in models]
    if names[0] == names[1]:
        names = [f"{name} {i + 1}" for i, name in enumerate(names)]
    return names[0], names[1]


def _counted(model: object) -> int | None:
    try:
        return count_parameters(model)
    except OptionError:
        return None

"""How good probabilities are, as sums: the scores of two parts of the rows add up to the scores of all of them.

For a row of class y with posterior P, and top = max_k P_k:

    accuracy     1 if y has the largest P, else 0
    log-loss     −log P_y
    Brier        Σ_k (P_k − [k = y])²                 from 0 to 2; of two classes twice scikit-learn's
    calibration  | Σ_rows of a bin (top − [y is top]) |, summed over bins of top, divided by n

Each score is a mean over rows, so its standard error is the standard deviation of the rows' values over √n. For the
calibration error the sign of each bin is taken as given. Rows are counted as independent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tallybayes.errors import TableError
from tallybayes.utils.array_types import Array, Floats

BINS = 15  # of equal width, for the calibration error
NAMES = ("accuracy", "log_loss", "brier", "calibration_error")


@dataclass(frozen=True)
class Score:
    """A mean and its standard error.

    Parameters
    ----------
    value : float
        The mean.
    se : float
        Its standard error.
    """

    value: float
    se: float


@dataclass(frozen=True)
class Scores:
    """Sums over rows: add rows with `add`, parts with `+`, and read the four scores.

    Parameters
    ----------
    n : int
        How many rows.
    sums : ndarray of shape (3, 2)
        The sum of a value and of its square, of accuracy, log-loss and Brier score.
    bins : ndarray of shape (BINS, 2)
        By how sure the answer was, the sum of top − [y is top] and of its square.
    """

    n: int
    sums: Floats  # (3, 2): value and its square, of accuracy, log-loss and Brier
    bins: Floats  # (BINS, 2): top − [y is top] and its square

    @classmethod
    def none(cls) -> Self:
        """Start with no rows.

        Returns
        -------
        Scores
            Of nothing.
        """
        return cls(0, np.zeros((3, 2)), np.zeros((BINS, 2)))

    def add(self, y: Array, log_proba: Floats) -> Self:
        """Add rows.

        Parameters
        ----------
        y : ndarray of int, of shape (n,)
            The column of log_proba that is the true class.
        log_proba : ndarray of shape (n, K)
            log P(class | x).

        Returns
        -------
        Scores
            With these rows.
        """
        rows = row_scores(y, log_proba)
        best = log_proba.argmax(axis=1)
        top = np.exp(log_proba[np.arange(len(y)), best])
        excess = top - (best == y)
        which = np.minimum((top * BINS).astype(np.int64), BINS - 1)
        bins = np.stack([np.bincount(which, g, minlength=BINS) for g in (excess, excess * excess)], axis=1)
        sums = np.stack([rows.sum(axis=0), np.square(rows).sum(axis=0)], axis=1)
        return type(self)(self.n + len(y), self.sums + sums, self.bins + bins)

    def __add__(self, other: Scores) -> Scores:
        return Scores(self.n + other.n, self.sums + other.sums, self.bins + other.bins)

    @property
    def accuracy(self) -> Score:
        """Score: the share of right answers."""
        return self._mean(*self.sums[0])

    @property
    def log_loss(self) -> Score:
        """Score: minus the mean log probability of the true class."""
        return self._mean(*self.sums[1])

    @property
    def brier(self) -> Score:
        """Score: the mean squared distance between the probabilities and the truth."""
        return self._mean(*self.sums[2])

    @property
    def calibration_error(self) -> Score:
        """Score: how far probabilities of answers are from the share of right ones, over bins of the probability."""
        return self._mean(np.abs(self.bins[:, 0]).sum(), self.bins[:, 1].sum())

    def _mean(self, total: float, squares: float) -> Score:
        if self.n == 0:
            raise TableError("There are no rows to score.")
        mean = total / self.n
        return Score(float(mean), float(np.sqrt(max(0.0, squares / self.n - mean * mean) / self.n)))

    def to_dict(self) -> dict[str, object]:
        """Return plain numbers.

        Returns
        -------
        dict
            {'rows': …, 'accuracy': …, 'accuracy_se': …, …}.
        """
        out: dict[str, Any] = {"rows": self.n}
        for name in NAMES:
            score: Score = getattr(self, name)
            out |= {name: score.value, f"{name}_se": score.se}
        return out


def row_scores(y: Array, log_proba: Floats) -> Floats:
    """(n, 3): accuracy, log-loss and Brier of each row."""
    at = np.arange(len(y)), y
    proba = np.exp(log_proba)
    brier = np.square(proba).sum(axis=1) - 2.0 * proba[at] + 1.0
    return np.stack([log_proba.argmax(axis=1) == y, -log_proba[at], brier], axis=1)

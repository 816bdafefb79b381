"""What a model says of rows whose class is known, as sums: parts of the rows add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.labels import positions, read_labels
from tallybayes.data.table import read_table
from tallybayes.errors import LabelError, listing
from tallybayes.evaluation.scores import Scores
from tallybayes.utils.array_types import Array


@dataclass(frozen=True)
class Evaluation:
    """The scores, and how often each class (row) was taken for each class (column).

    Parameters
    ----------
    classes : ndarray of shape (K,)
        The labels.
    scores : Scores
        Accuracy, log-loss, Brier score and calibration error.
    confusion : ndarray of int64, of shape (K, K)
        Rows of each true class (row) that were taken for each class (column).
    """

    classes: Array
    scores: Scores
    confusion: NDArray[np.int64]

    @classmethod
    def none(cls, classes: Array) -> Self:
        """Start with no rows.

        Parameters
        ----------
        classes : ndarray of shape (K,)
            The labels.

        Returns
        -------
        Evaluation
            Of nothing.
        """
        return cls(classes, Scores.none(), np.zeros((len(classes), len(classes)), dtype=np.int64))

    @classmethod
    def of(cls, model: Any, X: Any, y: object) -> Self:
        """Evaluate a fitted classifier on some rows.

        Parameters
        ----------
        model : fitted classifier
            With predict_log_proba and classes_.
        X : table of shape (n, n_columns)
            The rows.
        y : array-like of shape (n,)
            Their true labels.

        Returns
        -------
        Evaluation
            On these rows.
        """
        codes, labels = read_labels(y, read_table(X).n)
        unknown = labels[positions(labels, model.classes_) < 0]
        if len(unknown):
            raise LabelError(
                f"The model has not learned the class(es) {listing([str(v) for v in unknown])}. Known: "
                f"{listing([str(v) for v in model.classes_])}. Leave such rows out, or learn them."
            )
        truth = positions(labels, model.classes_)[codes]
        log_proba = model.predict_log_proba(X)
        K = len(model.classes_)
        pairs = np.bincount(truth * K + log_proba.argmax(axis=1), minlength=K * K).reshape(K, K)
        return cls(model.classes_, Scores.none().add(truth, log_proba), pairs)

    def __add__(self, other: Evaluation) -> Evaluation:
        return Evaluation(self.classes, self.scores + other.scores, self.confusion + other.confusion)

    def to_dict(self) -> dict[str, object]:
        """Return plain values, as JSON has them.

        Returns
        -------
        dict
            The scores, the classes and the confusions.
        """
        labels = [str(v) for v in self.classes.tolist()]
        return {**self.scores.to_dict(), "classes": labels, "confusion": self.confusion.tolist()}

    def text(self, most: int = 12) -> str:
        """Describe the scores and the mistakes in words.

        Parameters
        ----------
        most : int, default=12
            With more classes than this, only the commonest mistakes are listed.

        Returns
        -------
        str
            Several lines.
        """
        s = self.scores
        lines = [f"{s.n:,} rows"]
        for name, score in (
            ("accuracy", s.accuracy),
            ("log-loss", s.log_loss),
            ("Brier", s.brier),
            ("calibration", s.calibration_error),
        ):
            lines.append(f"  {name:<12}{score.value:>8.4f} ± {score.se:.4f}")
        labels = [str(v) for v in self.classes.tolist()]
        if len(labels) <= most:
            wide = max(6, *(len(v) + 2 for v in labels), *(len(f"{n:,}") + 2 for n in self.confusion.ravel()))
            lines.append("true class, and what it was taken for:")
            lines.append("  " + " " * wide + "".join(f"{v:>{wide}}" for v in labels))
            for label, row in zip(labels, self.confusion, strict=True):
                lines.append(f"  {label:<{wide}}" + "".join(f"{n:>{wide},}" for n in row))
        else:
            lines.append("the commonest mistakes:")
            wrong = self.confusion * (1 - np.eye(len(labels), dtype=np.int64))
            for at in np.argsort(-wrong, axis=None, kind="stable")[:most]:
                i, k = divmod(int(at), len(labels))
                if wrong[i, k]:
                    lines.append(f"  {labels[i]} taken for {labels[k]}: {wrong[i, k]:,}")
        return "\n".join(lines)

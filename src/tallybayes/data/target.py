"""y and sample_weight: the class code and the weight of each row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.labels import positions, read_labels, recode
from tallybayes.errors import LabelError, OptionError, listing
from tallybayes.utils.array_types import Array, Floats

Labels = NDArray[np.int32]
MAX_TOTAL_WEIGHT = 1e250  # sums, and products of a few sums, stay finite


@dataclass(frozen=True)
class Target:
    """The class code and weight of each row.

    Parameters
    ----------
    y : ndarray of int32, of shape (n,)
        The class code of each row; −1: not counted.
    classes : ndarray of shape (K,)
        The labels of the codes.
    w : ndarray of shape (n,) or None
        The weight of each row; None if all weigh 1.
    """

    y: Labels
    classes: Array
    w: Floats | None

    def within(self, known: Array, refusal: str) -> Target:
        """The same with the codes of known classes.

        Parameters
        ----------
        known : ndarray
            The known labels.
        refusal : str
            A sentence with a {} for the unknown labels.

        Returns
        -------
        Target
            With the codes of `known`.

        Raises
        ------
        LabelError
            If there are other labels.
        """
        unknown = self.classes[positions(self.classes, known) < 0]
        if len(unknown):
            raise LabelError(refusal.format(listing([str(v) for v in unknown])))
        return self.among(known)

    def among(self, classes: Array) -> Target:
        """The same with codes of a larger set of classes.

        Parameters
        ----------
        classes : ndarray
            All of the labels, and perhaps more.

        Returns
        -------
        Target
            With codes of `classes`.
        """
        if np.array_equal(self.classes, classes):
            return self
        return Target(recode(self.y, self.classes, classes), classes, self.w)


def read_target(y: object, n: int, sample_weight: object) -> Target:
    """Labels and weights of n rows. A row of weight 0 is as if absent, so a class with no other rows is not a class."""
    codes, found = read_labels(y, n)
    w = check_weights(sample_weight, n)
    if w is None or w.all():
        return Target(codes, found, w)
    codes = np.where(w > 0, codes, -1).astype(np.int32)
    present = np.bincount(codes[codes >= 0], minlength=len(found)) > 0
    to = np.where(present, np.cumsum(present) - 1, -1).astype(np.int32)
    return Target(np.where(codes >= 0, to[codes], -1).astype(np.int32), found[present], w)


def check_weights(sample_weight: object, n: int) -> Floats | None:
    """Finite numbers of at least 0, one per row; one number stands for all."""
    if sample_weight is None:
        return None
    try:
        w = np.asarray(sample_weight)
    except ValueError:
        raise OptionError("sample_weight must be one number for each row; got rows of different lengths.") from None
    if w.dtype.kind not in "fiub":
        try:
            w = w.astype(np.float64, casting="unsafe" if w.dtype.kind in "OUS" else "same_kind")
        except (TypeError, ValueError, OverflowError):
            raise OptionError(f"sample_weight must be numbers; got an array of type {w.dtype}.") from None
    w = np.full(n, w, dtype=np.float64) if w.ndim == 0 else np.ascontiguousarray(w, dtype=np.float64)
    if w.ndim != 1:
        raise OptionError(f"Sample weights must be 1D array or scalar, got {w.ndim}D array.")
    if len(w) != n:
        raise OptionError(f"sample_weight.shape == {w.shape}, expected ({n},)!")
    if not np.isfinite(w).all() or (w < 0).any():
        row = int(np.argmax(~np.isfinite(w) | (w < 0)))
        raise OptionError(
            f"Negative values in sample_weight, or not finite: row {row} has {w[row]:g}. Weights say how many times a "
            "row counts; to take rows out again use forget."
        )
    if w.max(initial=0.0) > MAX_TOTAL_WEIGHT / max(n, 1):
        raise OptionError(
            f"The sample weights add up to more than {MAX_TOTAL_WEIGHT:g}. Divide them all by the same number."
        )
    return w

"""What the estimators check before they learn, and what they say aloud."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import AmbiguousColumnWarning, OptionError, UnseenCategoryWarning, listing
from tallybayes.schema import Schema

Array = NDArray[Any]
Floats = NDArray[np.float64]
HEAVY = 1e250  # all weights together: sums and products of a few such sums stay finite


def check_weights(sample_weight: Any, n: int) -> Floats | None:
    """Finite numbers of at least 0, one per row; one number stands for all."""
    if sample_weight is None:
        return None
    w = np.asarray(sample_weight)
    if w.dtype.kind not in "fiub":
        try:
            w = w.astype(np.float64)
        except (TypeError, ValueError):
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
    if w.max(initial=0.0) > HEAVY / max(n, 1):
        raise OptionError(f"The sample weights add up to more than {HEAVY:g}. Divide them all by the same number.")
    return w


def drop_weightless(found: Array, codes: NDArray[np.int32], w: Floats | None) -> tuple[Array, NDArray[np.int32]]:
    """A row of weight 0 is as if absent, so a class with no other rows is not a class."""
    if w is None or w.all():
        return found, codes
    codes = np.where(w > 0, codes, -1).astype(np.int32)
    present = np.bincount(codes[codes >= 0], minlength=len(found)) > 0
    if present.all():
        return found, codes
    to = np.where(present, np.cumsum(present) - 1, -1).astype(np.int32)
    return found[present], np.where(codes >= 0, to[codes], -1).astype(np.int32)


def warn_ambiguous(schema: Schema) -> None:
    names = [schema.name(j) for j in schema.ambiguous]
    warnings.warn(
        f"Integer column(s) with few values taken as numbers: {listing(names)}. If they are categories say "
        f"schema={{{names[0]!r}: 'categorical'}}; to keep them as numbers without this warning say "
        f"schema={{{names[0]!r}: 'real'}}.",
        AmbiguousColumnWarning,
        stacklevel=4,  # the line that called fit
    )


OTHER = "; unseen='other' gives them the smoothed probability of a level never seen"


def warn_unseen(names: list[str], can_be_other: bool) -> None:
    warnings.warn(
        f"Categories that were not met while learning, in column(s) {listing(names)}: their factors are left out. "
        f"unseen='error' refuses them{OTHER if can_be_other else ''}.",
        UnseenCategoryWarning,
        stacklevel=6,  # the line that asked
    )


def unseen_policy(value: str) -> str:
    if value not in ("ignore", "other", "error"):
        raise OptionError(f"unseen must be 'ignore', 'other' or 'error'; got {value!r}.")
    return value

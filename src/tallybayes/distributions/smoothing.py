"""alpha, what is added to every count: one number, or one for each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import OptionError, brief
from tallybayes.utils.array_types import Array


def check_alpha(alpha: object, least: float = 0.0) -> None:
    a = np.asarray(alpha)
    if a.dtype.kind not in "fiu" or not np.isfinite(a).all() or (a < least).any():
        raise OptionError(f"alpha must be a number of at least {least:g}; got {brief(alpha)}.")


def check_per_column(alpha: float | Sequence[float], d: int) -> None:
    if np.shape(alpha) not in ((), (d,)):
        raise ValueError(f"alpha has the shape {np.shape(alpha)} for {d} columns")


def repeated_alpha(alpha: float | Sequence[float], rows: int) -> Any:
    """For columns that stand there so many times each; a number for all stays one."""
    return np.repeat(np.asarray(alpha), rows) if np.ndim(alpha) else alpha


def per_column(alpha: float | Sequence[float], d: int) -> NDArray[np.float64]:
    """alpha as one number per column."""
    return np.broadcast_to(np.asarray(alpha, dtype=np.float64), (d,)).copy()


def weighted(alpha: float | Sequence[float], log: Array) -> float:
    """Σ a_j log_cj, with 0 · −∞ = 0."""
    a = np.broadcast_to(np.asarray(alpha, dtype=np.float64), log.shape)
    return float((a[a > 0] * log[a > 0]).sum())

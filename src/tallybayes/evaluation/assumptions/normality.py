"""Is a column normal in each class? Anderson and Darling's test with estimated mean and variance.

A² (1 + 0.75 / n + 2.25 / n²) and the p-values of D'Agostino and Stephens (1986, table 4.9). Effect: the largest error
of a probability P(x ≤ t) under the fitted normal (Kolmogorov's distance D), less 0.6 / √n, which it has by chance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import kurtosis, norm, skew

from tallybayes.errors import brief
from tallybayes.evaluation.assumptions.columns_by_class import LEAST_ROWS, Data
from tallybayes.evaluation.assumptions.findings import Finding, finding, sizes
from tallybayes.utils.array_types import Floats

LIMITS = (0.03, 0.06, 0.12)
NAME = "Normal in each class"


def normal_columns(data: Data, significance: float) -> Finding:
    """The finding over all real columns and classes."""
    lines: list[dict[str, Any]] = []
    for j in np.flatnonzero(data.real).tolist():
        for label, rows in zip(data.classes, data.rows, strict=True):
            x = data.numeric[rows, j]
            x = x[~np.isnan(x)]
            spread = x.std(ddof=1) if len(x) >= LEAST_ROWS else 0.0
            if spread > 1e-14 * np.abs(x).max(initial=0.0):
                lines.append(
                    _line(f"{data.numeric_names[j]} in class {brief(label)}", np.sort((x - x.mean()) / spread))
                )
    if not lines:
        return Finding(NAME, "untested", "There is no real column that varies within a class.")
    for line, size in zip(lines, sizes(np.array([line["effect"] for line in lines]), LIMITS), strict=True):
        line["size"] = size
    return finding(NAME, lines, significance, "columns by class", "The real columns look normal")


def _line(what: str, z: Floats) -> dict[str, object]:
    """z: sorted, with mean 0 and variance 1."""
    square, p = anderson_darling(z)
    effect = distance(z)
    says = f"distance to normal {effect:.2g}, skewness {skew(z):.2g}, excess kurtosis {kurtosis(z):.2g}"
    return {"what": what, "effect": effect, "says": says, "statistic": square, "p": p}


def anderson_darling(z: Floats) -> tuple[float, float]:
    """A² corrected for n, and its p-value."""
    n = len(z)
    i = np.arange(1, n + 1)
    a = float(-n - ((2 * i - 1) * (norm.logcdf(z) + norm.logsf(z[::-1]))).mean())
    a *= 1 + 0.75 / n + 2.25 / n**2
    if a >= 0.6:
        b = min(a, 10.0)  # beyond it the formula turns; p is below 1e-22 there
        return a, float(np.exp(1.2937 - 5.709 * b + 0.0186 * b**2))
    if a >= 0.34:
        return a, float(np.exp(0.9177 - 4.279 * a - 1.38 * a**2))
    if a >= 0.2:
        return a, float(1 - np.exp(-8.318 + 42.796 * a - 59.938 * a**2))
    return a, float(1 - np.exp(-13.436 + 101.14 * a - 223.73 * a**2))


def distance(z: Floats) -> float:
    """Kolmogorov's distance from the standard normal, less what chance gives it."""
    n = len(z)
    f = norm.cdf(z)
    largest = max((np.arange(1, n + 1) / n - f).max(), (f - np.arange(n) / n).max())
    return float(max(largest - 0.6 / np.sqrt(n), 0.0))

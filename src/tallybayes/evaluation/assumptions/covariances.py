"""Do all classes have one covariance? Box's (1949) M over real columns, and the difference between log-determinants.

    M = (n − K) log|S| − Σ_c (n_c − 1) log|S_c|,        compared with what it is if there is one covariance (box_m.py)

S_c: covariance of class c (unbiased), S: the pooled one. Effect: log|S| − Σ_c π_c log|S_c|, less what chance gives it:
twice the nats per row that covariances of their own gain. Two classes of equal weight whose standard deviations differ
by a factor of 1.2, 1.5, 2, 3 in one column have 0.02, 0.08, 0.22, 0.51. The effect of one class is log|S_c| − log|S|.

Box's M answers to tails as well: where columns are not normal it finds too much.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr

from tallybayes.errors import brief, listing
from tallybayes.evaluation.assumptions.box_m import NullM
from tallybayes.evaluation.assumptions.columns_by_class import Data
from tallybayes.evaluation.assumptions.findings import Finding, p_value, sizes
from tallybayes.utils.array_types import Floats

LIMITS = (0.02, 0.1, 0.4)
MIN_EIGENVALUE_RATIO = 1e-13  # an eigenvalue of correlations, beside the largest: what is less is rounding
NAME = "Equal covariances"


def equal_covariances(data: Data, significance: float) -> Finding:
    """The finding over the real columns: one line for all classes, one for each."""
    if not data.real.any():
        return Finding(NAME, "untested", "There is no real column.")
    x = data.numeric[:, data.real]
    groups = [x[rows][~np.isnan(x[rows]).any(axis=1)] for rows in data.rows]
    if len(groups) < 2:
        return Finding(NAME, "untested", "There is one class only.")
    names = [name for name, real in zip(data.numeric_names, data.real, strict=True) if real]
    kept = independent_columns(groups)
    dropped = [name for j, name in enumerate(names) if j not in kept]
    if dropped:
        data.notes.append(f"Constant within a class, or a sum of others; left out of covariances: {listing(dropped)}.")
    if not len(kept):
        return Finding(NAME, "untested", "No real column varies within every class.")
    d, least = len(kept), min(len(g) for g in groups)
    if least < d + 2:
        return Finding(
            NAME, "untested", f"A class has {least} complete rows, and {d} columns need {d + 2}. Give fewer columns."
        )
    found = box_m([g[:, kept] for g in groups])
    if found is None:
        return Finding(NAME, "untested", "The covariance of a class has no full rank.")
    statistic, p, difference, each = found
    verdict = "holds" if p > significance else "fails" if difference >= LIMITS[1] else "nearly"
    size = sizes(np.array([difference]), LIMITS)[0]
    line = {
        "what": "all classes",
        "effect": difference,
        "size": size,
        "says": f"log-determinant difference {difference:.2g}",
    }
    line |= {"statistic": statistic, "p": p, "p_holm": p}
    lines = [line] + [_of_class(label, float(v), d) for label, v in zip(data.classes, each, strict=True)]
    sentence = (
        f"Box's M over {d} columns and {len(groups)} classes: {p_value(p)}, log-determinant difference "
        f"{difference:.2g} ({size})."
    )
    return Finding(NAME, verdict, sentence, tuple(lines))


def _of_class(label: object, log_det: float, d: int) -> dict[str, object]:
    """How wide a class is beside the pooled covariance; not a test of its own."""
    per_column = float(np.exp(0.5 * log_det / d))
    says = f"{per_column:.2g} times the pooled standard deviation, on average over columns"
    size = sizes(np.array([abs(log_det)]), LIMITS)[0]
    line = {"what": f"class {brief(label)}", "effect": log_det, "size": size, "says": says}
    return line | {"statistic": None, "p": None, "p_holm": None}


def independent_columns(groups: list[Floats]) -> list[int]:
    """Columns that vary within every class, none a linear combination of others."""
    spread = np.array([g.std(axis=0) if len(g) else np.zeros(g.shape[1]) for g in groups])
    size = np.array([np.abs(g).max(axis=0, initial=0.0) for g in groups])
    varies = np.flatnonzero((spread > 1e-12 * size).all(axis=0))
    if not len(varies):
        return []
    centred = np.concatenate([(g[:, varies] - g[:, varies].mean(axis=0)) for g in groups])
    scaled = centred / np.sqrt(np.square(centred).mean(axis=0))
    _, r, pivot = qr(scaled, mode="economic", pivoting=True)
    size_of = np.abs(np.diag(r))
    return sorted(int(varies[j]) for j in pivot[: int((size_of > 1e-7 * size_of[0]).sum())])


def box_m(groups: list[Floats]) -> tuple[float, float, float, Floats] | None:
    """M, p, the difference without its bias, and log|S_c| − log|S|; None if a class has no full rank."""
    d = groups[0].shape[1]
    df = np.array([len(g) - 1.0 for g in groups])
    covariances = [np.cov(g, rowvar=False).reshape(d, d) for g in groups]
    pooled = sum(f * c for f, c in zip(df, covariances, strict=True)) / df.sum()
    all_of = np.stack([*covariances, pooled])
    unit = np.sqrt(np.diagonal(all_of, axis1=1, axis2=2))
    values = np.linalg.eigvalsh(all_of / unit[:, None] / unit[:, :, None])
    if (values[:, 0] <= MIN_EIGENVALUE_RATIO * values[:, -1]).any():
        return None
    log_det = np.log(values).sum(axis=1) + 2 * np.log(unit / unit[-1]).sum(axis=1)
    each = log_det[:-1] - log_det[-1]
    m = float(-(df * each).sum())
    null = NullM(df, d)
    return m, null.tail(m), max((m - null.mean) / float(df.sum()), 0.0), each

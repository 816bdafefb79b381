"""Leave-one-out of kernel densities is what `forget` of the row gives, bandwidths included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.distributions import Kernel
from tallybayes.distributions.univariate.kernel_leave_one_out import Values

BANDWIDTHS = ["silverman", "scott", "john-langley", 0.3]


def table(kind: str, n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(n)
    y = np.append([0, 1, 2], rng.integers(0, 3, n - 3))
    X = rng.normal(size=(n, 2)) + y[:, None]
    if kind == "whole numbers":
        X = np.round(2 * X)
    if kind == "heavy tails":
        X = rng.standard_t(1.5, size=(n, 2)) + y[:, None]
    if kind == "missing":
        X[rng.random(X.shape) < 0.3] = np.nan
    if kind == "no value in a class":
        X[y == 1, 0] = np.nan
    if kind == "one value in a class":
        X[y == 1, 0] = 7.0
    if kind == "constant but for one row":
        X[:, 0] = 1.0
        X[5, 0] = 2.0
    return X * {"far": 1e200, "tiny": 1e-250}.get(kind, 1.0), y


def forgotten(model: Any, X: Any, y: Any, i: int, w: Any = None) -> Any:
    unit = None if w is None else np.minimum(w[i : i + 1], 1.0)
    left = model.copy().forget(X[i : i + 1], y[i : i + 1], unit)
    out = np.zeros(len(model.classes_))
    out[np.searchsorted(model.classes_, left.classes_)] = left.predict_proba(X[i : i + 1])[0]
    return out


@pytest.mark.parametrize("bandwidth", BANDWIDTHS)
@pytest.mark.parametrize("n", [6, 25, 400])
@pytest.mark.parametrize(
    "kind",
    [
        "normal",
        "whole numbers",
        "heavy tails",
        "missing",
        "no value in a class",
        "one value in a class",
        "constant but for one row",
        "far",
        "tiny",
    ],
)
def test_leave_one_out_is_forget(kind: str, n: int, bandwidth: Any) -> None:
    X, y = table(kind, n)
    model = tb.NaiveBayes(Kernel(bandwidth)).fit(X, y)
    found = np.exp(model.leave_one_out(X, y))
    extremes = {int(X[:, 1].argmin()), int(X[:, 1].argmax())} if kind != "missing" else set()
    for i in sorted({*range(min(n, 12)), *extremes}):
        np.testing.assert_allclose(found[i], forgotten(model, X, y, i), rtol=0, atol=1e-9, err_msg=f"row {i}")


@pytest.mark.parametrize("bandwidth", BANDWIDTHS)
@pytest.mark.parametrize("kind", ["halves", "whole", "any"])
def test_weights(kind: str, bandwidth: Any) -> None:
    X, y = table("whole numbers", 120)
    rng = np.random.default_rng(2)
    w = {"halves": rng.integers(1, 5, 120) / 2, "whole": rng.integers(1, 5, 120) * 1.0, "any": 3 * rng.random(120)}[
        kind
    ]
    model = tb.NaiveBayes(Kernel(bandwidth)).fit(X, y, w)
    found = np.exp(model.leave_one_out(X, y, w))
    for i in range(12):
        np.testing.assert_allclose(found[i], forgotten(model, X, y, i, w), rtol=0, atol=1e-9, err_msg=f"row {i}")


@pytest.mark.parametrize("rule", ["silverman", "scott", "john-langley"])
@pytest.mark.parametrize("values", ["numbers", "whole numbers"])
def test_bandwidths_without_a_row_are_those_of_the_others(values: str, rule: str) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=900)
    value, weight = np.unique(np.round(3 * x) if values == "whole numbers" else x, return_counts=True)
    every = Values(value, weight.astype(float))
    want = [every.without(v, 1.0).bandwidth(rule) for v in value]
    np.testing.assert_allclose(every.bandwidths(value, np.ones(len(value)), rule), want, rtol=1e-12)


def test_interpolated_densities_are_the_sums() -> None:
    rng = np.random.default_rng(3)
    every = Values(np.sort(rng.standard_t(3, size=2000)), np.ones(2000))
    x = np.append(every.value[::4], [40.0, -1e3, 1e160])
    h = 0.2 * np.exp(rng.uniform(-0.03, 0.03, len(x)))
    found = every.log_densities(x, h)
    known = ~np.isnan(found)
    assert known.mean() > 0.9
    want = [every.log_density(*each) for each in zip(x[known], h[known], strict=True)]
    np.testing.assert_allclose(found[known], want, rtol=1e-10, atol=1e-10)

"""One scalar that makes a posterior as sure as it should be."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def temperature(terms: Floats, start: Floats, y: NDArray[Any], w: Floats | None = None) -> float:
    """β with the smallest log-loss of softmax(start + β terms), between 0.001 and 20, by Newton steps in log β.

    ½ (log β)² is added to the loss: rows that are told apart without a mistake would want β to be infinite.
    terms, start: (rows, classes); terms should be leave-one-out.
    """
    at = np.arange(len(y))
    weight = np.ones(len(y)) if w is None else w
    x = terms - terms.max(axis=1, keepdims=True)
    b = 1.0
    for _ in range(40):
        joint = start + b * x
        p = np.exp(joint - joint.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        mean = (p * x).sum(axis=1)
        slope = float(weight @ (x[at, y] - mean)) * b - 4 * np.log(b / 0.3)
        curve = float(weight @ ((p * x * x).sum(axis=1) - mean**2)) * b * b - slope + 4.0
        step = slope / curve if curve > 1e-12 else np.sign(slope) * 0.5
        step = float(np.clip(step, -0.7, 0.7))
        new = float(np.clip(b * np.exp(step), 1e-3, 20.0))
        done = abs(np.log(new / b)) < 1e-5
        b = new
        if done:
            break
    return b

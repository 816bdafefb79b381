"""LightGBM, tuned: a random search that is the same for every table.

1. A fifth of the rows to learn, every class with its share, is set aside.
2. 15 configurations are fitted on the rest: LightGBM's defaults, then 14 drawn once and for all from SPACE. Each may
   grow 1,000 trees and stops when the log-loss of the fifth has not fallen for 50.
3. The configuration and the number of trees with the least log-loss are fitted again on all rows.

A table too small to set a row aside gets the defaults.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .tables import sample

CONFIGURATIONS, TREES, PATIENCE, ASIDE, SEED = 15, 1000, 50, 5, 0
SPACE: dict[str, tuple[str, float, float]] = {  # drawn evenly, or evenly in the logarithm; both ends included
    "learning_rate": ("log", 0.01, 0.3),
    "num_leaves": ("whole log", 4, 256),
    "min_child_samples": ("whole log", 2, 100),
    "reg_lambda": ("log", 1e-3, 30),
    "reg_alpha": ("log", 1e-3, 10),
    "colsample_bytree": ("even", 0.4, 1),
    "subsample": ("even", 0.5, 1),
    "cat_smooth": ("log", 1, 100),
    "cat_l2": ("log", 0.1, 100),
}


def configurations() -> list[dict[str, Any]]:
    rng = np.random.default_rng(SEED)
    return [{}, *({"subsample_freq": 1} | _drawn(rng) for _ in range(CONFIGURATIONS - 1))]


def _drawn(rng: np.random.Generator) -> dict[str, float]:
    out: dict[str, float] = {}
    for name, (how, low, high) in SPACE.items():
        u = rng.random()
        value = float(low * (high / low) ** u) if "log" in how else float(low + (high - low) * u)
        out[name] = round(value) if "whole" in how else value
    return out


class TunedLightGBM:
    """fit, predict_proba and classes_, as the benchmark asks for; after fit `best_` says what was chosen."""

    def __init__(self, threads: int) -> None:
        import lightgbm

        self._library = lightgbm
        self._common = {"n_jobs": threads, "verbose": -1, "random_state": 0}

    def fit(self, X: pd.DataFrame, y: NDArray[np.intp]) -> Self:
        self.best_ = self._search(X, y)
        self._model = self._library.LGBMClassifier(**self._common, **self.best_).fit(X, y)
        self.classes_ = self._model.classes_
        return self

    def predict_proba(self, X: pd.DataFrame) -> NDArray[np.float64]:
        return np.asarray(self._model.predict_proba(X))

    def _search(self, X: pd.DataFrame, y: NDArray[np.intp]) -> dict[str, Any]:
        aside = np.zeros(len(y), dtype=bool)
        aside[sample(y, len(y) // ASIDE)] = True
        if not aside.any() or set(y[aside]) - set(y[~aside]):
            return {}
        stop = self._library.early_stopping(PATIENCE, verbose=False)
        found: list[tuple[float, int, dict[str, Any]]] = []
        for k, options in enumerate(configurations()):
            model = self._library.LGBMClassifier(n_estimators=TREES, **self._common, **options)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".*eval_set")  # the name that all versions know
                model.fit(X[~aside], y[~aside], eval_set=[(X[aside], y[aside])], callbacks=[stop])
            (loss,) = (value for name, value in model.best_score_["valid_0"].items() if "logloss" in name)
            found.append((loss, k, options | {"n_estimators": max(1, model.best_iteration_)}))
        return min(found)[2]

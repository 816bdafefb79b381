"""Predictions of tables: matrices of probabilities, and how often they are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.labels import positions, union
from tallybayes.data.target import read_target
from tallybayes.errors import OptionError
from tallybayes.model.fitted import Fitted
from tallybayes.model.priors import log_priors
from tallybayes.utils.array_types import Floats

if TYPE_CHECKING:
    from tallybayes.estimators.state import ModelState


def matrix(model: ModelState, X: object, how: str, priors: object = None) -> Floats:
    """joint, log_proba, proba or evidence of each row."""
    predictor = model.predictor_
    found: Floats = predictor.ask(X, how, other_start(predictor.fitted, priors))
    return found


def accuracy(model: ModelState, X: object, y: object, sample_weight: object) -> float:
    """The share of rows predicted right; a row of a class that was never learned is predicted wrong."""
    predictor = model.predictor_
    rows = predictor.read(X)
    target = read_target(y, rows.n, sample_weight)
    counts = target.y >= 0
    if not counts.any():
        raise OptionError("There is nothing to score: every sample weight is zero.")
    both = union(model.classes_, target.classes)  # LabelError where labels of the two can never be equal
    best: NDArray[np.int64] = predictor.answer(rows, "best")
    right = positions(model.classes_, both)[best] == target.among(both).y
    return float(np.average(right[counts], weights=None if target.w is None else target.w[counts]))


def other_start(fitted: Fitted, priors: object) -> Floats | None:
    """What the log joint starts from under a prior for one question; None: as always."""
    return None if priors is None else log_priors(fitted.weight, fitted.classes, priors)

"""Scores as sums, against scikit-learn's and against the definitions written out."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss

from tallybayes.errors import LabelError, TableError
from tallybayes.estimators.naive_bayes import NaiveBayes
from tallybayes.evaluation.labelled_rows import Evaluation
from tallybayes.evaluation.scores import BINS, Scores, row_scores


def posteriors(n: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    P = rng.dirichlet(np.ones(K), size=n)
    return rng.integers(K, size=n), np.log(P)


def calibration(y: np.ndarray, P: np.ndarray) -> float:
    """Row by row, bin by bin."""
    gaps = dict.fromkeys(range(BINS), 0.0)
    for truth, p in zip(y, P, strict=True):
        gaps[min(int(p.max() * BINS), BINS - 1)] += p.max() - (p.argmax() == truth)
    return sum(map(abs, gaps.values())) / len(y)


@pytest.mark.parametrize("K", [2, 5])
def test_scores_equal_their_definitions(K: int) -> None:
    y, L = posteriors(400, K)
    P = np.exp(L)
    found = Scores.none().add(y, L)
    assert found.accuracy.value == np.mean(P.argmax(axis=1) == y)
    assert found.log_loss.value == pytest.approx(log_loss(y, P))
    assert found.brier.value == pytest.approx(np.square(P - np.eye(K)[y]).sum(axis=1).mean())
    assert found.calibration_error.value == pytest.approx(calibration(y, P))
    rows = row_scores(y, L)
    for score, values in zip((found.accuracy, found.log_loss, found.brier), rows.T, strict=True):
        assert score.se == pytest.approx(values.std() / np.sqrt(400))


def test_scores_of_parts_add_up() -> None:
    y, L = posteriors(300, 3)
    whole = Scores.none().add(y, L)
    parts = Scores.none().add(y[:100], L[:100]) + Scores.none().add(y[100:], L[100:])
    assert parts.to_dict() == pytest.approx(whole.to_dict())


def test_log_loss_of_what_underflows_is_finite() -> None:
    """P is 0 in float64, its logarithm is not."""
    assert Scores.none().add(np.array([0]), np.array([[-900.0, 0.0]])).log_loss.value == 900.0


def test_no_rows_have_no_scores() -> None:
    with pytest.raises(TableError, match="no rows to score"):
        _ = Scores.none().accuracy


def test_evaluation_counts_who_was_taken_for_whom() -> None:
    X, y = [[0.0], [0.1], [5.0], [5.1], [0.2]], ["a", "a", "b", "b", "b"]
    model = NaiveBayes().fit(X[:4], y[:4])
    found = Evaluation.none(model.classes_) + Evaluation.of(model, X, y)
    assert found.confusion.tolist() == [[2, 0], [1, 2]]
    assert found.to_dict()["accuracy"] == 0.8
    assert "0.8000" in found.text()
    assert "b taken for a: 1" in found.text(most=1)


def test_evaluation_refuses_an_unseen_class() -> None:
    model = NaiveBayes().fit([[0.0], [5.0]], ["a", "b"])
    with pytest.raises(LabelError, match=r"has not learned the class\(es\) 'c'"):
        Evaluation.of(model, [[1.0]], ["c"])

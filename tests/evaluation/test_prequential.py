"""prequential: each row is predicted, then learned; beside sums made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import cohen_kappa_score, log_loss
from sklearn.naive_bayes import GaussianNB

import tallybayes as tb
from tallybayes.errors import OptionError
from tallybayes.evaluation import prequential
from tallybayes.plots import PrequentialDisplay

rng = np.random.default_rng(0)
y = rng.integers(0, 2, 400)
X = rng.normal(size=(400, 2)) + y[:, None]
STREAM = [({"x0": a, "x1": b}, c) for (a, b), c in zip(X.tolist(), y.tolist(), strict=True)]


def test_sums_are_those_of_a_loop() -> None:
    found = prequential(tb.NaiveBayes("gaussian"), X, y, block=150)
    model, said = tb.NaiveBayes("gaussian"), []
    for row, label in STREAM:
        if model.is_fitted:
            p = model.predict_proba_one(row)
            said.append([p.get(0, 0.0), p.get(1, 0.0)])
        model.learn_one(row, label)
    p = np.array(said)
    assert found.n_rows == 399
    assert found.accuracy == np.mean(p.argmax(axis=1) == y[1:])
    np.testing.assert_allclose(found.log_loss, log_loss(y[1:], np.clip(p, 1e-15, None)), rtol=1e-6)
    np.testing.assert_allclose(found.kappa, cohen_kappa_score(y[1:], p.argmax(axis=1)))
    assert found.blocks["rows"] == [150, 300, 399]
    assert found.blocks["accuracy"][1] == np.mean(p.argmax(axis=1)[150:300] == y[151:301])
    assert prequential(tb.NaiveBayes("gaussian"), STREAM).log_loss == found.log_loss
    assert f"accuracy {found.accuracy:.4f}" in str(found)


def test_scikit_learn_models_learn_in_batches() -> None:
    found = prequential(GaussianNB(), X, y, batch=100)
    expected = GaussianNB().fit(X[:300], y[:300]).predict(X[300:])
    assert found.n_rows == 300
    assert prequential(GaussianNB(), STREAM, batch=300, block=1000).accuracy == np.mean(expected == y[300:])
    window = prequential(LogisticRegression(), X, y, batch=200, window=50)
    last = LogisticRegression().fit(X[150:200], y[150:200]).predict(X[200:])
    assert window.accuracy == np.mean(last == y[200:])


class Constant:
    """As in river: nothing is predicted before the first row."""

    seen = 0

    def predict_proba_one(self, row: dict[str, Any]) -> dict[int, float]:
        return {0: 0.75, 1: 0.25} if row and self.seen else {}

    def learn_one(self, row: dict[str, Any], label: int) -> None:
        self.seen += len(row) > 0 and label in (0, 1)


def test_models_of_river() -> None:
    found = prequential(Constant(), STREAM, max_rows=50)
    assert found.n_rows == 50
    assert found.accuracy == np.mean(y[1:50] == 0) * 49 / 50
    assert found.kappa == pytest.approx(0, abs=0.05)


@pytest.mark.parametrize("bad", [{"block": 0}, {"batch": 2.5}, {"window": 0}, {"max_rows": True}])
def test_options_are_whole_numbers(bad: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=next(iter(bad))):
        prequential(Constant(), STREAM, **bad)


def test_refusals() -> None:
    with pytest.raises(OptionError, match="pairs"):
        prequential(Constant(), {"x0": 1.0})
    with pytest.raises(OptionError, match=r"Item 0 .* pair"):
        prequential(Constant(), [1])
    with pytest.raises(OptionError, match="no row to predict"):
        prequential(tb.NaiveBayes(), STREAM[:1])
    with pytest.raises(OptionError, match="takes a classifier"):
        prequential(object(), STREAM)


def test_a_picture_has_the_half_life_and_the_models() -> None:
    models = {"adaptive": tb.StreamingBayes(), "all rows": tb.NaiveBayes("gaussian")}
    picture = PrequentialDisplay.from_estimator(models, iter(STREAM), block=100)
    assert picture.frame()["model"].tolist() == ["adaptive"] * 4 + ["all rows"] * 4
    assert [axis.get_ylabel() for axis in picture.figure_.axes] == ["prequential log-loss", "half-life in force"]
    with pytest.raises(OptionError, match="measure"):
        PrequentialDisplay(picture.results, "loss")
    with pytest.raises(OptionError, match="at least one"):
        PrequentialDisplay({})

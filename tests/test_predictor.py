"""The nouns by themselves: a Fitted that adds as its model does, a Predictor that is made once and asked often."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import OptionError, TableError
from tests.estimators import ESTIMATORS, LEARNED, labels

EVERY = {**ESTIMATORS, **LEARNED}


def some(name: str, n: int = 40) -> tuple[Any, Any, Any]:
    make, data = EVERY[name]
    rng = np.random.default_rng(0)
    return make(), data(rng, n), labels(rng, n)


@pytest.mark.parametrize("name", list(EVERY))
def test_a_predictor_is_made_once_and_answers_as_its_model(name: str) -> None:
    model, X, y = some(name)
    predictor = model.fit(X, y).predictor_
    rows = predictor.read(X)
    np.testing.assert_array_equal(predictor.answer(rows, "proba"), model.predict_proba(X))
    np.testing.assert_array_equal(predictor.answer(rows, "joint"), model.predict_joint_log_proba(X))
    np.testing.assert_array_equal(model.classes_[predictor.answer(rows, "best")], model.predict(X))
    assert model.predictor_ is predictor
    before = model.fitted_
    model.partial_fit(X, y)
    assert model.predictor_ is not predictor  # it belongs to what was known then
    assert before.weight.sum() * 2 == model.fitted_.weight.sum()


@pytest.mark.parametrize("name", list(EVERY))
def test_looking_says_what_answering_says(name: str) -> None:
    """Explanations look before they split: an error or a warning is that of a prediction."""
    model, X, y = some(name)
    predictor = model.fit(X, y).predictor_
    told = set()
    for value in (np.inf, -1.0, 7.0, np.nan, "never met"):
        for j in range(X.shape[1]):
            bad = X.astype(object)
            if hasattr(bad, "iloc"):
                bad.iloc[5, j] = value
                bad = bad.astype({name: X.dtypes[name] for i, name in enumerate(X.columns) if i != j})
            else:
                bad[5, j] = value
                bad = bad if isinstance(value, str) or isinstance(X[0, 0], str) else bad.astype(float)
            said = [
                _said(lambda rows: predictor.answer(rows, "proba"), predictor, bad),
                _said(predictor.look, predictor, bad),
            ]
            assert said[0] == said[1]
            told.add(said[0])
    assert len(told) > 1  # something was refused, or warned of


def _said(ask: Any, predictor: Any, X: Any) -> tuple[str, ...]:
    """The error or the warnings of a question."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            ask(predictor.read(X))
        except (TableError, OptionError) as e:
            return (str(e),)
    return tuple(str(w.message) for w in heard)


def test_an_unknown_answer_is_refused() -> None:
    predictor = tb.GaussianNB().fit([[1.0], [2.0]], [0, 1]).predictor_
    with pytest.raises(OptionError, match="'joint', 'log_proba', 'proba', 'best', 'evidence'; got 'odds'"):
        predictor.answer(predictor.read([[1.0]]), "odds")


def test_a_model_as_data_adds_and_takes_away() -> None:
    X, y = [[1.0], [2.0], [4.0], [5.0]], ["a", "b", "a", "b"]
    whole = tb.GaussianNB().fit(X, y).fitted_
    one, two = (tb.GaussianNB().fit(X[i : i + 2], y[i : i + 2]).fitted_ for i in (0, 2))
    for fitted in (one.merge(two), one.add(two), whole.add(one).subtract(one)):
        np.testing.assert_allclose(fitted.terms[0].sums.mean, whole.terms[0].sums.mean)
        assert fitted.weight.tolist() == whole.weight.tolist()
    assert whole.log_prior is None
    np.testing.assert_allclose(np.exp(whole.estimate("uniform").prior), [0.5, 0.5])

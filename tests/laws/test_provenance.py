"""provenance_ says what was chosen on which rows, and whether forgotten ones took part; relearn chooses again."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import ForgetError, LabelError, ModelFileError, OptionError
from tests.every_estimator import ESTIMATORS, LEARNED, all_components, interactions, labels
from tests.laws.test_learning_is_adding import take

EVERY = {**ESTIMATORS, **LEARNED}
N, LEFT = 60, 50


def parts(name: str) -> tuple[Any, Any, Any, Any]:
    rng = np.random.default_rng(3)
    X, y = EVERY[name][1](rng, N), labels(rng, N)
    rows = np.arange(N)
    return X, y, take(X, rows[:LEFT]), take(X, rows[LEFT:])


def bits(model: Any) -> dict[str, Any]:
    return {name: (c.rows, c.hash, c.forgotten, c.renew) for name, c in model.provenance_.items()}


@pytest.mark.parametrize("name", EVERY)
def test_relearn_is_fit_on_the_rows_that_remain(name: str) -> None:
    X, y, A, B = parts(name)
    model = EVERY[name][0]().fit(X, y)
    assert all((c.rows, c.forgotten) == (N, False) and c.hash and c.time for c in model.provenance_.values())
    assert bits(tb.from_bytes(tb.to_bytes(model))) == bits(pickle.loads(pickle.dumps(model))) == bits(model)
    model.forget(B, y[LEFT:])
    assert all((c.rows, c.forgotten, c.hash) == (N, True, None) for c in model.provenance_.values())
    model.relearn(A, y[:LEFT])
    assert tb.to_bytes(model) == tb.to_bytes(EVERY[name][0]().fit(A, y[:LEFT]))


def test_a_structure_chosen_again_from_the_counts_leaves_other_choices() -> None:
    X, y, _, B = parts("TAN")
    found = tb.TAN().fit(X, y).forget(B, y[LEFT:]).relearn().provenance_
    assert (found["network structure"].rows, found["network structure"].forgotten) == (LEFT, False)
    assert (found["column kinds"].rows, found["column kinds"].forgotten) == (N, True)


def test_every_choice_of_an_ensemble_is_made_again_by_relearn() -> None:
    X, y = interactions(np.random.default_rng(0), 420)
    X.loc[400, "town"], X.loc[401, "east"] = "nowhere", 1e6
    model = all_components().fit(X, y).forget(X[400:], y[400:])
    fresh = all_components().fit(X[:400], y[:400])
    assert not np.array_equal(model.predict_proba(X[:400]), fresh.predict_proba(X[:400]))
    assert tb.to_bytes(model.relearn(X[:400], y[:400])) == tb.to_bytes(fresh)


@pytest.mark.parametrize("name", ["GaussianNB", "NaiveBayes mixed", "TAN", "BayesClassifier"])
def test_kept_rows_are_the_origin_of_every_choice(name: str) -> None:
    X, y, A, B = parts(name)
    make = EVERY[name][0]
    model = make().set_params(memory="rows").fit(X, y).forget(B, y[LEFT:])
    fresh = make().set_params(memory="rows").fit(A, y[:LEFT])
    assert bits(model) == bits(fresh)
    assert all(c[:1] + c[2:] == (LEFT, False, "") for c in bits(model).values())
    assert tb.to_bytes(model.relearn()) == tb.to_bytes(fresh)
    with pytest.raises(OptionError, match="without any"):
        model.relearn(A, y[:LEFT])


def test_rows_that_are_not_those_that_remain_are_refused() -> None:
    X, y = interactions(np.random.default_rng(0), 60)
    model = tb.NaiveBayes().fit(X, y).forget(X[50:], y[50:])
    before = tb.to_bytes(model)
    with pytest.raises(OptionError, match=r"give relearn\(X, y\) the rows that remain"):
        model.relearn()
    with pytest.raises(OptionError, match="weight of 50, and these weigh 49"):
        model.relearn(X[:49], y[:49])
    with pytest.raises(ForgetError, match="cannot have been learned"):
        model.relearn(X, y)
    with pytest.raises(LabelError):
        model.relearn(X[:50], ["other"] * 50)
    assert tb.to_bytes(model) == before
    model.privacy_loss_ = 1.0
    with pytest.raises(OptionError, match="noise"):
        model.relearn(X[:50], y[:50])


def test_whether_forgotten_rows_took_part_is_reported_as_far_as_known() -> None:
    X, y = interactions(np.random.default_rng(0), 60)
    model = tb.NaiveBayes("gaussian").fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    assert model.provenance_["column kinds"].forgotten is False
    model.forget(X[:1], y[:1])
    assert model.provenance_["column kinds"].forgotten is None  # it may be one of those added
    one = tb.NaiveBayes("gaussian").fit(X, y)
    assert one.one_row == "compiled"
    assert one.forget_one(X.iloc[0].dropna().to_dict(), y[0]).provenance_["column kinds"].forgotten is True
    plan = tb.NaiveBayes("mdl").fit(X, y).empty()
    assert (plan.provenance_["bins"].rows, plan.provenance_["bins"].hash) == (60, None)
    sites = [
        plan.copy().partial_fit(X[:30], y[:30]),
        plan.copy().partial_fit(X[30:], y[30:]).forget(X[30:31], y[30:31]),
    ]
    assert tb.merge_all(sites).provenance_["bins"].forgotten is None
    assert sites[0].merge(sites[1]).provenance_["bins"].forgotten is None


def test_the_temperature_has_an_origin_of_its_own() -> None:
    X, y = interactions(np.random.default_rng(0), 60)
    model = tb.NaiveBayes(tempered=True).fit(X, y).forget(X[50:], y[50:]).temper(X[:50], y[:50])
    found = model.provenance_
    assert (found["temperature"].rows, found["temperature"].forgotten) == (50, False)
    assert (found["column kinds"].rows, found["column kinds"].forgotten) == (60, True)


@pytest.mark.parametrize("origins", [[], {"fit": 1}, {"fit": {}}, {3: {}}])
def test_a_file_with_other_origins_is_refused(origins: Any) -> None:
    model = tb.GaussianNB().fit([[1.0], [2.0]], ["a", "b"])
    from tallybayes.estimators.provenance import check_origins

    check_origins(model._extra_attributes()["_origins"])
    with pytest.raises(ValueError, match="origin"):
        check_origins(origins)
    good = model._extra_attributes()["_origins"]["fit"]
    for key, value in {"rows": -1, "weight": "x", "hash": 3, "removed": float("inf")}.items():
        with pytest.raises(ValueError, match="origin"):
            check_origins({"fit": {**good, key: value}})
    model.__dict__["_origins"] = {"fit": {**good, "rows": -1}}
    with pytest.raises(ModelFileError):
        tb.from_bytes(tb.to_bytes(model))

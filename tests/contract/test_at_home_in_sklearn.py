"""At home in scikit-learn: cloned, tuned, piped, calibrated, routed, saved, and used after a fork."""

from __future__ import annotations

import copy
import os
import pickle
import signal
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

import tallybayes as tb
from tests.every_estimator import ESTIMATORS, labels

NAMES = list(ESTIMATORS)
X, Y = load_iris(return_X_y=True)


def fitted(name: str) -> tuple[Any, Any]:
    make, data = ESTIMATORS[name]
    rng = np.random.default_rng(0)
    table = data(rng, 60)
    return make().fit(table, labels(rng, 60)), table


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("how", ["pickle", "joblib", "deepcopy", "copy"])
def test_saved_and_read_again(name: str, how: str, tmp_path: Any) -> None:
    model, table = fitted(name)
    if how == "joblib":
        joblib.dump(model, tmp_path / "model", compress=3)
        counterpart = joblib.load(tmp_path / "model")
    else:
        ways = {"pickle": lambda m: pickle.loads(pickle.dumps(m)), "deepcopy": copy.deepcopy, "copy": copy.copy}
        counterpart = ways[how](model)
    np.testing.assert_array_equal(counterpart.predict_joint_log_proba(table), model.predict_joint_log_proba(table))
    rng = np.random.default_rng(1)
    more, y = ESTIMATORS[name][1](rng, 20), labels(rng, 20)
    before = model.predict_joint_log_proba(table)
    counterpart.partial_fit(more, y)  # the twin learns on alone
    np.testing.assert_array_equal(model.predict_joint_log_proba(table), before)
    np.testing.assert_array_equal(
        model.partial_fit(more, y).predict_joint_log_proba(table), counterpart.predict_joint_log_proba(table)
    )


@pytest.mark.parametrize("name", NAMES)
def test_clone_and_parameters(name: str) -> None:
    model, _ = fitted(name)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert is_classifier(fresh)
    check_is_fitted(model)
    with pytest.raises(NotFittedError):
        check_is_fitted(fresh)
    with pytest.raises(ValueError, match="Invalid parameter 'nonsense'"):
        fresh.set_params(nonsense=1)
    assert repr(fresh).startswith(type(model).__name__)
    assert not [key for key in vars(fresh) if key.endswith("_")]


@pytest.mark.parametrize("name", NAMES)
def test_attributes_do_not_exist_before_the_fit(name: str) -> None:
    fresh, model = ESTIMATORS[name][0](), fitted(name)[0]
    for attribute in ("classes_", "class_count_", "n_features_in_", "theta_", "feature_count_", "rate_", "bandwidth_"):
        assert not hasattr(fresh, attribute)
    assert hasattr(model, "classes_")
    assert model.n_features_in_ == (3 if "dates" in name else 4)


def test_set_params_takes_effect_at_the_next_fit() -> None:
    model = tb.GaussianNB().fit(X, Y)
    before = model.var_
    model.set_params(var_smoothing=0.5)
    np.testing.assert_array_equal(model.var_, before)
    assert (model.fit(X, Y).var_ > before).all()


def test_grid_search() -> None:
    search = GridSearchCV(tb.GaussianNB(), {"var_smoothing": [1e-9, 10.0], "variance": ["own", "shared"]}, cv=3)
    search.fit(X, Y)
    assert search.best_params_["var_smoothing"] == 1e-9
    assert search.best_score_ > 0.9
    mixed = GridSearchCV(tb.NaiveBayes(), {"distributions": [None, "kernel", "mdl"]}, cv=3, error_score="raise")
    assert mixed.fit(pd.DataFrame(X, columns=list("abcd")), Y).best_score_ > 0.9
    parallel = GridSearchCV(tb.GaussianNB(), {"ddof": [0, 1]}, cv=3, n_jobs=2).fit(X, Y)
    assert parallel.best_score_ > 0.9


def test_pipelines() -> None:
    assert make_pipeline(StandardScaler(), tb.GaussianNB()).fit(X, Y).score(X, Y) == 0.96
    assert make_pipeline(MinMaxScaler(), tb.MultinomialNB()).fit(X, Y).score(X, Y) > 0.6
    texts = ["good film", "bad film", "good good plot", "awful bad plot"]
    for model in (tb.MultinomialNB(), tb.ComplementNB(), tb.BernoulliNB()):
        pipe = make_pipeline(CountVectorizer(), model).fit(texts, list("+-+-"))
        assert pipe.predict(["a good plot", "bad awful film"]).tolist() == ["+", "-"]


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_column_transformer_and_its_output(output: str) -> None:
    frame = pd.DataFrame(X, columns=list("abcd")).assign(word=np.where(X[:, 2] > 2.5, "long", "short"))
    columns = ColumnTransformer([("scaled", StandardScaler(), ["a", "b"])], remainder="passthrough")
    pipe = make_pipeline(columns.set_output(transform=output), tb.NaiveBayes()).fit(frame, Y)
    assert pipe.score(frame, Y) > 0.9
    last = pipe[-1]
    assert last.schema_.kinds == ("real", "real", "real", "real", "categorical")
    if output == "default":
        assert not hasattr(last, "feature_names_in_")
    else:
        assert last.feature_names_in_.tolist() == pipe[0].get_feature_names_out().tolist()


def test_cross_validation() -> None:
    scores = cross_val_score(tb.GaussianNB(), X, Y, cv=5, scoring="neg_log_loss")
    assert scores.min() > -0.5
    p = cross_val_predict(tb.NaiveBayes("mdl"), X, Y, cv=3, method="predict_proba")
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration_and_committees(method: str) -> None:
    calibrated = CalibratedClassifierCV(tb.GaussianNB(), method=method, cv=3).fit(X, Y)
    assert calibrated.score(X, Y) > 0.9
    vote = VotingClassifier([("g", tb.GaussianNB()), ("k", tb.KernelNB())], voting="soft").fit(X, Y)
    assert vote.score(X, Y) > 0.9
    assert BaggingClassifier(tb.GaussianNB(), n_estimators=3, random_state=0).fit(X, Y).score(X, Y) > 0.9
    assert OneVsRestClassifier(tb.GaussianNB()).fit(X, Y).score(X, Y) > 0.9


def test_names_of_features() -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = tb.GaussianNB().fit(frame, Y)
    assert model.feature_names_in_.dtype == object
    assert model.feature_names_in_.tolist() == list("abcd")
    with pytest.warns(UserWarning, match="X does not have valid feature names, but GaussianNB was fitted with"):
        model.predict(X)
    model.fit(X, Y)
    assert not hasattr(model, "feature_names_in_")


def test_weights_are_routed() -> None:
    w = np.where(Y == 0, 0.0, np.linspace(0.5, 2.0, len(Y)))
    with sklearn.config_context(enable_metadata_routing=True):
        model = tb.GaussianNB().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model).fit(X, Y, sample_weight=w)
        assert pipe[-1].classes_.tolist() == [1, 2]
        np.testing.assert_allclose(pipe[-1].class_count_, [w[Y == 1].sum(), w[Y == 2].sum()])
        found = cross_validate(model, X, Y, params={"sample_weight": np.ones(len(Y))}, cv=3)
        assert found["test_score"].min() > 0.9
        search = GridSearchCV(model, {"ddof": [0, 1]}, cv=3).fit(X, Y, sample_weight=w + 1)
        np.testing.assert_allclose(search.best_estimator_.class_count_.sum(), (w + 1).sum())


def in_child(work: Any, seconds: int = 30) -> int:
    """Runs work in a forked child and returns its exit status; a child that hangs is ended by its own alarm."""
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        code = 1
        try:
            code = 0 if work() else 2
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["GaussianNB", "CategoricalNB codes", "MultinomialNB", "KernelNB"])
def test_a_forked_child_can_work(name: str) -> None:
    """After a fit on several threads, a child made by fork fits and predicts, and does not hang."""
    make, data = ESTIMATORS[name]
    rng = np.random.default_rng(0)
    table, y = data(rng, 60_000), labels(rng, 60_000)
    model = make().fit(table, y)
    truth = model.predict_proba(table)

    def work() -> bool:
        again = make().fit(table, y)
        return np.array_equal(again.predict_proba(table), truth) and np.array_equal(model.predict_proba(table), truth)

    assert in_child(work) == 0
    assert work()  # and so can the parent afterwards

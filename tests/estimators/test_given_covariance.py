"""covariance_estimator of LDA and QDA: scikit-learn's numbers, and what such a model cannot do."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import covariance
from sklearn import discriminant_analysis as sk
from sklearn.datasets import load_iris, load_wine

import tallybayes as tb
from tallybayes.errors import ModelFileError, OptionError, TableError

LDA, QDA = tb.LinearDiscriminantAnalysis, tb.QuadraticDiscriminantAnalysis
DATA = {"iris": load_iris, "wine": load_wine}
ESTIMATORS = {
    "LedoitWolf": covariance.LedoitWolf(),
    "OAS": covariance.OAS(),
    "EmpiricalCovariance": covariance.EmpiricalCovariance(),
    "ShrunkCovariance": covariance.ShrunkCovariance(shrinkage=0.3),
    "MinCovDet": covariance.MinCovDet(random_state=0, support_fraction=0.9),
}


def same(a: Any, b: Any) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * np.abs(b).max())


def scaled(name: str) -> tuple[Any, Any]:
    X, y = DATA[name](return_X_y=True)
    return X / X.std(axis=0), y


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_numbers_are_scikit_learns(name: str, estimator: str) -> None:
    X, y = scaled(name)
    given = {"covariance_estimator": ESTIMATORS[estimator], "store_covariance": True}
    ours, theirs = LDA("lsqr", **given).fit(X, y), sk.LinearDiscriminantAnalysis("lsqr", **given).fit(X, y)
    for attribute in ("covariance_", "coef_", "intercept_", "means_"):
        a, b = getattr(ours, attribute), getattr(theirs, attribute)
        if attribute == "intercept_":  # theirs is about 0, ours about xbar: the same up to what classes share
            a, b = a - a.mean(), b - b.mean()
        if attribute == "coef_":
            a, b = a - a.mean(axis=0), b - b.mean(axis=0)
        same(a, b)
    same(ours.predict_proba(X), theirs.predict_proba(X))
    eigen = sk.LinearDiscriminantAnalysis("eigen", **given).fit(X, y)
    same(np.abs(LDA("eigen", **given).fit(X, y).predict_proba(X)), eigen.predict_proba(X))
    quadratic = QDA(solver="eigen", **given).fit(X, y)
    other = sk.QuadraticDiscriminantAnalysis(solver="eigen", tol=0.0, **given).fit(X, y)
    same(np.array(quadratic.covariance_), np.array(other.covariance_))
    same(quadratic.predict_proba(X), other.predict_proba(X))


def test_the_object_given_is_not_touched() -> None:
    X, y = scaled("iris")
    given = covariance.OAS()
    LDA(covariance_estimator=given).fit(X, y)
    assert not hasattr(given, "covariance_")


def test_whole_weights_are_rows() -> None:
    X, y = scaled("iris")
    w = np.random.default_rng(0).integers(0, 3, len(y))
    for make in (LDA, QDA):
        weighted = make(covariance_estimator=covariance.OAS()).fit(X, y, sample_weight=w.astype(float))
        repeated = make(covariance_estimator=covariance.OAS()).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
        same(weighted.predict_proba(X), repeated.predict_proba(X))


def test_tables_of_other_kinds() -> None:
    import pandas as pd
    from scipy import sparse

    X, y = scaled("wine")
    want = QDA(covariance_estimator=covariance.LedoitWolf()).fit(X, y).predict_proba(X)
    for other in (pd.DataFrame(X, columns=[f"c{j}" for j in range(13)]), sparse.csr_matrix(X), X.tolist()):
        same(QDA(covariance_estimator=covariance.LedoitWolf()).fit(other, y).predict_proba(other), want)
    wide = np.random.default_rng(0).normal(size=(60, 300))
    wide[:, :50] += np.arange(60)[:, None] % 2
    model = LDA(covariance_estimator=covariance.LedoitWolf()).fit(wide, np.arange(60) % 2)
    assert model.score(wide, np.arange(60) % 2) == 1.0


def test_it_refuses_to_add(tmp_path: Path) -> None:
    X, y = scaled("iris")
    model = LDA(covariance_estimator=covariance.OAS())
    model.partial_fit(X, y)  # the first rows may be all rows
    before = model.predict_proba(X)
    row = {f"x{j}": v for j, v in enumerate(X[0].tolist())}
    for change in (
        lambda m: m.partial_fit(X, y),
        lambda m: m.forget(X[:3], y[:3]),
        lambda m: m.merge(m.copy()),
        lambda m: m.decay(0.5),
        lambda m: m.learn_one(row, 0),
        lambda m: m.set_params(covariance_estimator=None).partial_fit(X, y),
    ):
        with pytest.raises(OptionError, match="covariance_estimator"):
            change(model)
        np.testing.assert_array_equal(model.predict_proba(X), before)
    model.set_params(covariance_estimator=covariance.OAS())
    with pytest.raises(OptionError, match="Fit again"):
        LDA().fit(X, y).set_params(covariance_estimator=covariance.OAS()).partial_fit(X, y)
    with pytest.raises(ModelFileError, match="covariance_estimator"):
        tb.save(model, tmp_path / "model.tb")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(X), before)
    with pytest.raises(OptionError, match="labelled"):
        tb.SemiSupervised(model).fit(X, [*y[:149].tolist(), None])


class Broken:
    def __init__(self, found: Any) -> None:
        self.found = found

    def fit(self, X: Any) -> None:  # noqa: ARG002
        self.covariance_ = self.found


def test_what_is_refused() -> None:
    X, y = scaled("iris")
    from sklearn.cluster import KMeans

    for make in (LDA, QDA):
        with pytest.raises(OptionError, match="fit and covariance_"):
            make(covariance_estimator=object()).fit(X, y)
        with pytest.raises(OptionError, match="covariance_ attribute"):
            make(covariance_estimator=KMeans(2)).fit(X, y)
        with pytest.raises(OptionError, match="Only one of the two"):
            make(covariance_estimator=covariance.OAS(), shrinkage=0.1).fit(X, y)
        with pytest.raises(OptionError, match="whole numbers"):
            make(covariance_estimator=covariance.OAS()).fit(X, y, sample_weight=np.full(150, 0.5))
        gaps = X.copy()
        gaps[0, 0] = np.nan
        with pytest.raises(TableError, match="missing"):
            make(covariance_estimator=covariance.OAS()).fit(gaps, y)
        for bad in (np.eye(3), np.full((4, 4), np.nan), -np.eye(4)):
            with pytest.raises(OptionError, match="not a covariance"):
                make(covariance_estimator=Broken(bad)).fit(X, y)

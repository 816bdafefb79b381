"""LDA and QDA beside R's MASS: the numbers that lda and qda of R gave (tests/golden/mass.json, made by golden/mass.py).

MASS 'moment' divides by n − K and n_k − 1 (ddof=1), 'mle' by n and n_k. Its CV = TRUE leaves each row out of means and
covariances and keeps the priors of all rows, so ours are given them. Checked once against arithmetic of 60 digits on
the rows where the two differ most: both are right to 1e-12 of the log-odds, or better.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tallybayes as tb
from tests.golden.mass import TABLES

CASES = json.loads(Path(__file__).with_name("mass.json").read_text(encoding="utf-8"))["cases"]


@cache
def table(name: str) -> tuple[Any, Any]:
    X, y = TABLES[name](return_X_y=True)
    return X, y


def own(case: Any) -> bool:
    _, y = table(case["data"])
    return np.array_equal(case["prior"], np.bincount(y) / len(y))


def named(case: Any) -> str:
    return f"{case['data']}-{case['model']}-{case['method']}-{'own' if own(case) else 'given'}"


ALL = pytest.mark.parametrize("case", CASES, ids=named)
LINEAR = pytest.mark.parametrize("case", [case for case in CASES if case["model"] == "lda"], ids=named)


def fitted(case: Any, priors: Any) -> tuple[Any, Any, Any]:
    X, y = table(case["data"])
    alpha, ddof = float(case["model"] == "qda"), int(case["method"] == "moment")
    return tb.GaussianDiscriminant(own_covariance=alpha, ddof=ddof, priors=priors).fit(X, y), X, y


def same(log: Any, posterior: Any) -> None:
    """Posteriors to 1e-9; below 1e-12, where an error of log P is that of P, their logs to 1e-10; below 1e-300 MASS has
    no digits left."""
    log, posterior = np.asarray(log), np.asarray(posterior)
    large, none = posterior > 1e-12, posterior < 1e-300
    np.testing.assert_allclose(np.exp(log)[large], posterior[large], rtol=1e-9)
    small = ~large & ~none
    np.testing.assert_allclose(log[small], np.log(posterior[small]), rtol=1e-10)
    assert (log[none] < np.log(1e-299)).all()


def test_every_case_is_there() -> None:
    assert len({named(case) for case in CASES}) == len(CASES) == len(TABLES) * 2 * 2 * 2


@ALL
def test_posteriors(case: Any) -> None:
    priors = None if own(case) else case["prior"]
    model, X, y = fitted(case, priors)
    same(model.predict_log_proba(X[:: case["every"]]), case["posterior"])
    if case["method"] == "mle":
        kind = tb.LinearDiscriminantAnalysis if case["model"] == "lda" else tb.QuadraticDiscriminantAnalysis
        same(kind(priors=priors).fit(X, y).predict_log_proba(X[:: case["every"]]), case["posterior"])


@ALL
def test_leave_one_out(case: Any) -> None:
    model, X, y = fitted(case, case["prior"])
    rows = np.arange(0, len(y), case["every"])
    same(model.leave_one_out(X, y)[rows], case["left_out"])
    some = slice(None, None, 5)
    slow = [model.copy().forget(X[[i]], y[[i]]).predict_log_proba(X[[i]])[0] for i in rows[some]]
    same(slow, case["left_out"][some])


@LINEAR
def test_discriminant_coordinates(case: Any) -> None:
    """svd holds the standard deviations between classes, over those within; a column of scaling has no sign."""
    X, y = table(case["data"])
    model = tb.LinearDiscriminantAnalysis(priors=case["prior"]).fit(X, y)
    share = np.square(case["svd"]) / np.square(case["svd"]).sum()
    np.testing.assert_allclose(model.explained_variance_ratio_, share, rtol=1e-9)
    if case["method"] == "mle":
        scale = np.abs(case["scaling"])
        np.testing.assert_allclose(np.abs(model.scalings_), scale, rtol=1e-9, atol=1e-12 * scale.max())

"""What NaiveBayes() chooses does not depend on the order of rows, also beyond the sizes at which it samples them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tallybayes as tb
from tests.quick import examples


@pytest.mark.parametrize("n", [5_000, 20_000])
@given(seed=st.integers(0, 10**6), weights=st.booleans())
@settings(max_examples=examples(5), deadline=None)
def test_shuffled_rows_give_the_same_model(n: int, seed: int, weights: bool) -> None:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = np.column_stack([rng.normal(y * 0.3), rng.gamma(1 + y * 0.2), rng.poisson(1 + y), rng.integers(0, 3, n)])
    X = X[np.argsort(X[:, 0])] if seed % 2 else X  # sorted rows: the first ones are not like the others
    w = rng.integers(1, 3, n) / 2 if weights else None
    order = rng.permutation(n)
    one = tb.NaiveBayes().fit(X, y, w)
    two = tb.NaiveBayes().fit(X[order], y[order], None if w is None else w[order])
    assert [c.name for c in one.schema_.chosen.values()] == [c.name for c in two.schema_.chosen.values()]
    np.testing.assert_allclose(one.predict_proba(X[:500]), two.predict_proba(X[:500]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", [28, 60, 148, 221])
def test_scores_that_tie_up_to_rounding_choose_the_same_structure(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(6, 30))
    X, y = rng.choice(list("xyz"), (n, 4)), rng.choice(["u", "v"], n)
    y[:2] = ["u", "v"]
    order = rng.permutation(n)
    for model in (tb.TAN(), tb.KDB(), tb.KDB(select=False), tb.AnDE(n=2), tb.SPODE()):
        one, two = model.copy().fit(X, y), model.copy().fit(X[order], y[order])
        np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), rtol=0, atol=1e-9)

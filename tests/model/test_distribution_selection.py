"""NaiveBayes() chooses a distribution for each number, by leave-one-out, and says which and why."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.metrics import log_loss

import tallybayes as tb
from tallybayes.data.labels import read_target
from tallybayes.data.schema import Schema, infer_schema
from tallybayes.data.table import read_table
from tallybayes.datasets import load_census
from tallybayes.distributions import Gaussian, LogGaussian, distribution
from tallybayes.distributions.capabilities import ColumnLeaveOneOut, capability
from tallybayes.errors import MergeError, TableError
from tallybayes.io.model_document import to_document
from tallybayes.model import distribution_selection
from tallybayes.model.distribution_selection import CANDIDATES, Candidate, _halves, _sample, choose


def names(model: Any) -> list[str]:
    return [model.schema_.chosen[j].name for j in range(model.schema_.d)]


def table(n: int = 900, seed: int = 0) -> tuple[Any, Any]:
    """Columns that are normal, log-normal, counts, two heaps on either side of another, and a mass at 0."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    normal = rng.normal(size=n) + y
    sizes = np.exp(2 * rng.normal(size=n) + 2 * y)
    counts = rng.poisson(2.0 + 4.0 * y)
    heaps = np.where(y == 1, np.where(rng.random(n) < 0.5, -6.0, 6.0), 0.0) + rng.normal(size=n)
    zeros = np.where(rng.random(n) < 0.8 - 0.5 * y, 0.0, rng.exponential(1000.0, n))
    return np.column_stack([normal, sizes, counts, heaps, zeros]), y


def test_each_number_gets_what_suits_it() -> None:
    X, y = table()
    found = names(tb.NaiveBayes().fit(X, y))
    assert found[:2] == ["gaussian", "log-gaussian"]
    assert found[2] in ("poisson", "gaussian", "log-gaussian")
    assert found[3] in ("mdl", "kernel")
    assert found[4] == "mdl"


def test_a_plan_chooses_no_distribution_that_keeps_values_of_rows() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = pd.DataFrame({"a": np.where(y == 1, rng.choice([-3.0, 3.0], 400), 0.0) + rng.normal(size=400)})
    assert names(tb.NaiveBayes().fit(X, y)) == ["kernel"]
    plan = tb.NaiveBayes().plan(X.assign(y=y), "y")
    assert names(plan) in (["gaussian"], ["mdl"])
    assert "kernel" not in plan.schema_.chosen[0].losses
    local = plan.copy().partial_fit(X, y)
    held = np.concatenate([np.ravel(a) for a in to_document(local, {})[1] if a.dtype.kind == "f"])
    assert not np.isin(X["a"], held).any()
    assert tb.NaiveBayes("kernel").plan(X.assign(y=y), "y").fitted_.terms[0].distribution.name == "kernel"  # as asked
    assert names(local.fit(X, y)) == ["kernel"]  # a fit is no plan


def test_a_line_is_all_that_a_candidate_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(capability(distribution(c.name, {}), ColumnLeaveOneOut) for c in CANDIDATES)
    X, y = table()
    below = Candidate("poisson", lambda x: (x == np.floor(x)).all(axis=1))
    monkeypatch.setattr(distribution_selection, "CANDIDATES", (below, *(c for c in CANDIDATES if c.name == "mdl")))
    found = tb.NaiveBayes().fit(X, y).schema_.chosen
    assert set(found[2].losses) == {"poisson", "mdl"}
    assert set(found[0].losses) == {"mdl"}


def test_the_losses_are_those_of_a_model_of_the_column_alone() -> None:
    X, y = table(400)
    model = tb.NaiveBayes().fit(X, y)
    for j, name in ((0, "gaussian"), (1, "log-gaussian"), (2, "poisson"), (3, "kernel")):
        alone = tb.NaiveBayes(name).fit(X[:, [j]], y)
        log = alone.leave_one_out(X[:, [j]], y)
        loss = np.minimum(-log[np.arange(len(y)), y], 30.0).mean()
        near = 1e-3 if name == "kernel" else 1e-9  # a choice keeps the bandwidth of all rows
        assert model.schema_.chosen[j].losses[name] == pytest.approx(loss, rel=near)


def test_the_order_of_rows_and_repeated_columns_do_not_matter() -> None:
    X, y = table(500, seed=3)
    rng = np.random.default_rng(1)
    order = rng.permutation(len(y))
    whole = tb.NaiveBayes().fit(X, y).schema_
    turned = tb.NaiveBayes().fit(X[order], y[order]).schema_
    twice = tb.NaiveBayes().fit(np.concatenate([X, X]), np.concatenate([y, y])).schema_
    weighed = tb.NaiveBayes().fit(X, y, sample_weight=np.full(len(y), 2.0)).schema_
    for j in range(X.shape[1]):
        assert whole.chosen[j].name == turned.chosen[j].name
        for name, loss in twice.chosen[j].losses.items():
            assert weighed.chosen[j].losses[name] == pytest.approx(loss, rel=1e-9), name
    assert {j: c.losses for j, c in whole.chosen.items()} == {
        j: pytest.approx(dict(c.losses)) for j, c in turned.chosen.items()
    }


def test_halves_hold_all_rows_once() -> None:
    X, y = table(200)
    target = read_target(y, len(y), None)
    rows = _sample(read_table(X), tb.NaiveBayes().fit(X, y).schema_, [0], target, 1000)
    share = _halves(rows.key, rows.w)
    assert set(share.tolist()) == {0.0, 1.0}
    assert 70 < share.sum() < 130


def test_few_rows_and_one_class_keep_gaussians() -> None:
    X, y = table(20)
    assert set(names(tb.NaiveBayes().fit(X, y))) == {"gaussian"}
    X, y = table(100)
    assert set(names(tb.NaiveBayes().fit(X, np.zeros(100)))) == {"gaussian"}


def test_gaussian_is_the_old_way() -> None:
    X, y = table()
    model = tb.NaiveBayes("gaussian").fit(X, y)
    assert model.schema_.chosen == {}
    np.testing.assert_allclose(model.predict_proba(X), tb.GaussianNB().fit(X, y).predict_proba(X))


def test_auto_can_be_asked_for_a_column_and_dicts_leave_the_rest_to_it() -> None:
    X, y = table()
    model = tb.NaiveBayes({"x0": "kernel"}).fit(X, y)
    assert sorted(model.schema_.chosen) == [1, 2, 3, 4]
    model = tb.NaiveBayes({"real": "gaussian", "x1": "auto"}).fit(X, y)
    assert {j: c.name for j, c in model.schema_.chosen.items()} == {1: "log-gaussian"}
    model = tb.NaiveBayes("auto", schema={"x2": "count"}).fit(X, y)
    assert sorted(model.schema_.chosen) == [0, 1, 2, 3, 4]


def test_two_models_agree_through_the_schema() -> None:
    X, y = table()
    first = tb.NaiveBayes().fit(X[:500], y[:500])
    second = tb.NaiveBayes(schema=first.schema_).fit(X[500:], y[500:])
    both = first.copy().merge(second)
    whole = tb.NaiveBayes(schema=first.schema_).fit(X, y)
    np.testing.assert_allclose(both.predict_proba(X), whole.predict_proba(X), rtol=1e-9)
    with pytest.raises(MergeError, match=r"taken as 'gaussian' in one model and as .*schema=first.schema_"):
        tb.NaiveBayes("gaussian", schema=Schema(("real",) * 5)).fit(X, y).merge(whole)


def test_more_rows_keep_the_choice(tmp_path: Any) -> None:
    X, y = table()
    model = tb.NaiveBayes().partial_fit(X[:600], y[:600])
    before = names(model)
    model.partial_fit(X[600:], y[600:]).forget(X[:100], y[:100])
    assert names(model) == before
    tb.save(model, tmp_path / "model.tally")
    again = tb.load(tmp_path / "model.tally")
    assert again.schema_.chosen == model.schema_.chosen
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_whole_counts_of_a_sparse_matrix_are_multinomial() -> None:
    rng = np.random.default_rng(0)
    X = scipy.sparse.csr_matrix(rng.poisson(0.3, (200, 30)))
    y = rng.integers(0, 2, 200)
    model = tb.NaiveBayes().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), tb.MultinomialNB().fit(X, y).predict_proba(X))
    assert set(names(model)) == {"multinomial"}
    assert set(names(tb.NaiveBayes().fit(X * 0.5, y))) == {"gaussian"}


def test_missing_values_and_infinities() -> None:
    X, y = table()
    X[::3, 1] = np.nan
    X[:, 4] = np.nan
    found = names(tb.NaiveBayes().fit(X, y))
    assert found[1] == "log-gaussian"
    assert found[4] == "gaussian"
    X[5, 0] = np.inf
    with pytest.raises(tb.errors.TableError, match="'x0' has inf"):
        tb.NaiveBayes().fit(X, y)


def test_census_is_predicted_well() -> None:
    people, income = load_census()
    income = np.asarray(income)
    for tempered, most in ((False, 0.42), (True, 0.305)):
        model = tb.NaiveBayes(tempered=tempered).fit(people[:7000], income[:7000])
        assert log_loss(income[7000:], model.predict_proba(people[7000:])) <= most
    assert "tempered=True" in tb.NaiveBayes().fit(people[:500], income[:500]).summary()


def test_log_gaussian_is_a_gaussian_of_logarithms_and_a_share_of_the_rest() -> None:
    rng = np.random.default_rng(2)
    x = np.exp(rng.normal(size=(60, 2)))
    x[:7, 0] = [0.0, -1.0, 0.0, np.nan, -5.0, 0.0, np.nan]
    y = rng.integers(0, 2, 60)
    model = tb.NaiveBayes(LogGaussian(alpha=0.5)).fit(x, y)
    log = np.where(x > 0, np.log(np.where(x > 0, x, 1.0)), np.nan)
    normal = tb.NaiveBayes(Gaussian()).fit(log, y)
    joint = normal.predict_joint_log_proba(log) - np.nansum(log, axis=1)[:, None]
    for c in (0, 1):
        n, zero = (~np.isnan(x[y == c])).sum(axis=0), (x[y == c] <= 0).sum(axis=0)
        share = (zero + 0.5) / (n + 1.0)
        joint[:, c] += np.where(x > 0, np.log1p(-share), np.where(x <= 0, np.log(share), 0.0)).sum(axis=1)
    np.testing.assert_allclose(model.predict_joint_log_proba(x), joint, rtol=1e-12)
    drawn = model.sample(500, random_state=0)[0]
    assert (drawn >= 0).all()
    assert (drawn[:, 0] == 0).any()


def test_nothing_to_choose_changes_nothing() -> None:
    X, y = table(50)
    target, read = read_target(y, 50, None), read_table(X)
    schema = infer_schema(read, None)
    assert choose(read, schema, [], {}, target) is schema


def test_a_number_too_large_to_square_is_refused_by_its_name() -> None:
    X, y = table(60)
    X[7, 1] = 1e300
    with pytest.raises(TableError, match=r"Column 'x1' has values of the size of 1e\+300"):
        tb.NaiveBayes().fit(X, y)


def test_a_smoothing_that_is_chosen_is_the_same_for_every_kind_of_table() -> None:
    import pandas as pd
    from scipy import sparse

    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 3)).round(1), np.array(["a", "b"] * 30)
    expected = tb.GaussianNB(var_smoothing="auto").fit(X, y).predict_proba(X)
    frame = pd.DataFrame({"u": X[:, 0], "v": X[:, 1], "w": X[:, 2]})
    for table in (sparse.csr_matrix(X), frame, frame.astype({"v": object})):
        np.testing.assert_allclose(tb.GaussianNB(var_smoothing="auto").fit(table, y).predict_proba(table), expected)


def test_where_there_is_nothing_to_smooth_or_one_class() -> None:
    assert tb.GaussianNB(var_smoothing="auto").fit([[1.0], [2.0]], ["a", "a"]).predict([[9.0]]).tolist() == ["a"]
    words = [{"w": "x"}, {"w": "y"}] * 3
    plain = tb.NaiveBayes().fit(words, ["a", "b"] * 3).predict_proba(words)
    np.testing.assert_array_equal(
        tb.NaiveBayes(var_smoothing="auto").fit(words, ["a", "b"] * 3).predict_proba(words), plain
    )


def test_a_summary_of_many_columns_and_of_a_temperature() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 60)), np.array(["a", "b"] * 20)
    reported = tb.NaiveBayes("gaussian", tempered=True).fit(X, y).summary()
    assert "40 rows, 60 columns, 2 classes." in reported
    assert re.search(r"… and \d+ more: print\(schema_\)", reported)
    assert re.search(r"The log-likelihood counts [\d.e-]+ times \(tempered=True\)", reported)

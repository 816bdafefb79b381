"""memory='sample' and 'hashes': statistics as with 'sums'; rows that can be relearned, or only recognised."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import tallybayes as tb
from tallybayes.data import row_hashes, row_store
from tallybayes.data.labels import read_target
from tallybayes.data.table import read_table
from tallybayes.errors import ForgetError, MergeError, ModelFileError, OptionError
from tests.every_estimator import ESTIMATORS, LEARNED, interactions, labels
from tests.laws.test_learning_is_adding import take

EVERY = {name: each for name, each in {**ESTIMATORS, **LEARNED}.items() if not name.startswith("BayesClassifier")}
N, HALF = 60, 30


def fitted(name: str, memory: str) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(3)
    X, y = EVERY[name][1](rng, N), labels(rng, N)
    return EVERY[name][0]().set_params(memory=memory).fit(X, y), X, y


@pytest.mark.parametrize("memory", ["sample", "hashes"])
@pytest.mark.parametrize("name", EVERY)
def test_statistics_are_those_of_sums_and_unknown_rows_are_refused(name: str, memory: str) -> None:
    model, X, y = fitted(name, memory)
    sums = fitted(name, "sums")[0]
    some, rest = np.arange(6), np.arange(6, N)
    np.testing.assert_array_equal(model.predict_proba(X), sums.predict_proba(X))
    model, sums = model.forget(take(X, some), y[some]), sums.forget(take(X, some), y[some])
    np.testing.assert_array_equal(model.predict_proba(X), sums.predict_proba(X))
    before = tb.to_bytes(model)
    with pytest.raises(ForgetError, match="rows were never learned"):
        model.forget(take(X, some), y[some])
    assert tb.to_bytes(tb.from_bytes(before)) == before == tb.to_bytes(model)
    plan = model.empty()
    parts = [plan.copy().partial_fit(take(X, at), y[at]) for at in (rest[:20], rest[20:])]
    merged = tb.merge_all(parts)
    np.testing.assert_allclose(parts[0].merge(parts[1]).predict_proba(X), merged.predict_proba(X), atol=1e-9)
    for one in (merged, parts[0]):
        one.forget(take(X, rest[:30]), y[rest[:30]])
        with pytest.raises(ForgetError):
            one.forget(take(X, rest[:30]), y[rest[:30]])


@pytest.mark.parametrize("name", EVERY)
def test_a_sample_of_all_rows_makes_every_choice_again(name: str) -> None:
    model, X, y = fitted(name, "sample")
    model.forget(take(X, np.arange(HALF)), y[:HALF])
    if model.provenance_:
        assert {choice.renew for choice in model.provenance_.values()} == {"relearn()"}
    model.relearn()
    assert not any(choice.forgotten for choice in model.provenance_.values())
    left = np.arange(HALF, N)
    again = EVERY[name][0]().set_params(memory="rows").fit(take(X, left), y[left])
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))


def test_a_sample_is_bounded_and_does_not_depend_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_store, "SAMPLE_BYTES", 0)
    monkeypatch.setattr(row_store, "MIN_SAMPLE", 100)
    X, y = interactions(np.random.default_rng(0), 420)
    made = tb.NaiveBayes(memory="sample")
    whole = clone(made).fit(X, y)
    held = whole._rows.n
    assert 25 < held <= 100  # a power of two bounds the hashes
    parts = [whole.empty().partial_fit(X[a::3], y[a::3]) for a in range(3)]
    np.testing.assert_array_equal(tb.merge_all(parts)._rows.key, whole._rows.key)
    sums = tb.NaiveBayes().fit(X, y)
    kept = [any((row_store.store_of(*_one(X, y, i)).key == whole._rows.key).all(axis=1)) for i in range(420)]
    inside, outside = kept.index(True), kept.index(False)
    for i in (inside, outside):
        whole.forget(X[i : i + 1], y[i : i + 1])
        sums.forget(X[i : i + 1], y[i : i + 1])
    assert whole._rows.n == held - 1
    np.testing.assert_array_equal(whole.predict_proba(X), sums.predict_proba(X))
    with pytest.raises(ForgetError):
        whole.forget(X[inside : inside + 1], y[inside : inside + 1])
    with pytest.raises(OptionError, match="does not keep all rows"):
        whole.relearn()
    assert whole.provenance_["bins"].renew == "relearn(X, y) with the rows that remain"
    assert tb.from_bytes(tb.to_bytes(whole))._rows.limit == whole._rows.limit


def _one(X: Any, y: Any, i: int) -> tuple[Any, Any]:
    return read_table(X[i : i + 1]), read_target(y[i : i + 1], 1, None)


def test_hashes_find_a_row_in_any_table_and_order_of_columns() -> None:
    X, y = interactions(np.random.default_rng(0), 420)
    model = tb.BayesClassifier("fast", memory="hashes").fit(X, y)
    assert len(model._hashes.hash) == 420
    model.forget_one(X.iloc[3].to_dict(), y[3])
    model.forget(X[X.columns[::-1]][4:5], y[4:5])
    assert len(model._hashes.hash) == 418
    with pytest.raises(ForgetError):
        model.forget(X[3:4], y[3:4])
    with pytest.raises(ForgetError):
        model.forget(X[5:6], ["a" if y[5] != "a" else "b"])
    model.decay(0.5).forget(X[5:6], y[5:6], sample_weight=[0.5])


def test_a_dict_may_leave_out_what_is_missing() -> None:
    X, y = interactions(np.random.default_rng(0), 60)
    X.loc[3, "town"], X.loc[4, "east"] = None, np.nan
    for memory in ("hashes", "sample", "rows"):
        model = tb.NaiveBayes(memory=memory).fit(X, y)
        for i in (3, 4):
            model.forget_one({k: v for k, v in X.iloc[i].to_dict().items() if v == v and v is not None}, y[i])
        with pytest.raises(ForgetError):
            model.forget(X[3:4], y[3:4])


def test_the_key_of_hashes_is_random_and_in_the_file_or_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = interactions(np.random.default_rng(0), 60)
    one, two = (tb.NaiveBayes(memory="hashes").fit(X, y) for _ in range(2))
    assert not set(one._hashes.hash.tolist()) & set(two._hashes.hash.tolist())
    assert one._hashes.key.hex().encode() in tb.to_bytes(one)
    with pytest.raises(MergeError, match="hashed with different keys"):
        one.copy().merge(two)
    tb.from_bytes(tb.to_bytes(one)).forget(X, y)
    monkeypatch.setenv(row_hashes.KEY, "a secret")
    one.forget(X[:1], y[:1])  # with its own key
    keyed, same = (tb.NaiveBayes(memory="hashes").fit(X, y) for _ in range(2))
    keyed.merge(same).forget(X, y).forget(X[:5], y[:5])
    assert not any(held in tb.to_bytes(keyed) for held in (b"a secret", b"a secret".hex().encode()))
    monkeypatch.setenv(row_hashes.KEY, "another")
    with pytest.raises(OptionError, match="another key"):
        keyed.forget(X[5:6], y[5:6])


def test_what_is_noted_of_a_row_leaves_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """No hash of a forgotten row is left: not its own, and not as the limit of the sample."""
    monkeypatch.setattr(row_store, "SAMPLE_BYTES", 0)
    monkeypatch.setattr(row_store, "MIN_SAMPLE", 100)
    X, y = interactions(np.random.default_rng(0), 420)
    for memory in ("hashes", "sample"):
        model = tb.NaiveBayes(memory=memory).fit(X, y)
        rows = row_store.store_of(read_table(X[:200]), read_target(y[:200], 200, None))
        gone = rows.key if memory == "sample" else row_hashes.hashes_of(rows, model._hashes.key).hash[:, None]
        patterns = [key.tobytes() for pair in gone for key in pair]
        assert any(pattern in pickle.dumps(model) for pattern in patterns)
        model.forget(X[:200], y[:200])
        blobs = (pickle.dumps(model), pickle.dumps(model.__dict__.get("_rows")), tb.to_bytes(model))
        assert not any(pattern in blob for pattern in patterns for blob in blobs)
        limit = model._rows.limit if memory == "sample" else row_store.ALL
        assert limit & (limit - 1) == 0


def test_what_makes_no_sense_is_refused(tmp_path: Any) -> None:
    X, y = interactions(np.random.default_rng(0), 60)
    for memory in ("sample", "hashes"):
        with pytest.raises(OptionError, match="half_life"):
            tb.NaiveBayes(memory=memory, half_life=10).fit(X, y)
        with pytest.raises(OptionError, match="after the fit"):
            tb.NaiveBayes().fit(X, y).set_params(memory=memory).forget(X[:1], y[:1])
        with pytest.raises(MergeError, match="same memory"):
            tb.NaiveBayes(memory=memory).fit(X, y).merge(tb.NaiveBayes().fit(X, y))
        X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
        model = tb.NaiveBayes(memory=memory).learn_from(str(tmp_path / "rows.parquet"), "y")
        model.learn_from(str(tmp_path / "rows.parquet"), "y").forget(X, y).forget(X[:9], y[:9])
        with pytest.raises(ForgetError):
            model.forget(X[:9], y[:9])
    with pytest.raises(OptionError, match="does not keep all rows"):
        tb.NaiveBayes(memory="hashes").fit(X, y).relearn()


@pytest.mark.parametrize(
    "damage", [{"hash": np.zeros(2, np.uint64)}, {"w": None}, {"check": 1}, {"key": "no hex"}, {"more": 1}]
)
def test_damaged_hashes_in_a_file_are_refused(damage: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    model = tb.GaussianNB(memory="hashes").fit([[1.0], [2.0]], ["a", "b"])
    whole = row_hashes.pack(model._hashes)
    monkeypatch.setattr(row_hashes, "pack", lambda _: {**whole, **damage})
    with pytest.raises(ModelFileError):
        tb.from_bytes(tb.to_bytes(model))

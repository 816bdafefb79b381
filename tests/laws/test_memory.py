"""memory='rows': any order of fit, partial_fit, forget and merge gives the bits of a fit on the rows that are left."""

from __future__ import annotations

import datetime as dt
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone

import tallybayes as tb
from tallybayes.errors import ForgetError, MergeError, ModelFileError, OptionError, TableError
from tests.command_line import run
from tests.every_estimator import ESTIMATORS, LEARNED, all_components, interactions, labels
from tests.laws.test_learning_is_adding import take

EVERY = {**ESTIMATORS, **LEARNED}
KEEPERS = [name for name in EVERY if name.split()[0] not in ("BayesClassifier",)] + ["BayesClassifier"]
N, HALF = 60, 30


def keeping(name: str) -> Any:
    return EVERY[name][0]().set_params(memory="rows")


@pytest.mark.parametrize("name", KEEPERS)
def test_any_way_to_the_same_rows_gives_the_same_bits(name: str) -> None:
    rng = np.random.default_rng(3)
    X, y = EVERY[name][1](rng, N), labels(rng, N)
    rows = np.arange(N)
    A, B, order = take(X, rows[:HALF]), take(X, rows[HALF:]), rng.permutation(HALF)
    whole = tb.to_bytes(keeping(name).fit(X, y))
    half = tb.to_bytes(keeping(name).fit(A, y[:HALF]))
    back = keeping(name).fit(B, y[HALF:]).partial_fit(A, y[:HALF])
    assert tb.to_bytes(back) == whole
    assert tb.to_bytes(back.forget(B, y[HALF:])) == half
    assert tb.to_bytes(keeping(name).fit(take(X, order), y[order])) == half
    other = keeping(name).fit(B, y[HALF:])
    assert tb.to_bytes(keeping(name).fit(A, y[:HALF]).merge(other)) == whole
    assert tb.to_bytes(tb.merge_all([other, keeping(name).fit(A, y[:HALF])])) == whole
    assert tb.to_bytes(pickle.loads(pickle.dumps(tb.from_bytes(whole))).forget(B, y[HALF:])) == half


def test_every_choice_of_an_ensemble_is_made_again() -> None:
    X, y = interactions(np.random.default_rng(0), 420)
    X.loc[400, "town"], X.loc[401, "east"] = "nowhere", 1e6
    made = all_components().set_params(memory="rows")
    left = np.r_[0:400, 402:420]
    whole = clone(made).fit(X, y)
    assert not np.array_equal(whole.predict_proba(X), clone(made).fit(X.iloc[left], y[left]).predict_proba(X))
    assert tb.to_bytes(whole.forget(X[400:402], y[400:402])) == tb.to_bytes(clone(made).fit(X.iloc[left], y[left]))


@pytest.mark.parametrize("table", ["numpy", "sparse", "dicts", "weights", "dates"])
def test_every_kind_of_table(table: str) -> None:
    rng = np.random.default_rng(1)
    X: Any = rng.poisson(1.0, size=(80, 4)).astype(float)
    y, w = rng.integers(0, 2, 80), np.ones(80)
    if table == "sparse":
        X = sparse.csr_matrix(X)
    if table == "dicts":
        X = np.array([{"a": a, "b": "xyz"[int(b) % 3], **({} if c else {"c": True})} for a, b, c, _ in X.tolist()])
    if table == "weights":
        w = rng.integers(1, 4, 80) / 2
    if table == "dates":
        X = pd.DataFrame(
            {"t": pd.Timestamp("2021-03-04") + pd.to_timedelta(X[:, 0], "D"), "s": pd.Categorical(X[:, 1])}
        )

    def some(rows: Any) -> tuple[Any, Any, Any]:
        return X[rows].tolist() if table == "dicts" else take(X, rows), y[rows], w[rows]

    all_rows = np.arange(80)
    expected = tb.NaiveBayes(memory="rows").fit(*some(all_rows[:50]))
    found = tb.NaiveBayes(memory="rows").fit(*some(all_rows)).forget(*some(all_rows[50:]))
    left = some(all_rows[:50])[0]  # the name of a category that no row has any more is gone, as if it were unseen
    np.testing.assert_array_equal(found.predict_proba(left), expected.predict_proba(left))


def test_a_row_given_as_a_dict_is_the_row_of_the_frame() -> None:
    X, y = interactions(np.random.default_rng(0), 60)
    model = tb.NaiveBayes(memory="rows").fit(X, y)
    before = tb.to_bytes(model)
    row = X.iloc[7].to_dict()
    model.forget_one(row, y[7])
    assert tb.to_bytes(model) == tb.to_bytes(tb.NaiveBayes(memory="rows").fit(X.drop(7), np.delete(y, 7)))
    assert tb.to_bytes(model.learn_one(row, y[7])) == before


@pytest.mark.parametrize("memory", ["rows", "sample", "hashes"])
def test_a_date_is_the_same_in_whatever_form_it_comes(memory: str) -> None:
    """A row that was learned from a frame may be forgotten from a file or a request, where its date is a string."""
    rng = np.random.default_rng(0)
    when = pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000, 40), "D")
    at = [dt.time(m // 60, m % 60) for m in rng.integers(0, 1440, 40).tolist()]
    X, y = pd.DataFrame({"when": when, "at": pd.Series(at, dtype=object), "a": rng.normal(size=40)}), labels(rng, 40)
    fitted = tb.NaiveBayes(memory=memory).fit(X, y)
    before = fitted.predict_proba(X)
    day, rest = X.when[3], {"at": at[3], "a": X.a[3]}
    forms: list[Any] = [{"when": v, **rest} for v in (day, day.to_pydatetime(), day.date(), str(day.date()))]
    forms += [{"when": day.isoformat(), "at": str(at[3]), "a": X.a[3]}]
    tables = [[form] for form in forms] + [pd.DataFrame([forms[3]]), pa.Table.from_pylist([forms[2]])]
    for table in tables:
        model = fitted.copy().forget(table, y[3:4])
        assert model.class_count_.sum() == 39
        np.testing.assert_allclose(model.partial_fit(table, y[3:4]).predict_proba(X), before, rtol=0, atol=1e-9)
    with pytest.raises(ForgetError):
        fitted.forget([{**forms[3], "when": "1999-01-01"}], y[3:4])


def test_what_was_never_learned_is_refused_and_nothing_changes() -> None:
    X, y = interactions(np.random.default_rng(0), 60)
    model = tb.NaiveBayes(memory="rows").fit(X[:50], y[:50])
    before = tb.to_bytes(model)
    with pytest.raises(ForgetError, match="10 of the 12 rows were never learned"):
        model.forget(X[48:], y[48:])
    with pytest.raises(ForgetError, match="1 of the 2"):
        model.forget(X.iloc[[3, 3]], y[[3, 3]])
    with pytest.raises(ForgetError):
        model.forget(X[:1], ["a" if y[0] != "a" else "b"])
    with pytest.raises(ForgetError):
        model.forget(X[:1], y[:1], sample_weight=[2.0])
    assert tb.to_bytes(model) == before


@pytest.mark.parametrize("make", [tb.GaussianNB, tb.TAN, tb.BayesClassifier])
def test_a_prior_that_does_not_suit_new_classes_is_refused_at_once(make: Any) -> None:
    X, y = np.arange(12.0)[:, None], np.repeat(["a", "b"], 6)
    model = make(priors=[0.3, 0.7], memory="rows").fit(X, y)
    before = tb.to_bytes(model)
    with pytest.raises(OptionError, match="got 2 for 3 classes"):
        model.partial_fit([[3.0], [4.0]], ["c", "c"])
    with pytest.raises(OptionError, match="got 2 for 3 classes"):
        model.learn_one({"x0": 3.0}, "c")
    with pytest.raises(OptionError, match="got 2 for 1 classes"):
        model.forget(X[6:], y[6:])
    assert tb.to_bytes(model) == before


def test_balanced_weights_and_a_temperature_follow_the_rows() -> None:
    X, y = interactions(np.random.default_rng(0), 90)
    made = tb.NaiveBayes(memory="rows", class_weight="balanced", tempered=True)
    found, expected = clone(made).fit(X, y).forget(X[60:], y[60:]), clone(made).fit(X[:60], y[:60])
    assert found.temperature_ == expected.temperature_
    assert tb.to_bytes(found) == tb.to_bytes(expected)
    assert tb.to_bytes(found.partial_fit(X[60:], y[60:])) == tb.to_bytes(clone(made).fit(X, y))


def test_all_rows_can_be_forgotten_and_learned_again() -> None:
    X, y = interactions(np.random.default_rng(0), 60)
    model = tb.NaiveBayes(memory="rows").fit(X, y)
    before = tb.to_bytes(model)
    assert tb.to_bytes(model.forget(X, y).partial_fit(X, y)) == before
    assert model.empty().partial_fit(X, y).decay(0.5).class_count_.sum() == 30


def test_options_that_make_no_sense_are_refused() -> None:
    X, y = interactions(np.random.default_rng(0), 60)
    with pytest.raises(OptionError, match=r"memory of GaussianNB must be 'sums' .*'rows' \(all rows\); got 'all'"):
        tb.GaussianNB(memory="all").fit(X[["east"]], y)
    with pytest.raises(OptionError, match="half_life"):
        tb.NaiveBayes(memory="rows", half_life=10).fit(X, y)
    with pytest.raises(OptionError, match="after the fit"):
        tb.NaiveBayes().fit(X, y).set_params(memory="rows").forget(X[:1], y[:1])
    with pytest.raises(MergeError, match="same memory"):
        tb.NaiveBayes(memory="rows").fit(X, y).merge(tb.NaiveBayes().fit(X, y))
    changed = tb.NaiveBayes(memory="rows").fit(X, y).set_params(memory="sums")
    assert len(tb.to_bytes(changed.partial_fit(X[:5], y[:5]))) < len(tb.to_bytes(tb.NaiveBayes().fit(X, y))) + 99


def test_a_file_whose_rows_are_damaged_is_refused() -> None:
    from tallybayes.data.packed_rows import pack, unpack

    X, y = interactions(np.random.default_rng(0), 20)
    packed = pack(tb.NaiveBayes(memory="rows").fit(X, y)._rows)
    unpack(packed)
    for key, value in {"y": None, "w": packed["y"], "classes": "ab", "names": ["a"], "columns": [], "csr": [1]}.items():
        with pytest.raises(ValueError):
            unpack({**packed, key: value})
    longer = {**packed["w"], "shape": [10**9]}
    with pytest.raises(ValueError, match="longer or shorter"):
        unpack({**packed, "w": longer})


def test_a_file_without_its_rows_is_refused() -> None:
    model = tb.GaussianNB(memory="rows").fit([[1.0], [2.0]], ["a", "b"])
    del model.__dict__["_rows"]
    with pytest.raises(ModelFileError, match="against its memory"):
        tb.to_bytes(model)


def test_rows_of_files_are_kept(tmp_path: Any) -> None:
    X, y = interactions(np.random.default_rng(0), 60)
    X.assign(y=y).to_parquet(tmp_path / "rows.parquet")
    model = tb.NaiveBayes(memory="rows").learn_from(str(tmp_path / "rows.parquet"), "y")
    other = tb.NaiveBayes(memory="rows").fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    np.testing.assert_array_equal(
        model.forget(X[:9], y[:9]).predict_proba(X), other.forget(X[:9], y[:9]).predict_proba(X)
    )


@pytest.mark.filterwarnings("ignore::tallybayes.errors.IdentifierColumnWarning")
@pytest.mark.parametrize("memory", ["rows", "sample", "hashes"])
def test_rows_with_identifiers_go_in_and_out_of_files(tmp_path: Any, memory: str) -> None:
    """A column that no model reads is part of what a row is known by, so a file is read with it."""
    X, y = interactions(np.random.default_rng(0), 160)
    X = X.assign(person=[f"person-{i:05d}" for i in range(160)], y=y)
    for name, some in {"first": X[:120], "more": X[120:], "gone": X[147:148]}.items():
        some.to_parquet(tmp_path / f"{name}.parquet")
    model = tb.NaiveBayes(memory=memory).learn_from(str(tmp_path / "first.parquet"), "y")
    assert "id" in {g.what for g in model.schema_.input_columns}
    model.learn_from(str(tmp_path / "more.parquet"), "y")
    tb.save(model, tmp_path / "model.tb")
    model.forget_from(str(tmp_path / "gone.parquet"), "y")
    assert model.class_count_.sum() == 159
    run("forget", tmp_path / "model.tb", tmp_path / "gone.parquet", "-t", "y")
    assert tb.load(tmp_path / "model.tb").class_count_.sum() == 159
    with pytest.raises(ForgetError):
        model.forget_from(str(tmp_path / "gone.parquet"), "y")
    assert b"person-00147" not in tb.to_bytes(model)


@pytest.mark.parametrize("make", [tb.CategoricalNB, tb.NaiveBayes, tb.TAN, tb.BayesClassifier])
def test_rows_of_another_type_are_refused_at_once(make: Any) -> None:
    X = pd.DataFrame({"a": [1, 2, 3, 1, 2, 3] * 10, "b": list("uvwuvw") * 10})
    y = ["p", "q"] * 30
    model = make(memory="rows").fit(X, y)
    before = model.predict_proba(X)
    for bad in ({"a": ["False", "x"], "b": ["u", "v"]}, {"a": [1, 2], "b": [1, 2]}):
        with pytest.raises(TableError, match=r"Column '[ab]'"):
            model.partial_fit(pd.DataFrame(bad), ["p", "q"])
        np.testing.assert_array_equal(model.predict_proba(X), before)
    with pytest.raises(TableError, match="Column 'b' cannot hold values like 'w'"):
        model.merge(make(memory="rows").fit(X.assign(b=1.5), y))
    np.testing.assert_array_equal(model.predict_proba(X), before)

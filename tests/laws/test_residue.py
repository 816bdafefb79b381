"""After forget, nothing that only forgotten rows had is in anything a model can be written to.

200 rare values (numbers with 9 digits, names, words, dates, ids) are written into a random table, learned and
forgotten; then every byte pattern of each of them is looked for.
"""

from __future__ import annotations

import json
import pickle
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tallybayes import export
from tallybayes.ensemble.canonical_order import _of_label, mix
from tallybayes.errors import ExportError, OptionError

N, RARE = 240, 25
NUMBERS, NAMED = ["age", "salary"], ["job", "id"]
MODELS: dict[str, tuple[Callable[[], Any], list[str]]] = {
    "NaiveBayes": (tb.NaiveBayes, ["age", "salary", "job", "note", "when", "id"]),
    "NaiveBayes frequency": (lambda: tb.NaiveBayes("frequency"), NUMBERS),
    "NaiveBayes width": (lambda: tb.NaiveBayes("width"), NUMBERS),
    "NaiveBayes category": (tb.NaiveBayes, ["kind", "age"]),
    "NaiveBayes tempered": (lambda: tb.NaiveBayes(tempered=True), [*NUMBERS, "job"]),
    "GaussianNB": (tb.GaussianNB, NUMBERS),
    "KernelNB": (tb.KernelNB, NUMBERS),
    "PoissonNB": (tb.PoissonNB, ["visits"]),
    "MultinomialNB": (tb.MultinomialNB, ["visits", "calls"]),
    "ComplementNB": (tb.ComplementNB, ["visits", "calls"]),
    "BernoulliNB": (tb.BernoulliNB, NUMBERS),
    "CategoricalNB": (tb.CategoricalNB, NAMED),
    "LinearDiscriminantAnalysis": (tb.LinearDiscriminantAnalysis, NUMBERS),
    "QuadraticDiscriminantAnalysis": (tb.QuadraticDiscriminantAnalysis, NUMBERS),
    "GaussianDiscriminant": (tb.GaussianDiscriminant, NUMBERS),
    "RegularizedDiscriminantAnalysis": (tb.RegularizedDiscriminantAnalysis, NUMBERS),
    "TAN": (tb.TAN, [*NUMBERS, "job", "kind"]),
    "SPODE": (tb.SPODE, [*NUMBERS, "job", "when"]),
    "KDB": (tb.KDB, [*NUMBERS, "job"]),
    "AODE": (tb.AODE, [*NUMBERS, *NAMED]),
    "AnDE": (tb.AnDE, [*NUMBERS, "job"]),
    "BayesNetwork": (lambda: tb.BayesNetwork("job -> age"), [*NUMBERS, "job"]),
    "BayesClassifier": (tb.BayesClassifier, ["age", "salary", "job", "note", "when", "id", "kind"]),
    "BayesClassifier fast": (lambda: tb.BayesClassifier("fast"), [*NUMBERS, *NAMED]),
}


def table(seed: int) -> tuple[pd.DataFrame, Any, list[int]]:
    """Rows, labels, and which rows have a rare value in every column."""
    rng = np.random.default_rng(seed)
    words = ["the", "quick", "brown", "fox", "jumps", "over", "lazy", "dogs", "every", "day", "in", "may"]
    X = pd.DataFrame(
        {
            "age": rng.normal(40, 10, N).round(2),
            "salary": rng.lognormal(10, 1, N).round(),
            "job": rng.choice(["clerk", "nurse", "pilot"], N),
            "note": [" ".join(rng.choice(words, 6)) for _ in range(N)],
            "when": pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3000, N), "D"),
            "id": rng.choice([f"site {i}" for i in range(9)], N),
            "kind": rng.choice(["a", "b"], N),
            "visits": rng.poisson(3.0, N).astype(float),
            "calls": rng.poisson(5.0, N).astype(float),
        }
    )
    y = np.where(X.age + rng.normal(size=N) * 9 > 40, "yes", "no")
    at = rng.choice(N, RARE, replace=False).tolist()
    for i, row in enumerate(at):
        X.loc[row, "age"] = round(float(rng.uniform(-500, 900)), 6)
        X.loc[row, "salary"] = float(rng.integers(10**8, 10**9))
        X.loc[row, "job"] = f"rarejob{rng.integers(10**8):08d}"
        X.loc[row, "note"] += f" rareword{''.join(rng.choice(list('bcdfgh'), 9))}"
        X.loc[row, "when"] = pd.Timestamp("1903-01-01") + pd.Timedelta(int(rng.integers(10**8, 10**9)), "s")
        X.loc[row, "id"] = f"9{rng.integers(10**8):08d}-{i}"
        X.loc[row, "kind"] = f"rarekind{rng.integers(10**8):08d}"
        X.loc[row, ["visits", "calls"]] = rng.integers(10**8, 10**9, 2).astype(float)
    X["kind"] = X["kind"].astype("category")
    return X, y, at


def patterns(X: pd.DataFrame, columns: list[str], rows: list[int]) -> Iterator[tuple[str, bytes]]:
    for name in columns:
        for v in X[name].iloc[rows]:
            if isinstance(v, float):
                texts = [repr(v), f"{v:.6f}"] if v != int(v) else [str(int(v))]
                yield f"{name} {v}", np.float64(v).tobytes()
                yield f"{name} {v} as float32", np.float32(v).tobytes()
            elif isinstance(v, pd.Timestamp):
                texts = [v.isoformat(), str(v)]
                for unit in ("s", "ms", "us", "ns"):
                    yield f"{name} {v}", v.to_datetime64().astype(f"M8[{unit}]").tobytes()
                yield f"{name} {v} in days", np.float64(v.timestamp() / 86_400).tobytes()
            else:
                texts = [v.split()[-1]]
            for text in texts:
                yield f"{name} {text}", text.encode()
                yield f"{name} {text} in UTF-16", text.encode("utf-16-le")


def written(model: Any) -> dict[str, bytes]:
    """Everything that a model can be written to."""
    assert model.predictor_.fitted.prior is not None  # the pickle holds what was estimated, too
    found = {"file": tb.to_bytes(model), "pickle": pickle.dumps(model)}
    found["repr"] = f"{model.schema_}{model.schema_.levels}{model.schema_.cuts}".encode()
    ways: dict[str, Callable[[], Any]] = {
        "json": lambda: json.dumps(export.to_json(model)),
        "js": lambda: export.to_js(model),
        "sql": lambda: export.to_sql(model),
        "onnx": lambda: export.to_onnx(model).SerializeToString(),
    }
    for name, way in ways.items():
        try:
            made = way()
        except (ExportError, OptionError, ImportError):
            continue
        found[name] = made if isinstance(made, bytes) else str(made).encode()
    rows = model.__dict__.get("_rows")
    if rows is not None:
        found["rows"] = pickle.dumps(rows)
        from tallybayes.data.packed_rows import pack

        arrays = [v["data"] for v in _dicts(pack(rows)) if "data" in v]
        found["rows, decompressed"] = b"".join(zlib.decompress(a.tobytes()) for a in arrays)
    return found


def _dicts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _dicts(inner)


def residue(model: Any, X: pd.DataFrame, columns: list[str], rows: list[int]) -> set[str]:
    blobs = written(model)
    return {
        f"{what} in {where}" for what, bits in patterns(X, columns, rows) for where, b in blobs.items() if bits in b
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "memory"),
    [
        *((name, "default") for name in MODELS),
        *((name, memory) for name in ("NaiveBayes", "TAN", "AODE") for memory in ("hashes", "sample", "rows")),
        *(("BayesClassifier", memory) for memory in ("sums", "hashes", "rows")),
    ],
)
def test_nothing_is_left_of_forgotten_rows(name: str, memory: str) -> None:
    make, columns = MODELS[name]
    X, y, rare = table(sum(map(ord, name)))
    X = X[columns]
    model = make().set_params(**({} if memory == "default" else {"memory": memory})).fit(X, y)
    assert residue(model, X, columns, rare) or name in SUMS_ALONE  # what is looked for can be found
    model.forget(X.iloc[rare[:-1]], y[rare[:-1]]).forget_one(X.iloc[rare[-1]].to_dict(), y[rare[-1]])
    assert residue(model, X, columns, rare) == set()
    left = np.setdiff1d(np.arange(N), rare)
    assert np.isfinite(model.predict_proba(X.iloc[left])).all()
    assert np.isfinite(tb.from_bytes(tb.to_bytes(model)).partial_fit(X.iloc[rare], y[rare]).predict_proba(X)).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_nothing_is_left_of_forgotten_rows_that_were_learned_first_and_alone(name: str) -> None:
    """Kinds, cuts, centres of moments and vocabularies are then chosen on the forgotten rows alone; a class too."""
    make, columns = MODELS[name]
    X, y, rare = table(1 + sum(map(ord, name)))
    X, left = X[columns], np.setdiff1d(np.arange(N), rare)
    y = y.astype(object)
    y[rare[:3]] = ["no", "yes", "rarelabel73519"]
    model = make().fit(X.iloc[rare], y[rare]).partial_fit(X.iloc[left], y[left])
    assert residue(model, X, columns, rare) or name in SUMS_ALONE
    assert b"rarelabel73519" in tb.to_bytes(model)
    model.forget(X.iloc[rare], y[rare])
    assert residue(model, X, columns, rare) == set()
    assert not any(b"rarelabel73519" in blob for blob in written(model).values())


@pytest.mark.parametrize("memory", ["sums", "hashes", "sample"])
@pytest.mark.parametrize("make", [tb.NaiveBayes, tb.TAN, tb.BayesClassifier])
def test_names_leave_the_schema_of_another_model_and_balanced_weights(make: Any, memory: str) -> None:
    """Beside the statistics they stand in `schema=`, by which models are made to merge, and in `class_weight_`."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"job": rng.choice(["clerk", "nurse"], 60), "age": rng.normal(size=60)}).astype({"job": object})
    y = rng.choice(["no", "yes"], 60).astype(object)
    X.loc[7, "job"], y[7] = "rarejob4711", "rarelabel4711"
    first = make(memory=memory, class_weight="balanced").fit(X, y)
    second = make(schema=first.schema_, memory=memory, class_weight="balanced").fit(X, y)
    before = second.copy()
    for model in (first, second):
        blobs = {**written(model), "plan": tb.to_bytes(model.empty())}
        assert b"rarejob4711" in blobs["file"]
        assert b"rarelabel4711" in blobs["file"]
        model.forget(X[7:8], y[7:8])
        blobs = {**written(model), "plan": tb.to_bytes(model.empty())}
        assert not {name for name, b in blobs.items() if b"rarejob4711" in b or b"rarelabel4711" in b}
    assert set(second.class_weight_) == {"no", "yes"}
    assert "rarejob4711" in before.schema.levels[0].labels  # what the caller holds is as it was
    assert second.merge(before.copy().forget(X[:1], y[:1])).class_count_.sum() > 0
    assert set(second.fit(X[8:], y[8:]).schema_.levels[0].labels) == {"clerk", "nurse"}


@pytest.mark.parametrize("memory", ["sums", "rows"])
def test_columns_stay_with_their_names(memory: str) -> None:
    """A key that only a forgotten dict had: its column stays, with no value (docs/deleting-data.md says so)."""
    rows: list[dict[str, Any]] = [{"age": float(i)} for i in range(20)]
    rows[7]["rarekey"] = 734918265.5
    model = tb.NaiveBayes(memory=memory).fit(rows, ["a", "b"] * 10).forget(rows[7:8], ["b"])
    assert list(model.feature_names_in_) == ["age", "rarekey"]
    assert not any(np.float64(734918265.5).tobytes() in blob for blob in written(model).values())


# These hold sums over many rows, in which no single value can be found.
SUMS_ALONE = {
    *("GaussianNB", "PoissonNB", "MultinomialNB", "ComplementNB", "BernoulliNB", "LinearDiscriminantAnalysis"),
    *("QuadraticDiscriminantAnalysis", "GaussianDiscriminant", "RegularizedDiscriminantAnalysis"),
    *("NaiveBayes frequency", "NaiveBayes width"),
}


CUTTING: dict[str, Callable[[], Any]] = {
    **{how: (lambda how=how: tb.NaiveBayes(how)) for how in ("mdl", "frequency", "width")},
    **{make.__name__: make for make in (tb.TAN, tb.SPODE, tb.KDB, tb.AODE, tb.BayesClassifier)},
    "BayesNetwork": lambda: tb.BayesNetwork("salary -> age"),
}


@pytest.mark.parametrize("name", CUTTING)
def test_a_forgotten_value_cannot_be_computed_from_a_cut_and_its_neighbours(name: str) -> None:
    """A cut halfway between two values gives one of them away: 2 cut - neighbour. A cut is a round number instead."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"salary": rng.lognormal(10, 1, 600), "age": rng.normal(40, 10, 600)})
    y = np.where(X.salary * rng.lognormal(0, 0.3, 600) > 22000, "high", "low")
    gone, left = np.arange(0, 600, 3), np.setdiff1d(np.arange(600), np.arange(0, 600, 3))
    model = CUTTING[name]().fit(X, y).forget(X.iloc[gone], y[gone])
    found, cuts = 0, 0
    for j, column in enumerate(X):
        if j not in model.schema_.cuts:
            continue
        points = model.schema_.cuts[j].points
        values, forgotten = np.sort(X[column].to_numpy()[left]), X[column].to_numpy()[gone]
        at = np.searchsorted(values, points)
        cuts += len(points)
        for beside in (np.maximum(at - 1, 0), np.minimum(at, len(values) - 1)):
            mirrored = 2 * points - values[beside]
            found += int((np.abs(mirrored[:, None] / forgotten - 1) < 1e-9).any(axis=1).sum())
        assert not np.isin(points, X[column]).any()
    assert cuts > 0
    assert found == 0


def _unmixed(x: Any) -> Any:
    """The inverse of the finaliser of splitmix64, by which tokens are mixed: anybody can compute it."""

    def unshifted(x: Any, by: int) -> Any:
        found = x
        for _ in range(64 // by):
            found = x ^ (found >> np.uint64(by))
        return found

    for by, factor in ((31, 0x94D049BB133111EB), (27, 0xBF58476D1CE4E5B9)):
        x = unshifted(x, by) * np.uint64(pow(factor, -1, 1 << 64))
    return unshifted(x, 30) - np.uint64(0x9E3779B97F4A7C15)


def test_no_token_of_an_ensemble_lets_a_guess_of_a_forgotten_name_be_checked() -> None:
    """Levels that only labels tell apart: their tokens do not differ by what the hashes of the labels do."""
    x = np.arange(99, dtype=np.uint64)
    np.testing.assert_array_equal(_unmixed(mix(x)), x)
    names = [f"person {i}" for i in range(60)]
    X = pd.DataFrame({"name": names * 2, "kind": ["a", "b"] * 60, "size": [1.0, 2.0] * 60})
    y = ["yes", "no"] * 60
    model = tb.BayesClassifier("fast").fit(X, y).forget(X[:1], y[:1]).forget(X[60:61], y[60:61])
    (ensemble,) = (t.distribution for t in model.fitted_.terms)
    own = _unmixed(ensemble.tokens.level)[: ensemble.tokens.level_start[-1]]
    label = np.array([_of_label(name) for name in names], dtype=np.uint64)
    assert len(own) >= 60
    assert not np.isin(own - own[:, None], (label - label[:, None])[~np.eye(60, dtype=bool)]).any()

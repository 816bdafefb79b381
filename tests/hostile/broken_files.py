"""Model files that no `save` wrote, all with a right checksum; and what must hold of whatever `load` makes of them."""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
import warnings
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

import tallybayes as tb
from tallybayes.errors import ModelFileError, TallybayesError
from tallybayes.io.container import DIGEST, MAGIC, START, VERSION

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 3, 7, 2**31, 2**63, 10**30, 0.0, 0.5, -2.5, 1e308, 5e-324, "", "x0", "real",
    "categorical", "gaussian", "kernel", "mdl", "oas", "auto", "ledoit-wolf", "uniform", "error", "GaussianNB",
    "NaiveBayes", "os.system", "__class__", "<f4", "<i8", "|b1", "<U1", [], [0], [[]], [1, 2, 3, 4], {}, {"tuple": []},
    {"array": 0}, {"array": 99}, {"array": -1}, {"distribution": 0}, {"float": "nan"}, {"float": "inf"},
    {"bytes": "00"}, {"dict": []}, {"dict": [["a", 1]]}, {"objects": ["a"]}, {"texts": ["a"]}, {"schema": {}},
)  # fmt: skip
FLOATS = (np.nan, np.inf, -np.inf, -1.0, -0.0, 0.0, 1.0, 5e-324, 1e-300, 1e300, 1.7e308, 2.5)
WHOLE = (-1, 0, 1, 2, 3, 1 << 16, 1 << 31, 1 << 62, -(1 << 63))


def models() -> list[Any]:
    """Small, and together of every kind of tally."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(12, 2)), np.array([0, 1, 2] * 4)
    X[0, 0] = np.nan
    rows = [{"n": float(i), "w": "ab"[i % 2], "b": i % 3 == 0, "c": i} for i in range(12)]
    counts = rng.integers(0, 3, size=(12, 2))
    wide = rng.normal(size=(4, 256))
    return [
        tb.GaussianNB().fit(X, y),
        tb.KernelNB().fit(X, y),
        tb.NaiveBayes({"n": "frequency"}, {"c": "count"}, priors={"x": 0.25, "y": 0.75}).fit(rows, list("xy") * 6),
        tb.CategoricalNB(min_categories=3).fit(counts, y),
        tb.MultinomialNB(alpha=np.array([0.5, 1.0])).fit(counts, y.astype(str)),
        tb.BernoulliNB(class_prior=[0.2, 0.3, 0.5]).fit(counts, y),
        tb.LinearDiscriminantAnalysis(n_components=1).fit(X[1:], y[1:]),
        tb.GaussianDiscriminant(own_covariance=0.5, shrinkage="oas").fit(X, y),
        tb.GaussianDiscriminant("diagonal", own_covariance=0.5).fit(X, y),
        tb.QuadraticDiscriminantAnalysis(shrinkage="auto").fit(X[1:], y[1:]),
        tb.LinearDiscriminantAnalysis().fit(wide, [0, 0, 1, 1]),
        tb.BayesClassifier(members=2, schema={"c": "real"}).fit(rows, list("xy") * 6),
    ]


def to_bytes(model: Any, **options: Any) -> bytes:
    file = io.BytesIO()
    tb.save(model, file, **options)
    return file.getvalue()


def from_bytes(data: bytes) -> Any:
    return tb.load(io.BytesIO(data))


def parts(data: bytes) -> tuple[dict[str, Any], bytes]:
    """Header and arrays of a file."""
    length = START.unpack(data[: START.size])[4]
    end = START.size + length
    return json.loads(data[START.size : end]), data[-(-end // 8) * 8 : -DIGEST]


def assemble(header: Any, arrays: bytes, version: int = VERSION) -> bytes:
    """A file with a right checksum, whatever is in it."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    padded = text + bytes(-len(text) % 8) + arrays + bytes(-len(arrays) % 8)
    data = START.pack(MAGIC, version, 0, START.size + len(padded) + DIGEST, len(text)) + padded
    return data + blake2b(data, digest_size=DIGEST).digest()


def mutants(data: bytes, rng: np.random.Generator) -> Iterator[bytes]:
    """For ever: the file with one to three things changed."""
    while True:
        header, arrays = parts(data)
        for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
            if rng.random() < 0.7 or not arrays:
                header = _change(header, rng)
            else:
                arrays = _poke(arrays, rng)
        yield assemble(header, arrays)


def _places(j: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, v in j.items() if isinstance(j, dict) else enumerate(j) if isinstance(j, list) else ():
        yield from _places(v, (*path, key))


def _change(header: Any, rng: np.random.Generator) -> Any:
    places = list(_places(header))
    *path, key = places[int(rng.integers(1, len(places)))] if len(places) > 1 else (None, None)
    holder = header
    for step in path:
        holder = holder[step]
    how = rng.integers(6)
    if not isinstance(holder, dict | list):
        return ODD[int(rng.integers(len(ODD)))]
    if how == 0:
        del holder[key]
    elif how == 1 and isinstance(holder, list):
        holder.insert(int(rng.integers(len(holder) + 1)), holder[key])
    elif how == 2 and isinstance(holder, dict):
        holder[str(rng.choice(["a", "_tally", "predict", "schema_", "alpha", "__class__"]))] = holder[key]
    elif how == 3:  # another part of the same document
        other = header
        for step in places[int(rng.integers(len(places)))]:
            other = other[step]
        holder[key] = json.loads(json.dumps(other))
    elif how == 4 and isinstance(holder[key], int | float):
        holder[key] += int(rng.integers(-2, 3))
    else:
        holder[key] = json.loads(json.dumps(ODD[int(rng.integers(len(ODD)))]))
    return header


def _poke(arrays: bytes, rng: np.random.Generator) -> bytes:
    some = bytearray(arrays)
    at = 8 * int(rng.integers(len(some) // 8))
    kind, values = (np.float64, FLOATS) if rng.random() < 0.6 else (np.int64, WHOLE)
    some[at : at + 8] = np.array(rng.choice(values), dtype=kind).tobytes()
    return bytes(some[: at + 8]) if rng.random() < 0.05 else bytes(some)


def exercise(data: bytes) -> str:
    """'refused', or 'loaded' and then every answer is sound or one of the library's own errors."""
    try:
        model = from_bytes(data)
    except ModelFileError:
        return "refused"
    rows = _rows(model)
    calls = (
        lambda: _sound(model, rows),
        lambda: model.predict_proba_one(rows[0]),
        lambda: [model.describe(model.schema_.name(j)) for j in range(min(3, model.schema_.d))],
        lambda: model.sample(3, random_state=0),
        lambda: model.copy().decay(0.5).predict(rows),
        lambda: model.copy().merge(model.copy()).predict(rows),
        lambda: model.copy().partial_fit(rows, [model.classes_[0]] * len(rows)).forget(rows, [model.classes_[0]] * 3),
        lambda: exercise_again(model),
    )
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for call in calls:
            with contextlib.suppress(TallybayesError, NotFittedError):
                call()
    return "loaded"


def exercise_again(model: Any) -> None:
    assert to_bytes(from_bytes(to_bytes(model))) == to_bytes(model)


def _rows(model: Any) -> list[dict[str, Any]]:
    s = model.schema_
    values = [s.levels[j].labels[:1] * 2 if j in s.levels and len(s.levels[j]) else (0, 1) for j in range(s.d)]
    return [{s.name(j): (*values[j], None)[i] for j in range(s.d)} for i in range(3)]


def _sound(model: Any, rows: Any) -> None:
    found = model.predict_proba(rows)
    assert np.isfinite(found).all(), found
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert not np.isnan(model.score_samples(rows)).any()


def seeded(seconds: float, seed: int, most: int | None = None) -> dict[str, int]:
    """Mutants of all models in turn, until the time or their number is over."""
    rng = np.random.default_rng(seed)
    sources = [mutants(to_bytes(m, notes={"from": ["here", 1]}), rng) for m in models()]
    end = time.monotonic() + seconds
    found = {"refused": 0, "loaded": 0}
    while time.monotonic() < end and (most is None or sum(found.values()) < most):
        for source in sources:
            data = next(source)
            try:
                found[exercise(data)] += 1
            except BaseException:
                print("The file, in hexadecimal:", data.hex(), file=sys.stderr)
                raise
    return found

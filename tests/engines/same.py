"""What an engine must agree with: the whole family on parts of every shape, beside the same plan counted here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

import tallybayes as tb
from tests.engines.tables import features, table

FAMILY: dict[str, Callable[[], Any]] = {
    "NaiveBayes": tb.NaiveBayes,
    "GaussianNB": tb.GaussianNB,
    "CategoricalNB": tb.CategoricalNB,
    "AODE": tb.AODE,
    "TAN": tb.TAN,
    "KDB": lambda: tb.KDB(1),
    "LDA": tb.LinearDiscriminantAnalysis,
    "QDA": tb.QuadraticDiscriminantAnalysis,
    "RDA": lambda: tb.RegularizedDiscriminantAnalysis(own_covariance=0.3),
    "BayesClassifier": lambda: tb.BayesClassifier("fast", members=3),
}
COLUMNS = {
    **{name: ["length", "width"] for name in ("GaussianNB", "LDA", "QDA", "RDA")},
    "CategoricalNB": ["colour", "alive"],
}


def parts_of(t: pa.Table) -> list[pa.Table]:
    """None, some, one row, one class only, levels none else has, none, the rest."""
    own = t.slice(500, 40)
    colour = own.column_names.index("colour")
    only = own.set_column(colour, "colour", pa.array(["only " + "abc"[i % 3] for i in range(40)]))
    low = t.filter(pc.equal(t["kind"], "low")).slice(0, 60)
    return [t.slice(0, 0), t.slice(0, 200), t.slice(200, 1), low, only, t.slice(0, 0), t.slice(241, 259)]


def counts(model: Any) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """All arrays of sums of a model, by where they are."""
    for i, term in enumerate(model.fitted_.terms):
        yield from _arrays(term.statistics, f"{i}")


def _arrays(statistics: Any, path: str) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    if isinstance(statistics, np.ndarray):
        yield path, statistics
    elif is_dataclass(statistics):
        for field in fields(statistics):
            yield from _arrays(getattr(statistics, field.name), f"{path}.{field.name}")
    elif isinstance(statistics, dict):
        for key, value in statistics.items():
            yield from _arrays(value, f"{path}.{key}")
    elif isinstance(statistics, list | tuple):
        for j, value in enumerate(statistics):
            yield from _arrays(value, f"{path}.{j}")


def check_same(name: str, frame_of: Callable[[list[pa.Table]], Any], weight: str | None) -> None:
    """Counts to the last bit, moments to rounding, probabilities to 1e-12: those of the same plan counted here."""
    parts = parts_of(table())
    whole, frame = pa.concat_tables(parts), frame_of(parts)
    columns = COLUMNS.get(name, features(whole).column_names)
    plan = FAMILY[name]().plan(parts[1], "kind", weight=weight, columns=columns)
    w = None if weight is None else whole[weight].to_numpy()
    here = plan.copy().partial_fit(whole.select(columns), whole["kind"], sample_weight=w)
    there = FAMILY[name]().learn_from(frame, "kind", weight=weight, plan=plan)
    assert there.classes_.tolist() == here.classes_.tolist()
    np.testing.assert_array_equal(there.class_count_, here.class_count_)
    assert there.schema_.levels.keys() == here.schema_.levels.keys()
    for j, levels in here.schema_.levels.items():
        assert there.schema_.levels[j].labels == levels.labels
    for (path, a), (where, b) in zip(counts(there), counts(here), strict=True):
        assert (path, a.shape) == (where, b.shape)
        if np.issubdtype(b.dtype, np.number):
            counted = bool(np.any(b)) and bool(np.all(b == np.round(b)))  # else moments, or what rounding left of them
            np.testing.assert_allclose(a, b, rtol=0 if counted else 1e-11, atol=0 if counted else 1e-11)
    X = whole.select(columns)
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), rtol=0, atol=1e-12)

"""Every option of every estimator × every way to learn or predict elsewhere: what a fit predicts, or a refusal."""

from __future__ import annotations

import importlib.util
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tallybayes as tb
from tallybayes import export
from tallybayes.engines.sql import DatabaseTable
from tallybayes.errors import OptionError, TallybayesError
from tallybayes.estimators.base import GenerativeClassifier
from tests.quick import THOROUGH, pairwise

duckdb = pytest.importorskip("duckdb")

ESTIMATORS = {
    name: kind
    for name, kind in ((name, getattr(tb, name)) for name in tb.__all__)
    if isinstance(kind, type) and issubclass(kind, GenerativeClassifier)
}
NUMBERS = ["length", "width"]  # no missing values: Ledoit-Wolf shrinkage refuses them
CATEGORIES = ["colour", "shape", "alive"]
COUNTS = ["visits", "words"]
COLUMNS = {
    **dict.fromkeys(("GaussianNB", "KernelNB"), NUMBERS),
    **dict.fromkeys((name for name in ESTIMATORS if "Discriminant" in name), NUMBERS),
    **dict.fromkeys(("PoissonNB", "MultinomialNB", "ComplementNB", "BernoulliNB"), COUNTS),
    "CategoricalNB": CATEGORIES,
}

# Values far enough from the default to be seen in a prediction. A new option needs a line here.
VALUES: dict[str, list[Any]] = {
    "alpha": [7.0],
    "bandwidth": ["scott", 0.9],
    "binarize": [2.5],
    "bins": [3],
    "class_prior": [[0.7, 0.2, 0.1]],
    "class_weight": ["balanced", {"low": 5.0, "mid": 1.0, "high": 1.0}],
    "covariance": ["diagonal"],
    "covariance_estimator": [],  # an object with a fit of its own
    "cuts": ["width", "frequency"],
    "ddof": [1],
    "distributions": ["gaussian", "kernel", {"length": "kernel"}],
    "effort": ["fast"],
    "fit_prior": [False],
    "force_alpha": [False],
    "graph": [[("colour", "shape")]],
    "half_life": [50.0],
    "k": [1],
    "members": [6],
    "memory": ["rows"],
    "min_categories": [9],
    "min_count": [60],
    "n": [1],
    "n_components": [1],
    "norm": [True],
    "own_covariance": [0.3],
    "parents": [1],
    "parts": [("networks",), ("gaussian", "naive")],
    "priors": ["uniform", [0.7, 0.2, 0.1], "laplace"],
    "random_state": [3],
    "reg_param": [0.3],
    "root": ["alive"],
    "schema": [{"visits": "categorical"}, {"colour": "id"}],
    "select": [False],
    "shrinkage": ["auto", 0.4],
    "smoothing": ["laplace"],
    "solver": ["eigen"],
    "store_covariance": [True],
    "subsumption": [True],
    "superparent": ["alive"],
    "targets": [],  # several targets are not a question of options: test_sources
    "tempered": [True],
    "tol": [0.5],
    "unseen": ["error"],
    "var_smoothing": [0.3],
    "variance": ["shared"],
    "verbose": [True],
    "weighting": ["information"],
}
OWN: dict[tuple[str, str], list[Any]] = {
    ("BayesClassifier", "weighting"): ["none"],
    ("NaiveBayes", "unseen"): ["other", "error"],
    ("CategoricalNB", "unseen"): ["other", "error"],
}
TOGETHER = {"bins": {"cuts": "width"}, "k": {"select": False}}  # options that act beside another
BASE = {"BayesClassifier": {"members": 2}}  # fewer networks: most of the time would go into SQL of them
# What changes no prediction of these rows: messages, what is stored, or what does not occur in them.
WITHOUT_EFFECT = {
    *(
        "verbose",
        "random_state",
        "store_covariance",
        "solver",
        "n_components",
        "tol",
        "force_alpha",
        "subsumption",
        "memory",
    ),
}
UNSEEN_HERE = {  # and what has no effect for one estimator
    **{name: {"unseen"} for name in ("AODE", "SPODE", "TAN", "AnDE")},  # there are no unseen levels in these rows
    "KDB": {"unseen", "smoothing"},  # no parents are chosen, so there is nothing to back off to
    "BayesNetwork": {"unseen", "smoothing"},
    "BayesClassifier": {"unseen", "alpha"},  # alpha is for smoothing='laplace'
    "ComplementNB": {"fit_prior"},  # as in scikit-learn, the prior counts only with one class
}


def rows(n: int = 400) -> pa.Table:
    rng = np.random.default_rng(8)
    y = np.concatenate([np.arange(3), rng.choice(3, n - 3, p=[0.5, 0.3, 0.2])])
    colour = np.where(
        rng.random(n) < 0.5, np.array(["red", "green", "blue"])[y], rng.choice(["red", "it's", "grey"], n)
    )
    shape = np.where(rng.random(n) < 0.6, colour, rng.choice(["round", "flat"], n))
    return pa.table(
        {
            "length": rng.normal(y, 1.0),
            "width": rng.gamma(1.0 + y),
            "colour": pa.array(colour, mask=rng.random(n) < 0.1),
            "shape": pa.array(shape),
            "alive": np.where(rng.random(n) < 0.2 + 0.3 * y, "yes", "no"),  # SQLite has no booleans
            "visits": rng.poisson(2.0 + y).astype(float),
            "words": rng.poisson(5.0 - y).astype(float),
            "kind": np.array(["low", "mid", "high"])[y],
        }
    )


ROWS = rows()


@pytest.fixture(scope="module")
def databases() -> Iterator[dict[str, Any]]:
    names = ROWS.column_names
    with duckdb.connect() as one:
        one.register("arrow rows", ROWS)
        one.execute('CREATE TABLE data AS SELECT row_number() OVER () AS "row", * FROM "arrow rows"')
        two = sqlite3.connect(":memory:")
        two.execute(f"CREATE TABLE data ({', '.join(['row', *names])})")
        cells = [(i, *row.values()) for i, row in enumerate(ROWS.to_pylist(), 1)]
        two.executemany(f"INSERT INTO data VALUES ({', '.join('?' * (len(names) + 1))})", cells)
        yield {"duckdb": one, "sqlite": two}
        two.close()


Way = Callable[[Any, list[str], dict[str, Any]], Any]


def _learned(move: str, engine: str) -> Way:
    def way(model: Any, columns: list[str], databases: dict[str, Any]) -> Any:
        source = DatabaseTable(databases[engine], "data", move=move)
        return model.learn_from(source, "kind", columns=columns).predict_proba(ROWS.select(columns))

    return way


def _lazy(engine: str, fitted: bool) -> Way:
    def way(model: Any, columns: list[str], databases: dict[str, Any]) -> Any:
        model = model.fit(ROWS.select(columns), ROWS["kind"]) if fitted else model
        lazy = tb.LazyBayes(model, databases[engine], "data", "kind", columns=columns)
        return lazy.predict_proba(ROWS.select(columns))

    return way


def _sql(engine: str) -> Way:
    def way(model: Any, columns: list[str], databases: dict[str, Any]) -> Any:
        query = export.to_sql(model.fit(ROWS.select(columns), ROWS["kind"]), engine, keep=["row"])
        return np.array([row[2:] for row in databases[engine].execute(f"{query} ORDER BY 1").fetchall()], dtype=float)

    return way


def _arrow(model: Any, columns: list[str], databases: dict[str, Any]) -> Any:  # noqa: ARG001
    return model.learn_from(ROWS, "kind", columns=columns).predict_proba(ROWS.select(columns))


def _dask(model: Any, columns: list[str], databases: dict[str, Any]) -> Any:  # noqa: ARG001
    from dask import dataframe as dd

    frame = dd.from_pandas(ROWS.select([*columns, "kind"]).to_pandas(), npartitions=2)
    return model.learn_from(frame, "kind").predict_proba(ROWS.select(columns))


WAYS: dict[str, Way] = {
    "arrow": _arrow,
    "duckdb rows": _learned("rows", "duckdb"),
    "duckdb statistics": _learned("statistics", "duckdb"),
    "sqlite statistics": _learned("statistics", "sqlite"),
    "lazy duckdb": _lazy("duckdb", fitted=True),
    "lazy sqlite": _lazy("sqlite", fitted=False),
    "sql duckdb": _sql("duckdb"),
    "sql sqlite": _sql("sqlite"),
    **({"dask": _dask} if importlib.util.find_spec("dask") else {}),
}


def _cases() -> dict[str, list[tuple[str, Any, list[str]]]]:
    """By estimator: an option, a value, and the ways to try; a pairwise cover unless all are wanted."""
    every = [
        (name, f"{option}={value!r}", way, option, value)
        for name, kind in ESTIMATORS.items()
        for option in kind().get_params(deep=False)
        for value in OWN.get((name, option), VALUES[option])
        for way in WAYS
    ]
    chosen = range(len(every)) if THOROUGH else pairwise([case[:3] for case in every])
    found: dict[tuple[str, str], tuple[str, Any, list[str]]] = {}
    for i in chosen:
        name, text, way, option, value = every[i]
        found.setdefault((name, text), (option, value, []))[2].append(way)
    return {name: [case for (who, _), case in found.items() if who == name] for name in ESTIMATORS}


CASES = _cases()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_option_gives_the_prediction_of_a_fit_or_is_refused(name: str, databases: dict[str, Any]) -> None:
    columns = COLUMNS.get(name, NUMBERS + CATEGORIES + COUNTS)
    X, y, kind, base = ROWS.select(columns), ROWS["kind"], ESTIMATORS[name], BASE.get(name, {})
    usual = kind(**base).fit(X, y).predict_proba(X)
    supported, effective = set(), set()
    for option, value, ways in CASES[name]:
        chosen = {**base, option: value, **TOGETHER.get(option, {})}
        here = kind(**chosen).fit(X, y).predict_proba(X)
        if np.abs(here - usual).max() > 1e-6:
            effective.add(option)
        for way in ways:
            try:
                there = WAYS[way](kind(**chosen), columns, databases)
            except TallybayesError:
                continue
            supported.add(way)
            np.testing.assert_allclose(there, here, rtol=0, atol=1e-9, err_msg=f"{name}({chosen}) by {way}")
    assert supported & {"arrow", "dask", "duckdb rows"}
    assert {option for option, *_ in CASES[name]} - effective <= WITHOUT_EFFECT | UNSEEN_HERE.get(name, set())


@pytest.mark.parametrize("way", [way for way in WAYS if not way.startswith("sql")])  # a fit has faded its rows
def test_rows_that_fade_are_refused_wherever_they_have_no_order(way: str, databases: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="half_life"):
        WAYS[way](tb.GaussianNB(half_life=50.0), NUMBERS, databases)

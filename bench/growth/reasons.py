"""Accepted findings and their reasons: shown by the harness beside them, and in docs/growth.md."""

from __future__ import annotations

from typing import NamedTuple


class Reason(NamedTuple):
    """What it speaks of ("" for any), and the reason."""

    list_: str
    model: str
    op: str
    axis: str
    why: str


SUMMED = (
    "missing values are marginalised exactly, over the levels of every missing value that is a parent; "
    "complete rows cost nothing extra"
)
DICTIONARY = (
    "an array of small integers is used as codes without a look-up; labels, and numbers with missing values, are "
    "looked up one by one, in 10 to 20 ns each"
)
MISSING = (
    "each pattern of missing values needs a factorisation of its own, d³ per pattern and class; with half of the "
    "values missing, nearly every row has its own pattern"
)
COLUMNS = "pandas takes 20 to 50 µs to return a column, however few rows it has; a row as a dict takes 1 to 2 µs"
CACHES = "parameters or rows no longer fit into the cache: a value then takes up to three times as long"
SHARED = (
    "rows of a batch with the same pair of parents share their tables; with many levels few rows do, up to the limit "
    "of 256 levels"
)
TABLES = "each call computes tables for its sets of parents; rows of a batch with the same parents share them"

REASONS: tuple[Reason, ...] = (
    Reason(
        "order",
        "KernelNB",
        "predict",
        "classes",
        "with 1,000 classes a value and class takes 100 ns instead of 30, probably because of the cache",
    ),
    *(
        Reason("order", name, op, axis, CACHES)
        for name, op, axis in (
            ("GaussianNB", "fit", "columns"),
            ("PoissonNB", "", "columns"),
            ("PoissonNB", "predict", "batch"),
            ("ComplementNB", "predict", "columns"),
            ("BernoulliNB", "predict", "columns"),
            ("BayesNetwork", "predict", "classes"),
            ("SPODE", "fit", "classes"),
            ("TAN", "predict", "columns"),
            ("TAN", "predict", "classes"),
        )
    ),
    Reason("order", "AnDE", "predict", "levels", SHARED),
    *(Reason("kind", name, "predict", "missing", SUMMED) for name in ("BayesNetwork", "SPODE", "TAN", "KDB")),
    *(
        Reason("kind", name, op, axis, DICTIONARY)
        for name, op, axis in (
            ("CategoricalNB", "", "strings"),
            ("CategoricalNB", "predict", "missing"),
            ("CategoricalNB", "predict", "pandas"),
            ("CategoricalNB", "predict", "arrow"),
            ("TAN", "predict", "strings"),
        )
    ),
    Reason("kind", "AnDE", "predict", "batch", TABLES),
    *(
        Reason("kind", name, "predict", "missing", MISSING)
        for name in (
            "LinearDiscriminantAnalysis",
            "QuadraticDiscriminantAnalysis",
            "GaussianDiscriminant",
            "RegularizedDiscriminantAnalysis",
        )
    ),
    Reason(
        "peer",
        "BayesClassifier",
        "fit",
        "rows",
        "about thirty networks and their weights are chosen for any number of rows: about 20 ms for 100 rows",
    ),
    Reason(
        "peer",
        "BayesClassifier",
        "fit",
        "classes",
        "LightGBM grows one tree per round for two classes, one per class for more; ours costs about the same for both",
    ),
    *(Reason("kind", name, "predict", "batch", COLUMNS) for name in ("NaiveBayes", "BayesClassifier")),
)


def reason_for(list_: str, model: str, op: str, axis: str) -> str | None:
    """The first that speaks of it; None if there is none."""
    asked = (list_, model, op, axis)
    return next(
        (r.why for r in REASONS if all(said in ("", want) for said, want in zip(r[:4], asked, strict=True))), None
    )

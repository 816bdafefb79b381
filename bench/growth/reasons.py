"""Why some findings stay: shown by the harness beside them, and in docs/growth.md."""

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
    "exact: what is missing is summed out, over the levels of every missing value that another column depends on; rows "
    "that miss nothing pay nothing"
)
DICTIONARY = (
    "an array of small whole numbers is its own codes, and nothing can be cheaper; labels, and numbers "
    "with missing values, are "
    "looked up one by one, in 10 to 20 nanoseconds each"
)
MISSING = (
    "the columns that a row has are another Gaussian for each pattern of missing values, with a factor "
    "of its own: d³ for a "
    "pattern and class, and half of the values missing makes nearly every row a pattern"
)
COLUMNS = (
    "pandas hands out a column in 20 to 50 microseconds, however few rows it has; a row as a dict takes one or two"
)
CACHES = (
    "the parameters, or the rows asked for, leave the caches on the way: a value then takes three times as long as one "
    "that is at hand, and no longer beyond that"
)
SHARED = (
    "rows of a batch that have the same pair of parents share what is made for it; with many levels each has its own, "
    "up to the 256 from which a column may stand apart"
)
TABLES = (
    "the probabilities beside each set of parents are made for every call, and rows of a batch that have the same "
    "parents share them"
)

REASONS: tuple[Reason, ...] = (
    Reason(
        "order",
        "KernelNB",
        "predict",
        "classes",
        "with a thousand classes a value and class takes 100 nanoseconds instead of 30, perhaps for the caches",
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
        "thirty networks, their strengths and weights are chosen whatever the rows: some 20 ms for a hundred of them",
    ),
    Reason(
        "peer",
        "BayesClassifier",
        "fit",
        "classes",
        "of two classes LightGBM grows one tree a round, of more one for each; ours costs little less for two",
    ),
    *(Reason("kind", name, "predict", "batch", COLUMNS) for name in ("NaiveBayes", "BayesClassifier")),
)


def reason_for(list_: str, model: str, op: str, axis: str) -> str | None:
    """The first that speaks of it; None if there is none."""
    asked = (list_, model, op, axis)
    return next(
        (r.why for r in REASONS if all(said in ("", want) for said, want in zip(r[:4], asked, strict=True))), None
    )

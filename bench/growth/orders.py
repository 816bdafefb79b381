"""The documented order of growth of each estimator, time and memory: the harness measures against this table, and
docs/growth.md shows it.

n: rows learned; b: rows predicted; d: columns; K: classes; v: the levels of one column, while the others keep theirs.
A power is written d²; a sum of products is as large as its largest term. What is not named does not matter.
"""

from __future__ import annotations

import re
from typing import NamedTuple

POWERS = {"": 1.0, "²": 2.0, "³": 3.0}
SYMBOLS = {"rows": "n", "batch": "b", "columns": "d", "classes": "K", "levels": "v"}


class Orders(NamedTuple):
    """Time and memory of learning and of answering. Memory: beyond the table and the answer."""

    fit: str
    fit_memory: str
    predict: str
    predict_memory: str
    why: str = ""  # a word on what the terms are


# Labels are codes of four bytes a row: too little to be named. The n·d of categories are their codes, a byte each.
NAIVE = Orders("n·d + K·d", "K·d", "b·d·K", "K·d", "one pass; one sum per class and column")
LEVELS = Orders(
    "n·d + K·d + K·v", "n·d + K·d + K·v", "b·d·K + K·v", "K·d + K·v", "one pass; one count per class and level"
)
FULL = Orders("n·d² + K·d³", "K·d²", "b·d²·K + K·d³", "K·d²", "a covariance per class, factorised on first use")
TREE = Orders(
    "n·d² + K·d² + K·d·v",
    "n·d + K·d² + K·d·v",
    "b·d·K + K·d + K·v",
    "K·d + K·v",
    "all pairs are counted, at most k·d kept",
)

ORDERS: dict[str, Orders] = {
    "GaussianNB": NAIVE,
    "PoissonNB": NAIVE,
    "KernelNB": Orders(
        "n·d + K·d", "n·d + K·d", "b·d·K", "n·d + K·d", "all distinct values are kept; predictions look up tables"
    ),
    "MultinomialNB": NAIVE,
    "ComplementNB": NAIVE,
    "BernoulliNB": NAIVE,
    "CategoricalNB": LEVELS,
    "NaiveBayes": LEVELS,
    "LinearDiscriminantAnalysis": Orders("n·d² + d³ + K·d²", "d² + K·d", "b·d·K", "K·d", "one covariance, factorised"),
    "QuadraticDiscriminantAnalysis": FULL,
    "GaussianDiscriminant": FULL,
    "RegularizedDiscriminantAnalysis": FULL,
    "BayesNetwork": Orders(
        "n·d + K·d + K·v", "n·d + K·d + K·v", "b·d·K + K·v", "K·d + K·v", "one table per column and its parents"
    ),
    "SPODE": Orders(
        "n·d²·K + K·d² + K·d·v",
        "n·d + K·d² + K·d·v",
        "b·d·K + K·d + K·v",
        "K·d + K·v",
        "leave-one-out of every candidate parent",
    ),
    "TAN": TREE,
    "KDB": TREE,
    "AODE": Orders(
        "n·d² + K·d² + K·d·v", "n·d + K·d² + K·d·v", "b·d²·K", "K·d² + K·d·v", "all pairs are counted and used"
    ),
    "AnDE": Orders("n·d³ + K·d³ + K·d²·v", "n·d + K·d³ + K·d²·v", "b·d³·K", "K·d³ + K·d²·v", "all triples, with n=2"),
    "BayesClassifier": Orders(
        "n·d²·K + K·v",
        "n·d + d² + K·v",
        "b·d·K + K·v",
        "b·d + d·K + K·v",
        "pairs are counted once; each network uses a few",
    ),
}


def power(order: str, symbol: str) -> float:
    """The largest power of a symbol in any term: 2 for d in "n·d² + K·d"."""
    return max(_in_product(term, symbol) for term in order.split("+"))


def _in_product(term: str, symbol: str) -> float:
    factors = [re.fullmatch(r"([a-zA-Z])([²³]?)", factor.strip()) for factor in term.split("·")]
    if not all(factors):
        raise ValueError(f"not a product of powers: {term!r}")
    return sum(POWERS[f[2]] for f in factors if f is not None and f[1] == symbol)


def documented(model: str, what: str, axis: str) -> float:
    """The exponent that is documented. what: a field of Orders; axis: one of SYMBOLS."""
    return power(getattr(ORDERS[model], what), SYMBOLS[axis])

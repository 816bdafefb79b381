"""What a generative model can do besides classify: draw rows, and describe a column given each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.encoding import RAW_LIMIT
from tallybayes.data.labels import positions
from tallybayes.data.output_tables import build_table
from tallybayes.distributions.capabilities import seen_columns
from tallybayes.distributions.capabilities import sizes as code_counts
from tallybayes.errors import LabelError, OptionError, brief, listing
from tallybayes.estimators.inputs import random_of
from tallybayes.model.fitted import Fitted
from tallybayes.model.term import Term
from tallybayes.utils.array_types import Array


def sample(fitted: Fitted, n: int, y: object, random_state: object) -> tuple[Any, Array]:
    """Rows drawn from a model with parameters, and their classes."""
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 1:
        raise OptionError(f"n must be a whole number of at least 1; got {brief(n)}.")
    rng = np.random.default_rng(random_of(random_state).randint(2**31 - 1, size=4))
    codes = _classes_to_draw(fitted, int(n), y, rng)
    columns: list[Any] = [None] * fitted.schema.d
    for term in fitted.terms:
        drawn = term.distribution.sample(term.params, codes, rng)
        met = seen_columns(term.distribution, term.statistics, len(term.columns))
        for i, j in enumerate(term.columns):
            needs = _read_as(fitted, term, i)
            columns[j] = (needs, drawn[i])
            if needs != "levels" and not met[i]:  # no row had a value: there is none to draw
                columns[j] = ("numbers", np.full(len(codes), np.nan))
    return build_table(fitted.schema, columns, rng), fitted.classes[codes]


def describe(fitted: Fitted, column: str | int) -> dict[Any, dict[str, float]]:
    """What each class says of a column."""
    labels = fitted.classes.tolist()
    j = fitted.schema.position(column)
    term, i = fitted.term_of(j)
    met = seen_columns(term.distribution, term.statistics, len(term.columns))
    if _read_as(fitted, term, i) == "numbers" and not met[i]:
        return {label: {} for label in labels}
    words = _words(fitted, term, i)
    return {label: term.distribution.describe(term.params, i, k, words) for k, label in enumerate(labels)}


def _classes_to_draw(fitted: Fitted, n: int, y: Any, rng: np.random.Generator) -> NDArray[np.int32]:
    if y is None:
        share = np.exp(fitted.prior)
        return rng.choice(fitted.K, size=n, p=share / share.sum()).astype(np.int32)
    labels = np.full(n, y, dtype=object) if np.ndim(y) == 0 else np.asarray(y, dtype=object)
    if labels.shape != (n,):
        raise OptionError(f"y must be one label or {n} of them; got {labels.shape[0]}.")
    codes = positions(labels, fitted.classes)
    if (codes < 0).any():
        bad = labels[int(np.argmin(codes))]
        raise LabelError(f"{brief(bad)} is not a class of this model. Classes: {listing(fitted.classes)}.")
    return codes


def _read_as(fitted: Fitted, term: Term, i: int) -> str:
    """How column i of a term is read: as numbers, or as codes of cuts or levels."""
    d = term.distribution
    if d.needs != "codes":
        return d.needs
    sizes = code_counts(d, term.statistics)
    if sizes is None or i >= len(sizes):
        return "numbers"
    return "cuts" if term.columns[i] in fitted.schema.cuts else "levels"


def _words(fitted: Fitted, term: Term, i: int) -> Sequence[str]:
    """What the codes of column i of a term stand for."""
    j, sizes = term.columns[i], code_counts(term.distribution, term.statistics)
    if j in fitted.schema.levels:
        return [str(v) for v in fitted.schema.levels[j].labels]
    if j in fitted.schema.cuts:
        return fitted.schema.cuts[j].labels()
    return [] if sizes is None or i >= len(sizes) else _Numerals()


class _Numerals(Sequence[str]):
    """'0', '1', '2', …: the labels of codes that are their own labels, as many as are asked for."""

    def __len__(self) -> int:
        return RAW_LIMIT

    def __getitem__(self, i: Any) -> Any:
        if not 0 <= i < RAW_LIMIT:
            raise IndexError(i)
        return str(i)

"""What a generative model can do besides classify: draw rows, and describe a column given each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.encoding import RAW_LIMIT
from tallybayes.data.labels import check_weights, positions, read_labels
from tallybayes.data.output_tables import build_table
from tallybayes.data.raw_column import check_arrow
from tallybayes.distributions.capabilities import NoLikelihood, capability, seen_columns
from tallybayes.distributions.capabilities import sizes as code_counts
from tallybayes.distributions.multivariate.multivariate_gaussian import GaussianBlock
from tallybayes.errors import LabelError, OptionError, brief, listing
from tallybayes.estimators.parameters import random_of
from tallybayes.model.fitted import Fitted
from tallybayes.model.predictor import Predictor
from tallybayes.model.term import Term
from tallybayes.utils.array_types import Array, Floats

LIKELIHOODS = ("joint", "conditional", "class_conditional", "prior")
MOST_ROWS = 2**31  # that are drawn at once


def sample(fitted: Fitted, n: int, y: object, random_state: object) -> tuple[Any, Array]:
    """Rows drawn from a model with parameters, and their classes."""
    rng, rows = random_generator(n, random_state)
    codes = classes_to_draw(fitted, rows, y, rng)
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


def random_generator(n: object, random_state: object) -> tuple[np.random.Generator, int]:
    """What n rows are drawn with, and n."""
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or not 1 <= n < MOST_ROWS:
        raise OptionError(f"n must be a whole number of at least 1 and below {MOST_ROWS:,}; got {brief(n)}.")
    return np.random.default_rng(random_of(random_state).randint(2**31 - 1, size=4)), int(n)


def log_likelihood(
    predictor: Predictor, X: object, y: object, kind: str, by_class: bool, sample_weight: object
) -> float | dict[Any, float]:
    """Σ over rows of log p(x, y), log P(y | x), log p(x | y) or log P(y); by class of the row on request."""
    if not isinstance(by_class, bool | np.bool_):
        raise OptionError(f"by_class must be True or False; got {brief(by_class)}.")
    if not isinstance(kind, str) or kind not in LIKELIHOODS:
        raise OptionError(f"kind must be one of {', '.join(map(repr, LIKELIHOODS))}; got {brief(kind)}.")
    fitted = predictor.fitted
    if kind in ("joint", "class_conditional"):
        _require_density(fitted)
    rows = predictor.read(X)
    found, labels = read_labels(y, rows.n)
    at = positions(labels, fitted.classes)
    if (at < 0).any():
        raise LabelError(
            f"{brief(labels[int(np.argmin(at))])} is not a class of this model: it has no likelihood there."
        )
    codes = at[found]
    w = check_weights(sample_weight, rows.n)
    if kind == "conditional":
        value = predictor.predict_rows(rows, "log_proba")[np.arange(rows.n), codes]
    else:
        value = np.zeros(rows.n) if kind == "prior" else predictor.likelihood(rows)[np.arange(rows.n), codes]
        value = value + (0.0 if kind == "class_conditional" else fitted.prior[codes])
    value = value if w is None else np.where(w > 0, w * value, 0.0)
    if not by_class:
        return float(value.sum())
    return {label: float(value[codes == k].sum()) for k, label in enumerate(fitted.classes.tolist())}


def _require_density(fitted: Fitted) -> None:
    for term in fitted.terms:
        density = capability(term.distribution, NoLikelihood)
        refusal = None if density is None or isinstance(density, GaussianBlock) else density.no_likelihood()
        if refusal is not None:
            raise OptionError(f"{refusal} kind='conditional' needs no density.")


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


def classes_to_draw(
    fitted: Fitted, n: int, y: Any, rng: np.random.Generator, log_share: Floats | None = None
) -> NDArray[np.int32]:
    """The number of the class of each row: as given, or drawn (by default from the prior)."""
    if y is None:
        share = np.exp(fitted.prior if log_share is None else log_share)
        return rng.choice(fitted.K, size=n, p=share / share.sum()).astype(np.int32)
    try:
        check_arrow(y, None)
        labels = np.full(n, y, dtype=object) if np.ndim(y) == 0 else np.asarray(y, dtype=object)
    except ValueError:  # lists of several lengths
        raise OptionError(f"y must be one label or {n} of them; got {brief(y)}.") from None
    if labels.shape != (n,):
        raise OptionError(f"y must be one label or {n} of them; got the shape {labels.shape}.")
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

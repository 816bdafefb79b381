"""Small counts: the cells of a model's statistics that so few rows are in that they may be traced to persons."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes.distributions.networks.counted_sets import CountedSets
from tallybayes.distributions.statistics import arrays_of
from tallybayes.errors import OptionError, PrivacyError, is_number, listing
from tallybayes.estimators.parameters import memory_of
from tallybayes.model.fitted import Fitted
from tallybayes.model.term import Term

if TYPE_CHECKING:
    from tallybayes.estimators.base import GenerativeClassifier

COUNTS = frozenset(("count", "single", "joint", "n", "no", "yes"))  # arrays that hold weights of rows
SUMMED = frozenset(("mean", "low", "m2", "m3", "m4", "scatter", "third", "fourth", "zero"))  # beside an n


def check_counts(model: GenerativeClassifier, min_count: float) -> None:
    """Refuse a model with a cell that more than 0 and fewer than min_count rows are in.

    A cell is the weight of a class; of a class and a level, an interval or a combination that is counted; of a class
    and a missing value; and the weight behind a mean and a variance. A distribution that keeps values of single rows
    (kernel densities, `BayesClassifier`, few rows of many columns), or sums without the number of rows behind them
    (multinomial, words), is refused whatever its counts are.

    Parameters
    ----------
    model : fitted classifier
        Whose statistics are to leave the site.
    min_count : float
        The smallest weight that a cell may have, besides 0.

    Raises
    ------
    PrivacyError
        With some of the cells. Nothing is suppressed in silence: with the other cells of its table, and the total, a
        suppressed cell could be computed.

    See Also
    --------
    small_counts : The counts that are too small.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.errors import PrivacyError
    >>> from tallybayes.privacy import check_counts
    >>> rows = [{"sky": "clear"}] * 9 + [{"sky": "red"}] * 2
    >>> try:
    ...     check_counts(NaiveBayes().fit(rows, ["sail"] * 11), 5)
    ... except PrivacyError as e:
    ...     print(str(e).partition(".")[0])
    1 cell holds fewer than 5 rows: sky = 'red' in class 'sail'
    """
    found = small_counts(model, min_count)
    if found:
        cells = (
            f"1 cell holds fewer than {min_count:g} rows"
            if len(found) == 1
            else (f"{len(found)} cells hold fewer than {min_count:g} rows")
        )
        shown = "; ".join(found[:3]) + ("; …" if len(found) > 3 else "")
        raise PrivacyError(
            f"{cells}: {shown}. Merge rare levels or classes, use coarser bins, or learn more rows before the "
            "statistics are shared."
        )


def small_counts(model: GenerativeClassifier, min_count: float) -> list[str]:
    """List the cells that more than 0 and fewer than min_count rows are in, for those who may see them.

    Parameters
    ----------
    model : fitted classifier
        Whose statistics are to leave the site.
    min_count : float
        The smallest weight that a cell may have, besides 0.

    Returns
    -------
    list of str
        The cells in words; empty if there is none.

    Raises
    ------
    PrivacyError
        If a distribution keeps values of single rows.

    See Also
    --------
    check_counts : Refuse a model that has such cells.
    private_counts : Counts with noise.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.privacy import small_counts
    >>> small_counts(NaiveBayes().fit([{"sky": "clear"}, {"sky": "red"}], ["sail", "stay"]), 2)[0]
    "class 'sail'"
    """
    if not is_number(min_count) or not min_count >= 1:
        raise OptionError(f"min_count must be a number of at least 1; got {min_count!r:.40}.")
    if hasattr(model, "memory") and memory_of(model) != "sums":
        raise PrivacyError(
            f"This {type(model).__name__} keeps rows or their hashes (memory={model.memory!r}). A model that is shared "
            "keeps sufficient statistics only: memory='sums'."
        )
    fitted = model.fitted_
    found = [f"class {label!r}" for label in _small(fitted.weight, fitted.classes.tolist(), min_count)]
    for term in fitted.terms:
        found += _of_term(fitted, term, min_count)
    return found


def _of_term(fitted: Fitted, term: Term, least: float) -> list[str]:
    arrays = arrays_of(term.statistics)
    names = [fitted.schema.name(j) for j in term.columns]
    odd = set(arrays) - COUNTS - SUMMED - {"sizes"}
    if odd or ("mean" in arrays and "n" not in arrays):
        raise PrivacyError(
            f"The distribution {term.distribution.name!r} of {listing(names)} keeps values of single rows, or sums "
            "without the number of rows behind them: its statistics cannot be checked for small counts. Use "
            "distributions of counts, means and variances."
        )
    classes, found = fitted.classes.tolist(), []
    for what, counts in _cells(fitted, term, arrays):
        for k, label in enumerate(classes):
            found += [f"{what(i)} in class {label!r}" for i in _small(counts[k], range(counts.shape[1]), least)]
    return list(dict.fromkeys(found))


def _cells(fitted: Fitted, term: Term, arrays: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Tables (classes, cells), each with what gives a cell its name."""
    names, weight = [fitted.schema.name(j) for j in term.columns], fitted.weight[:, None]
    sizes = arrays.get("sizes")
    for key in ("count", "single"):
        if key in arrays and sizes is not None:
            ends = np.concatenate([[0], np.cumsum(sizes)]).tolist()
            for j, (a, b) in enumerate(pairwise(ends)):
                part = arrays[key][:, a:b]
                yield _level_names(fitted, term.columns[j]), part
                yield _says(f"{names[j]} missing"), weight - part.sum(axis=1, keepdims=True)
    for key in ("n", "no", "yes"):
        if key in arrays:
            counts = np.asarray(arrays[key], float).reshape(fitted.K, -1)
            plain = counts.shape[1] == len(names)
            yield (
                (lambda i, plain=plain, key=key: f"{names[i]}{_tail(key)}" if plain else f"a cell of {names[-1]}"),
                counts,
            )
            if key == "n" and plain:
                yield (lambda i: f"{names[i]} missing"), weight - counts
    if "no" in arrays and "yes" in arrays:
        yield (lambda i: f"{names[i]} missing"), weight - arrays["no"] - arrays["yes"]
    if "joint" in arrays and isinstance(term.distribution, CountedSets):
        yield _says(f"a combination of {listing(names)}"), np.asarray(arrays["joint"], float)


def _level_names(fitted: Fitted, j: int) -> Any:
    name, schema = fitted.schema.name(j), fitted.schema
    if j in schema.cuts:
        labels = schema.cuts[j].labels()
        return lambda i: f"{name} {labels[i]}"
    if j in schema.levels:
        known = schema.levels[j].labels
        return lambda i: f"{name} = {known[i]!r}"
    return lambda i: f"{name} = {i}"


def _says(text: str) -> Any:
    return lambda _: text


def _tail(key: str) -> str:
    return {"n": "", "no": " = 0", "yes": " = 1"}[key]


def _small(counts: Any, names: Any, least: float) -> list[Any]:
    """The names of cells with a weight above 0 (to rounding) and below the least."""
    return [name for name, n in zip(names, np.asarray(counts, float).tolist(), strict=True) if 1e-9 < n < least]

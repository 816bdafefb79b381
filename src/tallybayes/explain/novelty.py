"""Is this row like anything seen? log p(x), with a threshold that keeps its promise."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.raw_column import RawColumn, all_exact
from tallybayes.data.schema import align
from tallybayes.data.schema.columns import in_columns
from tallybayes.data.table import Table, read_table
from tallybayes.errors import OptionError, TableError, brief, is_number
from tallybayes.utils.array_types import Floats
from tallybayes.utils.lazy_imports import nw


@dataclass(frozen=True, repr=False, eq=False)
class NoveltyScore:
    """Result of `novelty`: p-values for the hypothesis that a row comes from the distribution of reference rows.

    p = (1 + #{reference rows that are at most as likely}) / (m + 1)

    If the row and the reference rows come from the same source (exchangeable, and the model never learned any of
    them), then P(p ≤ s) ≤ s for every s, whether or not the model is right. With rows drawn from the model itself in
    place of a reference, the promise holds only as far as the model is right: a low p says, unlike what the model
    has learned.

    A row with missing values is compared with reference rows that have the same values hidden (those that lack one of
    its other values sit out). An unseen category is left out of log p(x) with unseen='ignore'; to count it as
    unlikely, fit with unseen='other'.

    Parameters
    ----------
    model : fitted classifier of this library
        What log p(x) is asked of.
    reference : Table
        The rows that others are compared with.
    drawn : bool
        Whether they were drawn from the model, and not given.

    Attributes
    ----------
    model, reference, drawn
        As above.

    See Also
    --------
    tallybayes.BayesDecision : Rejects rows whose best decision has a high risk.

    Examples
    --------
    >>> from tallybayes import GaussianNB
    >>> model = GaussianNB().fit([[1.0], [2.0], [7.0], [8.0]], ["low", "low", "high", "high"])
    >>> model.novelty(random_state=0).is_novel([[1.5], [30.0]]).tolist()
    [False, True]
    """

    model: Any
    reference: Table
    drawn: bool  # from the model, not given

    def score(self, X: object) -> Floats:
        """Return log p(x) of each row: the lower, the more unusual.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that the model takes; missing values are left out.

        Returns
        -------
        ndarray of shape (n_rows,)
            What ``score_samples`` of the model gives.
        """
        found: Floats = self.model.score_samples(X)
        return found

    def p_value(self, X: object) -> Floats:
        """Return the p-value of each row: the share of reference rows that are at most as likely.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that the model takes.

        Returns
        -------
        ndarray of shape (n_rows,)
            Above 0 and at most 1.
        """
        table = read_table(X)
        found = self.score(table)
        table = align(table, self.model.schema_)
        absent = missing_cells(table)
        lacks = np.zeros((self.reference.n, table.d), dtype=bool) if self.drawn else missing_cells(self.reference)
        out = np.empty(table.n)
        patterns, which = np.unique(absent, axis=0, return_inverse=True)
        for i, pattern in enumerate(patterns):
            rows = np.flatnonzero(which.reshape(-1) == i)
            fits = ~lacks[:, ~pattern].any(axis=1)
            known = np.sort(_quietly(self.model, hidden(self.reference, pattern))[fits])
            out[rows] = (1 + np.searchsorted(known, found[rows], side="right")) / (len(known) + 1)
        return out

    def is_novel(self, X: object, significance: float = 0.05) -> NDArray[np.bool_]:
        """Return which rows have a p-value of at most the significance level.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that the model takes.
        significance : float between 0 and 1, default=0.05
            How often a row like those of the reference may be called novel.

        Returns
        -------
        ndarray of bool, of shape (n_rows,)
            True where the row is novel.

        Raises
        ------
        OptionError
            If there are too few reference rows for so low a significance.
        """
        _rank(significance, self.reference.n)
        return self.p_value(X) <= significance

    def threshold(self, significance: float = 0.05) -> float:
        """Return the log p(x) below which a complete row is novel.

        Parameters
        ----------
        significance : float between 0 and 1, default=0.05
            How often a row like those of the reference may be called novel.

        Returns
        -------
        float
            To be compared with ``score``.

        Raises
        ------
        OptionError
            If there are too few reference rows for so low a significance.
        """
        known = _quietly(self.model, self.reference)
        known = np.sort(known if self.drawn else known[~missing_cells(self.reference).any(axis=1)])
        return float(known[_rank(significance, len(known)) - 1])

    def __repr__(self) -> str:
        source = "drawn from the model" if self.drawn else "given"
        return f"NoveltyScore of {type(self.model).__name__} against {self.reference.n} rows {source}"


def _rank(significance: float, m: int) -> int:
    """p ≤ significance for rows that are less likely than the reference row of this rank."""
    if not is_number(significance) or not 0 < significance < 1:
        raise OptionError(f"significance must be between 0 and 1; got {brief(significance)}.")
    k = int(np.floor(significance * (m + 1) + 1e-9))
    if k < 1:
        raise OptionError(
            f"significance={significance:g} needs at least {np.ceil(1 / significance) - 1:.0f} reference rows; there "
            f"are {m}."
        )
    return k


def novelty_score(model: Any, reference: object, n: int, random_state: Any) -> NoveltyScore:
    """Against the given rows, or n that are drawn from the model."""
    if reference is not None:
        table = read_table(reference)
        model.score_samples(table)  # refuses what it cannot read, before anyone asks
        return NoveltyScore(model.copy(), align(table, model.schema_), False)
    counts = [t.distribution.name for t in model.fitted_.terms if t.distribution.name in ("multinomial", "complement")]
    if counts:
        raise OptionError(
            f"A {counts[0]} model does not say how many words a row has, so its own rows are no reference. Give "
            "reference rows that it did not learn: novelty(X_held_out)."
        )
    X, _ = model.sample(n, random_state=random_state)
    return NoveltyScore(model.copy(), align(read_table(X), model.schema_), True)


def missing_cells(table: Table) -> NDArray[np.bool_]:
    """(n, d): which values are missing."""
    if table.csr is not None:
        return np.zeros((table.n, table.d), dtype=bool)
    if table.matrix is not None:
        return np.isnan(table.matrix) if table.matrix.dtype.kind == "f" else np.zeros(table.matrix.shape, dtype=bool)
    assert table.columns is not None
    return np.column_stack([_missing(c) for c in table.columns])


def _missing(column: RawColumn) -> NDArray[np.bool_]:
    if column.storage == "coded":
        return np.asarray(column.values) < 0
    if column.storage == "numbers":
        return np.isnan(column.values) if column.values.dtype.kind == "f" else np.zeros(len(column.values), bool)
    if column.storage == "arrow":
        return np.asarray(nw.from_native(column.values, series_only=True).is_null().to_numpy(), dtype=bool)
    return np.array([v is None or v != v for v in column.plain()], dtype=bool)


def hidden(table: Table, which: NDArray[np.bool_]) -> Table:
    """The table with some columns missing altogether."""
    if not which.any():
        return table
    if table.csr is not None:
        raise TableError("A sparse table has no missing values, so a dense row with some cannot be compared with it.")
    if table.matrix is not None and (table.matrix.dtype.kind == "f" or all_exact(table.matrix)):
        return replace(table, matrix=np.where(which, np.nan, table.matrix))
    table = in_columns(table)
    assert table.columns is not None
    absent = RawColumn(np.full(table.n, np.nan), "numbers", "real")
    columns = tuple(absent if gone else c for c, gone in zip(table.columns, which, strict=True))
    return replace(table, columns=columns)


def _quietly(model: Any, table: Table) -> Floats:
    """log p of the reference: what was said about it when it was given is not said again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: Floats = model.score_samples(table)
    return found

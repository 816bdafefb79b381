"""The features in which a generative classifier's log-odds are linear.

| factor | features | why |
|---|---|---|
| Gaussians that share their variance or covariance | x | the squares cancel |
| Gaussian with own variances | x, x² | |
| Gaussian with own covariances | x, all x_i x_j | |
| spherical with own variances | x, Σ x² | |
| categories, two labels, intervals | one 0/1 column per level | log P of the level |
| numbers above or below a threshold | 0/1 | |
| multinomial, complement, Poisson | x | x log θ |
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from tallybayes.data import encoding
from tallybayes.data.schema import Schema, align
from tallybayes.data.table import Table, read_table
from tallybayes.distributions.base import Distribution
from tallybayes.distributions.capabilities import LogOddsFeatures, capability
from tallybayes.distributions.context import Features
from tallybayes.distributions.univariate.categorical import CategoricalParams, free_levels
from tallybayes.errors import OptionError, TableError
from tallybayes.model.term import Term
from tallybayes.utils.array_types import Floats

if TYPE_CHECKING:
    from sklearn.utils import Tags

MAX_DENSE_NUMBERS = 1 << 27  # numbers in a dense block of features


def form_of(distribution: Distribution) -> Features:
    """Which features make the log-odds of this factor linear."""
    linear = capability(distribution, LogOddsFeatures)
    found = None if linear is None else linear.features()
    if found is None:
        raise OptionError(
            f"The distribution {distribution.name!r} has no logistic counterpart: its log-odds are linear in no list "
            "of features known here. Take Gaussians (NaiveBayes('gaussian')) or intervals (NaiveBayes('mdl')), or pair "
            "the model with a classifier of your choice: learning_curves((model, other), X, y)."
        )
    return found


class MatchingFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Transformer to the features in which the log-odds of `estimator` are linear, standardised.

    Numbers are centred and scaled to standard deviation 1 before they are squared or multiplied; counts are divided by
    their largest. A missing value becomes the feature's mean, a missing or unseen category no level at all: a
    generative model leaves such a factor out, a logistic regression cannot.

    Parameters
    ----------
    estimator : a classifier of this library
        Fitted anew (as a clone) to learn kinds, levels and cuts.

    Attributes
    ----------
    model_ : estimator
        The fitted clone.
    forms_ : dict
        For each group of columns what its features are: 'numbers', 'squares', 'products', 'sphere', 'levels',
        'threshold' or 'counts'.
    units_ : dict
        For each group of columns the centre and scale of its numbers.
    means_ : dict
        For each group of columns the means that missing features are given.
    n_free_ : int
        How many features there are without those that others determine (one level of each category).
    n_features_in_ : int
        How many columns there are.

    See Also
    --------
    discriminative_counterpart : Uses it as the first step of its pipeline.

    Examples
    --------
    Gaussians with variances of their own have log-odds that are linear in x and x²:

    >>> from tallybayes import GaussianNB
    >>> from tallybayes.evaluation import MatchingFeatures
    >>> X, y = [[1.0], [2.0], [7.0], [8.0]], ["low", "low", "high", "high"]
    >>> MatchingFeatures(GaussianNB()).fit_transform(X, y).shape
    (4, 2)
    """

    def __init__(self, estimator: object) -> None:
        self.estimator = estimator

    def fit(self, X: object, y: object) -> Self:
        """Learn kinds, levels, cuts and units.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            pandas, polars, pyarrow, NumPy, scipy sparse, or a list of dicts.
        y : array-like of shape (n_rows,)
            The class label of each row.

        Returns
        -------
        self : MatchingFeatures
            The same transformer, fitted.

        Raises
        ------
        OptionError
            If a distribution of the estimator has log-odds that are linear in no list of features.
        """
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: object, y: object) -> Any:  # the numbers learned are those of the features themselves
        """Learn kinds, levels, cuts and units, and give the features of the same rows.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            pandas, polars, pyarrow, NumPy, scipy sparse, or a list of dicts.
        y : array-like of shape (n_rows,)
            The class label of each row.

        Returns
        -------
        features : ndarray or scipy sparse matrix of shape (n_rows, n_features)
            Sparse where some column has levels.

        Raises
        ------
        OptionError
            If a distribution of the estimator has log-odds that are linear in no list of features.
        """
        table = read_table(X)
        self.model_ = clone(self.estimator).fit(table, y)
        self.forms_ = {t.columns: form_of(t.distribution) for t in self.model_.fitted_.terms}
        table = align(table, self.model_.schema_)
        self.units_: dict[tuple[int, ...], object] = {}
        self.means_: dict[tuple[int, ...], Floats | None] = {}
        self.n_free_ = 0
        blocks = []
        for term in self.model_.predictor_.fitted.terms:
            form = self.forms_[term.columns]
            unit = None if form == "levels" else _unit(_numbers(table, self.model_.schema_, term), form)
            block, free = _block(table, self.model_.schema_, term, form, unit)
            mean = None if sparse.issparse(block) else _mean(block)
            self.units_[term.columns], self.means_[term.columns] = unit, mean
            self.n_free_ += free
            blocks.append(block if mean is None else _filled(block, mean))
        self.n_features_in_ = self.model_.n_features_in_
        return _joined(blocks)

    def transform(self, X: object) -> Any:
        """Return the features of rows.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes.

        Returns
        -------
        features : ndarray or scipy sparse matrix of shape (n_rows, n_features)
            Sparse where some column has levels.
        """
        check_is_fitted(self)
        table = align(read_table(X), self.model_.schema_)
        blocks = []
        for term in self.model_.predictor_.fitted.terms:
            which = term.columns
            block, _ = _block(table, self.model_.schema_, term, self.forms_[which], self.units_[which])
            mean = self.means_[which]
            blocks.append(block if mean is None else _filled(block, mean))
        return _joined(blocks)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def _numbers(table: Table, schema: Schema, term: Term) -> Any:
    """The columns of a term: a matrix, NaN where missing; or a sparse matrix."""
    if table.csr is not None:
        return table.csr[:, list(term.columns)].astype(np.float64)
    found = encoding.numbers(table, schema, term.columns)
    x = np.column_stack([found.column(j) for j in range(found.d)])
    if np.isinf(x).any():
        name = schema.name(term.columns[int(np.argmax(np.isinf(x).any(axis=0)))])
        raise TableError(f"Input X contains infinity: column {name!r}.")
    return x


def _dense(x: Any) -> Floats:
    if sparse.issparse(x):
        if x.shape[0] * x.shape[1] > MAX_DENSE_NUMBERS:
            raise TableError(
                f"The counterpart of a Gaussian model needs dense numbers: {x.shape[0]} rows of {x.shape[1]} columns "
                f"take {x.shape[0] * x.shape[1] * 8 / 1e9:.1f} GB. Give fewer rows or columns, or a model of counts."
            )
        x = x.toarray()
    return np.asarray(x)


def _unit(x: Any, form: str) -> tuple[Floats, Floats]:
    """Centre and scale of each column."""
    if form in ("counts", "threshold"):
        largest = abs(x).max(axis=0).toarray().ravel() if sparse.issparse(x) else np.abs(np.nan_to_num(x)).max(axis=0)
        return np.zeros(x.shape[1]), np.where(largest > 0, largest, 1.0)
    x = _dense(x)
    here = ~np.isnan(x)
    n = np.maximum(here.sum(axis=0), 1)
    centre = np.where(here, x, 0.0).sum(axis=0) / n
    spread = np.sqrt(np.square(np.where(here, x - centre, 0.0)).sum(axis=0) / n)
    return centre, np.where(spread > 1e-14 * np.abs(centre), spread, 1.0)


def _block(table: Table, schema: Schema, term: Term, form: str, unit: Any) -> tuple[Any, int]:
    """The features of one term, and how many of them are free."""
    if form == "levels":
        return _levels(table, schema, term)
    x = _numbers(table, schema, term)
    if form == "threshold":
        above = term.distribution.threshold  # type: ignore[attr-defined]
        if not sparse.issparse(x):
            return np.where(np.isnan(x), np.nan, x > above), x.shape[1]
        x.sum_duplicates()
        x.data = (x.data > above).astype(np.float64)
        return x, x.shape[1]
    if sparse.issparse(x) and form == "counts":
        return x @ sparse.diags(1.0 / unit[1]), x.shape[1]
    z = (_dense(x) - unit[0]) / unit[1]
    n, d = z.shape
    if form == "products":
        i, j = np.triu_indices(d)
        if n * (d + len(i)) > MAX_DENSE_NUMBERS:
            raise TableError(
                f"All products of {d} columns make {len(i)} features: {n * len(i) * 8 / 1e9:.1f} GB for {n} rows. Give "
                "fewer columns or rows, or take the counterpart of a model with a shared covariance."
            )
        z = np.concatenate([z, z[:, i] * z[:, j]], axis=1)
    elif form == "squares":
        z = np.concatenate([z, z**2], axis=1)
    elif form == "sphere":
        z = np.concatenate([z, ((z * unit[1]) ** 2).sum(axis=1, keepdims=True) / (unit[1] ** 2).sum()], axis=1)
    return z, z.shape[1]


def _levels(table: Table, schema: Schema, term: Term) -> tuple[object, int]:
    """One column per level: 1 where the row has it."""
    part = term.params
    assert isinstance(part, CategoricalParams)
    sizes = part.sizes
    if term.distribution.needs == "cuts":
        x = _dense(_numbers(table, schema, term))
        cuts = [schema.cuts[j].points for j in term.columns]
        codes = [np.where(np.isnan(v), -1, np.searchsorted(c, v, side="right")) for v, c in zip(x.T, cuts, strict=True)]
    else:
        known = dict(zip(term.columns, sizes.tolist(), strict=True))
        codes, _ = encoding.level_codes(table, schema, term.columns, False, known)
    starts = np.cumsum(sizes) - sizes
    row, column = [], []
    for code, size, start in zip(codes, sizes.tolist(), starts.tolist(), strict=True):
        here = np.flatnonzero((code >= 0) & (code < size))
        row.append(here)
        column.append(code[here].astype(np.int64) + start)
    place = np.concatenate(row), np.concatenate(column)
    shape = (table.n, int(sizes.sum()))
    return sparse.csr_matrix((np.ones(len(place[0])), place), shape=shape), free_levels(part.exist)


def _mean(block: Floats) -> Floats:
    here = ~np.isnan(block)
    return np.asarray(np.where(here, block, 0.0).sum(axis=0) / np.maximum(here.sum(axis=0), 1))


def _filled(block: Floats, mean: Floats) -> Floats:
    return np.where(np.isnan(block), mean, block)


def _joined(blocks: list[Any]) -> Any:
    if any(sparse.issparse(b) for b in blocks):
        return sparse.hstack(blocks, format="csr")
    return np.concatenate(blocks, axis=1)

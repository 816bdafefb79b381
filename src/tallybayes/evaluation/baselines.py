"""What a model has to beat: the shares of the classes, logistic regression, and what a caller brings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from scipy import sparse

from tallybayes.data import encoding
from tallybayes.data.labels import read_labels
from tallybayes.data.schema import Schema, align
from tallybayes.data.table import read_table
from tallybayes.errors import TallybayesError
from tallybayes.utils.array_types import Array, Floats


class LargestClass:
    """Gives every row the shares of the classes, whatever it holds."""

    classes_: Array

    def __init__(self, _: Schema) -> None:
        self.log_share = np.empty(0)

    def fit(self, _: object, y: Array) -> Self:
        """Count the classes.

        Parameters
        ----------
        _ : object
            Rows, which it does not look at.
        y : ndarray of shape (n,)
            The class of each row.

        Returns
        -------
        Self
            The same, fitted.
        """
        self.classes_, n = np.unique(y, return_counts=True)
        self.log_share = np.log(n / n.sum())
        return self

    def predict_log_proba(self, X: object) -> Floats:
        """Return each row the shares of the classes.

        Parameters
        ----------
        X : table of shape (n, n_columns)
            Rows.

        Returns
        -------
        ndarray of shape (n, K)
            Of each row and class.
        """
        return np.tile(self.log_share, (read_table(X).n, 1))


class Logistic:
    """Logistic regression: one-hot labels, words counted, numbers scaled, missing values marked and at the mean."""

    classes_: Array

    def __init__(self, schema: Schema) -> None:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.impute import SimpleImputer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler

        self.schema = schema
        self.numeric = [j for j, kind in enumerate(schema.kinds) if kind in ("real", "count")]
        self.texts = {j: CountVectorizer() for j, kind in enumerate(schema.kinds) if kind == "text"}
        self.labels = [j for j in range(schema.d) if j not in self.numeric and j not in self.texts]
        self.numbers = make_pipeline(SimpleImputer(add_indicator=True, keep_empty_features=True), StandardScaler())
        self.one_hot = OneHotEncoder(handle_unknown="ignore")
        self.model = LogisticRegression(max_iter=1000)

    def fit(self, X: object, y: Array) -> Self:
        """Fit the regression on what it makes of the columns.

        Parameters
        ----------
        X : table of shape (n, n_columns)
            Rows.
        y : ndarray of int, of shape (n,)
            The class of each row by number.

        Returns
        -------
        Self
            The same, fitted.
        """
        codes, labels = read_labels(y, len(y))  # scikit-learn does not take labels of every type
        self.model.fit(self._matrix(X, "fit_transform"), codes)
        self.classes_ = labels[self.model.classes_]
        return self

    def predict_log_proba(self, X: object) -> Floats:
        """Return log P(class | x) of each row.

        Parameters
        ----------
        X : table of shape (n, n_columns)
            Rows.

        Returns
        -------
        ndarray of shape (n, K)
            Of each row and class.
        """
        return np.asarray(self.model.predict_log_proba(self._matrix(X, "transform")))

    def _matrix(self, X: object, how: str) -> Any:
        table = align(read_table(X), self.schema)
        if table.csr is not None:
            return table.csr
        parts = []
        if self.numeric:
            found = encoding.numbers(table, self.schema, self.numeric)
            numbers = np.column_stack([found.column(i) for i in range(len(self.numeric))])
            parts.append(getattr(self.numbers, how)(numbers))
        if self.labels:
            labels = np.column_stack([_texts(table.values(j)) for j in self.labels])
            parts.append(getattr(self.one_hot, how)(labels))
        for j, counter in self.texts.items():
            parts.append(getattr(counter, how)(_texts(table.values(j))))
        return sparse.hstack(parts).tocsr() if len(parts) > 1 else parts[0]


def _texts(values: list[object]) -> Array:
    """Labels as strings; a missing value is a label of its own."""
    out = np.empty(len(values), dtype=object)
    out[:] = ["" if v is None else str(v) for v in values]
    return out


class Own:
    """A caller's classifier, cloned; what it raises is an error of ours, so that the others go on."""

    classes_: Array

    def __init__(self, model: object) -> None:
        from sklearn.base import clone

        self.model = clone(model)

    def fit(self, X: object, y: Array) -> Self:
        """Fit a copy of the model that was given.

        Parameters
        ----------
        X : table of shape (n, n_columns)
            Rows.
        y : ndarray of int, of shape (n,)
            The class of each row by number.

        Returns
        -------
        Self
            The same, fitted.
        """
        with _as_ours():
            self.model.fit(X, y)
            self.classes_ = np.asarray(self.model.classes_)
        return self

    def predict_log_proba(self, X: object) -> Floats:
        """Return log P(class | x) of each row, in the order of the classes.

        Parameters
        ----------
        X : table of shape (n, n_columns)
            Rows.

        Returns
        -------
        ndarray of shape (n, K)
            Of each row and class.
        """
        with _as_ours():
            proba = np.asarray(self.model.predict_proba(X), dtype=np.float64)
        if proba.shape != (read_table(X).n, len(self.classes_)) or not np.allclose(proba.sum(axis=1), 1, atol=1e-3):
            raise TallybayesError("predict_proba gave rows that do not sum to 1, or too few numbers.")
        return np.log(np.clip(proba, np.finfo(np.float64).eps, 1.0))


@contextmanager
def _as_ours() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # whatever it is, it is not ours to stop for
        raise TallybayesError(" ".join(f"{type(error).__name__}: {error}".split())) from error

"""Predictor: a fitted model made for answering. Compiled once, kept beside the model, never saved.

What every way of asking holds: `predict_proba` and its like, one row at a time, and whatever answers elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import scipy

from tallybayes import _core
from tallybayes.data.labels import accuracy, read_target
from tallybayes.distributions.capabilities import (
    CheckRows,
    CompiledMatrix,
    PackedRow,
    Pieces,
    WholePrediction,
    capability,
)
from tallybayes.distributions.column_terms import terms as column_terms
from tallybayes.distributions.context import RowScores
from tallybayes.errors import OptionError, TableError, UnseenCategoryWarning, listing, warn
from tallybayes.model.fast_row import RowCodes, row_columns
from tallybayes.model.fitted import Fitted
from tallybayes.model.priors import log_priors
from tallybayes.model.rows import Rows, read_rows
from tallybayes.model.term import refused
from tallybayes.utils.array_types import Floats
from tallybayes.utils.cached import cached_property

OUTPUTS = ("joint", "log_proba", "proba", "best", "log_density")
FEW_ROWS = 1000  # for which it matters what a question costs besides its rows
OTHER = "; unseen='other' gives them the smoothed probability of a level never seen"


class PredictionOptions(NamedTuple):
    """How a model answers, besides what it learned.

    Parameters
    ----------
    beta : float, default=1.0
        How many times the log-likelihood counts.
    unseen : {'ignore', 'other', 'error'}, default='ignore'
        What becomes of a category unseen.
    can_be_other : bool, default=True
        Whether 'other' may be advised.
    who : str, default='this model'
        What messages call the model.
    """

    beta: float = 1.0
    unseen: str = "ignore"
    can_be_other: bool = True
    who: str = "this model"


class Predictor:
    """Reads rows as the model does, and answers for them.

    Parameters
    ----------
    fitted : Fitted
        With parameters.
    offset : ndarray of shape (K,)
        What the log joint starts from, for all rows.
    options : PredictionOptions
        How it answers.
    """

    def __init__(self, fitted: Fitted, offset: Floats, options: PredictionOptions) -> None:
        self.fitted, self.offset, self.options = fitted, offset, options
        self._terms = fitted.terms
        self._sizes: Mapping[int, int] = fitted.sizes()

    @cached_property
    def _fast_matrix(self) -> _core.FastMatrix | None:
        """For a model of one term that reads a matrix as it is."""
        schema, term = self.fitted.schema, self._terms[0]
        plain = schema.names is None and schema.expansion is None and not schema.levels
        fast = capability(term.distribution, CompiledMatrix)
        if fast is None or not plain or term.columns != tuple(range(schema.d)):
            return None
        return fast.fast_matrix(row_columns(schema, term), term.params, self.offset)

    @cached_property
    def _fast_row(self) -> tuple[RowCodes, RowScores] | None:
        """For a model of one term that a row's codes are enough for."""
        packed = capability(self._terms[0].distribution, PackedRow) if len(self._terms) == 1 else None
        found = None if packed is None else packed.row_scores(self._terms[0].params)
        return None if found is None else (RowCodes(self.fitted, found.sizes, found.gone), found)

    def with_options(self, options: PredictionOptions) -> Predictor:
        """Answer with other options.

        Parameters
        ----------
        options : PredictionOptions
            How to answer.

        Returns
        -------
        Predictor
            The same otherwise.
        """
        other = copy(self)
        other.options = options
        return other

    def read(self, X: object) -> Rows:
        """Read a table as this model does.

        Parameters
        ----------
        X : table of shape (n, n_columns)
            pandas, polars, pyarrow, NumPy, scipy sparse, or a list of dicts.

        Returns
        -------
        Rows
            Aligned with the schema.
        """
        return read_rows(X, self.fitted.schema, self._terms, self._sizes, self.options.who)

    def predict(self, X: object, output: str, offset: Floats | None = None) -> Any:
        """Read rows and answer for them: few rows of a matrix in one step, where the model can.

        Parameters
        ----------
        X : table of shape (n, n_columns)
            pandas, polars, pyarrow, NumPy, scipy sparse, or a list of dicts.
        output : {'joint', 'log_proba', 'proba', 'best', 'log_density'}
            What is asked, as of `predict_rows`.
        offset : ndarray of shape (K,) or (n, K), default=None
            What the log joint starts from, in the place of the model's own.

        Returns
        -------
        ndarray of shape (n, K) or (n,)
            The answer for each row, the same bits as ``predict_rows(read(X), output, offset)``.
        """
        if type(X) is np.ndarray and X.ndim == 2 and len(X) <= FEW_ROWS and offset is None and self.options.beta == 1:
            found = None if self._fast_matrix is None else self._fast_matrix.predict(X, output, FEW_ROWS)
            if found is not None:
                return found
        return self.predict_rows(self.read(X), output, offset)

    def offset_for(self, priors: object) -> Floats | None:
        """Return what the log joint starts from under a prior for one question.

        Parameters
        ----------
        priors : None, 'uniform', 'laplace', array, dict, Series or table
            One prior for all rows, or one for each row.

        Returns
        -------
        ndarray of shape (K,) or (n, K), or None
            None: as always.
        """
        return None if priors is None else log_priors(self.fitted.weight, self.fitted.classes, priors)

    def accuracy(self, X: object, y: object, sample_weight: object) -> float:
        """Compute the share of rows predicted right; a row of a class that was never learned is predicted wrong.

        Parameters
        ----------
        X : table of shape (n, n_columns)
            pandas, polars, pyarrow, NumPy, scipy sparse, or a list of dicts.
        y : array-like of shape (n,)
            The true class of each row.
        sample_weight : array-like of shape (n,) or None
            The weight of each row.

        Returns
        -------
        float
            From 0 to 1.
        """
        rows, classes = self.read(X), self.fitted.classes
        return accuracy(classes, self.predict_rows(rows, "best"), read_target(y, rows.n, sample_weight))

    def predict_rows(self, rows: Rows, output: str, offset: Floats | None = None) -> Any:
        """Answer for rows: log prior + β log P(x | class) = β (log prior / β + log P(x | class)).

        Parameters
        ----------
        rows : Rows
            What `read` gave.
        output : {'joint', 'log_proba', 'proba', 'best', 'log_density'}
            log P(x, class), log P(class | x), P(class | x), the number of the best class, or log p(x).
        offset : ndarray of shape (K,) or (n, K), default=None
            What the log joint starts from, in the place of the model's own.

        Returns
        -------
        ndarray of shape (n, K) or (n,)
            The answer for each row.
        """
        if output not in OUTPUTS:
            raise OptionError(f"output must be one of {', '.join(map(repr, OUTPUTS))}; got {output!r:.60}.")
        beta, offset = self.options.beta, self.offset if offset is None else offset
        if beta == 1 or output == "log_density":  # log p(x) is a statement about rows, not about classes
            return self._scored(rows, output, offset)
        if output in ("joint", "best"):
            found = self._scored(rows, output, offset / beta)
            return beta * found if output == "joint" else found
        log = scipy.special.log_softmax(beta * self._scored(rows, "log_proba", offset / beta), axis=1)
        return np.exp(log) if output == "proba" else log

    def row_proba(self, row: dict[str, object]) -> Floats | None:
        """Answer for one dict, where its codes are all that the model reads.

        Parameters
        ----------
        row : dict from column to value
            A key left out is a missing value.

        Returns
        -------
        ndarray of shape (K,) or None
            P(class | x), the same bits as ``predict_rows(read([row]), 'proba')``; None: the general path is needed.
        """
        fast_row = self._fast_row if self.options.beta == 1 else None
        codes = None if fast_row is None else fast_row[0].read(row)
        if fast_row is None or codes is None:
            return None
        scores = fast_row[1].scores(codes)
        if scores is None:
            return None
        scorer = _core.Scorer(1, self.offset)
        scorer.added(scores, [])
        found: Floats = scorer.proba()[0]
        return found

    def likelihood(self, rows: Rows) -> Floats:
        """Return log P(x | class), without prior or temperature.

        Parameters
        ----------
        rows : Rows
            What `read` gave.

        Returns
        -------
        ndarray of shape (n, K)
            Of each row and class.
        """
        found: Floats = self._scored(rows, "joint", np.zeros(self.fitted.K))
        return found

    def check_rows(self, rows: Rows) -> None:
        """Refuse rows that `predict_rows` refuses, and tell of categories unseen as it does, without an answer.

        Parameters
        ----------
        rows : Rows
            What `read` gave.
        """
        scorer = _core.Scorer(rows.n, np.zeros(self.fitted.K))
        for term in self._terms:
            try:
                check = capability(term.distribution, CheckRows)
                check_rows = term.distribution.score if check is None else check.check_rows
                check_rows(scorer, rows.of(term), term.params)
            except _core.BadValue as e:
                raise refused(e, self.fitted.schema, term.columns, rows.who) from None
        self._output(scorer, rows, "joint")

    def terms(self, rows: Rows) -> Floats:
        """Return what each column adds to the log joint, the temperature included, and what belongs to none.

        Parameters
        ----------
        rows : Rows
            What `read` gave.

        Returns
        -------
        ndarray of shape (n, columns, K) or (n, columns + 1, K)
            Of each row, column and class; the one more, of models that have such, belongs to no column.
        """
        K, schema = self.fitted.K, self.fitted.schema
        out, rest = np.empty((rows.n, schema.d, K)), list[Floats]()
        for term in self._terms:
            try:
                found, own = column_terms(term.distribution, rows.of(term), term.params, K), len(term.columns)
            except _core.BadValue as e:
                raise refused(e, schema, term.columns, rows.who) from None
            out[:, list(term.columns)] = found[:, :own]
            if found.shape[1] > own:
                rest.append(found[:, own:])
        if rest:
            out = np.concatenate([out, sum(rest[1:], rest[0])], axis=1)
        if self.options.beta != 1:
            out *= self.options.beta
        return out

    def pieces(self, rows: Rows, j: int, i: int) -> list[tuple[str, Floats]] | None:
        """Return what the words of a text add to the log joint, the temperature included.

        Parameters
        ----------
        rows : Rows
            What `read` gave.
        j : int
            The column.
        i : int
            The row.

        Returns
        -------
        list of (str, ndarray of shape (K,)) or None
            Each word and what it adds; None if the column has no texts.
        """
        term = next(t for t in self._terms if j in t.columns)
        words = capability(term.distribution, Pieces)
        found = None if words is None else words.pieces(rows.of(term), term.params, i)
        return None if found is None else [(name, self.options.beta * says) for name, says in found]

    def _scored(self, rows: Rows, output: str, offset: Floats) -> Any:
        if offset.ndim == 2 and len(offset) != rows.n:
            raise OptionError(f"priors are for {len(offset)} rows; X has {rows.n}.")
        term = self._terms[0]
        try:
            whole = capability(term.distribution, WholePrediction) if len(self._terms) == 1 else None
            if whole is not None:
                return whole.predict(rows.of(term), term.params, output, offset)
            scorer = _core.Scorer(rows.n, offset)
            for term in self._terms:
                term.distribution.score(scorer, rows.of(term), term.params)
        except _core.BadValue as e:
            raise refused(e, self.fitted.schema, term.columns, rows.who) from None
        return self._output(scorer, rows, output)

    def _output(self, scorer: _core.Scorer, rows: Rows, output: str) -> Any:
        """What a scorer says that knows all terms."""
        try:
            answer = getattr(scorer, output)()
        except _core.BadValue as e:
            raise refused(e, self.fitted.schema, self._terms[scorer.refused].columns, rows.who) from None
        if self.options.unseen != "other":
            self._tell_unseen([self._terms[part].columns[col] for part, col in scorer.unseen()])
        return answer

    def _tell_unseen(self, columns: list[int]) -> None:
        """Says which columns held a category unseen: a warning, or an error if that was asked for."""
        if not columns:
            return
        names = listing([self.fitted.schema.name(j) for j in columns])
        other = OTHER if self.options.can_be_other else ""
        said = f"Categories that were not seen while learning, in column(s) {names}"
        if self.options.unseen == "error":
            raise TableError(f"{said}. unseen='ignore' leaves their factors out{other}.")
        warn(f"{said}: their factors are left out. unseen='error' refuses them{other}.", UnseenCategoryWarning)

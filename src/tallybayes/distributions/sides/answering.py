"""How a distribution answers fast: what a Predictor and the doors for single rows ask of it."""

from __future__ import annotations

from collections.abc import Sequence

from tallybayes import _core
from tallybayes.data.encoding import Data
from tallybayes.distributions.context import Context, P, RowColumn, RowScores, S
from tallybayes.distributions.contract import Contract
from tallybayes.utils.array_types import Array


class Answers(Contract[S, P]):
    """Parameters compiled for answering, and shorter ways to an answer than `score`."""

    def compile(self, p: P, context: Context) -> P:  # noqa: ARG002
        """Make the parameters as `score`, `answer` and `terms` read them fastest: once for many questions.

        Parameters
        ----------
        p : params
            Parameters.
        context : Context
            The weight of each class, and the labels behind the codes.

        Returns
        -------
        params
            By default the same.
        """
        return p

    def answer(self, data: Data, p: P, how: str, start: Array) -> Array | None:  # noqa: ARG002
        """Give a whole answer, where this is the only distribution of a model and has a shorter way to it than `score`.

        Parameters
        ----------
        data : Numbers, Coded, Codes or Sparse
            Its columns.
        p : params
            Parameters.
        how : {'joint', 'log_proba', 'proba', 'best', 'evidence'}
            What is asked.
        start : ndarray of shape (K,) or (n, K)
            What the log joint starts from.

        Returns
        -------
        ndarray or None
            None where there is no shorter way, by default.
        """
        return None

    def fast_matrix(self, columns: Sequence[RowColumn], p: P, start: Array) -> _core.MatrixDoor | None:  # noqa: ARG002
        """Open compiled code that reads a matrix of numbers and answers in one call, where this is all of a model.

        Parameters
        ----------
        columns : sequence of RowColumn
            The columns of the matrix, none of which has a dictionary.
        p : params
            Parameters, compiled.
        start : ndarray of shape (K,)
            What the log joint starts from.

        Returns
        -------
        MatrixDoor or None
            None where there is no such code, by default.
        """
        return None

    def row_scores(self, p: P) -> RowScores | None:  # noqa: ARG002
        """Tell how one row is scored by its packed codes alone, where this is all of a model.

        Parameters
        ----------
        p : params
            Parameters, compiled.

        Returns
        -------
        RowScores or None
            None where codes are not all that it reads, by default.
        """
        return None

    def look(self, scorer: _core.Scorer, data: Data, p: P) -> None:
        """Refuse what `score` refuses and report the categories that it reports, where only that is asked.

        Parameters
        ----------
        scorer : Scorer
            As for `score`; its numbers are not read afterwards.
        data : Numbers, Coded, Codes or Sparse
            Its columns.
        p : params
            Parameters.
        """
        self.score(scorer, data, p)

    def fast_row(self, columns: Sequence[RowColumn], s: S, context: Context) -> _core.DoorPart | str:  # noqa: ARG002
        """Make what learns and scores these columns of one dict at a time in compiled code.

        It does so to the bit as `add`, `combine`, `estimate` and `score` do.

        Parameters
        ----------
        columns : sequence of RowColumn
            Its columns.
        s : sums
            The tally so far.
        context : Context
            The weight of each class, and the labels behind the codes.

        Returns
        -------
        DoorPart or str
            A sentence that says why there is none, by default.
        """
        return f"the distribution {self.name!r} has no compiled form for one row"

"""What a distribution tells of itself: to explain and pictures, to its twin, to other programs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.encoding import Data
from tallybayes.distributions.context import Context, Features, Looks, P, S
from tallybayes.distributions.contract import Contract
from tallybayes.distributions.exported import Exported
from tallybayes.utils.array_types import Array, Floats


class Tells(Contract[S, P]):
    """Its columns one at a time, its forms, its number of parameters, itself as JSON."""

    def column(self, p: P, j: int) -> P | None:  # noqa: ARG002
        """Take out the parameters of column j alone.

        Parameters
        ----------
        p : params
            Parameters.
        j : int
            The column.

        Returns
        -------
        params or None
            None where the columns are not independent given the class, by default.
        """
        return None

    def pieces(self, data: Data, p: P, i: int) -> list[tuple[str, Floats]] | None:  # noqa: ARG002
        """Tell what the pieces of a value add to log P(x | class), where it has pieces: the words of a text.

        Parameters
        ----------
        data : Numbers, Coded, Codes or Sparse
            Its columns, of which there is one.
        p : params
            Parameters.
        i : int
            The row.

        Returns
        -------
        list of (str, ndarray of shape (K,)) or None
            Each piece and what it adds, summing to `terms`; None where values have none, by default.
        """
        return None

    def outcomes(self, p: P, j: int) -> Array | None:  # noqa: ARG002
        """Tell the log probability of each value that column j can have.

        Parameters
        ----------
        p : params
            Parameters.
        j : int
            The column.

        Returns
        -------
        ndarray of shape (values, K) or None
            None if they are not a short list, by default.
        """
        return None

    def linear(self, p: P, log_prior: NDArray[np.float64]) -> tuple[Array, Array] | None:  # noqa: ARG002
        """Give weight and bias with log P(x | class) = weight x + bias, up to a term that all classes share.

        A weight is infinite where a probability is 0. A column of levels counts as one column for each of them, 1 where
        a row has it; for a threshold x is 1 above it.

        Parameters
        ----------
        p : params
            Parameters.
        log_prior : ndarray of shape (K,)
            Of the classes; the numbers may be kept small by it.

        Returns
        -------
        tuple of (ndarray of shape (K, columns), ndarray of shape (K,)) or None
            Weight and bias; None where it is not linear in x, by default.
        """
        return None

    def quadratic(self, p: P) -> tuple[Array, Array, Array] | None:  # noqa: ARG002
        """Give A, b and c with log P(x | class) = xᵀ A x + xᵀ b + c.

        Parameters
        ----------
        p : params
            Parameters.

        Returns
        -------
        tuple of ndarrays of shapes (K, d, d), (K, d) and (K,), or None
            None where that is not its form, by default.
        """
        return None

    def normal(self, p: P) -> tuple[Array, Array] | None:  # noqa: ARG002
        """Give means (from those of the first class) and variances, if each column by itself is Gaussian in each class.

        Parameters
        ----------
        p : params
            Parameters.

        Returns
        -------
        tuple of two ndarrays of shape (K, columns), or None
            None where that is not its form, by default.
        """
        return None

    def gaussians(self, p: P, columns: Sequence[int]) -> tuple[Floats, Floats] | None:  # noqa: ARG002
        """Give the Gaussian that some of its columns have together in each class.

        Parameters
        ----------
        p : params
            Parameters.
        columns : sequence of int
            Which of its columns.

        Returns
        -------
        tuple of ndarrays of shapes (K, columns) and (K, columns, columns), or None
            Means and covariances; None where that is not its form, by default.
        """
        return None

    def alone(self, p: P, j: int, x: Array) -> Floats | None:  # noqa: ARG002
        """Give log p(x_j | class) of values of one column, whatever the others are.

        Parameters
        ----------
        p : params
            Parameters.
        j : int
            The column.
        x : ndarray of shape (n,)
            Its values, as `sample` draws them.

        Returns
        -------
        ndarray of shape (n, K) or None
            Of each value; None where `column` or `terms` says it, by default.
        """
        return None

    def no_likelihood(self) -> str | None:
        """Tell why rows without a label cannot be learned: EM climbs the likelihood of what adds.

        Returns
        -------
        str or None
            A sentence, and what to do; None where they can, by default.
        """
        return None

    def looks(self) -> Looks:
        """Tell how a column of it is drawn.

        'curve': a density along the numbers.  'whole': a probability of each whole number.  'sides': of both sides of
        the field `threshold`.  'share': one share of all its columns' counts, which belong into one picture.

        Returns
        -------
        str
            'curve' by default; columns of levels and intervals are drawn as such whatever it says.
        """
        return "curve"

    def features(self) -> Features | None:
        """Tell in which functions of its columns the log-odds of two classes are linear.

        'numbers': x.  'squares': x, x².  'products': x, all x_i x_j.  'sphere': x, Σ x².  'levels': 0 or 1 for each
        level.  'threshold': 0 or 1, by the field `threshold`.  'counts': x, of numbers that are 0 or more.

        Returns
        -------
        str or None
            None if in none of these, by default.
        """
        return None

    def n_parameters(self, p: P, context: Context) -> int | None:  # noqa: ARG002
        """Tell how many free numbers P(x | class) has, in all classes together.

        Parameters
        ----------
        p : params
            Parameters.
        context : Context
            The weight of each class, and the labels behind the codes.

        Returns
        -------
        int or None
            None if no fixed number, by default.
        """
        return None

    def export(self, p: P, context: Context) -> Exported | str:  # noqa: ARG002
        """Give its parameters as plain JSON values, in one of the forms that scorers elsewhere know.

        The forms are listed in the guide, docs/model-json.md; what they add to log P(x | class) may differ from `score`
        by a term that all classes share.

        Parameters
        ----------
        p : params
            Parameters.
        context : Context
            The weight of each class, and the labels behind the codes.

        Returns
        -------
        dict or str
            ``form`` and what goes with it; ``reads``, how each column is read, where `needs` does not say it. By
            default a sentence that says why there is none.
        """
        return f"the distribution {self.name!r} has no form for other programs"

"""How rows are judged by what was learned without them, and what EM climbs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Data, rows_of
from tallybayes.distributions.context import Context, P, S
from tallybayes.distributions.sides.adding import Adds
from tallybayes.utils.array_types import Array


class LeavesOut(Adds[S, P]):
    """Rows left out of the tally, and the prior that smoothing stands for."""

    def estimate_again(self, s: S, context: Context, p: P) -> P:  # noqa: ARG002
        """Make parameters of another tally, with what was chosen by leave-one-out or the like kept as it is.

        Parameters
        ----------
        s : sums
            A tally.
        context : Context
            The weight of each class, and the labels behind the codes.
        p : params
            Those of the tally on which it was chosen.

        Returns
        -------
        params
            Of s; by default what `estimate` gives.
        """
        return self.estimate(s, context)

    def leave_one_out(
        self, data: Data, y: NDArray[np.int32], unit: NDArray[np.float64], s: S, p: P, context: Context
    ) -> Array:
        """Tell log P(x | class) of rows that are in the tally, each by the tally without the row itself.

        This way is right for any distribution, at the cost of an estimate for each row.

        Parameters
        ----------
        data : Numbers, Coded, Codes or Sparse
            Its columns.
        y : ndarray of int32, of shape (n,)
            The class of each row.
        unit : ndarray of shape (n,)
            How much of each row is taken out of its class; 0 leaves the row in.
        s : sums
            The tally of all rows.
        p : params
            Its parameters.
        context : Context
            The weight of each class, and the labels behind the codes.

        Returns
        -------
        ndarray of shape (n, K)
            Up to a term that all classes share.
        """
        out = np.empty((len(y), context.K))
        for i in range(len(y)):
            row = rows_of(data, slice(i, i + 1))
            less = self.combine(s, self.add(row, y[i : i + 1], unit[i : i + 1], context.K), -1)
            found = self.estimate_again(less, context.without(int(y[i]), float(unit[i])), p)
            scorer = _core.Scorer(1, np.zeros(context.K))
            self.score(scorer, row, found)
            out[i] = scorer.joint()[0]
        return out

    def penalty(self, s: S, p: P) -> float:  # noqa: ARG002
        """Tell the log prior density under which `estimate` is the most probable value, up to a constant.

        The likelihood plus this is what EM climbs.

        Parameters
        ----------
        s : sums
            A tally.
        p : params
            Its parameters.

        Returns
        -------
        float
            0 where the estimate is maximum likelihood (or no maximum at all).
        """
        return 0.0

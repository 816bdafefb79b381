"""A distribution of one numeric column in a few lines of NumPy: what people write who need one of their own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Data, Numbers, Sparse
from tallybayes.distributions.base import Distribution
from tallybayes.distributions.capabilities import IndependentColumns, ParameterCount
from tallybayes.distributions.context import Context, Params, Stats, Weights
from tallybayes.distributions.sparse_blocks import dense_scores, dense_sum
from tallybayes.distributions.statistics import expect, subtract
from tallybayes.utils.array_types import Array


class SimpleDistribution(Distribution[Stats, Params]):
    """A distribution of one numeric column, written in a few lines of NumPy.

    Say which functions of x are summed (`statistics`), how the statistics become parameters (`estimate_one`), what the
    log density is (`log_density`) and how values are drawn (`draw`). Adding, merging, forgetting, weights and missing
    values follow. A subclass is a frozen dataclass; `register` makes it available by its name.

    It is used where it is asked for. The default selection does not try it: that needs leave-one-out of each column
    (`ColumnLeaveOneOut`), which ``ByColumn`` in this folder derives from its statistics.

    Attributes
    ----------
    name : str
        Its name in ``distributions=`` and in files.
    parameters : tuple of str
        Names of the parameters that `estimate_one` returns.
    kinds : tuple of str
        The kinds of column that it can take.

    See Also
    --------
    Distribution : All methods of a distribution.
    register : Give it a name.

    Examples
    --------
    Waiting times: their rate is n / Σ x, so one sum is all there is to keep.

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.distributions import SimpleDistribution
    >>> @dataclass(frozen=True)
    ... class Waiting(SimpleDistribution):
    ...     name = "waiting"
    ...     parameters = ("rate",)
    ...     def statistics(self, x):
    ...         return [x]
    ...     def estimate_one(self, n, sums):
    ...         return [n / sums[0]]
    ...     def log_density(self, x, rate):
    ...         return np.log(rate) - rate * x
    ...     def draw(self, rng, rate):
    ...         return rng.exponential(1 / rate)
    >>> X, y = [{"wait": 1.0}, {"wait": 3.0}, {"wait": 10.0}, {"wait": 30.0}], ["day", "day", "night", "night"]
    >>> NaiveBayes({"wait": Waiting()}).fit(X, y).describe("wait")
    {'day': {'rate': 0.5}, 'night': {'rate': 0.05}}
    """

    kinds = ("real", "count")
    cells = ("n", "sums")
    capabilities: ClassVar[Collection[type]] = (IndependentColumns, ParameterCount)
    parameters: ClassVar[tuple[str, ...]]  # the names of what estimate_one returns

    @abstractmethod
    def statistics(self, x: Array) -> Sequence[Array]:
        """Return the functions of x whose weighted sums are all this distribution needs to keep.

        Parameters
        ----------
        x : ndarray of shape (n,)
            Values of the column, none missing.

        Returns
        -------
        sequence of ndarrays of shape (n,)
            One for each statistic.
        """

    @abstractmethod
    def estimate_one(self, n: Array, sums: Sequence[Array]) -> Sequence[Array]:
        """Estimate parameters from the statistics of one column.

        Parameters
        ----------
        n : ndarray of shape (K,)
            The weight of the values of each class.
        sums : sequence of ndarrays of shape (K,)
            The sum of each statistic.

        Returns
        -------
        sequence of ndarrays of shape (K,)
            One for each name in `parameters`.
        """

    @abstractmethod
    def log_density(self, x: Array, *parameters: Array) -> Array:
        """Return log p(x).

        Parameters
        ----------
        x : ndarray of shape (n, 1)
            Values of the column.
        *parameters : ndarrays of shape (K,)
            What `estimate_one` returned.

        Returns
        -------
        ndarray of shape (n, K)
            Of each value under each class.
        """

    @abstractmethod
    def draw(self, rng: np.random.Generator, *parameters: Array) -> Array:
        """Draw values.

        Parameters
        ----------
        rng : numpy.random.Generator
            What they are drawn with.
        *parameters : ndarrays of shape (n,)
            The parameters of each value's class.

        Returns
        -------
        ndarray of shape (n,)
            One value for each entry of the parameters.
        """

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> Stats:
        if isinstance(data, Sparse):
            return dense_sum(self, data, y, w, K)
        assert isinstance(data, Numbers)
        n = np.zeros((K, data.d))
        sums: Array | None = None
        for j in range(data.d):
            x = data.column(j)
            counted = (y >= 0) & (True if w is None else w > 0)
            keep = np.isfinite(x) & counted
            if (np.isinf(x) & counted).any():
                row = int(np.argmax(np.isinf(x) & counted))
                raise _core.BadValue("infinite", row, j, float(x[row]))
            weight = np.ones(len(x))[keep] if w is None else w[keep]
            n[:, j] = np.bincount(y[keep], weights=weight, minlength=K)
            found = [np.bincount(y[keep], weights=weight * t, minlength=K) for t in self.statistics(x[keep])]
            if sums is None:
                sums = np.zeros((K, data.d, len(found)))
            sums[:, j] = np.stack(found, axis=-1)
        assert sums is not None
        return {"n": n, "sums": sums}

    def combine(self, a: Stats, b: Stats, sign: int = 1) -> Stats:
        n = a["n"] + b["n"] if sign > 0 else subtract(a["n"], b["n"])
        sums = np.where(n[..., None] == 0, 0.0, a["sums"] + sign * b["sums"])
        return {"n": n, "sums": sums}

    def check(self, s: Stats, context: Context) -> None:
        shape = (context.K, context.d)
        expect(s, {"n": shape, "sums": (*shape, len(self.statistics(np.empty(0))))}, at_least_0=("n",))

    def estimate(self, s: Stats, context: Context) -> Params:  # noqa: ARG002
        n, sums = s["n"], s["sums"]
        total = n.sum(axis=0)
        # A class that never saw a column takes what all classes together say of it.
        unseen = n == 0
        n = np.where(unseen, total, n)
        sums = np.where(unseen[..., None], sums.sum(axis=0), sums)
        return {
            "columns": [
                [np.asarray(v, dtype=np.float64) for v in self.estimate_one(n[:, j], list(sums[:, j].T))]
                if total[j] > 0
                else None
                for j in range(n.shape[1])
            ],
            "K": n.shape[0],
        }

    def score(self, scorer: _core.Scorer, data: Data, p: Params) -> None:
        if isinstance(data, Sparse):
            dense_scores(self, scorer, data, p, p["K"])
            return
        assert isinstance(data, Numbers)
        terms = np.zeros((data.n, p["K"]))
        for j, parameters in enumerate(p["columns"]):
            x = data.column(j)
            if np.isinf(x).any():
                row = int(np.flatnonzero(np.isinf(x))[0])
                raise _core.BadValue("infinite", row, j, float(x[row]))
            here = ~np.isnan(x)
            if parameters is not None:
                with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                    found = self.log_density(x[here, None], *parameters)
                terms[here] += np.where(np.isnan(found), -np.inf, found)
        scorer.added(terms)

    def sample(self, p: Params, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        missing = np.full(len(y), np.nan)
        return [missing if q is None else self.draw(rng, *(v[y] for v in q)) for q in p["columns"]]

    def describe(self, p: Params, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:  # noqa: ARG002
        found = p["columns"][j]
        return {} if found is None else {name: float(v[k]) for name, v in zip(self.parameters, found, strict=True)}

    def column(self, p: Params, j: int) -> Params:
        return {"columns": [p["columns"][j]], "K": p["K"]}

    def n_parameters(self, p: Params, context: Context) -> int:  # noqa: ARG002
        return context.K * context.d * len(self.parameters)

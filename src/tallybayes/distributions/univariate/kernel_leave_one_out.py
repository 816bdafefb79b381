"""Leave-one-out of kernel densities: values, weights and bandwidths without the row, as after `forget`.

A row of class c leaves the values of c, which changes the bandwidth of c. It changes the bandwidth of every class if
that is in units of the standard deviation of the column. Densities of many rows whose bandwidths differ little are
interpolated in log h by Chebyshev polynomials: log f is analytic in it. What the last coefficients show to be inexact,
and what is little beside the row's own kernel, is summed value by value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.statistics import HALF_LOG_2PI, minus
from tallybayes.utils.array_types import Array

CLEAR = 0.9  # share of a density that may be a row's own kernel: more, and the others are summed by themselves
NODES = 9  # bandwidths that a density is interpolated between
WIDTH = 0.02  # largest difference in log h of bandwidths that are interpolated together
EXACT = 1e-11  # of a log density: what the last coefficients may add
CANCELLED = 1e-6  # of a sum of squares: less is not found by subtraction
SORTED = 4096  # values whose quartiles are found anew for each row, if weights are not whole numbers


@dataclass(frozen=True)
class Values:
    """The distinct values of a column in one class or in all, rising, with their weights."""

    value: Array
    weight: Array

    @property
    def total(self) -> float:
        """The weight of all."""
        return float(self.weight.sum())

    def without(self, x: float, u: float) -> Values:
        """Without u rows of value x."""
        weight = self.weight.copy()
        at = int(np.searchsorted(self.value, x))
        weight[at] = minus(weight[at], np.asarray(u))
        some = weight > 0
        return Values(self.value[some], weight[some])

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        if len(self.value) < 2:
            return 0.0
        z, unit = self._centred
        mean = np.average(z, weights=self.weight)
        return float(np.sqrt(np.average((z - mean) ** 2, weights=self.weight)) * unit)

    @property
    def _centred(self) -> tuple[Array, float]:
        unit = float(np.abs(self.value).max())
        return self.value / unit - self.value[0] / unit, unit

    def deviations(self, x: Array, u: Array, ddof: bool = False) -> Array:
        """The standard deviations without u of x; ddof: as R has it, N − 1 (at least N / 2) for N."""
        z, unit = self._centred
        total = self.total
        mean = np.average(z, weights=self.weight)
        square = float(self.weight @ (z - mean) ** 2)
        left = total - u
        with np.errstate(divide="ignore", invalid="ignore"):
            less = square - u * (x / unit - self.value[0] / unit - mean) ** 2 * (total / left)
            out = np.sqrt(np.maximum(less, 0.0) / (np.maximum(left - 1, left / 2) if ddof else left)) * unit
        for i in np.flatnonzero(~(less > CANCELLED * square)).tolist():
            rest = self.without(x[i], u[i])
            n = rest.total
            out[i] = rest.deviation * (np.sqrt(n / max(n - 1, n / 2)) if ddof and n > 0 else 1.0)
        return np.asarray(out)

    def bandwidth(self, rule: str) -> float:
        """By a rule; 0 of a single value."""
        start = np.array([0, len(self.value)])
        return float(_core.kernel_bandwidth(start, self.value, self.weight, rule, 1)[0, 0])

    def bandwidths(self, x: Array, u: Array, rule: str) -> Array:
        """The same without u of x, for each of them."""
        whole = bool((self.weight == np.floor(self.weight)).all() and (u == 1).all())
        if len(self.value) < 4 or (not whole and len(self.value) <= SORTED):
            return np.array([self.without(*each).bandwidth(rule) for each in zip(x, u, strict=True)])
        at = np.searchsorted(self.value, x)
        gone, left = minus(self.weight[at], u) == 0, self.total - u
        if rule == "john-langley":
            v = self.value / 4  # so that a difference is not infinite
            low = np.where(gone & (at == 0), v[1], v[0])
            high = np.where(gone & (at == len(v) - 1), v[-2], v[-1])
            with np.errstate(over="ignore"):
                h = (high - low) / np.sqrt(left) * 4
        else:
            h = self.deviations(x, u, ddof=True)
            if rule == "silverman":
                quartiles = self._quantiles(at, u, gone, left, 0.75) - self._quantiles(at, u, gone, left, 0.25)
                h = np.where(quartiles > 0, np.minimum(h, quartiles / 1.34), h)
            h = (0.9 if rule == "silverman" else 1.06) * h * left**-0.2
        h = np.minimum(h, np.finfo(float).max)
        return np.where(h >= 2 * np.finfo(float).tiny, h, 0.0)

    def _quantiles(self, at: Array, u: Array, gone: Array, left: Array, p: float) -> Array:
        """By R's type 7, without u of the value at `at`."""
        below = np.cumsum(self.weight)
        last = len(below) - 1 - (gone & (at == len(below) - 1))
        position = np.maximum(0.0, (left - 1) * p)
        whole = np.floor(position)

        def above(least: Array) -> Array:
            """The first value up to which there is more than `least`."""
            i = np.searchsorted(below, least, side="right")
            later = np.searchsorted(below, least + u, side="right")
            return np.asarray(np.minimum(np.where(i < at, i, np.maximum(later, at)), last))

        low, high = self.value[above(whole)], self.value[above(whole + 1)]
        return np.asarray(low + (position - whole) * (high - low))

    def log_density(self, x: float, h: float) -> float:
        """Summed value by value; 0 without values: nothing is known, so the column says nothing."""
        if not len(self.value):
            return 0.0
        with np.errstate(over="ignore", divide="ignore"):  # too far to be squared: a density of 0
            away = (x - self.value) / h
            log = float(scipy.special.logsumexp(-0.5 * away * away, b=self.weight / self.total))
        return log - float(np.log(h)) - HALF_LOG_2PI

    def log_densities(self, x: Array, h: Array) -> Array:
        """Of each x with its own bandwidth; NaN where that is not found by interpolation."""
        out = np.full(len(x), np.nan)
        log_h = np.log(h)
        group = np.floor(log_h / WIDTH)
        for g in np.unique(group):
            rows = np.flatnonzero(group == g)
            if len(rows) <= NODES:
                continue
            low, high = float(log_h[rows].min()), float(log_h[rows].max())
            if high - low < 1e-15 * abs(low):
                out[rows] = self._scored(x[rows], float(h[rows[0]]))
                continue
            nodes = chebyshev.chebpts1(NODES)
            with np.errstate(invalid="ignore", over="ignore"):
                found = [self._scored(x[rows], float(np.exp(low + (high - low) * (t + 1) / 2))) for t in nodes]
                terms = chebyshev.chebvander(nodes, NODES - 1).T @ np.stack(found) * (2 / NODES)
                terms[0] /= 2
                turn = np.clip(2 * (log_h[rows] - low) / (high - low) - 1, -1, 1)
                value = (chebyshev.chebvander(turn, NODES - 1) * terms.T).sum(axis=1)
                exact = np.abs(terms[-2:]).sum(axis=0) <= EXACT * (1 + np.abs(value))
            out[rows] = np.where(exact, value, np.nan)
        return out

    def _scored(self, x: Array, h: float) -> Array:
        start = np.array([0, len(self.value)])
        scorer = _core.Scorer(len(x), np.zeros(1))
        tables = _core.kernel_tables(start, self.value, self.weight, np.array([[h]]), 1)
        scorer.kernel(_core.Columns([x]), start, self.value, self.weight, *tables)
        return np.asarray(scorer.joint())[:, 0]


@dataclass(frozen=True)
class Column:
    """One column: its values by class and in all rows, and the rule or factor for bandwidths."""

    classes: tuple[Values, ...]
    everyone: Values
    bandwidth: str | float

    def log_likelihood(self, x: Array, y: NDArray[np.int32], unit: Array, log: Array) -> Array:
        """(n, K): log f(x | class) without each row. log: with all rows, where nothing else changes."""
        out = log.copy()
        rows = np.flatnonzero(~np.isnan(x) & (unit > 0))
        deviation = self.everyone.deviations(x[rows], unit[rows])
        for c, own in enumerate(self.classes):
            empty = not len(own.value)
            mine = (y[rows] == c) & (not empty)
            last = mine & (own.total - unit[rows] <= 1e-9 * own.total)
            changes = not isinstance(self.bandwidth, str) or (not empty and own.bandwidth(self.bandwidth) == 0)
            for values, inside, some in (
                (own, True, mine & ~last),
                (self.everyone, True, last | empty),
                (own, False, ~mine & (changes and not empty)),
            ):
                which = np.flatnonzero(some)
                if len(which):
                    asked = np.column_stack([x[rows[which]], unit[rows[which]], deviation[which]])
                    asked, place = np.unique(asked, axis=0, return_inverse=True)
                    out[rows[which], c] = self._log_densities(values, inside, *asked.T)[place.reshape(-1)]
        out[rows[deviation == 0]] = 0.0  # without the row, the column never varies
        return out

    def _log_densities(self, values: Values, inside: bool, x: Array, u: Array, deviation: Array) -> Array:
        """Of distinct values; inside: u of each x is taken out."""
        out = np.zeros(len(x))
        left = np.broadcast_to(values.total - u if inside else values.total, x.shape)
        h = self._bandwidths(values, inside, x, u, deviation, left)
        some = np.flatnonzero((deviation > 0) & (left > 1e-9 * values.total))
        x, u, h, left = x[some], u[some], h[some], left[some]
        found = values.log_densities(x, h)
        if inside:
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                share = np.exp(np.log(u) - np.log(values.total) - np.log(h) - HALF_LOG_2PI - found)  # its own kernel
                rest = found + np.log(values.total) - np.log(left) + np.log1p(-share)
            found = np.where(share <= CLEAR, rest, np.nan)
        for i in np.flatnonzero(np.isnan(found)).tolist():
            found[i] = (values.without(x[i], u[i]) if inside else values).log_density(x[i], h[i])
        out[some] = found
        return out

    def _bandwidths(self, values: Values, inside: bool, x: Array, u: Array, deviation: Array, left: Array) -> Array:
        if not isinstance(self.bandwidth, str):
            return self.bandwidth * deviation
        h = values.bandwidths(x, u, self.bandwidth) if inside else np.full(len(x), values.bandwidth(self.bandwidth))
        return np.where(h > 0, h, 0.9 * deviation * np.maximum(left, 1.0) ** -0.2)

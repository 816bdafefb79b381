"""Categorical: one probability per level and class, with Laplace's correction. Also of cut numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions.base import (
    Array,
    Context,
    Distribution,
    Params,
    Stats,
    Weights,
    spread,
    subtract,
)
from tallybayes.encode import RAW_LIMIT, Codes, Data
from tallybayes.errors import OptionError
from tallybayes.schema import Levels


@dataclass(frozen=True)
class Categorical(Distribution):
    """P(x_j = v | c) = (n_cv + a) / (n_c + a N_j),  a = 1: Laplace.

    N_j is the number of levels met (or declared by the column's type). With `contiguous`, integer labels are codes
    0 … max, and N_j = max + 1 (at least min_categories), as scikit-learn's CategoricalNB counts. With `other`, one
    more level stands for all that was never seen.
    """

    alpha: float = 1.0
    other: bool = False
    contiguous: bool = False
    min_categories: Any = None

    name = "categorical"
    kinds = ("categorical", "binary", "count", "real")
    needs = "levels"

    def __post_init__(self) -> None:
        check_alpha(self.alpha)

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> Stats:
        assert isinstance(data, Codes)
        sizes = np.zeros(data.columns.d, dtype=np.int64)
        limit = RAW_LIMIT if data.raw else 2**31 - 1
        count, sizes = _core.counts(data.columns, y, w, K, sizes, limit)
        return {"count": count, "sizes": sizes}

    def combine(self, a: Stats, b: Stats, sign: int = 1) -> Stats:
        sizes = np.maximum(a["sizes"], b["sizes"])
        x, z = resize(a, sizes), resize(b, sizes)
        return {"count": x + z if sign > 0 else subtract(x, z), "sizes": sizes}

    def scale(self, s: Stats, factor: float) -> Stats:
        return {**s, "count": s["count"] * factor}

    def reclass(self, s: Stats, to: Sequence[int], K: int) -> Stats:
        return {**s, "count": spread(s["count"], to, K)}

    def relevel(self, s: Stats, maps: Sequence[Sequence[int] | None]) -> Stats:
        """Level v of column j becomes level maps[j][v]; None leaves a column as it is."""
        K = s["count"].shape[0]
        columns = []
        for part, to in zip(split(s["count"], s["sizes"]), maps, strict=True):
            if to is None or not len(to):
                columns.append(part)
                continue
            out = np.zeros((K, max(to) + 1))
            out[:, np.asarray(to[: part.shape[1]], dtype=np.intp)] = part
            columns.append(out)
        sizes = np.array([c.shape[1] for c in columns], dtype=np.int64)
        return {"count": np.ascontiguousarray(np.concatenate(columns, axis=1)), "sizes": sizes}

    def levels_counted(self, s: Stats, context: Context) -> Array:
        """N_j: how many levels share the probability."""
        seen = [part.any(axis=0) for part in split(s["count"], s["sizes"])]
        found = [self._level_count(here, lv) for here, lv in zip(seen, context.levels, strict=True)]
        least = np.broadcast_to(np.asarray(0 if self.min_categories is None else self.min_categories), (len(found),))
        return np.maximum(np.array(found, dtype=np.float64), least) + (1 if self.other else 0)

    def _level_count(self, seen: Array, lv: Levels | None) -> int:
        met = np.flatnonzero(seen)
        if self.contiguous:
            labels = met.tolist() if lv is None else [lv.labels[v] for v in met]
            if all(isinstance(v, int) and v >= 0 for v in labels):
                return max(labels, default=-1) + 1
        return len(met if lv is None else lv.declared.union(met.tolist()))

    def estimate(self, s: Stats, context: Context) -> Params:
        N = self.levels_counted(s, context)
        sizes = s["sizes"]
        n = np.stack([part.sum(axis=1) for part in split(s["count"], sizes)], axis=1)
        down = n + self.alpha * N  # (K, d)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_down = np.where(down > 0, np.log(down), 0.0)
            table = np.log(s["count"] + self.alpha) - np.repeat(log_down, sizes, axis=1)
            rest = np.where(down > 0, np.log(self.alpha) - log_down, -np.log(np.maximum(N, 1)))
        # nothing counted and nothing added: every level is as likely as any other
        table = np.where(np.repeat(down > 0, sizes, axis=1), table, np.repeat(rest, sizes, axis=1))
        return {"log": np.ascontiguousarray(table.T), "other": rest.T.copy(), "sizes": sizes, "N": N}

    def score(self, scorer: _core.Scorer, data: Data, p: Params) -> None:
        assert isinstance(data, Codes)
        scorer.discrete(data.columns, p["sizes"], p["log"], p["other"] if self.other else None)

    def sample(self, p: Params, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        out: list[Array] = []
        for part in split(p["log"].T, p["sizes"]):
            probability = np.exp(part)
            total = probability.sum(axis=1, keepdims=True)
            if part.shape[1] == 0 or (total == 0).any():
                out.append(np.full(len(y), -1))
                continue
            steps = np.cumsum(probability / total, axis=1)
            u = rng.random(len(y))
            out.append(np.minimum((u[:, None] >= steps[y]).sum(axis=1), part.shape[1] - 1))
        return out

    def describe(self, p: Params, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:
        part = split(p["log"].T, p["sizes"])[j][k]
        return {str(label): float(np.exp(v)) for label, v in zip(labels, part, strict=False)}


@dataclass(frozen=True)
class Binned(Categorical):
    """Numbers as intervals: equal width, equal frequency, or Fayyad and Irani's minimum description length.

    The cuts are chosen once, from the first rows learned, and then kept; counts of intervals add like any others.
    """

    method: str = "mdl"
    bins: int = 10

    name = "binned"
    kinds = ("real", "count")
    needs = "cuts"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.method not in ("mdl", "width", "frequency"):
            raise OptionError(f"method must be 'mdl', 'width' or 'frequency'; got {self.method!r}.")
        if not isinstance(self.bins, int) or self.bins < 1:
            raise OptionError(f"bins must be a whole number of at least 1; got {self.bins!r}.")


def check_alpha(alpha: Any, least: float = 0.0) -> None:
    a = np.asarray(alpha)
    if a.dtype.kind not in "fiu" or not np.isfinite(a).all() or (a < least).any():
        raise OptionError(f"alpha must be a number of at least {least:g}; got {alpha!r}.")


def split(a: Array, sizes: Array) -> list[Array]:
    """The columns' parts of an array whose last axis runs over all levels."""
    return np.split(a, np.cumsum(sizes)[:-1], axis=-1)


def resize(s: Stats, sizes: Array) -> Array:
    """The counts in tables with room for more levels."""
    if np.array_equal(s["sizes"], sizes):
        return s["count"]
    out = np.zeros((s["count"].shape[0], int(sizes.sum())))
    place = np.arange(int(s["sizes"].sum())) + np.repeat(
        (np.cumsum(sizes) - sizes) - (np.cumsum(s["sizes"]) - s["sizes"]), s["sizes"]
    )
    out[:, place] = s["count"]
    return out

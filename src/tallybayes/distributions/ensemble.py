"""Ensemble: many small networks over one set of codes, their average, and how much each part of it is believed.

The tally is all sums: the counts of each column's levels, the counts of every chain (cpp/core/chains.hpp), the moments
of the Gaussian part, and a bounded sample of rows (kept_rows.py), on which ensemble_fit.py chooses what counts alone
cannot tell.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions import ensemble_check, ensemble_fit, ensemble_network, kept_rows, normal_part
from tallybayes.distributions.base import Array, Context, Params, Stats, Weights, expect, spread, subtract
from tallybayes.distributions.categorical import split
from tallybayes.distributions.joint import Joint, _count_single, _sum, _take, packed
from tallybayes.encode import RAW_LIMIT, Coded, Data

WEIGHTING = ("features", "temperature", "none")
Z_KEYS = ("z_n", "z_mean", "z_scatter")


class Part(NamedTuple):
    """Planes of terms that share a name. centre: what share of the answer it has before weights are learned, 0 for a
    part whose weights start from nothing."""

    name: str
    first: int
    planes: int
    centre: float


_INTS, _BYTES = partial(np.zeros, 0, np.int32), partial(np.zeros, 0, np.uint8)
_FLOATS, _START = partial(np.zeros, 0, np.float64), partial(np.zeros, 1, np.int64)


@dataclass(frozen=True, eq=False)
class Ensemble(Joint):
    """log P(x | class) ≈ Σ over planes of weight · Σ over its chains of share · log P, and so on for the Gaussian part.

    view_… and child, parent, parent_start: the arrays of cpp/core/chains.hpp. plane, share: where the term of each
    chain goes, and times what. parts: see Part; the chains without a child, contexts, have a plane of their own each,
    which become one. z_…: a normal_part.Scale, empty for none. plane_of: which plane of a part a column's term goes to.
    weighting: 'features', each plane has a weight; 'temperature', all the same one; 'none'.
    """

    columns: int = 0
    view_column: Array = field(default_factory=_INTS)
    view_start: Array = field(default_factory=_START)
    view_map: Array = field(default_factory=_BYTES)
    view_bins: Array = field(default_factory=_INTS)
    child: Array = field(default_factory=_INTS)
    parent: Array = field(default_factory=_INTS)
    parent_start: Array = field(default_factory=_START)
    plane: Array = field(default_factory=_INTS)
    share: Array = field(default_factory=_FLOATS)
    plane_of: Array = field(default_factory=_INTS)
    parts: tuple[Any, ...] = ()
    z_column: Array = field(default_factory=_INTS)
    z_start: Array = field(default_factory=_START)
    z_value: Array = field(default_factory=_FLOATS)
    weighting: str = "features"

    name = "ensemble"

    def __getstate__(self) -> dict[str, Any]:
        """Arrays and plain values; what was made of them is made again."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def layout(self) -> tuple[Any, ...]:
        return (type(self), self.columns, self._digest, tuple(self.parts))

    @cached_property
    def _digest(self) -> str:
        h = hashlib.blake2b()
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, np.ndarray):
                h.update(f.name.encode() + value.tobytes() + b"|")
        return h.hexdigest()

    @cached_property
    def chains(self) -> _core.Chains:
        return _core.Chains(
            self.columns, self.view_column, self.view_start, self.view_map, self.view_bins, self.child, self.parent,
            self.parent_start,
        )  # fmt: skip

    @property
    def chosen(self) -> bool:
        """Has it been said what is counted?"""
        return bool(self.parts)

    @property
    def networks(self) -> int:
        """How many there are; their chains come first, one for each column."""
        planes = sum(part.planes for part in self.named_parts if part.name.endswith("networks"))
        return int((self.plane < planes).sum()) // max(1, self.columns)

    def _sizes_of(self, i: int) -> NDArray[np.int64]:
        """The cells of chain i with no parent, one, two, …"""
        own = self.view_bins[self.parent[self.parent_start[i] : self.parent_start[i + 1]]]
        child = 1 if self.child[i] < 0 else int(self.view_bins[self.child[i]])
        return np.cumprod([child, *own.tolist()], dtype=np.int64)

    def count_starts(self, chains: int) -> NDArray[np.int64]:
        """Where the counts of each of the first chains begin, and the next."""
        return np.cumsum([0, *(self._sizes_of(i)[-1] for i in range(chains))], dtype=np.int64)

    def log_starts(self, chains: int) -> NDArray[np.int64]:
        """The same for the logs, which are there for every number of parents."""
        return np.cumsum([0, *(self._sizes_of(i).sum() for i in range(chains))], dtype=np.int64)

    @property
    def named_parts(self) -> list[Part]:
        return [Part(*each) for each in self.parts]

    @property
    def line(self) -> normal_part.Scale:
        return normal_part.Scale(self.z_column, self.z_start, self.z_value)

    # --- adding ------------------------------------------------------------------------------------------------

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> Stats:
        assert isinstance(data, Coded)
        single, sizes = _count_single(data, y, w, K)
        out: Stats = {"single": single, "sizes": sizes, **kept_rows.no_rows(sizes)}
        tokens = kept_rows.tokens_of(data.known, sizes)
        if self.chosen:
            out.update(self.nothing(K, w is not None))
        for span, codes, _ in packed(data, sizes):
            here, part = y[span], None if w is None else w[span]
            out = {**out, **kept_rows.joined(out, kept_rows.rows_of(codes, sizes, tokens, here, part))}
            if self.chosen:
                out = self.count(out, codes, here, part, K)
        return out

    def nothing(self, K: int, weights: bool) -> Stats:
        """The counts of no rows."""
        p = len(self.z_column)
        return {
            "chains": np.zeros((self.chains.cells, K), dtype=np.float64 if weights else np.uint32),
            "z_n": np.zeros(K),
            "z_mean": np.zeros((K, p)),
            "z_scatter": np.zeros((K, p, p)),
        }

    def count(self, s: Stats, codes: Array, y: NDArray[np.int32], w: Weights, K: int) -> Stats:
        """s with these rows; its counts of chains are added to in place."""
        self.chains.count(codes, y, w, s["chains"])
        if not len(self.z_column):
            return s
        return {
            **s,
            **_z_stats(normal_part.add(ensemble_fit.z_sums(s), normal_part.sums(self.line.read(codes), y, w, K))),
        }

    def combine(self, a: Stats, b: Stats, sign: int = 1) -> Stats:
        sizes = np.maximum(a["sizes"], b["sizes"])
        x, z = self._sized(a, sizes), self._sized(b, sizes)
        single = x["single"] + z["single"] if sign > 0 else subtract(x["single"], z["single"])
        out: Stats = {"single": single, "sizes": sizes, **kept_rows.joined(x, z, sign)}
        if self.chosen:
            out["chains"] = _sum(x["chains"], z["chains"]) if sign > 0 else _take(x["chains"], z["chains"])
            out.update(_z_stats(normal_part.add(ensemble_fit.z_sums(x), ensemble_fit.z_sums(z), sign)))
        return out

    def scale(self, s: Stats, factor: float) -> Stats:
        if factor == 1:
            return s
        keys = ("single", "chains", "z_n", "z_scatter", "row_weight")
        return {**s, **{key: s[key] * factor for key in keys if key in s}}

    def reclass(self, s: Stats, to: Sequence[int], K: int) -> Stats:
        out = {**s, **{key: spread(s[key], to, K) for key in ("single", *Z_KEYS) if key in s}}
        if "chains" in s:
            out["chains"] = np.ascontiguousarray(spread(s["chains"].T, to, K).T)
        return {**out, **kept_rows.relabelled(s, np.asarray(to, dtype=np.int32))}

    def _moved(self, s: Stats, sizes: NDArray[np.int64], maps: list[NDArray[np.int64] | None]) -> Stats:
        moved = super()._moved({"single": s["single"], "sizes": s["sizes"], "joint": _no_joint(s)}, sizes, maps)
        fit = [m if m is None or len(m) == size else None for m, size in zip(maps, s["sizes"], strict=True)]
        return {
            **s,
            "single": moved["single"],
            "sizes": moved["sizes"],
            **kept_rows.recoded(s, sizes, fit),
        }

    def check(self, s: Stats, context: Context) -> None:
        own = {"chains", *Z_KEYS, *kept_rows.KEYS}
        if not self.chosen or set(s) != {"single", "sizes", *own}:
            raise ValueError(f"it has {sorted(s)}; expected {sorted({'single', 'sizes', *own})}")
        d, K, sizes = context.d, context.K, s["sizes"]
        room = np.array([RAW_LIMIT if known is None else max(1, len(known)) for known in context.levels])
        if sizes.dtype != np.int64 or sizes.shape != (d,) or (sizes < 1).any() or (sizes > room).any():
            raise ValueError("'sizes' is not the number of levels of each column, of those that the schema lists")
        if self.weighting not in WEIGHTING:
            raise ValueError(f"'weighting' is {self.weighting!r:.60}")
        ensemble_check.choices(self, d)
        p = len(self.z_column)
        shapes = {"single": (K, int(sizes.sum())), "z_n": (K,), "z_mean": (K, p), "z_scatter": (K, p, p)}
        expect({key: s[key] for key in shapes}, shapes, at_least_0=("single", "z_n"))
        kept_rows.check(s, sizes, K)
        ensemble_check.sums(self, s, K)

    # --- reading -----------------------------------------------------------------------------------------------

    def base(self, s: Stats, context: Context) -> Params:
        return super().base({**s, "joint": _no_joint(s)}, context)

    def estimate(self, s: Stats, context: Context) -> Params:
        return {**(p := self.base(s, context)), **ensemble_fit.choose(self, s, p)}

    def estimate_again(self, s: Stats, context: Context, p: Params) -> Params:
        return {**self.base(s, context), **ensemble_fit.again(self, s, p)}

    def left_out(
        self, data: Data, y: NDArray[np.int32], unit: NDArray[np.float64], s: Stats, p: Params, context: Context
    ) -> Array:
        assert isinstance(data, Coded)
        out = np.empty((data.n, context.K))
        for span, codes, _ in packed(data, p["sizes"], p["exist"]):
            out[span] = ensemble_fit.left_out(self, s, p, codes, y[span], unit[span])
        return out

    def score(self, scorer: _core.Scorer, data: Data, p: Params) -> None:
        assert isinstance(data, Coded)
        found, unseen = np.empty((data.n, p["K"])), np.zeros(len(p["sizes"]), dtype=bool)
        for span, codes, met in packed(data, p["sizes"], p["exist"]):
            found[span] = self.scores(codes, p)
            unseen |= met
        scorer.added(found, np.flatnonzero(unseen).tolist())

    def scores(self, codes: Array, p: Params, values: Array | None = None) -> Array:  # noqa: ARG002
        one = np.zeros(len(self.plane), dtype=np.int32)
        out = np.asarray(self.chains.terms(p["logs"], codes, 1, one, p["scale"])[0])
        if self.weighting == "features":
            out += p["biases"]
        if p["gaussian"] is not None:
            out += p["weights"][-1] * p["gaussian"].logs(self.line.read(codes))
        return out

    def terms(self, data: Data, p: Params, K: int) -> Array:
        """What is the same for all rows is divided evenly among the columns."""
        assert isinstance(data, Coded)
        d = self.columns
        out = np.empty((data.n, d, K))
        where = np.where(self.child < 0, -1, self.view_column[self.child]).astype(np.int32)
        for span, codes, _ in packed(data, p["sizes"], p["exist"]):
            found = np.asarray(self.chains.terms(p["logs"], codes, d + 1, where, p["scale"]))
            rest = found[d] + p["biases"]
            own = np.ascontiguousarray(found[:d].transpose(1, 0, 2))
            if p["gaussian"] is not None:
                by_column, constant = p["gaussian"].by_column(self.line, codes, d)
                own += p["weights"][-1] * by_column
                rest = rest + p["weights"][-1] * constant
            out[span] = own + rest[:, None, :] / d
        return out

    def outcomes(self, p: Params, j: int) -> Array | None:
        here = p["exist"][j]
        return np.asarray(split(p["log"].T, p["sizes"])[j].T[here])

    def sample(self, p: Params, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        """Rows of the first network."""
        return ensemble_network.draw(self, p, y, rng)


def only(ensemble: Ensemble, chains: slice) -> Ensemble:
    """Some of the chains, as networks of one weight."""
    starts = ensemble.parent_start[chains.start : chains.stop + 1]
    width = int(ensemble.plane_of.max()) + 1
    return replace(
        ensemble,
        child=ensemble.child[chains],
        parent=ensemble.parent[starts[0] : starts[-1]],
        parent_start=starts - starts[0],
        plane=ensemble.plane[chains] % width,
        share=np.ones(chains.stop - chains.start),
        parts=(tuple(Part("networks", 0, width, 1.0)),),
        z_column=np.empty(0, dtype=np.int32),
        z_start=np.zeros(1, dtype=np.int64),
        z_value=np.empty(0),
        weighting="temperature",
    )


def _z_stats(z: normal_part.Sums) -> Stats:
    return {"z_n": z.n, "z_mean": z.mean, "z_scatter": z.scatter}


def _no_joint(s: Stats) -> Array:
    return np.zeros((len(s["single"]), 0), dtype=np.uint32)

"""Ensemble: many small networks over one set of codes, their average, and how much each part of it is believed.

The tally is all sums: the counts of each column's levels, the counts of every chain (cpp/core/chains.hpp), the moments
of the Gaussian part, and a bounded sample of rows. The sample is what must be chosen again is chosen on: strengths of
back-off, λ and γ, the temperature, the weights. It holds the rows with the smallest hashes, so that it does not depend
on the order of rows, and the sample of a sum is the sum's sample.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.distributions import normal_part
from tallybayes.distributions.base import Array, Context, Params, Stats, Weights, spread, subtract
from tallybayes.distributions.joint import GRID, Joint, _count_single, _sum, _take, packed
from tallybayes.distributions.temper import temperature
from tallybayes.encode import Coded, Data

KEEP = 8000  # rows in the sample
CHOOSERS = 1000  # of them choose the strengths
CELLS = 1 << 26  # numbers in the terms of the sample, at most
FEW = 2000  # rows for a temperature


def _empty(dtype: Any) -> Any:
    return field(default_factory=lambda: np.empty(0, dtype=dtype))


@dataclass(frozen=True)
class Part:
    """Planes of terms that share a name: one for each column, or one in all."""

    name: str
    first: int
    planes: int
    share: float  # of the posterior before any weight is learned
    wanted: bool = True  # what its weights are drawn to: its share, or nothing


@dataclass(frozen=True, eq=False)
class Ensemble(Joint):
    """Σ over planes of weight · the mean over its chains of log P, and so on for the Gaussian part.

    The arrays are those of cpp/core/chains.hpp; plane and share say where each chain's term goes, and its share there.
    parts: (name, first plane, number of planes, share, wanted) of each; z_…: a normal_part.Scale, empty for none.
    weighted: whether each plane has a weight of its own, or all parts one temperature.
    """

    view_column: Array = _empty(np.int32)
    view_start: Array = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    view_map: Array = _empty(np.uint8)
    view_bins: Array = _empty(np.int32)
    child: Array = _empty(np.int32)
    parent: Array = _empty(np.int32)
    parent_start: Array = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    plane: Array = _empty(np.int32)
    share: Array = _empty(np.float64)
    parts: tuple[tuple[Any, ...], ...] = ()
    z_column: Array = _empty(np.int32)
    z_start: Array = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    z_value: Array = _empty(np.float64)
    columns: int = 0
    weighted: bool = True

    name = "ensemble"

    def layout(self) -> tuple[Any, ...]:
        return (type(self), self.columns, self._digest, self.parts)

    @cached_property
    def _digest(self) -> str:
        h = hashlib.blake2b()
        for a in (self.view_column, self.view_start, self.view_map, self.child, self.parent, self.parent_start,
                  self.plane, self.share, self.z_column, self.z_start, self.z_value):  # fmt: skip
            h.update(a.tobytes())
            h.update(b"|")
        return h.hexdigest()

    @cached_property
    def chains(self) -> _core.Chains:
        return _core.Chains(
            self.columns, self.view_column, self.view_start, self.view_map, self.view_bins, self.child, self.parent,
            self.parent_start,
        )  # fmt: skip

    @property
    def chosen(self) -> bool:
        return bool(self.parts)

    @property
    def scale_of(self) -> normal_part.Scale:
        return normal_part.Scale(self.z_column, self.z_start, self.z_value)

    # --- adding ------------------------------------------------------------------------------------------------

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> Stats:
        assert isinstance(data, Coded)
        single, sizes = _count_single(data, y, w, K)
        out: Stats = {"single": single, "sizes": sizes, **_no_rows(sizes)}
        if self.chosen:
            out.update(self.start(K, w is not None))
        for span, codes, _ in packed(data, sizes):
            here, part = y[span], None if w is None else w[span]
            out = {**out, **_join(out, rows_of(codes, sizes, here, part))}
            if self.chosen:
                out = self.count(out, codes, here, part, K)
        return out

    def start(self, K: int, weights: bool) -> Stats:
        """A tally of nothing."""
        p = len(self.z_column)
        return {
            "chains": np.zeros((self.chains.cells, K), dtype=np.float64 if weights else np.uint32),
            "z_n": np.zeros(K),
            "z_mean": np.zeros((K, p)),
            "z_scatter": np.zeros((K, p, p)),
        }

    def count(self, s: Stats, codes: Array, y: NDArray[np.int32], w: Weights, K: int) -> Stats:
        """s with these rows added: the counts of chains in place."""
        self.chains.count(codes, y, w, s["chains"])
        if not len(self.z_column):
            return s
        found = normal_part.sums(self.scale_of.read(codes), y, w, K)
        return {**s, **_z_stats(normal_part.add(_z(s), found))}

    def combine(self, a: Stats, b: Stats, sign: int = 1) -> Stats:
        sizes = np.maximum(a["sizes"], b["sizes"])
        x, z = self._sized(a, sizes), self._sized(b, sizes)
        single = x["single"] + z["single"] if sign > 0 else subtract(x["single"], z["single"])
        out: Stats = {"single": single, "sizes": sizes, **_join(x, z, sign)}
        if self.chosen:
            out["chains"] = _sum(x["chains"], z["chains"]) if sign > 0 else _take(x["chains"], z["chains"])
            out.update(_z_stats(normal_part.add(_z(x), _z(z), sign)))
        return out

    def scale(self, s: Stats, factor: float) -> Stats:
        if factor == 1:
            return s
        keys = ("single", "chains", "z_n", "z_scatter", "row_weight")
        return {**s, **{key: s[key] * factor for key in keys if key in s}}

    def reclass(self, s: Stats, to: Sequence[int], K: int) -> Stats:
        out = {**s, "single": spread(s["single"], to, K)}
        for key in ("z_n", "z_mean", "z_scatter"):
            if key in s:
                out[key] = spread(s[key], to, K)
        if "chains" in s:
            out["chains"] = np.ascontiguousarray(spread(s["chains"].T, to, K).T)
        label = np.asarray(to, dtype=np.int32)[s["row_label"]] if len(s["row_label"]) else s["row_label"]
        return {**out, **_pick({**s, "row_label": label}, label >= 0)}

    def _moved(self, s: Stats, sizes: NDArray[np.int64], maps: list[NDArray[np.int64] | None]) -> Stats:
        base = {key: s[key] for key in ("single", "sizes")} | {"joint": np.zeros((len(s["single"]), 0), dtype=np.uint32)}
        moved = super()._moved(base, sizes, maps)
        out = {**s, "single": moved["single"], "sizes": moved["sizes"]}
        kind = _kind(sizes)
        rows = np.full(s["rows"].shape, np.iinfo(kind).max, dtype=kind)
        for j, m in enumerate(maps):
            own = s["rows"][j]
            here = own != np.iinfo(own.dtype).max
            rows[j, here] = own[here] if m is None else np.asarray(m)[own[here]]
        out["rows"] = rows
        out["row_key"] = keys(rows, s["row_label"])
        return {**out, **_sorted(out)}

    # --- reading -----------------------------------------------------------------------------------------------

    def base(self, s: Stats, context: Context) -> Params:
        return super().base({**s, "joint": np.zeros((len(s["single"]), 0), dtype=np.uint32)}, context)

    def estimate(self, s: Stats, context: Context) -> Params:
        p = self.base(s, context)
        K = p["K"]
        first = [Part(*each) for each in self.parts]
        planes = int(self.plane.max(initial=-1)) + 1
        m = min(s["rows"].shape[1], max(200, CELLS // max(1, (planes + 1) * K)))
        codes = np.ascontiguousarray(s["rows"][:, :m])
        y, w = s["row_label"][:m], s["row_weight"][:m]
        unit = None if (w == 1).all() else w
        judges = p["class_weight"][y] - np.minimum(w, 1.0) > 1e-9  # without the others there would be no such class
        p["strengths"], p["chain_logs"], terms = self.chains.learn(
            s["chains"], codes, y, unit, GRID, CHOOSERS, self.alpha, planes, self.plane, self.share
        )
        contexts = self.child < 0
        if contexts.any():
            at = int(self.plane[contexts].min())
            terms[at] = outside(terms[at:], s["row_key"][:m])
            terms = terms[: at + 1]
        start = np.tile(smooth_prior(p["class_weight"]), (m, 1))
        p["gaussian"] = None
        gauss = [part for part in first if part.name == "gaussian"]
        if gauss:
            found = choose_normals(_z(s), self.scale_of.read(codes), y, np.minimum(w, 1.0), start, w * judges)
            if found is None:
                first = [part for part in first if part.name != "gaussian"]
            else:
                p["lambda_gamma"], p["gaussian"], left = found
                terms = np.concatenate([terms, left[None].astype(np.float32)])
        centre = self._centres(first, terms, start, y, w * judges)
        if self.weighted:
            ridge = np.full(len(terms), 2.0 + 5000.0 / max(1.0, float(w.sum())))
            p["weights"], p["biases"], p["loss"], p["steps"] = _core.weights(
                terms, np.where(judges, y, -1).astype(np.int32), unit, start, centre, ridge, float(ridge[0])
            )
        else:
            p["weights"], p["biases"] = centre, np.zeros(K)
        own = np.where(contexts, int(self.plane[contexts].min()) if contexts.any() else 0, self.plane)
        p["chain_scale"] = p["weights"][own] * self.share
        p["parts"] = first
        return p

    def _centres(self, parts: list[Part], terms: Array, start: Array, y: Array, w: Array) -> NDArray[np.float64]:
        """What the weights start from and are drawn to: each part's temperature, times its share."""
        centre = np.zeros(len(terms))
        few = slice(0, FEW)
        if not self.weighted:
            total = terms[:, few].sum(axis=0, dtype=np.float64)
            centre[:] = temperature(total, start[few], y[few], w[few])
            return centre
        whole = sum(part.share for part in parts if part.wanted)
        for part in parts:
            own = slice(part.first, part.first + part.planes)
            if part.wanted:
                total = terms[own, few].sum(axis=0, dtype=np.float64)
                centre[own] = temperature(total, start[few], y[few], w[few]) * part.share / whole
        return centre

    def score(self, scorer: _core.Scorer, data: Data, p: Params) -> None:
        assert isinstance(data, Coded)
        found, unseen = np.empty((data.n, p["K"])), np.zeros(len(p["sizes"]), dtype=bool)
        for span, codes, met in packed(data, p["sizes"], p["exist"]):
            found[span] = self.scores(codes, p)
            unseen |= met
        scorer.added(found, np.flatnonzero(unseen).tolist())

    def scores(self, codes: Array, p: Params, values: Array | None = None) -> Array:  # noqa: ARG002
        nothing = np.zeros(len(self.plane), dtype=np.int32)
        out = self.chains.terms(p["chain_logs"], codes, 1, nothing, p["chain_scale"])[0] + p["biases"]
        if p["gaussian"] is not None:
            out += p["weights"][-1] * p["gaussian"].logs(self.scale_of.read(codes))
        return out


    def sample(self, p: Params, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        raise NotImplementedError


def smooth_prior(weight: Array) -> NDArray[np.float64]:
    """log (n_k + ½) / (n + K / 2)"""
    return np.asarray(np.log((weight + 0.5) / (weight.sum() + 0.5 * len(weight))))


def choose_normals(
    s: normal_part.Sums, z: Array, y: Array, unit: Array, start: Array, w: Array
) -> tuple[tuple[float, float, float], normal_part.Normals, Array] | None:
    """λ, γ and ν with the smallest leave-one-out log-loss at their temperature, the normals and their left-out terms."""
    few = slice(0, 1500)

    def losses(pair: tuple[float, float]) -> list[tuple[float, float]]:
        found = normal_part.left_out(s, z[few], y[few], unit[few], *pair)
        if found is None:
            return [(np.inf, 0.0)]
        betas = [temperature(logs, start[few], y[few], w[few]) for logs in found]
        return [
            (log_loss(start[few] + b * logs, y[few], w[few]), nu)
            for logs, b, nu in zip(found, betas, normal_part.FREEDOM, strict=True)
        ]

    with normal_part.one_thread(), ThreadPoolExecutor(_core.threads()) as pool:
        tried = list(zip(pool.map(losses, normal_part.CHOICES), normal_part.CHOICES, strict=True))
        loss, nu, pair = min((*each, pair) for some, pair in tried for each in some)
        fitted = normal_part.normals(s, *pair, nu) if np.isfinite(loss) else None
        left = None if fitted is None else normal_part.left_out(s, z, y, unit, *pair, (nu,))
    return None if fitted is None or left is None else ((*pair, nu), fitted, left[0])


def outside(terms: Array, key: Array) -> Array:
    """The mean of the contexts (contexts, rows, classes) over those that a row did not help to grow."""
    E = len(terms)
    used = ((key[None, :] >> (np.arange(E, dtype=np.uint64) % np.uint64(64))[:, None]) & np.uint64(1)) == 0
    share = used / np.maximum(used.sum(axis=0), 1)
    return np.asarray(np.einsum("er,erc->rc", share.astype(np.float32), terms) * E, dtype=np.float32)


def log_loss(joint: Array, y: Array, w: Array) -> float:
    top = joint.max(axis=1)
    whole = top + np.log(np.exp(joint - top[:, None]).sum(axis=1))
    return float(w @ (whole - joint[np.arange(len(y)), y]) / max(float(w.sum()), 1e-300))


# --- the sample ------------------------------------------------------------------------------------------------------


def _kind(sizes: Array) -> Any:
    top = int(sizes.max(initial=0))
    return np.uint8 if top <= 255 else np.uint16 if top <= 65535 else np.uint32


def _no_rows(sizes: Array) -> Stats:
    return {
        "rows": np.zeros((len(sizes), 0), dtype=_kind(sizes)),
        "row_label": np.zeros(0, dtype=np.int32),
        "row_weight": np.zeros(0),
        "row_key": np.zeros(0, dtype=np.uint64),
    }


def _mix(x: Array) -> Array:
    """splitmix64"""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def keys(codes: Array, y: Array) -> NDArray[np.uint64]:
    """A hash of each row and its class."""
    out = _mix(y.astype(np.uint64) + np.uint64(1 << 60))
    top = np.iinfo(codes.dtype).max
    for j in range(len(codes)):
        levels = np.arange(int(codes[j][codes[j] != top].max(initial=0)) + 2, dtype=np.uint64)
        table = _mix((np.uint64(j) << np.uint64(32)) + levels)
        own = np.minimum(codes[j], len(table) - 1)
        own = np.where(codes[j] == top, len(table) - 1, own) if top > len(table) else own
        table[-1] = _mix(np.array([(j << 32) + (1 << 31)], dtype=np.uint64))[0]  # missing, whatever the levels
        out ^= table[own]
    return np.asarray(_mix(out))


def rows_of(codes: Array, sizes: Array, y: Array, w: Weights) -> Stats:
    """The sample of some rows: equal rows are one, with the sum of their weights."""
    used = y >= 0 if w is None else (y >= 0) & (w > 0)
    key = keys(codes, y)
    at = np.flatnonzero(used)
    if len(at) > KEEP:
        edge = np.partition(np.unique(key[at]), min(KEEP, len(np.unique(key[at]))) - 1)[
            min(KEEP, len(np.unique(key[at]))) - 1
        ]
        at = at[key[at] <= edge]
    return _sorted(
        {
            "rows": codes[:, at].astype(_kind(sizes)),
            "row_label": y[at],
            "row_weight": np.ones(len(at)) if w is None else w[at],
            "row_key": key[at],
        }
    )


def _pick(s: Stats, which: Array) -> Stats:
    return {
        "rows": np.ascontiguousarray(s["rows"][:, which]),
        **{key: s[key][which] for key in ("row_label", "row_weight", "row_key")},
    }


def _sorted(s: Stats) -> Stats:
    """By hash, equal rows together, no more than KEEP."""
    key, first, where = np.unique(s["row_key"], return_index=True, return_inverse=True)
    weight = np.bincount(where, weights=s["row_weight"], minlength=len(key)) if len(key) else np.zeros(0)
    out = _pick(s, first[:KEEP])
    return {**out, "row_weight": weight[:KEEP]}


def _join(a: Stats, b: Stats, sign: int = 1) -> Stats:
    kind = np.promote_types(a["rows"].dtype, b["rows"].dtype)
    both = {
        "rows": np.concatenate([_as(a["rows"], kind), _as(b["rows"], kind)], axis=1),
        "row_label": np.concatenate([a["row_label"], b["row_label"]]),
        "row_weight": np.concatenate([a["row_weight"], sign * b["row_weight"]]),
        "row_key": np.concatenate([a["row_key"], b["row_key"]]),
    }
    out = _sorted(both) if sign > 0 else _less(both)
    return out


def _less(both: Stats) -> Stats:
    key, first, where = np.unique(both["row_key"], return_index=True, return_inverse=True)
    weight = np.bincount(where, weights=both["row_weight"], minlength=len(key)) if len(key) else np.zeros(0)
    left = weight > 1e-9
    return {**_pick(both, first[left]), "row_weight": weight[left]}


def _as(rows: Array, kind: Any) -> Array:
    if rows.dtype == kind:
        return rows
    return np.where(rows == np.iinfo(rows.dtype).max, np.iinfo(kind).max, rows.astype(kind))


def _z(s: Stats) -> normal_part.Sums:
    return normal_part.Sums(s["z_n"], s["z_mean"], s["z_scatter"])


def _z_stats(z: normal_part.Sums) -> Stats:
    return {"z_n": z.n, "z_mean": z.mean, "z_scatter": z.scatter}

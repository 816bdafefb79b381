"""An ensemble as plain values for other programs: with the logarithms of all tables, or with their counts.

Most cells of a back-off chain were never counted, so that counts compress to a fiftieth of the logarithms. The reader
then smooths what a row asks for, as cpp/kernels/back_off_chains.cpp does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tallybayes.distributions.context import Exported, Json, plain, too_large
from tallybayes.ensemble.ensemble_statistics import EnsembleParams, EnsembleStatistics
from tallybayes.ensemble.fitting import VALUE_PSEUDO_COUNT

if TYPE_CHECKING:
    from tallybayes.ensemble.ensemble_distribution import Ensemble

MAX_COUNTED_CELLS = 1 << 25  # over all classes: what a browser holds at once
MAX_WEIGHT = 1e30  # of all rows, beyond which the core rescales them


def with_logs(ensemble: Ensemble, p: EnsembleParams) -> Exported | str:
    """log P of every cell, to the last bit; or why not."""
    rows = 0 if p.neighbors is None else p.neighbors.codes.size
    if why := too_large(p.logs.size + rows):
        return why
    n = len(ensemble.child)
    first, used = ensemble.log_starts(n).tolist(), np.arange(n)
    out = _exported(ensemble, p, used)
    for i, chain in enumerate(out["chains"][:n]):
        tables = np.split(p.logs[first[i] : first[i + 1]], np.cumsum(ensemble.sizes_of(i))[:-1])
        chain["log"] = [plain(table) for table in tables]
    return out


def with_counts(ensemble: Ensemble, s: EnsembleStatistics, p: EnsembleParams) -> Exported | None:
    """The counts of chains that have a weight, and what smooths them; None for another smoothing than back-off."""
    rule, classes = ensemble.missing_rule, p.K
    weighs = p.chain_weights != 0
    if rule is not None:
        weighs |= rule.weights != 0
    used = np.flatnonzero(weighs)
    starts = ensemble.count_starts(len(weighs))
    cells = int((starts[used + 1] - starts[used]).sum()) * classes
    if ensemble.smoothing != "backoff" or cells > MAX_COUNTED_CELLS or s.chains.sum() > MAX_WEIGHT:
        return None
    out = _exported(ensemble, p, used)
    counts = [s.chains[starts[i] : starts[i + 1]] for i in used.tolist()]
    first = (ensemble.parent_start[:-1] + np.arange(len(weighs))).tolist()
    for chain, i in zip(out["chains"], used.tolist(), strict=False):  # the boosted trees come after them
        chain["concentration"] = p.concentrations[first[i] : first[i] + len(chain["parents"]) + 1].tolist()
    flat = np.concatenate(counts) if counts else s.chains[:0]
    out["counts"] = flat if flat.dtype.kind == "u" else flat.astype(np.float32)
    out["value_rows"] = VALUE_PSEUDO_COUNT / classes
    return out


def _exported(ensemble: Ensemble, p: EnsembleParams, used: NDArray[np.intp]) -> Exported:
    """Everything but the tables of the chains of the ensemble, of which some are used."""
    trees, rule = p.boosting, ensemble.missing_rule
    parents = [ensemble.parent[ensemble.parent_start[i] : ensemble.parent_start[i + 1]] for i in used.tolist()]
    read = np.unique(np.concatenate([ensemble.child[used], *parents]).astype(np.int64))
    place = {int(v): i for i, v in enumerate(read[read >= 0])} | {-1: -1}
    starts = ensemble.binning_start.tolist()
    binnings: list[Json] = [
        {
            "column": int(ensemble.binning_column[v]),
            "bins": int(ensemble.binning_bins[v]),
            "map": ensemble.binning_map[starts[v] : starts[v + 1]].tolist(),
        }
        for v in place
        if v >= 0
    ]
    chains: list[Json] = [
        {
            "child": place[int(ensemble.child[i])],
            "parents": [place[int(v)] for v in own],
            "scale": float(p.chain_weights[i]),
        }
        for i, own in zip(used.tolist(), parents, strict=True)
    ]
    return {
        "form": "ensemble",
        "sizes": p.sizes.tolist(),
        "gone": [list(pair) for pair in p.gone],
        "binnings": binnings + ([] if trees is None else trees.export_binnings()),
        "chains": chains + ([] if trees is None else trees.export_chains(len(binnings))),
        "bias": plain(p.biases),
        "target_encoding": p.target_encoding.export(ensemble.of("target_encoding", p.weights))
        if p.target_encoding is not None
        else [],
        "neighbors": p.neighbors and p.neighbors.export(float(ensemble.of("neighbors", p.weights)[0])),
        "gaussian": p.gaussian
        and p.gaussian.export(ensemble.normal_scores, float(ensemble.of("gaussian", p.weights)[0])),
        "missing": rule and rule.export(used, 0 if trees is None else trees.count),
    }

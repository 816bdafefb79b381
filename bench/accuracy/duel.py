"""Two models, or one before and after, on the tables that both have figures of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

Record = dict[str, Any]
TIMES = ("fit_cpu", "predict_cpu")
MEASURES = ("error", "balanced_error", "auc_error", "log_loss", "log_loss_4", "brier", "ece", *TIMES)
TESTED = {"log_loss": 0, "error": 1}  # the lines of a file of rows
SURE = 1.96  # standard errors


class Duel:
    """One (ours, or now) and another (a peer, or before)."""

    def __init__(self, ours: Mapping[str, Record], peer: Mapping[str, Record]) -> None:
        self.tables = [table for table in ours if table in peer]
        self.pairs = [(ours[table], peer[table]) for table in self.tables]

    def counts(self, measure: str) -> tuple[int, int, int]:
        """Wins, draws, losses."""
        signs = [self._sign(a, b, measure) for a, b in self.pairs]
        return signs.count(1), signs.count(0), signs.count(-1)

    @staticmethod
    def _sign(ours: Record, peer: Record, measure: str) -> int:
        a, b = ours[measure], peer[measure]
        near = 0.5 / ours["rows"] if measure == "error" else 1e-3 * max(a, b)
        return 0 if abs(a - b) < near or a == b else 1 if a < b else -1

    def sure(self, measure: str) -> tuple[int, int, int]:
        """On how many tables the first is better beyond noise, on how many worse, and on how many that was tested."""
        rows = [(rows_of(a), rows_of(b)) for a, b in self.pairs]
        line = TESTED[measure]
        signs = [beyond_noise(a[line], b[line]) for a, b in rows if a is not None and b is not None]
        return signs.count(1), signs.count(-1), len(signs)

    def ratios(self, measure: str) -> list[float]:
        """Ours / peer by table. So that no error at all divides, half a row's worth is added to both, except to
        times."""
        out = []
        for a, b in self.pairs:
            guard = 1e-9 if measure in TIMES else 0.5 / a["rows"]
            out.append((a[measure] + guard) / (b[measure] + guard))
        return out

    def ratio(self, measure: str) -> float:
        """The geometric mean of ours / peer."""
        logs = [math.log(ratio) for ratio in self.ratios(measure)]
        return math.exp(math.fsum(logs) / len(logs))

    def median(self, measure: str) -> float:
        return median(self.ratios(measure))

    def count_cells(self) -> list[str]:
        cells = []
        for measure in ("error", "log_loss"):
            better, worse, tested = self.sure(measure)
            cells += ["-".join(map(str, self.counts(measure))), f"{better}-{worse} of {tested}"]
        return cells

    def ratio_cells(self) -> list[str]:
        return [f"{self.ratio(measure):.3g} {self.median(measure):.3g}" for measure in MEASURES]


def beyond_noise(a: NDArray[np.float32], b: NDArray[np.float32]) -> int:
    """1 if a is lower than b, paired over rows, by more than 1.96 standard errors of the mean difference; −1 if it is
    higher; else 0. Rows of a fold share a model, so this is a test of these fits, and a little too sure of others."""
    d = a.astype(np.float64) - b.astype(np.float64)
    mean, se = float(d.mean()), float(d.std(ddof=1) / math.sqrt(len(d)))
    return 0 if abs(mean) <= SURE * se else 1 if mean < 0 else -1


def row_file(table: str, model: str) -> str:
    """A name that every system allows, and another one for other words."""
    plain = "".join(c if c.isalnum() and c.isascii() else f"%{ord(c):x}" for c in f"{table}--{model}")
    return f"{plain}.npy"


def rows_of(record: Record) -> NDArray[np.float32] | None:
    """(2, rows): log-loss and wrongness of each row; None if the file is not there, or of other rows."""
    if "folder" not in record:
        return None
    try:
        found = np.load(Path(record["folder"]) / row_file(record["table"], record["model"]), allow_pickle=False)
    except (OSError, ValueError):
        return None
    return found if found.shape == (2, record["rows"]) else None

"""The file of figures, the table of one data set, and the summary of all: ours against each peer."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from ..report import machine

Record = dict[str, Any]
Figures = dict[tuple[str, str], Record]  # by table and model

MEASURES = ("error", "log_loss", "log_loss_4", "brier", "ece", "fit_seconds", "predict_seconds")
TIMES = ("fit_seconds", "predict_seconds")


def load(path: Path) -> Figures:
    try:
        records = json.loads(path.read_text())["results"]
        return {(record["table"], record["model"]): record for record in records}
    except OSError as error:
        raise SystemExit(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise SystemExit(f"{path} is no file of this benchmark ({error!r}); name another, or remove it") from None


def save(path: Path, figures: Figures) -> None:
    """All or nothing: a run that is stopped here leaves the file as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.json")
    part.write_text(json.dumps({"machine": machine(), "results": list(figures.values())}, indent=1) + "\n")
    os.replace(part, path)


def merge(parts: Iterable[Figures]) -> Figures:
    """One set of figures; of the same model and table the last. Tables must be the same rows, split alike."""
    merged: Figures = {}
    for part in parts:
        merged |= part
    for (table, _), record in merged.items():
        check_same(merged, table, record["fingerprint"])
    return merged


def check_same(figures: Figures, table: str, fingerprint: str) -> None:
    """Figures of other rows or other folds of a table must not stand beside these."""
    for (name, model), record in figures.items():
        if name == table and record["fingerprint"] != fingerprint:
            raise SystemExit(f"{table}: the figures of {model} are of other rows or folds; keep them in another file")


def one_table(title: str, records: Sequence[Record]) -> str:
    """The figures of one data set, a line for each model."""
    rows = []
    for record in records:
        cells = [record["failed"]] if "failed" in record else [_figure(m, record[m]) for m in MEASURES]
        rows.append([record["model"], *cells])
    return f"{title}\n{_aligned([['', *(_head(m) for m in MEASURES)], *rows])}\n"


def summary(figures: Figures) -> str:
    """Each model by itself, then each of ours against each peer."""
    if not figures:
        return "No figures yet."
    models = {record["model"]: bool(record["ours"]) for record in figures.values()}
    by_model = {name: _of(figures, name) for name in models}
    shared = set.intersection(*(set(records) for records in by_model.values()))  # else means are of unlike tables
    overview = [["", "tables", "failed", *(_head(m) for m in MEASURES)]]
    for name, records in by_model.items():
        failed = sum(record["model"] == name and "failed" in record for record in figures.values())
        means = [_figure(m, fmean(records[t][m] for t in shared)) if shared else "–" for m in MEASURES]
        overview.append([name, str(len(records)), str(failed), *means])
    duels = [["", "tables", "error w-d-l", "loss w-d-l", *(_head(m) for m in MEASURES)]]
    for one in (name for name, ours in models.items() if ours):
        for other in (name for name, ours in models.items() if not ours):
            duel = Duel(by_model[one], by_model[other])
            if duel.tables:
                duels.append([f"{one} / {other}", str(len(duel.tables)), *duel.cells()])
    text = f"Means over the tables that all of them answered: {len(shared)}\n{_aligned(overview)}"
    if len(duels) == 1:
        return text + "\n\nNo table has figures of one of ours and of a peer."
    return f"""{text}

Ours / peer, on the tables that both answered
{_aligned(duels)}

w-d-l: tables where ours has the lower error (log-loss), draws, and losses. A draw: errors less than half a row apart;
log-losses less than 0.1 % apart. The other columns: geometric means of ours / peer; below 1 ours is lower, which is
better. So that no error at all divides, half a row's worth (0.5 / rows) is added to both, except to times."""


class Duel:
    """One of ours and a peer, on the tables that both have figures of."""

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

    def ratio(self, measure: str) -> float:
        """The geometric mean of ours / peer."""
        logs = []
        for a, b in self.pairs:
            guard = 0.0 if measure in TIMES else 0.5 / a["rows"]
            logs.append(math.log((a[measure] + guard) / (b[measure] + guard)))
        return math.exp(math.fsum(logs) / len(logs))

    def cells(self) -> list[str]:
        counts = ["-".join(map(str, self.counts(measure))) for measure in ("error", "log_loss")]
        return [*counts, *(f"{self.ratio(measure):.3g}" for measure in MEASURES)]


def _of(figures: Figures, model: str) -> dict[str, Record]:
    return {table: r for (table, name), r in figures.items() if name == model and "failed" not in r}


def _head(measure: str) -> str:
    return measure.replace("_seconds", " s").replace("_", " ")


def _figure(measure: str, value: float) -> str:
    return f"{value:.3g}" if measure in TIMES else f"{value:.4f}"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """The first column to the left, the others to the right; a row of two cells is a name and a remark."""
    widths = [max(len(row[k]) for row in rows if len(row) == len(rows[0])) for k in range(len(rows[0]))]
    widths[0] = max(len(row[0]) for row in rows)
    lines = []
    for row in rows:
        rest = row[1:] if len(row) < len(widths) else [f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True)][1:]
        lines.append("  ".join([f"{row[0]:{widths[0]}}", *rest]).rstrip())
    return "\n".join(lines)

"""The file of figures, the table of one data set, and the summary: ours against each peer, now against before."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from ..report import machine
from .duel import MEASURES, TIMES, Duel, Record, row_file

Figures = dict[tuple[str, str], Record]  # by table and model
FORM = 3  # of the file
STEADY_PEER = "LightGBM"  # beside which steadiness is reported
ENOUGH = 1000  # rows, from which on the log-loss that a model says of itself should be near
COUNTS = ("tables", "error w-d-l", "sure", "loss w-d-l", "sure")
MARKDOWN_HEAD = (
    "model", "peer", "tables", "error", "won–drawn–lost", "log-loss", "won–drawn–lost", "1 − AUC", "Brier",
    "calibration error", "fit time", "predict time",
)  # fmt: skip
EXPLAINED = """\
w-d-l: tables where the first has the lower error (log-loss), draws, and losses. A draw: errors less than half a row
apart; log-losses less than 0.1 % apart. sure: tables where it is better, and worse, by more than 1.96 standard errors
of the mean difference paired over rows, of those that were tested. Ratios are first / second, below 1 the first is
lower, which is better: the geometric mean, then the median. So that no error at all divides, half a row's worth
(0.5 / rows) is added to both, except to times."""


def load(path: Path) -> Figures:
    try:
        file = json.loads(path.read_text())
        if file.get("form") != FORM:
            raise ValueError(f"form {file.get('form', 1)}, not {FORM}")
        records = [record | {"folder": str(rows_folder(path))} for record in file["results"]]
        return {(record["table"], record["model"]): record for record in records}
    except OSError as error:
        raise SystemExit(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SystemExit(f"{path} is no file of this benchmark ({error!r}); name another, or remove it") from None


def rows_folder(path: Path) -> Path:
    """Beside the file: what each row of each table cost each model."""
    return path.with_suffix(".rows")


def save_rows(path: Path, record: Record, rows: NDArray[np.float32]) -> None:
    folder = rows_folder(path)
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / row_file(record["table"], record["model"]), rows, allow_pickle=False)
    record["folder"] = str(folder)


def save(path: Path, figures: Figures, command: str = "python -m bench.accuracy") -> None:
    """All or nothing: a run that is stopped here leaves the file as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.json")
    results = [{key: value for key, value in record.items() if key != "folder"} for record in figures.values()]
    part.write_text(
        json.dumps({"form": FORM, "command": command, "machine": machine(), "results": results}, indent=1) + "\n"
    )
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
    """Each model by itself, then each of ours against each peer, then what else is to be said of them."""
    if not figures:
        return "No figures yet."
    models = {record["model"]: bool(record["ours"]) for record in figures.values()}
    by_model = {name: of_model(figures, name) for name in models}
    ours, peers = ([name for name, own in models.items() if own is side] for side in (True, False))
    pairs = {f"{a} / {b}": Duel(by_model[a], by_model[b]) for a in ours for b in peers}
    duels = _duels("Ours / peer, on the tables that both answered", pairs)
    parts = [_overview(figures, by_model), duels or "No table has figures of one of ours and of a peer."]
    return "\n\n".join(part for part in [*parts, *(more(figures) for more in MORE)] if part)


def markdown(figures: Figures, versions: Mapping[str, str | None]) -> str:
    """Each of ours beside each peer: the table of docs/accuracy.md."""
    names = {record["model"]: bool(record["ours"]) for record in figures.values()}
    ours, peers = ([name for name, own in names.items() if own is side] for side in (True, False))
    lines = [f"| {' | '.join(MARKDOWN_HEAD)} |", f"|---|---|{'--:|' * (len(MARKDOWN_HEAD) - 2)}"]
    for peer in peers:
        for own in ours:
            duel = Duel(of_model(figures, own), of_model(figures, peer))
            if not duel.tables:
                continue
            cells = [_called(own), _with_version(peer, versions), str(len(duel.tables))]
            for m in ("error", "log_loss"):
                cells += [f"{duel.ratio(m):.2f} ({duel.median(m):.2f})", "–".join(map(str, duel.counts(m)))]
            cells += [f"{duel.ratio(m):.2g}" for m in ("auc_error", "brier", "ece", *TIMES)]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _called(own: str) -> str:
    """`BayesClassifier("fast")` for "BayesClassifier fast"; "balanced" is the default."""
    name, _, option = own.partition(" ")
    return f'`{name}("{option}")`' if option and option != "balanced" else f"`{name}()`"


def _with_version(peer: str, versions: Mapping[str, str | None]) -> str:
    name, _, rest = peer.partition(" ")
    version = versions.get(name.lower())
    return " ".join(part for part in (name, ".".join(version.split(".")[:2]) if version else "", rest) if part)


def compared(now: Figures, before: Figures) -> str:
    """Each model now beside itself in an earlier file."""
    same = {key: r for key, r in now.items() if key in before and r["fingerprint"] == before[key]["fingerprint"]}
    pairs = {
        f"{name}: now / before": Duel(of_model(same, name), of_model(before, name))
        for name in dict.fromkeys(m for _, m in same)
    }
    other = len({table for table, _ in set(now) & set(before)} - {table for table, _ in same})
    text = (
        _duels("Now / before, on the tables that both files have", pairs) or "No model answered a table in both files."
    )
    return text + (f"\n{other} table(s) are left out: the files have other rows or folds of them." if other else "")


def _overview(figures: Figures, by_model: dict[str, dict[str, Record]]) -> str:
    shared = set.intersection(*(set(records) for records in by_model.values()))  # else means are of unlike tables
    rows = [["", "tables", "failed", *(_head(m) for m in MEASURES)]]
    for name, records in by_model.items():
        failed = sum(record["model"] == name and "failed" in record for record in figures.values())
        means = [_figure(m, fmean(records[t][m] for t in shared)) if shared else "–" for m in MEASURES]
        rows.append([name, str(len(records)), str(failed), *means])
    return f"Means over the tables that all of them answered: {len(shared)}\n{_aligned(rows)}"


def _duels(title: str, pairs: dict[str, Duel]) -> str:
    """Counts, then ratios; nothing if no pair shares a table."""
    pairs = {name: duel for name, duel in pairs.items() if duel.tables}
    if not pairs:
        return ""
    counts = [[name, str(len(duel.tables)), *duel.count_cells()] for name, duel in pairs.items()]
    ratios = [[name, *duel.ratio_cells()] for name, duel in pairs.items()]
    return "\n\n".join(
        [
            f"{title}\n{_aligned([['', *COUNTS], *counts])}",
            f"Ratios: geometric mean, median\n{_aligned([['', *(_head(m) for m in MEASURES)], *ratios])}",
            EXPLAINED,
        ]
    )


def _reported(figures: Figures) -> str:
    """The log-loss that a model says of itself beside that on new rows."""
    rows = [["", "tables", "geometric mean", f"beyond 20 % (≥ {ENOUGH:,} rows)", "farthest"]]
    for name in dict.fromkeys(model for _, model in figures):
        found = {t: r for t, r in of_model(figures, name).items() if r.get("reported", 0) > 0 and r["log_loss"] > 0}
        if found:
            logs = {t: math.log(r["reported"] / r["log_loss"]) for t, r in found.items()}
            large = {t: size for t, size in logs.items() if found[t]["rows"] >= ENOUGH}
            off = sum(abs(math.expm1(size)) > 0.2 for size in large.values())
            worst = max(logs, key=lambda t: abs(logs[t]))
            cells = [str(len(found)), f"{math.exp(fmean(logs.values())):.3f}", f"{off} of {len(large)}"]
            rows.append([name, *cells, f"{worst} {math.exp(logs[worst]):.3f}"])
    title = "The leave-one-out log-loss that the model reports / its log-loss on new rows"
    return f"{title}\n{_aligned(rows)}" if len(rows) > 1 else ""


def _spread(figures: Figures) -> str:
    rows = [["", "mean |ΔP|", "largest |ΔP|", "same top reason"]]
    for (table, model), record in figures.items():
        if "spread" in record:
            s = record["spread"]
            cells = [f"{s['mean_change']:.4f}", f"{s['max_change']:.3f}", f"{s['same_reason']:.0%}"]
            rows.append([f"{model}, {table}", *cells])
    return f"Between seeds, on rows that were not learned\n{_aligned(rows)}" if len(rows) > 1 else ""


def _warned(figures: Figures) -> str:
    found: dict[tuple[str, str], list[str]] = {}
    for (table, model), record in figures.items():
        for text in record.get("warnings", {}):
            found.setdefault((model, text), []).append(table)
    lines = [f"  {m}: {text}  [{len(tables)} table(s): {', '.join(tables[:3])}{', …' * (len(tables) > 3)}]"
             for (m, text), tables in found.items()]  # fmt: skip
    return "\n".join(["Warnings", *lines]) if lines else ""


def _steadiness(figures: Figures) -> str:
    """How much answers change when few rows are left out, beside STEADY_PEER on the same rows."""
    found = {key: r["steadiness"] for key, r in figures.items() if "steadiness" in r}
    rows = [["", "mean |ΔP|", "largest |ΔP|", f"mean / {STEADY_PEER}'s"]]
    for (table, model), own in found.items():
        peer = found.get((table, STEADY_PEER), {}).get("mean_change", 0.0)
        ratio = f"{own['mean_change'] / peer:.2f}" if peer > 0 else "–"
        rows.append([f"{model}, {table}", f"{own['mean_change']:.4f}", f"{own['max_change']:.3f}", ratio])
    return f"With one row in a hundred left out, on rows that were not learned\n{_aligned(rows)}" if found else ""


MORE: tuple[Callable[[Figures], str], ...] = (_reported, _spread, _steadiness, _warned)


def of_model(figures: Figures, model: str) -> dict[str, Record]:
    """The figures of one model, by table."""
    return {table: r for (table, name), r in figures.items() if name == model and "failed" not in r}


def _head(measure: str) -> str:
    return measure.replace("_", " ")


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

"""The table a person reads, and the JSON file with the facts of the machine."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from fnmatch import fnmatch
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from .harness import Result, named
from .memory import Extra
from .quiet import Noise

PACKAGES = ("numpy", "scipy", "scikit-learn", "river", "pandas", "polars", "pyarrow", "lightgbm", "xgboost", "catboost")
COLUMNS = (
    "workload", "data", "ours", "one thread", "gain", "peer", "peer/ours", "limit", "ours/limit", "memory", "target",
    "met?",
)  # fmt: skip
RIGHT = {"ours", "one thread", "gain", "peer/ours", "ours/limit", "memory"}
UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


class Run(NamedTuple):
    """Every workload once, and how quiet the machine was."""

    results: list[Result]
    noise: Noise | None  # None: while it runs


def machine() -> dict[str, Any]:
    """What a reader of the figures must know."""
    from tallybayes import __version__, _core

    return {
        "tallybayes": __version__,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": _core.threads(),
        "instruction set": ("base", "AVX2", "AVX-512")[_core.isa()],
        "load": round(os.getloadavg()[0], 2),  # other work on these cores; the figures want it near 0
        "system": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def promises(result: Result) -> dict[str, bool]:
    """Each target in words, and whether this result meets it."""
    targets = named(result.workload).targets
    ratio, part = _quotient(result.peer, result.ours), _quotient(result.ours, result.limit)
    found: dict[str, bool] = {}
    if targets.ratio is not None and ratio is not None:
        found[f"≥ {targets.ratio:g}×"] = ratio >= targets.ratio
    if targets.of_limit is not None and part is not None:
        found[f"≤ {targets.of_limit:g} limit"] = part <= targets.of_limit
    if targets.seconds is not None and result.ours is not None:
        found[f"≤ {targets.seconds:g} s"] = result.ours <= targets.seconds
    if result.memory is not None:
        found[f"≤ {targets.megabytes:g} MB"] = result.memory.megabytes <= targets.megabytes
    if targets.leaner is not None and result.memory is not None and result.peer_memory is not None:
        most = result.peer_memory.megabytes / targets.leaner
        found[f"≤ 1/{targets.leaner:g} of the peer's memory"] = result.memory.megabytes <= most
    return found


def kept_promises(found: Sequence[Result]) -> dict[str, bool]:
    """The same of several runs: a target is met if every run meets it."""
    each = [promises(result) for result in found]
    return {text: all(one.get(text, False) for one in each) for text in each[0]}


def by_workload(runs: Sequence[Run]) -> list[list[Result]]:
    """What each workload gave, run by run, in the order of the first run."""
    return [
        [r for run in runs for r in run.results if r.workload == name]
        for name in dict.fromkeys(r.workload for run in runs for r in run.results)
    ]


def table(runs: Sequence[Run]) -> str:
    """The results as aligned text, of several runs the ranges; an empty line where the first word of names changes."""
    grouped = by_workload(runs)
    rows = [_cells(found) for found in grouped]
    results = [found[0] for found in grouped]
    used = [k for k, name in enumerate(COLUMNS) if k == 0 or any(row[k] for row in rows)]
    width = {k: max(len(COLUMNS[k]), *(len(row[k]) for row in rows)) for k in used}
    lines = [_line(COLUMNS, width), "  ".join("─" * w for w in width.values())]
    group = results[0].workload.split()[0]
    for found, row in zip(grouped, rows, strict=True):
        result, error = found[0], next((r.error for r in found if r.error), "")
        if result.workload.split()[0] != group:
            lines.append("")
            group = result.workload.split()[0]
        lines.append(f"{row[0]:{width[0]}}  FAILED: {error}" if error else _line(row, width))
    notes = [
        f"* on 1/{times:g} of the rows, the time multiplied by {times:g}"
        for times in sorted({r.peer_times for r in results if "quoted" not in r.peer_name} - {1.0})
    ]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def _line(cells: Sequence[str], width: Mapping[int, int]) -> str:
    aligned = (f"{cells[k]:>{w}}" if COLUMNS[k] in RIGHT else f"{cells[k]:{w}}" for k, w in width.items())
    return "  ".join(aligned).rstrip()


def _cells(found: Sequence[Result]) -> list[str]:
    result = found[0]
    if any(r.error for r in found):
        return [result.workload] + [""] * (len(COLUMNS) - 1)
    promised = kept_promises(found)
    # The common bound on memory is said once, under the table; here only when it is missed.
    shown = {text: met for text, met in promised.items() if text != "≤ 64 MB" or not met}
    return [
        result.workload,
        result.data,
        _seconds([r.ours for r in found]),
        _seconds([r.alone for r in found]),
        _span([_quotient(r.alone, r.ours) for r in found], "{:.2f}", "×"),
        _seconds([r.peer for r in found], _peer(result)),
        _span([_quotient(r.peer, r.ours) for r in found], "{:.3g}", "×"),
        _seconds([r.limit for r in found], result.limit_name),
        _span([_quotient(r.ours, r.limit) for r in found], "{:.2f}"),
        _megabytes(found, "{:.1f}"),
        ", ".join(f"{text} {'✓' if met else '✗'}" for text, met in shown.items()),
        "" if not promised else "yes" if all(promised.values()) else "NO",
    ]


def _quotient(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None


def _peer(result: Result) -> str:
    return result.peer_name + ("*" if result.peer_times != 1 and "quoted" not in result.peer_name else "")


def _span(values: Sequence[float | None], form: str, unit: str = "") -> str:
    """The least and the most of some figures, as one where they look the same: "1.6–1.8"."""
    known = [value for value in values if value is not None]
    if not known:
        return ""
    low, high = form.format(min(known)), form.format(max(known))
    return f"{low if low == high else f'{low}–{high}'}{unit}"


def _seconds(times: Sequence[float | None], whose: str = "") -> str:
    """Three digits and a unit, padded so that the names after it stand under each other; a range of several."""
    known = [t for t in times if t is not None]
    if not known:
        return ""
    unit, size = next(((u, s) for u, s in UNITS if min(known) >= 0.9995 * s), UNITS[-1])
    form = "{:.0f}" if min(known) >= 99.95 * size else "{:.3g}"
    text = _span([t / size for t in known], form, f" {unit}")
    return f"{text:>7} {whose}" if whose else text


def _megabytes(found: Sequence[Result], form: str) -> str:
    held = [r.memory for r in found if r.memory is not None]
    bound = "" if all(memory.exact for memory in held) else "≤ "
    text = _span([memory.megabytes for memory in held], form, " MB")
    return f"{bound}{text}" if text else ""


def markdown(runs: Sequence[Run]) -> str:
    """The table of docs/speed.md: of several runs the ranges."""
    lines = [
        "| workload | data | ours | peer | peer / ours | ours / limit | memory |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for found in by_workload(runs):
        r = found[0]
        error = next((f"FAILED: {each.error}" for each in found if each.error), "")
        part = _span([_quotient(each.ours, each.limit) for each in found], "{:.2g}")
        cells = [
            r.workload,
            r.data,
            error or _seconds([each.ours for each in found]),
            _seconds([each.peer for each in found], _peer(r)).strip() or "–",
            _span([_quotient(each.peer, each.ours) for each in found], "{:.3g}", "×") or "–",
            f"{part} ({r.limit_name})" if part else "–",
            _megabytes(found, "{:.0f}") or "–",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def read(path: Path) -> list[Run]:
    """What `write` has written."""
    known = {field.name for field in fields(Result)}
    return [
        Run(
            [from_json({key: value for key, value in row.items() if key in known}) for row in held["results"]],
            Noise.of_json(held["noise"]) if held["noise"] else None,
        )
        for held in json.loads(path.read_text())["runs"]
    ]


def from_json(row: dict[str, Any]) -> Result:
    held = {name: row.pop(name, None) for name in ("memory", "peer_memory")}
    extra = {name: Extra(**found) if found else None for name, found in held.items()}
    return Result(**row, memory=extra["memory"], peer_memory=extra["peer_memory"])


def write(path: Path, runs: Sequence[Run], *, quick: bool) -> None:
    held = [
        {
            "noise": None if run.noise is None else run.noise.to_json(),
            "results": [
                asdict(result)
                | {
                    "peer/ours": _quotient(result.peer, result.ours),
                    "ours/limit": _quotient(result.ours, result.limit),
                    "targets": {} if result.error else promises(result),
                }
                for result in run.results
            ],
        }
        for run in runs
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"quick": quick, "machine": machine(), "runs": held}, indent=1) + "\n")


def matches(name: str, pattern: str) -> bool:
    """Whether a name holds or matches what a person asked for."""
    name, pattern = name.lower(), pattern.lower()
    return pattern in name or fnmatch(name, pattern)


def progress(text: str) -> None:
    """One line that is written over, while a person watches; "" wipes it."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

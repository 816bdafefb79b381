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
from typing import Any

from .harness import Result, named
from .memory import Extra

PACKAGES = ("numpy", "scipy", "scikit-learn", "river", "pandas", "polars", "pyarrow", "lightgbm", "xgboost", "catboost")
COLUMNS = ("workload", "data", "ours", "peer", "peer/ours", "limit", "ours/limit", "memory", "target", "met?")
RIGHT = {"ours", "peer/ours", "ours/limit", "memory"}
UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9))


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
    return found


def table(results: Sequence[Result]) -> str:
    """The results as aligned text; an empty line where the first word of the names changes."""
    rows = [_cells(result) for result in results]
    used = [k for k, name in enumerate(COLUMNS) if k == 0 or any(row[k] for row in rows)]
    width = {k: max(len(COLUMNS[k]), *(len(row[k]) for row in rows)) for k in used}
    lines = [_line(COLUMNS, width), "  ".join("─" * w for w in width.values())]
    group = results[0].workload.split()[0]
    for result, row in zip(results, rows, strict=True):
        if result.workload.split()[0] != group:
            lines.append("")
            group = result.workload.split()[0]
        lines.append(f"{row[0]:{width[0]}}  FAILED: {result.error}" if result.error else _line(row, width))
    notes = [
        f"* on 1/{times:g} of the rows, the time multiplied by {times:g}"
        for times in sorted({r.peer_times for r in results if "quoted" not in r.peer_name} - {1.0})
    ]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def _line(cells: Sequence[str], width: Mapping[int, int]) -> str:
    aligned = (f"{cells[k]:>{w}}" if COLUMNS[k] in RIGHT else f"{cells[k]:{w}}" for k, w in width.items())
    return "  ".join(aligned).rstrip()


def _cells(result: Result) -> list[str]:
    if result.error:
        return [result.workload] + [""] * (len(COLUMNS) - 1)
    ratio, part = _quotient(result.peer, result.ours), _quotient(result.ours, result.limit)
    promised = promises(result)
    # The common bound on memory is said once, under the table; here only when it is missed.
    shown = {text: met for text, met in promised.items() if text != "≤ 64 MB" or not met}
    return [
        result.workload,
        result.data,
        _seconds(result.ours),
        _seconds(
            result.peer, result.peer_name + ("*" if result.peer_times != 1 and "quoted" not in result.peer_name else "")
        ),
        "" if ratio is None else f"{ratio:.3g}×",
        _seconds(result.limit, result.limit_name),
        "" if part is None else f"{part:.2f}",
        _megabytes(result),
        ", ".join(f"{text} {'✓' if met else '✗'}" for text, met in shown.items()),
        "" if not promised else "yes" if all(promised.values()) else "NO",
    ]


def _quotient(a: float | None, b: float | None) -> float | None:
    return a / b if a is not None and b else None


def _seconds(t: float | None, whose: str = "") -> str:
    """Three digits and a unit, padded so that the names after it stand under each other."""
    if t is None:
        return ""
    unit, size = next(((u, s) for u, s in UNITS if t >= 0.9995 * s), UNITS[-1])
    text = f"{t / size:.0f} {unit}" if t >= 99.95 * size else f"{t / size:.3g} {unit}"
    return f"{text:>7} {whose}" if whose else text


def _megabytes(result: Result) -> str:
    if result.memory is None:
        return ""
    return f"{'' if result.memory.exact else '≤ '}{result.memory.megabytes:.1f} MB"


def markdown(results: Sequence[Result]) -> str:
    """The results as the README has them."""
    lines = ["| workload | data | ours | peer | peer / ours | ours / limit | memory |", "|---|---|--:|--:|--:|--:|--:|"]
    for r in results:
        ratio, part = _quotient(r.peer, r.ours), _quotient(r.ours, r.limit)
        star = "*" if r.peer_times != 1 and "quoted" not in r.peer_name else ""
        cells = [
            r.workload,
            r.data,
            f"FAILED: {r.error}" if r.error else _seconds(r.ours),
            _seconds(r.peer, r.peer_name + star).strip() or "–",
            "–" if ratio is None else f"{ratio:.3g}×",
            "–" if part is None else f"{part:.2g} ({r.limit_name})",
            "–" if r.memory is None else f"{r.memory.megabytes:.0f} MB",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def read(path: Path) -> list[Result]:
    """What `write` has written."""
    rows = json.loads(path.read_text())["results"]
    known = {field.name for field in fields(Result)}
    return [from_json({key: value for key, value in row.items() if key in known}) for row in rows]


def from_json(row: dict[str, Any]) -> Result:
    memory = row.pop("memory")
    return Result(**row, memory=Extra(**memory) if memory else None)


def write(path: Path, results: Sequence[Result], *, quick: bool) -> None:
    rows = [
        asdict(result)
        | {
            "peer/ours": _quotient(result.peer, result.ours),
            "ours/limit": _quotient(result.ours, result.limit),
            "targets": {} if result.error else promises(result),
        }
        for result in results
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"quick": quick, "machine": machine(), "results": rows}, indent=1) + "\n")


def matches(name: str, pattern: str) -> bool:
    """Whether a name holds or matches what a person asked for."""
    name, pattern = name.lower(), pattern.lower()
    return pattern in name or fnmatch(name, pattern)


def progress(text: str) -> None:
    """One line that is written over, while a person watches; "" wipes it."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)

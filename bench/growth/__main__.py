"""`python -m bench.growth [--quick] [--only MODEL] [--axis AXIS] [--out FILE] [--report | --docs]`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from ..quiet import Watch
from ..report import machine, matches, progress
from .orders import SYMBOLS, documented
from .points import FULL, QUICK, Point, curve
from .report import docs, lists

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
Rows = list[dict[str, object]]


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    if options.report or options.docs:
        head, rows = read(options.out)
        print(lists(head, rows))
        if options.docs:
            docs(head, rows, ROOT / "docs")
        return 0
    try:
        from .measure import Limits, context, measured
        from .models import MODELS
    except ModuleNotFoundError as error:
        print(f"{error}: `make bench-growth` installs what the benchmark needs", file=sys.stderr)
        return 2
    grid = QUICK if options.quick else FULL
    limits = Limits(4.0, 3_000.0) if options.quick else Limits(options.seconds, options.megabytes)
    names = [name for name in MODELS if matches(name, options.only)]
    if not names:
        print(f"no model matches {options.only!r}; there are: {', '.join(MODELS)}", file=sys.stderr)
        return 2
    _, rows = read(options.out) if options.out.exists() else ({}, [])
    known = {(row["model"], row["side"], row["axis"], row["value"]): row for row in rows}
    how, watch = context(), Watch(first=True)
    with options.out.open("a") as out:
        for name in names:
            for axis in MODELS[name].axes:
                if options.axis not in ("", axis):
                    continue
                sides = ["ours", *(MODELS[name].peers if axis not in ("missing", "kind", "threads") else ())]
                sides += ["limit"] if axis in ("rows", "columns", "batch") and MODELS[name].data != "mixed" else []
                for side in sides:
                    done: Rows = []
                    for point in curve(name, side, axis, grid):
                        row = known.get((name, side, axis, point.value))
                        if row is None:
                            if _too_much(point, done, limits.seconds, limits.megabytes):
                                break
                            progress(f"{name} {side}: {axis} {point.value}")
                            row = measured(point, limits, how)
                            out.write(json.dumps(row) + "\n")
                            out.flush()
                        if ("stopped" in row or "failed" in row) and axis != "kind":
                            break
                        done.append(row)
        noise = watch.end()
        out.write(json.dumps({"machine": machine(), "limits": asdict(limits), "noise": noise.to_json()}) + "\n")
    progress("")
    print(lists(*read(options.out)))
    return 0


def _too_much(point: Point, done: Rows, seconds: float, megabytes: float) -> bool:
    """Whether the next point would exceed the limits, as the documented order has it."""
    if 3 * point.megabytes > megabytes:
        return True
    if not done or point.axis not in SYMBOLS:
        return False
    last = done[-1]
    return seconds < sum(
        predicted(last[op], float(str(last["value"])), point, op) for op in ("fit", "predict") if op in last
    )


def predicted(cost: object, value: float, point: Point, op: str) -> float:
    """Seconds of the processor at a point, from those at a smaller value."""
    if not isinstance(cost, Mapping):
        return 0.0
    said = documented(point.model, op, point.axis) if point.side != "limit" else 1.0
    return float(cost["cpu"]) * (float(str(point.value)) / value) ** said


def read(path: Path) -> tuple[dict[str, object], Rows]:
    """The last line about the machine, and every point once, the last time that it was measured."""
    head: dict[str, object] = {}
    rows: dict[tuple[object, ...], dict[str, object]] = {}
    for line in path.read_text().splitlines():
        row = json.loads(line)
        if "machine" in row:
            head = row
        else:
            rows[row["model"], row["side"], row["axis"], row["value"]] = row
    return head, list(rows.values())


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench.growth", description="How the cost of every estimator grows.")
    parser.add_argument("--quick", action="store_true", help="few points, four seconds each at most")
    parser.add_argument("--only", metavar="MODEL", default="*", help="only models whose names hold or match this")
    parser.add_argument("--axis", choices=["", *FULL], default="", help="only this axis")
    parser.add_argument("--seconds", type=float, default=20.0, help="of the processor, for a point (20)")
    parser.add_argument("--megabytes", type=float, default=6000.0, help="memory of a point (6000)")
    parser.add_argument("--out", metavar="FILE", type=Path, help="default: bench/results-growth[-quick].jsonl")
    parser.add_argument("--report", action="store_true", help="no run: the lists, of what was measured before")
    parser.add_argument("--docs", action="store_true", help="the same, and docs/growth.md with its pictures")
    options = parser.parse_args(argv)
    options.out = options.out or HERE.parent / f"results-growth{'-quick' if options.quick else ''}.jsonl"
    return options


if __name__ == "__main__":
    sys.exit(main())

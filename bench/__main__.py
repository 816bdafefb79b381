"""`python -m bench [--quick] [--threads] [--runs N] [--only PATTERN]… [--json FILE]`."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from .harness import WORKLOADS, Result, Workload, named, run
from .quiet import Watch
from .report import Run, from_json, machine, matches, progress, table, write

HERE = Path(__file__).parent


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    try:
        for module in (
            ".workloads",
            ".few",
            ".discriminants",
            ".networks",
            ".ensembles",
            ".commands",
            ".databases",
            ".serving",
        ):  # for what they register
            importlib.import_module(module, __package__)
    except ModuleNotFoundError as error:
        print(f"{error}: `make bench` installs what the benchmark needs", file=sys.stderr)
        return 2
    if options.child:  # one workload, for a parent that waits for the file
        result = _guarded(named(options.only[0]), quick=False, threads=options.threads)
        options.json.write_text(json.dumps(asdict(result)))
        return 0
    chosen = [w for w in WORKLOADS if any(matches(w.name, pattern) for pattern in options.only or ("*",))]
    if not chosen:
        names = "\n  ".join(work.name for work in WORKLOADS)
        print(f"no workload matches {' or '.join(map(repr, options.only))}; there are:\n  {names}", file=sys.stderr)
        return 2
    started = time.perf_counter()
    print(_header(options.quick), flush=True)
    runs: list[Run] = []
    for number in range(1, options.runs + 1):
        watch, results = Watch(first=number == 1), list[Result]()
        for k, work in enumerate(chosen):
            progress(f"[{number}/{options.runs}: {k + 1}/{len(chosen)}] {work.name}")
            quick, threads = options.quick, options.threads
            results.append(_guarded(work, quick=True, threads=threads) if quick else _in_child(work, threads))
            so_far = [*runs, Run(results, None)]  # an interrupted run leaves what it has
            write(options.json, so_far, quick=options.quick)
        runs.append(Run(results, watch.end()))
        write(options.json, runs, quick=options.quick)
    progress("")
    print(table(runs))
    print(_footer(options.quick, time.perf_counter() - started))
    print(_quietness(runs))
    print(f"written: {os.path.relpath(options.json)}")
    return 1 if any(result.error for run in runs for result in run.results) else 0


def _quietness(runs: Sequence[Run]) -> str:
    noisy = [f"run {k}: {reason}" for k, run in enumerate(runs, 1) if run.noise for reason in run.noise.reasons()]
    return "The machine was quiet." if not noisy else "NOT QUIET. " + "; ".join(noisy) + "."


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench", description="The speed of tallybayes and its peers.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, no memory; some minutes")
    parser.add_argument("--threads", action="store_true", help="also with one thread: what the others gain")
    only = "only names that hold or match this; again for more of them"
    parser.add_argument("--only", metavar="PATTERN", action="append", help=only)
    parser.add_argument("--json", metavar="FILE", type=Path, help="default: bench/results[-quick].json")
    parser.add_argument("--runs", metavar="N", type=int, default=1, help="times that all is run; tables show the range")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    options.json = options.json or HERE / ("results-quick.json" if options.quick else "results.json")
    return options


def _guarded(work: Workload, *, quick: bool, threads: bool) -> Result:
    """The result, or the error in its place: the other workloads go on."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run(work, quick=quick, threads=threads)
    except Exception as error:
        return Result(work.name, error=f"{type(error).__name__}: {error}".splitlines()[0])


def _in_child(work: Workload, threads: bool) -> Result:
    """A fresh process for each workload: its peak memory is its own, and a crash is only its own."""
    environment = os.environ | {"ARROW_DEFAULT_MEMORY_POOL": "system"}  # gives freed memory back
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "result.json"
        command = [sys.executable, "-m", "bench", "--child", "--only", work.name, "--json", str(file)]
        command += ["--threads"] if threads else []
        done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, check=False)
        if not file.exists():
            last = done.stderr.strip().splitlines()[-1:] or ["no message"]
            return Result(work.name, error=f"the process ended with status {done.returncode}: {last[0]}")
        return from_json(json.loads(file.read_text()))


def _header(quick: bool) -> str:
    facts = machine()
    lines = [
        f"tallybayes {facts['tallybayes']} on {facts['cpu']}: {facts['threads']} threads, "
        f"{facts['cores']} cores, {facts['instruction set']}, load {facts['load']}",
        "Times are the minimum of turns taken in one run. peer/ours: the peer takes so many times as long.",
    ]
    if quick:
        lines.append("QUICK: a tenth of the rows, no memory. Targets are for the full run.")
    return "\n".join(lines) + "\n"


def _footer(quick: bool, seconds: float) -> str:
    text = f"\n{seconds:.0f} s in all."
    if not quick:
        text += " memory: the peak beyond X and the answer; at most 64 MB unless a target says more."
    return text


if __name__ == "__main__":
    sys.exit(main())

"""`python -m bench [--quick] [--only PATTERN] [--json FILE] [--markdown]`."""

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
from .report import from_json, machine, markdown, matches, progress, read, table, write

HERE = Path(__file__).parent


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    if options.markdown:
        print(markdown(read(options.json)))
        return 0
    try:
        for module in (
            ".workloads",
            ".few",
            ".discriminants",
            ".networks",
            ".commands",
            ".databases",
            ".serving",
        ):  # for what they register
            importlib.import_module(module, __package__)
    except ModuleNotFoundError as error:
        print(f"{error}: `make bench` installs what the benchmark needs", file=sys.stderr)
        return 2
    if options.child:  # one workload, for a parent that waits for the file
        result = _guarded(named(options.only), quick=False)
        options.json.write_text(json.dumps(asdict(result)))
        return 0
    chosen = [w for w in WORKLOADS if matches(w.name, options.only)]
    if not chosen:
        names = "\n  ".join(work.name for work in WORKLOADS)
        print(f"no workload matches {options.only!r}; there are:\n  {names}", file=sys.stderr)
        return 2
    started = time.perf_counter()
    print(_header(options.quick), flush=True)
    results: list[Result] = []
    for k, work in enumerate(chosen):
        progress(f"[{k + 1}/{len(chosen)}] {work.name}")
        results.append(_guarded(work, quick=True) if options.quick else _in_child(work))
        write(options.json, results, quick=options.quick)  # an interrupted run leaves what it has
    progress("")
    print(table(results))
    print(_footer(options.quick, time.perf_counter() - started))
    print(f"written: {os.path.relpath(options.json)}")
    return 1 if any(result.error for result in results) else 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench", description="The speed of tallybayes and its peers.")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, no memory; under a minute")
    parser.add_argument("--only", metavar="PATTERN", default="*", help="only names that hold or match this")
    parser.add_argument("--json", metavar="FILE", type=Path, help="default: bench/results[-quick].json")
    parser.add_argument("--markdown", action="store_true", help="only print the last run, as a table for the README")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    options.json = options.json or HERE / ("results-quick.json" if options.quick else "results.json")
    return options


def _guarded(work: Workload, *, quick: bool) -> Result:
    """The result, or the error in its place: the other workloads go on."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return run(work, quick=quick)
    except Exception as error:
        return Result(work.name, error=f"{type(error).__name__}: {error}".splitlines()[0])


def _in_child(work: Workload) -> Result:
    """A fresh process for each workload: its peak memory is its own, and a crash is only its own."""
    environment = os.environ | {"ARROW_DEFAULT_MEMORY_POOL": "system"}  # gives freed memory back
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "result.json"
        command = [sys.executable, "-m", "bench", "--child", "--only", work.name, "--json", str(file)]
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
    if facts["load"] > 0.5:
        lines.append("BUSY: other work runs on these cores, and the ratios are not to be trusted.")
    if quick:
        lines.append("QUICK: a tenth of the rows, no memory, under a minute. Targets are for the full run.")
    return "\n".join(lines) + "\n"


def _footer(quick: bool, seconds: float) -> str:
    text = f"\n{seconds:.0f} s in all."
    if not quick:
        text += " memory: the peak beyond X and the answer; at most 64 MB unless a target says more."
    return text


if __name__ == "__main__":
    sys.exit(main())

"""`python -m bench.accuracy [--data FOLDER] [--models A,B] [--out FILE] [--against FILE]`, or `--report FILE…`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..report import matches, progress
from .duel import Record
from .models import MODELS, Model, available
from .report import Figures, check_same, compared, load, merge, one_table, save, save_rows, summary
from .tables import Folds, UnfitError, cells, read, sources
from .unit import Allowance, unit

OUT = Path(__file__).parents[1] / "results-accuracy.json"
SPREAD_ROWS = 500  # a table of fewer rows says little of the spread between seeds


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    before = load(options.against) if options.against else None
    if options.report:
        print(_told(merge(load(path) for path in options.report), before))
        return 0
    models = [m for m in MODELS if _named(m.name, options.models)]
    names = {name: path for name, path in sources(options.data).items() if _named(name, options.only)}
    if not models or not names:
        print(_nothing(options, models), file=sys.stderr)
        return 2
    models, absent = available(models)
    for name, missing in absent.items():
        print(f"{name}: left out, {missing}\n", flush=True)
    if not models:
        return 2
    figures = load(options.out) if options.out.exists() else {}
    try:
        failed = _run(options, models, names, figures)
    except KeyboardInterrupt:
        print(f"\nstopped; the same command goes on from {options.out}", file=sys.stderr)
        return 130
    print(f"{_told(figures, before)}\n\nwritten: {options.out}")
    return 1 if failed else 0


def _told(figures: Figures, before: Figures | None) -> str:
    return summary(figures) if before is None else f"{summary(figures)}\n\n{compared(figures, before)}"


def _named(name: str, patterns: str) -> bool:
    return any(pattern.strip() and matches(name, pattern.strip()) for pattern in patterns.split(","))


def _run(options: argparse.Namespace, models: list[Model], names: dict[str, Path | None], figures: Figures) -> int:
    """All models on all tables, small tables first; `figures` and the file grow. How many failed."""
    failed = spreads = 0
    allowed = Allowance(options.threads, options.limit)
    for k, (name, path) in enumerate(sorted(names.items(), key=lambda item: cells(item[1]))):
        try:
            table = read(name, path, options.max_rows, options.folds)
        except UnfitError as reason:
            print(f"{name}: left out, {reason}\n", flush=True)
            continue
        check_same(figures, name, table.fingerprint())
        steady = len(table.y) >= SPREAD_ROWS and spreads < options.spread
        spreads += steady
        todo = [m for m in models if _wanted(figures, name, m.name, options.limit)]
        for model in todo:
            progress(f"[{k + 1}/{len(names)}] {name}: {model.name}")
            record, rows = unit(model, table, replace(allowed, seeds=2 * steady))
            failed += _add(options, figures, record, rows)
        progress("")
        if todo:
            print(one_table(str(table), [figures[name, m.name] for m in models]), flush=True)
    return failed


def _add(options: argparse.Namespace, figures: Figures, record: Record, rows: NDArray[np.float32] | None) -> bool:
    """Writes down what one unit gave; whether it failed."""
    if rows is not None:
        save_rows(options.out, record, rows)
    figures[record["table"], record["model"]] = record
    save(options.out, figures, _command(options))
    return "failed" in record


def _command(options: argparse.Namespace) -> str:
    """What measures the same again, wherever the tables are."""
    parts = ["--data FOLDER"] if options.data else []
    parts += [f"--folds {options.folds}"] if options.folds else []
    parts += [f"--max-rows {options.max_rows}", f"--spread {options.spread}"]
    parts += [f"--models {options.models}"] if options.models != "*" else []
    return " ".join(["python -m bench.accuracy", *parts])


def _wanted(figures: Figures, table: str, model: str, limit: float) -> bool:
    """What is not there yet, and again what failed; but what took too long only with more time."""
    record = figures.get((table, model), {"failed": ""})
    return "failed" in record and (not limit or limit > record.get("limit", 0))


def _nothing(options: argparse.Namespace, models: list[Model]) -> str:
    if not models:
        return f"no model matches {options.models!r}; there are:\n  " + "\n  ".join(m.name for m in MODELS)
    tables = sources(options.data)
    if not tables:
        return f"there is no *.parquet file in {options.data}"
    return f"no table matches {options.only!r}; there are:\n  " + "\n  ".join(tables)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m bench.accuracy", description="Accuracy and calibration beside peers.")
    add = parser.add_argument
    add("--data", metavar="FOLDER", type=Path, help="run on its *.parquet files (default: tables of scikit-learn)")
    add("--out", metavar="FILE", type=Path, default=OUT, help="figures, also to go on from (default: %(default)s)")
    add("--only", metavar="A,B", default="*", help="only tables whose names hold or match one of these")
    add("--models", metavar="A,B", default="*", help="only models whose names hold or match one of these")
    add("--max-rows", metavar="N", type=int, default=50_000, help="of larger tables a sample (default: %(default)s)")
    folds = "full: by the number of rows; quick: 2; or how many, once (default: %(default)s)"
    add("--folds", metavar="N", type=_folds, default="full", help=folds)
    add("--threads", metavar="N", type=int, default=1, help="for every model (default: %(default)s)")
    limit = "seconds for a model on a table (default: %(default)s); 0: none, and all in this process"
    add("--limit", metavar="S", type=float, default=900.0, help=limit)
    spread = "on how many tables two seeds are compared (default: %(default)s)"
    add("--spread", metavar="N", type=int, default=3, help=spread)
    add("--against", metavar="FILE", type=Path, help="figures of an earlier run, to compare each model with itself")
    add("--report", metavar="FILE", type=Path, nargs="+", help="only print the summary of these files together")
    options = parser.parse_args(argv)
    if options.max_rows < 100:
        parser.error(f"--max-rows must be at least 100; got {options.max_rows}")
    if options.threads < 1 or options.limit < 0:
        parser.error(f"--threads must be at least 1 and --limit at least 0; got {options.threads}, {options.limit:g}")
    return options


def _folds(text: str) -> Folds:
    if text in ("full", "quick"):
        return None if text == "full" else 2
    if text.isascii() and text.isdigit() and int(text) >= 2:
        return int(text)
    raise argparse.ArgumentTypeError(f"full, quick or a number of at least 2; got {text!r}")


if __name__ == "__main__":
    sys.exit(main())

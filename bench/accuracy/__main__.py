"""`python -m bench.accuracy [--data FOLDER] [--only PATTERN] [--models a,b] [--out FILE]`, or `--report FILE…`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..report import matches, progress
from .measure import evaluate
from .models import MODELS, Model, available
from .report import Figures, check_same, load, merge, one_table, save, summary
from .tables import UnfitError, cells, read, sources

OUT = Path(__file__).parents[1] / "results-accuracy.json"


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    if options.report:
        print(summary(merge(load(path) for path in options.report)))
        return 0
    patterns = [pattern.strip() for pattern in options.models.split(",")]
    models = [m for m in MODELS if any(pattern and matches(m.name, pattern) for pattern in patterns)]
    names = {name: path for name, path in sources(options.data).items() if matches(name, options.only)}
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
    print(f"{summary(figures)}\n\nwritten: {options.out}")
    return 1 if failed else 0


def _run(options: argparse.Namespace, models: list[Model], names: dict[str, Path | None], figures: Figures) -> int:
    """All models on all tables, small tables first; `figures` and the file grow. How many failed."""
    failed = 0
    for k, (name, path) in enumerate(sorted(names.items(), key=lambda item: cells(item[1]))):
        try:
            table = read(name, path, options.max_rows, options.folds == "quick")
        except UnfitError as reason:
            print(f"{name}: left out, {reason}\n", flush=True)
            continue
        check_same(figures, name, table.fingerprint())
        todo = [m for m in models if "failed" in figures.get((name, m.name), {"failed": ""})]  # again what failed
        for model in todo:
            progress(f"[{k + 1}/{len(names)}] {name}: {model.name}")
            figures[name, model.name] = record = evaluate(model, table)
            save(options.out, figures)
            failed += "failed" in record
        progress("")
        if todo:
            print(one_table(str(table), [figures[name, m.name] for m in models]), flush=True)
    return failed


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
    add("--only", metavar="PATTERN", default="*", help="only tables whose names hold or match this")
    add("--models", metavar="A,B", default="*", help="only models whose names hold or match one of these")
    add("--max-rows", metavar="N", type=int, default=50_000, help="of larger tables a sample (default: %(default)s)")
    add("--folds", choices=("full", "quick"), default="full", help="quick: 2 folds of every table")
    add("--report", metavar="FILE", type=Path, nargs="+", help="only print the summary of these files together")
    options = parser.parse_args(argv)
    if options.max_rows < 100:
        parser.error(f"--max-rows must be at least 100; got {options.max_rows}")
    return options


if __name__ == "__main__":
    sys.exit(main())

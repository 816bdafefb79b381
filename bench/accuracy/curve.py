"""Log-loss by the number of learned rows, beside LightGBM with early stopping: python -m bench.accuracy.curve FOLDER.

One split of each table into 70 % and 30 %. LightGBM has up to 500 rounds, and stops early on a tenth of the learned
rows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from .tables import Codes, Table, UnfitError, read

SIZES = (2_000, 10_000, 40_000, 160_000, 640_000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="of *.parquet files")
    parser.add_argument("--tables", help="names, separated by commas; else all with enough rows")
    parser.add_argument("--min-rows", type=int, default=20_000)
    chosen = parser.parse_args()
    names = chosen.tables.split(",") if chosen.tables else sorted(path.stem for path in chosen.folder.glob("*.parquet"))
    print("| table | learned rows | log-loss | LightGBM's | ratio | fit CPU (s) | LightGBM's |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name in names:
        try:
            table = read(name, chosen.folder / f"{name}.parquet", 1 << 62, 2)
        except UnfitError:
            continue
        if len(table.y) >= chosen.min_rows:
            one_table(table)


def one_table(table: Table) -> None:
    """Print a line for each number of learned rows."""
    learn, test = train_test_split(np.arange(len(table.y)), test_size=0.3, random_state=0, stratify=table.y)
    for size in [size for size in SIZES if size < len(learn)] + [len(learn)]:
        (ours, ours_cpu), (theirs, their_cpu) = (fit(table, learn[:size], test) for fit in (bayes, lightgbm))
        figures = f"{ours:.4f} | {theirs:.4f} | {ours / theirs:.2f} | {ours_cpu:.1f} | {their_cpu:.1f}"
        print(f"| {table.name} | {size:,} | {figures} |", flush=True)


def bayes(table: Table, learn: Codes, test: Codes) -> tuple[float, float]:
    """Log-loss and CPU seconds of fit."""
    from tallybayes import BayesClassifier

    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BayesClassifier().fit(table.X.iloc[learn], table.y[learn])
    seconds = time.process_time() - start
    return loss(model, table, test), seconds


def lightgbm(table: Table, learn: Codes, test: Codes) -> tuple[float, float]:
    """Log-loss and CPU seconds of fit."""
    from lightgbm import LGBMClassifier, early_stopping

    start = time.process_time()
    some, others = train_test_split(learn, test_size=0.1, random_state=1)
    stop = early_stopping(30, verbose=False)
    model = LGBMClassifier(n_estimators=500, n_jobs=1, verbose=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(
            table.X.iloc[some], table.y[some], eval_set=[(table.X.iloc[others], table.y[others])], callbacks=[stop]
        )
    seconds = time.process_time() - start
    return loss(model, table, test), seconds


def loss(model: Any, table: Table, test: Codes) -> float:
    """The log-loss of the test rows; a class that was not learned has probability 0."""
    proba = np.zeros((len(test), table.classes))
    proba[:, np.asarray(model.classes_, dtype=np.intp)] = model.predict_proba(table.X.iloc[test])
    return float(log_loss(table.y[test], proba, labels=np.arange(table.classes)))


if __name__ == "__main__":
    main()

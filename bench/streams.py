"""Prequential accuracy, log-loss and CPU time on streams: ours beside river's learners and LightGBM refitted.

    make bench-streams                            # synthetic streams: abrupt, gradual and recurring drift (river)
    make bench-streams DATA=folder                # and every *.npz there (arrays X and y, in file order)
    make bench-streams ARGS="--rows 20000 --models StreamingBayes,ARF"

Every model sees the same rows in one run. LightGBM is fitted again every 1,000 rows to the last 5,000. Times are CPU
times of predicting and learning a row, from dicts as river takes them; in batches for LightGBM. In the log-loss of
peers a probability below 0.001 counts as 0.001, since they often give a class none at all; ours count as they are.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from tallybayes import NaiveBayes, StreamingBayes
from tallybayes.evaluation import prequential

Stream = list[tuple[dict[str, float], Any]]

LEAST, PEERS_LEAST = 1e-15, 1e-3  # what smaller probabilities of the true class count as: peers give many zeros
OURS: dict[str, Callable[[], Any]] = {
    "StreamingBayes": StreamingBayes,
    "NaiveBayes": lambda: NaiveBayes("gaussian"),
    "NaiveBayes(half_life=1000)": lambda: NaiveBayes("gaussian", half_life=1000),
    "NaiveBayes(half_life='auto')": lambda: NaiveBayes("gaussian", half_life="auto"),
}


def models() -> dict[str, Callable[[], Any]]:
    """How each model is made; those whose package is absent are left out."""
    found = dict(OURS)
    try:
        from river import ensemble, forest, naive_bayes, neighbors, tree

        found |= {
            "ARF": lambda: forest.ARFClassifier(n_models=10, seed=1),
            "Hoeffding adaptive tree": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=1),
            "SRP": lambda: ensemble.SRPClassifier(n_models=10, seed=1),
            "kNN window": lambda: neighbors.KNNClassifier(5, engine=neighbors.LazySearch(window_size=1000)),
            "Gaussian NB": naive_bayes.GaussianNB,
        }
    except ImportError:
        print("river is not installed: its learners are left out")
    try:
        from lightgbm import LGBMClassifier

        found["LightGBM refitted"] = lambda: LGBMClassifier(n_jobs=1, verbose=-1)
    except ImportError:
        print("LightGBM is not installed: it is left out")
    return found


def synthetic(rows: int) -> Iterator[tuple[str, Stream]]:
    """Drift that is abrupt, gradual and recurring, from river's generators."""
    try:
        from river.datasets import synth
    except ImportError:
        return

    def concept(which: int, seed: int) -> Any:
        return synth.Agrawal(classification_function=which, seed=seed)

    def joined(*parts: tuple[int, int]) -> Stream:
        return [pair for seed, (which, n) in enumerate(parts) for pair in concept(which, seed).take(n)]

    yield "abrupt", joined((0, rows // 2), (4, rows // 2))
    drift = synth.ConceptDriftStream(concept(0, 1), concept(4, 2), seed=1, position=rows // 2, width=rows // 5)
    yield "gradual", list(drift.take(rows))
    yield "recurring", joined(*((which, rows // 4) for which in (0, 4, 0, 4)))


def from_files(folder: Path, rows: int) -> Iterator[tuple[str, Stream]]:
    """Streams in files of NumPy, in the order of their rows."""
    for path in sorted(folder.glob("*.npz")):
        held = np.load(path)
        X, y = held["X"][:rows].astype(float).tolist(), held["y"][:rows].tolist()
        names = [f"x{j}" for j in range(len(X[0]))]
        yield path.stem, [(dict(zip(names, x, strict=True)), c) for x, c in zip(X, y, strict=True)]


def main() -> None:
    """Runs all models on all streams and prints a table; the figures go to a file too."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="a folder of *.npz")
    parser.add_argument("--rows", type=int, default=100_000, help="of a stream, at most")
    parser.add_argument("--models", help="names, separated by commas")
    parser.add_argument("--out", type=Path, default=Path("bench/results-streams.json"))
    given = parser.parse_args()
    makers = models()
    chosen = [name.strip() for name in given.models.split(",")] if given.models else list(makers)
    unknown = [name for name in chosen if name not in makers]
    if unknown:
        parser.error(f"no model {unknown[0]!r}; there are: {', '.join(makers)}")
    warnings.simplefilter("ignore")
    found: list[dict[str, Any]] = []
    files = from_files(given.data, given.rows) if given.data else iter(())
    for stream_name, stream in chain(files, synthetic(given.rows)):
        print(f"\n{stream_name}: {len(stream):,} rows\n{'':<30}accuracy  log-loss   kappa  µs a row", flush=True)
        for name in chosen:
            floor = LEAST if name in OURS else PEERS_LEAST
            r = prequential(makers[name](), stream, batch=1000, window=5000, floor=floor)
            print(
                f"{name:<30}{r.accuracy:8.4f}{r.log_loss:10.4f}{r.kappa:8.4f}{r.microseconds_per_row:10.1f}", flush=True
            )
            found.append(
                {
                    "stream": stream_name,
                    "model": name,
                    "rows": r.n_rows,
                    "accuracy": r.accuracy,
                    "log_loss": r.log_loss,
                    "kappa": r.kappa,
                    "microseconds": r.microseconds_per_row,
                }
            )
            given.out.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

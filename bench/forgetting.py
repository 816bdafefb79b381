"""What forgetting costs and what it leaves: ours in three memories beside refits and SISA of LightGBM.

Requests of one row come one after the other to one model, as in a service and in the papers; each larger deletion
starts from a model of all training rows. After each, one row is predicted. Reported: CPU time of forgetting with the
next prediction (median and 99th percentile over requests), the largest |p - p of a fit on the rows that remain|, how
many deleted values are in the written model, the log-loss.

    make bench-forgetting                        # the census table that ships with the library
    make bench-forgetting DATA=folder            # adult, bank_marketing, online_shoppers, churn of *.parquet there
    make bench-forgetting ARGS="--rows 4000 --requests 10"

Times are CPU times (user and system, all threads), so that other programs on the machine change them little.
"""

from __future__ import annotations

import argparse
import json
import pickle
import platform
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss

from tallybayes import (
    AODE,
    KDB,
    SPODE,
    TAN,
    AnDE,
    BayesClassifier,
    NaiveBayes,
    __version__,
)
from tallybayes.receipts import RemovedRows
from tallybayes.receipts.residue import residue

TABLES = ("adult", "bank_marketing", "online_shoppers", "churn")
SHARES = (0.0, 0.001, 0.01, 0.1)  # 0: one row
LEAST = 20  # requests of one row, however long they take


@dataclass
class Split:
    """A table: rows to learn, rows to predict."""

    name: str
    X: pd.DataFrame
    y: np.ndarray[Any, Any]
    X_test: pd.DataFrame
    y_test: np.ndarray[Any, Any]


class Ours:
    """A model of this library, which forgets."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit(self, X: pd.DataFrame, y: Any) -> Ours:
        """Learn rows."""
        return Ours(self.model.copy().fit(_texts(X), y))

    def copy(self) -> Ours:
        """What may forget for itself; open for single rows, as a model in use is."""
        other = Ours(self.model.copy())
        other.model.one_row  # noqa: B018
        return other

    def request(self, X: pd.DataFrame, y: Any, gone: Any) -> Callable[[], Ours]:
        """What makes the model without some of its rows: one row comes as a dict, as a service has it."""
        rows, labels = _texts(X[gone]), y[gone]
        if len(rows) == 1:
            row, label = {k: v for k, v in rows.iloc[0].to_dict().items() if v == v}, labels[0]
            return lambda: Ours(self.model.forget_one(row, label))
        return lambda: Ours(self.model.forget(rows, labels))

    def predict_one(self, row: dict[str, Any]) -> Any:
        """P(class | x) of one row."""
        return self.model.predict_proba_one(row)

    def predict_proba(self, X: pd.DataFrame) -> Any:
        """P(class | x)."""
        return self.model.predict_proba(_texts(X))


def _texts(X: pd.DataFrame) -> pd.DataFrame:
    """Categories as texts: a type that lists levels would tell a model of levels that no row has."""
    return pd.DataFrame({c: v.astype(object) if hasattr(v, "cat") else v for c, v in X.items()})


class Boosting:
    """LightGBM of several shards, whose probabilities are averaged (SISA); forgetting fits their shards again."""

    def __init__(self, shards: int = 1) -> None:
        self.shards, self.parts, self.rows = shards, list[Any](), list[Any]()

    def fit(self, X: pd.DataFrame, y: Any) -> Boosting:
        """Learn rows, spread over the shards at random."""
        made = Boosting(self.shards)
        order = np.random.default_rng(1).permutation(len(y))
        made.rows = [np.sort(order[i :: self.shards]) for i in range(self.shards)]
        made.parts = [_lightgbm(X.iloc[rows], y[rows]) for rows in made.rows]
        return made

    def copy(self) -> Boosting:
        """Itself: forgetting makes a new one."""
        return self

    def request(self, X: pd.DataFrame, y: Any, gone: Any) -> Callable[[], Boosting]:
        """What makes the model without some of its rows."""
        return lambda: self._without(X, y, gone)

    def _without(self, X: pd.DataFrame, y: Any, gone: Any) -> Boosting:
        """The shards that had one of the rows, fitted again."""
        made, lost = Boosting(self.shards), set(np.flatnonzero(gone).tolist())
        for rows, part in zip(self.rows, self.parts, strict=True):
            left = rows[~gone[rows]]
            made.rows.append(left)
            made.parts.append(part if not lost & set(rows.tolist()) else _lightgbm(X.iloc[left], y[left]))
        return made

    def predict_one(self, row: pd.DataFrame) -> Any:
        """P(class | x) of a table of one row."""
        return self.predict_proba(row)

    def predict_proba(self, X: pd.DataFrame) -> Any:
        """P(class | x), the mean over the shards."""
        return np.mean([p.predict_proba(X) for p in self.parts], axis=0)


def _lightgbm(X: pd.DataFrame, y: Any) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(verbose=-1, n_jobs=1, deterministic=True, random_state=0).fit(X, y)


CONTENDERS: dict[str, Callable[[], Any]] = {
    "NaiveBayes, sums": lambda: Ours(NaiveBayes()),
    "NaiveBayes, rows": lambda: Ours(NaiveBayes(memory="rows")),
    "TAN, sums": lambda: Ours(TAN()),
    "TAN, rows": lambda: Ours(TAN(memory="rows")),
    "KDB, sums": lambda: Ours(KDB()),
    "SPODE, sums": lambda: Ours(SPODE()),
    "AODE, sums": lambda: Ours(AODE()),
    "AnDE, sums": lambda: Ours(AnDE()),
    "NaiveBayes of kernel densities, sums": lambda: Ours(NaiveBayes("kernel")),
    "BayesClassifier('fast'), sums": lambda: Ours(BayesClassifier("fast", memory="sums")),
    "BayesClassifier('fast'), sample": lambda: Ours(BayesClassifier("fast")),
    "BayesClassifier('fast'), rows": lambda: Ours(BayesClassifier("fast", memory="rows")),
    "BayesClassifier, sums": lambda: Ours(BayesClassifier(memory="sums")),
    "BayesClassifier, sample": lambda: Ours(BayesClassifier()),
    "BayesClassifier, rows": lambda: Ours(BayesClassifier(memory="rows")),
    "LightGBM, refit": lambda: Boosting(1),
    "SISA of LightGBM, 5 shards": lambda: Boosting(5),
    "SISA of LightGBM, 20 shards": lambda: Boosting(20),
}


def deletions(split: Split, requests: int) -> Iterator[tuple[str, list[Any]]]:
    """Names of ways to delete, and for each the requests: which rows go."""
    rng, n = np.random.default_rng(2), len(split.y)
    for share in SHARES:
        size = max(1, round(share * n))
        name = "1 row" if share == 0 else f"{share:.1%} at random"
        if share == 0:
            yield name, [_mask(n, i) for i in rng.choice(n, requests, replace=False)]
        else:
            yield name, [_mask(n, rng.choice(n, size, replace=False)) for _ in range(3)]
    text = [c for c in split.X if not pd.api.types.is_numeric_dtype(split.X[c])]
    if text:
        counts = {(c, v): k for c in text for v, k in split.X[c].value_counts().items() if 0 < k < n // 10}
        if counts:
            (column, value), _ = max(counts.items(), key=lambda item: item[1])
            yield "one whole level", [(split.X[column] == value).to_numpy()]
    numbers = split.X.select_dtypes("number")
    if len(numbers.columns):
        ends = [numbers[c].to_numpy(float) for c in numbers]
        far = np.unique([i for v in ends for i in (int(np.nanargmax(v)), int(np.nanargmin(v)))])
        yield "extreme values", [_mask(n, far)]


def _mask(n: int, which: Any) -> Any:
    mask = np.zeros(n, dtype=bool)
    mask[which] = True
    return mask


def measure(split: Split, name: str, requests: int, seconds: float = 20.0) -> Iterator[dict[str, Any]]:
    """One record for each way to delete."""
    whole = CONTENDERS[name]().fit(split.X, split.y)
    one: Any = split.X_test[:1]
    if isinstance(whole, Ours):
        one = {k: v for k, v in one.iloc[0].to_dict().items() if v == v}
    whole.predict_one(one)
    for how, masks in deletions(split, requests):
        times, gap, found, loss = list[float](), 0.0, 0, list[float]()
        left = whole.copy()
        for i, gone in enumerate(masks):
            left = left if how == "1 row" else whole.copy()
            ask = left.request(split.X, split.y, gone)
            start = time.process_time()
            left = ask()
            left.predict_one(one)
            times.append(time.process_time() - start)
            if sum(times) > seconds and len(times) >= LEAST:
                break
            if i == 0:  # a fit takes long: what is left is compared for the first request
                again = CONTENDERS[name]().fit(split.X[~gone], split.y[~gone])
                p = left.predict_proba(split.X_test)
                gap = float(np.abs(p - again.predict_proba(split.X_test)).max())
                loss.append(float(log_loss(split.y_test, p)))
                found = max(0, _residue(left, split, gone) - _residue(again, split, gone))  # without chance hits
        record = {"table": split.name, "model": name, "deleted": how, "requests": len(times)}
        record |= {"p50": float(np.median(times)), "p99": float(np.quantile(times, 0.99)), "gap": gap}
        yield {**record, "residue": found, "log_loss": loss[0]}


def _residue(left: Any, split: Split, gone: Any) -> int:
    """How many values that only deleted rows had, in whatever column, are in the written model."""
    mine, others = split.X[gone], split.X[~gone]
    there = {v for c in others for v in others[c].dropna().unique()}
    only = {c: set(mine[c].dropna()) - there for c in split.X}
    if isinstance(left, Ours):
        rows = RemovedRows()
        alone = pd.DataFrame({c: mine[c].where(mine[c].isin(only[c])) for c in mine})
        rows.add(left.model.schema_, alone, split.y[gone])
        return int(sum(residue(left.model, rows)["found"].values()))
    written = b"".join(pickle.dumps(p) for p in left.parts)
    texts = [str(v) for values in only.values() for v in values if isinstance(v, str) and len(v) > 3]
    return sum(text.encode() in written for text in texts)


def tables(folder: str | None, most: int, names: Sequence[str] = TABLES) -> Iterator[Split]:
    """The tables of a folder, or the census table."""
    if folder:
        frames = {n: pd.read_parquet(Path(folder) / f"{n}.parquet") for n in names}
    else:
        from tallybayes.datasets import load_census

        X, y = load_census()
        frames = {"census": pd.DataFrame(X).assign(target=y)}
    for name, frame in frames.items():
        frame = frame.sample(frac=1, random_state=0)[: most * 5 // 4].reset_index(drop=True)
        y = frame.pop("target").astype(str).to_numpy()
        for c in frame.columns[[not pd.api.types.is_numeric_dtype(t) for t in frame.dtypes]]:
            frame[c] = frame[c].astype(str).astype("category")
        cut = len(y) * 4 // 5
        test = frame[cut:]
        yield Split(name, frame[:cut], y[:cut], test, y[cut:])


def _processor() -> str:
    """The name of the processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    named = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return f"{len(named)} x {named[0]}" if named else platform.processor() or platform.machine()


def main() -> None:
    """Measure, print a table in Markdown, and write the records."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="a folder of *.parquet; default: the census table")
    parser.add_argument("--tables", nargs="*", default=list(TABLES), choices=TABLES, help="which of the folder")
    parser.add_argument("--rows", type=int, default=50_000, help="rows to learn, at most")
    parser.add_argument("--requests", type=int, default=100, help="requests of one row")
    parser.add_argument("--seconds", type=float, default=20.0, help="CPU time of requests of one row, at most")
    parser.add_argument("--models", nargs="*", default=list(CONTENDERS), choices=list(CONTENDERS))
    parser.add_argument("--json", help="where to write the records")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    records = []
    print(f"tallybayes {__version__}, {_processor()}, {time.strftime('%Y-%m-%d')}; CPU times")
    print("| table | rows | model | deleted | requests | p50 | p99 | largest gap | residue | log-loss |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for split in tables(given.data, given.rows, given.tables):
        for name in given.models:
            for r in measure(split, name, given.requests, given.seconds):
                records.append(r)
                times = f"{r['p50'] * 1e3:.2f} ms | {r['p99'] * 1e3:.2f} ms"
                tail = f"{r['gap']:.1e} | {r['residue']} | {r['log_loss']:.4f} |"
                head = f"| {r['table']} | {len(split.y):,} | {name} | {r['deleted']} | {r['requests']}"
                print(f"{head} | {times} | {tail}", flush=True)
    if given.json:
        Path(given.json).write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()

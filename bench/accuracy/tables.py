"""The tables: read, put into one form that every model is given, and split the same way for all of them."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api import types
from sklearn import datasets
from sklearn.model_selection import StratifiedKFold

Codes = NDArray[np.intp]
Folds = int | None  # how many, once; None: by the number of rows

SEED = 0
TARGETS = ("target", "class", "label", "y")  # else the last column
BUNDLED = ("iris", "wine", "breast_cancer", "digits")


class UnfitError(ValueError):
    """A table that this benchmark leaves out; the message says why."""


@dataclass(frozen=True)
class Table:
    """X: columns of numbers or of pandas categories, NaN where missing; y: classes as 0, 1, … without gaps."""

    name: str
    X: pd.DataFrame
    y: Codes
    full: int  # rows before a sample was taken
    folds: int
    repeats: int

    @property
    def classes(self) -> int:
        return int(self.y.max()) + 1

    @property
    def numbers(self) -> list[str]:
        return [name for name in self.X if not isinstance(self.X[name].dtype, pd.CategoricalDtype)]

    @property
    def labels(self) -> list[str]:
        return [name for name in self.X if isinstance(self.X[name].dtype, pd.CategoricalDtype)]

    def __str__(self) -> str:
        rows = f"{len(self.y):,} rows" + (f" of {self.full:,}" if self.full > len(self.y) else "")
        columns = f"{len(self.numbers)} numbers, {len(self.labels)} labels"
        return f"{self.name}: {rows}, {columns}, {self.classes} classes, {self.folds} folds × {self.repeats}"

    def fingerprint(self) -> str:
        """Of the rows and the splits: figures of two runs can be compared only where these agree."""
        rows = pd.util.hash_pandas_object(self.X.assign(y=self.y), index=False).to_numpy()
        return hashlib.sha256(rows.tobytes() + repr((self.folds, self.repeats, SEED)).encode()).hexdigest()[:16]

    def splits(self) -> Iterator[list[tuple[Codes, Codes]]]:
        """For each repeat its folds: (rows to learn, rows to answer)."""
        for repeat in range(self.repeats):
            folds = StratifiedKFold(self.folds, shuffle=True, random_state=SEED + repeat)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that a class has fewer rows than there are folds
                found = list(folds.split(self.y, self.y))
            yield found


def sources(folder: Path | None) -> dict[str, Path | None]:
    """Names of tables and their files; without a folder, the tables that scikit-learn brings along."""
    if folder is None:
        return dict.fromkeys(BUNDLED)
    return {path.stem: path for path in sorted(folder.glob("*.parquet"))}


def cells(path: Path | None) -> int:
    """The size of a table, from the foot of its file alone: small ones are run first. 0 if it cannot be read."""
    from pyarrow import parquet

    try:
        facts = parquet.read_metadata(path) if path else None
    except (OSError, ValueError):  # read() will say what is wrong
        return 0
    return int(facts.num_rows * facts.num_columns) if facts else 0


def read(name: str, path: Path | None, max_rows: int, folds: Folds) -> Table:
    if name.endswith("_text"):
        raise UnfitError("its name says that it is text")
    try:
        frame = pd.read_parquet(path) if path else getattr(datasets, f"load_{name}")(as_frame=True).frame
    except (OSError, ValueError) as error:
        raise UnfitError(f"it cannot be read: {error}") from error
    return prepare(name, frame, max_rows, folds)


def prepare(name: str, frame: pd.DataFrame, max_rows: int, folds: Folds) -> Table:
    """The form that all models are given. Raises UnfitError if the table is none for this benchmark."""
    if frame.shape[1] < 2:
        raise UnfitError("there is no column beside the target")
    target = next((c for c in frame for t in TARGETS if str(c).lower() == t), frame.columns[-1])
    frame = frame[frame[target].notna()].reset_index(drop=True)
    labels = frame[target].astype(str) if types.is_object_dtype(frame[target]) else frame[target]
    y = pd.factorize(labels, sort=True)[0]
    chosen = sample(y, max_rows)
    y = np.unique(y[chosen], return_inverse=True)[1]  # a rare class may be gone
    counts = np.bincount(y)
    if len(counts) < 2 or len(y) < 5 * len(counts):
        raise UnfitError(f"{len(counts)} classes in {len(y)} rows: wanted are at least 2 classes, and 5 rows for each")
    # LightGBM refuses names with brackets, quotes and the like, so all names are made plain.
    columns = {f"x{j}": _column(frame[c]) for j, c in enumerate(c for c in frame.columns if c != target)}
    X = pd.DataFrame(columns).iloc[chosen].reset_index(drop=True)
    parts, repeats = (folds, 1) if folds else (5, 2) if len(y) < 2_000 else (5, 1) if len(y) < 10_000 else (2, 1)
    return Table(name, X, y, len(frame), min(parts, int(counts.max())), repeats)


def _column(values: pd.Series) -> pd.Series:
    if types.is_numeric_dtype(values) and not types.is_bool_dtype(values):
        return values.astype(float) if types.is_extension_array_dtype(values) else values
    if types.is_datetime64_any_dtype(values) or types.is_timedelta64_dtype(values):
        raise UnfitError(f"column {values.name!r} holds times")
    try:
        text = _is_text(values.dropna())
    except TypeError:  # what cannot be hashed
        raise UnfitError(f"column {values.name!r} holds lists or the like") from None
    if text:
        raise UnfitError(f"column {values.name!r} is free text")
    if isinstance(values.dtype, pd.CategoricalDtype) and all(isinstance(c, str) for c in values.cat.categories):
        return values
    # As strings, since a peer that sorts categories cannot sort True beside "no".
    return values.astype(str).where(values.notna()).astype("category")


def _is_text(values: pd.Series) -> bool:
    """Long, and hardly ever the same twice."""
    return bool(values.nunique() > len(values) / 2 and values.iloc[:1000].astype(str).str.len().mean() > 50)


def sample(y: Codes, size: int) -> Codes:
    """`size` rows (all, if there are fewer) in their order, every class with its share, to the nearest row.

    The rows of a class, in random order, stand at (rank + ½) / (rows of the class); the lowest ones are taken.
    """
    if len(y) <= size:
        return np.arange(len(y))
    order = np.random.default_rng(SEED).permutation(len(y))
    classes = pd.Series(y[order])
    place = (classes.groupby(classes).cumcount() + 0.5) / np.bincount(y)[y[order]]
    return np.sort(order[np.argsort(place.to_numpy(), kind="stable")[:size]])

"""Prequential evaluation (Dawid 1984): each row of a stream is predicted before it is learned."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from tallybayes.data.output_tables import build_frame
from tallybayes.errors import OptionError, brief
from tallybayes.utils.array_types import Floats


@dataclass(frozen=True)
class Prequential:
    """Result of `prequential`: accuracy, log-loss and time, in all and by block.

    ``str`` gives one line; ``frame`` one row for each block of the stream.

    Parameters
    ----------
    n_rows : int
        Rows that were predicted.
    accuracy : float
        Share of rows whose most probable class was theirs.
    log_loss : float
        Mean of −log P(class of the row).
    kappa : float
        Cohen's kappa: accuracy beyond that of guessing with the shares of predicted and true classes.
    seconds : float
        CPU time of predicting and learning.
    block : int
        Rows of a block.
    blocks : dict
        For each block: 'rows' (predicted until its end), 'accuracy', 'log_loss', 'half_life' (in force at its end;
        NaN for a model without ``half_life_``).
    drift : list of Drift
        ``drift_`` of the model at the end; empty for a model without it.

    See Also
    --------
    prequential : Makes it.
    tallybayes.plots.PrequentialDisplay : Draws it.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.evaluation import prequential
    >>> stream = [({"x": float(i % 2)}, "odd" if i % 2 else "even") for i in range(100)]
    >>> found = prequential(NaiveBayes("gaussian"), stream, block=50)
    >>> found.frame()["rows"].tolist(), round(found.accuracy, 2)
    ([50, 99], 0.99)
    """

    n_rows: int
    accuracy: float
    log_loss: float
    kappa: float
    seconds: float
    block: int
    blocks: dict[str, list[float]]
    drift: list[Any] = field(default_factory=list)

    @property
    def microseconds_per_row(self) -> float:
        """float: CPU time of a row, predicted and learned."""
        return 1e6 * self.seconds / self.n_rows

    def frame(self, backend: str | None = None) -> Any:
        """Return the blocks as a frame.

        Parameters
        ----------
        backend : {'pandas', 'polars', 'pyarrow', 'dict'}, default=None
            Which kind of frame; None gives a dict of arrays.

        Returns
        -------
        frame or dict
            One row for each block.
        """
        return build_frame(self.blocks, "numpy", backend)

    def __str__(self) -> str:
        return (
            f"{self.n_rows:,} rows: accuracy {self.accuracy:.4f}, log-loss {self.log_loss:.4f}, kappa "
            f"{self.kappa:.4f}, {self.microseconds_per_row:.3g} µs of CPU time a row"
        )


def prequential(
    model: Any,
    stream: object,
    y: object = None,
    *,
    block: int = 1000,
    batch: int = 1000,
    window: int | None = None,
    max_rows: int | None = None,
    floor: float = 1e-15,
) -> Prequential:
    """Evaluate a model on a stream: predict each row, then learn it.

    The model may be of this library or of river (``predict_proba_one``, ``learn_one``), or of scikit-learn: one with
    ``partial_fit`` predicts and learns `batch` rows at a time, one with ``fit`` alone is fitted again every `batch`
    rows to the last `window` rows. A model that has learned nothing yet learns its first row, or its first batch,
    without a prediction.

    Parameters
    ----------
    model : classifier
        It learns the stream; what it knew before stays.
    stream : iterable of (dict, label), or a table
        The rows in their order. A table is read row by row: numbers as they are, other values as strings.
    y : array-like of shape (n_rows,), default=None
        The labels of a table.
    block : int, default=1000
        Rows of a block, for the course of accuracy and log-loss.
    batch : int, default=1000
        Rows of a batch, for models without ``learn_one``.
    window : int, default=None
        Rows that a model with ``fit`` alone is fitted to; None: all so far.
    max_rows : int, default=None
        Stop after so many rows.
    floor : float, default=1e-15
        What a smaller probability of the true class counts as in the log-loss, so that it stays finite.

    Returns
    -------
    Prequential
        Accuracy, log-loss, kappa and CPU time, in all and by block.

    See Also
    --------
    tallybayes.StreamingBayes : A model for streams that drift.
    tallybayes.plots.PrequentialDisplay : Draws the result.

    References
    ----------
    - Dawid (1984), Statistical theory: the prequential approach. J. R. Stat. Soc. A 147.

    Examples
    --------
    >>> from tallybayes import StreamingBayes
    >>> from tallybayes.evaluation import prequential
    >>> stream = [({"hour": float(i % 24)}, "night" if i % 24 < 6 else "day") for i in range(600)]
    >>> found = prequential(StreamingBayes(), stream, block=200)
    >>> found.n_rows, found.accuracy > 0.9, len(found.blocks["rows"])
    (599, True, 3)
    """
    for name, value in (("block", block), ("batch", batch), ("window", window), ("max_rows", max_rows)):
        optional = name in ("window", "max_rows") and value is None
        if not optional and (not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1):
            raise OptionError(f"{name} must be a whole number of at least 1; got {brief(value)}.")
    if not isinstance(floor, float | np.floating) or not 0 < floor < 1:
        raise OptionError(f"floor must be a probability between 0 and 1; got {brief(floor)}.")
    rows = _rows(stream, y, max_rows)
    score = _Score(block, float(floor))
    if hasattr(model, "learn_one"):
        _one_by_one(model, rows, score)
    elif hasattr(model, "predict_proba") and (hasattr(model, "partial_fit") or hasattr(model, "fit")):
        _in_batches(model, rows, score, batch, window)
    else:
        raise OptionError(
            f"prequential takes a classifier with learn_one, or with predict_proba and partial_fit or fit; got "
            f"{type(model).__name__}."
        )
    return score.result(model)


def _rows(stream: Any, y: Any, most: int | None) -> Iterator[tuple[dict[Any, Any], Any]]:
    """Rows as dicts, with their labels."""
    found: Iterable[Any]
    if y is None:
        if isinstance(stream, Mapping | str) or not isinstance(stream, Iterable):
            raise OptionError("stream must be pairs (row as a dict, label), or a table with y.")
        found = stream
    else:
        from tallybayes.data.labels import read_target
        from tallybayes.data.table import read_table

        table = read_table(stream)
        target = read_target(y, table.n, None)
        names = [table.name(j) for j in range(table.d)]
        labels = target.classes.tolist()
        columns = [table.values(j) for j in range(table.d)]
        found = (
            (dict(zip(names, values, strict=True)), labels[c])
            for values, c in zip(zip(*columns, strict=True), target.y.tolist(), strict=True)
        )
    for i, pair in enumerate(found):
        if most is not None and i >= most:
            return
        try:
            row, label = pair
        except (TypeError, ValueError):
            raise OptionError(f"Item {i} of the stream must be a pair (row, label); got {brief(pair)}.") from None
        yield row, label


class _Score:
    """Sums of a prequential evaluation."""

    def __init__(self, block: int, floor: float) -> None:
        self.block, self.floor, self.n, self.hits, self.loss, self.seconds = block, floor, 0, 0, 0.0, 0.0
        self.block_hits, self.block_loss, self.block_rows = 0, 0.0, 0
        self.said: dict[Any, int] = {}
        self.true: dict[Any, int] = {}
        self.blocks: dict[str, list[float]] = {"rows": [], "accuracy": [], "log_loss": [], "half_life": []}

    def add(self, best: object, p: float, label: object, model: object) -> None:
        """One prediction: the most probable class, and the probability of the true one."""
        hit, loss = best == label, -float(np.log(max(p, self.floor)))
        self.n, self.hits, self.loss = self.n + 1, self.hits + hit, self.loss + loss
        self.block_rows, self.block_hits, self.block_loss = (
            self.block_rows + 1,
            self.block_hits + hit,
            self.block_loss + loss,
        )
        self.said[best] = self.said.get(best, 0) + 1
        self.true[label] = self.true.get(label, 0) + 1
        if self.block_rows == self.block:
            self.close(model)

    def close(self, model: object) -> None:
        """The end of a block."""
        self.blocks["rows"].append(self.n)
        self.blocks["accuracy"].append(self.block_hits / self.block_rows)
        self.blocks["log_loss"].append(self.block_loss / self.block_rows)
        self.blocks["half_life"].append(float(getattr(model, "half_life_", np.nan)))
        self.block_rows, self.block_hits, self.block_loss = 0, 0, 0.0

    def result(self, model: object) -> Prequential:
        """What was found, at the end of the stream."""
        if self.n == 0:
            raise OptionError("The stream has no row to predict: the first row, or batch, is learned alone.")
        if self.block_rows:
            self.close(model)
        accuracy = self.hits / self.n
        chance = sum(self.true[c] * self.said.get(c, 0) for c in self.true) / self.n**2
        kappa = (accuracy - chance) / (1 - chance) if chance < 1 else 0.0
        drift = list(getattr(model, "drift_", []))
        return Prequential(self.n, accuracy, self.loss / self.n, kappa, self.seconds, self.block, self.blocks, drift)


def _one_by_one(model: Any, rows: Iterator[tuple[dict[Any, Any], Any]], score: _Score) -> None:
    fitted = getattr(model, "is_fitted", True)
    for row, label in rows:
        before = time.process_time()
        p = model.predict_proba_one(row) if fitted else None
        model.learn_one(row, label)
        score.seconds += time.process_time() - before
        fitted = True
        if p is not None:
            score.add(max(p, key=p.__getitem__) if p else None, p.get(label, 0.0), label, model)


def _in_batches(
    model: Any, rows: Iterator[tuple[dict[Any, Any], Any]], score: _Score, batch: int, window: int | None
) -> None:
    kept: list[tuple[list[Any], Any]] = []
    adds, fitted = hasattr(model, "partial_fit"), False
    for some in _batches(rows, batch):
        X, y = _array([x for x, _ in some]), [label for _, label in some]
        before = time.process_time()
        p: Floats | None = model.predict_proba(X) if fitted else None
        classes = list(model.classes_) if fitted else []
        if adds:
            model.partial_fit(X, y, **({} if fitted else {"classes": sorted(set(y))}))
        else:
            kept = [*kept, *some][-window if window else 0 :]
            model.fit(_array([x for x, _ in kept]), [label for _, label in kept])
        score.seconds += time.process_time() - before
        fitted = True
        if p is not None:
            for label, found in zip(y, p, strict=True):
                own = float(found[classes.index(label)]) if label in classes else 0.0
                score.add(classes[int(np.argmax(found))], own, label, model)


def _batches(rows: Iterator[tuple[dict[Any, Any], Any]], size: int) -> Iterator[list[tuple[list[Any], Any]]]:
    """Lists of (values, label), the values in the order of the first row's columns."""
    names: list[Any] = []
    while some := list(islice(rows, size)):
        names = names or list(some[0][0])
        yield [([row.get(name) for name in names], label) for row, label in some]


def _array(rows: Sequence[Sequence[Any]]) -> Any:
    """Numbers as a matrix; else Python objects."""
    try:
        return np.array([[np.nan if v is None else float(v) for v in row] for row in rows])
    except (TypeError, ValueError):
        return np.array([list(row) for row in rows], dtype=object)

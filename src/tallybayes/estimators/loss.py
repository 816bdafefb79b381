"""A loss as people write it, a matrix or pairs of labels → an array (answers, classes) and the answers' names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.decision import check_loss
from tallybayes.errors import OptionError, listing

Array = NDArray[Any]
Floats = NDArray[np.float64]
Pairs = Mapping[tuple[Any, Any], float]


def read_loss(loss: Any, answers: Any, classes: Array) -> tuple[Floats, list[Any]]:
    """The losses and the answers they are for; None is 1 for every wrong answer."""
    labels = classes.tolist()
    pairs = _pairs(loss, "loss")
    if pairs is not None:
        if answers is not None:
            raise OptionError("answers names the rows of a matrix; a loss by labels names its answers itself.")
        named = list(dict.fromkeys(a for a, _ in pairs))
        known = labels if any(a is ... or a in labels for a in named) else []
        found = [*known, *(a for a in named if a is not ... and a not in labels)]
        return _table(pairs, found, labels), found
    if np.ndim(loss) == 3:
        raise OptionError("Losses of each row are given with the rows: predict(X, losses=…). loss is one matrix.")
    matrix = check_loss(1.0 - np.eye(len(labels)) if loss is None else loss, (0, len(labels)))
    found = labels if answers is None else list(answers)
    if len(found) != len(matrix):
        hint = " Name them with answers=[…]." if answers is None else ""
        raise OptionError(
            f"loss has {len(matrix)} rows for {len(found)} answers ({listing(list(map(str, found)))}).{hint}"
        )
    if len(dict.fromkeys(found)) != len(found):
        raise OptionError(f"Each answer may stand once in answers; got {found}.")
    return matrix, found


def read_amount_loss(loss: Any, answers: list[Any], classes: Array) -> Floats:
    """The same for known answers; a pair that is not named is 0."""
    pairs = _pairs(loss, "amount_loss")
    if pairs is None:
        return check_loss(loss, (0, len(classes)), len(answers))
    labels = classes.tolist()
    _refuse([f"({a!r}, …)" for a, _ in pairs if a is not ... and a not in answers], "answers", answers)
    return _table({(..., ...): 0.0, **pairs}, answers, labels)


def label_array(found: Sequence[Any], classes: Array) -> Array:
    """Labels as an array of the classes' own type where that can hold them, of objects where nothing else can."""
    labels = list(found)
    if set(labels) <= set(classes.tolist()):
        return np.array(labels, dtype=classes.dtype)
    plain: Any = {"U": str, "i": int, "u": int, "f": int | float}.get(classes.dtype.kind)
    if plain is not None and all(isinstance(v, plain) and not isinstance(v, bool) for v in labels):
        return np.array(labels)
    out = np.empty(len(labels), dtype=object)
    out[:] = labels
    return out


def _pairs(loss: Any, name: str) -> Pairs | None:
    """{(answer, truth): loss} from a dict or from a frame whose index is the answers; None: it is an array."""
    if hasattr(loss, "index") and hasattr(loss, "columns") and hasattr(loss, "to_numpy"):
        cells = loss.to_numpy()
        return {
            (a, t): v for a, row in zip(loss.index, cells, strict=True) for t, v in zip(loss.columns, row, strict=True)
        }
    if not isinstance(loss, Mapping):
        return None
    if not loss or not all(isinstance(key, tuple) and len(key) == 2 for key in loss):
        raise OptionError(f"{name} as a dict goes from (answer, truth) to a number; got {loss!r:.120}.")
    return loss


def _table(pairs: Pairs, answers: list[Any], labels: list[Any]) -> Floats:
    """The pair itself; 0 for a right answer; then (answer, …), (…, truth), (…, …)."""
    _refuse([f"(…, {t!r})" for _, t in pairs if t is not ... and t not in labels], "classes", labels)
    missing = []
    cells: list[list[Any]] = []
    for a in answers:
        cells.append([])
        for t in labels:
            keys: list[tuple[Any, Any]] = [(a, t), (a, ...), (..., t), (..., ...)]
            key = next((k for k in keys if k in pairs), None)
            if (a, t) not in pairs and a == t:
                cells[-1].append(0.0)
            elif key is None:
                missing.append(f"({a!r}, {t!r})")
            else:
                cells[-1].append(pairs[key])
    if missing:
        raise OptionError(
            f"loss does not say what these cost (answer, truth): {', '.join(missing[:5])}"
            f"{f' and {len(missing) - 5} more' if len(missing) > 5 else ''}. Only a right answer costs 0 by itself; "
            "(answer, ...) stands for every truth that is not named, (..., ...) for every pair."
        )
    return check_loss(cells, (0, len(labels)))


def _refuse(unknown: list[str], what: str, known: list[Any]) -> None:
    if unknown:
        raise OptionError(f"loss names {', '.join(unknown[:5])}; the {what} are {listing(list(map(str, known)))}.")

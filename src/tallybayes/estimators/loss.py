"""A loss as people write it, a matrix or pairs of labels → an array (answers, classes) and the answers' names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tallybayes.decision import check_loss
from tallybayes.errors import OptionError, brief, listing, require_memory
from tallybayes.estimators.parameters import check_label
from tallybayes.model.priors import column_names, column_places, row_labels
from tallybayes.utils.array_types import Array, Floats
from tallybayes.utils.lazy_imports import nw

Pairs = Mapping[tuple[object, object], float]


def read_loss(loss: Any, answers: Any, classes: Array) -> tuple[Floats, list[object]]:
    """The losses and the answers they are for; None is 1 for every wrong answer."""
    labels = classes.tolist()
    named = _named(answers)
    if named is not None and len(dict.fromkeys(named)) != len(named):
        raise OptionError(f"Each answer may stand once in answers; got {brief(named)}.")
    if loss is None:
        return _right_or_wrong(labels if named is None else named, labels)
    pairs, loss = _read(loss, "loss", labels)
    if pairs is not None:
        if named is not None:
            raise OptionError("answers names the rows of a matrix; a loss by labels names its answers itself.")
        found = _answers_of(pairs, labels)
        return _table(pairs, found, labels), found
    if _depth(loss) == 3:
        raise OptionError("Losses of each row are given with the rows: predict(X, losses=…). loss is one matrix.")
    matrix = check_loss(loss, (0, len(labels)))
    found = labels if named is None else named
    if len(found) != len(matrix):
        hint = " Name them with answers=[…]." if named is None else ""
        raise OptionError(
            f"loss has {len(matrix)} rows for {len(found)} answers ({listing(list(map(str, found)))}).{hint}"
        )
    return matrix, found


def _depth(loss: Any) -> int:
    """How many axes there are; 0 of lists of several lengths, which are refused as no numbers."""
    try:
        return np.ndim(loss)
    except ValueError:
        return 0


def _named(answers: Any) -> list[object] | None:
    """The answers as a list of labels."""
    if answers is None:
        return None
    single = isinstance(answers, str | bytes | Mapping) or getattr(answers, "ndim", 1) != 1
    if single or not isinstance(answers, Iterable) or isinstance(answers, type):
        raise OptionError(f"answers must be a list of labels; got {brief(answers)}.")
    named = list(answers)
    for label in named:
        check_label("An answer", label)
    return named


def _answers_of(pairs: Pairs, labels: list[object]) -> list[object]:
    """The answers that a loss by labels names: the classes first, if it names one of them, then the others."""
    known = list(dict.fromkeys(a for a, _ in pairs))
    first = labels if any(a is ... or a in labels for a in known) else []
    return [*first, *(a for a in known if a is not ... and a not in labels)]


def read_amount_loss(loss: object, answers: list[object], classes: Array) -> Floats:
    """The same for known answers; a pair that is not named is 0."""
    pairs, loss = _read(loss, "amount_loss", classes.tolist())
    if pairs is None:
        return check_loss(loss, (0, len(classes)), len(answers))
    return _known({(..., ...): 0.0, **pairs}, answers, classes)


def read_losses(losses: object, answers: list[object], classes: Array, n: int) -> Floats:
    """The losses of n rows for known answers: an array (rows, answers, classes), or one loss for all of them."""
    pairs, found = _read(losses, "losses", classes.tolist())
    if pairs is None:
        return check_loss(found, (n, len(classes)), len(answers))
    return _known(pairs, answers, classes)


def _known(pairs: Pairs, answers: list[object], classes: Array) -> Floats:
    _refuse([f"({brief(a)}, …)" for a, _ in pairs if a is not ... and a not in answers], "answers", answers)
    return _table(pairs, answers, classes.tolist())


def _right_or_wrong(answers: list[object], labels: list[object]) -> tuple[Floats, list[object]]:
    """1 for every wrong answer: an answer is right for the class of its name, so it must have one."""
    known = set(labels)
    unknown = [str(a) for a in answers if a not in known]
    if unknown or not answers:
        raise OptionError(
            f"Without a loss, answers must be classes ({listing(list(map(str, labels)))}); got "
            f"{listing(unknown) if unknown else 'none'}. What another answer costs, say with loss=…."
        )
    require_memory(
        len(answers) * len(labels), f"A loss for each pair of {len(answers):,} answers and {len(labels):,} classes"
    )
    place = {label: i for i, label in enumerate(labels)}
    loss = np.ones((len(answers), len(labels)))
    loss[np.arange(len(answers)), [place[a] for a in answers]] = 0.0
    return loss, answers


def label_array(found: Sequence[object], classes: Array) -> Array:
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


def _read(loss: Any, name: str, labels: list[object]) -> tuple[Pairs | None, object]:
    """{(answer, truth): loss} of what names its answers: a dict, or a table. Else a matrix, its columns by label.

    A table's columns are the truths. Its answers are its index, or a column besides; without either, rows have places.
    """
    if isinstance(loss, Mapping):
        if not loss or not all(isinstance(key, tuple) and len(key) == 2 for key in loss):
            raise OptionError(f"{name} as a dict maps (decision, class) to a number; got {brief(loss)}.")
        return loss, None
    names = column_names(loss)
    if names is None:
        return None, loss
    placed = column_places(loss, labels) or column_places(loss, labels, others=1)
    if placed is None:
        raise OptionError(
            f"{name} names the truths {listing(list(map(str, names)))}; the classes are "
            f"{listing(list(map(str, labels)))}."
        )
    columns = list(nw.from_native(loss, eager_only=True).iter_columns())
    cells = list(zip(*(columns[j].to_list() for j in placed[0]), strict=True))
    answers = columns[placed[1][0]].to_list() if placed[1] else row_labels(loss, labels)
    if answers is None:
        return None, cells
    if len(set(answers)) < len(answers):
        raise OptionError(f"{name} must name each answer once; got {listing(answers)}.")
    return {(a, t): v for a, row in zip(answers, cells, strict=True) for t, v in zip(labels, row, strict=True)}, None


def _table(pairs: Pairs, answers: list[object], labels: list[object]) -> Floats:
    """The pair itself; 0 for a right answer; then (answer, …), (…, truth), (…, …)."""
    _refuse([f"(…, {brief(t)})" for _, t in pairs if t is not ... and t not in labels], "classes", labels)
    missing = []
    cells: list[list[object]] = []
    for a in answers:
        cells.append([])
        for t in labels:
            keys: list[tuple[object, object]] = [(a, t), (a, ...), (..., t), (..., ...)]
            key = next((k for k in keys if k in pairs), None)
            if (a, t) not in pairs and a == t:
                cells[-1].append(0.0)
            elif key is None:
                missing.append(f"({brief(a)}, {brief(t)})")
            else:
                cells[-1].append(pairs[key])
    if missing:
        raise OptionError(
            f"loss has no cost for (decision, class): {', '.join(missing[:5])}"
            f"{f' and {len(missing) - 5} more' if len(missing) > 5 else ''}. Only the true class costs 0 "
            "unless given; (decision, ...) stands for every class that is not named, (..., ...) for every pair."
        )
    return check_loss(cells, (0, len(labels)))


def _refuse(unknown: list[str], what: str, known: list[object]) -> None:
    if unknown:
        raise OptionError(f"loss names {', '.join(unknown[:5])}; the {what} are {listing(list(map(str, known)))}.")

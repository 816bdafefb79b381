"""Rows for a report, read once: what the table is, and what the model says of each row."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tallybayes.data.expansion import CALENDAR_PARTS, NUMBER
from tallybayes.data.labels import positions, read_labels
from tallybayes.data.schema import Schema, align
from tallybayes.data.table import Table, read_table
from tallybayes.errors import ForgetError, LabelError, OptionError, listing
from tallybayes.evaluation.leaderboard import rows_of
from tallybayes.reports.html import Markup, apart, level, number, share, shorten, table, tag
from tallybayes.reports.learned import ReportedModel
from tallybayes.utils.array_types import Array, Floats

MOST_ROWS = 20_000  # that are looked at
LEVEL = 60  # characters of a value
LONG = 200  # characters from which a value is a text, not a level


@dataclass(frozen=True)
class Judged:
    """Rows with their classes, and log P(class | x) of each."""

    X: Any  # as it came, perhaps fewer rows
    table: Table  # aligned with the model's schema
    y: Array  # the number of each row's class
    labels: Array  # and the labels as they came
    log_proba: Floats
    of: int  # rows that there were
    as_learned: Floats | None = None  # of rows that were learned, log_proba with each row in the model

    @property
    def left_out(self) -> bool:
        """Is each row predicted by leave-one-out?"""
        return self.as_learned is not None

    @property
    def n(self) -> int:
        """How many rows there are."""
        return len(self.y)


def judge(model: ReportedModel, X: object, y: object, seed: int = 0) -> Judged:
    """Read rows and predict them; of many rows a sample, and rows that were learned by leave-one-out."""
    whole = read_table(X)
    codes, found = read_labels(y, whole.n)
    at = positions(found, model.classes_)
    if (at < 0).any():
        raise LabelError(
            f"The model does not know the class(es) {listing([str(v) for v in found[at < 0]])}. Known: "
            f"{listing([str(v) for v in model.classes_])}. Leave such rows out, or learn them."
        )
    some: Any = X
    if whole.n > MOST_ROWS:
        keep = np.sort(np.random.default_rng(seed).choice(whole.n, MOST_ROWS, replace=False))
        some, codes = rows_of(X, keep), codes[keep]
    log_proba = np.asarray(model.predict_log_proba(some))
    aligned = align(read_table(some), model.predictor_.fitted.schema)
    rows = Judged(some, aligned, at[codes], found[codes], log_proba, whole.n)
    alone = _leave_one_out(model, rows)
    return rows if alone is None else replace(rows, log_proba=alone, as_learned=log_proba)


def _leave_one_out(model: Any, rows: Judged) -> Floats | None:
    """The predictions for the rows, each leave-one-out, if they are as many of each class as were learned."""
    same = np.bincount(rows.y, minlength=len(model.classes_)) == model.fitted_.weight
    if rows.n < rows.of or not same.all() or not hasattr(model, "leave_one_out"):
        return None
    try:
        found: Floats = np.asarray(model.leave_one_out(rows.X, rows.labels))
    except (ForgetError, OptionError):
        return None
    return None if (model.fitted_.weight <= 1).any() else found  # without its only row there is no such class


def level_counts(rows: Judged) -> dict[int, dict[object, int]]:
    """How often each value occurs, of the columns that are not all numbers."""
    out: dict[int, dict[object, int]] = {}
    for j in range(rows.table.d):
        there = [v.item() if hasattr(v, "item") else v for v in rows.table.values(j) if v is not None and v == v]
        if (there and not isinstance(there[0], str)) or all(len(v) < LONG for v in there[:50] if isinstance(v, str)):
            out[j] = dict(Counter(there))
    return out


def numbers(rows: Judged) -> dict[int, Floats]:
    """The numbers of each column that has nothing else."""
    out = {}
    for j in range(rows.table.d):
        there = [v for v in rows.table.values(j) if v is not None and v == v]
        if there and all(is_number(v) for v in there):
            out[j] = np.array(there, dtype=float)
    return out


def is_number(value: object) -> bool:
    return isinstance(value, float | int | np.number) and not isinstance(value, bool)


def facts_section(rows: Judged, model: ReportedModel) -> Markup:
    """Kinds, missing values, levels, and redundant columns."""
    schema = model.fitted_.schema
    lines, codes = [], []
    names, days = shown_names(schema)
    for j in range(min(schema.d, 200)):
        values = rows.table.values(j)
        there = [v for v in values if v is not None and v == v]
        codes.append(_pattern(values))
        missing = rows.n - len(there)
        lines.append(
            (
                names[j],
                shown_kind(schema.kinds[j]),
                f"{missing:,} ({missing / rows.n:.1%})" if missing else "none",
                *(_lengths(there) if schema.kinds[j] == "text" else _range(there, names[j] in days)),
            )
        )
    more = f" Of {schema.d} columns the first 200." if schema.d > 200 else ""
    drawn = f" {rows.n:,} of {rows.of:,} rows, drawn at random." if rows.of > rows.n else ""
    return tag(
        "section",
        tag("h2", "The table", id="table"),
        tag("p", f"{rows.of:,} rows, {columns_of(schema)}.{drawn}{more}", class_="lead"),
        _redundant(codes, names[: len(codes)]),
        table(
            ("column", "kind", "missing", "distinct", "values"),
            lines,
            "Columns, with minimum, median and maximum or the most frequent values",
            numeric=(2, 3),
        ),
    )


def columns_of(schema: Schema) -> str:
    """How many columns the table has; a date is one, however many parts are read of it."""
    d = len(schema.expansion or ()) or schema.d
    return f"{d:,} column{'s' if d != 1 else ''}"


def shown_names(schema: Schema) -> tuple[list[str], set[str]]:
    """What the columns are called in a report, and which of them are days: the days of a date have its own name."""
    dates = [(j, g) for j, g in enumerate(schema.expansion or ()) if g.what in CALENDAR_PARTS]
    days = {g.by_part(j)[NUMBER[g.what]]: g.called(j) for j, g in dates if NUMBER[g.what] in g.parts}
    return [days.get(name, name) for name in map(schema.name, range(schema.d))], set(days.values())


def sources(schema: Schema) -> dict[str, int]:
    """By column the number of the column of the input table that it is, or is a part of."""
    return {name: j for j, g in enumerate(schema.expansion or ()) for name in g.columns(j)}


def as_day(value: float) -> str:
    """Days since 1970 as a date."""
    return str(np.datetime64(math.floor(value), "D")) if abs(value) < 1e9 else number(value)


def shown_kind(kind: str) -> str:
    """A kind of column as people call it."""
    return "numeric" if kind == "real" else kind


def _lengths(there: Sequence[object]) -> tuple[str, str]:
    """How many different texts, and how long they are."""
    if not there:
        return "0", "all missing"
    low, middle, high = np.quantile([len(str(v).split()) for v in there], [0, 0.5, 1])
    return f"{len(set(there)):,}", f"{low:,.10g} … {middle:,.10g} … {high:,.10g} words"


def _range(there: Sequence[object], are_days: bool) -> tuple[str, str]:
    """How many different values, and which."""
    if not there:
        return "0", "all missing"
    if all(map(is_number, there)):
        x = np.array(there, dtype=float)
        low, middle, high = np.quantile(x, [0, 0.5, 1])
        write = as_day if are_days else partial(number, digits=4)
        return f"{len(np.unique(x)):,}", " … ".join(map(write, (low, middle, high)))
    counts = Counter(there)
    shown = ", ".join(f"{apart(shorten(level(v), LEVEL))} ({share(c / len(there))})" for v, c in counts.most_common(4))
    return f"{len(counts):,}", shown + (", …" if len(counts) > 4 else "")


def _pattern(values: Sequence[object]) -> bytes | None:
    """The same for two columns that tell the same; None if the column cannot show that.

    Which rows share a value is enough where values come back. Where most are different, as in measurements, any two
    columns would agree in that: then numbers must also rise together, or one fall where the other rises.
    """
    seen: dict[object, int] = {}
    codes = np.array([seen.setdefault(None if v != v else v, len(seen)) for v in values], dtype=np.int32)
    if len(seen) < 2:
        return None
    if len(seen) <= len(values) / 2:
        return codes.tobytes()
    there = [v for v in seen if v is not None]
    if not all(map(is_number, there)) or len(there) < 3:
        return None
    place = {v: k for k, v in enumerate(sorted(there))}  # type: ignore[type-var]
    ranks = np.array([place.get(v, -1) for v in seen], dtype=np.int32)
    first, second = ranks[ranks >= 0][:2]
    if first > second:  # so that a column and its opposite look alike
        ranks = np.where(ranks < 0, ranks, len(there) - 1 - ranks).astype(np.int32)
    return ranks[codes].tobytes()


def _redundant(codes: Sequence[bytes | None], names: Sequence[str]) -> Markup:
    groups: dict[bytes, list[str]] = {}
    for name, code in zip(names, codes, strict=True):
        if code is not None:
            groups.setdefault(code, []).append(name)
    redundant = [group for group in groups.values() if len(group) > 1]
    if not redundant:
        return tag("p", "No two columns are redundant.")
    said = "; ".join(" and ".join(map(apart, group[:6])) for group in redundant[:10])
    return tag("p", f"Redundant columns, of which one is enough: {said}.", class_="warn")

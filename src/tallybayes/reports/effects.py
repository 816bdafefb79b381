"""Each column by itself: how its values are distributed, and what evidence each value gives.

With rows, the evidence of a value is the mean of what `explain` gives it over the rows that have it; without, the
change of the log-odds of a class against the rest when this value is known and every other is missing. Of a text the
values are its most telling words, each a text of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import zip_longest
from math import isfinite
from typing import Any

import numpy as np

from tallybayes.data.expansion import LABELS
from tallybayes.errors import TallybayesError
from tallybayes.evaluation.leaderboard import rows_of
from tallybayes.reports import pictures
from tallybayes.reports.controls import interval_order
from tallybayes.reports.html import Child, Markup, apart, level, number, share, shorten, table, tag
from tallybayes.reports.learned import ReportedModel
from tallybayes.reports.predicted_rows import Judged, as_day, shown_kind, shown_names
from tallybayes.utils.array_types import Array, Floats

MOST_COLUMNS = 24
MOST_LEVELS = 10
MOST_WORDS = 16
MOST_CLASSES = 6  # that have a curve: the most frequent
BROAD = 24  # characters of all classes from which their table takes the room of two cards
GRID = 48
CURVE_BINS = 20  # of a number with more distinct values
LEAST_ROWS = 5  # of a bin
MOST_ROWS, MOST_NUMBERS = 4000, 4_000_000  # rows whose evidence is averaged; numbers in it
Effects = dict[int, tuple[list[Any], Floats]]
MAX_NATS = 8.0  # nats: evidence beyond is drawn here
MIN_PROBABILITY = 1e-6  # P below which evidence does not differ


def section(
    model: ReportedModel,
    order: Sequence[int],
    shares: Sequence[str],
    rows: Judged | None,
    seen: dict[int, Floats],
    counts: dict[int, dict[object, int]],
) -> Markup:
    """Cards of the most informative columns. shares: their information; seen: their numbers; counts: their levels."""
    schema = model.fitted_.schema
    drawn = _drawn_classes(model)
    shown = [str(model.classes_[k]) for k in drawn]
    which = list(order[:MOST_COLUMNS])
    names, days = shown_names(schema)
    asked = {j: _grid(model, j, seen, counts, shown) for j in which}
    found = _effects(model, asked, rows)
    cards = []
    for j in which:
        kind, values = schema.kinds[j], found[j][0] if found is not None else []
        if found is not None and len(values):
            often = {} if kind == "text" else counts.get(j, {})
            body = _picture(names[j], kind, found[j], drawn, shown, seen.get(j), often, names[j] in days)
        else:
            why = (
                "the model does not predict from this column alone"
                if asked[j]
                else "the values of this column are texts"
            )
            body = tag("p", f"No picture: {why}.", class_="note")
        alone = "; the evidence of single words" if kind == "text" else ""
        about = tag("p", f"{shown_kind(kind)}; {shares[j]}{alone}", class_="note")
        broad = str(body).startswith("<div") and sum(map(len, shown)) > BROAD
        cards.append(tag("article", tag("h3", names[j]), about, body, class_="card broad" if broad else "card"))
    keys = [tag("li", tag("span", class_=f"key k{i}"), label) for i, label in enumerate(shown)]
    return tag(
        "section",
        tag("h2", "Effect of each column", id="learned"),
        tag("p", _lead(model, rows is not None, len(drawn), len(which)), class_="lead"),
        tag("ul", keys, class_="keys") if len(model.classes_) > 2 else None,
        tag("div", cards, class_="grid"),
    )


def _drawn_classes(model: ReportedModel) -> list[int]:
    """The classes that have a curve: of two the second, of many the most frequent."""
    K = len(model.classes_)
    if K == 2:
        return [1]
    by_weight: list[int] = np.argsort(-model.fitted_.weight, kind="stable").tolist()
    return by_weight[:MOST_CLASSES] if K > MOST_CLASSES + 2 else list(range(K))


def _lead(model: ReportedModel, has_rows: bool, n_drawn: int, n_columns: int) -> str:
    """What the pictures show."""
    K, d = len(model.classes_), model.fitted_.schema.d
    of = f" These are the {n_columns} most informative columns of {d}." if d > n_columns else ""
    last = apart(str(model.classes_[-1]))
    single = f" Above 0 it speaks for {last}, below 0 against it." if K == 2 else ""
    some = f" Of the {n_drawn} most frequent classes." if 2 < n_drawn < K else ""
    how = "its mean over the rows with this value" if has_rows else "when every other column is missing"
    return (
        "The evidence that each value gives, as it adds to the log-odds of a class against the rest (nats; 0.7 doubles "
        f"the odds): {how}.{single}{' Grey: how often values occur.' if has_rows else ''}{some}{of}"
    )


def _effects(model: ReportedModel, asked: dict[int, list[Any]], rows: Judged | None) -> Effects | None:
    """The evidence of the values of each column: of its mean over rows where there are any, but for words."""
    found = _alone(model, asked)
    if rows is None:
        return found
    texts = {j for j in asked if model.fitted_.schema.kinds[j] == "text"}
    words = {} if found is None else {j: found[j] for j in texts}
    found = _of_rows(model, rows, {j: values for j, values in asked.items() if j not in texts})
    return None if found is None else found | words


def _picture(
    name: str,
    kind: str,
    effect: tuple[list[Any], Floats],
    drawn: list[int],
    shown: list[str],
    seen: Floats | None,
    often: dict[object, int],
    is_day: bool,
) -> Child:
    """The curve of a number or of levels in an order, as hours are; the bars of other levels and of words."""
    values, evidence = effect
    if kind == "text":
        by = _telling(evidence, drawn)
        values, evidence = [values[i] for i in by], evidence[by]
    evidence = evidence[:, drawn]
    levels = kind != "text" and not _numeric(values)
    if levels and len(values) > MOST_LEVELS and all(map(_reads_as_number, values)):
        counted, values = [often.get(v, 0) for v in values], [float(v) for v in values]
        seen = np.repeat(values, counted)
    if _numeric(values):
        return _curve(name, values, evidence, seen, is_day)
    return _bars(name, values, evidence, shown, often)


def _of_rows(model: Any, rows: Judged, asked: dict[int, list[Any]]) -> Effects | None:
    """Of each column the values and (values, classes): the mean evidence of the rows that have them."""
    K = len(model.classes_)
    n = min(rows.n, MOST_ROWS, max(50, MOST_NUMBERS // (rows.table.d * K)))
    keep = np.sort(np.random.default_rng(0).choice(rows.n, n, replace=False))
    try:
        evidence = np.asarray(model.explain(rows_of(rows.X, keep)).values)[:, : rows.table.d]
    except TallybayesError:
        return None
    evidence = np.clip(
        np.nan_to_num(evidence, nan=0.0, posinf=MAX_NATS, neginf=-MAX_NATS),
        -MAX_NATS,
        MAX_NATS,
    )
    out: Effects = {}
    for j, values in asked.items():
        own = rows.table.values(j)
        here = [own[i] for i in keep.tolist()]
        if values and _numeric(values):
            x = np.array([np.nan if v is None else float(v) for v in here])
            known = ~np.isnan(x)
            cuts = _bin_edges(x[known])
            code = np.where(known, np.searchsorted(cuts, x, side="right"), -1)
            places = np.unique(code[known])
            points: list[Any] = [float(x[code == c].mean()) for c in places]
        else:
            place = {v: i for i, v in enumerate(values)}
            code = np.array([place.get(v.item() if hasattr(v, "item") else v, -1) for v in here])
            places = np.unique(code[code >= 0])
            points = [values[c] for c in places.tolist()]
        out[j] = points, np.array([evidence[code == c, j].mean(axis=0) for c in places]).reshape(len(points), K)
    return out


def _bin_edges(x: Floats) -> Floats:
    """Between few distinct numbers, or between bins of as many rows each; a number that fills a bin or more has one of
    its own, so that a column of mostly zeros shows the others too."""
    distinct, n = np.unique(x, return_counts=True)
    between = (distinct[1:] + distinct[:-1]) / 2
    if len(distinct) <= CURVE_BINS:
        return between
    heavy = n * CURVE_BINS >= len(x)
    around = between[heavy[1:] | heavy[:-1]]
    rest = x[~np.isin(x, distinct[heavy])]
    bins = max(1, min(CURVE_BINS - int(heavy.sum()), len(rest) // LEAST_ROWS))
    return np.union1d(around, np.quantile(rest, np.linspace(0, 1, bins + 1)[1:-1]))


def _numeric(values: Sequence[object]) -> bool:
    return all(isinstance(v, float) for v in values)


def telling_words(model: ReportedModel, j: int, classes: Sequence[str] = ()) -> list[str]:
    """The most telling words of each class (or of these, by name) in a column of texts, in turns."""
    said = {str(label): list(words) for label, words in model.describe(j).items()}
    ranked = zip_longest(*(words for label, words in said.items() if not classes or label in classes))
    return list(dict.fromkeys(word for turn in ranked for word in turn if word is not None))


def _telling(evidence: Floats, classes: Sequence[int]) -> list[int]:
    """Words to show: those with the most evidence for each class in turns, those for one class together."""
    of_two = evidence.shape[1] == 2
    own = evidence if of_two else evidence[:, classes]
    chosen = list(dict.fromkeys(np.argsort(-own, axis=0, kind="stable").ravel().tolist()))[:MOST_WORDS]
    if of_two:
        return sorted(chosen, key=lambda i: -own[i, 1])
    return sorted(chosen, key=lambda i: (own[i].argmax(), -own[i].max()))


def _grid(
    model: ReportedModel, j: int, seen: dict[int, Floats], counts: dict[int, dict[object, int]], classes: Sequence[str]
) -> list[Any]:
    """The values of a column that are asked about, in order. classes: those that are shown."""
    schema = model.fitted_.schema
    kind = schema.kinds[j]
    if kind == "text":
        return telling_words(model, j, classes if len(classes) > 1 else ())
    if kind in ("real", "count"):
        return [float(v) for v in _number_grid(model, j, seen.get(j))]
    levels = list(schema.levels[j].labels) if j in schema.levels else []
    if tuple(levels) in LABELS.values():  # months, weekdays, hours: in their order
        return levels
    if counts.get(j):
        levels = sorted((v for v in levels if counts[j].get(v)), key=lambda v: -counts[j][v])
    levels = levels[:MOST_LEVELS]
    if all(map(_reads_as_number, levels)):
        return sorted(levels, key=float)
    return [levels[i] for i in interval_order(levels)]


def _number_grid(model: ReportedModel, j: int, seen: Floats | None) -> Floats:
    """Numbers over the range of a column: of its values, else of its bins, else of its normal distributions."""
    if seen is not None and len(seen):
        x = np.unique(seen)
        if len(x) > GRID:
            x = np.quantile(seen, 0.005) + np.linspace(0, 1, GRID) * np.ptp(np.quantile(seen, [0.005, 0.995]))
        return np.unique(x)
    cut = model.fitted_.schema.cuts.get(j)
    if cut is not None and len(cut.points):
        cuts = np.asarray(cut.points, dtype=float)
        room = (cuts[-1] - cuts[0]) * 0.05 or 1.0
        return np.linspace(cuts[0] - room, cuts[-1] + room, GRID)
    normal = [f for f in model.describe(j).values() if "mean" in f and f.get("variance", 0) > 0]
    if not normal:
        return np.empty(0)
    deviations = np.sqrt([f["variance"] for f in normal])
    means = np.array([f["mean"] for f in normal])
    return np.linspace((means - 3 * deviations).min(), (means + 3 * deviations).max(), GRID)


def _reads_as_number(level: object) -> bool:
    try:
        return isinstance(level, str | int | float) and isfinite(float(level))
    except ValueError:
        return False


def _alone(model: ReportedModel, asked: dict[int, list[Any]]) -> Effects | None:
    """The same for values that are known alone, against a row without any; None if the model refuses such rows."""
    schema = model.fitted_.schema
    pairs = [(j, v) for j, values in asked.items() for v in values]
    rows: Any = [{}, *({schema.names[j]: v} for j, v in pairs)] if schema.names else _matrix(schema.d, pairs)
    try:
        found = _log_odds(np.exp(np.asarray(model.predict_log_proba(rows))))
    except TallybayesError:
        return None
    found = np.clip(found - found[0], -MAX_NATS, MAX_NATS)
    at, out = 1, Effects()
    for j, values in asked.items():
        out[j] = values, found[at : at + len(values)]
        at += len(values)
    return out


def _matrix(d: int, pairs: Sequence[tuple[int, object]]) -> Array:
    words = any(isinstance(v, str) for _, v in pairs)
    out = np.full((len(pairs) + 1, d), None if words else np.nan, dtype=object if words else float)
    for i, (j, v) in enumerate(pairs):
        out[i + 1, j] = v
    return out


def _log_odds(p: Floats) -> Floats:
    p = np.clip(p, MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    return np.asarray(np.log(p) - np.log1p(-p))


def _curve(name: str, values: list[Any], evidence: Floats, seen: Floats | None, is_day: bool) -> Child:
    is_whole = seen is not None and bool(np.all(seen == np.round(seen)))
    write = as_day if is_day else _whole if is_whole else partial(number, digits=3)
    return tag("figure", pictures.effect(np.array(values), evidence.T, seen, name, write))


def _bars(name: str, values: list[Any], evidence: Floats, classes: list[str], counts: dict[object, int]) -> Child:
    total = sum(counts.values())
    often = [counts.get(v, 0) / total if total else None for v in values]
    labels = [shorten(level(v), 40) for v in values]
    if len(classes) == 1:
        return tag("figure", pictures.evidence_bars(labels, evidence[:, -1], often, name))
    shades = [(label, *map(_heat, e.tolist())) for label, e in zip(labels, evidence, strict=True)]
    lines = [(*line, share(part)) for line, part in zip(shades, often, strict=True) if part is not None] or shades
    head = ("value", *classes, "rows")[: len(lines[0])]
    return table(head, lines, f"Evidence of {apart(name)}", numeric=range(1, len(head)))


def _whole(v: float) -> str:
    return number(round(v)) if abs(v) < 1e12 else number(v)


def _heat(v: float) -> Child:
    shade = 0 if abs(v) < 0.1 else 1 + min(3, int(abs(v)))
    text = f"{v:+.1f}".replace("-", "\u2212") if abs(v) >= 0.05 else "0.0"
    return tag("span", text, class_=f"heat {'h' if v > 0 else 'g'}{shade}")

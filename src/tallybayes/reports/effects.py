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
    classes = [str(v) for v in model.classes_.tolist()]
    by_weight = np.argsort(-model.fitted_.weight, kind="stable").tolist()
    drawn_classes = by_weight[:MOST_CLASSES] if len(classes) > MOST_CLASSES + 2 else list(range(len(classes)))
    drawn_classes = [len(classes) - 1] if len(classes) == 2 else drawn_classes
    which = list(order[:MOST_COLUMNS])
    names, days = shown_names(schema)
    asked = {j: _grid(model, j, seen, counts, [classes[k] for k in drawn_classes]) for j in which}
    texts = {j: asked[j] for j in which if schema.kinds[j] == "text"}
    found = _alone(model, asked)
    if rows is not None:
        words = {} if found is None else {j: found[j] for j in texts}
        found = _of_rows(model, rows, {j: values for j, values in asked.items() if j not in texts})
        found = None if found is None else found | words
    shown = [classes[k] for k in drawn_classes]
    cards = []
    for j in which:
        name = names[j]
        body: Child = tag("p", "No picture: the values of this column are texts.", class_="note")
        if len(asked[j]):
            body = tag("p", "No picture: the model does not predict from this column alone.", class_="note")
        if found is not None and len(found[j][0]):
            values, evidence = found[j]
            often = {} if j in texts else counts.get(j, {})
            if j in texts:
                by = _telling(evidence, drawn_classes)
                values, evidence = [values[i] for i in by], evidence[by]
            evidence, all_seen = evidence[:, drawn_classes], seen.get(j)
            levels = j not in texts and not _numeric(values)
            if levels and len(values) > MOST_LEVELS and all(map(_reads_as_number, values)):
                # levels in an order, as hours are
                counted, values = [often.get(v, 0) for v in values], [float(v) for v in values]
                all_seen = np.repeat(values, counted)
            body = (
                _curve(name, values, evidence, all_seen, name in days)
                if _numeric(values)
                else _bars(name, values, evidence, shown, often)
            )
        alone = "; the evidence of single words" if j in texts else ""
        about = tag("p", f"{shown_kind(schema.kinds[j])}; {shares[j]}{alone}", class_="note")
        broad = str(body).startswith("<div") and sum(map(len, shown)) > BROAD
        cards.append(tag("article", tag("h3", name), about, body, class_="card broad" if broad else "card"))
    of = f" These are the {len(which)} most informative columns of {schema.d}." if schema.d > len(which) else ""
    single = f" Above 0 it speaks for {apart(classes[-1])}, below 0 against it." if len(classes) == 2 else ""
    keys = [tag("li", tag("span", class_=f"key k{i}"), classes[k]) for i, k in enumerate(drawn_classes)]
    some = f" Of the {len(drawn_classes)} most frequent classes." if 2 < len(drawn_classes) < len(classes) else ""
    how = "its mean over the rows with this value" if rows is not None else "when every other column is missing"
    lead = (
        "The evidence that each value gives, as it adds to the log-odds of a class against the rest (nats; 0.7 doubles "
        f"the odds): {how}.{single}{' Grey: how often values occur.' if rows is not None else ''}{some}{of}"
    )
    return tag(
        "section",
        tag("h2", "Effect of each column", id="learned"),
        tag("p", lead, class_="lead"),
        tag("ul", keys, class_="keys") if len(classes) > 2 else None,
        tag("div", cards, class_="grid"),
    )


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
        if j in seen and len(seen[j]):
            x = np.unique(seen[j])
            if len(x) > GRID:
                x = np.quantile(seen[j], 0.005) + np.linspace(0, 1, GRID) * np.ptp(np.quantile(seen[j], [0.005, 0.995]))
            return [float(v) for v in np.unique(x)]
        if j in schema.cuts and len(schema.cuts[j].points):
            cuts = np.asarray(schema.cuts[j].points, dtype=float)
            room = (cuts[-1] - cuts[0]) * 0.05 or 1.0
            return [float(v) for v in np.linspace(cuts[0] - room, cuts[-1] + room, GRID)]
        said = [f for f in model.describe(j).values() if "mean" in f and f.get("variance", 0) > 0]
        if not said:
            return []
        deviations = np.sqrt([f["variance"] for f in said])
        means = np.array([f["mean"] for f in said])
        return [float(v) for v in np.linspace((means - 3 * deviations).min(), (means + 3 * deviations).max(), GRID)]
    levels = list(schema.levels[j].labels) if j in schema.levels else []
    if tuple(levels) in LABELS.values():  # months, weekdays, hours: in their order
        return levels
    if counts.get(j):
        levels = sorted((v for v in levels if counts[j].get(v)), key=lambda v: -counts[j][v])
    levels = levels[:MOST_LEVELS]
    if all(map(_reads_as_number, levels)):
        return sorted(levels, key=float)
    return [levels[i] for i in interval_order(levels)]


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

"""Each column by itself: how its values are distributed, and what evidence each value gives.

With rows, the evidence of a value is the mean of what `explain` gives it over the rows that have it; without, the
change of the log-odds of a class against the rest when this value is known and every other is missing. Of a text the
values are its most telling words, each a text of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from tallybayes.errors import TallybayesError
from tallybayes.evaluation.leaderboard import rows_of
from tallybayes.reports import pictures
from tallybayes.reports.html import Child, Markup, apart, number, shorten, table, tag
from tallybayes.reports.learned import ReportedModel
from tallybayes.reports.predicted_rows import Judged, as_day, day_columns
from tallybayes.utils.array_types import Array, Floats

MOST_COLUMNS = 24
MOST_LEVELS = 10
MOST_WORDS = 16
MOST_CLASSES = 8
GRID = 48
CURVE_BINS = 20  # of a number with more distinct values
MOST_ROWS, MOST_NUMBERS = 4000, 4_000_000  # rows whose evidence is averaged; numbers in it
Effects = dict[int, tuple[list[Any], Floats]]
MOST = 8.0  # nats: evidence beyond is drawn here
SMALLEST = 1e-6  # P below which evidence does not differ


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
    which, days = list(order[:MOST_COLUMNS]), day_columns(schema)
    asked = {j: _grid(model, j, seen, counts) for j in which}
    texts = {j: asked[j] for j in which if schema.kinds[j] == "text"}
    found = _alone(model, asked)
    if rows is not None:
        words = {} if found is None else {j: found[j] for j in texts}
        found = _of_rows(model, rows, {j: values for j, values in asked.items() if j not in texts})
        found = None if found is None else found | words
    cards = []
    for j in which:
        name = schema.name(j)
        body: Child = tag("p", "No picture: the values of this column are texts.", class_="note")
        if len(asked[j]):
            body = tag("p", "No picture: the model does not predict from this column alone.", class_="note")
        if found is not None and len(found[j][0]):
            values, evidence = found[j]
            drawn = _curve if _numeric(values) else _bars
            often = {} if j in texts else counts.get(j, {})
            if j in texts:  # words that speak for one class, then those that speak for the other
                by = np.argsort(-evidence[:, -1], kind="stable")
                values, evidence = [values[i] for i in by], evidence[by]
            body = drawn(name, values, evidence, classes, seen.get(j), often, name in days)
        alone = "; a text of one word" if j in texts else ""
        about = tag("p", f"{schema.kinds[j]}; {shares[j]}{alone}", class_="note")
        cards.append(tag("article", tag("h3", name), about, body, class_="card"))
    of = f" These are the {len(which)} most informative columns of {schema.d}." if schema.d > len(which) else ""
    single = f" Above 0 it speaks for {apart(classes[-1])}, below 0 against it." if len(classes) == 2 else ""
    keys = [tag("li", tag("span", class_=f"key k{k}"), label) for k, label in enumerate(classes[:MOST_CLASSES])]
    how = "its mean over the rows with this value" if rows is not None else "when every other column is missing"
    lead = (
        "The evidence that each value gives, as it adds to the log-odds of a class against the rest (nats; 0.7 doubles "
        f"the odds): {how}.{single}{' Grey: how often values occur.' if rows is not None else ''}{of}"
    )
    return tag(
        "section",
        tag("h2", "What it learned of each column", id="learned"),
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
    evidence = np.clip(np.nan_to_num(evidence, nan=0.0, posinf=MOST, neginf=-MOST), -MOST, MOST)
    out: Effects = {}
    for j, values in asked.items():
        own = rows.table.values(j)
        here = [own[i] for i in keep.tolist()]
        if values and _numeric(values):
            x = np.array([np.nan if v is None else float(v) for v in here])
            known = ~np.isnan(x)
            distinct = np.unique(x[known])
            cuts = (
                (distinct[1:] + distinct[:-1]) / 2
                if len(distinct) <= CURVE_BINS
                else np.unique(np.quantile(x[known], np.linspace(0, 1, CURVE_BINS + 1)[1:-1]))
            )
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


def _numeric(values: Sequence[object]) -> bool:
    return all(isinstance(v, float) for v in values)


def _grid(model: ReportedModel, j: int, seen: dict[int, Floats], counts: dict[int, dict[object, int]]) -> list[Any]:
    """The values of a column that are asked about, in order."""
    schema = model.fitted_.schema
    kind = schema.kinds[j]
    if kind == "text":  # the first words of each class, in turns
        told = list(zip_longest(*(list(words) for words in model.describe(j).values())))
        return list(dict.fromkeys(word for turn in told for word in turn if word is not None))[:MOST_WORDS]
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
    if counts.get(j):
        levels = sorted((v for v in levels if counts[j].get(v)), key=lambda v: -counts[j][v])
    levels = levels[:MOST_LEVELS]
    return sorted(levels) if all(isinstance(v, int | float) for v in levels) else levels


def _alone(model: ReportedModel, asked: dict[int, list[Any]]) -> Effects | None:
    """The same for values that are known alone, against a row without any; None if the model refuses such rows."""
    schema = model.fitted_.schema
    pairs = [(j, v) for j, values in asked.items() for v in values]
    rows: Any = [{}, *({schema.names[j]: v} for j, v in pairs)] if schema.names else _matrix(schema.d, pairs)
    try:
        found = _log_odds(np.exp(np.asarray(model.predict_log_proba(rows))))
    except TallybayesError:
        return None
    found = np.clip(found - found[0], -MOST, MOST)
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
    p = np.clip(p, SMALLEST, 1 - SMALLEST)
    return np.asarray(np.log(p) - np.log1p(-p))


def _curve(
    name: str, values: list[Any], evidence: Floats, classes: list[str], seen: Floats | None, _: object, is_day: bool
) -> Child:
    which = [len(classes) - 1] if len(classes) == 2 else list(range(min(len(classes), MOST_CLASSES)))
    return tag(
        "figure", pictures.effect(np.array(values), evidence[:, which].T, seen, name, as_day if is_day else number)
    )


def _bars(
    name: str, values: list[Any], evidence: Floats, classes: list[str], _: object, counts: dict[object, int], __: bool
) -> Child:
    total = sum(counts.values())
    often = [counts.get(v, 0) / total if total else None for v in values]
    labels = [shorten(str(v), 40) for v in values]
    if len(classes) == 2:
        return tag("figure", pictures.evidence_bars(labels, evidence[:, -1], often, name))
    shown = range(min(len(classes), MOST_CLASSES))
    lines = [
        (label, *(_heat(float(e[k])) for k in shown), "" if share is None else f"{share:.0%}")
        for label, e, share in zip(labels, evidence, often, strict=True)
    ]
    return table(
        ("value", *(classes[k] for k in shown), "rows"),
        lines,
        f"Evidence of {apart(name)}",
        numeric=range(1, len(shown) + 2),
    )


def _heat(v: float) -> Child:
    shade = 0 if abs(v) < 0.1 else 1 + min(3, int(abs(v)))
    return tag("span", f"{v:+.1f}", class_=f"heat {'h' if v > 0 else 'g'}{shade}")

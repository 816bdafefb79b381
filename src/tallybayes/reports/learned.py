"""What a model learned, without any rows: its classes, what each column tells, what each class says of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from tallybayes.explain import FeatureRanking
from tallybayes.model.fitted import Fitted
from tallybayes.model.predictor import Predictor
from tallybayes.reports import pictures
from tallybayes.reports.html import Child, Markup, apart, number, table, tag
from tallybayes.utils.array_types import Array

MOST_COLUMNS = 30  # that are described
MOST_LEVELS = 10
MOST_CLASSES = 8  # beside each other
RANKED = 20


class Told(Protocol):
    """What a report asks of a classifier of this library."""

    @property
    def predictor_(self) -> Predictor:
        """What answers."""

    @property
    def fitted_(self) -> Fitted:
        """What was learned."""

    @property
    def classes_(self) -> Array:
        """The labels of the classes."""

    def explain(self) -> FeatureRanking:
        """Rank the columns by what they tell."""

    def describe(self, column: int) -> dict[Any, dict[str, float]]:
        """Tell what each class says of a column."""

    def predict_log_proba(self, X: object) -> Any:
        """Give log P(class | x) of each row."""


def overview(fitted: Fitted, prior: Sequence[float]) -> Markup:
    total = float(fitted.weight.sum())
    rows = [
        (str(label), f"{w:,.10g}", f"{w / total:.1%}" if total else "", f"{p:.1%}")
        for label, w, p in zip(fitted.classes.tolist(), fitted.weight.tolist(), prior, strict=True)
    ]
    shown = rows[:40] + ([(f"{len(rows) - 40} more", "", "", "")] if len(rows) > 40 else [])
    return table(("class", "rows learned", "share", "prior"), shown, "The classes", numeric=(1, 2, 3))


def ranking_section(ranking: FeatureRanking) -> Markup:
    """Bars of the information of each column with the class."""
    first = ranking.order[:RANKED].tolist()
    bits = np.log(2)
    picture = pictures.bars(
        [ranking.names[j] for j in first],
        [float(max(ranking.information[j], 0.0) / bits) for j in first],
        [float(ranking.error[j] / bits) for j in first],
        " bit",
        "What each column tells of the class, in bits",
    )
    more = f" The other {len(ranking.names) - RANKED} tell less." if len(ranking.names) > RANKED else ""
    lead = (
        f"How much each column tells of the class, by itself, under the model; all there is to know of it is "
        f"{abs(ranking.entropy) / bits:.3g} bit. Two columns that say the same are both high.{more}"
    )
    return tag(
        "section",
        tag("h2", "What each column tells", id="columns"),
        tag("p", lead, class_="lead"),
        tag("figure", picture),
    )


def learned_section(model: Told, order: Sequence[int]) -> Markup:
    """What each class says of the most telling columns."""
    fitted = model.fitted_
    cards = [_card(model, j) for j in order[:MOST_COLUMNS]]
    rest = fitted.schema.d - len(cards)
    more = f" These are the {len(cards)} most telling columns of {fitted.schema.d}." if rest > 0 else ""
    keys = [
        tag("li", tag("span", class_=f"key k{min(k, 7)}"), str(label))
        for k, label in enumerate(fitted.classes.tolist()[:MOST_CLASSES])
    ]
    return tag(
        "section",
        tag("h2", "What it learned", id="learned"),
        tag("p", f"What each class says of each column by itself.{more}", class_="lead"),
        tag("nav", tag("ul", keys), aria_label="Colours of the classes"),
        tag("div", cards, class_="grid"),
    )


def _card(model: Told, j: int) -> Markup:
    fitted = model.fitted_
    schema = fitted.schema
    said = model.describe(j)
    return tag(
        "article",
        tag("h3", schema.name(j)),
        tag("p", schema.kinds[j], class_="note"),
        _said(schema.name(j), said),
        class_="card",
    )


def _said(name: str, said: dict[Any, dict[str, float]]) -> Child:
    labels = list(said)[:MOST_CLASSES]
    facts = [said[label] for label in labels]
    if not any(facts):
        return tag("p", "No row had a value.")
    if all(set(f) >= {"mean", "variance"} and f["variance"] > 0 for f in facts):
        return _normals(name, labels, facts)
    names = list(dict.fromkeys(key for f in facts for key in f))
    names.sort(key=lambda key: -max(f.get(key, 0.0) for f in facts))
    rows = [(key, *(_number(f.get(key)) for f in facts)) for key in names[:MOST_LEVELS]]
    if len(names) > MOST_LEVELS:
        rows.append((f"{len(names) - MOST_LEVELS} more", *("" for _ in facts)))
    return table(("", *map(str, labels)), rows, f"{apart(name)} by class", numeric=range(1, len(labels) + 1))


def _normals(name: str, labels: list[object], facts: list[dict[str, float]]) -> Child:
    """Gaussians: their curves, and a table of them."""
    means = np.array([f["mean"] for f in facts])
    deviations = np.sqrt([f["variance"] for f in facts])
    lines = [
        (str(v), f"{number(m)} ± {number(s, 3)}")
        for v, m, s in zip(labels, means.tolist(), deviations.tolist(), strict=True)
    ]
    picture = tag("figure", pictures.densities(means, deviations, name))
    return [picture, table(("class", "mean ± deviation"), lines, f"{apart(name)} by class", numeric=(1,))]


def _number(value: float | None) -> str:
    return "" if value is None else number(value, 3)

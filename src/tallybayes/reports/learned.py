"""What a model learned, without any rows: its classes, and the information of each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from tallybayes.explain import FeatureRanking
from tallybayes.model.fitted import Fitted
from tallybayes.model.predictor import Predictor
from tallybayes.reports import pictures
from tallybayes.reports.html import Markup, percent, table, tag
from tallybayes.utils.array_types import Array

RANKED = 20


class ReportedModel(Protocol):
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
        """Describe a column by class."""

    def predict_log_proba(self, X: object) -> Any:
        """Return log P(class | x) of each row."""


def overview(fitted: Fitted, prior: Sequence[float]) -> Markup:
    total = float(fitted.weight.sum())
    rows = [
        (str(label), f"{w:,.10g}", f"{w / total:.1%}" if total else "", f"{p:.1%}")
        for label, w, p in zip(fitted.classes.tolist(), fitted.weight.tolist(), prior, strict=True)
    ]
    shown = rows[:40] + ([(f"{len(rows) - 40} more", "", "", "")] if len(rows) > 40 else [])
    return table(("class", "rows learned", "share", "prior"), shown, "Classes", numeric=(1, 2, 3))


def shares(ranking: FeatureRanking, kinds: Sequence[str]) -> list[str]:
    """The information of each column about the class, as a share of the entropy of the class."""
    whole, found = abs(ranking.entropy) or 1.0, ranking.information.tolist()
    of = ["one word: " if kind == "text" else "" for kind in kinds]
    return [f"{each}{percent(v / whole)} of the uncertainty" for v, each in zip(found, of, strict=True)]


def ranking_section(ranking: FeatureRanking, names: Sequence[str], kinds: Sequence[str]) -> Markup:
    """Bars of the information of each column with the class. names, kinds: of the columns."""
    first, whole = ranking.order[:RANKED].tolist(), abs(ranking.entropy) or 1.0
    picture = pictures.bars(
        [names[j] for j in first],
        [float(max(ranking.information[j], 0.0) / whole) for j in first],
        [float(ranking.error[j] / whole) for j in first],
        "Information of each column about the class, in per cent of the entropy of the class",
    )
    more = f" The other {len(ranking.names) - RANKED} have less." if len(ranking.names) > RANKED else ""
    text = " Of a text it is that of one of its words." if "text" in kinds else ""
    lead = (
        "Mutual information with the class under the model, as a share of the uncertainty about the class (its "
        f"entropy, {whole:.3g} nats). Each column by itself: two redundant ones are both high.{text}{more}"
    )
    return tag(
        "section",
        tag("h2", "Information of each column", id="columns"),
        tag("p", lead, class_="lead"),
        tag("figure", picture),
    )

"""How good a model is on rows whose class is known: scores, calibration, confusions, costs, the rows."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from tallybayes.distributions.context import Json
from tallybayes.evaluation.assumptions import AssumptionReport, covariances, normality, pairs
from tallybayes.evaluation.scores import Scores
from tallybayes.model.predictor import Predictor
from tallybayes.model.term import Term
from tallybayes.reports import pictures
from tallybayes.reports.baseline import Baseline
from tallybayes.reports.html import (
    WRAPPED,
    Child,
    Markup,
    apart,
    breakable,
    level,
    number,
    percent,
    share,
    shorten,
    table,
    tag,
)
from tallybayes.reports.predicted_rows import Judged, as_day
from tallybayes.reports.whatif import row_of
from tallybayes.utils.array_types import Array, Floats

MOST_CLASSES = 15  # of a confusion matrix
MOST_LISTED = 40  # classes whose recall and precision are listed instead
BINS = 10
GRID = 101  # thresholds from 0 to 1
MOST_TEXT = 5000  # characters of a row that What if has in the page
SHOWN_ROWS = 120
RATIOS = (0.02, 0.1, 0.5, 1.0, 2.0, 10.0, 50.0)
WHEN = (
    "Are predictions with probability 0.9 right nine times in ten? On the dashed line they are; below it the model is "
    "overconfident."
)
JOINT = frozenset(
    ("network", "averaged network", "gaussian block")
)  # distributions of columns that depend on each other
NORMAL = frozenset(("gaussian", "gaussian axes", "gaussian block"))
COLUMNS = ("accuracy", "log-loss", "Brier score", "calibration error")


def quality_section(rows: Judged, prior: Floats, baseline: Baseline) -> Markup:
    """Scores with ±, beside those of the prior and of logistic regression."""
    lines = [("this model" + (", leave-one-out" if rows.left_out else ""), *_scores(rows.y, rows.log_proba))]
    if rows.as_learned is not None:
        lines.append(("this model, on the rows that it learned (too optimistic)", *_scores(rows.y, rows.as_learned)))
    lines.append(("the prior alone", *_scores(rows.y, prior)))
    if baseline.log_proba is not None:
        lines.append(("logistic regression", *_scores(rows.y[: len(baseline.log_proba)], baseline.log_proba)))
    return tag(
        "section",
        tag("h2", "Performance", id="quality"),
        tag(
            "p",
            "Each with its standard error. Log-loss (nats), Brier score and calibration error: less is better.",
            class_="lead",
        ),
        table(("model", *COLUMNS), lines, "Scores beside baselines", numeric=(1, 2, 3, 4)),
        tag("p", baseline.note, class_="note") if baseline.note else None,
    )


def _scores(y: Array, log_proba: Floats) -> list[str]:
    s = Scores.none().add(y, np.maximum(log_proba, -745.0))
    return [f"{v.value:.4f} ± {v.se:.4f}" for v in (s.accuracy, s.log_loss, s.brier, s.calibration_error)]


# --- calibration ------------------------------------------------------------------------------------------------------


def calibration_section(rows: Judged) -> Markup:
    top, right = np.exp(rows.log_proba.max(axis=1)), rows.log_proba.argmax(axis=1) == rows.y
    which = np.minimum((top * BINS).astype(int), BINS - 1)
    n = np.bincount(which, minlength=BINS).astype(float)
    some = np.flatnonzero(n > 0)
    said = np.bincount(which, weights=top, minlength=BINS)[some] / n[some]
    true = np.bincount(which, weights=right, minlength=BINS)[some] / n[some]
    error = np.sqrt(np.maximum(true * (1 - true), 0.25 / n[some]) / n[some])
    lines = [
        (f"{b / BINS:.1f} to {(b + 1) / BINS:.1f}", f"{int(n[b]):,}", f"{s:.3f}", f"{t:.3f} ± {e:.3f}")
        for b, s, t, e in zip(some.tolist(), said, true, error, strict=True)
    ]
    return tag(
        "section",
        tag("h2", "Calibration", id="calibration"),
        tag("p", WHEN, class_="lead"),
        tag(
            "div",
            tag("figure", pictures.calibration(said, true, error, n[some])),
            table(("probability", "rows", "mean", "share right"), lines, "The same in numbers", numeric=(1, 2, 3)),
            class_="beside whole",
        ),
    )


# --- mistakes ---------------------------------------------------------------------------------------------------------


def confusion_section(rows: Judged, classes: Sequence[object]) -> Markup:
    K, names = len(classes), [str(v) for v in classes]
    pairs = np.bincount(rows.y * K + rows.log_proba.argmax(axis=1), minlength=K * K).reshape(K, K)
    head = tag("h2", "Confusion matrix", id="mistakes")
    if K > MOST_CLASSES:
        wrong = pairs * (1 - np.eye(K, dtype=int))
        first = [divmod(int(at), K) for at in np.argsort(-wrong, axis=None, kind="stable")[:20]]
        lines = [(names[i], names[k], f"{wrong[i, k]:,}") for i, k in first if wrong[i, k]]
        confused = table(("true class", "predicted", "rows"), lines, "The most frequent confusions", numeric=(2,))
        return tag("section", head, tag("div", confused, _by_class(pairs, names), class_="beside"))
    totals, predicted = np.maximum(pairs.sum(axis=1), 1), pairs.sum(axis=0)
    lines_: list[tuple[Child, ...]] = [
        (
            names[i],
            *(_cell(int(pairs[i, k]), pairs[i, k] / totals[i], i == k) for k in range(K)),
            f"{pairs[i, i] / totals[i]:.1%}",
        )
        for i in range(K)
    ]
    precision = [f"{pairs[k, k] / predicted[k]:.1%}" if predicted[k] else "–" for k in range(K)]
    lines_.append(("precision", *precision, ""))
    shown = table(
        ("true class \\ predicted", *names, "recall"),
        lines_,
        "Rows by true and predicted class",
        numeric=range(1, K + 2),
    )
    return tag("section", head, shown)


def _by_class(pairs: Array, names: Sequence[str]) -> Markup:
    """Recall and precision of each class that occurs or is predicted, the worst recall first."""
    right, true, predicted = pairs.diagonal(), pairs.sum(axis=1), pairs.sum(axis=0)
    recall = right / np.maximum(true, 1)
    which = [k for k in np.argsort(recall, kind="stable").tolist() if true[k] or predicted[k]]
    lines = [
        (
            names[k],
            f"{true[k]:,}",
            f"{recall[k]:.1%}" if true[k] else "–",
            f"{right[k] / predicted[k]:.1%}" if predicted[k] else "–",
        )
        for k in which[:MOST_LISTED]
    ]
    caption = "Recall and precision of each class"
    caption += f": the {MOST_LISTED} with the lowest recall" if len(which) > MOST_LISTED else ""
    return table(("class", "rows", "recall", "precision"), lines, caption, numeric=(1, 2, 3))


def _cell(n: int, share: float, right: bool) -> Child:
    shade = 0 if n == 0 else 1 + min(3, int(share * 4))
    return tag("span", f"{n:,}", class_=f"heat h{shade}{' right' if right else ''}")


# --- costs ------------------------------------------------------------------------------------------------------------


def thresholds(rows: Judged, K: int) -> Json:
    """Of each class and threshold t: rows of the class with P below t (missed), and others with P of t or more."""
    out = []
    for k in range(K):
        p, mine = np.exp(rows.log_proba[:, k]), rows.y == k
        at = np.searchsorted(np.linspace(0, 1, GRID), p, side="right") - 1  # the last threshold that is at most p
        missed = np.concatenate([[0], np.cumsum(np.bincount(at[mine], minlength=GRID))])[:GRID]
        alarms = (~mine).sum() - np.concatenate([[0], np.cumsum(np.bincount(at[~mine], minlength=GRID))])[:GRID]
        out.append({"missed": missed.tolist(), "alarms": alarms.tolist()})
    return {"n": rows.n, "each": out}


def best_threshold(each: Json, ratio: float) -> tuple[float, float]:
    """The threshold with the least cost on the rows, and that cost; missing one costs `ratio` false alarms."""
    cost = ratio * np.array(each["missed"]) + np.array(each["alarms"])
    least = np.flatnonzero(cost <= cost.min() + 1e-9)
    middle = least[np.argmin(np.abs(least / (GRID - 1) - 1 / (1 + ratio)))]  # of equal ones, the one that theory gives
    return float(middle) / (GRID - 1), float(cost.min())


def cost_section(found: Json, classes: Sequence[object]) -> Markup:
    first = len(classes) - 1
    choice = tag(
        "select",
        [tag("option", str(v), value=str(k), selected=k == first) for k, v in enumerate(classes)],
        id="cost-class",
    )
    lines = []
    for ratio in RATIOS:
        t, cost = best_threshold(found["each"][first], ratio)
        usual = ratio * found["each"][first]["missed"][50] + found["each"][first]["alarms"][50]
        lines.append(
            (
                f"{ratio:g}",
                f"{1 / (1 + ratio):.3f}",
                f"{t:.2f}",
                f"{100 * cost / found['n']:.2f}",
                f"{100 * usual / found['n']:.2f}",
            )
        )
    slider = tag(
        "input", type="range", min="-2", max="2", step="0.01", value="0", id="cost-ratio", aria_describedby="cost-said"
    )
    return tag(
        "section",
        tag("h2", "Costs and threshold", id="costs"),
        tag(
            "p",
            "If a false negative costs more (or less) than a false positive, predict the class where its probability "
            "is at least a threshold: 1 / (1 + ratio) if the probabilities hold; on these rows, where they cost least.",
            class_="lead",
        ),
        tag("p", tag("label", "Class ", choice)),
        tag("p", tag("label", "A false negative costs as many false positives as … ", slider)),
        tag("p", "", id="cost-said", role="status", aria_live="polite"),
        table(
            ("cost ratio", "threshold by the probabilities", "best on these rows", "its cost", "cost at 0.5"),
            lines,
            f"Predicting {apart(classes[first])}: thresholds, and their costs per 100 rows in false positives",
            numeric=(0, 1, 2, 3, 4),
        ),
    )


# --- assumptions, and the rows -----------------------------------------------------------------------


def assumed(terms: Sequence[Term]) -> set[str]:
    """What the distributions of these terms assume, of what can be tested."""
    names = {term.distribution.name for term in terms}
    if "ensemble" in names:
        return set()
    out = {pairs.NAME} if names - JOINT else set()
    if names & NORMAL:
        out.add(normality.NAME)
    if any(getattr(term.distribution, "shared", False) for term in terms):
        out.add(covariances.NAME)
    return out


def assumptions_section(found: AssumptionReport, made: Collection[str]) -> Markup | None:
    """Of the tests those of assumptions that the model makes; None if none of these could be tested."""
    cards = []
    for f in found.findings:
        if f.assumption not in made or not f.lines:
            continue
        tests = [line for line in f.lines if line["p_holm"] is None or line["p_holm"] <= found.significance][:4]
        items = [tag("li", f"{line['what']}: {line['size']} ({line['says']})") for line in tests]
        cards.append(
            tag(
                "article",
                tag("h3", f"{f.assumption}: {f.verdict}"),
                tag("p", f.sentence),
                tag("ul", items),
                class_="card",
            )
        )
    if not cards:
        return None
    advice = [tag("li", tag("code", s["model"]), f": {s['why']}") for s in found.suggestions]
    return tag(
        "section",
        tag("h2", "Assumptions of this model", id="assumptions"),
        tag("div", cards, class_="grid"),
        tag("p", "This points to:"),
        tag("ul", advice),
    )


def shown_rows(rows: Judged, predictor: Predictor) -> list[dict[str, Any]]:
    """Rows for the table of rows: those whose true class was least expected, and others at random."""
    schema = predictor.fitted.schema
    given = rows.log_proba[np.arange(rows.n), rows.y]
    worst = np.argsort(given, kind="stable")[: SHOWN_ROWS // 2].tolist()
    others = np.random.default_rng(0).permutation(np.setdiff1d(np.arange(rows.n), worst)).tolist()
    which = sorted([*worst, *others[: SHOWN_ROWS - len(worst)]], key=lambda i: given[i])
    columns = {schema.name(j): rows.table.values(j) for j in range(schema.d)}
    found = []
    for i in which:
        values = row_of({name: v[i] for name, v in columns.items()})
        short = sum(len(v) for v in values.values() if isinstance(v, str)) <= MOST_TEXT
        found.append({"row": i, "values": values, "p": math.exp(given[i]), "y": int(rows.y[i]), "short": short})
    return found


def rows_section(
    found: Sequence[dict[str, Any]],
    rows: Judged,
    classes: Sequence[object],
    names: Sequence[str],
    order: Sequence[int],
    days: set[str],
    playable: bool,
) -> Markup:
    """names: of the columns; order: the most informative first; days: the names of those that are dates; playable:
    What if can take a row."""
    which = list(order[:6])
    lines: list[tuple[Child, ...]] = []
    n = 0  # of the rows that What if has
    for each in found:
        best = int(rows.log_proba[each["row"]].argmax())
        try_it = tag(
            "button", "try it", type="button", data_example=str(n), aria_label=f"try it: row {each['row']} in What if"
        )
        n += each["short"]
        values = list(each["values"].values())
        cells = [_shown(values[j], names[j] in days) for j in which]
        sure = math.exp(rows.log_proba[each["row"], best])
        text = f"{shorten(apart(classes[best]), 40)}\u00a0({share(sure)})"
        kind = ["wrong"] if best != each["y"] else []
        kind += ["short"] if len(text) <= WRAPPED else []
        wrong = tag("span", text, class_=" ".join(kind) or None)
        lines.append(
            (
                tag("span", try_it if playable and each["short"] else None, f" {each['row']}", class_="row-name"),
                str(classes[each["y"]]),
                percent(each["p"]),
                wrong,
                *cells,
            )
        )
    what = (
        f"All {rows.n:,} rows"
        if len(found) == rows.n
        else f"{len(found):,} of {rows.n:,} rows: the worst, and others at random"
    )
    note = f"{what}; the true class with the lowest probability first, with the most informative columns."
    search = tag("input", type="search", id="search", placeholder="a value, a class, wrong …", autocomplete="off")
    return tag(
        "section",
        tag("h2", "Rows", id="rows"),
        tag("p", note, class_="lead"),
        tag(
            "p",
            tag("label", "Search ", search),
            " ",
            tag("span", "", id="searched", role="status"),
            id="search-line",
            hidden=True,
        ),
        tag(
            "div",
            table(
                ("row", "true class", "its probability", "prediction", *(breakable(names[j]) for j in which)),
                lines,
                "Class, prediction and values",
                numeric=(2,),
            ),
            id="row-table",
        ),
    )


def _shown(value: object, is_day: bool) -> str:
    if isinstance(value, int):
        return str(value).replace("-", "\u2212")
    if isinstance(value, float):
        return as_day(value) if is_day else number(value, 4)
    return "?" if value is None else level(value)

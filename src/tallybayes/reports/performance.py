"""How good a model is on rows whose class is known: beside baselines, calibration, mistakes, costs, the worst rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tallybayes.distributions.exported import Json
from tallybayes.errors import ForgetError, OptionError
from tallybayes.evaluation.assumptions import AssumptionReport
from tallybayes.evaluation.baselines import Logistic
from tallybayes.evaluation.leaderboard import rows_of
from tallybayes.evaluation.scores import Scores
from tallybayes.model.predictor import Predictor
from tallybayes.reports import pictures
from tallybayes.reports.html import Child, Markup, apart, number, table, tag
from tallybayes.reports.learned import Told
from tallybayes.reports.predicted_rows import Judged, as_day
from tallybayes.reports.whatif import row_of
from tallybayes.utils.array_types import Array, Floats

FOLDS = 5
BASELINE_ROWS = 5000  # that a baseline learns from
MOST_CLASSES = 15  # of a table of mistakes
BINS = 10
GRID = 101  # thresholds from 0 to 1
WORST = 8
RATIOS = (0.02, 0.1, 0.5, 1.0, 2.0, 10.0, 50.0)
WHEN = "When it says 0.9, is it right nine times in ten? On the dashed line it would be; below it, it is too sure."
COLUMNS = ("accuracy", "log-loss", "Brier score", "calibration error")


def quality_section(rows: Judged, model: Told) -> Markup:
    """Scores with ±, beside those of the shares of the classes and of logistic regression."""
    lines = [("this model, on these rows", *_scores(rows.y, rows.log_proba))]
    alone = _leave_one_out(model, rows)
    if alone is not None:
        lines.append(("this model, each row without itself", *_scores(rows.y, alone)))
    shares = np.broadcast_to(_normal(model.predictor_.start), rows.log_proba.shape)
    lines.append(("the prior alone", *_scores(rows.y, shares)))
    logistic, note = _logistic(rows, model)
    if logistic is not None:
        lines.append((f"logistic regression, {FOLDS} parts crosswise", *_scores(rows.y[: len(logistic)], logistic)))
    warning = None
    if alone is not None:
        warning = tag(
            "p",
            "These rows may have been learned: then the first line flatters, and the second is the fair one.",
            class_="warn",
        )
    head = ("", *COLUMNS)
    return tag(
        "section",
        tag("h2", "How good it is", id="quality"),
        tag(
            "p",
            "Each with its standard error. Log-loss, Brier score and calibration error: less is better.",
            class_="lead",
        ),
        warning,
        table(head, lines, "Quality beside baselines", numeric=(1, 2, 3, 4)),
        tag("p", note, class_="note") if note else None,
    )


def _scores(y: Array, log_proba: Floats) -> list[str]:
    s = Scores.none().add(y, np.maximum(log_proba, -745.0))
    return [f"{v.value:.4f} ± {v.se:.4f}" for v in (s.accuracy, s.log_loss, s.brier, s.calibration_error)]


def _normal(log: Floats) -> Floats:
    return np.asarray(log - np.logaddexp.reduce(log))


def _leave_one_out(model: Any, rows: Judged) -> Floats | None:
    """The answers for the rows, each without itself, if they are as many of each class as were learned."""
    same = np.bincount(rows.y, minlength=len(model.classes_)) == model.fitted_.weight
    if rows.n < rows.of or not same.all() or not hasattr(model, "leave_one_out"):
        return None
    try:
        found: Floats = np.asarray(model.leave_one_out(rows.X, rows.labels))
    except (ForgetError, OptionError):
        return None
    return None if np.isnan(found).any() else found


def _logistic(rows: Judged, model: Told) -> tuple[Floats | None, str]:
    """log P of logistic regression for the first rows, each part by one that learned the others; or why not."""
    n = min(rows.n, BASELINE_ROWS)
    counts = np.bincount(rows.y[:n], minlength=len(model.classes_))
    if n < 2 * FOLDS or (counts[counts > 0] < FOLDS).any() or (counts > 0).sum() < 2:
        return None, "Logistic regression is left out: it would need at least five rows of each of two classes."
    part = np.random.default_rng(0).permutation(np.arange(n) % FOLDS)
    out = np.full((n, len(model.classes_)), -745.0)
    for f in range(FOLDS):
        learn, ask = np.flatnonzero(part != f), np.flatnonzero(part == f)
        if len(np.unique(rows.y[learn])) < 2:
            return None, "Logistic regression is left out: a part of the rows has one class only."
        found = Logistic(model.predictor_.fitted.schema).fit(rows_of(rows.X, learn), rows.y[learn])
        out[np.ix_(ask, found.classes_)] = found.predict_log_proba(rows_of(rows.X, ask))
    return out, f"Logistic regression on the first {n:,} rows." if n < rows.n else ""


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
        tag("figure", pictures.calibration(said, true, error, n[some])),
        table(("said", "rows", "mean", "right"), lines, "The same in numbers", numeric=(1, 2, 3)),
    )  # fmt: skip


# --- mistakes ---------------------------------------------------------------------------------------------------------


def confusion_section(rows: Judged, classes: Sequence[object]) -> Markup:
    K, names = len(classes), [str(v) for v in classes]
    pairs = np.bincount(rows.y * K + rows.log_proba.argmax(axis=1), minlength=K * K).reshape(K, K)
    head = tag("h2", "Who is taken for whom", id="mistakes")
    if K > MOST_CLASSES:
        wrong = pairs * (1 - np.eye(K, dtype=int))
        first = [divmod(int(at), K) for at in np.argsort(-wrong, axis=None, kind="stable")[:20]]
        lines = [(names[i], names[k], f"{wrong[i, k]:,}") for i, k in first if wrong[i, k]]
        return tag(
            "section", head, table(("true class", "taken for", "rows"), lines, "The commonest mistakes", numeric=(2,))
        )
    totals = np.maximum(pairs.sum(axis=1), 1)
    lines_ = [
        (
            names[i],
            *(_cell(int(pairs[i, k]), pairs[i, k] / totals[i], i == k) for k in range(K)),
            f"{pairs[i, i] / totals[i]:.1%}",
        )
        for i in range(K)
    ]
    shown = table(
        ("true class", *names, "found"), lines_, "True class, and what it was taken for", numeric=range(1, K + 2)
    )
    return tag("section", head, shown)


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
    middle = least[
        np.argmin(np.abs(least / (GRID - 1) - 1 / (1 + ratio)))
    ]  # of equal ones, that which is told by theory
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
                f"{cost / found['n']:.4g}",
                f"{usual / found['n']:.4g}",
            )
        )
    slider = tag(
        "input", type="range", min="-2", max="2", step="0.01", value="0", id="cost-ratio", aria_describedby="cost-said"
    )
    return tag(
        "section",
        tag("h2", "Costs and the best threshold", id="costs"),
        tag(
            "p",
            "If missing a row of a class costs more (or less) than a false alarm, say so: answer the class where its "
            "probability is at least the threshold. By the probabilities it is 1 / (1 + ratio); by these rows it is "
            "where they cost least.",
            class_="lead",
        ),
        tag("p", tag("label", "Class ", choice)),
        tag("p", tag("label", "A miss costs as many false alarms as … ", slider)),
        tag("p", "", id="cost-said", role="status", aria_live="polite"),
        table(
            ("a miss costs", "threshold by the probabilities", "best on these rows", "its cost per row", "cost at 0.5"),
            lines,
            f"Answering {apart(classes[first])}",
            numeric=(0, 1, 2, 3, 4),
        ),
    )


# --- where assumptions fail, and the worst rows -----------------------------------------------------------------------


def assumptions_section(found: AssumptionReport) -> Markup:
    cards = []
    for f in found.findings:
        tests = [line for line in f.lines if line["p_holm"] is None or line["p_holm"] <= found.alpha][:4]
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
    advice = [tag("li", tag("code", s["model"]), f": {s['why']}") for s in found.suggestions]
    return tag(
        "section",
        tag("h2", "Where the assumptions fail", id="assumptions"),
        tag("div", cards, class_="grid"),
        tag("p", "This points to:"),
        tag("ul", advice),
    )


def worst_rows(rows: Judged, predictor: Predictor) -> list[dict[str, object]]:
    """The rows whose true class was least expected."""
    schema = predictor.fitted.schema
    given = rows.log_proba[np.arange(rows.n), rows.y]
    wrong = rows.log_proba.argmax(axis=1) != rows.y
    first = [i for i in np.argsort(given, kind="stable")[:WORST].tolist() if wrong[i]]
    columns = {schema.name(j): rows.table.values(j) for j in range(schema.d)} if first else {}
    return [
        {
            "row": i,
            "values": row_of({name: v[i] for name, v in columns.items()}),
            "p": math.exp(given[i]),
            "y": int(rows.y[i]),
        }
        for i in first
    ]


def worst_section(
    worst: Sequence[dict[str, Any]], rows: Judged, classes: Sequence[object], telling: Sequence[str], days: set[str]
) -> Markup:
    """telling: the columns to show; days: those of them that are dates."""
    head = tag("h2", "The rows it was most wrong on", id="worst")
    if not worst:
        return tag("section", head, tag("p", "None: every row was answered right."))
    shown = list(telling[:8])
    lines = []
    for n, each in enumerate(worst):
        best = int(rows.log_proba[each["row"]].argmax())
        try_it = tag(
            "button",
            "try it",
            type="button",
            data_example=str(n),
            hidden=True,
            aria_label=f"Try row {each['row']} in What if",
        )
        cells = [_shown(each["values"].get(name), name in days) for name in shown]
        sure = math.exp(rows.log_proba[each["row"], best])
        lines.append(
            (
                each["row"],
                str(classes[each["y"]]),
                f"{each['p']:.2g}",
                f"{apart(classes[best])} ({sure:.1%})",
                *cells,
                try_it,
            )
        )
    note = f"Of {rows.n:,} rows, those whose true class it thought least likely; the most telling columns."
    return tag(
        "section",
        head,
        tag("p", note, class_="lead"),
        table(("row", "true class", "its probability", "answer", *shown, ""), lines, "The worst rows", numeric=(2,)),
    )


def _shown(value: object, is_day: bool) -> str:
    if isinstance(value, float):
        return as_day(value) if is_day else number(value)
    return "?" if value is None else str(value)

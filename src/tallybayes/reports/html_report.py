"""report and page: a fitted model as one HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes import __version__
from tallybayes.distributions.context import Json
from tallybayes.errors import ExportError, OptionError, TallybayesError
from tallybayes.export.javascript import scorer_source
from tallybayes.export.model_json import dumps, predictor_of
from tallybayes.io.decision_documents import classifier_inside, decision_of
from tallybayes.model.predictor import Predictor
from tallybayes.reports import learned, whatif
from tallybayes.reports.html import Child, Markup, apart, document, source, tag
from tallybayes.utils.array_types import Array
from tallybayes.utils.progress import stage, telling

if TYPE_CHECKING:
    from tallybayes.explain.ranking import FeatureRanking
    from tallybayes.reports.baseline import Baseline
    from tallybayes.reports.predicted_rows import Judged

STYLE = "style.css"
SECTIONS = (
    ("verdict", "Verdict"),
    ("what-if", "What if?"),
    ("quality", "Performance"),
    ("calibration", "Calibration"),
    ("ranking", "ROC, precision–recall, lift"),
    ("mistakes", "Confusion matrix"),
    ("costs", "Costs"),
    ("slices", "Slices"),
    ("rows", "Rows"),
    ("columns", "Information"),
    ("learned", "Effects"),
    ("associations", "Associations"),
    ("table", "Table"),
    ("assumptions", "Assumptions"),
)
HEIGHT = 720  # of a report in a notebook


@dataclass(frozen=True, repr=False)
class Report:
    """Result of `report`: one self-contained HTML page. A notebook displays it.

    Parameters
    ----------
    html : str
        The page.

    See Also
    --------
    report : Makes it.
    page : Only the what-if page of a model.

    Examples
    --------
    >>> from tallybayes import NaiveBayes, report
    >>> found = report(NaiveBayes().fit([{"sky": "clear"}, {"sky": "grey"}], ["sail", "stay"]))
    >>> found.html[:15], "What if?" in found.html
    ('<!DOCTYPE html>', True)
    """

    html: str

    def save(self, path: str | PathLike[str]) -> None:
        """Write the page into a file.

        Parameters
        ----------
        path : str or path
            The file.
        """
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        """The page in a frame of its own: it may run its scripts, and reach nothing of the notebook."""
        return (
            f'<iframe title="Report" sandbox="allow-scripts" srcdoc="{escape(self.html, quote=True)}" '
            f'width="100%" height="{HEIGHT}" style="border:1px solid #8888"></iframe>'
        )

    def __repr__(self) -> str:
        return f"Report({len(self.html):,} characters of HTML; save(path) writes it)"


@telling("report", on=True)
def report(
    model: Any,
    X: object = None,
    y: object = None,
    *,
    train: object = None,
    baseline: bool = True,
    target: str | None = None,
    title: str | None = None,
) -> Report:
    """Write a report of a fitted model as one HTML file: performance, effects, and what-if predictions.

    Without rows: the information and the evidence of each column, and *what if*: change any value, mark it missing,
    change the prior, and probabilities and evidence follow, computed in the page by the model itself. With rows whose
    class is known also a verdict, scores beside baselines, calibration, ROC, precision–recall and lift curves, the
    confusion matrix, costs, the slices with most errors, the rows, associations between columns, and the assumptions
    that the model makes. Take rows that the model has not learned; learned rows are predicted by leave-one-out.

    Parameters
    ----------
    model : fitted classifier of this library
        The model; for a BayesDecision, its classifier is reported. A terminal or notebook sees how far the report is.
    X : table of shape (n_rows, n_columns), default=None
        Test rows; above 20,000 a sample is used.
    y : array-like of shape (n_rows,), default=None
        Class labels; needed with X.
    train : tuple (X, y), default=None
        Training rows: the baseline, a logistic regression, is fitted on them (on at most 20,000, or 5,000 with texts)
        and predicts X. None: the baseline is cross-validated on X.
    baseline : bool, default=True
        Whether to fit the baseline; on long texts it takes most of the time.
    target : str, default=None
        What the classes are called, such as "income"; by default the name of y, if it is a Series with a name.
    title : str, default=None
        Title of the page; by default the classifier and the target.

    Returns
    -------
    Report
        ``html``, and ``save(path)``.

    Raises
    ------
    OptionError
        If only one of X and y is given, train is no pair, or the model is none of this library's.

    See Also
    --------
    page : Only the what-if page of a model.
    tallybayes.compare_models : Cross-validate the models that suit a table.
    tallybayes.evaluation.check_assumptions : The tests of assumptions in the report.

    Examples
    --------
    >>> from tallybayes import NaiveBayes, report
    >>> from tallybayes.datasets import load_watermelon
    >>> rows, ripe = load_watermelon()
    >>> found = report(NaiveBayes().fit(rows, ripe), rows, ripe)
    >>> len(found.html) < 300_000, "Confusion matrix" in found.html
    (True, True)
    """
    if (X is None) != (y is None):
        raise OptionError("report takes rows and their classes together, X and y, or neither.")
    if X is None and train is not None:
        raise OptionError("train is for the baseline beside the scores of X and y: give these too.")
    decision = decision_of(model)
    model = model if decision is None else classifier_inside(decision)
    predictor = predictor_of(model)
    if isinstance(model, Predictor):
        raise OptionError("report takes a fitted classifier; of a Predictor alone, page(predictor) shows What if.")
    named = getattr(y, "name", None) if target is None else target
    target = named if isinstance(named, str) else None
    title = title or predictor.options.who + (f": {apart(target)}" if target else "")
    # What looks at rows takes a second to import, which a service that shows a page alone has not.
    from tallybayes.reports import predicted_rows

    overview = learned.overview(predictor.fitted, _prior(predictor))
    ranking = model.explain()
    stage("predictions")
    rows = None if X is None else predicted_rows.judge(model, X, y)
    seen = {} if rows is None else predicted_rows.numbers(rows)
    counts = {} if rows is None else predicted_rows.level_counts(rows)
    stage("what if")
    order = ranking.order.tolist()
    play, facts = _what_if(predictor, order, seen=seen, counts=counts, rows=0 if rows is None else rows.n)
    facts = {"examples": [], **facts}
    stage("effects of columns")
    of_columns = _column_sections(model, ranking, rows, seen, counts)
    if rows is None:
        parts = [overview, play, *of_columns]
    else:
        beside = _baseline(model, rows, train, baseline)
        stage("tables and curves")
        first, middle, last = _row_sections(model, rows, order, beside, target, facts)
        parts = [first, play, *middle, *of_columns, *last, overview, _assumptions(rows, predictor)]
    return Report(_whole(title, parts, facts))


def _column_sections(
    model: Any,
    ranking: FeatureRanking,
    rows: Judged | None,
    seen: dict[int, Array],
    counts: dict[int, dict[object, int]],
) -> list[Child]:
    """What each column tells: its information, and the evidence of its values."""
    from tallybayes.reports import effects, predicted_rows

    schema = model.fitted_.schema
    names, _ = predicted_rows.shown_names(schema)
    shares = learned.shares(ranking, schema.kinds)
    return [
        learned.ranking_section(ranking, names, schema.kinds),
        effects.section(model, ranking.order.tolist(), shares, rows, seen, counts),
    ]


def _baseline(model: Any, rows: Judged, train: object, wanted: bool) -> Baseline:
    """The logistic regression beside the model, or why there is none."""
    from tallybayes.reports.baseline import Baseline, logistic

    return logistic(rows, model, train) if wanted else Baseline(None, note="Logistic regression was left out.")


def _row_sections(
    model: Any, rows: Judged, order: list[int], beside: Baseline, target: str | None, facts: dict[str, Json]
) -> tuple[Markup, list[Markup | None], list[Markup | None]]:
    """The sections that look at rows, before, among and after the others; facts gets what their scripts use."""
    from tallybayes.reports import curves, performance, predicted_rows, slices, verdict

    predictor = predictor_of(model)
    schema, classes = predictor.fitted.schema, predictor.fitted.classes.tolist()
    names, days = predicted_rows.shown_names(schema)
    prior = np.broadcast_to(np.log(np.maximum(_prior(predictor), 1e-300)), rows.log_proba.shape)
    some = performance.shown_rows(rows, predictor)
    playable = facts["model"] is not None
    if playable:
        facts["examples"] = [
            {"name": f"row {w['row']}, {apart(classes[w['y']])}", "row": w["values"]} for w in some if w["short"]
        ]
    several = len(classes) > 1
    if several:
        facts["thresholds"] = performance.thresholds(rows, len(classes))
    middle = [
        performance.quality_section(rows, prior, beside),
        performance.calibration_section(rows),
        curves.section(rows, classes),
        performance.confusion_section(rows, classes),
        performance.cost_section(facts["thresholds"], classes) if several else None,
        slices.slices_section(rows, names, order, days),
        performance.rows_section(some, rows, classes, names, order, days, playable),
    ]
    last = [
        slices.associations_section(rows, names, order, predicted_rows.sources(schema)),
        predicted_rows.facts_section(rows, model),
    ]
    return verdict.section(rows, predictor.fitted, prior, beside, target), middle, last


def page(model: object, *, title: str | None = None, refresh: str | None = None) -> str:
    """Make the what-if page of a fitted model: one HTML file that scores by itself.

    Parameters
    ----------
    model : fitted classifier of this library, or Predictor
        What the page asks.
    title : str, default=None
        Title of the page; by default the name of the classifier.
    refresh : str, default=None
        An address on the page's own server that gives what `to_json` writes: the page asks it every few seconds and
        shows the model as it is then. None: the page asks nothing of anybody.

    Returns
    -------
    str
        The page. If the model has no form for other programs, or is too large for a page, the page says so and shows
        the classes and their prior.

    See Also
    --------
    report : The page with performance and effects of columns.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.reports import page
    >>> text = page(NaiveBayes().fit([{"sky": "clear"}, {"sky": "grey"}], ["sail", "stay"]), title="Boats")
    >>> "<title>Boats</title>" in text
    True
    """
    predictor = predictor_of(model)
    play, facts = _what_if(predictor, [], refresh is not None)
    facts = {"examples": [], **facts, "source": refresh}
    parts = [play, learned.overview(predictor.fitted, _prior(predictor))]
    return _whole(title or predictor.options.who, parts, facts, connect=refresh is not None)


def _what_if(
    predictor: Predictor,
    order: Sequence[int],
    live: bool = False,
    seen: Mapping[int, Array] | None = None,
    counts: Mapping[int, Mapping[object, int]] | None = None,
    rows: int = 0,
) -> tuple[Markup, dict[str, Json]]:
    try:
        found, columns = whatif.embedded(predictor)
    except ExportError as e:
        instead = tag(
            "section",
            tag("h2", "What if?", id="what-if"),
            tag("p", f"This page cannot compute predictions: {e}", class_="warn"),
            tag("p", "It shows what the model learned instead."),
        )
        return instead, {"model": None}
    controls = whatif.controls(predictor, columns, order, seen, counts, rows)
    return whatif.section(predictor.fitted.classes.tolist(), live), {"model": found, "controls": controls}


def _assumptions(rows: Judged, predictor: Predictor) -> Markup | None:
    """The tests of what this model assumes; nothing of a model that assumes none of it."""
    from tallybayes.evaluation.assumptions import check_assumptions
    from tallybayes.reports import performance

    made = performance.assumed(predictor.fitted.terms)
    if not made:
        return None
    # The tests know no texts: each is a category there.
    schema = predictor.fitted.schema
    at: Sequence[int | str] = range(schema.d) if schema.names is None else schema.names
    texts = {name: "categorical" for name, kind in zip(at, schema.kinds, strict=True) if kind == "text"}
    try:
        return performance.assumptions_section(check_assumptions(rows.X, rows.labels, schema=texts or None), made)
    except TallybayesError as e:
        return tag("section", tag("h2", "Assumptions of this model", id="assumptions"), tag("p", f"Not tested: {e}"))


def _prior(predictor: Predictor) -> list[float]:
    start = np.exp(predictor.offset - predictor.offset.max())
    return list((start / start.sum()).tolist())


def _whole(title: str, parts: Sequence[Child], facts: dict[str, Json], connect: bool = False) -> str:
    links = [
        tag("li", tag("a", name, href=f"#{id_}"))
        for id_, name in SECTIONS
        if any(f'id="{id_}"' in str(p) for p in parts)
    ]
    judged = any('id="verdict"' in str(p) for p in parts)  # the verdict names the version
    body = [
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag(
            "header",
            tag("h1", title),
            None if judged else tag("p", f"Made by tallybayes {__version__}.", class_="note"),
        ),
        tag("nav", tag("ul", links), aria_label="Sections") if len(links) > 1 else None,
        tag("main", *parts, id="content"),
    ]
    scripts = [
        scorer_source(exported=False),
        source("wording.js"),
        source("whatif.js"),
        source("costs.js"),
        source("rows.js"),
    ]
    return document(title, body, dumps(facts), scripts, source(STYLE), connect)

"""A model card: what a fitted model is, in Markdown, from its own facts."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import TYPE_CHECKING

import numpy as np

from tallybayes import __version__
from tallybayes.errors import OptionError, brief
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.io.decision_documents import classifier_inside, decision_of
from tallybayes.io.value_writer import read_notes

if TYPE_CHECKING:
    from tallybayes.estimators.bayes_decision import BayesDecision

OPEN = """## To be filled in

- What it is for, and what it is not for:
- Where the rows came from, and who is missing:
- How good it is on rows that it has not learned (`tallybayes report` tells):
- Whom a wrong answer harms:"""
MOST_COLUMNS, MOST_CLASSES, MOST_LEVELS = 50, 30, 6


def model_card(model: GenerativeClassifier | BayesDecision, *, notes: Mapping[str, object] | None = None) -> str:
    """Write a model card in Markdown from the facts of a fitted model.

    What only people know (what it is for, where the rows came from, whom it may harm) is left for them to fill in.

    Parameters
    ----------
    model : fitted classifier of this library
        What the card is about; a BayesDecision around one too.
    notes : dict, default=None
        More facts, such as where the data came from: a line for each.

    Returns
    -------
    str
        The card.

    Raises
    ------
    OptionError
        If the model is none of this library's, or the notes are no dict.

    See Also
    --------
    tallybayes.report : The performance of a model as an HTML file.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.io import model_card
    >>> card = model_card(NaiveBayes().fit([{"sky": "clear"}, {"sky": "grey"}], ["sail", "stay"]))
    >>> print(card.split("## ")[2].strip())
    Classes
    <BLANKLINE>
    | class | rows learned | share | prior |
    |---|---|---|---|
    | sail | 1 | 50.0% | 50.0% |
    | stay | 1 | 50.0% | 50.0% |
    """
    decision = decision_of(model)
    if decision is not None:
        model = classifier_inside(decision)
    if not isinstance(model, GenerativeClassifier):
        raise OptionError(f"model_card takes a fitted classifier of tallybayes; got {brief(model)}.")
    parts = [
        _head(model, read_notes(notes)),
        _classes(model),
        *([] if decision is None else [_losses(decision)]),
        _columns(model),
        _telling(model),
        OPEN,
    ]
    return "\n\n".join(parts) + "\n"


def _cell(value: object) -> str:
    """Text that stays in its cell of a table."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    for mark in "\\|`*_[]<>":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())


def _table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(_cell, row))} |" for row in rows)])


def _head(model: GenerativeClassifier, notes: Mapping[str, object]) -> str:
    name = type(model).__name__
    usual = {k: p.default for k, p in signature(type(model)).parameters.items()}
    given = {k: v for k, v in model.get_params(deep=False).items() if repr(v) != repr(usual.get(k))}
    facts: dict[str, object] = {
        "classifier": name,
        "made by": f"tallybayes {__version__}",
        "rows learned": f"{model.fitted_.weight.sum():,.10g}",
        "parameters": ", ".join(f"{k}={brief(v)}" for k, v in given.items()) or "the usual ones",
    }
    beta = model.predictor_.options.beta
    if beta != 1:
        facts["temperature"] = f"the log-likelihood counts {beta:.4g} times"
    lines = [f"- {key}: {_cell(value)}" for key, value in {**facts, **notes}.items()]
    return f"# {name}\n\n## Facts\n\n" + "\n".join(lines)


def _classes(model: GenerativeClassifier) -> str:
    fitted, start = model.fitted_, model.predictor_.offset
    prior = np.exp(start - np.logaddexp.reduce(start))
    total = float(fitted.weight.sum())
    rows: list[tuple[object, ...]] = [
        (label, f"{n:,.10g}", f"{n / total:.1%}", f"{p:.1%}")
        for label, n, p in zip(fitted.classes.tolist(), fitted.weight.tolist(), prior.tolist(), strict=True)
    ]
    more = f"\n\n{len(rows) - MOST_CLASSES} more classes." if len(rows) > MOST_CLASSES else ""
    return "## Classes\n\n" + _table(("class", "rows learned", "share", "prior"), rows[:MOST_CLASSES]) + more


def _losses(decision: BayesDecision) -> str:
    answers = decision.answers_.tolist()
    rows: list[tuple[object, ...]] = [(a, *costs) for a, costs in zip(answers, decision.loss_.tolist(), strict=False)]
    lead = "The answer is the one that is expected to cost least (BayesDecision)."
    more = "" if decision.reject is None else f" Where that is above {decision.reject:g} it is {_cell(answers[-1])}."
    more += "" if decision.amount_loss_ is None else " To these comes a loss by the amount of a row."
    head = ("answer, if the truth is", *map(_cell, decision.classes_.tolist()))
    return f"## What each answer costs\n\n{lead}{more}\n\n" + _table(head, rows)


def _columns(model: GenerativeClassifier) -> str:
    schema, fitted = model.fitted_.schema, model.fitted_
    rows: list[tuple[object, ...]] = []
    for j in range(min(schema.d, MOST_COLUMNS)):
        values = ""
        if j in schema.levels:
            labels = schema.levels[j].labels
            values = ", ".join(map(str, labels[:MOST_LEVELS])) + (", …" if len(labels) > MOST_LEVELS else "")
            values = f"{len(labels)}: {values}"
        elif j in schema.cuts:
            values = f"cut into {len(schema.cuts[j].points) + 1}"
        rows.append((schema.name(j), schema.kinds[j], fitted.term_of(j)[0].distribution.name, values))
    more = f"\n\n{schema.d - MOST_COLUMNS} more columns." if schema.d > MOST_COLUMNS else ""
    return "## Columns\n\n" + _table(("column", "kind", "distribution", "values"), rows) + more


def _telling(model: GenerativeClassifier) -> str:
    ranking = model.explain()
    rows: list[tuple[object, ...]] = [
        (ranking.names[j], f"{ranking.information[j]:.3f}") for j in ranking.order[:10].tolist()
    ]
    lead = (
        "Mutual information of each column with the class under the model, each column by itself; the entropy of the "
        f"class is {abs(ranking.entropy):.3f} nats."
    )
    return f"## Information of each column\n\n{lead}\n\n" + _table(("column", "nats"), rows)

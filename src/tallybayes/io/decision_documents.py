"""A BayesDecision ↔ a document: the classifier inside it as any other, and its losses as arrays.

However a loss was given (as a table, by labels), the file holds it as it counts: a row for each answer. What comes back
has that as its parameter `loss`, and `answers` beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tallybayes.errors import ModelFileError, OptionError
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.io.json_checks import Json, fields, items
from tallybayes.io.value_reader import ValueReader
from tallybayes.io.value_writer import Writer

if TYPE_CHECKING:
    from tallybayes.estimators.bayes_decision import BayesDecision

NAME = "BayesDecision"
FIELDS = ("class", "estimator", "frozen", "loss", "answers", "amount_loss", "reject", "reject_label")


def decision_of(model: object) -> BayesDecision | None:
    """The model, if it is a fitted BayesDecision. Its module, which needs scikit-learn, is imported only then."""
    if type(model).__name__ != NAME:
        return None
    from tallybayes.estimators.bayes_decision import BayesDecision

    if not isinstance(model, BayesDecision):
        return None
    if not hasattr(model, "estimator_"):
        raise OptionError("This BayesDecision is not fitted yet: fit it first.")
    return model


def classifier_inside(decision: BayesDecision) -> GenerativeClassifier:
    """The fitted classifier that it asks."""
    inner = decision.estimator_
    inner = inner.estimator if type(inner).__name__ == "FrozenEstimator" else inner
    if not isinstance(inner, GenerativeClassifier):
        raise OptionError(
            f"A BayesDecision around {type(inner).__name__} has no model file: only classifiers of tallybayes have "
            "one. Pickle it, or save it with joblib or skops."
        )
    return inner


def write_decision(decision: BayesDecision, writer: Writer, document: Json) -> Json:
    """document: that of the classifier inside."""
    loss, each = decision.loss_, decision.amount_loss_
    answers = decision.answers_.tolist()
    label = None if decision.reject is None else writer.label(answers[-1], "The reject label")
    return {
        "class": NAME,
        "estimator": document,
        "frozen": type(decision.estimator_).__name__ == "FrozenEstimator",
        "loss": writer.array(loss, "The loss"),
        "answers": [writer.label(v, "An answer") for v in answers[: len(loss)]],
        "amount_loss": None if each is None else writer.array(each, "The loss by amount"),
        "reject": writer.value(decision.reject, "The parameter 'reject'"),
        "reject_label": label,
    }


def read_decision(
    document: Json, reader: ValueReader, read: Callable[[Json, ValueReader], GenerativeClassifier]
) -> BayesDecision:
    """read: how the classifier inside is read."""
    from sklearn.frozen import FrozenEstimator

    from tallybayes.estimators.bayes_decision import BayesDecision

    _, inside, frozen, loss, answers, each, reject, label = fields(document, "The decision", *FIELDS)
    model = read(inside, reader)
    if not isinstance(frozen, bool):
        raise ModelFileError("'frozen' is neither true nor false.")
    again = FrozenEstimator(model) if frozen else type(model)(**model.get_params(deep=False))
    found = BayesDecision(
        again,
        _finite(reader.numbers(loss, "The loss")),
        reject=reader.value(reject, "The cost of rejecting"),
        answers=[reader.label(v, "An answer") for v in items(answers, "answers")],
        amount_loss=None if each is None else _finite(reader.numbers(each, "The loss by amount")),
        reject_label=None if label is None else reader.label(label, "The reject label"),
    )
    return found.restore(again if frozen else model)


def _finite(a: object) -> object:
    """A number that is none would make every risk none."""
    found = np.asarray(a, dtype=np.float64)
    if found.ndim != 2 or not np.isfinite(found).all():
        raise ModelFileError("Its losses are not a table of finite numbers.")
    return found

"""Evidence: contributions of each feature to the log-odds of each class, and features ranked by information."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tallybayes.data.schema import Schema
from tallybayes.data.table import read_table
from tallybayes.distributions.information import information
from tallybayes.errors import LabelError, OptionError, TableError, brief, listing
from tallybayes.explain.evidence import Explanation
from tallybayes.explain.phrases import TOGETHER
from tallybayes.explain.ranking import FeatureRanking
from tallybayes.model.fitted import Fitted
from tallybayes.model.predictor import Predictor
from tallybayes.utils.array_types import Floats

if TYPE_CHECKING:
    from tallybayes.estimators.state import ModelState

MOST_NUMBERS = 1 << 27  # in one explanation: 1 GB

showing: ContextVar[bool] = ContextVar("showing", default=False)  # a notebook shows the model


def explain(model: ModelState, X: object, against: object, feature_names: object) -> Explanation | FeatureRanking:
    """Evidence by row, feature and class; without rows, the features ranked by information."""
    if X is None:
        if against is not None:
            raise OptionError("explain() ranks the features for all classes at once: against= goes with rows.")
        return _ranking(model._parameters(), feature_names)
    if against is not None and against not in model.classes_.tolist():
        raise LabelError(f"against={brief(against)} is not a class of this model. Classes: {listing(model.classes_)}.")
    return _explanation(model.predictor_, X, against, feature_names)


def importances(fitted: Fitted) -> Floats:
    """The share of each column in the information of all; of a date, that of its parts."""
    if showing.get():
        raise AttributeError("feature_importances_ may take samples of the model: a notebook does not show it")
    found = fitted.schema.by_input(np.maximum(_ranking(fitted).information, 0.0))
    total = found.sum()
    return np.asarray(found / total if total > 0 else np.full(len(found), 1.0 / len(found)))


def _names(schema: Schema, given: object) -> tuple[str, ...]:
    """What the columns are called; given: by the user, where the table did not say."""
    if given is None:
        return tuple(schema.name(j) for j in range(schema.d))
    if schema.names is not None:
        raise OptionError("feature_names are for a table without names; this model knows the names of its columns.")
    found = [str(v) for v in given] if isinstance(given, Iterable) and not isinstance(given, str) else []
    if len(found) != schema.d:
        raise OptionError(f"feature_names must be {schema.d} names, one for each column; got {brief(given)}.")
    return tuple(found)


def _explanation(predictor: Predictor, X: object, against: object, feature_names: object) -> Explanation:
    fitted = predictor.fitted
    schema, K = fitted.schema, fitted.K
    table = read_table(X)
    _refuse_absurd(table.n, schema.d, K)
    rows = predictor.read(table)
    predictor.look(rows)
    terms = predictor.terms(rows)
    names = (*_names(schema, feature_names), *[TOGETHER] * (terms.shape[1] - schema.d))
    parts = terms, predictor.start.copy(), fitted.classes.copy()
    index = getattr(X, "index", None) if table.container == "pandas" else None
    pieces = partial(predictor.pieces, rows) if "text" in schema.kinds else None
    return Explanation(*parts, names, rows.table, against, index, pieces)


def _refuse_absurd(n: int, d: int, K: int) -> None:
    if n * d * K <= MOST_NUMBERS:
        return
    rows = MOST_NUMBERS // (d * K)
    advice = f"Ask for at most {rows} rows at a time." if rows else "Not even one row fits: leave out columns."
    raise TableError(
        f"An explanation of {n} rows, {d} columns and {K} classes would take {n * d * K * 8 / 1e9:.1f} GB. {advice}"
    )


def _ranking(fitted: Fitted, feature_names: object = None) -> FeatureRanking:
    schema = fitted.schema
    value, error = np.zeros(schema.d), np.zeros(schema.d)
    for term in fitted.terms:
        columns = list(term.columns)
        value[columns], error[columns] = information(term.distribution, term.params, len(columns), fitted.prior)
    names = _names(schema, feature_names)
    share = np.exp(fitted.prior)
    entropy = float(-(share[share > 0] * np.log(share[share > 0])).sum())
    return FeatureRanking(names, value, error, entropy, schema.container)

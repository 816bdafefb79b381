"""What a sound answer is, and whether a model is the one that it was: for callers that cannot know the right answer."""

from __future__ import annotations

import copy
import dataclasses
import io
import pickle
import warnings
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

import tallybayes as tb
from tallybayes.distributions.statistics import arrays_of
from tallybayes.errors import (
    AmbiguousColumnWarning,
    CancellationWarning,
    IdentifierColumnWarning,
    TallybayesError,
    TextColumnWarning,
    UnsavableLabelWarning,
    UnseenCategoryWarning,
)

CLOSE = 1e-9
OWN_WARNINGS = (
    AmbiguousColumnWarning,
    CancellationWarning,
    IdentifierColumnWarning,
    TextColumnWarning,
    UnsavableLabelWarning,
    UnseenCategoryWarning,
    ConvergenceWarning,
    DataConversionWarning,
)


class UnsoundError(AssertionError):
    """An answer that is none."""


def demand(holds: Any, what: str, *shown: object) -> None:
    if not bool(np.all(holds)):
        raise UnsoundError(" ".join([what, *(f"{v!r:.400}" for v in shown)]))


def sound(model: Any, X: Any) -> None:
    """All answers for a table are such, and agree with each other."""
    P, labels, classes = model.predict_proba(X), model.predict(X), model.classes_.tolist()
    demand(np.isfinite(P), "probabilities are not finite:", P)
    demand(P >= 0, "a probability is below 0:", P)
    demand(np.abs(P.sum(axis=1) - 1) < CLOSE, "rows do not sum to 1:", P)
    if not isinstance(model, tb.BayesDecision):
        at = [classes.index(label) for label in labels.tolist()]
        demand(P[np.arange(len(P)), at] >= P.max(axis=1) - CLOSE, "predict is not the most probable:", labels, P)
    else:
        demand([v in model.answers_.tolist() for v in labels.tolist()], "an answer is not in answers_:", labels)
    if hasattr(model, "predict_log_proba"):
        log = model.predict_log_proba(X)
        demand(~np.isnan(log), "log-probabilities are NaN:", log)
        demand(np.abs(np.exp(log) - P) < CLOSE, "log-probabilities are not those of predict_proba:", log, P)
    if hasattr(model, "predict_joint_log_proba"):
        _agree(model.predict_joint_log_proba(X), log)
    if hasattr(model, "score_samples") and not isinstance(model, tb.ComplementNB | tb.BayesClassifier):
        no_nan(model.score_samples(X))


def _agree(joint: Any, log: Any) -> None:
    demand(~np.isnan(joint), "the log joint is NaN:", joint)
    demand(joint < np.inf, "the log joint is infinite:", joint)
    size = np.abs(np.where(np.isfinite(joint), joint, 0.0)).max(axis=1)
    rows = np.isfinite(joint).any(axis=1) & (size < 1e5)  # beyond it rounding alone moves the odds
    found = joint[rows] - logsumexp(joint[rows], axis=1, keepdims=True)
    gap = np.abs(np.exp(found) - np.exp(log[rows]))
    demand(gap < 1e-6, "the log joint does not agree with the probabilities:", joint[rows], log[rows])


def lazy(model: Any, X: Any, y: Any) -> None:
    """Questions to a data frame that DuckDB counts. Tables of other kinds become one, or their error is one of ours."""
    import pandas as pd

    if not isinstance(X, pd.DataFrame):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                X = pd.DataFrame(X.to_pandas() if hasattr(X, "to_pandas") else X)
            except Exception:
                return  # it is no table at all
    y = np.asarray(y.to_list() if hasattr(y, "to_list") else y)
    if y.shape != (len(X),):
        return
    frame = X.set_axis([str(c) for c in X.columns], axis=1)
    if frame.columns.has_duplicates:
        return
    asked = tb.LazyBayes(model, None, frame.assign(**{"the class": y}), "the class")
    found = asked.predict_proba(frame)
    demand(np.isfinite(found), "probabilities are not finite:", found)
    demand(np.abs(found.sum(axis=1) - 1) < CLOSE, "rows do not sum to 1:", found)


def several_targets(model: Any, X: Any, y: Any, other: Any) -> None:
    """Labels of two targets: a joint distribution of each row."""
    each = [labels.to_list() if hasattr(labels, "to_list") else list(labels) for labels in (y, other)]
    known = [["?" if v is None else str(v) for v in labels] for labels in each]
    found = model.fit(X, np.array(known, dtype=object).T).predict_proba(X)
    finite(found)


def leave_one_out(found: Any) -> None:
    """Log-probabilities of rows without themselves."""
    demand(~np.isnan(found), "NaN:", found)
    demand(np.abs(np.exp(found).sum(axis=1) - 1) < CLOSE, "rows do not sum to 1:", found)


def numbers_in(found: Any, depth: int = 0) -> Iterator[Any]:
    """All arrays of floats inside."""
    if isinstance(found, float | np.ndarray | np.floating):
        values = np.asarray(found)
        if values.dtype.kind == "f":
            yield values
    elif isinstance(found, dict | list | tuple) and depth < 5:
        for v in found.values() if isinstance(found, dict) else found:
            yield from numbers_in(v, depth + 1)
    elif dataclasses.is_dataclass(found) and depth < 5:
        for field in dataclasses.fields(found):
            yield from numbers_in(getattr(found, field.name), depth + 1)


def no_nan(found: Any) -> None:
    """Numbers that say something. A log density may be −inf."""
    for values in numbers_in(found):
        demand(~np.isnan(values), "NaN:", values)


def finite(found: Any) -> None:
    for values in numbers_in(found):
        demand(np.isfinite(values), "not finite:", values)


def to_bytes(model: Any) -> bytes:
    file = io.BytesIO()
    tb.save(model, file)
    return file.getvalue()


def kept(model: Any, X: Any) -> None:
    """Files, pickles and copies answer to the bit as the model does, and are written as it is."""
    P, written = model.predict_proba(X), to_bytes(model)
    loaded = tb.load(io.BytesIO(written))
    demand(to_bytes(loaded) == written, "a model written, read and written is another one")
    for name, counterpart in (
        ("file", loaded),
        ("pickle", pickle.loads(pickle.dumps(model))),
        ("copy", model.copy()),
        ("deepcopy", copy.deepcopy(model)),
    ):
        demand(
            np.array_equal(counterpart.predict_proba(X), P),
            f"the {name} answers otherwise:",
            counterpart.predict_proba(X),
            P,
        )


def state(model: Any) -> Any:
    """What a failed call, and a question, must leave as it was."""
    inner = getattr(model, "estimator_", model)
    found = inner.__dict__
    learned = None
    if "_state" in found:
        try:
            fitted = inner.fitted_
        except TallybayesError as e:  # an option does not suit rows that are yet to be fitted
            return str(e), repr(inner.get_params())
        statistics = [
            (key, _digest(v)) for term in fitted.terms for key, v in sorted(arrays_of(term.statistics).items())
        ]
        learned = (
            _digest(fitted.weight),
            statistics,
            _whole(fitted.schema),
            fitted.classes.tolist(),
            fitted.classes_fixed,
        )
    kept = ("temperature_", "n_features_in_", "loo_score_")
    names = found.get("feature_names_in_")
    plain = {k: found.get(k) for k in kept}
    return learned, plain, None if names is None else list(names), repr(inner.get_params())


def _whole(schema: Any) -> str:
    """All that a schema holds; its repr tells only the first columns."""
    return repr([(f.name, getattr(schema, f.name)) for f in dataclasses.fields(schema) if f.name != "memo"])


def _digest(values: Any) -> tuple[str, tuple[int, ...], bytes]:
    array = np.ascontiguousarray(values)
    data = array.tobytes() if array.dtype != object else repr(array.tolist()).encode()
    return str(array.dtype), array.shape, blake2b(data, digest_size=16).digest()


def foreign(category: type[Warning]) -> bool:
    """A warning that is not this library's own."""
    return category is not UserWarning and not issubclass(category, OWN_WARNINGS)

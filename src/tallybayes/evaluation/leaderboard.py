"""Which model suits a table? Cross-validates the family beside two baselines and says which to use.

To add a contestant, add a line to CONTESTANTS.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from tallybayes.data.encoding.numeric import raw_columns
from tallybayes.data.labels import positions, read_labels
from tallybayes.data.schema import Schema, infer_schema
from tallybayes.data.table import Table, read_table
from tallybayes.errors import LabelError, OptionError, TallybayesError, brief, is_number, listing
from tallybayes.estimators.ande import AODE
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.estimators.bayes_classifier import BayesClassifier
from tallybayes.estimators.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from tallybayes.estimators.gaussian_discriminant import RegularizedDiscriminantAnalysis
from tallybayes.estimators.kdb import KDB
from tallybayes.estimators.naive_bayes import NaiveBayes
from tallybayes.estimators.spode_tan import TAN
from tallybayes.evaluation.baselines import LargestClass, Logistic, Own
from tallybayes.evaluation.comparison import Comparison, Entry
from tallybayes.evaluation.scores import Scores, row_scores
from tallybayes.utils.array_types import Array
from tallybayes.utils.progress import stage, step, telling


def _any(schema: Schema) -> bool:  # noqa: ARG001
    return True


def _has_numbers(schema: Schema) -> bool:
    return "real" in schema.kinds or "count" in schema.kinds


def _several(schema: Schema) -> bool:
    return schema.d > 1 and _no_text(schema)


def _no_text(schema: Schema) -> bool:
    return "text" not in schema.kinds


def _all_numbers(schema: Schema) -> bool:
    return all(kind == "real" for kind in schema.kinds)


@dataclass(frozen=True)
class Contestant:
    """A model that may enter: its name, how it is made for a schema, and which tables it suits. ensemble: it holds many
    networks, so the advice says what a smaller model would cost."""

    name: str
    make: Callable[[Schema], Any]
    suits: Callable[[Schema], bool] = _any
    baseline: bool = False
    ensemble: bool = False


CONTESTANTS: list[Contestant] = [
    Contestant("BayesClassifier", lambda s: BayesClassifier(schema=_kinds(s)), ensemble=True),
    Contestant("BayesClassifier, fast", lambda s: BayesClassifier("fast", schema=_kinds(s)), ensemble=True),
    Contestant("NaiveBayes", lambda s: NaiveBayes(schema=_kinds(s))),
    Contestant("NaiveBayes, tempered", lambda s: NaiveBayes(schema=_kinds(s), tempered=True)),
    Contestant("NaiveBayes, mdl cuts", lambda s: NaiveBayes("mdl", schema=_kinds(s)), _has_numbers),
    Contestant("NaiveBayes, kernel", lambda s: NaiveBayes("kernel", schema=_kinds(s)), _has_numbers),
    Contestant("TAN", lambda s: TAN(schema=_kinds(s)), _several),
    Contestant("KDB", lambda s: KDB(schema=_kinds(s)), _several),
    Contestant("AODE", lambda s: AODE(schema=_kinds(s)), _several),
    Contestant("LinearDiscriminantAnalysis", lambda _: LinearDiscriminantAnalysis(), _all_numbers),
    Contestant("QuadraticDiscriminantAnalysis", lambda _: QuadraticDiscriminantAnalysis(), _all_numbers),
    Contestant(
        "RegularizedDiscriminantAnalysis",
        lambda _: RegularizedDiscriminantAnalysis(own_covariance="auto", shrinkage="auto"),
        _all_numbers,
    ),
    Contestant("logistic regression", Logistic, baseline=True),
    Contestant("largest class", LargestClass, baseline=True),
]


def _kinds(schema: Schema) -> dict[str | int, str]:
    """The kinds alone: levels and cuts are learned from the rows of each fold."""
    if schema.expansion is None:
        return {schema.name(j) if schema.names else j: kind for j, kind in enumerate(schema.kinds)}
    said: dict[str | int, str] = {schema.name(j): kind for j, kind in enumerate(schema.kinds)}
    return said | {
        j if g.name is None else g.name: "id" if g.what == "id" else "date"
        for j, g in enumerate(schema.expansion)
        if g.what != "column"
    }


def compare_models(
    X: object,
    y: object,
    *,
    schema: object = None,
    folds: int = 5,
    random_state: int = 0,
    models: Mapping[str, object] | None = None,
    time_limit: float | None = None,
    watch: Callable[[str], None] | None = None,
    verbose: bool = False,
) -> Comparison:
    """Cross-validate the models that suit a table, two baselines and your own models, to choose one.

    Parameters
    ----------
    X : table of shape (n_rows, n_columns)
        pandas, polars, pyarrow, NumPy, scipy sparse, or a list of dicts.
    y : array-like of shape (n_rows,)
        The class label of each row.
    schema : None, str, dict or Schema, default=None
        Column kinds where the data type is not enough: one kind for all columns, or a dict such as ``{"zip":
        "categorical"}``. Kinds: 'real', 'categorical', 'binary', 'count', 'date', 'id', 'text'.
    folds : int, default=5
        Number of cross-validation folds, stratified by class; fewer if no class has so many rows.
    random_state : int, default=0
        Seed of the folds.
    models : dict from name to classifier, default=None
        Your own models, by name: unfitted classifiers with predict_proba, or pipelines. Each is cloned for each fold
        and gets the rows as given. Probabilities are clipped at 2.2e-16, like those of ``sklearn.metrics.log_loss``.
    time_limit : float, default=None
        Seconds per model, over all folds. It is checked after each fold; a model that exceeds it is stopped, and its
        line says so.
    watch : callable, default=None
        Called with the name of each model before it is fitted.
    verbose : bool, default=False
        Whether to show progress on standard error, in a terminal or notebook.

    Returns
    -------
    Comparison
        The leaderboard, best log-loss first.

    Raises
    ------
    LabelError
        If fewer than two classes have more than one row.
    OptionError
        If one of `models` is no classifier with predict_proba, or has the name of one of the family.
    TallybayesError
        If no model of the family can be fitted, or none within the time limit.

    See Also
    --------
    tallybayes.evaluation.learning_curves : Two models by the number of training rows.
    tallybayes.evaluation.check_assumptions : Tests the assumptions of the models.

    Examples
    --------
    >>> from tallybayes import compare_models
    >>> from tallybayes.datasets import load_watermelon
    >>> compare_models(*load_watermelon()).best
    'BayesClassifier'

    A model of scikit-learn's beside the family:

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> found = compare_models(*load_iris(return_X_y=True), folds=2, models={"neighbours": KNeighborsClassifier()})
    >>> "neighbours" in found.to_frame("dict")["model"]
    True
    """
    if time_limit is not None and not (is_number(time_limit) and time_limit > 0):
        raise OptionError(f"time_limit must be None or a number of seconds above 0; got {brief(time_limit)}.")
    entrants = [*CONTESTANTS, *_own(models)]
    table = read_table(X)
    codes, labels = read_labels(y, table.n)
    if len(labels) < 2:
        raise LabelError(f"There is nothing to compare: all rows are of class {brief(labels[0])}.")
    found = infer_schema(table, schema, reads_text=True)
    parts = _folds(codes, folds, random_state)
    suiting, entries = [each for each in entrants if each.suits(found)], []
    with telling("comparing", bool(verbose)):
        for i, contestant in enumerate(suiting):
            if watch is not None:
                watch(contestant.name)
            stage(f"{contestant.name} ({i + 1} of {len(suiting)})", len(parts))
            entries.append(_enter(contestant, found, X, labels[codes], parts, time_limit))
    if all(e.error for e in entries if not e.baseline):
        raise TallybayesError(f"No model can be fitted: {entries[0].error}")
    entries.sort(key=lambda e: (bool(e.error), 0.0 if e.error else e.scores.log_loss.value))
    scored = max(e.scores.n for e in entries)
    leaking_column = _leaking_column(table, codes) if entries[0].scores.accuracy.value == 1 else None
    return Comparison(
        table.n, labels.tolist(), len(parts), tuple(entries), table.n - scored, table.container, leaking_column
    )


def _leaking_column(table: Table, codes: Array) -> str | None:
    """The first column that alone says the class of every row: each value goes with one class, and is there twice on
    average at least, or each class is a range of numbers."""
    if table.csr is not None:
        return None
    K = len(np.unique(codes))
    for j, column in enumerate(raw_columns(table, range(table.d))):
        values = column.values if column.storage == "numbers" else np.array(list(map(str, column.plain())))
        _, level = np.unique(values, return_inverse=True)
        pairs = len(np.unique(level.astype(np.int64) * K + codes))
        n_levels = int(level.max()) + 1
        runs = 1 + int((np.diff(codes[np.argsort(level, kind="stable")]) != 0).sum())
        if pairs == n_levels and (2 * n_levels <= len(codes) or (column.storage == "numbers" and runs == K)):
            return table.name(j)
    return None


def _own(models: object) -> list[Contestant]:
    """The contestants that a caller brings; a model of this library joins the family, another one is a baseline."""
    if models is None:
        return []
    if not isinstance(models, Mapping):
        raise OptionError(
            f"models must be a dict from name to classifier, as in {{'forest': RandomForestClassifier()}}; got "
            f"{brief(models)}."
        )
    taken = [contestant.name for contestant in CONTESTANTS]
    for name, model in models.items():
        if not isinstance(name, str) or name in taken:
            raise OptionError(f"models: {brief(name)} is no name of your own. Taken: {listing(taken)}.")
        if isinstance(model, type):
            raise OptionError(f"models[{name!r}] must be a classifier, not its class: write {model.__name__}().")
        if not all(hasattr(model, method) for method in ("fit", "get_params", "predict_proba")):
            raise OptionError(f"models[{name!r}] must be a classifier with predict_proba; got {brief(model)}.")
    return [
        Contestant(name, partial(_made, model), baseline=not isinstance(model, GenerativeClassifier))
        for name, model in models.items()
    ]


def _made(model: object, _: Schema) -> Own:
    return Own(model)


def _folds(codes: Array, folds: int, seed: int) -> list[tuple[Array, Array]]:
    from sklearn.model_selection import StratifiedKFold

    if not isinstance(folds, int) or folds < 2:
        raise OptionError(f"folds must be a whole number of at least 2; got {brief(folds)}.")
    n = np.bincount(codes)
    folds = min(folds, int(n.max()))
    if folds < 2:
        raise LabelError("Every class has one row only: nothing can be learned and then tested. More rows are needed.")
    if (n > 1).sum() < 2:
        raise LabelError(
            f"Only one of the {len(n)} classes has more than one row: all that could be tested are rows of that class, "
            "and any model looks good. More rows of the others are needed."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class rarer than the folds: see Comparison.unscored
        split = StratifiedKFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(codes)), codes)
        return list(split)


def _enter(
    contestant: Contestant,
    schema: Schema,
    X: object,
    y: Array,
    parts: Sequence[tuple[Array, Array]],
    limit: float | None,
) -> Entry:
    scores, losses = Scores.none(), np.full(len(y), np.nan)
    fit_seconds: list[float] = []
    predict_seconds: list[float] = []
    try:
        for train, test in parts:
            if limit is not None and sum(fit_seconds) + sum(predict_seconds) > limit:
                raise TallybayesError(f"stopped: {len(fit_seconds)} of {len(parts)} parts took more than {limit:g} s.")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                learned, asked = rows_of(X, train), rows_of(X, test)
                t0 = time.perf_counter()
                model = contestant.make(schema).fit(learned, y[train])
                t1 = time.perf_counter()
                log_proba = model.predict_log_proba(asked)
                t2 = time.perf_counter()
            step()
            fit_seconds.append(t1 - t0)
            predict_seconds.append(t2 - t1)
            truth = positions(y[test], model.classes_)
            known = truth >= 0
            scores = scores.add(truth[known], log_proba[known])
            losses[test[known]] = row_scores(truth[known], log_proba[known])[:, 1]
    except (TallybayesError, ValueError) as e:
        return Entry(contestant.name, contestant.baseline, Scores.none(), np.zeros(1), np.zeros(1), losses, str(e))
    seconds = np.array(fit_seconds), np.array(predict_seconds)
    return Entry(contestant.name, contestant.baseline, scores, *seconds, losses, ensemble=contestant.ensemble)


def rows_of(X: Any, index: Array) -> object:
    """Some rows of a table of any kind."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[index].to_native()
    if isinstance(X, list):
        return [X[i] for i in index.tolist()]
    return X[index]

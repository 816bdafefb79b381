"""StreamingBayes: an adaptive ensemble for streams that drift."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tallybayes import _core
from tallybayes.data.encoding.codes import level_codes
from tallybayes.data.encoding.numeric import dense, kinds_are_settled
from tallybayes.data.labels import Target, accuracy, read_classes, read_target, union
from tallybayes.data.schema import Schema, align, infer_schema
from tallybayes.data.table import Table, read_table
from tallybayes.errors import LabelError
from tallybayes.estimators.memory_errors import name_sizes
from tallybayes.estimators.model_lock import lock_of
from tallybayes.estimators.parameters import check_single_values
from tallybayes.estimators.sklearn_bases import BaseEstimator, ClassifierMixin, not_fitted
from tallybayes.model.term import refused
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from sklearn.utils import Tags

CATEGORICAL = ("categorical", "binary")
HALF_LIVES = (float("inf"), 1e4, 1e3, 1e2)  # in rows, as in cpp/core/streams/decayed_counts.hpp
NEIGHBOR_WINDOWS, NEIGHBORS = (64, 256, 1024, 4096), (3, 8, 20)
FOREST_WINDOWS = (256, 1024, 4096, 16384)
MOST_CLASSES = 1000
FEW_ROWS, BLOCK_ROWS = 256, 1024  # learned in place, as py_learn does; learned between two looks at signals
EXPERTS = (
    *(f"class shares, half-life {h:g}" for h in HALF_LIVES),
    *(f"naive Bayes, half-life {h:g}" for h in HALF_LIVES),
    *(f"{k} neighbours of {w} rows" for w in NEIGHBOR_WINDOWS for k in NEIGHBORS),
    *(f"forest of {w} rows" for w in FOREST_WINDOWS),
    "logistic regression on normal scores",
    "logistic regression on bins",
    "logistic regression on bins and pairs",
)


@dataclass(frozen=True)
class Drift:
    """A change of a stream that raised the log-loss of the naive Bayes expert with a half-life of 1,000 rows.

    Parameters
    ----------
    row : int
        How many rows had been learned when it was found.
    since : int
        How many of the last rows lie after the change, as far as the detector can tell.
    loss_before : float
        Mean log-loss of that expert before the change. A row counts 4 at most.
    loss_after : float
        Mean log-loss after it.
    columns : dict
        From column to bits: how far the joint distribution of the column and the class has moved (Jensen–Shannon
        divergence, less what chance gives), the largest first.
    """

    row: int
    since: int
    loss_before: float
    loss_after: float
    columns: dict[str, float]


@name_sizes
class StreamingBayes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier for streams that drift: experts with several memories, stacked row by row.

    The experts are: class shares and naive Bayes on quantile bins that move with the data, counted at half-lives of
    ∞, 10⁴, 10³ and 10² rows; distance-weighted k-nearest neighbours among the last 64 to 4,096 rows; random forests
    of the last 256 to 16,384 rows, of which the oldest tree is grown again in turn while the leaves of all count each
    row; and logistic regression on normal scores, on bins, and on pairs of bins, learned row by row (AdaGrad).
    Log-linear pools of their predictions (online gradient descent and AdaGrad at several rates) are mixed by fixed
    share (Herbster and Warmuth 1998). Each row is predicted before it is learned, so every weight follows the
    prequential log-loss, and there is no half-life to choose.

    Memory is bounded: 16,384 rows, counts, weights and trees, whatever the length of the stream. Rows are learned in
    their order, which matters; they cannot be forgotten one by one, and two such models cannot be merged. Where that
    is needed use an estimator with ``half_life``.

    Parameters
    ----------
    schema : dict, str or Schema, default=None
        Kinds of columns that the first rows do not show: ``{"town": "categorical"}``. Numbers are numeric by default,
        strings and booleans categorical.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in the order of all predictions. A new class may come with any row, up to 1,000.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, where the table has names.
    schema_ : Schema
        Kinds and levels of the columns. The first 254 levels of a column have counts of their own.
    n_rows_ : int
        Number of rows learned.
    drift_ : list of Drift
        The last 256 changes that raised the log-loss of naive Bayes with a half-life of 1,000 rows (ADWIN, Bifet and
        Gavaldà 2007).
    half_life_ : float
        The half-life in force: that with the largest weight in a fixed-share mixture of the naive Bayes experts.
    weights_ : dict
        Stacking weight of each expert.

    See Also
    --------
    NaiveBayes : With ``half_life``; merges and forgets.
    tallybayes.evaluation.prequential : Evaluates any model on a stream.

    References
    ----------
    * Herbster and Warmuth (1998), Tracking the best expert. Machine Learning 32.
    * Bifet and Gavaldà (2007), Learning from time-changing data with adaptive windowing. SDM.

    Examples
    --------
    Each person is predicted before they are learned:

    >>> from tallybayes import StreamingBayes
    >>> from tallybayes.datasets import load_census
    >>> people, income = load_census()
    >>> model, right = StreamingBayes(), 0
    >>> for person, label in zip(people[:1000], income):
    ...     right += model.is_fitted and model.predict_one(person) == label
    ...     _ = model.learn_one(person, label)
    >>> right > 800
    True
    """

    classes_: Array
    n_features_in_: int
    feature_names_in_: Array
    _learner: _core.StreamLearner
    _schema: Schema
    _labels: list[Any]  # in the order of the learner
    _code: dict[Any, int]
    _order: Array  # of the sorted classes in the learner

    def __init__(self, *, schema: object = None) -> None:
        self.schema = schema

    # --- learning ------------------------------------------------------------------------------------------------

    def fit(self, X: object, y: object) -> Self:
        """Learn these rows in their order; what was learned before is discarded.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            pandas, polars, pyarrow, NumPy, scipy sparse, or a list of dicts. Missing values are allowed.
        y : array-like of shape (n_rows,)
            The class label of each row.

        Returns
        -------
        self : StreamingBayes
            The same model, fitted.
        """
        with lock_of(self):
            self._learn(X, y, None, fresh=True)
        return self

    def partial_fit(self, X: object, y: object, classes: object = None) -> Self:
        """Learn more rows, in their order: the same, to the bit, as learn_one of each.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            pandas, polars, pyarrow, NumPy, scipy sparse, or a list of dicts. Missing values are allowed.
        y : array-like of shape (n_rows,)
            The class label of each row.
        classes : array-like, default=None
            Labels that can occur; others are learned when they come.

        Returns
        -------
        self : StreamingBayes
            The same model, which has learned the rows.
        """
        with lock_of(self):
            self._learn(X, y, classes, fresh=not self.is_fitted)
        return self

    def learn_one(self, row: Mapping[str, object], y: object) -> Self:
        """Learn one row. If it was just predicted, the prediction is not computed again.

        Parameters
        ----------
        row : dict from column to value
            A key left out is a missing value. The first row may start the model.
        y : label
            Its class; it may be new.

        Returns
        -------
        self : StreamingBayes
            The same model, which has learned the row.
        """
        with lock_of(self):
            reader = self._row_reader()
            if reader is None or not reader.learn(row, y):
                self._learn([row], [y], None, fresh=not self.is_fitted)
        return self

    def _learn(self, X: object, y: object, classes: object, *, fresh: bool) -> None:
        check_single_values(self)
        table = read_table(X)
        target = read_target(y, table.n, None)
        labels = target.classes.tolist()
        if fresh:
            schema = infer_schema(table, self.schema, "real", False, type(self).__name__)
            learner, known = _core.StreamLearner(np.array([k in CATEGORICAL for k in schema.kinds])), []
        else:
            schema, learner, known = self._schema, self._learner, list(self._labels)
        found = target.classes if classes is None else union(target.classes, read_classes(classes))
        found = found if fresh else union(self.classes_, found)  # LabelError where two labels cannot be of one column
        if len(found) > MOST_CLASSES:
            raise LabelError(
                f"There are {len(found)} classes; StreamingBayes takes {MOST_CLASSES} at most. Is y a class label?"
            )
        x, schema = self._matrix(table, schema, learning=True, fresh=fresh)
        # the classes get room in the order in which they come, as in learn_one
        new = _in_order_of_rows(target) if classes is None else found.tolist()
        known += [label for label in new if label not in set(known)]
        code = {label: i for i, label in enumerate(known)}
        y_codes = np.array([code[label] for label in labels], dtype=np.int32)[target.y]
        if not fresh and len(x) < FEW_ROWS and len(known) == len(self._labels):
            self._set_learner(learner, schema, known, found)  # first: the rows may be learned and the call interrupted
            learner.learn(x, y_codes)
            return
        if not fresh:
            learner = learner.copy()  # what fails or is interrupted changes nothing; nor does a fork see half of it
        if classes is not None:
            learner.grow(len(known))
        for start in range(0, len(x), BLOCK_ROWS):
            learner.learn(x[start : start + BLOCK_ROWS], y_codes[start : start + BLOCK_ROWS])
        self._set_learner(learner, schema, known, found)

    def _set_learner(self, learner: _core.StreamLearner, schema: Schema, known: list[Any], classes: Array) -> None:
        """known: the labels in the order of the learner; classes: sorted."""
        code = {label: i for i, label in enumerate(known)}
        made: dict[str, Any] = {
            "_learner": learner,
            "_schema": schema,
            "_labels": known,
            "_code": code,
            "_order": np.array([code[label] for label in classes.tolist()], dtype=np.intp),
            "_reader": None,
            "classes_": classes,
            "n_features_in_": schema.n_inputs,
        }
        if schema.input_names is not None:
            made["feature_names_in_"] = np.array(schema.input_names, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)
        self.__dict__.update(made)

    # --- predicting ----------------------------------------------------------------------------------------------

    def predict_proba(self, X: object) -> Floats:
        """Predict the probability of each class.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes. A level that was never seen counts as missing.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            In the order of ``classes_``.
        """
        with lock_of(self):
            self._require_fit()
            x, _ = self._matrix(read_table(X), self._schema, learning=False, fresh=False)
            return self._probabilities(x)

    def predict_log_proba(self, X: object) -> Floats:
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            In the order of ``classes_``.
        """
        return np.log(self.predict_proba(X))

    def predict(self, X: object) -> Array:
        """Predict the most probable class of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes.

        Returns
        -------
        ndarray of shape (n_rows,)
            Labels.
        """
        p = self.predict_proba(X)
        found: Array = self.classes_[np.argmax(p, axis=1)]
        return found

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Compute the accuracy on these rows.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes.
        y : array-like of shape (n_rows,)
            The true class of each row.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row; None: 1.

        Returns
        -------
        accuracy : float
            From 0 to 1. A row of an unseen class counts as wrong.
        """
        best = np.argmax(self.predict_proba(X), axis=1)
        return accuracy(self.classes_, best, read_target(y, len(best), sample_weight))

    def predict_proba_one(self, row: Mapping[str, object]) -> dict[Any, float]:
        """Predict the probability of each class for one row.

        Parameters
        ----------
        row : dict from column to value
            A key left out is a missing value.

        Returns
        -------
        dict from label to probability
            In the order of ``classes_``.
        """
        with lock_of(self):
            self._require_fit()
            reader = self._row_reader()
            found: Any = None if reader is None else reader.proba(row)
            if found is None:
                x, _ = self._matrix(read_table([row]), self._schema, learning=False, fresh=False)
                found = dict(zip(self.classes_.tolist(), self._probabilities(x)[0].tolist(), strict=True))
            answer: dict[Any, float] = found
            return answer

    def predict_one(self, row: Mapping[str, object]) -> Any:
        """Predict the most probable class of one row.

        Parameters
        ----------
        row : dict from column to value
            A key left out is a missing value.

        Returns
        -------
        label
            The most probable class.
        """
        found = self.predict_proba_one(row)
        return max(found, key=found.__getitem__)

    def _probabilities(self, x: Floats) -> Floats:
        """In the order of classes_."""
        return np.ascontiguousarray(np.asarray(self._learner.predict(x))[:, self._order])

    # --- what it has become --------------------------------------------------------------------------------------

    @property
    def schema_(self) -> Schema:
        """Schema: kinds and levels of the columns."""
        return self._require_attribute("schema_")._schema

    @property
    def n_rows_(self) -> int:
        """int: how many rows were learned."""
        return int(self._require_attribute("n_rows_")._learner.seen)

    @property
    def drift_(self) -> list[Drift]:
        """list of Drift: the last 256 changes."""
        self._require_attribute("drift_")
        names = [self._schema.name(j) for j in range(self._schema.d)]
        found = []
        for row, since, before, after, bits in self._learner.drifts():
            by_bits = sorted(zip(names, bits, strict=True), key=lambda pair: -pair[1])
            found.append(Drift(row, since, before, after, dict(by_bits)))
        return found

    @property
    def half_life_(self) -> float:
        """float: the half-life in force."""
        memory = self._require_attribute("half_life_")._learner.memory()
        return HALF_LIVES[int(np.argmax(memory))]

    @property
    def weights_(self) -> dict[str, float]:
        """dict: stacking weight of each expert."""
        return dict(zip(EXPERTS, self._require_attribute("weights_")._learner.weights(), strict=True))

    def ignore_extra(self, ignore: bool = True) -> Self:
        """Ignore columns, and keys of dicts, that were not there in the first rows.

        Parameters
        ----------
        ignore : bool, default=True
            False makes them errors again.

        Returns
        -------
        self : StreamingBayes
            The same model.
        """
        with lock_of(self):
            self._require_fit()
            self._schema = replace(self._schema, extra=bool(ignore))
            self.__dict__.pop("_reader", None)
        return self

    def copy(self) -> Self:
        """Copy the model.

        Returns
        -------
        copy : StreamingBayes
            A model that has learned the same; what either learns from now on, the other does not.
        """
        other = type(self).__new__(type(self))
        other.__setstate__(self.__getstate__())
        return other

    def __getattr__(self, name: str) -> Any:
        if name in ("merge", "forget", "forget_one", "decay"):
            raise AttributeError(
                f"StreamingBayes has no {name}: its trees and stacking weights depend on the order of all rows, so "
                "rows cannot be taken out and two models cannot be added. NaiveBayes(half_life='auto') can."
            )
        return object.__getattribute__(self, name)  # raises again, as the property that failed did

    @property
    def is_fitted(self) -> bool:
        """bool: whether it has learned anything yet."""
        return "_learner" in self.__dict__

    # --- reading -------------------------------------------------------------------------------------------------

    def _matrix(self, table: Table, schema: Schema, *, learning: bool, fresh: bool) -> tuple[Floats, Schema]:
        """The rows as numbers: levels as their codes, NaN where a value is missing or a level was never seen."""
        table = align(table, schema, type(self).__name__)
        x = np.full((table.n, schema.d), np.nan)
        real = [j for j, kind in enumerate(schema.kinds) if kind not in CATEGORICAL]
        levels = [j for j, kind in enumerate(schema.kinds) if kind in CATEGORICAL]
        if real:
            with nullcontext() if fresh else kinds_are_settled():
                x[:, real] = dense(table, schema, real, learning).block(slice(0, table.n)).T
            row, j = divmod(int(np.argmax(np.isinf(x))), schema.d)
            if np.isinf(x[row, j]):
                raise refused(
                    _core.BadValue("infinite", row, j, float(x[row, j])), schema, range(schema.d), type(self).__name__
                )
        if levels:
            try:
                codes, schema = level_codes(table, schema, levels, learning, {})
            except _core.BadValue as e:
                raise refused(e, schema, levels, type(self).__name__) from None
            for j, code in zip(levels, codes, strict=True):
                x[:, j] = np.where(code < 0, np.nan, code)  # below 0: missing, or unseen
        return x, schema

    def _row_reader(self) -> _core.StreamRow | None:
        """What reads the usual dict; None where a row needs a table: before the first, and with dates and the like."""
        reader: _core.StreamRow | None = self.__dict__.get("_reader")
        if reader is None and self.is_fitted and self._schema.expansion is None:
            schema, names = self._schema, [self._schema.name(j) for j in range(self._schema.d)]
            levels = [
                (dict(schema.levels[j].index()) if j in schema.levels else {}) if kind in CATEGORICAL else None
                for j, kind in enumerate(schema.kinds)
            ]
            labels = {label: self._code[label] for label in self.classes_.tolist()}
            reader = self._reader = _core.StreamRow(self._learner, names, levels, labels)
        return reader

    # --- state ---------------------------------------------------------------------------------------------------

    def _require_fit(self) -> None:
        if not self.is_fitted:
            raise not_fitted(
                "This StreamingBayes instance is not fitted yet. Call 'fit', 'partial_fit' or 'learn_one' with "
                "appropriate arguments before using this estimator."
            )

    def _require_attribute(self, name: str) -> Self:
        if not self.is_fitted:
            raise AttributeError(f"'StreamingBayes' object has no attribute {name!r}: it is not fitted yet.")
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_fitted

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        with lock_of(self):
            state = {k: v for k, v in super().__getstate__().items() if k not in ("_lock", "_reader", "_learner")}
            if self.is_fitted:
                state["_state"] = np.asarray(self._learner.bytes())
                state["_labels"], state["_code"] = list(self._labels), dict(self._code)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        held = state.pop("_state", None)
        super().__setstate__(state)
        if held is not None:
            self._learner = _core.StreamLearner.read(held)

    def _restore(self, schema: Schema, labels: list[Any], state: Array) -> Self:
        """Take over what a file holds; ValueError if the parts do not fit together."""
        learner = _core.StreamLearner.read(np.ascontiguousarray(state))
        if learner.classes != len(labels) or len(set(labels)) != len(labels):
            raise ValueError("the number of its classes is not that of its learner")
        if learner.columns != schema.d:
            raise ValueError("the number of its columns is not that of its learner")
        self._set_learner(learner, schema, labels, read_classes(labels))
        return self


def _in_order_of_rows(target: Target) -> list[object]:
    """The labels in the order in which they come first."""
    first = np.sort(np.unique(target.y, return_index=True)[1])
    labels = target.classes.tolist()
    return [labels[c] for c in target.y[first].tolist()]

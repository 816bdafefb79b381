"""The face that all classifiers of this library share: learn, forget, merge, predict, sample.

An estimator holds a schema, groups of columns, a tally, and (made when first needed) parameters. Every way of
learning ends in `_keep`, which is the only place where a fitted model changes: a call that fails changes nothing.
A model read from a file enters by `_hold`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core, tally
from tallybayes.errors import LabelError, MergeError, OptionError, TableError, is_number, listing
from tallybayes.estimators.contract import BaseEstimator, ClassifierMixin, not_fitted
from tallybayes.estimators.evidence import Explains
from tallybayes.estimators.generate import Generates
from tallybayes.estimators.inputs import OTHER, check_weights, drop_weightless, warn_ambiguous, warn_unseen
from tallybayes.estimators.linear import LinearForms
from tallybayes.estimators.one_row import OneRow, Settled, settle
from tallybayes.estimators.priors import Priors
from tallybayes.estimators.tempers import Tempers, choose
from tallybayes.labels import positions, read_labels, recode, union
from tallybayes.parameters import Parameters, estimate, log_priors
from tallybayes.plan import Batch, Group, assign, encode_batch, learn_cuts, named, same_shape
from tallybayes.schema import Kind, Schema, align, infer_schema
from tallybayes.source import Table, read_table
from tallybayes.tally import Tally

Array = NDArray[Any]
Floats = NDArray[np.float64]


class TallyClassifier(
    OneRow,
    Tempers,
    Generates,
    Priors,
    LinearForms,
    Explains,
    ClassifierMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Fit, partial_fit, forget, merge, decay; predict in every form; sample. Subclasses say which distributions."""

    classes_: Array
    n_features_in_: int
    schema_ = Settled[Schema]()
    _groups: tuple[Group, ...]
    _tally = Settled[Tally]()
    _closed: bool  # classes were declared: another label is an error
    _unseen = "ignore"
    _can_be_other = True  # unseen='other' is a choice

    # --- what a subclass decides -------------------------------------------------------------------------------

    def _choose(self, schema: Schema) -> tuple[Group, ...]:
        """The groups of columns."""
        return assign(schema, None, {})

    def _kind(self) -> Kind:
        """The kind of a numeric column of which nothing else is known."""
        return "real"

    def _given_schema(self) -> Any:
        return None

    def _prior(self) -> Any:
        """None, 'uniform', 'laplace', or one number per class."""
        return None

    def _choose_again(self, schema: Schema, groups: tuple[Group, ...]) -> tuple[Group, ...]:  # noqa: ARG002
        """The groups for more rows, after these: with the parameters as they are now."""
        return self._choose(schema)

    def _tune(self, groups: tuple[Group, ...], batch: Batch, total: Tally, y: Any, w: Any) -> tuple[Group, ...]:  # noqa: ARG002
        """The groups with options filled in that are chosen on the first rows."""
        return groups

    def _structure(
        self,
        groups: tuple[Group, ...],
        batch: Batch,  # noqa: ARG002
        schema: Schema,  # noqa: ARG002
        total: Tally,
        y: Any,  # noqa: ARG002
        w: Any,  # noqa: ARG002
    ) -> tuple[tuple[Group, ...], Tally]:
        """The groups with the dependences between their columns chosen, and a tally that holds what they need."""
        return groups, total

    def _check_held(self, total: Tally) -> None:  # noqa: ARG002
        """Raises ValueError if what is held besides the tally (it comes from a file) does not suit it."""
        self._check_temperature()

    def _check_options(self) -> None:
        """Raises OptionError if a parameter is outside what is allowed."""
        self._check_tempered()

    # --- learning ----------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learns from these rows alone, forgetting all before.

        X: a table (pandas, polars, pyarrow, NumPy, scipy sparse, rows as dicts); missing values are left out of the
        counts. y: the class label of each row. sample_weight: how many times each row counts.
        """
        with self._speaking():
            self._learn(X, y, sample_weight, None, fresh=True)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Adds these rows to what was learned before.

        classes: all labels that can ever occur; given once, any other label is an error. Without it new classes may
        appear in any batch.
        """
        with self._speaking():
            self._learn(X, y, sample_weight, classes, fresh=not self._fitted())
        return self

    def _learn(self, X: Any, y: Any, sample_weight: Any, classes: Any, fresh: bool) -> None:
        self._check_options()
        table = read_table(X)
        codes, found = read_labels(y, table.n)
        weights = check_weights(sample_weight, table.n)
        if fresh:
            schema = infer_schema(table, self._given_schema(), self._kind())
            groups = self._choose(schema)
        else:
            schema, groups = self.schema_, self._choose_again(self.schema_, self._groups)
            if not same_shape(groups, self._groups):
                raise OptionError(
                    "A parameter that says what is counted was changed after the fit; the rows learned so far do not "
                    "suit it. Fit again."
                )
        table = self._aligned(table, schema, fresh)
        closed = classes is not None or (not fresh and self._closed)
        declared = self._declared(classes, fresh)
        found, codes = drop_weightless(found, codes, weights)
        if closed:
            unknown = found[positions(found, declared) < 0]
            if len(unknown):
                raise LabelError(
                    f"The target label(s) {unknown.tolist()} in y do not exist in the initial classes "
                    f"{declared.tolist()}."
                )
        labels = union(found, declared) if closed or not fresh else found
        if len(labels) == 0 or (fresh and len(found) == 0):
            raise LabelError("Nothing to learn from: every sample weight is zero.")
        codes = recode(codes, found, labels) if not np.array_equal(found, labels) else codes
        schema = learn_cuts(table, schema, groups, codes, weights, len(labels))
        batch, schema = encode_batch(table, schema, groups, True, {} if fresh else _sizes(self))
        new = tally.count(batch, schema, groups, labels, codes, weights)
        total = new if fresh else tally.combine(self._tally, new, groups)
        if fresh:
            groups = self._tune(groups, batch, total, codes, weights)
            groups, total = self._structure(groups, batch, schema, total, codes, weights)
        chosen = None
        if fresh and self.tempered:
            parameters = estimate(total, schema, groups, self._prior())
            chosen = choose(self, batch, codes, weights, schema, groups, total, parameters)
        self._keep(schema, groups, total, closed)
        if fresh:
            self._take_temperature(chosen)
        if fresh and schema.ambiguous and hasattr(self, "schema"):  # where one argument can settle it
            warn_ambiguous(schema)

    def _declared(self, classes: Any, fresh: bool) -> Array:
        known = np.empty(0, dtype=object) if fresh else self.classes_
        if classes is None:
            return known
        labels = list(classes)
        _, given = read_labels(labels, len(labels))
        if not fresh and not np.array_equal(given, self.classes_):
            raise LabelError(
                f"`classes={given.tolist()}` is not the same as on last call to partial_fit, was: {known.tolist()}"
            )
        return given

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Takes rows out again that were learned before: the exact inverse of learning them.

        Raises ForgetError, and changes nothing, if a count would fall below zero. A class with nothing left
        disappears unless it was declared.
        """
        self._require_fit()
        *_, old = self._rows_met(X, y, sample_weight, "Cannot forget rows of class {}: never learned.")
        left = tally.combine(self._tally, old, self._groups, sign=-1)
        if not self._closed and (left.weight == 0).any():
            left = tally.reclass(left, self._groups, left.classes[left.weight > 0])
        self._keep(self.schema_, self._groups, left, self._closed)
        return self

    def _rows_met(self, X: Any, y: Any, sample_weight: Any, refusal: str) -> tuple[Batch, Array, Any, Tally]:
        """Rows of known classes as the distributions read them, their classes and weights, and their tally."""
        table = self._aligned(read_table(X), self.schema_, fresh=False)
        codes, found = read_labels(y, table.n)
        weights = check_weights(sample_weight, table.n)
        found, codes = drop_weightless(found, codes, weights)
        unknown = found[positions(found, self.classes_) < 0]
        if len(unknown):
            raise LabelError(refusal.format(listing([str(v) for v in unknown])))
        codes = recode(codes, found, self.classes_)
        batch, schema = encode_batch(table, self.schema_, self._groups, True, _sizes(self))
        return batch, codes, weights, tally.count(batch, schema, self._groups, self.classes_, codes, weights)

    def merge(self, other: TallyClassifier) -> Self:
        """Adds what another model learned, as if its rows had been learned here."""
        self._require_fit()
        if type(other) is not type(self):
            raise MergeError(f"Cannot merge a {type(other).__name__} into a {type(self).__name__}.")
        other._require_fit()
        groups = self._groups
        schema = tally.union_schema(self.schema_, other.schema_, _sizes(self), _sizes(other))
        if not same_shape(groups, other._groups):
            raise MergeError(
                "The two models use different distributions, or count different combinations, for their columns."
            )
        mine = tally.relevel(self._tally, groups, self.schema_, schema)
        theirs = tally.relevel(other._tally, groups, other.schema_, schema)
        self._keep(schema, groups, tally.combine(mine, theirs, groups), self._closed and other._closed)
        return self

    def __add__(self, other: Any) -> Self:
        if not isinstance(other, TallyClassifier):
            return NotImplemented
        return self.copy().merge(other)

    def __radd__(self, other: Any) -> Self:
        """So that sum(models) works."""
        return self.copy() if isinstance(other, int) and other == 0 else NotImplemented

    def copy(self) -> Self:
        """A model that can go its own way."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__getstate__())
        return twin

    def __copy__(self) -> Self:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        """Arrays and plain values: the row door is opened again when needed."""
        settle(self)
        return {**super().__getstate__(), "_door": None}

    def decay(self, factor: float) -> Self:
        """Makes everything learned so far count `factor` times as much (0 < factor ≤ 1): for streams that drift."""
        self._require_fit()
        if not is_number(factor) or not 0 < factor <= 1:
            raise OptionError(f"factor must be above 0 and at most 1; got {factor!r}.")
        self._keep(self.schema_, self._groups, tally.scale(self._tally, self._groups, float(factor)), self._closed)
        return self

    def _keep(self, schema: Schema, groups: tuple[Group, ...], total: Tally, closed: bool) -> None:
        model = estimate(total, schema, groups, self._prior()) if total.weight.sum() > 0 else None
        self._hold(schema, groups, total, closed)
        self._model = model

    def _hold(self, schema: Schema, groups: tuple[Group, ...], total: Tally, closed: bool) -> None:
        """Takes over what was learned; its parameters are made when first asked for."""
        self.schema_, self._groups, self._tally, self._closed = schema, groups, total, closed
        self._model, self._door = None, None
        self._drop_left_out()  # now there are other rows
        self.classes_ = total.classes
        self.n_features_in_ = schema.d
        if schema.names is not None:
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    # --- asking ------------------------------------------------------------------------------------------------

    def predict_joint_log_proba(self, X: Any, priors: Any = None) -> Floats:
        """log P(x, class) of each row and class; priors: see predict_proba."""
        return self._matrix(X, "joint", priors)

    def predict_log_proba(self, X: Any, priors: Any = None) -> Floats:
        """log P(class | x), normalised in log space; priors: see predict_proba."""
        return self._matrix(X, "log_proba", priors)

    def predict_proba(self, X: Any, priors: Any = None) -> Floats:
        """P(class | x), columns in the order of classes_.

        priors: a class prior in the place of the model's own, for this question only: in any form that with_prior
        takes, or an array (rows, classes) with a prior for each row.
        """
        return self._matrix(X, "proba", priors)

    def predict(self, X: Any, priors: Any = None) -> Array:
        """The most probable class of each row; priors: see predict_proba."""
        best: NDArray[np.int64] = self._ask(X, "best", priors)
        return np.asarray(self.classes_[best])

    def score_samples(self, X: Any, priors: Any = None) -> Floats:
        """log p(x): is this row like anything seen? priors: see predict_proba."""
        return self._matrix(X, "evidence", priors)

    def _matrix(self, X: Any, how: str, priors: Any = None) -> Floats:
        answer: Floats = self._ask(X, how, priors)
        return answer

    def _ask(self, X: Any, how: str, priors: Any = None) -> Any:
        """Scores the rows and reads the answer: joint, log_proba, proba, best or evidence."""
        if not self._fitted():
            self._require_fit()
        parameters = self._parameters()
        start = self._start(parameters) if priors is None else log_priors(self._tally, priors)
        with self._speaking():
            if self._beta == 1:
                return self._answer(X, how, parameters, start)
            return self._tempered_answer(X, how, parameters, start)

    def _answer(self, X: Any, how: str, parameters: Parameters, start: Floats) -> Any:
        """start: what the log joint starts from, one for all rows or one for each."""
        table = self._aligned(read_table(X), self.schema_, fresh=False)
        batch, _ = encode_batch(table, self.schema_, self._groups, False, _sizes(self))
        scorer = make_scorer(batch.n, start)
        for group, part, data in zip(self._groups, parameters.parts, batch.data, strict=True):
            with named(self.schema_, group.columns):
                group.distribution.score(scorer, data, part)
        try:
            answer = getattr(scorer, how)()
        except _core.BadValue:
            with named(self.schema_, self._groups[scorer.refused].columns):
                raise
        self._report_unseen(scorer)
        return answer

    def _start(self, p: Parameters) -> Floats:
        """What the log joint starts from."""
        return p.log_prior

    def _report_unseen(self, scorer: _core.Scorer) -> None:
        """Says which columns held a category never met: a warning, or an error if that was asked for."""
        names = [self.schema_.name(self._groups[part].columns[col]) for part, col in scorer.unseen()]
        if names and self._unseen == "error":
            raise TableError(
                f"Categories that were not met while learning, in column(s) {listing(names)}. unseen='ignore' leaves "
                f"their factors out{OTHER if self._can_be_other else ''}."
            )
        if names and self._unseen == "ignore":
            warn_unseen(names, self._can_be_other)

    def _parameters(self) -> Parameters:
        if self._model is None:
            if not self._tally.weight.sum() > 0:
                raise not_fitted(
                    f"This {type(self).__name__} has forgotten every row it learned, or was made empty. Fit it again, "
                    "or let it learn rows."
                )
            self._model = estimate(self._tally, self.schema_, self._groups, self._prior())
        model: Parameters = self._model
        return model

    # --- house keeping -----------------------------------------------------------------------------------------

    @property
    def class_count_(self) -> Floats:
        """The weight of the rows of each class."""
        self._require_attribute("class_count_")
        return self._tally.weight.copy()

    def _fitted(self) -> bool:
        return "_tally" in self.__dict__

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted()

    def _require_fit(self) -> None:
        if not self._fitted():
            raise not_fitted(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            )

    def _require_attribute(self, name: str) -> None:
        """Before the fit, a fitted attribute does not exist."""
        if not self._fitted():
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}: it is not fitted yet.")

    def _aligned(self, table: Table, schema: Schema, fresh: bool) -> Table:
        if table.container == "rows":  # keys are names of columns, or x0, x1, …
            return align(table, schema)
        if not fresh and table.matrix is None and (table.names is None) != (schema.names is None):
            has, had = ("has", "without") if table.names is not None else ("does not have valid", "with")
            if table.csr is None:
                warnings.warn(
                    f"X {has} feature names, but {type(self).__name__} was fitted {had} feature names",
                    UserWarning,
                    stacklevel=4,
                )
        elif not fresh and table.matrix is not None and schema.names is not None:
            warnings.warn(
                f"X does not have valid feature names, but {type(self).__name__} was fitted with feature names",
                UserWarning,
                stacklevel=4,
            )
        return align(table, schema)

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Errors from below say "this model"; here it has a name."""
        try:
            yield
        except TableError as e:
            if "this model" not in str(e):
                raise
            raise type(e)(str(e).replace("this model", type(self).__name__)) from None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def make_scorer(n: int, start: Floats) -> _core.Scorer:
    """A scorer of n rows that starts from one log prior, or from one for each row."""
    if start.ndim == 2 and len(start) != n:
        raise OptionError(f"priors are for {len(start)} rows; X has {n}.")
    return _core.Scorer(n, start)


def _sizes(model: TallyClassifier) -> dict[int, int]:
    """How many codes each directly coded column has."""
    out: dict[int, int] = {}
    for group, s in zip(model._groups, model._tally.stats, strict=True):
        if "sizes" in s:
            out.update(zip(group.columns, s["sizes"].tolist(), strict=False))  # real columns come last, and have none
    return {j: size for j, size in out.items() if j not in model.schema_.cuts}

"""How a classifier learns: rows are read, counted, and added to what was there. The first ones settle more."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from tallybayes.data.encoding.to_numbers import kinds_are_settled
from tallybayes.data.labels import positions, read_classes, union, warn_unsavable
from tallybayes.data.leakage import warn_about_leakage
from tallybayes.data.schema import Schema, align, infer_schema
from tallybayes.data.table import Table, read_table
from tallybayes.data.target import Target, read_target
from tallybayes.errors import LabelError, OptionError, listing
from tallybayes.estimators.adding import Adds
from tallybayes.estimators.class_weights import WeighsClasses
from tallybayes.estimators.half_life import Fades
from tallybayes.estimators.inputs import warn_ambiguous
from tallybayes.estimators.tempered import Tempers, choose_temperature
from tallybayes.model.fitted import Fitted, count, tally
from tallybayes.model.rows import Rows, aligned, cut_columns, encode_rows, read_rows
from tallybayes.model.term import same_shape
from tallybayes.utils.array_types import Array
from tallybayes.utils.progress import stage, telling


class Learns(Adds, Fades, WeighsClasses, Tempers):
    """fit, partial_fit and forget."""

    _has_structure: ClassVar[bool] = False  # whether a subclass chooses something on the first rows, counted

    def _structure(self, fitted: Fitted, rows: Rows) -> Fitted:  # noqa: ARG002
        """The first rows, counted, with what is chosen on them: options, and which columns depend on which."""
        return fitted

    def _suit(self, table: Table, schema: Schema, target: Target) -> Schema:  # noqa: ARG002
        """The schema with what the first rows choose before anything is counted: distributions of numbers."""
        return schema

    def _asks_again(self) -> bool:
        """Whether the first rows are looked at again once they are counted; if not they are not kept encoded."""
        return self.tempered or self._has_structure

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls._has_structure = next(c for c in cls.__mro__ if "_structure" in vars(c)) is not Learns

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Learn from these rows alone, forgetting all before.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            pandas, polars, pyarrow, NumPy, scipy sparse, or a list of dicts. Missing values are left out of the counts.
        y : array-like of shape (n_rows,)
            The class label of each row.
        sample_weight : array-like of shape (n_rows,), default=None
            How many times each row counts; None counts each once.

        Returns
        -------
        self : estimator
            The same model, fitted.
        """
        with self._learning():
            self._learn(X, y, sample_weight, None, fresh=True, whole=True)
        return self

    def partial_fit(self, X: object, y: object, classes: object = None, sample_weight: object = None) -> Self:
        """Add these rows to what was learned before.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            pandas, polars, pyarrow, NumPy, scipy sparse, or a list of dicts. Missing values are left out of the counts.
        y : array-like of shape (n_rows,)
            The class label of each row.
        classes : array-like, default=None
            All labels that can ever occur; given once, any other label is an error. Without it new classes may appear
            in any batch.
        sample_weight : array-like of shape (n_rows,), default=None
            How many times each row counts; None counts each once.

        Returns
        -------
        self : estimator
            The same model, which has learned the rows.
        """
        with self._learning():
            self._require_adding()
            self._require_parts()
            self._learn(X, y, sample_weight, classes, fresh=not self._fitted())
        return self

    def _learn(
        self,
        X: object,
        y: object,
        sample_weight: object,
        classes: object,
        *,
        fresh: bool,
        later: bool = False,
        whole: bool = False,
    ) -> None:
        """later: parameters are estimated when they are first asked for. whole: these are all rows there are."""
        self._check_options()
        with telling(type(self).__name__, bool(self.verbose)):
            stage("reading")
            table = read_table(X)
            target, left = self._aged(read_target(y, table.n, sample_weight))
            if whole:
                warn_about_leakage(table, target)
            if fresh:
                self._learn_first(table, target, classes, whole)
                return
            all_of_it = self._with_more(self._again(), table, self._weighed(target), classes, left)
            if later:
                self.hold(all_of_it)
            else:
                self._keep(all_of_it)

    def _with_more(self, before: Fitted, table: Table, target: Target, classes: object, left: float) -> Fitted:
        """What was learned before, so much of it as is left, and these rows."""
        who, schema, terms = type(self).__name__, before.schema, before.terms
        table = aligned(table, schema, who)
        target, closed = labels_of(target, classes, before)
        self._check_weighed(target.classes, closed)
        stage("cutting and encoding")
        schema = cut_columns(table, schema, terms, target)
        stage("counting")
        with kinds_are_settled():
            new = tally(table, schema, terms, before.sizes(), who, target, closed)
        before = before if left == 1 else before.scale(left)
        return replace(before.add(new), closed=closed)

    def _learn_first(self, table: Table, target: Target, classes: object, whole: bool) -> None:
        """The first rows settle what the columns are, and whatever else is chosen on rows."""
        who, balanced = type(self).__name__, self._balanced(target)
        target = self._weighed(target, balanced)
        counted = None if target.w is None else target.y >= 0
        schema = infer_schema(table, self._given_schema(), self._kind(), self._reads_text, who, counted)
        table = align(table, schema, who)
        target, closed = labels_of(target, classes, None)
        self._check_weighed(target.classes, closed or whole)
        schema = self._suit(table, schema, target)
        terms = self._choose(schema)
        stage("cutting and encoding")
        schema = cut_columns(table, schema, terms, target)
        chosen = None
        if self._asks_again():
            rows = encode_rows(table, schema, terms, {}, who, grow=True).of_target(target)
            stage("counting")
            new = count(rows, terms, target.classes, closed)
            stage("choosing")
            fitted = self._structure(new, rows)
            if self.tempered:
                stage("leaving each row out, for the temperature")
                chosen = choose_temperature(fitted.estimate(self._prior()), rows, self._prior(), self._start)
        else:
            stage("counting")
            fitted = tally(table, schema, terms, {}, who, target, closed)
        stage("estimating")
        self._keep(fitted)
        self._take_temperature(chosen)
        self.__dict__.pop("class_weight_", None)
        if balanced is not None:
            self.class_weight_ = balanced
        warn_unsavable(fitted.classes)
        if schema.ambiguous and hasattr(self, "schema"):  # where one argument can settle it
            warn_ambiguous(schema)

    def _again(self) -> Fitted:
        """What was learned, to be read and added to with the parameters as they are now."""
        self._check_options()
        fitted = self.fitted_
        terms = self._choose_again(fitted)
        if not same_shape(terms, fitted.terms):
            raise OptionError(
                "A parameter that says what is counted was changed after the fit; the rows learned so far do not suit "
                "it. Fit again, or change it back."
            )
        return fitted.with_terms(terms)

    def forget(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Take rows out again that were learned before: the exact inverse of learning them.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The rows, as they were learned.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights that they were learned with.

        Returns
        -------
        self : estimator
            A class with nothing left disappears unless it was declared.

        Raises
        ------
        ForgetError
            If a count would fall below zero; nothing is changed then.
        """
        with self._learning():
            self._check_options()
            self._require_adding()
            _, old = self._rows_met(X, y, sample_weight, "Cannot forget rows of class {}: never learned.")
            self._keep(self._again().subtract(old))
        return self

    def _rows_met(self, X: object, y: object, sample_weight: object, refusal: str) -> tuple[Rows, Fitted]:
        """Rows of known classes, and their sums."""
        fitted = self.fitted_
        with kinds_are_settled():
            rows = read_rows(X, fitted.schema, fitted.terms, fitted.sizes(), type(self).__name__, grow=True)
        target = self._weighed(read_target(y, rows.n, sample_weight))
        rows = rows.of_target(target.within(fitted.classes, refusal))
        return rows, count(rows, fitted.terms, fitted.classes)


def labels_of(target: Target, classes: object, before: Fitted | None) -> tuple[Target, bool]:
    """The rows' classes among all that there are, and whether no others may come."""
    closed = classes is not None or (before is not None and before.closed)
    declared = _declared(classes, before)
    if closed:
        unknown = target.classes[positions(target.classes, declared) < 0]
        if len(unknown):
            raise LabelError(
                f"The target label(s) [{listing(unknown)}] in y do not exist in the initial classes "
                f"[{listing(declared)}]."
            )
    known = union(target.classes, declared) if closed or before is not None else target.classes
    if len(known) == 0 or (before is None and len(target.classes) == 0):
        raise LabelError("Nothing to learn from: every sample weight is zero.")
    return target.among(known), closed


def _declared(classes: object, before: Fitted | None) -> Array:
    known = np.empty(0, dtype=object) if before is None else before.classes
    if classes is None:
        return known
    given = read_classes(classes)
    if before is not None and not np.array_equal(given, before.classes):
        raise LabelError(
            f"`classes=[{listing(given)}]` is not the same as on last call to partial_fit, was: [{listing(known)}]"
        )
    return given

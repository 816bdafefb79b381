"""The face that all classifiers of this library share: learn, forget, merge, decay; predict in every form.

Every way of learning is the same line: rows are read, counted, and added to what was there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np

from tallybayes.arrays import Array
from tallybayes.encode import CUT
from tallybayes.errors import LabelError, ModelFileError, OptionError, listing
from tallybayes.estimators.adding import Adds
from tallybayes.estimators.asking import Answers
from tallybayes.estimators.class_weights import WeighsClasses
from tallybayes.estimators.contract import ClassifierMixin
from tallybayes.estimators.evidence import Explains
from tallybayes.estimators.fading import Fades
from tallybayes.estimators.far import Far
from tallybayes.estimators.generate import Generates
from tallybayes.estimators.inputs import warn_ambiguous
from tallybayes.estimators.linear import LinearForms
from tallybayes.estimators.one_row import OneRow
from tallybayes.estimators.priors import Priors
from tallybayes.estimators.tempers import Tempers, choose_temperature
from tallybayes.fitted import Fitted, count, tally
from tallybayes.labels import positions, read_classes, tell_unsavable, union
from tallybayes.plan import same_shape
from tallybayes.priors import log_prior
from tallybayes.progress import stage, telling
from tallybayes.rows import Rows, aligned, cut_columns, encode_rows, read_rows
from tallybayes.schema import Schema, align, infer_schema
from tallybayes.source import Table, read_table
from tallybayes.target import Target, read_target

if TYPE_CHECKING:
    from sklearn.utils import Tags


class TallyClassifier(
    Answers,
    Adds,
    Fades,
    ClassifierMixin,  # type: ignore[misc]
    WeighsClasses,
    OneRow,
    Far,
    Tempers,
    Generates,
    Priors,
    LinearForms,
    Explains,
):
    """Fit, partial_fit, forget, merge, decay; predict in every form. Subclasses say which distributions."""

    def _structure(self, fitted: Fitted, rows: Rows) -> Fitted:  # noqa: ARG002
        """The first rows, counted, with what is chosen on them: options, and which columns depend on which."""
        return fitted

    def _suit(self, table: Table, schema: Schema, target: Target) -> Schema:  # noqa: ARG002
        """The schema with what the first rows choose before anything is counted: distributions of numbers."""
        return schema

    def restore(self, fitted: Fitted, kept: Mapping[str, object]) -> Fitted:
        """Take over a model that was stored: its Fitted, and what ``kept`` gave back; for those who keep models.

        Parameters
        ----------
        fitted : Fitted
            What was learned; its sums are checked by who read them.
        kept : mapping
            Attributes by name.

        Returns
        -------
        again : Fitted
            The same sums as more rows would be counted: their distributions are those that the parameters ask for.

        Raises
        ------
        ModelFileError or ValueError
            If the parts do not fit together.
        """
        for name, value in kept.items():
            known = name in self._held_elsewhere or hasattr(type(self), name) or name in vars(self)
            if known or not name.isidentifier() or name.startswith("__"):
                raise ModelFileError(f"{type(self).__name__} cannot have the attribute {name!r:.60}.")
            setattr(self, name, value)
        self._check_held(fitted)
        self._check_options()
        terms = self._choose_again(fitted)
        if not same_shape(terms, fitted.terms):
            raise ModelFileError("Its parameters ask for other distributions than those it was fitted with.")
        if fitted.weight.sum() > 0:
            log_prior(fitted.weight, fitted.classes, self._prior())
        self._hold(fitted)
        return fitted.with_terms(terms)

    def _check_held(self, fitted: Fitted) -> None:  # noqa: ARG002
        """Raises ValueError if what is held besides the sums (it comes from a file) does not suit them."""
        self._check_temperature()
        self._check_kept_weights()

    # --- learning ----------------------------------------------------------------------------------------------

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
            self._learn(X, y, sample_weight, None, fresh=True)
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

    def schema_of(self, X: object) -> Schema:
        """Tell what this model would take the columns of a table for.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            pandas, polars, pyarrow, NumPy, scipy sparse, or a list of dicts.

        Returns
        -------
        Schema
            Names and kinds, by the types of the columns and what ``schema=`` says; no levels and no cuts.
        """
        return infer_schema(read_table(X), self._given_schema(), self._kind(), self._reads_text, type(self).__name__)

    def settles_on_rows(self, schema: Schema) -> bool:
        """Tell whether something is chosen on the first rows: cuts, a structure, options, a temperature.

        Parameters
        ----------
        schema : Schema
            What the columns are, such as ``schema_of`` tells.

        Returns
        -------
        bool
            If so, parts of a table that are counted apart need a plan that all of them share.
        """
        changed = type(self)._structure is not TallyClassifier._structure
        return self.tempered or changed or self._cuts_on_rows(schema)

    def _asks_again(self) -> bool:
        """Whether the first rows are looked at again once they are counted; if not they are not kept encoded."""
        return self.tempered or type(self)._structure is not TallyClassifier._structure

    def _cuts_on_rows(self, schema: Schema) -> bool:
        given = self._given_schema()
        cuts = given.cuts if isinstance(given, Schema) else {}
        terms = [t for t in self._choose(replace(schema, cuts=cuts)) if t.distribution.needs in ("cuts", "codes")]
        coded = [j for t in terms for j in t.columns[: len(t.columns) - getattr(t.distribution, "reals", 0)]]
        return any(schema.kinds[j] in CUT and j not in cuts for j in coded)

    def _learn(
        self, X: object, y: object, sample_weight: object, classes: object, fresh: bool, later: bool = False
    ) -> None:
        """later: parameters are estimated when they are first asked for."""
        self._check_options()
        with telling(type(self).__name__, bool(self.verbose)):
            self._learn_rows(X, y, sample_weight, classes, fresh, later)

    def _learn_rows(
        self, X: object, y: object, sample_weight: object, classes: object, fresh: bool, later: bool
    ) -> None:
        stage("reading")
        table = read_table(X)
        target, left = self._aged(read_target(y, table.n, sample_weight))
        balanced = self._balanced(target) if fresh else None
        target = self._weighed(target, balanced)
        if fresh:
            before, sizes = None, dict[int, int]()
            counted = None if target.w is None else target.y >= 0
            schema = infer_schema(
                table, self._given_schema(), self._kind(), self._reads_text, type(self).__name__, counted
            )
            table = align(table, schema, type(self).__name__)
            target, closed = self._labels(target, classes, before)
            schema = self._suit(table, schema, target)
            terms = self._choose(schema)
        else:
            before = self._again()
            schema, terms, sizes = before.schema, before.terms, before.sizes()
            table = aligned(table, schema, type(self).__name__)
            target, closed = self._labels(target, classes, before)
        stage("cutting and encoding")
        schema = cut_columns(table, schema, terms, target)
        again = before is None and self._asks_again()
        if again:
            rows = encode_rows(table, schema, terms, sizes, type(self).__name__, grow=True).of_target(target)
            stage("counting")
            new = count(rows, terms, target.classes, closed)
        else:
            stage("counting")
            new = tally(table, schema, terms, sizes, type(self).__name__, target, closed)
        if before is not None:
            before = before if left == 1 else before.scale(left)
            whole = replace(before.add(new), closed=closed)
            if later:
                self._hold(whole)
            else:
                self._keep(whole)
            return
        stage("choosing")
        fitted = self._structure(new, rows) if again else new
        chosen = None
        if self.tempered:
            stage("leaving each row out, for the temperature")
            chosen = choose_temperature(fitted.estimate(self._prior()), rows, self._prior(), self._start)
        stage("estimating")
        self._keep(fitted)
        self._take_temperature(chosen)
        self.__dict__.pop("class_weight_", None)
        if balanced is not None:
            self.class_weight_ = balanced
        tell_unsavable(fitted.classes)
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

    def _labels(self, target: Target, classes: object, before: Fitted | None) -> tuple[Target, bool]:
        """The rows' classes among all that there are, and whether no others may come."""
        closed = classes is not None or (before is not None and before.closed)
        declared = self._declared(classes, before)
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

    def _declared(self, classes: object, before: Fitted | None) -> Array:
        known = np.empty(0, dtype=object) if before is None else before.classes
        if classes is None:
            return known
        given = read_classes(classes)
        if before is not None and not np.array_equal(given, before.classes):
            raise LabelError(
                f"`classes=[{listing(given)}]` is not the same as on last call to partial_fit, was: [{listing(known)}]"
            )
        return given

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
        rows = read_rows(X, fitted.schema, fitted.terms, fitted.sizes(), type(self).__name__, grow=True)
        target = self._weighed(read_target(y, rows.n, sample_weight))
        rows = rows.of_target(target.within(fitted.classes, refusal))
        return rows, count(rows, fitted.terms, fitted.classes)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags

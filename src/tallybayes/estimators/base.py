"""The face that all classifiers of this library share: learn, forget, merge, decay; predict in every form.

Every way of learning is the same line: rows are read, counted, and added to what was there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from tallybayes.arrays import Array, Floats
from tallybayes.encode import CUT
from tallybayes.errors import LabelError, MergeError, ModelFileError, OptionError, brief, is_number, listing
from tallybayes.estimators.class_weights import WeighsClasses
from tallybayes.estimators.contract import ClassifierMixin
from tallybayes.estimators.evidence import Explains
from tallybayes.estimators.far import Far
from tallybayes.estimators.generate import Generates
from tallybayes.estimators.inputs import warn_ambiguous
from tallybayes.estimators.linear import LinearForms
from tallybayes.estimators.one_row import OneRow
from tallybayes.estimators.priors import Priors
from tallybayes.estimators.tempers import Tempers, choose_temperature
from tallybayes.fitted import Fitted, count
from tallybayes.labels import positions, read_classes, tell_unsavable, union
from tallybayes.plan import same_shape
from tallybayes.priors import log_prior, log_priors
from tallybayes.rows import Rows, aligned, cut_columns, encode_rows, read_rows
from tallybayes.schema import Schema, align, infer_schema
from tallybayes.source import Table, read_table
from tallybayes.target import Target, read_target

if TYPE_CHECKING:
    from sklearn.utils import Tags


class TallyClassifier(ClassifierMixin, WeighsClasses, OneRow, Far, Tempers, Generates, Priors, LinearForms, Explains):  # type: ignore[misc]
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

    def learn_batches(self, batches: Iterable[Any]) -> Self:
        """Add many batches of rows, all or none, and estimate parameters once at the end.

        Parameters
        ----------
        batches : iterable of (X, y) or (X, y, sample_weight)
            Tables with the labels of their rows, as partial_fit takes them.

        Returns
        -------
        self : estimator
            The same model, which has learned all of them.

        Examples
        --------
        >>> from tallybayes import GaussianNB
        >>> days = [([[1.0], [2.0]], ["low", "low"]), ([[8.0]], ["high"])]
        >>> GaussianNB().learn_batches(days).class_count_.tolist()
        [1.0, 2.0]
        """
        with self._learning():
            self._require_adding()
            self._require_parts()
            twin = self.copy()
            for X, y, *w in batches:
                twin._learn(X, y, w[0] if w else None, None, fresh=not twin._fitted(), later=True)
            if twin._fitted():
                self._take_over(twin, twin.fitted_)
        return self

    def _take_over(self, twin: Self, fitted: Fitted) -> None:
        """Becomes what a copy of it has become."""
        twin._keep(fitted)
        self.__dict__.update(twin.__getstate__())

    def schema_of(self, X: Any) -> Schema:
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
        return infer_schema(read_table(X), self._given_schema(), self._kind())

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

    def _cuts_on_rows(self, schema: Schema) -> bool:
        given = self._given_schema()
        cuts = given.cuts if isinstance(given, Schema) else {}
        terms = [t for t in self._choose(replace(schema, cuts=cuts)) if t.distribution.needs in ("cuts", "codes")]
        coded = [j for t in terms for j in t.columns[: len(t.columns) - getattr(t.distribution, "reals", 0)]]
        return any(schema.kinds[j] in CUT and j not in cuts for j in coded)

    def empty(self) -> Self:
        """Make a model of the same schema, cuts and structure that has learned nothing: a plan for others.

        Other machines can let it count their rows, and ``merge_all`` brings them together. It needs rows before it can
        answer.

        Returns
        -------
        estimator
            With no rows, and a model of its own.

        Examples
        --------
        >>> from tallybayes import BayesClassifier, merge_all
        >>> from tallybayes.datasets import load_watermelon
        >>> X, y = load_watermelon()
        >>> plan = BayesClassifier("fast").fit(X, y).empty()
        >>> parts = [plan.count(X[:9], y[:9]), plan.count(X[9:], y[9:])]
        >>> merge_all(parts).class_count_.tolist()
        [9.0, 8.0]
        """
        self._require_adding()
        return self.holding(self.fitted_.emptied())

    def count(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Count rows by themselves, as this model would count them: its schema, cuts and structure, none of its sums.

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
        estimator
            A model of these rows alone, whose parameters are estimated when they are first asked for; this one stays as
            it is. Such models add: by ``merge``, or many at once by ``merge_all``.
        """
        self._require_parts()
        part = self.empty()
        part._learn(X, y, sample_weight, None, fresh=False, later=True)
        return part

    def _require_adding(self) -> None:
        """Raises OptionError if more rows cannot be added to what was learned, nor rows be taken away."""

    def _learn(
        self, X: object, y: object, sample_weight: object, classes: object, fresh: bool, later: bool = False
    ) -> None:
        """later: parameters are estimated when they are first asked for."""
        self._check_options()
        table = read_table(X)
        target = read_target(y, table.n, sample_weight)
        balanced = self._balanced(target) if fresh else None
        target = self._weighed(target, balanced)
        if fresh:
            before, sizes = None, dict[int, int]()
            schema = infer_schema(table, self._given_schema(), self._kind(), self._reads_text, type(self).__name__)
            table = align(table, schema, type(self).__name__)
            target, closed = self._labels(target, classes, before)
            schema = self._suit(table, schema, target)
            terms = self._choose(schema)
        else:
            before = self._again()
            schema, terms, sizes = before.schema, before.terms, before.sizes()
            table = aligned(table, schema, type(self).__name__)
            target, closed = self._labels(target, classes, before)
        schema = cut_columns(table, schema, terms, target)
        rows = encode_rows(table, schema, terms, sizes, type(self).__name__, grow=True).of_target(target)
        new = count(rows, terms, target.classes, closed)
        if before is not None:
            whole = replace(before.add(new), closed=closed)
            if later:
                self._hold(whole)
            else:
                self._keep(whole)
            return
        fitted = self._structure(new, rows)
        chosen = None
        if self.tempered:
            chosen = choose_temperature(fitted.estimate(self._prior()), rows, self._prior(), self._start)
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

    def merge(self, other: TallyClassifier) -> Self:
        """Add what another model learned, as if its rows had been learned here.

        Parameters
        ----------
        other : estimator
            A fitted model of the same class, on the same columns.

        Returns
        -------
        self : estimator
            The same model, which knows both. ``a + b`` makes a third.

        Raises
        ------
        MergeError
            If the two models count different things.
        """
        self._check_merge(other)
        theirs = other.fitted_
        with self._learning():
            self._keep(self._again().merge(theirs))
        return self

    def _check_merge(self, other: TallyClassifier) -> None:
        """Raises an error if the two do not add, and there is more to say than that their terms differ."""
        self._require_fit()
        if type(other) is not type(self):
            raise MergeError(f"Cannot merge a {type(other).__name__} into a {type(self).__name__}.")
        self._require_adding()
        self._check_class_weights(other)

    def __add__(self, other: object) -> Self:
        if not isinstance(other, TallyClassifier):
            return NotImplemented
        return self.copy().merge(other)

    def __radd__(self, other: object) -> Self:
        """So that sum(models) works."""
        return self.copy() if isinstance(other, int) and other == 0 else NotImplemented

    def decay(self, factor: float) -> Self:
        """Make everything learned so far count less, for streams that drift.

        Parameters
        ----------
        factor : float
            Above 0 and at most 1: how many times as much each row counts from now on.

        Returns
        -------
        self : estimator
            The same model, with less weight.
        """
        self._require_fit()
        if not is_number(factor) or not 0 < factor <= 1:
            raise OptionError(f"factor must be above 0 and at most 1; got {brief(factor)}.")
        with self._learning():
            self._require_adding()
            self._keep(self._again().scale(float(factor)))
        return self

    # --- asking ------------------------------------------------------------------------------------------------

    def predict(self, X: object, priors: object = None) -> Array:
        """Tell the most probable class of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior in the place of the model's own, for this question only: an array in the order of
            ``classes_``, a dict or a Series by label, or an array (rows, classes) with a prior for each row.

        Returns
        -------
        labels : ndarray of shape (n_rows,)
            One of ``classes_`` for each row.
        """
        predictor = self.predictor_  # one for all: another thread may be learning
        best = predictor.answer(predictor.read(X), "best", other_start(predictor.fitted, priors))
        return np.asarray(predictor.fitted.classes[best])

    def predict_proba(self, X: object, priors: object = None) -> Floats:
        """Tell P(class | x) of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior in the place of the model's own, for this question only: an array in the order of
            ``classes_``, a dict or a Series by label, or an array (rows, classes) with a prior for each row.

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._matrix(X, "proba", priors)

    def predict_log_proba(self, X: object, priors: object = None) -> Floats:
        """Tell log P(class | x) of each row, normalised in log space.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior in the place of the model's own, for this question only: an array in the order of
            ``classes_``, a dict or a Series by label, or an array (rows, classes) with a prior for each row.

        Returns
        -------
        log_probabilities : ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._matrix(X, "log_proba", priors)

    def predict_joint_log_proba(self, X: object, priors: object = None) -> Floats:
        """Tell log P(x, class) of each row and class.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior in the place of the model's own, for this question only: an array in the order of
            ``classes_``, a dict or a Series by label, or an array (rows, classes) with a prior for each row.

        Returns
        -------
        log_joint : ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._matrix(X, "joint", priors)

    def score_samples(self, X: object, priors: object = None) -> Floats:
        """Tell log p(x): how much a row is like anything seen.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior in the place of the model's own, for this question only: an array in the order of
            ``classes_``, a dict or a Series by label, or an array (rows, classes) with a prior for each row.

        Returns
        -------
        log_density : ndarray of shape (n_rows,)
            The lower, the stranger the row.
        """
        return self._matrix(X, "evidence", priors)

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Tell the share of rows whose class is told right.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        y : array-like of shape (n_rows,)
            The true class of each row.
        sample_weight : array-like of shape (n_rows,), default=None
            How many times each row counts; None counts each once.

        Returns
        -------
        accuracy : float
            From 0 to 1. A row of a class that was never learned is told wrong.
        """
        predictor = self.predictor_
        rows = predictor.read(X)
        target = read_target(y, rows.n, sample_weight)
        counts = target.y >= 0
        if not counts.any():
            raise OptionError("There is nothing to score: every sample weight is zero.")
        both = union(self.classes_, target.classes)  # LabelError where labels of the two can never be equal
        best: NDArray[np.int64] = predictor.answer(rows, "best")
        right = positions(self.classes_, both)[best] == target.among(both).y
        return float(np.average(right[counts], weights=None if target.w is None else target.w[counts]))

    def _matrix(self, X: object, how: str, priors: object = None) -> Floats:
        answer: Floats = self._ask(X, how, priors)
        return answer

    def _ask(self, X: object, how: str, priors: object = None) -> Any:
        """joint, log_proba, proba, best or evidence of each row."""
        predictor = self.predictor_
        return predictor.answer(predictor.read(X), how, other_start(predictor.fitted, priors))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def other_start(fitted: Fitted, priors: object) -> Floats | None:
    """What the log joint starts from under a prior for one question; None: as always."""
    return None if priors is None else log_priors(fitted.weight, fitted.classes, priors)

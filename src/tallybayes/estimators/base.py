"""The interface that all classifiers of this library share.

Documented methods that delegate: to functions of this package, to `Fitted` and to `Predictor`. Every way of learning is
the same line: rows are read, counted, and added to what was there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np

from tallybayes.errors import OptionError
from tallybayes.estimators import (
    generate,
    half_life_mixture,
    learning,
    linear,
    merging,
    one_row,
    prior_shift,
    provenance,
    row_memory,
)
from tallybayes.estimators.model_lock import lock_of
from tallybayes.estimators.prior_shift import PriorShift
from tallybayes.estimators.row_weights import require_given_weights, require_no_order
from tallybayes.estimators.sklearn_bases import ClassifierMixin
from tallybayes.estimators.state import ModelState, with_fitted
from tallybayes.explain.evidence import explain_rows
from tallybayes.explain.novelty import NoveltyScore, novelty_score
from tallybayes.explain.ranking import importances, rank_features, showing
from tallybayes.model.fast_row import FastRow
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from sklearn.linear_model import LogisticRegression
    from sklearn.utils import Tags

    from tallybayes.receipts import Receipt


class GenerativeClassifier(ClassifierMixin, ModelState):  # type: ignore[misc]
    """Base class of all classifiers: the methods and attributes that each of them has."""

    _learn = learning.learn  # what fit and partial_fit do while the lock is held

    # --- learning ------------------------------------------------------------------------------------------------

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Fit the model to these rows; what it learned before is discarded.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            pandas, polars, pyarrow, NumPy, scipy sparse, or a list of dicts. Missing values are skipped.
        y : array-like of shape (n_rows,)
            The class label of each row.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row; None: 1.

        Returns
        -------
        self : estimator
            The same model, fitted.
        """
        with lock_of(self):
            self._learn(X, y, sample_weight, None, from_scratch=True, is_all_data=True)
        return self

    def partial_fit(self, X: object, y: object, classes: object = None, sample_weight: object = None) -> Self:
        """Add rows to the fitted model (incremental learning).

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            pandas, polars, pyarrow, NumPy, scipy sparse, or a list of dicts. Missing values are skipped.
        y : array-like of shape (n_rows,)
            The class label of each row.
        classes : array-like, default=None
            All labels that can occur; after that any other label is an error. None: a batch may bring new classes.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row; None: 1.

        Returns
        -------
        self : estimator
            The same model, which has learned the rows.
        """
        with lock_of(self):
            self._require_adding()
            self._require_exact()
            require_given_weights(self)
            self._learn(X, y, sample_weight, classes, from_scratch=not self.is_fitted)
        return self

    @overload
    def forget(
        self, X: object, y: object, sample_weight: object = None, *, receipt: Literal[False] = False
    ) -> Self: ...

    @overload
    def forget(self, X: object, y: object, sample_weight: object = None, *, receipt: Literal[True]) -> Receipt: ...

    def forget(self, X: object, y: object, sample_weight: object = None, *, receipt: bool = False) -> Self | Receipt:
        """Remove rows that were learned.

        With ``memory='rows'`` the model becomes, to the bit, the fit of the rows that are left (a level that a
        categorical type lists and no row has any more still counts in smoothing). Otherwise its
        statistics become those of the rows that are left (counts exactly for whole-number weights, means and sums of
        squares to rounding), and what was
        chosen with the rows (bins, distributions, structure, temperature) stays as it is. Names of levels and words
        that no row has any more leave the model; a level that comes back is new, also to bins of a BayesClassifier.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            The rows, as they were learned.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights that they were learned with.
        receipt : bool, default=False
            Whether to return a `Receipt` of the deletion in the place of the model. It takes about as long as writing
            the model twice.

        Returns
        -------
        self : estimator, or Receipt
            The same model without the rows. A class with no rows left disappears unless it was declared.

        Raises
        ------
        ForgetError
            If a row was never learned, as far as the model can know: always with ``memory='rows'`` and, but for a
            chance of one in 2⁶⁴ for each row learned, 'hashes'; with 'sample' (but in BayesClassifier) while it has all
            rows, or if the row would be in it; otherwise if a count or a sum of squares would fall below zero. Another
            row with the same counts is not noticed then. Nothing is changed.
        """
        if receipt:
            return learning.forget_with_receipt(self, X, y, sample_weight)
        learning.forget(self, X, y, sample_weight)
        return self

    def learn_one(self, row: Mapping[str, object], y: object, sample_weight: float = 1.0) -> Self:
        """Add one row, given as a dict: the same, to the bit, as partial_fit of a table of this row.

        With ``half_life`` all earlier rows fade, and the two ways agree to rounding.

        Parameters
        ----------
        row : dict from column to value, or a row of a pandas frame
            A key left out is a missing value. The first row may start the model.
        y : label
            Its class. A new class is added, unless the classes were declared.
        sample_weight : float, default=1.0
            Weight of the row.

        Returns
        -------
        self : estimator
            The same model, which has learned the row.

        See Also
        --------
        one_row : Whether a row takes microseconds, and if not, why.
        """
        try:  # the usual row asks for as little as can be: half of its time goes by here
            fast_row = self._state.fast_row
        except AttributeError:
            fast_row = None
        if type(fast_row) is FastRow and self.class_weight is None:
            learn = fast_row.learn_unlocked  # a slot is found faster than a method
            if learn(row, y, sample_weight, self.half_life):
                return self
        one_row.learn_locked(self, row, y, sample_weight)
        return self

    def forget_one(self, row: Mapping[str, object], y: object, sample_weight: float = 1.0) -> Self:
        """Remove one row that was learned: the same, to the bit, as forget of a table of this row.

        Parameters
        ----------
        row : dict from column to value, or a row of a pandas frame
            As it was learned.
        y : label
            Its class.
        sample_weight : float, default=1.0
            The weight it was learned with, less what has faded of it since.

        Returns
        -------
        self : estimator
            The same model without the row.

        Raises
        ------
        ForgetError
            If a count would fall below zero; nothing is changed then.

        See Also
        --------
        one_row : Whether a row takes microseconds, and if not, why.

        Examples
        --------
        >>> from tallybayes import NaiveBayes
        >>> model = NaiveBayes().fit([{"sky": "clear"}, {"sky": "grey"}], ["sail", "stay"])
        >>> model.learn_one({"sky": "grey"}, "sail").class_count_.tolist()
        [2.0, 1.0]
        >>> model.forget_one({"sky": "grey"}, "sail").class_count_.tolist()
        [1.0, 1.0]
        """
        one_row.forget_one(self, row, y, sample_weight)
        return self

    def decay(self, factor: float) -> Self:
        """Multiply the weight of everything learned so far by a factor, for streams that drift.

        Parameters
        ----------
        factor : float
            Above 0 and at most 1.

        Returns
        -------
        self : estimator
            The same model. A class whose weight falls below 1e-250 has none left.

        See Also
        --------
        learn_one : With ``half_life`` every row makes the earlier ones fade.
        """
        learning.decay(self, factor)
        return self

    def at_half_life(self, rows: float | None = None) -> Self:
        """Make a model of one of the half-lives that ``half_life='auto'`` mixes, to explain, draw or export it.

        Parameters
        ----------
        rows : float, default=None
            inf, 10000, 1000 or 100; None: the half-life in force, ``half_life_``.

        Returns
        -------
        estimator
            A new model with that ``half_life`` and its statistics.

        Examples
        --------
        >>> from tallybayes import GaussianNB
        >>> model = GaussianNB(half_life="auto").fit([[1.0], [8.0], [2.0]], ["low", "high", "low"])
        >>> model.at_half_life(100).half_life, model.at_half_life(float("inf")).class_count_.tolist()
        (100.0, [1.0, 2.0])
        """
        return half_life_mixture.at_half_life(self, rows)

    @property
    def half_life_(self) -> float:
        """float: the half-life in force: with ``half_life='auto'`` that of the largest weight."""
        self._require_attribute("half_life_")
        if not half_life_mixture.is_auto(self):
            return float("inf") if self.half_life is None else float(self.half_life)
        weights = self.half_life_weights_
        return max(weights, key=weights.__getitem__)

    @property
    def half_life_weights_(self) -> dict[float, float]:
        """dict from half-life to its weight in the mixture of ``half_life='auto'``."""
        self._require_attribute("half_life_weights_")
        if not half_life_mixture.is_auto(self):
            raise AttributeError("half_life_weights_ is there with half_life='auto'.")
        with lock_of(self):
            found = half_life_mixture.fading_of(self).weights.tolist()
        return dict(zip(half_life_mixture.HALF_LIVES, found, strict=True))

    def merge(self, *others: GenerativeClassifier | Iterable[GenerativeClassifier]) -> Self:
        """Add what other models learned: counts exactly for whole-number weights, means and variances to rounding.

        Bins, distributions, structure and other choices stay those of this model; with ``memory='rows'`` all are made
        again on the rows of both.

        Parameters
        ----------
        *others : fitted estimators, or iterables of them
            Of the same class, on the same columns; columns with names are matched by name, in any order.

        Returns
        -------
        self : estimator
            The same model, which knows the rows of all. ``merge_all`` makes a new model instead.

        Raises
        ------
        MergeError
            If two of them count different things; nothing is changed then.

        Examples
        --------
        >>> from tallybayes import GaussianNB
        >>> monday = GaussianNB().fit([[1.0], [8.0]], ["low", "high"])
        >>> tuesday, friday = GaussianNB().fit([[2.0]], ["low"]), GaussianNB().fit([[9.0]], ["high"])
        >>> monday.merge(tuesday, friday).class_count_.tolist()
        [2.0, 2.0]
        """
        merging.merge(self, others)
        return self

    def empty(self) -> Self:
        """Make a model with the same schema, bins and structure and no rows: a plan for other machines.

        Each machine lets a copy learn its rows with ``partial_fit``, and ``merge_all`` adds the copies. Parameters are
        estimated after that, so the rows of one machine may be few.

        Returns
        -------
        estimator
            A new model with no rows.

        Examples
        --------
        >>> from tallybayes import BayesClassifier, merge_all
        >>> from tallybayes.datasets import load_watermelon
        >>> X, y = load_watermelon()
        >>> plan = BayesClassifier("fast").fit(X, y).empty()
        >>> parts = [plan.copy().partial_fit(X[:9], y[:9]), plan.copy().partial_fit(X[9:], y[9:])]
        >>> merge_all(parts).class_count_.tolist()
        [9.0, 8.0]
        """
        self._require_adding()
        made = with_fitted(self, self.fitted_.emptied())
        provenance.note_emptied(made)
        for of_rows in ("privacy_loss_", "_fading"):
            made.__dict__.pop(of_rows, None)
        row_memory.empty(made)
        return made

    def plan(
        self,
        source: object,
        target: str | Sequence[str],
        *,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        rows: int = 100_000,
        pieces: int | None = None,
    ) -> Self:
        """Choose bins, distributions and structure on a sample of a source: a model with no rows.

        One pass over the source finds the labels of text columns and of the target, and draws a uniform random
        sample of rows. Column kinds, bins, distributions, structure and temperature are chosen on the sample, as fit
        chooses them, except that no kernel density is chosen for a column unless it is named: it would keep values of
        rows. Models that learn with the plan count the same things, so they can be merged. A level that the plan does
        not know is kept, as when rows are learned here.

        Parameters
        ----------
        source : path, pattern, list of paths, data frame, lazy frame, dataset, relation or (connection, table)
            Where the rows are.
        target : str, or list of str
            The column of the class; several for a network of several targets.
        weight : str, default=None
            The column of weights.
        columns : list of str, default=None
            The features; None takes all other columns.
        rows : int, default=100_000
            How many rows the sample has at most.
        pieces : int, default=None
            None reads all rows. A number reads so many parts of the source, evenly spread over it, where it has parts
            (row groups of Parquet).

        Returns
        -------
        estimator
            With the same parameters. ``to_bytes(plan)`` sends it, ``plan.copy().partial_fit(X, y)`` counts rows with
            it, ``merge_all`` adds the parts, and ``learn_from(…, plan=plan)`` uses it here.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from tallybayes import TAN
        >>> days = pa.table({"sky": ["grey", "clear", "red"], "wind": [2.0, 9.5, 3.0], "go": ["yes", "no", "yes"]})
        >>> plan = TAN().plan(days, "go")
        >>> plan.class_count_.tolist(), plan.schema_.levels[0].labels
        ([0.0, 0.0], ('grey', 'clear', 'red'))
        """
        from tallybayes.engines import (
            learn_and_predict,  # when it is called: engines know of models, models not of them
        )

        require_no_order(self)
        return learn_and_predict.plan(self, source, target, weight, columns, rows, pieces)

    def learn_from(
        self,
        source: Any,
        target: str | Sequence[str],
        *,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        plan: Any = None,
    ) -> Self:
        """Add all rows of a source that need not fit into memory.

        All of them or none. A model that has learned nothing yet, and that chooses cuts, distributions or a structure
        on rows, first makes a plan on a random sample of at most 100,000 rows, and then counts every row.

        Parameters
        ----------
        source : path, pattern, list of paths, data frame, lazy frame, dataset, relation or (connection, table)
            Where the rows are: CSV, Parquet, Arrow or JSON lines; pandas, polars, pyarrow; a relation of DuckDB; a
            table of a database.
        target : str, or list of str
            The column of the class; several for a network of several targets.
        weight : str, default=None
            The column of weights.
        columns : list of str, default=None
            The features; None takes those that the model knows, or all other columns.
        plan : estimator, default=None
            What ``model.plan(source, target)`` gave, for a model that has learned nothing yet.

        Returns
        -------
        self : estimator
            The same model, which has learned the rows.

        Raises
        ------
        TableError
            If there are no rows, or a column is not there.
        OptionError
            If the source is of no kind that is known.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from tallybayes import NaiveBayes
        >>> days = pa.table({"wind": [2.0, 9.5, 3.0], "go": ["yes", "no", "yes"]})
        >>> NaiveBayes().learn_from(days, "go").predict(days.select(["wind"])).tolist()
        ['yes', 'no', 'yes']
        """
        learning.learn_from(self, source, target, weight, columns, plan)
        return self

    @overload
    def forget_from(
        self,
        source: Any,
        target: str | Sequence[str],
        *,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        receipt: Literal[False] = False,
    ) -> Self: ...

    @overload
    def forget_from(
        self,
        source: Any,
        target: str | Sequence[str],
        *,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        receipt: Literal[True],
    ) -> Receipt: ...

    def forget_from(
        self,
        source: Any,
        target: str | Sequence[str],
        *,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        receipt: bool = False,
    ) -> Self | Receipt:
        """Remove all rows of a source, such as a file or a table of a database: all of them or none.

        Parameters
        ----------
        source : path, pattern, list of paths, data frame, lazy frame, dataset, relation or (connection, table)
            Where the rows are, as for ``learn_from``. They are read here, in batches.
        target : str, or list of str
            The column of the class; several for a network of several targets.
        weight : str, default=None
            The column of the weights that they were learned with.
        columns : list of str, default=None
            The features; None takes those that the model knows.
        receipt : bool, default=False
            Whether to return a `Receipt` of the deletion in the place of the model.

        Returns
        -------
        self : estimator, or Receipt
            The same model without the rows, as ``forget`` gives it.

        Raises
        ------
        ForgetError
            If a count would fall below zero; nothing is changed then.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from tallybayes import NaiveBayes
        >>> days = pa.table({"wind": [2.0, 9.5, 3.0], "go": ["yes", "no", "yes"]})
        >>> model = NaiveBayes("gaussian").learn_from(days, "go")
        >>> model.forget_from(days.slice(2), "go").class_count_.tolist()
        [1.0, 1.0]
        """
        return learning.forget_from(self, source, target, weight, columns, receipt)

    def temper(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Choose the temperature by leave-one-out log-loss on rows that were learned.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows among those learned.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights that they were learned with.

        Returns
        -------
        self : estimator
            The same model with ``temperature_``, ``loo_log_proba_`` and ``loo_score_``, as after ``tempered=True``.
        """
        half_life_mixture.require_one(self)
        learning.temper(self, X, y, sample_weight)
        return self

    def relearn(self, X: object = None, y: object = None, sample_weight: object = None) -> Self:
        """Make every choice again on the rows that remain: what ``fit`` of these rows gives.

        ``provenance_`` says which choices there are. With ``memory='rows'`` the model has the rows, and its choices
        always follow them; with 'sample' (but in BayesClassifier) it has them while they fit into the sample. Otherwise
        give all rows that remain: rows that cannot be among those learned, or are not as
        many of each class, are refused as far as the statistics tell.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns), default=None
            All rows that were learned and not forgotten; None where the model has them.
        y : array-like of shape (n_rows,), default=None
            Their labels.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights that they were learned with.

        Returns
        -------
        self : estimator
            The same model, with the choices of these rows.

        Raises
        ------
        ForgetError
            If a row cannot have been learned, or was forgotten, as far as the statistics tell.
        OptionError
            If rows are needed, or are not all that remain.

        Examples
        --------
        >>> from tallybayes import NaiveBayes
        >>> X, y = [[1.0], [2.0], [7.0], [8.0], [900.0]], ["low", "low", "high", "high", "high"]
        >>> model = NaiveBayes("frequency").fit(X, y).forget(X[4:], y[4:])
        >>> model.provenance_["bins"].forgotten, model.relearn(X[:4], y[:4]).provenance_["bins"].forgotten
        (True, False)
        """
        learning.relearn(self, X, y, sample_weight)
        return self

    def ignore_extra(self, ignore: bool = True) -> Self:
        """Ignore columns, and keys of dicts, that were not there at fit.

        Without this such a column is an error, since it may be a mistyped name. The setting is part of ``schema_``, and
        so of files, copies, and models that are given that schema.

        Parameters
        ----------
        ignore : bool, default=True
            False makes them errors again.

        Returns
        -------
        self : estimator
            The same model.

        Examples
        --------
        >>> from tallybayes import NaiveBayes
        >>> rows = [{"wind": 2.0}, {"wind": 3.0}, {"wind": 9.5}, {"wind": 9.0}]
        >>> model = NaiveBayes("gaussian").fit(rows, ["sail", "sail", "stay", "stay"])
        >>> model.ignore_extra().predict_one({"wind": 9.2, "request": "77-b"})
        'stay'
        """
        with lock_of(self):
            fitted = self.fitted_
            self._set_fitted(replace(fitted, schema=replace(fitted.schema, extra=bool(ignore))))
        return self

    # --- predicting ----------------------------------------------------------------------------------------------

    def _answering(self) -> Any:
        """What predicts: the model compiled, or the mixture of several half-lives."""
        return half_life_mixture.predictor(self) if half_life_mixture.is_auto(self) else self._own_predictor()

    def predict(self, X: object, priors: object = None) -> Array:
        """Predict the most probable class of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior that replaces the model's own for this call: an array in the order of ``classes_``, a dict or
            a Series by label, or an array of shape (n_rows, n_classes) with a prior for each row.

        Returns
        -------
        labels : ndarray of shape (n_rows,)
            One of ``classes_`` for each row.
        """
        predictor = self._answering()  # one for all: another thread may be learning
        best = predictor.predict(X, "best", predictor.offset_for(priors))
        return np.asarray(predictor.fitted.classes[best])

    def predict_proba(self, X: object, priors: object = None) -> Floats:
        """Predict P(class | x) of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior that replaces the model's own for this call: an array in the order of ``classes_``, a dict or
            a Series by label, or an array of shape (n_rows, n_classes) with a prior for each row.

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        predictor = self._answering()
        found: Floats = predictor.predict(X, "proba", predictor.offset_for(priors))
        return found

    def predict_log_proba(self, X: object, priors: object = None) -> Floats:
        """Return log P(class | x) of each row, normalised in log space.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior that replaces the model's own for this call: an array in the order of ``classes_``, a dict or
            a Series by label, or an array of shape (n_rows, n_classes) with a prior for each row.

        Returns
        -------
        log_probabilities : ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        predictor = self._answering()
        found: Floats = predictor.predict(X, "log_proba", predictor.offset_for(priors))
        return found

    def predict_joint_log_proba(self, X: object, priors: object = None) -> Floats:
        """Compute log P(x, class) of each row and class.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior that replaces the model's own for this call: an array in the order of ``classes_``, a dict or
            a Series by label, or an array of shape (n_rows, n_classes) with a prior for each row.

        Returns
        -------
        log_joint : ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        predictor = self._answering()
        found: Floats = predictor.predict(X, "joint", predictor.offset_for(priors))
        return found

    def score_samples(self, X: object, priors: object = None) -> Floats:
        """Compute log p(x), the log density of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior that replaces the model's own for this call: an array in the order of ``classes_``, a dict or
            a Series by label, or an array of shape (n_rows, n_classes) with a prior for each row.

        Returns
        -------
        log_density : ndarray of shape (n_rows,)
            Low for rows unlike those learned.
        """
        predictor = self._answering()
        found: Floats = predictor.predict(X, "log_density", predictor.offset_for(priors))
        return found

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Compute the accuracy on these rows.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        y : array-like of shape (n_rows,)
            The true class of each row.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row; None: 1.

        Returns
        -------
        accuracy : float
            From 0 to 1. A row of an unseen class counts as wrong.
        """
        return float(self._answering().accuracy(X, y, sample_weight))

    def predict_proba_one(self, row: Mapping[str, object]) -> dict[Any, float]:
        """Predict P(label | row) of one row given as a dict: the same, to the bit, as predict_proba of a table of it.

        With ``half_life='auto'`` the two ways agree to rounding.

        Parameters
        ----------
        row : dict from column to value, or a row of a pandas frame
            A key left out is a missing value.

        Returns
        -------
        dict from label to probability
            In the order of ``classes_``.
        """
        try:
            held = self._state
        except AttributeError:
            self._require_fit()
            raise
        fast_row = held.fast_row
        if fast_row is None:
            fast_row = one_row.opened(self)
        proba: Any = fast_row.proba if type(fast_row) is FastRow and "temperature_" not in self.__dict__ else None
        if type(self.half_life) is str:
            proba = half_life_mixture.proba_one(self, fast_row)
        found: dict[Any, float] | None = proba(row) if proba is not None and held.plain else None
        return one_row.proba_through_table(self, held, row, proba) if found is None else found

    def predict_one(self, row: Mapping[str, object]) -> Any:
        """Predict the most probable label of one row given as a dict.

        Parameters
        ----------
        row : dict from column to value, or a row of a pandas frame
            A key left out is a missing value.

        Returns
        -------
        label
            One of ``classes_``.
        """
        found = self.predict_proba_one(row)
        return max(found, key=found.__getitem__)

    @property
    def one_row(self) -> str:
        """str: 'compiled' if learn_one, forget_one and predict_proba_one take microseconds; else why they take longer.

        Where they are not compiled they go through a table of one row, with the same answers.

        Examples
        --------
        >>> from tallybayes import NaiveBayes
        >>> rows = [{"age": 31.0, "member": True}, {"age": 45.0, "member": False}]
        >>> NaiveBayes().fit(rows, ["no", "yes"]).one_row
        'compiled'
        >>> NaiveBayes(distributions="kernel").fit(rows, ["no", "yes"]).one_row
        "column 'age': a class has fewer than two distinct values of a kernel density"
        """
        self._require_attribute("one_row")
        return one_row.why(self)

    def predict_to(self, source: object, to: str | os.PathLike[str] | None = None, *, keep: Sequence[str] = ()) -> Any:
        """Predict for all rows of a source that need not fit into memory.

        Parameters
        ----------
        source : path, pattern, list of paths, data frame, lazy frame, dataset, relation or (connection, table)
            Where the rows are, with the columns that the model knows.
        to : str or path, default=None
            A file to write the predictions into: .parquet, .csv or .arrow. It appears when all rows are written.
        keep : list of str, default=()
            Columns of the source to copy beside the predictions.

        Returns
        -------
        int or pyarrow.RecordBatchReader
            The number of rows written. Without `to`, a reader that predicts as it is read: a column ``prediction`` and
            one ``proba_…`` for each class.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from tallybayes import NaiveBayes
        >>> days = pa.table({"day": [1, 2, 3], "wind": [2.0, 9.5, 3.0], "go": ["yes", "no", "yes"]})
        >>> model = NaiveBayes().learn_from(days, "go", columns=["wind"])
        >>> model.predict_to(days, keep=["day"]).read_all().select(["day", "prediction"]).to_pylist()[0]
        {'day': 1, 'prediction': 'yes'}
        """
        from tallybayes.engines import learn_and_predict  # as in plan

        return learn_and_predict.predict(self, source, to, keep)

    def leave_one_out(self, X: object, y: object, sample_weight: object = None) -> Floats:
        """Compute leave-one-out log P(class | x) of rows that were learned.

        No refit: the row is removed from the sufficient statistics and from the class prior. What was chosen on all
        rows (levels, bins, structure, concentrations of back-off smoothing, stacking weights, temperature) stays as
        it is; bandwidths of kernel densities are those without the row. Of a row of weight above 1, weight 1 is left
        out, times the weight of its class.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows among those learned.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,), default=None
            The weights that they were learned with.

        Returns
        -------
        log_probabilities : ndarray of shape (n_rows, n_classes)
            Without its only row a class is not there: −inf, and the others share the probability.

        Raises
        ------
        ForgetError
            If these rows cannot have been learned.
        """
        half_life_mixture.require_one(self)
        return learning.leave_one_out(self, X, y, sample_weight)

    # --- what the model knows ------------------------------------------------------------------------------------

    def sample(
        self, n: int = 1, y: object = None, random_state: object = None, *, given: Mapping[str, object] | None = None
    ) -> tuple[Any, Array]:
        """Draw rows and their classes from the model; with some columns given, the rest of the row.

        Parameters
        ----------
        n : int, default=1
            How many rows.
        y : label or array-like of shape (n,), default=None
            The class of all rows, or of each; None draws the classes too.
        random_state : int, RandomState or None, default=None
            Seed or generator.
        given : dict from column to value, default=None
            Known values: the class is drawn from P(class | given), the other columns from p(rest | given, class). For
            naive Bayes of columns one by one, discriminants, TAN, KDB, SPODE and BayesNetwork, whose marginals are
            exact.

        Returns
        -------
        X : table of shape (n, n_columns)
            The kind of table that the model was fitted on.
        y : ndarray of shape (n,)
            The class of each row.

        Examples
        --------
        >>> from tallybayes import NaiveBayes
        >>> rows = [{"sky": "clear", "wind": "weak"}, {"sky": "grey", "wind": "strong"}] * 2
        >>> model = NaiveBayes().fit(rows, ["sail", "stay", "sail", "stay"])
        >>> X, y = model.sample(3, given={"sky": "grey"}, random_state=0)
        >>> [row["sky"] for row in X]
        ['grey', 'grey', 'grey']
        """
        if given is None:
            return generate.sample(self.predictor_.fitted, n, y, random_state)
        from tallybayes.estimators import conditional_sampling  # networks and discriminants, when they are needed

        return conditional_sampling.sample_given(self.predictor_, n, y, random_state, given)

    def log_likelihood(
        self,
        X: object,
        y: object,
        *,
        kind: str = "joint",
        by_class: bool = False,
        sample_weight: object = None,
    ) -> float | dict[Any, float]:
        """Compute the log-likelihood of labelled rows under the fitted model.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are integrated out.
        y : array-like of shape (n_rows,)
            The class of each row.
        kind : {'joint', 'conditional', 'class_conditional', 'prior'}, default='joint'
            Which sum over the rows: log p(x, y), which a generative model maximises; log P(y | x), which logistic
            regression maximises; or the two addends of the first, log p(x | y) and log P(y).
        by_class : bool, default=False
            Whether the sum is split by the class of the rows.
        sample_weight : array-like of shape (n_rows,), default=None
            Weight of each row; None: 1.

        Returns
        -------
        float, or dict from label to float
            In nats. Densities of numbers, probabilities of levels and intervals; multinomial naive Bayes leaves out
            the multinomial coefficient. A temperature applies to 'conditional' only.

        Raises
        ------
        OptionError
            If the model has no density (BayesClassifier, ComplementNB) and kind is not 'conditional' or 'prior'.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tallybayes import LinearDiscriminantAnalysis
        >>> X, y = load_iris(return_X_y=True)
        >>> model = LinearDiscriminantAnalysis().fit(X, y)
        >>> round(model.log_likelihood(X, y), 2), round(model.log_likelihood(X, y, kind="conditional"), 2)
        (-263.2, -6.56)
        """
        return generate.log_likelihood(self.predictor_, X, self._labels(y), kind, by_class, sample_weight)

    def describe(self, column: str | int) -> dict[Any, dict[str, float]]:
        """Describe the distribution of a column in each class.

        Parameters
        ----------
        column : str or int
            Its name; its number where columns have no names.

        Returns
        -------
        dict of dicts
            For each class the probabilities of the levels, or mean and variance, or a rate. Empty dicts for a numeric
            column without a value.
        """
        return generate.describe(self.predictor_.fitted, column)

    def explain(self, X: object = None, *, against: object = None, feature_names: object = None) -> Any:
        """Decompose the log-odds of rows into evidence of each feature; without rows, rank the features.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns), default=None
            The rows to explain; None ranks the features.
        against : label, default=None
            The class that the others are compared with; None: each class against the rest.
        feature_names : sequence of str, default=None
            Names of the columns where the table has none, such as the words behind a sparse matrix of counts.

        Returns
        -------
        Explanation or FeatureRanking
            With rows, contributions to the log-odds of each class that sum, with the prior, to the log-odds; beneath
            them log P(x_j | class), times the temperature if there is one, which sums with the log prior to the log
            joint. Without rows, the mutual information of each feature and the class under the model.
        """
        self._require_fit()
        if X is not None:
            return explain_rows(self.predictor_, X, against, feature_names)
        if against is not None:
            raise OptionError("explain() ranks the features for all classes at once: against= goes with rows.")
        return rank_features(self.predictor_.fitted, feature_names)

    @property
    def feature_importances_(self) -> Floats:
        """ndarray of shape (n_features,): the share of each column in the information on the class.

        The mutual information of each column and the class under the model, divided by their sum: what ``explain()``
        ranks by. Redundant columns each have their full share; the share of a date is that of its parts.
        """
        self._require_attribute("feature_importances_")
        return importances(self._parameters())

    def novelty(self, reference: object = None, *, n: int = 2000, random_state: object = 0) -> NoveltyScore:
        """Make a novelty score, which turns log p(x) of a row into a p-value.

        Parameters
        ----------
        reference : table, default=None
            Held-out rows to compare with; None samples rows from the model.
        n : int, default=2000
            Number of sampled rows.
        random_state : int, RandomState or None, default=0
            Seed or generator.

        Returns
        -------
        NoveltyScore
            For the model as it is now.
        """
        self._require_fit()
        return novelty_score(self, reference, n, random_state)

    def logistic(self) -> LogisticRegression:
        """Convert the model to the logistic regression with the same probabilities.

        For models with linear boundaries: a shared covariance, shared-variance Gaussian, Bernoulli, Poisson,
        multinomial and categorical naive Bayes.

        Returns
        -------
        sklearn.linear_model.LogisticRegression
            Fitted, with the same probabilities to rounding. Its columns are those of the model, for BernoulliNB after
            the threshold (0 or 1); a categorical column becomes one column per level (1 where it has that level), in
            the order of its codes.
        """
        return linear.logistic(self)

    def coefficients(self) -> dict[Any, dict[str, float]]:
        """Return the coefficients of `logistic` by name, where the boundaries are linear.

        Returns
        -------
        dict from label to {'intercept': float, name: float}
            Of two classes the second; of more, each, with the mean over the classes taken off. A name is that of a
            numeric column, or 'column=level'.

        Raises
        ------
        OptionError
            If the boundaries are not linear.

        Examples
        --------
        >>> from tallybayes import NaiveBayes
        >>> rows = [{"sky": "clear"}, {"sky": "clear"}, {"sky": "grey"}, {"sky": "grey"}]
        >>> found = NaiveBayes().fit(rows, ["sail", "sail", "stay", "stay"]).coefficients()
        >>> {name: round(value, 3) for name, value in found["stay"].items()}
        {'intercept': 0.0, 'sky=clear': -1.099, 'sky=grey': 1.099}
        """
        return linear.coefficients(self)

    def quadratic(self) -> tuple[Floats, Floats, Floats]:
        """Return the quadratic form log P(x, class k) = xᵀ A_k x + xᵀ b_k + c_k of a Gaussian model.

        Returns
        -------
        A : ndarray of shape (n_classes, n_columns, n_columns)
            The quadratic terms of each class.
        b : ndarray of shape (n_classes, n_columns)
            The linear terms of each class.
        c : ndarray of shape (n_classes,)
            The constant of each class.

        Raises
        ------
        OptionError
            If the model is not Gaussian.
        """
        return linear.quadratic_form(self.predictor_)

    def boundary(self, k: object, l: object) -> tuple[Floats, float]:  # noqa: E741
        """Return a and b of the linear boundary xᵀ a + b = 0 between two classes.

        Parameters
        ----------
        k : label
            The class on whose side xᵀ a + b is positive.
        l : label
            The other class.

        Returns
        -------
        a : ndarray of shape (n_columns,)
            The normal of the boundary.
        b : float
            The constant.

        Raises
        ------
        OptionError
            If the boundaries of the model are not linear, or a label is none of its classes.
        """
        return linear.boundary(self.predictor_, k, l)

    def with_prior(self, priors: object) -> Self:
        """Copy the model with another class prior, without a refit.

        Parameters
        ----------
        priors : array-like, dict, Series, table, 'uniform', 'laplace' or None
            An array in the order of ``classes_``; a dict, a pandas Series or a table of labels and shares (what
            value_counts gives) by label; 'uniform', 'laplace', or None (as counted). A prior of 0 rules a class out.

        Returns
        -------
        estimator
            What fit with that prior would have given; options chosen on the data ('auto') stay as they are.

        Examples
        --------
        >>> from tallybayes import GaussianNB
        >>> model = GaussianNB().fit([[1.0], [2.0], [3.0], [2.5], [4.0]], ["well", "well", "well", "ill", "ill"])
        >>> model.with_prior({"ill": 0.01, "well": 0.99}).class_prior_.round(2).tolist()
        [0.01, 0.99]
        """
        return prior_shift.with_prior(self, priors)

    def adapt_prior(self, X: object, *, tol: float = 1e-6, max_iter: int = 1000) -> PriorShift:
        """Estimate the class prior of unlabelled rows by EM (Saerens et al. 2002), and test whether it moved.

        Valid under label shift: p(x | class) is as before and only the class shares changed. A class with prior 0 keeps
        it.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows without labels.
        tol : float, default=1e-6
            EM stops when the log-likelihood is within tol of its maximum.
        max_iter : int, default=1000
            Maximum number of EM steps; a ConvergenceWarning says if they are not enough.

        Returns
        -------
        PriorShift
            The new prior, its standard errors, the test, and ``model``, this model with the new prior.
        """
        self._require_fit()
        return prior_shift.adapt_prior(self, X, tol, max_iter)

    def save(self, path: object, *, notes: Mapping[str, object] | None = None) -> None:
        """Write the fitted model into a file, which ``tallybayes.load`` reads: what ``tallybayes.save`` does.

        Parameters
        ----------
        path : str, path or binary file
            The file. A file that is there already is replaced in one step.
        notes : dict, default=None
            Anything to keep beside the model, such as where the data came from; ``tallybayes.io.load_notes`` reads it.

        Examples
        --------
        >>> import io
        >>> from tallybayes import GaussianNB, load
        >>> file = io.BytesIO()
        >>> GaussianNB().fit([[1.0], [2.0], [7.0], [8.0]], ["low", "low", "high", "high"]).save(file)
        >>> _ = file.seek(0)
        >>> load(file).predict([[6.0]]).tolist()
        ['high']
        """
        from tallybayes import save  # when it is called: files know of models, models nothing of files

        save(self, path, notes=notes)

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """scikit-learn's list of fitted attributes in a notebook, without the one that takes samples."""
        token = showing.set(True)
        try:
            if half_life_mixture.is_auto(self) and self.is_fitted:  # its attributes are those of all rows
                return self.at_half_life(float("inf"))._get_fitted_attr_html(doc_link)
            return super()._get_fitted_attr_html(doc_link)
        finally:
            showing.reset(token)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = tags.input_tags.categorical = hasattr(self, "schema")  # columns of any kind
        return tags

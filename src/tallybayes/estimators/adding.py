"""Models that add: batches, parts counted elsewhere, merging. Sums are raw, so all of them are additions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

from tallybayes.errors import MergeError
from tallybayes.estimators.model import Model
from tallybayes.estimators.tree import Tree
from tallybayes.model.fitted import Fitted


class Adds(Model):
    """learn_batches, add_rows, empty, count and merge."""

    if TYPE_CHECKING:

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
        ) -> None: ...

        def _again(self) -> Fitted: ...

        def _require_parts(self) -> None: ...

        def _require_no_order(self) -> None: ...

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
                twin.add_rows(X, y, w[0] if w else None)
            if twin.is_fitted:
                self._take_over(twin, twin.fitted_)
        return self

    def add_rows(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Add rows as partial_fit does, and leave the parameters until they are first asked for.

        Many small batches in a row are learned faster so. ``learn_batches`` does this for all of them or none.

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
            The same model, which has learned the rows.

        Examples
        --------
        >>> from tallybayes import GaussianNB
        >>> model = GaussianNB().fit([[1.0], [2.0], [8.0]], ["low", "low", "high"])
        >>> model.add_rows([[9.0]], ["high"]).class_count_.tolist()
        [2.0, 2.0]
        """
        with self._learning():
            self._require_adding()
            self._require_parts()
            self._learn(X, y, sample_weight, None, fresh=not self.is_fitted, later=True)
        return self

    def _take_over(self, twin: Self, fitted: Fitted) -> None:
        """Becomes what a copy of it has become."""
        self.__dict__.update(twin.holding(fitted, self._ready(fitted)).__getstate__())

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
        self._require_no_order()
        return self.empty().add_rows(X, y, sample_weight)

    def _require_adding(self) -> None:
        """Raises OptionError if more rows cannot be added to what was learned, nor rows be taken away."""

    def merge(self, other: Adds) -> Self:
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

    def merged(self, others: Iterable[Adds]) -> Self:
        """Make a model of this one and many others, added in a tree; parameters are estimated once, at the end.

        Parameters
        ----------
        others : iterable of fitted estimators
            Of the same class, on the same columns. Of an iterator no more are held at a time than the tree is high.

        Returns
        -------
        estimator
            With the parameters of this one, which stays as it is. Counts are the same bits in whatever order the
            models come.

        Raises
        ------
        MergeError
            If two of them count different things.
        """
        self._require_fit()
        self._require_adding()
        again, tree = self._again(), Tree()
        tree.add(again)
        for other in others:
            self._check_merge(other)
            tree.add(other.fitted_)
        whole = tree.total().with_terms(again.terms)
        return self.holding(whole, self._ready(whole))

    def _check_merge(self, other: Adds) -> None:
        """Raises an error if the two do not add, and there is more to say than that their terms differ."""
        self._require_fit()
        if type(other) is not type(self):
            raise MergeError(f"Cannot merge a {type(other).__name__} into a {type(self).__name__}.")
        self._require_adding()
        self._check_class_weights(other)

    def __add__(self, other: object) -> Self:
        if not isinstance(other, Adds):
            return NotImplemented
        return self.copy().merge(other)

    def __radd__(self, other: object) -> Self:
        """So that sum(models) works."""
        return self.copy() if isinstance(other, int) and other == 0 else NotImplemented

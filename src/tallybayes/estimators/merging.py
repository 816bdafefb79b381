"""merge_all: many models as one, in a tree, with parameters estimated once at the end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from tallybayes.errors import MergeError, OptionError
from tallybayes.estimators.base import TallyClassifier
from tallybayes.fitted import Fitted
from tallybayes.schema import Levels, Schema

Model = TypeVar("Model", bound=TallyClassifier)


def merge_all(models: Iterable[Model]) -> Model:
    """Add many models, as if all their rows had been learned by one.

    They are merged two by two, in a tree, as they come: of an iterator no more are held at a time than the tree is
    high. Counts are the same bits in whatever order the models come: levels that all of them list first keep their
    order, the others are sorted. Means and squares agree to rounding.

    Parameters
    ----------
    models : iterable of fitted classifiers of this library
        Of one class, on the same columns, with the same cuts and structure: such as ``plan.count(X, y)`` gives.

    Returns
    -------
    estimator
        With the parameters of the first, which stays as it is.

    Raises
    ------
    MergeError
        If two of them count different things, or there is none.

    Examples
    --------
    >>> from tallybayes import NaiveBayes, merge_all
    >>> days = [[{"sky": "clear"}], [{"sky": "grey"}, {"sky": "red"}]]
    >>> models = [NaiveBayes().fit(rows, ["sail"] * len(rows)) for rows in days]
    >>> whole = merge_all(models)
    >>> whole.class_count_.tolist(), whole.schema_.levels[0].labels
    ([3.0], ('clear', 'grey', 'red'))
    """
    if isinstance(models, TallyClassifier) or not isinstance(models, Iterable):
        raise OptionError(f"merge_all takes several fitted models; got {type(models).__name__}.")
    first: Model | None = None
    tree = Tree()
    for model in models:
        if not isinstance(model, TallyClassifier):
            raise OptionError(f"merge_all takes fitted models of tallybayes; one is a {type(model).__name__}.")
        if first is None:
            model._require_fit()
            model._require_adding()
            first = model
            tree.add(model._again())
        else:
            first._check_merge(model)
            tree.add(model.fitted_)
    if first is None:
        raise MergeError(
            "There is no model to merge. Where every part of the data is empty, there is nothing to learn."
        )
    whole = first.copy()
    whole._keep(tree.total().with_terms(first._again().terms))
    return whole


class Tree:
    """Fitted models added two by two, those of as many parts with each other."""

    def __init__(self) -> None:
        self._stack: list[tuple[int, Fitted]] = []
        self._shared: dict[int, tuple[Any, ...]] | None = None  # levels that all list first, in one order

    def add(self, fitted: Fitted) -> None:
        self._share(fitted)
        height = 0
        while self._stack and self._stack[-1][0] == height:
            fitted = self._stack.pop()[1].merge(fitted)
            height += 1
        self._stack.append((height, fitted))

    def total(self) -> Fitted:
        whole = self._stack[-1][1]
        for _, fitted in reversed(self._stack[:-1]):
            whole = fitted.merge(whole)
        return _in_order(whole, self._shared or {}) if len(self._stack) > 1 or self._stack[0][0] else whole

    def _share(self, fitted: Fitted) -> None:
        sizes, levels = fitted.sizes(), fitted.schema.levels
        own = {j: levels[j].labels if j in levels else tuple(range(sizes.get(j, 0))) for j in {*levels, *sizes}}
        if self._shared is None:
            self._shared = own
        self._shared = {j: _common(labels, own.get(j, ())) for j, labels in self._shared.items()}


def _common(a: tuple[object, ...], b: tuple[object, ...]) -> tuple[object, ...]:
    """What both begin with."""
    if a == b:
        return a
    return a[: next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))]


def _in_order(fitted: Fitted, shared: dict[int, tuple[Any, ...]]) -> Fitted:
    """The same counts, with levels beyond the shared ones sorted."""
    moved: dict[int, Levels] = {}
    for j, levels in fitted.schema.levels.items():
        first = len(shared.get(j, ()))
        labels = (*levels.labels[:first], *sorted(levels.labels[first:], key=_place))
        if labels != levels.labels:
            listed = {levels.labels[c] for c in levels.declared}
            moved[j] = Levels(labels, frozenset(c for c, label in enumerate(labels) if label in listed))
    if not moved:
        return fitted
    schema: Schema = fitted.schema.with_levels(moved)
    return fitted.relevel(schema)


def _place(label: Any) -> tuple[str, object]:
    """An order of labels of any types."""
    return ("", label) if isinstance(label, int | float) else (type(label).__name__, label)

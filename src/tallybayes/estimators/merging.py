"""Models added: into one of them (`merge`), or into a new one (`merge_all`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from tallybayes.data.schema import Levels, Schema
from tallybayes.errors import MergeError, OptionError
from tallybayes.estimators import half_life_mixture, row_memory
from tallybayes.estimators.model_lock import lock_of
from tallybayes.estimators.parameters import memory_of
from tallybayes.estimators.provenance import note_removed, removed_of
from tallybayes.estimators.state import ModelState, with_fitted
from tallybayes.model.fitted import Fitted

Model = TypeVar("Model", bound=ModelState)


def merge_all(models: Iterable[Model]) -> Model:
    """Merge several models into one, by adding their sufficient statistics.

    They are merged two by two, in a tree, as they come: of an iterator no more are held at a time than the tree is
    high. Counts are the same bits in whatever order the models come: levels that all of them list first keep their
    order, the others are sorted. Means and squares agree to rounding.

    Parameters
    ----------
    models : iterable of fitted classifiers of this library
        Models of one class with the same columns, bins and structure, such as copies of one plan that learned
        different rows with ``partial_fit``.

    Returns
    -------
    estimator
        With the parameters of the first, which stays as it is.

    Raises
    ------
    MergeError
        If two of them count different things, or there is none.

    See Also
    --------
    NaiveBayes.merge : Add the statistics of other models in place.
    tallybayes.privacy.private_counts : Counts with noise, before they leave a site.

    Examples
    --------
    >>> from tallybayes import NaiveBayes, merge_all
    >>> days = [[{"sky": "clear"}], [{"sky": "grey"}, {"sky": "red"}]]
    >>> models = [NaiveBayes().fit(rows, ["sail"] * len(rows)) for rows in days]
    >>> whole = merge_all(models)
    >>> whole.class_count_.tolist(), whole.schema_.levels[0].labels
    ([3.0], ('clear', 'grey', 'red'))
    """
    if isinstance(models, ModelState) or not _several(models):
        raise OptionError(f"merge_all takes several fitted models; got {type(models).__name__}.")
    several = _models(models)
    first = next(several, None)
    if first is None:
        raise MergeError(
            "There is no model to merge. Where every part of the data is empty, there is nothing to learn."
        )
    return merged(first, several)


def merge(model: ModelState, others: Iterable[Any]) -> None:
    """Adds other models, or iterables of them, to a model: all or none."""
    several: list[Any] = [m for other in others for m in (other if _several(other) else [other])]
    if not several:
        raise OptionError("merge takes at least one fitted model.")
    if isinstance(model, ModelState) and memory_of(model) == "rows":
        _merge_rows(model, several)
        return
    for other in several:
        model._check_merge(other)
        row_memory.check_same(model, other)
    theirs, spent = [other.fitted_ for other in several], _spent([model, *several])
    with lock_of(model), half_life_mixture.all_or_nothing(model):
        mixed = half_life_mixture.merged([model, *several]) if half_life_mixture.is_auto(model) else None
        whole = model._with_current_options()
        for fitted in theirs:
            whole = whole.merge(fitted)
        noted = _noted([model, *several])
        model._estimate_and_set(whole)
        row_memory.take(model, noted)
        if mixed is not None:
            model.__dict__["_fading"] = mixed
        _take_spent(model, spent)
        _note_removed(model, several)


def _merge_rows(model: ModelState, others: Iterable[Any]) -> None:
    """memory='rows': the fit of the rows of all, whatever each of them has chosen."""
    with lock_of(model):
        model._require_fit()
        model._require_adding()
        rows = row_memory.rows_of(model)
        for other in others:
            row_memory.check_merge(model, other)
            rows = rows.add(row_memory.rows_of(other))
        row_memory.replace_rows(model, rows)


def merged(first: Model, others: Iterable[ModelState]) -> Model:
    """A new model of one and many others, added in a tree; parameters are estimated once, at the end."""
    first._require_fit()
    first._require_adding()
    if memory_of(first) == "rows":
        whole_of_it = first.copy()
        _merge_rows(whole_of_it, others)
        return whole_of_it
    if half_life_mixture.is_auto(first):
        sum_of_them, several = first.copy(), list(others)
        if several:
            merge(sum_of_them, several)
        return sum_of_them
    again, tree, spent = first._with_current_options(), Tree(), _spent([first])
    tree.add(again)
    removed: list[ModelState] = []
    noted: list[ModelState] = [first]
    for other in others:
        first._check_merge(other)
        row_memory.check_same(first, other)
        noted += [other] if row_memory.place(first) is not None else []
        spent = _both(spent, _spent([other]))
        tree.add(other.fitted_)
        removed += [other] if removed_of(other) else []
    whole = tree.total()
    whole = whole.with_terms(again.reclass(whole.classes).terms)
    made = with_fitted(first, whole, first._estimated_if_eager(whole))
    row_memory.take(made, _noted(noted))
    _take_spent(made, spent)
    _note_removed(made, removed)
    return made


def _noted(models: Sequence[ModelState]) -> Any:
    """What the models keep of their rows, together."""
    if row_memory.place(models[0]) is None:
        return None
    whole = models[0].copy()
    for other in models[1:]:
        row_memory.take(whole, row_memory.both(whole, row_memory.noted_of(other)))
    return row_memory.noted_of(whole)


def _note_removed(model: ModelState, others: Iterable[ModelState]) -> None:
    """Rows that another model of the same choices has forgotten are forgotten here too."""
    weight = sum(removed_of(other) for other in others)
    if weight:
        note_removed(model, weight)


def _spent(models: Iterable[ModelState]) -> float | None:
    """The sum of the privacy losses of models with noisy counts; None for exact rows, 0 for no rows."""
    total: float | None = 0.0
    for model in models:
        own: float | None = model.__dict__.get("privacy_loss_")
        total = _both(total, 0.0 if own is None and model._planned() else own)
    return total


def _both(a: float | None, b: float | None) -> float | None:
    if a is None or b is None:
        if (a or 0) + (b or 0) > 0:
            raise MergeError(
                "One model has counts with noise (privacy_loss_), another exact ones: together they would not be "
                "private. Merge private models with private ones."
            )
        return None
    return a + b


def _take_spent(model: ModelState, spent: float | None) -> None:
    if spent:
        model.privacy_loss_ = spent


def _models(models: Iterable[Model]) -> Iterator[Model]:
    for model in models:
        if not isinstance(model, ModelState):
            raise OptionError(f"merge_all takes fitted models of tallybayes; one is a {type(model).__name__}.")
        yield model


def _several(value: Any) -> bool:
    """Whether it can be gone through, which an array without dimensions cannot."""
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) != 0


class Tree:
    """Fitted models added two by two, those of as many parts with each other."""

    def __init__(self) -> None:
        self._stack: list[tuple[int, Fitted]] = []
        self._shared: dict[int, tuple[object, ...]] | None = None  # levels that all list first, in one order

    def add(self, fitted: Fitted) -> None:
        """Take one more, and merge those of one size.

        Parameters
        ----------
        fitted : Fitted
            One more.
        """
        self._share(fitted)
        height = 0
        while self._stack and self._stack[-1][0] == height:
            fitted = self._stack.pop()[1].merge(fitted)
            height += 1
        self._stack.append((height, fitted))

    def total(self) -> Fitted:
        """Merge what is left."""
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


def _in_order(fitted: Fitted, shared: dict[int, tuple[object, ...]]) -> Fitted:
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


def _place(label: object) -> tuple[str, object]:
    """An order of labels of any types."""
    return ("", label) if isinstance(label, int | float) else (type(label).__name__, label)

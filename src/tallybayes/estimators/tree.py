"""Many fitted models as one: added two by two, in a tree."""

from __future__ import annotations

from tallybayes.data.schema import Levels, Schema
from tallybayes.model.fitted import Fitted


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

"""What a generative model can do besides classify: draw rows, and say what each class says of a column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.errors import LabelError, OptionError
from tallybayes.labels import positions
from tallybayes.parameters import Parameters
from tallybayes.table_out import build_table

if TYPE_CHECKING:
    from tallybayes.plan import Group
    from tallybayes.schema import Schema
    from tallybayes.tally import Tally

Array = NDArray[Any]


class Generates:
    """sample and describe for a TallyClassifier."""

    if TYPE_CHECKING:
        classes_: Array
        schema_: Schema
        _groups: tuple[Group, ...]
        _tally: Tally

        def _require_fit(self) -> None: ...

        def _parameters(self) -> Parameters: ...

    def sample(self, n: int = 1, y: Any = None, random_state: Any = None) -> tuple[Any, Array]:
        """Draws n rows (and their classes) from the model, as the kind of table it was fitted on.

        y: a class label, or one per row: draws x given that class. Returns X and y.
        """
        self._require_fit()
        p = self._parameters()
        if not isinstance(n, int | np.integer) or n < 1:
            raise OptionError(f"n must be a whole number of at least 1; got {n!r}.")
        rng = np.random.default_rng(_random(random_state).randint(2**31 - 1, size=4))
        codes = self._classes_to_draw(int(n), y, p, rng)
        columns: list[Any] = [None] * self.schema_.d
        for group, params, s in zip(self._groups, p.parts, self._tally.stats, strict=True):
            drawn = group.distribution.sample(params, codes, rng)
            met = group.distribution.met(s, len(group.columns))
            for i, (j, values) in enumerate(zip(group.columns, drawn, strict=True)):
                needs = self._read_as(group, params, i)
                columns[j] = (needs, values)
                if needs != "levels" and not met[i]:  # no row had a value: there is none to draw
                    columns[j] = ("numbers", np.full(len(codes), np.nan))
        return build_table(self.schema_, columns, rng), self.classes_[codes]

    def _classes_to_draw(self, n: int, y: Any, p: Parameters, rng: np.random.Generator) -> NDArray[np.int32]:
        if y is None:
            share = np.exp(p.log_prior)
            return rng.choice(len(self.classes_), size=n, p=share / share.sum()).astype(np.int32)
        labels = np.full(n, y, dtype=object) if np.ndim(y) == 0 else np.asarray(y, dtype=object)
        if labels.shape != (n,):
            raise OptionError(f"y must be one label or {n} of them; got {labels.shape[0]}.")
        codes = positions(labels, self.classes_)
        if (codes < 0).any():
            bad = labels[int(np.argmin(codes))]
            raise LabelError(f"{bad!r} is not a class of this model. Classes: {self.classes_.tolist()}.")
        return codes

    def _read_as(self, group: Group, params: Any, i: int) -> str:
        """How column i of a group is read: as numbers, or as codes of cuts or levels."""
        if group.distribution.needs != "codes":
            return group.distribution.needs
        real = "sizes" in params and i >= len(params["sizes"])
        return "numbers" if real else "cuts" if group.columns[i] in self.schema_.cuts else "levels"

    def describe(self, column: str | int) -> dict[Any, dict[str, float]]:
        """What each class says of a column: probabilities of its levels, or mean and variance, or a rate.

        Of a column of numbers that no row had a value in they say nothing: empty dicts.
        """
        self._require_fit()
        j = self.schema_.position(column)
        for group, params, s in zip(self._groups, self._parameters().parts, self._tally.stats, strict=True):
            if j in group.columns:
                i = group.columns.index(j)
                met = group.distribution.met(s, len(group.columns))
                if self._read_as(group, params, i) == "numbers" and not met[i]:
                    return {label: {} for label in self.classes_.tolist()}
                labels: list[str] = []
                if j in self.schema_.levels:
                    labels = [str(v) for v in self.schema_.levels[j].labels]
                elif j in self.schema_.cuts:
                    labels = self.schema_.cuts[j].labels()
                elif "sizes" in params and i < len(params["sizes"]):
                    labels = [str(v) for v in range(int(params["sizes"][i]))]
                return {
                    label: group.distribution.describe(params, i, k, labels)
                    for k, label in enumerate(self.classes_.tolist())
                }
        raise OptionError(f"No distribution looks after column {column!r}.")  # pragma: no cover


def _random(state: Any) -> np.random.RandomState:
    """As scikit-learn reads random_state."""
    if isinstance(state, np.random.RandomState):
        return state
    from sklearn.utils import check_random_state

    found: np.random.RandomState = check_random_state(state)
    return found

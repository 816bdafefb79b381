"""One row at a time, as a dict: for streams and services.

The usual row costs about a microsecond (row_door.py); whatever is unusual takes the careful way through a table of one
row, with the same answer to the bit (with a half-life: to rounding).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from tallybayes.errors import TableError
from tallybayes.estimators.model import Held, Model
from tallybayes.row_door import RowDoor, open_door

COMPILED = "compiled"
MOST_WEIGHT = 1e10  # a row of more goes the careful way, which looks out for overflow


class OneRow(Model):
    """learn_one, forget_one, predict_one and predict_proba_one."""

    if TYPE_CHECKING:
        half_life: float | None
        class_weight: object

        def partial_fit(self, X: object, y: object, classes: object = None, sample_weight: object = None) -> Self: ...
        def forget(self, X: object, y: object, sample_weight: object = None) -> Self: ...

    def learn_one(self, row: Mapping[str, object], y: object, sample_weight: float = 1.0) -> Self:
        """Learn one row given as a dict: the same, to the bit, as partial_fit of a table of this row.

        With ``half_life`` set, where that is a parameter, all rows before it fade, and the two ways agree to rounding.

        Parameters
        ----------
        row : dict from column to value
            A key left out is a missing value. The first row may start the model.
        y : label
            A class that was not met before is added, unless the classes were declared.
        sample_weight : float, default=1.0
            How many times the row counts.

        Returns
        -------
        self : estimator
            The same model, which has learned the row.

        See Also
        --------
        one_row : Whether a row takes microseconds, and if not, why.
        """
        with self._learning():
            w = sample_weight if self.class_weight is None else self._weight_of(y, sample_weight)
            door = self._door_for(y, w)
            if door is not None and type(row) is dict and door.learn(row, y, w, self.half_life):
                if hasattr(self, "loo_log_proba_"):  # it was of other rows
                    self._drop_left_out()
                return self
            self.partial_fit(_one(row), [y], sample_weight=[sample_weight])
            self._drop_left_out()  # a first row that chose a temperature
            self._open()
        return self

    def forget_one(self, row: Mapping[str, object], y: object, sample_weight: float = 1.0) -> Self:
        """Take out again one row that was learned: the same, to the bit, as forget of a table of this row.

        Parameters
        ----------
        row : dict from column to value
            As it was learned.
        y : label
            Its class.
        sample_weight : float, default=1.0
            How much of it is left: the weight it was learned with, less what has faded of it since.

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
        with self._learning():
            w = sample_weight if self.class_weight is None else self._weight_of(y, sample_weight)
            door = self._door_for(y, w)
            if door is not None and type(row) is dict and door.forget(row, y, w):
                if hasattr(self, "loo_log_proba_"):
                    self._drop_left_out()
                return self
            self.forget(_one(row), [y], sample_weight=[sample_weight])
            self._open()
        return self

    def _door_for(self, y: object, w: object) -> RowDoor | None:
        """The door, if it is open and these look like a label and a weight."""
        held: Held | None = self.__dict__.get("_held")
        if held is None or type(held.door) is not RowDoor or y is None:
            return None
        return held.door if isinstance(w, (float, int)) and 0 < w <= MOST_WEIGHT else None

    def _weight_of(self, y: Any, sample_weight: float) -> float:
        """What a row of this class weighs; 0 for the careful way."""
        given = self.class_weight
        try:
            return sample_weight * float(given.get(y, 1.0)) if type(given) is dict else 0.0
        except (TypeError, ValueError):
            return 0.0

    def predict_proba_one(self, row: Mapping[str, object]) -> dict[Any, float]:
        """Tell P(label | row) of one row given as a dict: the same, to the bit, as predict_proba of a table of it.

        Parameters
        ----------
        row : dict from column to value
            A key left out is a missing value.

        Returns
        -------
        dict from label to probability
            In the order of ``classes_``.
        """
        self._require_fit()
        door = self._held.door
        if door is None:
            door = self._open()
        if type(door) is RowDoor and type(row) is dict and not hasattr(self, "temperature_"):
            found: Any = door.proba(row)
            if found is not None:
                answer: dict[object, float] = found
                return answer
        predictor = self.predictor_
        (found,) = predictor.answer(predictor.read(_one(row)), "proba").tolist()
        return dict(zip(predictor.fitted.classes.tolist(), found, strict=True))

    def predict_one(self, row: Mapping[str, object]) -> Any:
        """Tell the most probable label of one row given as a dict.

        Parameters
        ----------
        row : dict from column to value
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
        "column 'age': the distribution 'kernel' has no compiled form for one row"
        """
        self._require_attribute("one_row")
        door = self._held.door or self._open()
        if isinstance(door, str):
            return door
        if hasattr(self, "temperature_"):
            return "learn_one is compiled; the temperature of a tempered model needs predict_proba"
        return COMPILED

    def _open(self) -> RowDoor | str:
        """The door for the model as it is now, or why there is none."""
        with self._learning():
            if not self.fitted_.weight.sum() > 0:
                return "the model has no rows"
            if self._held.door is None:
                self._held.door = open_door(self._parameters(), self._prior())
            return self._held.door


def _one(row: object) -> list[Mapping[str, object]]:
    if not isinstance(row, Mapping):
        raise TableError(f"Expected one row as a dict from column to value; got {type(row).__name__}.")
    return [row]

"""One row at a time, as a dict: for streams and services.

The usual row costs about a microsecond (model/fast_row.py); whatever is unusual takes the careful way through a
table of one row, with the same answer to the bit (with a half-life: to rounding).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tallybayes.data.expansion import expand_row
from tallybayes.errors import TableError
from tallybayes.estimators.model import Held, Model
from tallybayes.model.fast_row import FastRow, open_fast_row

COMPILED = "compiled"
MOST_WEIGHT = 1e10  # a row of more goes the careful way, which looks out for overflow; also in cpp/bind/one_row.cpp


class OneRow(Model):
    """learn_one, forget_one, predict_one and predict_proba_one."""

    if TYPE_CHECKING:
        half_life: float | None
        class_weight: object

        def partial_fit(self, X: object, y: object, classes: object = None, sample_weight: object = None) -> Self: ...
        def forget(self, X: object, y: object, sample_weight: object = None) -> Self: ...

    def _row(self, row: Any) -> Any:
        """A row as the door reads it: a dict, with the columns that are read, without those that are ignored."""
        row = _as_dict(row)
        held = self.__dict__.get("_held")
        if held is None or held.plain:
            return row
        schema = held.fitted.schema
        if schema.expansion is not None:
            row = expand_row(row, schema.expansion)
        return schema.without_extra(row) if schema.extra else row

    def ignore_extra(self, ignore: bool = True) -> Self:
        """Say what becomes of columns, and of keys of dicts, that were not there at fit: they are left out.

        It is kept in ``schema_``, and so in files, copies, and models that are given that schema. Without it such a
        column is an error, since it may be a mistyped name whose value would be lost without a word.

        Parameters
        ----------
        ignore : bool, default=True
            False: they are errors again.

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
        with self._learning():
            fitted = self.fitted_
            self.hold(replace(fitted, schema=replace(fitted.schema, extra=bool(ignore))))
        return self

    def learn_one(self, row: Mapping[str, object], y: object, sample_weight: float = 1.0) -> Self:
        """Learn one row given as a dict: the same, to the bit, as partial_fit of a table of this row.

        With ``half_life`` set, where that is a parameter, all rows before it fade, and the two ways agree to rounding.

        Parameters
        ----------
        row : dict from column to value, or a row of a pandas frame
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
        try:  # the usual row asks for as little as can be: half of its time goes by here
            fast_row = self._held.fast_row
        except AttributeError:
            fast_row = None
        if type(fast_row) is FastRow and self.class_weight is None:
            learn = fast_row.learn_unlocked  # a slot is found faster than a method
            if learn(row, y, sample_weight, self.half_life):
                return self
        return self._learn_locked(row, y, sample_weight)

    def _learn_locked(self, row: Mapping[str, object], y: object, sample_weight: float) -> Self:
        """A row that is not usual, or came while somebody had the lock; after it others may do without."""
        with self._learning():
            held: Held | None = self.__dict__.get("_held")
            given: object = row  # what the careful way reads: it knows which parts of a date are numbers
            if type(row) is not dict or held is None or not held.plain:
                given = _as_dict(row)
                row = self._row(given)
            w = sample_weight if self.class_weight is None else self._weight_of(y, sample_weight)
            fast_row = self._fast_row_for(y, w)
            if (
                held is not None
                and fast_row is not None
                and type(row) is dict
                and fast_row.learn(row, y, w, self.half_life)
            ):
                self._drop_left_out()  # it was of other rows
                fast_row.let_in(held.plain)
                return self
            self.partial_fit([given], [y], sample_weight=[sample_weight])
            self._drop_left_out()  # a first row that chose a temperature
            self._open()
        return self

    def forget_one(self, row: Mapping[str, object], y: object, sample_weight: float = 1.0) -> Self:
        """Take out again one row that was learned: the same, to the bit, as forget of a table of this row.

        Parameters
        ----------
        row : dict from column to value, or a row of a pandas frame
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
            held = self.__dict__.get("_held")
            given: object = row  # what the careful way reads: it knows which parts of a date are numbers
            if type(row) is not dict or held is None or not held.plain:
                given = _as_dict(row)
                row = self._row(given)
            w = sample_weight if self.class_weight is None else self._weight_of(y, sample_weight)
            fast_row = self._fast_row_for(y, w)
            if fast_row is not None and type(row) is dict and fast_row.forget(row, y, w):
                if "loo_log_proba_" in self.__dict__:
                    self._drop_left_out()
                return self
            self.forget([given], [y], sample_weight=[sample_weight])
            self._open()
        return self

    def _fast_row_for(self, y: object, w: object) -> FastRow | None:
        """The door, if it is open and these look like a label and a weight."""
        held: Held | None = self.__dict__.get("_held")
        if held is None or type(held.fast_row) is not FastRow or y is None:
            return None
        return held.fast_row if isinstance(w, (float, int)) and 0 < w <= MOST_WEIGHT else None

    def _weight_of(self, y: object, sample_weight: float) -> float:
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
        row : dict from column to value, or a row of a pandas frame
            A key left out is a missing value.

        Returns
        -------
        dict from label to probability
            In the order of ``classes_``.
        """
        try:
            held = self._held
        except AttributeError:
            self._require_fit()
            raise
        fast_row = held.fast_row
        if fast_row is None:
            fast_row = self._open()
        proba: Any = fast_row.proba if type(fast_row) is FastRow and "temperature_" not in self.__dict__ else None
        found: dict[Any, float] | None = proba(row) if proba is not None and held.plain else None
        if found is not None:
            return found
        given: object = row
        if type(row) is not dict or not held.plain:
            given = _as_dict(row)
            row = self._row(given)
            read: dict[Any, float] | None = None if proba is None else proba(row)
            if read is not None:
                return read
        predictor = self.predictor_
        own = predictor.row_proba(row) if type(row) is dict and held.plain else None
        (told,) = predictor.answer(predictor.read([given]), "proba").tolist() if own is None else (own.tolist(),)
        return dict(zip(predictor.fitted.classes.tolist(), told, strict=True))

    def predict_one(self, row: Mapping[str, object]) -> Any:
        """Tell the most probable label of one row given as a dict.

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
        "column 'age': the distribution 'kernel' has no compiled form for one row"
        """
        self._require_attribute("one_row")
        fast_row = self._held.fast_row or self._open()
        if isinstance(fast_row, str):
            return fast_row
        if "temperature_" in self.__dict__:
            return "learn_one is compiled; the temperature of a tempered model needs predict_proba"
        return COMPILED

    def _open(self) -> FastRow | str:
        """The door for the model as it is now, or why there is none."""
        with self._learning():
            if not self.fitted_.weight.sum() > 0:
                return "the model has no rows"
            if self._held.fast_row is None:
                self._held.fast_row = open_fast_row(self._parameters(), self._prior(), self._learning())
            return self._held.fast_row


def _as_dict(row: Any) -> Mapping[str, object]:
    """A dict, or a row of a pandas frame as one."""
    if isinstance(row, Mapping):
        return row
    if hasattr(row, "to_dict") and getattr(row, "ndim", None) == 1:
        found = {name: v.item() if isinstance(v, np.generic) else v for name, v in row.to_dict().items()}
        return {f"x{name}" if type(name) is int else name: v for name, v in found.items()}
    raise TableError(f"Expected one row as a dict from column to value; got {type(row).__name__}.")

"""One row at a time, as a dict: the door for streams and services.

The usual row costs about a microsecond: compiled code reads it into sums of its own, or scores it by them. The door is
made of the doors of the model's distributions (`Distribution.row_door`), whatever their mix; the model's tally and
schema are brought up to date when somebody reads them (`Settled`). Whatever is unusual (a new class, a wrong type, a
label that calls for a warning) takes the careful way through a table of one row, with the same answer to the bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

from tallybayes import _core
from tallybayes.distributions.base import Context, Distribution, RowColumn
from tallybayes.distributions.records import changed
from tallybayes.errors import TableError
from tallybayes.parameters import context_of
from tallybayes.schema import Levels, Schema
from tallybayes.tally import Tally

if TYPE_CHECKING:
    from tallybayes.estimators.base import TallyClassifier

COMPILED = "compiled"
BEHIND = ("add", "combine", "estimate", "score")  # what a door does in their place
HEAVY = 1e10  # a row of more weight goes the careful way, which looks out for overflow
T = TypeVar("T")


class OneRow:
    """learn_one, predict_one and predict_proba_one for a TallyClassifier."""

    _door: OpenDoor | str | None  # a text: why there is none; None: not tried yet
    _model: Any

    def learn_one(self, row: Mapping[str, Any], y: Any, sample_weight: float = 1.0) -> Self:
        """Learns one row given as a dict: the same, to the bit, as partial_fit of a table of this row.

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
        self

        See Also
        --------
        one_row : whether a row takes microseconds, and if not, why.
        """
        me: Any = self
        door = self.__dict__.get("_door")
        if (
            type(door) is OpenDoor
            and y is not None
            and 0 < sample_weight <= HEAVY
            and type(row) is dict
            and door.learn(row, y, sample_weight)
        ):
            self._model = None  # read again when it is next asked for
            if "loo_log_proba_" in self.__dict__:  # it was of other rows
                me._drop_left_out()
            return self
        me.partial_fit(_one(row), [y], sample_weight=[sample_weight])
        me._drop_left_out()  # a first row that chose a temperature
        self._door = open_door(me)
        return self

    def predict_proba_one(self, row: Mapping[str, Any]) -> dict[Any, float]:
        """P(label | row) for one row given as a dict: the same, to the bit, as predict_proba of a table of this row.

        Parameters
        ----------
        row : dict from column to value
            A key left out is a missing value.

        Returns
        -------
        dict from label to probability
            In the order of classes_.
        """
        me: Any = self
        door = self.__dict__.get("_door")
        if door is None:
            me._require_fit()
            door = self._door = open_door(me)
        if type(door) is OpenDoor and type(row) is dict and "temperature_" not in self.__dict__:
            found: Any = door.proba(row)
            if found is not None:
                answer: dict[Any, float] = found
                return answer
        return dict(zip(me.classes_.tolist(), me.predict_proba(_one(row))[0].tolist(), strict=True))

    def predict_one(self, row: Mapping[str, Any]) -> Any:
        """The most probable label of one row given as a dict."""
        found = self.predict_proba_one(row)
        return max(found, key=found.__getitem__)

    @property
    def one_row(self) -> str:
        """'compiled' if learn_one and predict_proba_one take microseconds; else why they go through a table of one row.

        Either way the answers are the same.

        Examples
        --------
        >>> from tallybayes import NaiveBayes
        >>> rows = [{"age": 31.0, "member": True}, {"age": 45.0, "member": False}]
        >>> NaiveBayes().fit(rows, ["no", "yes"]).one_row
        'compiled'
        >>> NaiveBayes(distributions="kernel").fit(rows, ["no", "yes"]).one_row
        "column 'age': the distribution 'kernel' has no compiled form for one row"
        """
        me: Any = self
        me._require_attribute("one_row")
        if self.__dict__.get("_door") is None:
            self._door = open_door(me)
        if isinstance(self._door, str):
            return self._door
        if "temperature_" in self.__dict__:
            return "learn_one is compiled; the temperature of a tempered model needs predict_proba"
        return COMPILED


def _one(row: Any) -> list[Mapping[str, Any]]:
    if not isinstance(row, Mapping):
        raise TableError(f"Expected one row as a dict from column to value; got {type(row).__name__}.")
    return [row]


class OpenDoor:
    """A compiled door and its parts, one for each group of columns; what they have learned that the model has not."""

    __slots__ = ("core", "learn", "parts", "proba", "schema", "settled")

    def __init__(self, core: _core.RowDoor, parts: Sequence[Any], schema: Schema) -> None:
        self.core, self.parts, self.schema = core, parts, schema
        self.learn, self.proba = core.learn, core.proba
        self.settled = 0  # rows that the model knows of

    def tally(self, before: Tally) -> Tally:
        """The sums as they are now."""
        stats = tuple(changed(s, part.sums()) for s, part in zip(before.stats, self.parts, strict=True))
        return Tally(before.classes, self.core.weight(), stats)

    def grown_schema(self) -> Schema:
        """The schema with the labels learned since; a column of bare codes has labels as soon as it has met a dict."""
        levels = {}
        for part in self.parts:
            if isinstance(part, _core.LevelsDoor):
                sizes = part.sums()["sizes"].tolist()
                for (j, new), size in zip(part.added().items(), sizes, strict=True):
                    old = self.schema.levels.get(j, Levels(tuple(range(size))))
                    levels[j] = Levels((*old.labels, *new), old.declared) if new else old
        return self.schema.with_levels(levels)


def open_door(model: TallyClassifier) -> OpenDoor | str:
    """A door for the model as it is, or why there is none."""
    schema, groups, total = model.schema_, model._groups, model._tally  # what is read of the model
    if not total.weight.sum() > 0:
        return "the model has no rows"
    parts: list[Any] = []
    for group, s in zip(groups, total.stats, strict=True):
        points = {j: schema.cuts[j].points for j in group.columns if j in schema.cuts}
        columns = [RowColumn(j, schema.kinds[j], points.get(j)) for j in group.columns]
        part = _part_of(group.distribution, columns, s, context_of(total, schema, group))
        if isinstance(part, str):
            return f"column {schema.name(group.columns[0])!r}: {part}"
        parts.append(part)
    asked = model._prior()
    if callable(asked):
        return "its prior is a function of all that was counted"
    names = [schema.name(j) for j in range(schema.d)]
    classes = {label: c for c, label in enumerate(total.classes.tolist())}
    return OpenDoor(_core.RowDoor(names, classes, total.weight, _prior_of(model, asked), parts), parts, schema)


def _part_of(d: Distribution, columns: Sequence[RowColumn], s: Any, context: Context) -> _core.DoorPart | str:
    """The distribution's door; a subclass that counts or scores in its own way does not inherit that of another."""
    home = {
        name: next(i for i, c in enumerate(type(d).__mro__) if name in c.__dict__) for name in ("row_door", *BEHIND)
    }
    if any(home[name] < home["row_door"] for name in BEHIND):
        return Distribution.row_door(d, columns, s, context)
    return d.row_door(columns, s, context)


def _prior_of(model: TallyClassifier, asked: Any) -> Any:
    """What is added to the weight of each class, or log priors that do not follow the rows."""
    if asked is None:
        return 0.0
    if isinstance(asked, str) and asked == "laplace":
        return 1.0
    return model._parameters().log_prior


def settle(model: Any) -> None:
    """Brings the model's tally and schema up to date with the rows that came through the door. It stays open."""
    held = model.__dict__
    door = held.get("_door")
    if type(door) is OpenDoor and door.settled != door.core.learned:
        held["_tally"], held["schema_"] = door.tally(held["_tally"]), door.grown_schema()
        door.settled = door.core.learned


class Settled(Generic[T]):
    """An attribute of a fitted model that rows from the door change: whoever reads it reads it up to date."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, model: None, owner: type) -> Self: ...
    @overload
    def __get__(self, model: object, owner: type) -> T: ...
    def __get__(self, model: object | None, owner: type) -> Self | T:
        if model is None:
            return self
        settle(model)
        try:
            found: T = model.__dict__[self.name]
        except KeyError:
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self.name!r}") from None
        return found

    def __set__(self, model: object, value: T) -> None:
        model.__dict__[self.name] = value

    def __delete__(self, model: object) -> None:
        del model.__dict__[self.name]

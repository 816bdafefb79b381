"""Bodies of requests as they are written: one row, rows or columns as JSON; what else a question says."""

from __future__ import annotations

import asyncio
import json
from math import isfinite
from typing import Generic, Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from starlette.requests import Request

from tallybayes.errors import brief
from tallybayes.serve.http_errors import HttpError
from tallybayes.serve.service_settings import Limits

Cell = None | bool | int | float | str
Row = dict[str, Cell]
Label = bool | int | float | str
Shares = Literal["uniform", "laplace"] | dict[str, float] | list[float]
JSON = "application/json"
CLOSE = {"connection": "close"}
MOST_DIGITS = 20  # of a length; servers refuse what is none, and whatever it says the body is counted
FORMS = ': one row goes under "row", many under "rows", each an object of values by column.'


class Question(msgspec.Struct, forbid_unknown_fields=True):
    """Rows to answer for, in one of three forms.

    Parameters
    ----------
    row : dict, optional
        One row: values by the names of columns. A column left out is missing.
    rows : list of dict, optional
        Many rows.
    columns : dict of lists, optional
        Many rows, column by column: smaller.
    prior : str, dict or list, optional
        Other shares of the classes for this question: 'uniform', shares by class, or in the order of the classes.
    """

    row: Row | UnsetType = UNSET
    rows: list[Row] | UnsetType = UNSET
    columns: dict[str, list[Cell]] | UnsetType = UNSET
    prior: Shares | UnsetType = UNSET


class Explain(Question, forbid_unknown_fields=True):
    """The same for an explanation.

    Parameters
    ----------
    against : label, optional
        The class that the others are compared with; without it each is compared with the rest.
    """

    against: Label | UnsetType = UNSET


class Decide(Question, kw_only=True, forbid_unknown_fields=True):
    """The same for a decision.

    Parameters
    ----------
    loss : dict of dicts, optional
        What each answer costs under each truth: {answer: {truth: cost}}. The truth '*' stands for all that are not
        named. A right answer costs 0 unless named. Answers need not be classes. Needed unless the model file is that
        of a BayesDecision, which has losses of its own.
    reject : float, optional
        Where even the best answer is expected to cost more than this, there is none: null.
    """

    loss: dict[str, dict[str, float]] | UnsetType = UNSET
    reject: float | UnsetType = UNSET


Q = TypeVar("Q", bound=msgspec.Struct)


class BodyReader(Generic[Q]):
    """Reads JSON bodies of one type."""

    def __init__(self, kind: type[Q]) -> None:
        self._decode = msgspec.json.Decoder(kind).decode
        fields = kind.__struct_fields__
        self._fields = f" The fields are {', '.join(fields)}" + (FORMS if "rows" in fields else ".")

    def read(self, body: bytes | bytearray) -> Q:
        """The question, or an HttpError: 400 for what is no JSON, 422 for what is not this question."""
        try:
            found: Q = self._decode(body)
        except msgspec.ValidationError as e:
            raise self._refusal(str(e), body) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as e:
            raise HttpError(400, f"The body is no JSON in UTF-8: {e}.") from None
        # A key that is there twice: the reader keeps the last and says nothing. Each key has a colon, so as many colons
        # as keys means that no key is lost; else (or where a text holds one) a slower reader looks.
        if body.count(b":") != _keys(found):
            _refuse_twice(body)
        return found

    def _refusal(self, said: str, body: bytes | bytearray) -> HttpError:
        """What msgspec says, with what it leaves out: the fields there are, or the column of a cell."""
        if "unknown field" in said and " - at " not in said:
            return HttpError(422, f"{said}.{self._fields}")
        column, row = _bad_cell(body) if "[...]" in said else (None, None)
        where = "" if column is None else f" (column {brief(column)})"
        return HttpError(422, f"{plain_sentence(said)}{where}.", column=column, row=row)


def _bad_cell(body: bytes | bytearray) -> tuple[str | None, int | None]:
    """Column and row of the first value that no cell may have: a list, an object, a number beyond all floats."""
    try:
        found = json.loads(body)
        rows = [found["row"]] if "row" in found else found["rows"] if "rows" in found else [found["columns"]]
        for i, row in enumerate(rows):
            for column, value in row.items():
                cells = value if "columns" in found else [value]
                for j, cell in enumerate(cells):
                    if isinstance(cell, list | dict) or (isinstance(cell, float) and not isfinite(cell)):
                        return column, j if "columns" in found else i if "rows" in found else None
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):  # it has another form
        pass
    return None, None


def _keys(found: msgspec.Struct) -> int:
    """How many keys there are in all objects of a question."""
    n = 0
    for name in found.__struct_fields__:
        value = getattr(found, name)
        if value is UNSET:
            continue
        n += 1
        if type(value) is dict:
            n += len(value)
            if name == "loss":
                n += sum(map(len, value.values()))
        elif type(value) is list and name == "rows":
            n += sum(map(len, value))
    return n


def _refuse_twice(body: bytes | bytearray) -> None:
    def look(pairs: list[tuple[str, object]]) -> None:
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise HttpError(422, f"The key {key!r:.80} is there twice in one object. Send each once.")
            seen.add(key)

    json.loads(body, object_pairs_hook=look)


def plain_sentence(text: str) -> str:
    """msgspec's sentence without its path language: `$.rows[3]` is rows[3]."""
    return text.replace(" - at `$.", " at `").replace(" - at `$`", "").replace("[...]", ".*")


def form_of(content_type: str | None) -> str:
    """The media type of a body, without parameters; what is not UTF-8 is refused."""
    if content_type is None or content_type == JSON:
        return JSON
    kind, *parameters = (part.strip().lower() for part in content_type.split(";"))
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name == "charset" and value.strip('"') not in ("utf-8", "utf8", "us-ascii"):
            raise HttpError(415, "Text is taken in UTF-8 only.")
    return kind


async def read_body(request: Request, limits: Limits) -> bytes:
    """The whole body, or 413 for one that is too long, 408 for one that takes too long."""
    length = request.headers.get("content-length", "")
    too_long = HttpError(413, f"The body is longer than {limits.body:,} bytes. Send the rows in parts.", headers=CLOSE)
    if length.isdigit() and len(length) < MOST_DIGITS and int(length) > limits.body:
        raise too_long
    parts, total = [], 0
    try:
        async with asyncio.timeout(limits.seconds):
            async for part in request.stream():
                total += len(part)
                if total > limits.body:
                    raise too_long
                parts.append(part)
    except TimeoutError:
        said = f"The body was not there within {limits.seconds:g} seconds. Send it faster, or in parts."
        raise HttpError(408, said, headers=CLOSE) from None
    return b"".join(parts)

"""JSON of an expected form, or a ModelFileError that says where it is not."""

from __future__ import annotations

import math

from tallybayes.errors import ModelFileError

Json = object  # what a file says is anything until it has been looked at
BITS = 4096  # of an integer
MAX_MESSAGE_LENGTH = 300  # of a message: what a file says of itself may be as long as the file


def bounded(e: Exception) -> str:
    """What went wrong with a file, in a few lines whatever the file holds."""
    text = str(e)
    return text if len(text) <= MAX_MESSAGE_LENGTH else f"{text[:MAX_MESSAGE_LENGTH]} …"


def fields(j: Json, where: str, *names: str) -> list[Json]:
    """The values of an object that has these keys and no others."""
    if not isinstance(j, dict) or set(j) != set(names):
        raise ModelFileError(f"{where} does not have the entries {', '.join(names)}.")
    return [j[name] for name in names]


def mapping(j: Json, where: str) -> dict[str, Json]:
    if not isinstance(j, dict):
        raise ModelFileError(f"{where} is not an object.")
    return j


def items(j: Json, where: str, n: int | None = None) -> list[Json]:
    if not isinstance(j, list) or (n is not None and len(j) != n):
        raise ModelFileError(f"{where} is not a list{'' if n is None else f' of {n}'}.")
    return j


def texts(j: Json, where: str) -> list[str]:
    found = [v for v in items(j, where) if isinstance(v, str)]
    if len(found) < len(items(j, where)):
        raise ModelFileError(f"{where} are not all strings.")
    return found


def index(j: Json, n: int, where: str) -> int:
    """A whole number from 0 to n − 1."""
    if type(j) is not int or not 0 <= j < n:
        raise ModelFileError(f"{where} is {j!r:.40}; expected a whole number from 0 to {n - 1}.")
    return j


def scalar(j: Json, where: str) -> object:
    if isinstance(j, int) and j.bit_length() > BITS:
        raise ModelFileError(f"{where} holds an integer of more than {BITS} bits.")
    if isinstance(j, float) and not math.isfinite(j):  # 1e999 is valid JSON
        raise ModelFileError(f"{where} holds a number too large for a float64.")
    return j

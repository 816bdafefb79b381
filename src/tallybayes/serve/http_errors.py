"""What goes wrong, as HTTP tells it: a status and a JSON object that says what was got, what is allowed, what to do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from msgspec import UNSET, UnsetType

from tallybayes.errors import ForgetError, TableError, TallybayesError, brief

TYPE = "application/problem+json"
MAX_MESSAGE_LENGTH = 2000  # characters of a sentence
Headers = Mapping[str, str]

# The library's advice is for Python; here it is for who sends a request.
WORDS = tuple(
    (re.compile(pattern), instead)
    for pattern, instead in (
        (r" Declare it categorical with (?:NaiveBayes\()?schema=\{.+?\}\)?, or mark them missing\.", " Send numbers."),
        (r"give numbers, or mark what is missing \(None or NaN\)", "send numbers, or null for what is missing"),
        (r"mark (?:those|them) as missing \(None or NaN\)", "send null for what is missing"),
        (r":? ?(?:their factors are left out)\. unseen='error' refuses them.*", ": their factors are left out."),
        (r" unseen='ignore' leaves their factors out.*", ""),
        (r"\bThe rows have keys that were not there at fit\b", "The model has no such columns"),
        (r"Number of priors must match number of classes: got", "A prior has one share for each class: got"),
        (r"`?priors`?", "prior"),
        (
            r"\(decision, \.\.\.\) stands for every class .*",
            "the class '*' stands for those not named.",
        ),
        (r" Ask for at most", " Send at most"),
    )
)


class Problem(msgspec.Struct, omit_defaults=True):
    """What is wrong with a request (RFC 9457), and the cell that it is about, if it is about one."""

    title: str
    status: int
    detail: str
    column: str | UnsetType = UNSET
    row: int | UnsetType = UNSET
    value: str | UnsetType = UNSET


class HttpError(Exception):
    """A request that is refused. column, row, value: what it is about, if it is about one cell."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        column: str | None = None,
        row: int | None = None,
        value: object = None,
        headers: Headers | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, dict(headers or {})
        self.column, self.row, self.value = column, row, value

    def problem(self) -> Problem:
        """What the response says."""
        unset = {"column": self.column, "row": self.row, "value": None if self.value is None else brief(self.value)}
        given = {name: value for name, value in unset.items() if value is not None}
        return Problem(HTTPStatus(self.status).phrase, self.status, self.detail[:MAX_MESSAGE_LENGTH], **given)  # type: ignore[arg-type]


def in_words(text: str) -> str:
    """A sentence of the library in the words of HTTP."""
    for pattern, instead in WORDS:
        text = pattern.sub(instead, text)
    return re.sub(r"\s*\n(?:- )?\s*", " ", text.strip())


def problem_of(error: TallybayesError) -> HttpError:
    """What the library refuses, as HTTP tells it."""
    status = 409 if isinstance(error, ForgetError) else 422
    if isinstance(error, TableError):
        return HttpError(status, in_words(str(error)), column=error.column, row=error.row, value=error.value)
    return HttpError(status, in_words(str(error)))

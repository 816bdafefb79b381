"""Requests and answers on the wire: what ASGI hands over, read within limits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, NamedTuple

from tallybayes.serve.http_errors import TYPE, Headers, HttpError
from tallybayes.serve.service_settings import Limits

Message = MutableMapping[str, Any]  # as ASGI has it
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

JSON = b"application/json"
BODY = "tallybayes.body"  # in a scope: the whole body, where the protocol has put it together
TOO_SLOW = "The body was not there within {:g} seconds. Send it faster, or in parts."
CLOSE = ((b"connection", b"close"),)
MOST_DIGITS = 20  # of a length; servers refuse what is none, and whatever it says the body is counted
ALWAYS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))


class GoneError(Exception):
    """The client has left; there is nobody to answer."""


class Request:
    """What a handler looks at."""

    __slots__ = (
        "accept",
        "authorization",
        "body",
        "content_type",
        "host",
        "in_parts",
        "key",
        "length",
        "origin",
        "query",
        "site",
    )

    def __init__(self, headers: Iterable[tuple[bytes, bytes]], query: bytes = b"") -> None:
        self.accept: bytes | None = None
        self.authorization: bytes | None = None
        self.content_type: bytes | None = None
        self.host: bytes | None = None  # empty if it is there twice
        self.origin: bytes | None = None
        self.site: bytes | None = None
        self.key: bytes | None = None
        self.length = 0  # of its body, as far as it says
        self.body: bytes = b""
        self.in_parts = False  # whether its body comes in chunks, or waits for a word of ours
        self.query = query
        for name, value in headers:
            if name == b"content-type":
                self.content_type = value
            elif name == b"host":
                self.host = value if self.host is None else b""
            elif name == b"origin":
                self.origin = value
            elif name == b"sec-fetch-site":
                self.site = value
            elif name == b"content-length":
                self.length = int(value) if value.isdigit() and len(value) < MOST_DIGITS else 0
            elif name == b"accept":
                self.accept = value
            elif name == b"authorization":
                self.authorization = value
            elif name == b"idempotency-key":
                self.key = value
            elif name in (b"expect", b"transfer-encoding"):
                self.in_parts = True


class Answer(NamedTuple):
    """What goes back. rows: how many were answered for."""

    body: bytes
    type: bytes = JSON
    rows: int = 0
    status: int = 200
    headers: Headers = ()

    @classmethod
    def refusal(cls, problem: HttpError) -> Answer:
        """Make what goes back for a request that is refused.

        Parameters
        ----------
        problem : HttpError
            Why.

        Returns
        -------
        Answer
            With its status and a line of JSON.
        """
        return cls(problem.body(), TYPE, 0, problem.status, problem.headers)


async def read_body(request: Request, receive: Receive, limits: Limits) -> bytes:
    """The whole body, or 413 for one that is too long, 408 for one that takes too long."""
    if request.length > limits.body:
        raise _too_long(limits)
    try:
        async with asyncio.timeout(limits.seconds):
            message = await receive()
            if message["type"] == "http.disconnect":
                raise GoneError
            body: bytes = message.get("body", b"")
            if len(body) > limits.body:
                raise _too_long(limits)
            if not message.get("more_body", False):
                return body
            return await _rest(body, receive, limits)
    except TimeoutError:
        raise HttpError(408, TOO_SLOW.format(limits.seconds), headers=CLOSE) from None


async def _rest(first: bytes, receive: Receive, limits: Limits) -> bytes:
    parts, total = [first], len(first)
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise GoneError
        part = message.get("body", b"")
        total += len(part)
        if total > limits.body:
            raise _too_long(limits)
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _too_long(limits: Limits) -> HttpError:
    return HttpError(413, f"The body is longer than {limits.body:,} bytes. Send the rows in parts.", headers=CLOSE)


async def respond(send: Send, answer: Answer) -> None:
    """Sends an answer."""
    headers = [
        (b"content-type", answer.type),
        (b"content-length", str(len(answer.body)).encode()),
        *ALWAYS,
        *answer.headers,
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})

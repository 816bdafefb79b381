"""uvicorn's protocol with an end to waiting, and with a short way for short requests.

The short way: a request that asks for little, on a connection that waits for nothing else, is answered where its last
byte is read, without the task, the messages and the timers of ASGI, which cost more than all the rest. Of a long one
the body is put together here, where the parts need not be waited for one by one. Whatever else comes (bodies in chunks,
connections that end, routes that wait for a disk) is handed to uvicorn as if nothing had looked at it before.
"""

from __future__ import annotations

import asyncio
from math import inf
from time import perf_counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from tallybayes.serve.http_errors import HttpError
from tallybayes.serve.service import Route, Service
from tallybayes.serve.wire import ALWAYS, BODY, TOO_SLOW, Answer, Request

KEEP_ALIVE = 30  # seconds that an idle connection stays open
HEADERS = 64 << 10  # bytes before a body
LOOKS = 4  # at each connection, in the time that a request has
_always = b"".join(name + b": " + value + b"\r\n" for name, value in ALWAYS)


class Guarded(HttpToolsProtocol):
    """A client that is too slow with its request, or takes no more of its answer, loses its connection; so does one
    whose headers are too long. One timer for each connection looks at it now and then: a timer for each request would
    cost more than its answer."""

    service: Service
    seconds = 10.0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._stalled: asyncio.TimerHandle | None = None
        self._route: Route | None = None  # of the request whose body is read here
        self._in_headers = True
        self._taken = 0
        self._last = False  # whether the connection ends with this request
        self._due = self.loop.time() + self.seconds  # when it is closed
        self._timer = self.loop.call_later(self.seconds / LOOKS, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        self._cancel_stalled()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._taken += len(data)
        super().data_received(data)
        if self._in_headers and self._taken > HEADERS and not self.transport.is_closing():
            self.transport.abort()

    # --- what the parser finds -----------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A request begins."""
        self._begin = perf_counter()
        self._due = self.loop.time() + self.seconds
        self._in_headers, self._taken = True, 0
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []

    def on_url(self, url: bytes) -> None:
        """A piece of the path came."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header came."""
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """All headers are here: a simple request is answered at once, any other by ASGI."""
        self._in_headers = False
        route = self.service.at_once.get(self._url)
        if route is not None and self._is_simple(route):
            self._route = route
            self._parts: list[bytes] = []
        else:
            self._hand_over()

    def _hand_over(self) -> None:
        """What was read so far, to uvicorn; from here on it and the application look after the request."""
        self._due = inf
        super().on_message_begin()
        super().on_url(self._url)
        for name, value in self._headers:
            super().on_header(name, value)
        super().on_headers_complete()

    def _is_simple(self, route: Route) -> bool:
        parser = self.parser
        if parser.get_method() != route.method.encode() or parser.should_upgrade() or not parser.should_keep_alive():
            return False
        if parser.get_http_version() != "1.1" or self.flow.write_paused:
            return False
        if self.cycle is not None and not self.cycle.response_complete:  # an answer before this one is under way
            return False
        if self.limit_concurrency is not None and len(self.connections) >= self.limit_concurrency:
            return False
        self._request = Request(self._headers)
        return self.service.is_simple(route, self._request)

    def on_body(self, body: bytes) -> None:
        """A piece of the body came."""
        if self._route is None:
            super().on_body(body)
        else:
            self._parts.append(body)

    def on_message_complete(self) -> None:
        """The request is whole."""
        if self._route is None:
            super().on_message_complete()
            return
        route, parts = self._route, self._parts
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        self._route, self._parts = None, []
        if self.service.is_short(len(body)):
            self._request.body = body
            self._answer(route, self.service.now(route, self._request))
            return
        self._hand_over()
        if self._last:
            super().shutdown()
        self.scope[BODY] = body  # type: ignore[literal-required]
        super().on_message_complete()

    def _answer(self, route: Route, answer: Answer) -> None:
        """Sends the answer to a request that uvicorn knows nothing of."""
        self._due = self.loop.time() + KEEP_ALIVE
        head = [STATUS_LINE[answer.status]]
        for name, value in (*self.server_state.default_headers, *answer.headers):
            head += (name, b": ", value, b"\r\n")
        if self._last:
            head.append(b"connection: close\r\n")
        head += (b"content-type: ", answer.type, b"\r\ncontent-length: %d\r\n" % len(answer.body), _always, b"\r\n")
        head.append(answer.body)
        if not self.transport.is_closing():
            self.transport.write(b"".join(head))
        self.server_state.total_requests += 1
        self.service.count(route, answer, perf_counter() - self._begin)
        if self._last:
            self.transport.close()

    # --- the end of a connection ---------------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        """The answer has been written."""
        super().on_response_complete()
        if self.cycle.response_complete and not self._in_headers:
            self._due = self.loop.time() + KEEP_ALIVE

    def shutdown(self) -> None:
        if self._route is not None:
            self._last = True
        else:
            super().shutdown()

    def _look(self) -> None:
        if self.loop.time() < self._due:
            self._timer = self.loop.call_later(self.seconds / LOOKS, self._look)
        elif self._route is not None:
            route, self._route, self._last = self._route, None, True
            self._answer(route, Answer.refusal(HttpError(408, TOO_SLOW.format(self.seconds))))
        elif not self.transport.is_closing():
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_reader(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self._cancel_stalled()
        super().resume_writing()

    def _await_reader(self, left: int) -> None:
        """Looks again in a while: an answer of which nothing was taken since is not kept for ever."""
        self._stalled = self.loop.call_later(self.seconds, self._look_at_reader, left)

    def _look_at_reader(self, before: int) -> None:
        left = self.transport.get_write_buffer_size()
        if left < before:
            self._await_reader(left)
        else:
            self.transport.abort()

    def _cancel_stalled(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None

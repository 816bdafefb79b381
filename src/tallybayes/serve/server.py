"""`tallybayes serve`: the application in uvicorn, in one process or several, until it is stopped.

uvicorn bounds connections, keep-alive and the time to stop. It has no bound on headers, on the time they take, nor on
the time that a client may leave a response unread: `Guarded` adds these three.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tallybayes.errors import OptionError
from tallybayes.serve import application
from tallybayes.serve.metrics import SHARED
from tallybayes.serve.service_settings import Settings

KEEP_ALIVE = 30  # seconds that an idle connection stays open
GRACE = 10  # seconds that requests have to end after a stop
HEADERS = 64 << 10  # bytes before a body
ENVIRONMENT = "TALLYBAYES_SERVE"  # where the processes of several find their settings


class Guarded(HttpToolsProtocol):
    """uvicorn's protocol with an end to waiting."""

    seconds = 10.0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._timer: asyncio.TimerHandle | None = None
        self._reader: asyncio.TimerHandle | None = None
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel(self._timer)
        self._cancel(self._reader)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._size += len(data)
        super().data_received(data)
        if self._timer is not None and self._size > HEADERS:
            self.transport.abort()

    # --- headers -------------------------------------------------------------------------------------------------

    def _await_headers(self) -> None:
        self._size = self._named = 0
        if self._timer is None:
            self._timer = self.loop.call_later(self.seconds, self.transport.abort)

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._await_headers()

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header came. Raising makes the parser stop, and uvicorn say 400."""
        self._named += len(name) + len(value) + 4
        if self._named > HEADERS:
            raise ValueError("headers too long")
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """All headers are here; the application has its own limits for the body."""
        self._cancel(self._timer)
        self._timer = None
        super().on_headers_complete()

    # --- a response that nobody reads ----------------------------------------------------------------------------

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_reader(self.transport.get_write_buffer_size() + 1)

    def resume_writing(self) -> None:
        self._cancel(self._reader)
        super().resume_writing()

    def _await_reader(self, before: int) -> None:
        left = self.transport.get_write_buffer_size()
        if left < before:
            self._reader = self.loop.call_later(self.seconds, self._await_reader, left)
        else:
            self.transport.abort()

    @staticmethod
    def _cancel(timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()


def from_environment() -> Starlette:
    """The application of one process among several."""
    settings = msgspec.json.decode(os.environ[ENVIRONMENT], type=Settings)
    _log()
    Guarded.seconds = settings.limits.seconds
    return application(settings)


def run(settings: Settings, say: Callable[[str], None]) -> int:
    """Serves until it is stopped; the exit code. say: for what a person should know."""
    _log()
    app = application(settings) if settings.workers == 1 else None
    Guarded.seconds = settings.limits.seconds
    for sig in (signal.SIGINT, signal.SIGTERM):  # uvicorn stops at these, and raises them again when it has
        signal.signal(sig, lambda *_: None)
    with _bound(settings) as listener, tempfile.TemporaryDirectory() as counters:
        say(_where(listener, settings))
        if not settings.on_loopback and settings.token_file is None:
            say(f"whoever reaches {settings.host} may ask: there is no --token-file.")
        if app is None:
            os.environ[SHARED] = counters
            os.environ[ENVIRONMENT] = msgspec.json.encode(settings).decode()
        config = uvicorn.Config(
            app or "tallybayes.serve.server:from_environment",
            factory=app is None,
            workers=settings.workers,
            http=Guarded,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            limit_concurrency=settings.limits.connections,
            timeout_keep_alive=KEEP_ALIVE,
            timeout_graceful_shutdown=GRACE,
        )
        if app is None:
            uvicorn.supervisors.Multiprocess(config, sockets=[listener]).run()
            return 0
        server = uvicorn.Server(config)
        server.run(sockets=[listener])
        return int(server.lifespan.should_exit or app.state.service.failed)  # what is wrong is in the log


def _log() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s", stream=sys.stderr)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)


@contextlib.contextmanager
def _bound(settings: Settings) -> Iterator[socket.socket]:
    """The address, taken before anything else is done."""
    try:
        found = socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except socket.gaierror as e:
        raise OptionError(f"There is no address {settings.host!r}: {e.strerror}.") from None
    family, kind, protocol, _, address = found[0]
    with socket.socket(family, kind, protocol) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(address)
        except OSError as e:
            raise OptionError(
                f"Cannot listen at {settings.host}, port {settings.port}: {e.strerror}. Choose another with --port."
            ) from None
        listener.listen()  # who connects from now on waits for uvicorn, and is not refused
        listener.set_inheritable(True)
        yield listener


def _where(listener: socket.socket, settings: Settings) -> str:
    host, port = listener.getsockname()[:2]
    name = f"[{host}]" if ":" in host else host
    what = "serving and learning" if settings.learn else "serving"
    return f"{what} {settings.path} at http://{name}:{port}, stop with Ctrl-C."

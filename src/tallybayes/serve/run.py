"""`tallybayes serve`: the application in uvicorn, in one process or several, until it is told to stop.

Why uvicorn with httptools and uvloop: see docs/serving.md for what was measured.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType

import uvicorn

from tallybayes.errors import OptionError
from tallybayes.serve.protocol import KEEP_ALIVE, Guarded
from tallybayes.serve.service import Service, make_service
from tallybayes.serve.service_settings import Settings

log = logging.getLogger("tallybayes.serve")
GRACE = 10  # seconds that requests have to end after a stop
AGAIN = 1.0  # seconds before a process that died is started again
STOPS = (signal.SIGINT, signal.SIGTERM)


class Server(uvicorn.Server):
    """uvicorn's server: a signal stops it, and that is the end of the signal."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal, and give signals back to whoever had them before."""
        before = {sig: signal.signal(sig, self.handle_exit) for sig in STOPS}
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)


def run(settings: Settings, say: Callable[[str], None]) -> int:
    """Serves until it is stopped; the exit code. say: for what a person should know."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s", stream=sys.stderr)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
    service = make_service(settings)
    with _bound(settings) as listener:
        say(_where(listener, settings))
        if not settings.on_loopback and settings.token_file is None:
            say(f"whoever reaches {settings.host} may ask: there is no --token-file.")
        if settings.workers == 1:
            return _serve(service, listener)
        return _supervise(service, listener)


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
        listener.set_inheritable(True)
        yield listener


def _where(listener: socket.socket, settings: Settings) -> str:
    host, port = listener.getsockname()[:2]
    name = f"[{host}]" if ":" in host else host
    what = "serving and learning" if settings.learn else "serving"
    return f"{what} {settings.path} at http://{name}:{port}, stop with Ctrl-C."


def _serve(service: Service, listener: socket.socket) -> int:
    """One process, until a signal."""
    limits = service.settings.limits
    protocol = type("Protocol", (Guarded,), {"service": service, "seconds": limits.seconds})
    config = uvicorn.Config(
        service,
        http=protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=GRACE,
    )
    server = Server(config)
    server.run(sockets=[listener])
    return 1 if server.lifespan.should_exit else 0  # what is wrong was told in the log


# --- several processes -------------------------------------------------------------------------------------------


def _supervise(service: Service, listener: socket.socket) -> int:
    """Starts the processes, starts again what dies, and hands on the signal to stop."""
    if not hasattr(os, "fork"):  # pragma: no cover: of Windows
        raise OptionError("Several processes need a system that forks. Leave --workers at 1 here.")
    stopped = False

    def stop(_: int, __: FrameType | None) -> None:
        nonlocal stopped
        stopped = True
        for child in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)

    children: dict[int, int] = {}
    before = {sig: signal.signal(sig, stop) for sig in STOPS}
    try:
        for number in range(service.settings.workers):
            children[_child(service, listener, number)] = number
        while children:
            pid, status = os.wait()
            number = children.pop(pid, -1)
            if number < 0 or stopped:
                continue
            log.warning(
                "process %d ended with status %d; another takes its place", pid, os.waitstatus_to_exitcode(status)
            )
            time.sleep(AGAIN)
            if not stopped:
                children[_child(service, listener, number)] = number
        return 0
    finally:
        for sig, handler in before.items():
            signal.signal(sig, handler)


def _child(service: Service, listener: socket.socket, number: int) -> int:
    """A process of its own with the model that its parent loaded; that memory is shared until it is written to."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        for sig in STOPS:
            signal.signal(sig, signal.SIG_DFL)
        service.metrics.become(number)
        code = _serve(service, listener)
    finally:
        os._exit(code)

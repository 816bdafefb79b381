"""What the tests of the service share: an application asked in this process, and one in a process of its own."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tallybayes import NaiveBayes, save
from tallybayes.datasets import load_watermelon

ROWS, LABELS = load_watermelon()
ARROW = "application/vnd.apache.arrow.stream"


class Got(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def melons(folder: Path, **options: Any) -> Path:
    """A model file."""
    path = folder / "model.tb"
    save(NaiveBayes(**options).fit(ROWS, LABELS), path, notes={"target": "ripe"})
    return path


def to_bytes(body: Any) -> bytes:
    return body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()


async def call(app: Any, path: str, body: Any = None, method: str | None = None, **headers: str) -> Got:
    """Asks an application, as an ASGI server would."""
    data = to_bytes(body)
    method = method or ("GET" if body is None else "POST")
    headers = {"host": "localhost:8000", "content_type": "application/json", **headers}
    scope = {
        "type": "http",
        "method": method,
        "path": path.partition("?")[0],
        "query_string": path.partition("?")[2].encode(),
        "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in headers.items()],
    }
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": data, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, content = sent
    return Got(start["status"], {k.decode(): v.decode() for k, v in start["headers"]}, content["body"])


def lifespan(app: Any) -> Any:
    """From start to stop, as an ASGI server has it."""
    return app.router.lifespan_context(app)


def ask(app: Any, path: str, body: Any = None, method: str | None = None, **headers: str) -> Got:
    return asyncio.run(call(app, path, body, method, **headers))


class Running:
    """A service in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], port: int, said: list[str]) -> None:
        self.process, self.port, self.said = process, port, said

    def connect(self, timeout: float = 30) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)

    def ask(self, path: str, body: Any = None, method: str | None = None, **headers: str) -> Got:
        connection = self.connect()
        try:
            return asked(connection, path, body, method, **headers)
        finally:
            connection.close()

    def stop(self, sig: int = signal.SIGTERM) -> int:
        self.process.send_signal(sig)
        code = self.process.wait(30)
        assert self.process.stderr is not None
        self.said += self.process.stderr.readlines()
        return code


def asked(connection: Any, path: str, body: Any = None, method: str | None = None, **headers: str) -> Got:
    """One request on an open connection."""
    data = to_bytes(body)
    named = {"content-type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
    connection.request(method or ("GET" if body is None else "POST"), path, data or None, named)
    answer = connection.getresponse()
    return Got(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())


def begin(path: Path, *options: str, env: Mapping[str, str] | None = None, port: int = 0) -> Running:
    process = subprocess.Popen(
        [sys.executable, "-m", "tallybayes", "serve", str(path), "--port", str(port), *options],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )
    assert process.stderr is not None
    said: list[str] = []
    for line in process.stderr:
        said.append(line)
        found = re.search(r"at http://.*:(\d+), stop", line)
        if found:
            running = Running(process, int(found[1]), said)
            break
    else:
        raise AssertionError("".join(said))
    for _ in range(600):  # until it listens
        try:
            if running.ask("/readyz").status == 200:
                return running
        except OSError:
            time.sleep(0.05)
    raise AssertionError("not ready")


@contextmanager
def serving(path: Path, *options: str, ends: int = 0) -> Iterator[Running]:
    """One that is asked to stop when the block ends, and has to: whatever it was asked before, it ends in order."""
    running = begin(path, *options)
    try:
        yield running
        if running.process.poll() is None:
            running.process.terminate()
        assert running.process.wait(60) == ends
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait(30)
        assert running.process.stderr is not None
        running.process.stderr.close()

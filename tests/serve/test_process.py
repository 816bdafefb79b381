"""A service in a process of its own: signals, a replaced file, slow and endless requests, many clients, workers."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tallybayes as tb

from .service import LABELS, ROWS, Running, asked, begin, melons, serving

READ, LEARN_TOKEN = "r" * 20, "t" * 20


def wait_for(what: Any) -> None:
    for _ in range(400):
        if what():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with serving(melons(tmp_path_factory.mktemp("process")), "--timeout", "0.5", "--max-bytes", "100000") as found:
        yield found


def raw(running: Running, *pieces: bytes, pause: float = 0.0) -> bytes:
    """What comes back for bytes sent as they are, until the other side closes."""
    with socket.create_connection(("127.0.0.1", running.port), timeout=20) as s:
        try:
            for piece in pieces:
                s.sendall(piece)
                time.sleep(pause)
        except OSError:
            pass
        found = b""
        try:
            while chunk := s.recv(65536):
                found += chunk
        except ConnectionError:
            pass
        return found


def test_a_slow_body_is_not_waited_for(running: Running) -> None:
    head = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n"
    assert raw(running, head).startswith(b"HTTP/1.1 408")
    assert raw(running, head, b"{", b'"', b"r", pause=0.3).startswith(b"HTTP/1.1 408")
    long = head.replace(b"50", b"50000")  # is put together in another place
    assert raw(running, long, b" " * 40_000, b" ", b" ", pause=0.3).startswith(b"HTTP/1.1 408")
    chunks = head.replace(b"Content-Length: 50", b"Transfer-Encoding: chunked")  # and these in a third
    assert raw(running, chunks, b"1\r\n{\r\n").startswith(b"HTTP/1.1 408")


def test_slow_headers_are_not_waited_for(running: Running) -> None:
    assert raw(running) == b""
    assert raw(running, b"POST /predict HTTP/1.1\r\n", b"Host: localhost\r\n", pause=0.4) == b""


def test_endless_headers_and_bodies_are_cut_off(running: Running) -> None:
    # closed while the rest is on its way: the refusal arrives or is lost with the connection
    refused = (b"", b"HTTP/1.1 400")
    assert raw(running, b"GET / HTTP/1.1\r\nx: ", *[b"a" * 10_000] * 20)[:12] in refused
    assert raw(running, b"GET / HTTP/1.1\r\n", *[b"x: " + b"a" * 1000 + b"\r\n"] * 200)[:12] in refused
    assert raw(running, b"GET /" + b"a" * 200_000)[:12] in refused
    head = b"POST /predict HTTP/1.1\r\nHost: localhost\r\n"
    assert raw(running, head + b"Content-Length: 1000000\r\n\r\n").startswith(b"HTTP/1.1 413")
    chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
    assert raw(running, head + b"Transfer-Encoding: chunked\r\n\r\n", *[chunk] * 20).startswith(b"HTTP/1.1 413")


def test_an_answer_that_nobody_takes_is_not_kept(tmp_path: Path) -> None:
    """A client that asks for much and reads nothing loses its connection; one that reads slowly gets all of it."""
    body = json.dumps({"columns": {"density": [0.5] * 100_000}}).encode()
    head = f"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    with serving(melons(tmp_path), "--timeout", "1") as running:
        for pause, all_of_it in ((4.0, False), (0.0, True)):
            with socket.socket() as s:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                s.settimeout(20)
                s.connect(("127.0.0.1", running.port))
                s.sendall(head + body)
                time.sleep(pause)
                found = b""
                try:
                    while not found.endswith(b"]]}") and (chunk := s.recv(1 << 16)):
                        found += chunk
                except ConnectionError:
                    pass
                assert found.endswith(b"]]}") == all_of_it
        assert running.ask("/healthz").status == 200


def test_what_is_no_http_is_refused(running: Running) -> None:
    assert raw(running, b"\x16\x03\x01\x02\x00\x01\x00").startswith(b"HTTP/1.1 400")
    assert b"Traceback" not in raw(running, b"GET\r\n\r\n")
    assert running.ask("/healthz").status == 200


def test_requests_on_one_connection(running: Running) -> None:
    connection = running.connect()
    for _ in range(3):
        assert asked(connection, "/predict", {"row": ROWS[0]}).json["prediction"] == "yes"
        assert asked(connection, "/predict", b"{").status == 400
    connection.close()


ONE = json.dumps({"row": ROWS[0]}).encode()
POST = b"POST /predict HTTP/1.1\r\nHost: localhost\r\n"
LENGTH = f"Content-Length: {len(ONE)}\r\n".encode()
END = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


@pytest.mark.parametrize(
    "request_",
    [
        POST + LENGTH + b"\r\n" + ONE,
        POST + LENGTH + b"Connection: keep-alive\r\n\r\n" + ONE,
        POST + LENGTH + b"Expect: 100-continue\r\n\r\n" + ONE,
        POST + b"Transfer-Encoding: chunked\r\n\r\n" + f"{len(ONE):x}\r\n".encode() + ONE + b"\r\n0\r\n\r\n",
        POST.replace(b"/predict", b"/predict?a=b") + LENGTH + b"\r\n" + ONE,
        POST.replace(b"/predict", b"/%70redict") + LENGTH + b"\r\n" + ONE,
        POST + b"Content-Length: 20000\r\n\r\n" + ONE.ljust(20_000),
    ],
    ids=["plain", "keep-alive", "expect", "chunks", "query", "quoted", "long"],
)
def test_every_way_in_has_the_same_answer(running: Running, request_: bytes) -> None:
    """The short way past ASGI and the long one, alone and one after the other on one connection."""
    plain = POST + LENGTH + b"\r\n" + ONE
    expected = running.ask("/predict", ONE).body
    for n, asked_for in ((1, request_), (3, plain + request_ + plain), (4, request_ + plain + plain + request_)):
        found = raw(running, asked_for + END)
        assert found.count(b"HTTP/1.1 200 OK\r\n") == n + 1
        assert found.count(expected) == n
        assert found.count(b"\r\nx-content-type-options: nosniff\r\n") == found.count(b"\r\ndate: ") >= n


def test_short_requests_in_pieces(running: Running) -> None:
    """Byte by byte, and many at once: whatever the network makes of them."""
    request = POST + LENGTH + b"\r\n" + ONE
    found = raw(running, *(bytes([b]) for b in request), END)
    assert found.count(b"HTTP/1.1 200") == 2
    assert raw(running, request * 200 + END).count(b"HTTP/1.1 200") == 201


def test_connections_that_end_with_the_answer(running: Running) -> None:
    request = POST + LENGTH + b"Connection: close\r\n\r\n" + ONE
    for asked_for in (request, request.replace(b"HTTP/1.1", b"HTTP/1.0")):
        found = raw(running, asked_for)
        assert found.startswith(b"HTTP/1.1 200")
        assert b"connection: close" in found


def test_short_requests_are_refused_as_long_ones_are(running: Running) -> None:
    def reported(head: bytes, body: bytes) -> tuple[bytes, bytes]:
        short = raw(running, head + f"Content-Length: {len(body)}\r\n\r\n".encode() + body + END)
        chunk = f"{len(body):x}\r\n".encode() + body + b"\r\n" if body else b""
        long = raw(running, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunk + b"0\r\n\r\n" + END)
        for found in (short, long):
            assert found.count(b"HTTP/1.1 ") == 2, found
        return tuple(b"\n".join(sorted(v for v in f.split(b"\r\n") if b"date" not in v)) for f in (short, long))  # type: ignore[return-value]

    for head, body in (
        (POST, b""),
        (POST, b"{"),
        (POST, b'{"row": {"nothing": 1}}'),
        (POST, b'{"row": {"density": "much"}}'),
        (POST.replace(b"localhost", b"evil.example"), ONE),
        (POST + b"Content-Type: text/plain\r\n", ONE),
        (POST + b"Accept: image/png\r\n", ONE),
        (POST.replace(b"POST", b"PUT"), ONE),
        (POST.replace(b"/predict", b"/model"), ONE),
        (POST.replace(b"/predict", b"/nothing"), ONE),
    ):
        short, long = reported(head, body)
        assert short == long
        assert b"HTTP/1.1 4" in short


def test_empty_lines_do_not_keep_a_connection(running: Running) -> None:
    """A client that sends nothing but ends of lines is idle."""
    assert raw(running, *[b"\r\n"] * 40, pause=0.05) == b""


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("length", [0, 20_000])
def test_a_stop_waits_for_the_requests_under_way(tmp_path: Path, sig: int, length: int) -> None:
    with serving(melons(tmp_path)) as running:
        body = json.dumps({"row": ROWS[0]}).encode().ljust(length)
        head = f"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        with socket.create_connection(("127.0.0.1", running.port), timeout=20) as s:
            s.sendall(head + body[:5])
            time.sleep(0.2)
            running.process.send_signal(sig)
            time.sleep(0.3)
            s.sendall(body[5:])
            assert s.recv(65536).startswith(b"HTTP/1.1 200")
        assert running.process.wait(30) == 0


def test_a_replaced_model_is_taken_over_and_no_request_is_lost(tmp_path: Path) -> None:
    path = melons(tmp_path)
    with serving(path) as running:
        stop, statuses = threading.Event(), []

        def keep_asking() -> None:
            connection = running.connect()
            while not stop.is_set():
                statuses.append(asked(connection, "/predict", {"row": ROWS[0]}).status)
            connection.close()

        with ThreadPoolExecutor(3) as pool:
            for _ in range(3):
                pool.submit(keep_asking)
            flipped = ["yes" if v == "no" else "no" for v in LABELS]
            tb.save(tb.NaiveBayes().fit(ROWS, flipped), path)
            wait_for(lambda: running.ask("/model").json["generation"] == 2)
            assert running.ask("/predict", {"row": ROWS[0]}).json["prediction"] == "no"
            path.write_bytes(b"no model")
            wait_for(lambda: b"tallybayes_reload_failures_total 1" in running.ask("/metrics").body)
            assert running.ask("/predict", {"row": ROWS[0]}).json["prediction"] == "no"
            path.unlink()
            tb.save(tb.NaiveBayes().fit(ROWS, LABELS), path)
            wait_for(lambda: running.ask("/model").json["generation"] == 3)
            stop.set()
        assert set(statuses) == {200}
        assert len(statuses) > 10
        assert running.stop() == 0


def memory(pid: int) -> int:
    """Resident, in kilobytes."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_many_clients_are_answered_as_python_would_and_memory_stays(tmp_path: Path) -> None:
    """32 at a time; TALLYBAYES_SOAK=60 makes it a minute."""
    path = melons(tmp_path)
    model = tb.load(path)
    expected = model.predict_proba(ROWS).tolist()
    seconds = float(os.environ.get("TALLYBAYES_SOAK", "3"))
    big = {"rows": ROWS * 20}
    with serving(path) as running:
        wrong: list[Any] = []
        end = time.monotonic() + seconds

        def client(number: int) -> int:
            connection, n = running.connect(), 0
            while time.monotonic() < end or n < 3:
                k = (number + n) % len(ROWS)
                one = asked(connection, "/predict", {"row": ROWS[k]})
                if one.status != 200 or one.json["probability"] != expected[k]:
                    wrong.append(one)
                if number % 8 == 0:
                    many = asked(connection, "/predict", big)
                    if many.status != 200 or many.json["probabilities"] != expected * 20:
                        wrong.append(many)
                if asked(connection, "/predict", b"{").status != 400:
                    wrong.append(n)
                n += 1
            connection.close()
            return n

        with ThreadPoolExecutor(32) as pool:
            warm = sum(pool.map(client, range(32)))
            before = memory(running.process.pid)
            end = time.monotonic() + seconds
            done = sum(pool.map(client, range(32)))
        assert wrong == []
        assert warm >= 96
        assert done >= 96
        assert memory(running.process.pid) - before < 20_000


def test_workers_share_counts_and_start_again(tmp_path: Path) -> None:
    with serving(melons(tmp_path), "--workers", "2") as running:
        for _ in range(40):  # a connection each: both get some
            assert running.ask("/predict", {"row": ROWS[0]}).status == 200
        _wait_for_count(running, 40)
        children = _children(running)
        assert len(children) == 2
        os.kill(int(children[0]), signal.SIGKILL)
        wait_for(lambda: len(_children(running)) == 2 and children[0] not in _children(running))
        for _ in range(10):
            assert running.ask("/predict", {"row": ROWS[0]}).status == 200
        _wait_for_count(running, 50)
        assert running.stop() == 0


def _wait_for_count(running: Running, n: int) -> None:
    """The process that answered may count a moment after another one is asked for the counts."""
    line = f'tallybayes_requests_total{{route="/predict",status="200"}} {n}.0\n'.encode()
    wait_for(lambda: line in running.ask("/metrics").body)


def _children(running: Running) -> list[str]:
    """The processes that answer; multiprocessing has one of its own besides."""
    found = Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children").read_text().split()
    return [pid for pid in found if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_tokens(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text(f"# who may what\nread {READ}\n\nlearn {LEARN_TOKEN}\n")
    with serving(melons(tmp_path), "--token-file", str(tokens)) as running:
        assert running.ask("/healthz").status == 200
        for path in ("/", "/model", "/metrics", "/openapi.json", "/nothing"):
            got = running.ask(path)
            assert got.status == 401
            assert "www-authenticate" in got.headers
        for bad in ("Bearer " + "x" * 20, "Bearer", "Basic ???", "Basic abcde", READ, "Bearer " + READ[:-1]):
            assert running.ask("/model", authorization=bad).status == 401
        for good in (f"Bearer {READ}", f"bearer {LEARN_TOKEN}", "Basic " + b64encode(f":{READ}".encode()).decode()):
            assert running.ask("/model", authorization=good).status == 200, good
        assert running.ask("/model", authorization=f"Bearer {READ}", host="any.name").status == 200
        head = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n"
        with socket.create_connection(("127.0.0.1", running.port), timeout=20) as s:
            s.sendall(head)  # who may not ask is refused before a long body is waited for
            assert s.recv(65536).startswith(b"HTTP/1.1 401")
        running.stop()
        assert READ not in "".join(running.said)
        assert LEARN_TOKEN not in "".join(running.said)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--host", "127.0.0.1", "--token-file", "nowhere"], "no such file"),
        (["--host", "no.such.host.invalid"], "There is no address"),
        (["--workers", "0"], "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_served_is_refused_in_one_line(tmp_path: Path, options: list[str], said: str) -> None:
    with pytest.raises(AssertionError, match=said) as e:
        begin(melons(tmp_path), *options)
    assert str(e.value).count("\n") == 1
    assert "Traceback" not in str(e.value)


def test_a_service_that_all_can_reach_gives_a_warning(tmp_path: Path) -> None:
    with serving(melons(tmp_path), "--host", "0.0.0.0") as running:
        assert running.stop() == 0
    assert "whoever reaches 0.0.0.0 may ask: there is no --token-file." in "".join(running.said)


def test_a_port_that_is_taken(tmp_path: Path, running: Running) -> None:
    with pytest.raises(AssertionError, match="Choose another with --port"):
        begin(melons(tmp_path), port=running.port)


def test_without_tokens_only_our_own_names(running: Running) -> None:
    """A web page that gives its name our address is not answered."""
    assert running.ask("/model", host="evil.example:80").status == 421
    assert running.ask("/model", host=f"localhost:{running.port}").status == 200
    assert running.ask("/model", host="[::1]:1").status == 200

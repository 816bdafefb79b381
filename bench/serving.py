"""Workloads of the service: a process of its own on the loopback, asked for a bounded time. Times are the server's CPU
time where they say so, since the client of a benchmark costs as much as the server."""

from __future__ import annotations

import atexit
import io
import json
import os
import re
import select
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

import tallybayes as tb
from tallybayes.datasets import load_census, load_watermelon

from .commands import as_users, command
from .harness import Case, workload

ARROW = "application/vnd.apache.arrow.stream"


class Service:
    """`tallybayes serve` in a process of its own, and one connection to it."""

    def __init__(self, model: tb.NaiveBayes | tb.BayesClassifier) -> None:
        self._folder = tempfile.TemporaryDirectory()
        path = Path(self._folder.name) / "model.tb"
        tb.save(model, path)
        self.process = subprocess.Popen(
            command("serve", path, "--port", 0), stderr=subprocess.PIPE, text=True, env=as_users()
        )
        atexit.register(self.process.kill)
        assert self.process.stderr is not None
        found = re.search(r":(\d+), stop", self.process.stderr.readline())
        assert found is not None
        self.port = int(found[1])
        self.connection = self.connect()

    def connect(self) -> socket.socket:
        for _ in range(200):
            try:
                found = socket.create_connection(("127.0.0.1", self.port), timeout=30)
                found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return found
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("the service does not listen")

    def cpu(self) -> float:
        """Seconds of CPU that the process has used, to the tick of the kernel: 10 ms."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def post(body: bytes, kind: str) -> bytes:
    head = f"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def ask(connection: socket.socket, request: bytes) -> None:
    connection.sendall(request)
    receive(connection)


def receive(connection: socket.socket) -> None:
    found = bytearray()
    while b"\r\n\r\n" not in found:
        found += connection.recv(1 << 20)
    head, _, body = bytes(found).partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(bytes(found[:300]).decode())
    length = re.search(rb"content-length: (\d+)", head)
    left = (int(length[1]) if length else 0) - len(body)
    while left > 0:
        left -= len(connection.recv(1 << 20))


def of_cpu(service: Service, request: bytes, times: int) -> float:
    """Server CPU of one request, over so many."""
    ask(service.connection, request)
    before = service.cpu()
    for _ in range(times):
        ask(service.connection, request)
    return (service.cpu() - before) / times


@workload("service, one row, server CPU", seconds=300e-6)
def one_row(shrink: int) -> Case:
    rows, y = load_watermelon()
    return _one_row(tb.NaiveBayes().fit(rows, y), rows[0], "8 mixed columns, JSON", shrink)


@workload("service, one row, BayesClassifier, server CPU", seconds=300e-6)
def one_row_of_the_default(shrink: int) -> Case:
    rows, y = load_census()
    return _one_row(tb.BayesClassifier().fit(rows[:3000], y[:3000]), rows[5], "14 mixed columns, JSON", shrink)


def _one_row(model: tb.NaiveBayes | tb.BayesClassifier, row: object, what: str, shrink: int) -> Case:
    service = Service(model)
    request = post(json.dumps({"row": row}).encode(), "application/json")
    return Case(what, ours=lambda: of_cpu(service, request, 5000 // shrink), times_itself=True)


@workload("service, one row, p99 at half load", seconds=0.010)
def half_load(shrink: int) -> Case:
    """8 clients that together ask half as often as the server could answer them."""
    rows, y = load_watermelon()
    service = Service(tb.NaiveBayes().fit(rows, y))
    request = post(json.dumps({"row": rows[0]}).encode(), "application/json")
    cost = of_cpu(service, request, 2000)
    connections, seconds, gap = [service.connect() for _ in range(8)], 4.0 / shrink, 2 * cost

    def p99() -> float:
        """One thread asks for all of them: eight would wait for one another, not for the server."""
        idle, due, times = list(connections), dict[socket.socket, float](), list[float]()
        following = time.perf_counter()
        end = following + seconds
        while due or following < end:
            while idle and following < end and time.perf_counter() >= following:
                due[idle[-1]] = following
                idle.pop().sendall(request)
                following += gap
            wait = max(0.0, following - time.perf_counter()) if idle and following < end else None
            for connection in select.select(list(due), [], [], wait)[0]:
                receive(connection)
                times.append(time.perf_counter() - due.pop(connection))
                idle.append(connection)
        return float(np.quantile(times, 0.99))

    return Case(f"8 clients, {1 / (2 * cost):,.0f} requests/s", ours=p99, times_itself=True)


@workload("service, 10,000 rows as Arrow, server CPU of a row", seconds=2e-6, form="arrow")
@workload("service, 10,000 rows as CSV, server CPU of a row", seconds=2e-6, form="csv")
@workload("service, 10,000 rows as JSON columns, server CPU of a row", seconds=2e-6, form="columns")
@workload("service, 10,000 rows as JSON rows, server CPU of a row", seconds=5e-6, form="rows")
def many_rows(shrink: int, form: str) -> Case:
    rows, y = load_census()
    table = pa.Table.from_pylist(rows[:10_000])
    service = Service(tb.NaiveBayes().fit(table, y[:10_000]))
    request = _request(table, form)
    return Case(
        "10,000×14 mixed", ours=lambda: of_cpu(service, request, 40 // shrink), per=table.num_rows, times_itself=True
    )


def _request(table: pa.Table, form: str) -> bytes:
    out = io.BytesIO()
    if form == "arrow":
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table)
        return post(out.getvalue(), ARROW)
    if form == "csv":
        from pyarrow import csv

        csv.write_csv(table, out)
        return post(out.getvalue(), "text/csv")
    found = {"columns": table.to_pydict()} if form == "columns" else {"rows": table.to_pylist()}
    return post(json.dumps(found).encode(), "application/json")

"""A service is killed again and again while clients learn it and have it forget: `python -m tests.serve.kills 200`.

Nothing that was acknowledged may be lost, nothing counted twice, and nothing forgotten may be left in any file.
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
import time
from http.client import HTTPException
from pathlib import Path
from typing import Any

import tallybayes as tb

from .service import LABELS, ROWS, Running, asked, begin, melons

CLIENTS = 4


class Client(threading.Thread):
    """Sends examples until it has to stop; what was not answered is sent again, with the same id."""

    def __init__(self, number: int, where: list[Running]) -> None:
        super().__init__(daemon=True)
        self.number, self.where = number, where
        self.acked: dict[str, str] = {}  # id → label
        self.gone: set[str] = set()
        self.repeated = 0
        self.wrong: list[Any] = []
        self.stopping = False
        self.random = random.Random(number)

    def run(self) -> None:
        k = 0
        while not self.stopping:
            k += 1
            names = [f"c{self.number}-{k}-{i}-" for i in range(self.random.choice((1, 1, 1, 3)))]
            labels = [self.random.choice(("no", "yes")) for _ in names]
            rows = [{**self.random.choice(ROWS), "sugar": round(self.random.random(), 6)} for _ in names]
            body = {"rows": rows, "labels": labels, "ids": names, "subject": f"who-{self.number}-{k}"}
            got = self._insist("/learn", body)
            if got is None:
                return
            if got.status != 200 or got.json["learned"] + got.json["again"] != len(names):
                self.wrong.append(got)
            self.acked.update(zip(names, labels, strict=True))
            if self.random.random() < 0.15:
                self._forget()

    def _forget(self) -> None:
        name = self.random.choice(list(self.acked))
        got = self._insist("/forget", {"ids": [name]})
        if got is None:
            return
        if got.status != 200 or got.json["forgotten"] + got.json["already"] != 1:
            self.wrong.append(got)
        del self.acked[name]
        self.gone.add(name)

    def _insist(self, path: str, body: Any) -> Any:
        """The answer, from whichever process gives one; None once it has to stop."""
        first = True
        while True:
            try:
                connection = self.where[0].connect(timeout=10)
                try:
                    return asked(connection, path, body)
                finally:
                    connection.close()
            except (OSError, HTTPException):
                self.repeated += first
                first = False
                if self.stopping:
                    self.unsure = body  # it may have been learned: nobody knows
                    return None
                time.sleep(0.02)


def main(kills: int, seed: int = 0) -> None:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        path = melons(Path(name))
        options = ("--learn", "--snapshot-every", "25")
        where = [begin(path, *options)]
        clients = [Client(k, where) for k in range(CLIENTS)]
        for client in clients:
            client.start()
        for k in range(kills):
            time.sleep(rng.uniform(0.05, 0.6))
            where[0].process.kill()
            where[0].process.wait()
            where[0].process.stderr.close()  # type: ignore[union-attr]
            if k % 20 == 19:
                print(f"{k + 1} kills, {sum(len(c.acked) for c in clients)} examples", flush=True)
            where[0] = begin(path, *options)
        time.sleep(0.5)
        for client in clients:
            client.stopping = True
        for client in clients:
            client.join()
        report(where[0], clients, path)


def report(running: Running, clients: list[Client], path: Path) -> None:
    """Raises AssertionError if something is lost, counted twice, or still there."""
    acked = {name: label for client in clients for name, label in client.acked.items()}
    gone = set().union(*(client.gone for client in clients))
    listed: dict[str, str] = {}
    after = ""
    while True:
        page = running.ask("/examples?limit=1000" + (f"&after={after}" if after else "")).json
        listed.update({entry["id"]: entry["label"] for entry in page["examples"]})
        if page["next"] is None:
            break
        after = page["next"]
    counts = running.ask("/model").json["class_count"]
    assert running.stop() == 0
    assert [client.wrong for client in clients if client.wrong] == []
    lost = {name for name, label in acked.items() if listed.get(name) != label}
    assert not lost, lost
    assert set(listed) == set(acked), set(listed) ^ set(acked)
    assert not gone & set(listed)
    labels = [*LABELS, *listed.values()]
    assert counts == [labels.count("no"), labels.count("yes")]
    assert tb.load(path).class_count_.tolist() == counts
    data = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert [name for name in gone if name.encode() in data] == []
    repeated = sum(client.repeated for client in clients)
    print(
        f"{len(acked)} examples acknowledged, none lost, none counted twice; {repeated} requests were sent again; "
        f"{len(gone)} examples forgotten, none left in a file"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)

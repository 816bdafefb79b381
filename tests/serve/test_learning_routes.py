"""Examples: learned once, listed, forgotten to the last byte, and right on disk wherever the writing stops."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import ModelFileError, OptionError
from tallybayes.serve import Settings, application, journal, learning_routes, ledger
from tallybayes.serve.http_errors import HttpError
from tallybayes.serve.learning_routes import Forget
from tallybayes.serve.ledger import Example, Ledger
from tallybayes.serve.live import Live
from tallybayes.serve.request_bodies import Reader

from .service import LABELS, ROWS, call, melons, serving


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return melons(tmp_path)


def opened(path: Path) -> Ledger:
    return Ledger(Live(str(path)), lambda *_: None)


def example(k: int, **changes: Any) -> Example:
    row = {**ROWS[k % len(ROWS)], **changes}
    return Example(f"example-{k}", row, LABELS[k % len(ROWS)], 0.0, f"person-{k % 3}")


def state(found: Ledger) -> tuple[list[str], list[float]]:
    return sorted(found.index), found.model.class_count_.tolist()


def expected(names: Iterator[str] | list[str]) -> list[float]:
    """The rows by class of the melons and of these examples."""
    labels = [*LABELS, *(LABELS[int(name.split("-")[1]) % len(ROWS)] for name in names)]
    return [float(labels.count("no")), float(labels.count("yes"))]


def everything(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


# --- the ledger --------------------------------------------------------------------------------------------------


def test_a_model_whose_rows_fade_is_not_taught(path: Path) -> None:
    tb.save(tb.NaiveBayes(half_life=100).fit(ROWS, LABELS), path)
    with pytest.raises(OptionError, match=r"fade \(half_life\), .* Save the model with half_life=None"):
        opened(path)


def test_examples_are_there_after_a_start(path: Path) -> None:
    first = opened(path)
    assert tuple(first.learn([example(k) for k in range(5)])) == (5, 0)
    assert tuple(first.learn([example(5)])) == (1, 0)
    first.commit()
    before = state(first)
    first._stack.close()  # the process ends here: nothing but the journal knows of them
    first.journal.close()  # type: ignore[union-attr]
    second = opened(path)
    assert state(second) == before
    assert before[1] == expected(before[0])
    second.close()
    assert tb.load(path).class_count_.tolist() == before[1]
    third = opened(path)
    assert state(third) == before
    assert third.unwritten == 0
    third.close()


def test_a_repetition_is_counted_once(path: Path) -> None:
    found = opened(path)
    found.learn([example(0), example(1)])
    assert tuple(found.learn([example(0), example(1), example(2)])) == (1, 2)
    with pytest.raises(Exception, match="another example called 'example-0'"):
        found.learn([example(7), Example("example-0", ROWS[1], "no", 0.0)])
    assert state(found)[1] == expected(["l-0", "l-1", "l-2"])
    found.close()


def test_what_is_forgotten_is_gone_from_every_file(path: Path) -> None:
    found = opened(path)
    found.learn([example(k, density=0.123456789 + k) for k in range(6)])
    found.commit()
    assert b"0.123456789" in everything(path.parent)
    assert b"example-3" in everything(path.parent)
    assert found.forget(["example-3"]) == 1
    assert b"3.123456789" not in everything(path.parent)
    assert b"example-3" not in everything(path.parent)
    assert b"person-0" in everything(path.parent)
    assert found.forget(found.subjects["person-0"]) == 1
    assert b"person-0" not in everything(path.parent)
    never = tb.NaiveBayes().fit(ROWS, LABELS)
    for k in (1, 2, 4, 5):
        never.learn_one(dict(example(k, density=0.123456789 + k).row), example(k).label)
    np.testing.assert_allclose(found.model.predict_proba(ROWS), never.predict_proba(ROWS), rtol=1e-9)
    with pytest.raises(Exception, match="was forgotten"):
        found.learn([example(3)])
    assert found.was_forgotten("example-3")
    found.close()
    again = opened(path)
    assert sorted(again.index) == ["example-1", "example-2", "example-4", "example-5"]
    assert again.was_forgotten("example-3")
    again.close()


def test_a_refused_example_changes_nothing(path: Path) -> None:
    found = opened(path)
    found.learn([example(0)])
    before, size = state(found), found.number
    for row in ({"density": "much"}, {"density": float("inf")}):
        with pytest.raises(ValueError):
            found.learn([example(1), Example("bad", row, "no", 0.0)])  # type: ignore[arg-type]
    assert (state(found), found.number) == (before, size)
    found.close()
    assert tb.load(path).class_count_.tolist() == before[1]


def test_not_all_rows_can_be_forgotten(tmp_path: Path) -> None:
    tb.save(tb.NaiveBayes().fit(ROWS[:1], ["no"]), tmp_path / "m")
    base = tb.load(tmp_path / "m")
    found = opened(tmp_path / "m")
    found.learn([Example("a", ROWS[1], "no", 0.0)])
    found.model.forget(ROWS[:1], ["no"])
    with pytest.raises(Exception, match="no rows left"):
        found.forget(["a"])
    assert "a" in found.index
    assert found.model.class_count_.tolist() == base.class_count_.tolist()
    found.close()


def test_one_writer_at_a_time(path: Path) -> None:
    found = opened(path)
    with pytest.raises(OptionError, match=r"being changed by process .* serve --learn"):
        opened(path)
    found.close()
    opened(path).close()


def test_a_model_that_was_replaced_is_not_written_over(path: Path) -> None:
    found = opened(path)
    found.learn([example(0)])
    tb.save(tb.NaiveBayes().fit(ROWS[:5] + ROWS[-2:], LABELS[:5] + LABELS[-2:]), path)
    with pytest.raises(ModelFileError, match="replaced by somebody else"):
        found.close()
    with pytest.raises(ModelFileError, match="does not know the examples"):
        opened(path)
    os.rename(f"{path}.journal", f"{path}.old")
    assert opened(path).index == {}


def test_commands_and_examples_go_together(path: Path) -> None:
    """What `tallybayes learn` adds between two services stays, and the examples with it."""
    from tests.command_line import WATERMELON, run

    found = opened(path)
    found.learn([example(0)])
    found.close()
    run("learn", path, WATERMELON, "--target", "ripe")
    again = opened(path)
    assert list(again.index) == ["example-0"]
    assert again.model.class_count_.sum() == 2 * len(ROWS) + 1
    again.close()


# --- damage ------------------------------------------------------------------------------------------------------


def test_a_torn_end_is_cut_off_at_every_byte(path: Path) -> None:
    found = opened(path)
    found.learn([example(0)])
    found.commit()
    whole = found.journal.end  # type: ignore[union-attr]
    found.learn([example(1), example(2)])  # one request: both or none
    found.commit()
    found._stack.close()
    data, model = Path(f"{path}.journal").read_bytes(), path.read_bytes()
    for end in range(whole, len(data) + 1, 7):
        for tail in (b"", bytes(40), b"TJ" + bytes(30)):
            Path(f"{path}.journal").write_bytes(data[:end] + (tail if end < len(data) else b""))
            path.write_bytes(model)
            again = opened(path)
            assert list(again.index) == (["example-0"] if end < len(data) else [f"example-{k}" for k in range(3)])
            assert again.model.class_count_.tolist() == expected(list(again.index))
            again.close()


def test_damage_that_no_crash_makes_is_told(path: Path) -> None:
    found = opened(path)
    for k in range(3):
        found.learn([example(k)])
        found.commit()
    found.forget(["example-2"])
    found.close()
    data = Path(f"{path}.journal").read_bytes()
    for at in (journal.FIRST, journal.FIRST + 5, journal.FIRST + journal.SIZE + 3):
        bad = bytearray(data)
        bad[at] ^= 1
        Path(f"{path}.journal").write_bytes(bad)
        with pytest.raises(ModelFileError, match="is damaged"):
            opened(path)
    Path(f"{path}.journal").write_bytes(b"something else")
    with pytest.raises(ModelFileError, match="is no journal"):
        opened(path)


class Stopped(BaseException):
    """As if the process had been killed there."""


def long_example(k: int) -> Example:
    """So long that a journal of which most are forgotten is more than half zeros."""
    return msgspec.structs.replace(example(k), subject="of a long name" * 20)


def scenario(found: Ledger, sure: set[str], gone: set[str]) -> None:
    """Learns and forgets; `sure`: acknowledged, `gone`: acknowledged as forgotten."""
    for k in range(4):
        found.learn([long_example(2 * k), long_example(2 * k + 1)])
        found.commit()
        sure |= {f"example-{2 * k}", f"example-{2 * k + 1}"}
        if k % 2:
            found.snapshot()
    for names in (["example-1", "example-4"], ["example-5"], [f"example-{k}" for k in (0, 2, 3)]):
        found.forget(names)
        sure -= set(names)
        gone |= set(names)
    found.learn([example(8)])
    found.commit()
    sure.add("example-8")


@pytest.mark.parametrize("half", [False, True], ids=["before", "half way"])
def test_a_stop_at_any_write_loses_nothing(path: Path, monkeypatch: pytest.MonkeyPatch, half: bool) -> None:
    """The process ends before (or half way through) the n-th call that changes a file, for every n."""
    monkeypatch.setattr(ledger, "WASTE", 100)  # the journal is written anew as well
    calls = ("pwrite", "fsync", "fdatasync", "replace", "ftruncate")
    true = {name: getattr(os, name) for name in calls}
    model = path.read_bytes()
    n, ended, anew = 0, False, 0
    compact = journal.Journal.compact

    def counted(*args: Any) -> Any:
        nonlocal anew
        anew += 1
        return compact(*args)

    monkeypatch.setattr(journal.Journal, "compact", counted)
    while not ended:
        n += 1
        for file in path.parent.iterdir():
            file.unlink()
        path.write_bytes(model)
        sure: set[str] = set()
        gone: set[str] = set()
        left = n

        def stopping(name: str) -> Any:
            def call(*args: Any) -> Any:
                nonlocal left
                left -= 1
                if left == 0:
                    if half and name == "pwrite":
                        true["pwrite"](args[0], bytes(args[1])[: len(args[1]) // 2], args[2])
                    raise Stopped
                return true[name](*args)

            return call

        with monkeypatch.context() as patch:
            for name in calls:
                patch.setattr(os, name, stopping(name))
            found = None
            try:
                found = opened(path)
                scenario(found, sure, gone)
                ended = True
            except Stopped:
                pass
        if found is not None:
            found._stack.close()
        again = opened(path)
        names = set(again.index)
        maybe = {f"example-{k}" for k in range(9)} - sure - gone
        assert sure - {f"example-{k}" for k in range(6)} <= names, n
        assert names <= sure | maybe, n
        assert not names & gone
        assert again.model.class_count_.tolist() == expected(sorted(names)), n
        for name in gone:
            assert name.encode() not in everything(path.parent), (n, name)
        again.close()
    assert n > 40
    assert anew > 1


# --- over HTTP ---------------------------------------------------------------------------------------------------


def test_examples_over_http(path: Path) -> None:
    with serving(path, "--learn") as service:
        one = {"row": ROWS[0], "label": "yes", "id": "a", "subject": "ann"}
        assert service.ask("/learn", one).json == {"learned": 1, "again": 0, "ids": ["a"]}
        assert service.ask("/learn", one).json == {"learned": 0, "again": 1, "ids": ["a"]}
        assert service.ask("/learn", {**one, "label": "no"}).status == 409
        many = {"rows": ROWS[:3], "labels": LABELS[:3], "subject": "bob"}
        key = {"idempotency_key": "k-1"}
        assert service.ask("/learn", many, **key).json["learned"] == 3
        assert service.ask("/learn", many, **key).json == {
            "learned": 0, "again": 3, "ids": ["k-1/0", "k-1/1", "k-1/2"]
        }  # fmt: skip
        assert service.ask("/learn", {"rows": [], "labels": []}).json["learned"] == 0
        for bad in ("", "a b", "\xe9", "k" * 101):
            assert service.ask("/learn", {"rows": [], "labels": []}, idempotency_key=bad).status == 422
        listed = service.ask("/examples").json
        assert [entry["id"] for entry in listed["examples"]] == ["a", "k-1/0", "k-1/1", "k-1/2"]
        assert listed["examples"][0]["row"] == ROWS[0]
        page = service.ask("/examples?limit=2").json
        assert (page["count"], page["next"]) == (4, "k-1/0")
        rest = service.ask("/examples?after=k-1/0&limit=2").json
        assert [entry["id"] for entry in rest["examples"]] == ["k-1/1", "k-1/2"]
        assert rest["next"] is None
        assert service.ask("/model").json["class_count"] == [9.0, 12.0]
        assert service.ask("/forget", {"ids": ["a", "zz"]}).json == {"forgotten": 1, "already": 0, "unknown": ["zz"]}
        assert service.ask("/forget", {"ids": ["a"]}).json == {"forgotten": 0, "already": 1, "unknown": []}
        assert service.ask("/forget", {"subject": "bob"}).json["forgotten"] == 3
        assert service.ask("/learn", one).status == 409
        assert service.ask("/model").json["class_count"] == [9.0, 8.0]
        before = tb.NaiveBayes().fit(ROWS, LABELS).predict_proba(ROWS)
        np.testing.assert_allclose(service.ask("/predict", {"rows": ROWS}).json["probabilities"], before, rtol=1e-9)
        for body, status in [
            ({"row": ROWS[0]}, 422),
            ({"label": "yes"}, 422),
            ({"rows": ROWS[:2]}, 422),
            ({"labels": ["yes"]}, 422),
            ({"row": ROWS[0], "label": "yes", "rows": []}, 422),
            ({"rows": ROWS[:2], "labels": ["yes"]}, 422),
            ({"rows": ROWS[:2], "labels": ["yes", "no"], "ids": ["x", "x"]}, 422),
            ({"row": ROWS[0], "label": "yes", "id": ""}, 422),
            ({"row": ROWS[0], "label": "yess"}, 422),
            ({"row": ROWS[0], "label": None}, 422),
            ({"row": {"densty": 1}, "label": "yes"}, 422),
            ({"row": {"density": "much"}, "label": "yes"}, 422),
            (b"{", 400),
        ]:
            assert service.ask("/learn", body).status == status, body
        for query, status in (("limit=0", 422), ("limit=x", 422), ("zz=1", 422), ("after=zz", 404), ("&", 422)):
            assert service.ask(f"/examples?{query}").status == status, query
        for body in ({}, {"ids": [], "subject": "x"}):
            assert service.ask("/forget", body).status == 422
        assert service.ask("/learn", one, content_type="text/csv").status == 415
        assert service.ask("/examples").json["count"] == 0
        assert b"tallybayes_examples_total 4" in service.ask("/metrics").body
        assert service.stop() == 0
    assert tb.load(path).class_count_.tolist() == [9.0, 8.0]


def test_new_classes_only_if_allowed(path: Path) -> None:
    with serving(path, "--learn", "--new-classes") as service:
        assert service.ask("/learn", {"row": ROWS[0], "label": "maybe"}).status == 200
        got = service.ask("/predict", {"row": ROWS[0]}).json
        assert got["classes"] == ["maybe", "no", "yes"]
        assert len(got["probability"]) == 3
        assert service.ask("/learn", {"row": ROWS[0], "label": 5}).status == 422


def test_who_may_teach(path: Path, tmp_path: Path) -> None:
    (tmp_path / "tokens").write_text(f"read {'r' * 20}\nlearn {'t' * 20}\n")
    with serving(path, "--learn", "--token-file", str(tmp_path / "tokens")) as service:
        body = {"row": ROWS[0], "label": "yes"}
        assert service.ask("/learn", body).status == 401
        assert service.ask("/learn", body, authorization=f"Bearer {'r' * 20}").status == 403
        assert service.ask("/examples", authorization=f"Bearer {'r' * 20}").status == 403
        assert service.ask("/learn", body, authorization=f"Bearer {'t' * 20}").status == 200


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"workers": 2}, "is one process"),
        ({"host": "0.0.0.0"}, "Give tokens with --token-file"),
    ],
)
def test_settings_under_which_nothing_can_be_taught(options: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        Settings("model.tb", learn=True, **options)


def test_a_disk_that_is_full(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An example that cannot be written is not acknowledged and not counted; the next one may be."""
    true, full = os.pwrite, [False]

    def pwrite(*args: Any) -> int:
        if full[0]:
            raise OSError(28, "No space left on device")
        return true(*args)

    monkeypatch.setattr(os, "pwrite", pwrite)

    async def go() -> None:
        app = application(Settings(str(path), learn=True))
        await app.start()
        body = {"row": ROWS[0], "label": "yes", "id": "a"}
        full[0] = True
        assert (await call(app, "/learn", body)).status == 503
        full[0] = False
        assert json.loads((await call(app, "/examples")).body)["count"] == 0
        assert (await call(app, "/model")).json["class_count"] == [9.0, 8.0]
        assert (await call(app, "/learn", body)).json["learned"] == 1
        assert (await call(app, "/model")).json["class_count"] == [9.0, 9.0]
        await app.stop()

    asyncio.run(go())
    assert tb.load(path).class_count_.tolist() == [9.0, 9.0]


def test_a_disk_that_is_full_while_examples_are_forgotten(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be forgotten on disk is not forgotten, and can be asked for again."""
    true, full = os.pwrite, [False]

    def pwrite(*args: Any) -> int:
        if full[0]:
            raise OSError(28, "No space left on device")
        return true(*args)

    monkeypatch.setattr(os, "pwrite", pwrite)

    async def go() -> None:
        app = application(Settings(str(path), learn=True))
        await app.start()
        await call(app, "/learn", {"row": ROWS[0], "label": "yes", "id": "a"})
        full[0] = True
        assert (await call(app, "/forget", {"ids": ["a"]})).status == 503
        full[0] = False
        assert (await call(app, "/model")).json["class_count"] == [9.0, 9.0]
        assert (await call(app, "/forget", {"ids": ["a"]})).json["forgotten"] == 1
        await app.stop()

    asyncio.run(go())
    assert tb.load(path).class_count_.tolist() == [9.0, 8.0]


def test_a_disk_that_fails_and_a_model_that_was_replaced(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no state to go back to: nothing more is learned, which is told, and the end closes each file once."""
    true, full = os.pwrite, [False]

    def pwrite(*args: Any) -> int:
        if full[0]:
            raise OSError(28, "No space left on device")
        return true(*args)

    monkeypatch.setattr(os, "pwrite", pwrite)

    async def go() -> None:
        app = application(Settings(str(path), learn=True))
        await app.start()
        assert (await call(app, "/learn", {"row": ROWS[0], "label": "yes", "id": "a"})).status == 200
        path.write_bytes(b"no model")
        full[0] = True
        gone = [call(app, "/learn", {"row": ROWS[0], "label": "yes", "id": name}) for name in "bcd"]
        assert [got.status for got in await asyncio.gather(*gone)] == [503] * 3
        ready = await call(app, "/readyz")
        assert ready.status == 503
        assert "It answers, but can learn nothing" in ready.json["detail"]
        again = await call(app, "/learn", {"row": ROWS[0], "label": "yes"})
        assert again.status == 503
        assert "until the service is started again" in again.json["detail"]
        assert (await call(app, "/predict", {"row": ROWS[0]})).json["prediction"] == "yes"
        await app.stop()

    asyncio.run(go())
    assert path.read_bytes() == b"no model"


def test_jobs_behind_one_that_broke_the_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They wait in one group: the first cannot be undone, so none of the others is begun."""
    true, full = os.fdatasync, [False]

    def fdatasync(*args: Any) -> None:
        if full[0]:
            path.write_bytes(b"no model")
            raise OSError(5, "Input/output error")
        true(*args)

    monkeypatch.setattr(os, "fdatasync", fdatasync)

    async def go() -> None:
        app = application(Settings(str(path), learn=True))
        await app.start()
        assert (await call(app, "/learn", {"row": ROWS[0], "label": "yes", "id": "a"})).status == 200
        with held_up(app) as waiting:
            await waiting(0)
            jobs = [
                asyncio.create_task(call(app, "/forget", {"ids": ["a"]})),
                asyncio.create_task(call(app, "/learn", {"row": ROWS[0], "label": "no", "id": "b"})),
            ]
            await waiting(2)
            full[0] = True
        assert [(await job).status for job in jobs] == [503, 503]
        full[0] = False
        await app.stop()

    asyncio.run(go())


@contextmanager
def held_up(app: Any) -> Iterator[Any]:
    """The thread that writes is busy until the block ends; `await waiting(n)` returns when n jobs wait for it."""
    go, begun = threading.Event(), threading.Event()

    def busy(_: Ledger) -> None:
        begun.set()
        go.wait(30)

    task = asyncio.get_running_loop().create_task(app.learner.do(busy))

    async def waiting(n: int) -> None:
        while not begun.is_set() or app.learner._queue.qsize() < n:
            await asyncio.sleep(0.001)

    try:
        yield waiting
    finally:
        go.set()
        del task


def test_many_examples_that_wait(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than a group holds are several groups; more than may wait are told to come again; who left is forgotten."""
    monkeypatch.setattr(learning_routes, "MOST_TOGETHER", 2)
    monkeypatch.setattr(learning_routes, "MOST_WAITING", 6)

    async def go() -> None:
        app = application(Settings(str(path), learn=True))
        await app.start()
        with held_up(app) as waiting:
            await waiting(0)
            jobs = [
                asyncio.create_task(call(app, "/learn", {"row": ROWS[0], "label": "yes", "id": f"l-{k}"}))
                for k in range(7)
            ]
            await waiting(7)
            late = await call(app, "/learn", {"row": ROWS[0], "label": "yes"})
            assert late.status == 503
            assert "Too many examples are waiting" in late.json["detail"]
            jobs[3].cancel()
        done = await asyncio.gather(*jobs, return_exceptions=True)
        assert isinstance(done.pop(3), asyncio.CancelledError)
        assert [got.json["learned"] for got in done] == [1] * 6  # type: ignore[union-attr]
        assert (await call(app, "/examples")).json["count"] == 7  # its example was on the way to the disk
        await app.stop()

    asyncio.run(go())


@pytest.mark.parametrize("by", ["number", "time"])
def test_the_model_file_is_written_now_and_then(path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    if by == "time":
        monkeypatch.setattr(learning_routes, "SNAPSHOT_SECONDS", 0.05)

    async def go() -> None:
        app = application(Settings(str(path), learn=True, snapshot_every=2 if by == "number" else 10_000))
        await app.start()
        for k in range(2):
            await call(app, "/learn", {"row": ROWS[0], "label": "yes", "id": f"l-{k}"})
        for _ in range(1000):
            if tb.load(path).class_count_.tolist() == [9.0, 10.0]:
                break
            await asyncio.sleep(0.01)
        assert tb.load(path).class_count_.tolist() == [9.0, 10.0]
        await app.stop()

    asyncio.run(go())


def test_a_new_class_comes_to_those_who_ask_in_one_step(path: Path) -> None:
    """Whoever asked before goes on with the model and the classes that there were: none of its answers is another's."""
    app = application(Settings(str(path), learn=True, new_classes=True))
    before, P = app.live.known, app.live.known.model.predict_proba(ROWS)
    app.learner.ledger.learn([Example("a", ROWS[0], "maybe", 0.0)])
    assert before.labels == before.model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(before.model.predict_proba(ROWS), P)
    assert app.live.known.labels == app.live.known.model.classes_.tolist() == ["maybe", "no", "yes"]
    with pytest.raises(ValueError):
        app.learner.ledger.learn([Example("b", ROWS[0], "perhaps", 0.0), Example("c", {"density": "x"}, "no", 0.0)])
    assert app.live.known.labels == ["maybe", "no", "yes"]
    app.learner.ledger.close()


def test_an_application_is_started_once(path: Path) -> None:
    """Its thread is; whoever starts it again is told, as ASGI has it."""
    sent: list[Any] = []

    async def go() -> None:
        app = application(Settings(str(path), learn=True))
        await app.start()
        messages = iter([{"type": "lifespan.startup"}])

        async def receive() -> Any:
            return next(messages)

        async def send(message: Any) -> None:
            sent.append(message)

        await app({"type": "lifespan"}, receive, send)
        await app.stop()

    asyncio.run(go())
    assert sent == [{"type": "lifespan.startup.failed", "message": "threads can only be started once"}]


def test_a_model_that_was_replaced_under_a_service(path: Path) -> None:
    """The examples stay in the journal, the new file as it is; the end of the service says so, and is no success."""
    with serving(path, "--learn", ends=1) as service:
        assert service.ask("/learn", {"row": ROWS[0], "label": "yes", "id": "a"}).status == 200
        tb.save(tb.NaiveBayes().fit(ROWS[:5] + ROWS[-2:], LABELS[:5] + LABELS[-2:]), path)
        assert service.stop() == 1
        assert "was replaced by somebody else" in service.said[-2] + service.said[-1]
        assert "Traceback" not in "".join(service.said)
    assert tb.load(path).class_count_.sum() == 7


def test_a_journal_that_is_half_zeros_is_written_anew(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is smaller then, and says the same: examples, what was forgotten, and the next numbers."""
    monkeypatch.setattr(ledger, "WASTE", 100)
    found = opened(path)
    found.learn([example(k) for k in range(8)])
    found.commit()
    size = os.path.getsize(f"{path}.journal")
    found.forget([f"example-{k}" for k in range(6)])
    assert os.path.getsize(f"{path}.journal") < size / 2
    assert [one.id for one in found.examples(["example-6", "example-7"])] == ["example-6", "example-7"]
    found.learn([example(8)])
    before = state(found)
    found.close()
    again = opened(path)
    assert state(again) == before
    assert before[1] == expected(["l-6", "l-7", "l-8"])
    assert again.was_forgotten("example-0")
    assert again.forget(["example-7", "example-8"]) == 2
    assert sorted(again.index) == ["example-6"]
    again.close()


@pytest.mark.parametrize(
    "model", [tb.NaiveBayes(), tb.BayesClassifier(), tb.TAN(), tb.AODE(), tb.NaiveBayes("kernel")], ids=str
)
def test_names_of_categories_are_forgotten_too(tmp_path: Path, model: Any) -> None:
    path = tmp_path / "m"
    tb.save(model.fit(ROWS, LABELS), path)
    found = opened(path)
    found.learn([Example("a", {**ROWS[0], "color": "plum of aunt agatha"}, "yes", 0.0)])
    found.learn([Example("b", {**ROWS[1], "color": "pink"}, "yes", 0.0)])
    found.learn([Example("c", {**ROWS[2], "color": "pink"}, "no", 0.0)])
    found.snapshot()
    assert b"agatha" in everything(tmp_path)
    before = found.model.predict_proba(ROWS)
    found.forget(["a", "b"])
    assert b"agatha" not in everything(tmp_path)
    assert b"pink" in everything(tmp_path)
    after = found.model.predict_proba(ROWS)
    assert np.abs(before - after).max() > 0
    found.learn([Example("d", {**ROWS[0], "color": "plum of aunt agatha"}, "yes", 0.0)])
    found.forget(["d"])
    np.testing.assert_allclose(found.model.predict_proba(ROWS), after, rtol=1e-9)
    found.close()
    again = opened(path)
    np.testing.assert_array_equal(again.model.predict_proba(ROWS), found.model.predict_proba(ROWS))
    again.close()
    assert b"agatha" not in everything(tmp_path)


def test_a_request_to_forget_is_told_its_fields() -> None:
    with pytest.raises(HttpError, match=r"unknown field `id`\. The fields are ids, subject\."):
        Reader(Forget).read(b'{"id": "a"}')


# --- pages of other sites --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tokens", [False, True])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": "http://localhost:8000", "sec_fetch_site": "same-origin"}, 200),
        ({"origin": "https://models.example"}, 200),  # a name that was allowed, as of a proxy that rewrites Host
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "http://localhost:3000", "sec_fetch_site": "same-site"}, 403),
        ({"origin": "null"}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"origin": "http://localhost:8000", "sec_fetch_site": "cross-site"}, 403),
        ({"content_type": "text/plain"}, 415),
    ],
)
def test_a_page_of_another_site_changes_nothing(
    headers: dict[str, str], status: int, tokens: bool, tmp_path: Path
) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"learn  {'t' * 20}   # may also learn and forget\n# read {'r' * 20}\n")
    settings = Settings(
        str(melons(tmp_path)), learn=True, token_file=str(file) if tokens else None, hosts=("models.example",)
    )

    async def learn() -> tuple[int, int, int]:
        app: Any = application(settings)
        await app.start()
        named = {"authorization": f"Bearer {'t' * 20}", **headers} if tokens else headers
        before = app.live.known.model.fitted_.weight.sum()
        found = await call(app, "/learn", {"row": ROWS[0], "label": LABELS[0], "id": "a"}, **named)
        forgot = await call(app, "/forget", {"ids": ["a"]}, **named)
        after = app.live.known.model.fitted_.weight.sum()
        await app.stop()
        return found.status, forgot.status, round(after - before)

    assert asyncio.run(learn()) == (status, status, 0)


def test_a_body_without_a_type_and_a_request_without_one_host_are_refused(tmp_path: Path) -> None:
    body = json.dumps({"row": ROWS[0], "label": LABELS[0]}).encode()
    with serving(melons(tmp_path), "--learn") as service:
        for head, status in (
            (b"Host: localhost\r\n", b"415"),
            (b"Content-Type: application/json\r\n", b"400"),
            (b"Content-Type: application/json\r\nHost: localhost\r\nHost: evil.example\r\n", b"400"),
            (b"Content-Type: application/json\r\nHost: evil.example\r\n", b"421"),
            (b"Content-Type: application/json\r\nHost: localhost\r\n", b"200"),
        ):
            connection = service.connect()
            connection.connect()
            assert connection.sock is not None
            connection.sock.sendall(
                b"POST /learn HTTP/1.1\r\nConnection: close\r\n%sContent-Length: %d\r\n\r\n%s" % (head, len(body), body)
            )
            assert connection.sock.recv(12).split()[1] == status, head
            connection.close()

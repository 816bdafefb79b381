"""Labelled examples over HTTP: learned once, listed, forgotten; disks that fail; pages of other sites."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

import tallybayes as tb
from tallybayes.errors import OptionError
from tallybayes.receipts import Receipt
from tallybayes.serve import Settings, application, learner
from tallybayes.serve.http_errors import HttpError
from tallybayes.serve.learning_routes import Forget
from tallybayes.serve.ledger import Ledger
from tallybayes.serve.request_bodies import BodyReader

from .service import LABELS, ROWS, call, lifespan, melons, serving
from .test_ledger import everything


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return melons(tmp_path)


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
        for query, status in (
            ("limit=0", 422),
            ("limit=x", 422),
            ("zz=1", 422),
            ("after=zz", 404),
            ("limit=1&limit=2", 422),
        ):
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
        ({"workers": 2}, "Without --store one process learns"),
        ({"host": "0.0.0.0"}, "Give tokens with --token-file"),
    ],
)
def test_settings_under_which_nothing_can_be_taught(options: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        Settings("model.tb", learn=True, **options)


async def fill_disk(app: Any) -> None:
    """SQLite may add no page to its file until it is opened anew: what it says of a disk that is full."""

    def full(ledger: Ledger) -> None:
        ((size,),) = ledger.store.run("pragma page_count")
        ledger.store.run(f"pragma max_page_count={size}")

    await app.state.service.learner.do(full)


LONG = {**ROWS[0], "color": "x" * 20_000}  # does not fit into the pages that there are


def test_a_disk_that_is_full(path: Path) -> None:
    """An example that cannot be stored is not acknowledged and not counted; the next one is, without a restart."""

    async def go() -> None:
        app = application(Settings(str(path), learn=True))
        async with lifespan(app):
            body = {"row": LONG, "label": "yes", "id": "a"}
            await fill_disk(app)
            refused = await call(app, "/learn", body)
            assert refused.status == 503
            assert "database or disk is full" in refused.json["detail"]
            assert (await call(app, "/examples")).json["count"] == 0
            assert (await call(app, "/model")).json["class_count"] == [9.0, 8.0]
            assert (await call(app, "/learn", body)).json["learned"] == 1
            assert (await call(app, "/model")).json["class_count"] == [9.0, 9.0]
            assert (await call(app, "/readyz")).status == 200

    asyncio.run(go())
    assert tb.load(path).class_count_.tolist() == [9.0, 9.0]


def test_a_disk_that_is_full_while_examples_are_forgotten(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is gone from the store and not from the model file is not acknowledged; sent again, it is gone from both."""
    true, full = os.fsync, [False]

    def fsync(file: int) -> None:
        if full[0]:
            raise OSError(28, "No space left on device")
        true(file)

    monkeypatch.setattr(os, "fsync", fsync)

    async def go() -> None:
        app = application(Settings(str(path), learn=True))
        async with lifespan(app):
            agatha = {**ROWS[0], "color": "plum of aunt agatha"}
            await call(app, "/learn", {"row": agatha, "label": "yes", "id": "a"})
            full[0] = True
            refused = await call(app, "/forget", {"ids": ["a"]})
            assert refused.status == 503
            assert f"No space left on device: '{path}.new'" in refused.json["detail"]
            assert not path.with_name("model.tb.new").exists()
            full[0] = False
            assert (await call(app, "/forget", {"ids": ["a"]})).json == {"forgotten": 0, "already": 1, "unknown": []}
            assert b"agatha" not in everything(path.parent)
            assert (await call(app, "/model")).json["class_count"] == [9.0, 8.0]

    asyncio.run(go())
    assert tb.load(path).class_count_.tolist() == [9.0, 8.0]


def test_a_model_file_replaced_under_a_service_is_noticed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a request: it says so, learns nothing, predicts on; put back, it learns again."""
    monkeypatch.setattr(learner, "LOOK_SECONDS", 0.01)

    async def ready(app: Any, status: int) -> Any:
        for _ in range(1000):
            got = await call(app, "/readyz")
            if got.status == status:
                return got
            await asyncio.sleep(0.01)
        raise AssertionError(got)

    async def go() -> None:
        app = application(Settings(str(path), learn=True))
        async with lifespan(app):
            body = {"row": ROWS[0], "label": "yes", "id": "a"}
            assert (await call(app, "/learn", body)).status == 200
            os.rename(path, f"{path}.old")
            path.write_bytes(b"another")
            assert "was replaced or removed" in (await ready(app, 503)).json["detail"]
            assert (await call(app, "/learn", {**body, "id": "b"})).status == 503
            assert (await call(app, "/predict", {"row": ROWS[0]})).json["prediction"] == "yes"
            path.write_bytes(Path(f"{path}.old").read_bytes())  # a copy: another time and another file number
            await ready(app, 200)
            assert (await call(app, "/learn", {**body, "id": "b"})).json["learned"] == 1
            os.utime(path)  # touched by a backup, say: still the same bytes
            assert (await call(app, "/learn", {**body, "id": "c"})).json["learned"] == 1

    asyncio.run(go())
    assert tb.load(path).class_count_.tolist() == [9.0, 11.0]


@contextmanager
def held_up(app: Any) -> Iterator[Any]:
    """The thread that writes is busy until the block ends; `await waiting(n)` returns when n jobs wait for it."""
    go, begun = threading.Event(), threading.Event()

    def busy(_: Ledger) -> None:
        begun.set()
        go.wait(30)

    task = asyncio.get_running_loop().create_task(app.state.service.learner.do(busy))

    async def waiting(n: int) -> None:
        while not begun.is_set() or app.state.service.learner._queue.qsize() < n:
            await asyncio.sleep(0.001)

    try:
        yield waiting
    finally:
        go.set()
        del task


def test_many_examples_that_wait(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than a group holds are several groups; more than may wait are asked to come again; who left is forgotten."""
    monkeypatch.setattr(learner, "MOST_TOGETHER", 2)
    monkeypatch.setattr(learner, "MOST_WAITING", 6)

    async def go() -> None:
        app = application(Settings(str(path), learn=True))
        async with lifespan(app):
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

    asyncio.run(go())


@pytest.mark.parametrize("by", ["number", "time"])
def test_the_model_file_is_written_now_and_then(path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    if by == "time":
        monkeypatch.setattr(learner, "SNAPSHOT_SECONDS", 0.05)

    async def go() -> None:
        app = application(Settings(str(path), learn=True, snapshot_every=2 if by == "number" else 10_000))
        async with lifespan(app):
            for k in range(2):
                await call(app, "/learn", {"row": ROWS[0], "label": "yes", "id": f"l-{k}"})
            for _ in range(1000):
                if tb.load(path).class_count_.tolist() == [9.0, 10.0]:
                    break
                await asyncio.sleep(0.01)
            assert tb.load(path).class_count_.tolist() == [9.0, 10.0]

    asyncio.run(go())


def test_a_model_that_was_replaced_under_a_service(path: Path) -> None:
    """The examples stay in the store, the new file as it is; the end of the service says so, and is no success."""
    with serving(path, "--learn", ends=1) as service:
        assert service.ask("/learn", {"row": ROWS[0], "label": "yes", "id": "a"}).status == 200
        tb.save(tb.NaiveBayes().fit(ROWS[:5] + ROWS[-2:], LABELS[:5] + LABELS[-2:]), path)
        assert service.stop() == 1
        assert "was replaced or removed" in service.said[-1]
        assert "Traceback" not in "".join(service.said)
    assert tb.load(path).class_count_.sum() == 7


def test_a_receipt_over_http_is_of_the_model_file(tmp_path: Path) -> None:
    """It can be checked with the file that the service writes; names, words and numbers of the row are in no file."""
    notes = ["ripe and sweet", "still green", "ripe, sweet, heavy", "green"] * 5
    rows = [{"sort": "ab"[k % 2], "note": notes[k], "mass": 1.0 + k} for k in range(20)]
    path = tmp_path / "model.tb"
    tb.save(tb.NaiveBayes("gaussian", schema={"note": "text"}).fit(rows, ["yes", "no"] * 10), path)
    key, pem = ed25519.Ed25519PrivateKey.generate(), tmp_path.parent / "key.pem"
    pem.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    row = {"sort": "lighthouse keeper", "note": "agathaword secretphrase ripe", "mass": 123.456789}
    values = [b"lighthouse", b"agathaword", b"secretphrase", b"123.456789", np.float64(123.456789).tobytes()]
    with serving(path, "--learn", "--sign", str(pem)) as service:
        assert service.ask("/learn", {"row": row, "label": "yes", "id": "a"}).status == 200
        assert any(v in everything(tmp_path) for v in values)
        found = service.ask("/forget", {"ids": ["a"], "receipt_key": True}).json["receipt"]
        left = everything(tmp_path)
        assert [v for v in values if v in left] == []
        assert service.ask("/forget", {"ids": ["a"], "receipt": True}).json["receipt"] is None
    receipt, model = Receipt.from_json(json.dumps(found)), tb.load(path)
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    assert receipt.problems(model, public_key=public) == []
    assert receipt.covers(model, [row], ["yes"])
    assert (receipt.residue["found"], receipt.residue["searched"]) == ({}, 5)
    with pytest.raises(OptionError, match="--sign goes with --learn"):
        Settings(str(path), sign=str(pem))


def test_a_wrong_request_to_forget_names_its_fields() -> None:
    with pytest.raises(HttpError, match=r"unknown field `id`\. The fields are ids, subject, receipt, receipt_key\."):
        BodyReader(Forget).read(b'{"id": "a"}')


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
        async with lifespan(app):
            named = {"authorization": f"Bearer {'t' * 20}", **headers} if tokens else headers
            before = app.state.service.live.known.model.fitted_.weight.sum()
            found = await call(app, "/learn", {"row": ROWS[0], "label": LABELS[0], "id": "a"}, **named)
            forgot = await call(app, "/forget", {"ids": ["a"]}, **named)
            after = app.state.service.live.known.model.fitted_.weight.sum()
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
            (b"Content-Type: application/json\r\nHost: localhost\r\nContent-Type: text/plain\r\n", b"400"),
            (
                b"Content-Type: application/json\r\nHost: localhost\r\nOrigin: http://evil\r\nOrigin: http://localhost\r\n",
                b"400",
            ),
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

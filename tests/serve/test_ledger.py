"""The ledger: each example counted once, forgotten to the last byte, and right in the store wherever a process ends."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import ModelFileError, OptionError
from tallybayes.serve import Settings, application
from tallybayes.serve.ledger import Ledger
from tallybayes.serve.live import Live
from tallybayes.serve.store import Example, Store

from .service import LABELS, ROWS, melons


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return melons(tmp_path)


def opened(path: Path, where: str | None = None) -> Ledger:
    return Ledger(Live(str(path)), lambda *_: None, where)


def example(k: int, **changes: Any) -> Example:
    row = {**ROWS[k % len(ROWS)], **changes}
    return Example(f"example-{k}", row, LABELS[k % len(ROWS)], 0.0, f"person-{k % 3}")


def learn(found: Ledger, *examples: Example) -> tuple[int, int]:
    """One request, committed."""
    with found.transaction():
        return tuple(found.learn(examples))  # type: ignore[return-value]


def names(found: Ledger) -> list[str]:
    return [e.id for e in found.store.after(0)]


def state(found: Ledger) -> tuple[list[str], list[float]]:
    return names(found), found.model.class_count_.tolist()


def expected(found: Iterable[str]) -> list[float]:
    """The rows by class of the melons and of these examples."""
    labels = [*LABELS, *(LABELS[int(name.split("-")[1]) % len(ROWS)] for name in found)]
    return [float(labels.count("no")), float(labels.count("yes"))]


def everything(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


def abandon(found: Ledger) -> None:
    """As if the process ended: nothing more is written."""
    found.store.close()
    found._stack.close()


def test_a_model_whose_rows_fade_is_not_taught(path: Path) -> None:
    tb.save(tb.NaiveBayes(half_life=100).fit(ROWS, LABELS), path)
    with pytest.raises(OptionError, match=r"fade \(half_life\), .* Save the model with half_life=None"):
        opened(path)


def test_examples_are_there_after_a_start(path: Path) -> None:
    first = opened(path)
    assert learn(first, *(example(k) for k in range(5))) == (5, 0)
    assert learn(first, example(5)) == (1, 0)
    before = state(first)
    abandon(first)
    assert tb.load(path).class_count_.tolist() == [9.0, 8.0]  # nothing but the store knows of them
    second = opened(path)
    assert state(second) == before
    assert before[1] == expected(before[0])
    second.close()
    assert tb.load(path).class_count_.tolist() == before[1]
    assert oct(os.stat(f"{path}.sqlite").st_mode)[-3:] == "600"
    third = opened(path)
    assert state(third) == before
    assert third.unwritten == 0
    third.close()


def test_a_repetition_is_counted_once(path: Path) -> None:
    found = opened(path)
    learn(found, example(0), example(1))
    assert learn(found, example(0), example(1), example(2)) == (1, 2)
    with pytest.raises(Exception, match="another example called 'example-0'"):
        learn(found, example(7), Example("example-0", ROWS[1], "no", 0.0))
    assert state(found)[1] == expected(["l-0", "l-1", "l-2"])
    found.close()


def test_what_is_forgotten_is_gone_from_every_file(path: Path) -> None:
    found = opened(path)
    learn(found, *(example(k, density=0.123456789 + k) for k in range(6)))
    assert b"0.123456789" in everything(path.parent)
    assert b"example-3" in everything(path.parent)
    assert found.forget(["example-3", "zz"], None) == {"forgotten": 1, "already": 0, "unknown": ["zz"]}
    assert b"3.123456789" not in everything(path.parent)
    assert b"example-3" not in everything(path.parent)
    assert b"person-0" in everything(path.parent)
    assert found.forget(None, "person-0")["forgotten"] == 1
    assert b"person-0" not in everything(path.parent)
    never = tb.NaiveBayes().fit(ROWS, LABELS)
    for k in (1, 2, 4, 5):
        never.learn_one(dict(example(k, density=0.123456789 + k).row), example(k).label)
    np.testing.assert_allclose(found.model.predict_proba(ROWS), never.predict_proba(ROWS), rtol=1e-9)
    with pytest.raises(Exception, match="was forgotten"):
        learn(found, example(3))
    found.close()
    again = opened(path)
    assert names(again) == ["example-1", "example-2", "example-4", "example-5"]
    assert again.forget(["example-3"], None) == {"forgotten": 0, "already": 1, "unknown": []}
    again.close()


def test_many_are_learned_and_forgotten_to_the_last_byte(path: Path) -> None:
    """Enough of them, in an order by chance, for pages of the database to split, fill and merge."""
    found, rng = opened(path), np.random.default_rng(0)
    order = rng.permutation(600).tolist()
    for start in range(0, 600, 50):
        some = [
            Example(f"name-{k}-", {"density": 0.5}, "no", 0.0, f"of-{k}-" + "x" * (k % 150))
            for k in order[start : start + 50]
        ]
        learn(found, *some)
    gone = rng.permutation(600)[:300].tolist()
    for start in range(0, 300, 100):
        assert found.forget([f"name-{k}-" for k in gone[start : start + 100]], None)["forgotten"] == 100
    left = everything(path.parent)
    assert [k for k in gone if f"name-{k}-".encode() in left or f"of-{k}-".encode() in left] == []
    kept = sorted(set(range(600)) - set(gone))
    assert all(f"name-{k}-".encode() in left for k in kept)
    assert found.store.count() == 300
    found.close()


def test_a_refused_example_changes_nothing(path: Path) -> None:
    found = opened(path)
    learn(found, example(0))
    before, seq = state(found), found.seq
    for row in ({"density": "much"}, {"density": float("inf")}):
        with pytest.raises(ValueError):
            learn(found, example(1), Example("bad", row, "no", 0.0))  # type: ignore[arg-type]
    assert (state(found), found.seq) == (before, seq)
    found.close()
    assert tb.load(path).class_count_.tolist() == before[1]


def test_not_all_rows_can_be_forgotten(tmp_path: Path) -> None:
    tb.save(tb.NaiveBayes().fit(ROWS[:1], ["no"]), tmp_path / "m")
    base = tb.load(tmp_path / "m")
    found = opened(tmp_path / "m")
    learn(found, Example("a", ROWS[1], "no", 0.0))
    found.model.forget(ROWS[:1], ["no"])
    with pytest.raises(Exception, match="no rows left"):
        found.forget(["a"], None)
    assert names(found) == ["a"]
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
    learn(found, example(0))
    os.rename(path, f"{path}.old")
    tb.save(tb.NaiveBayes().fit(ROWS[:5] + ROWS[-2:], LABELS[:5] + LABELS[-2:]), path)
    with pytest.raises(ModelFileError, match="was replaced or removed"):
        learn(found, example(1))
    with pytest.raises(ModelFileError, match="was replaced or removed"):
        found.close()
    with pytest.raises(ModelFileError, match="is not the model that learned the examples"):
        opened(path)
    os.replace(f"{path}.old", path)  # as the message says: put it back, and nothing is lost
    again = opened(path)
    assert state(again) == (["example-0"], expected(["l-0"]))
    again.close()


def test_commands_and_examples_go_together(path: Path) -> None:
    """What `tallybayes learn` adds between two services stays, and the examples with it."""
    from tests.command_line import WATERMELON, run

    found = opened(path)
    learn(found, example(0))
    found.close()
    run("learn", path, WATERMELON, "--target", "ripe")
    for _ in range(2):
        again = opened(path)
        assert names(again) == ["example-0"]
        assert again.model.class_count_.sum() == 2 * len(ROWS) + 1
        abandon(again)


def scenario(found: Ledger, sure: set[str], gone: set[str]) -> None:
    """Learns and forgets; `sure`: acknowledged, `gone`: acknowledged as forgotten."""
    for k in range(2):
        learn(found, example(2 * k), example(2 * k + 1))
        sure |= {f"example-{2 * k}", f"example-{2 * k + 1}"}
        if k:
            found.snapshot()
    for some in (["example-1"], ["example-0", "example-2"]):
        sure -= set(some)
        found.forget(some, None)
        gone |= set(some)
    learn(found, example(4))
    sure.add("example-4")


def test_a_kill_between_any_two_statements_loses_nothing(
    path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The files as they are after each statement of SQL and each step of a file are what a start would find."""
    copies: list[tuple[Path, set[str], set[str]]] = []
    sure: set[str] = set()
    gone: set[str] = set()
    true, replace = Store.run, os.replace

    def kept() -> None:
        folder = tmp_path_factory.mktemp("killed")
        for file in path.parent.iterdir():
            if not file.name.endswith((".lock", "-shm")):
                shutil.copy(file, folder)
        copies.append((folder, set(sure), set(gone)))

    def run(self: Store, sql: str, values: Any = ()) -> Any:
        found = true(self, sql, values)
        kept()
        return found

    def replaced(*args: Any) -> None:
        kept()
        replace(*args)
        kept()

    found = opened(path)
    with monkeypatch.context() as patch:
        patch.setattr(Store, "run", run)
        patch.setattr(os, "replace", replaced)
        scenario(found, sure, gone)
    abandon(found)
    assert len(copies) > 40
    for folder, acknowledged, forgotten in copies:
        again = opened(folder / path.name)
        there = set(names(again))
        assert acknowledged <= there, folder
        assert not there & forgotten
        assert again.model.class_count_.tolist() == expected(there), folder
        assert tb.load(folder / path.name).class_count_.tolist() == expected(there)
        left = everything(folder)
        assert not [name for name in forgotten if name.encode() in left], folder
        again.close()
        shutil.rmtree(folder)


def test_a_store_that_is_damaged_is_reported(path: Path) -> None:
    found = opened(path)
    learn(found, example(0))
    found.close()
    data = bytearray(Path(f"{path}.sqlite").read_bytes())
    data[8192:12288] = bytes(4096)  # a page of an index, which no statement may need for long
    Path(f"{path}.sqlite").write_bytes(data)
    with pytest.raises(ModelFileError, match=r"model\.tb\.sqlite cannot be used: Page 3"):
        opened(path)
    Path(f"{path}.sqlite").write_bytes(b"something else" * 1000)
    with pytest.raises(ModelFileError, match=r"model\.tb\.sqlite cannot be used: file is not a database"):
        opened(path)


def test_a_start_logs_how_many_examples_it_found(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """SQLite ignores the end of a log that was cut without a word: the numbers are what a person can compare."""
    caplog.set_level("INFO")
    found = opened(path)
    learn(found, example(0), example(1))
    abandon(found)
    opened(path).close()
    assert caplog.messages[-1].endswith("model.tb.sqlite: 2 examples, 2 of them after the snapshot")
    Path(f"{path}.sqlite").unlink()
    opened(path).close()
    assert "learned 2 examples of another store" in caplog.messages[-2]
    assert caplog.messages[-1].endswith("0 examples, 0 of them after the snapshot")


def test_a_new_class_comes_to_those_who_ask_in_one_step(path: Path) -> None:
    """Whoever asked before goes on with the model and the classes that there were: none of its answers is another's."""
    app = application(Settings(str(path), learn=True, new_classes=True))
    live, ledger = app.state.service.live, app.state.service.learner.ledger
    before, P = live.known, live.known.model.predict_proba(ROWS)
    learn(ledger, Example("a", ROWS[0], "maybe", 0.0))
    assert before.labels == before.model.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(before.model.predict_proba(ROWS), P)
    assert live.known.labels == live.known.model.classes_.tolist() == ["maybe", "no", "yes"]
    with pytest.raises(ValueError):
        learn(ledger, Example("b", ROWS[0], "perhaps", 0.0), Example("c", {"density": "x"}, "no", 0.0))
    assert live.known.labels == ["maybe", "no", "yes"]
    ledger.close()


@pytest.mark.parametrize(
    "model", [tb.NaiveBayes(), tb.BayesClassifier(), tb.TAN(), tb.AODE(), tb.NaiveBayes("kernel")], ids=str
)
def test_names_of_categories_are_forgotten_too(tmp_path: Path, model: Any) -> None:
    path = tmp_path / "m"
    tb.save(model.fit(ROWS, LABELS), path)
    found = opened(path)
    learn(found, Example("a", {**ROWS[0], "color": "plum of aunt agatha"}, "yes", 0.0))
    learn(found, Example("b", {**ROWS[1], "color": "pink"}, "yes", 0.0))
    learn(found, Example("c", {**ROWS[2], "color": "pink"}, "no", 0.0))
    found.snapshot()
    assert b"agatha" in everything(tmp_path)
    before = found.model.predict_proba(ROWS)
    found.forget(["a", "b"], None)
    assert b"agatha" not in everything(tmp_path)
    assert b"pink" in everything(tmp_path)
    after = found.model.predict_proba(ROWS)
    assert np.abs(before - after).max() > 0
    learn(found, Example("d", {**ROWS[0], "color": "plum of aunt agatha"}, "yes", 0.0))
    found.forget(["d"], None)
    np.testing.assert_allclose(found.model.predict_proba(ROWS), after, rtol=1e-9)
    found.close()
    again = opened(path)
    np.testing.assert_array_equal(again.model.predict_proba(ROWS), found.model.predict_proba(ROWS))
    again.close()
    assert b"agatha" not in everything(tmp_path)


def test_an_example_committed_while_another_process_reads_is_learned(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, late = opened(path), [example(0)._replace(seq=1, batch=1)]

    def read_slowly(real: Callable[..., Any]) -> Callable[..., Any]:
        def read(*args: Any) -> Any:
            result = real(*args)
            found.store.add([late.pop() for _ in late], found.name)
            return result

        return read

    for name in ("after", "last"):
        monkeypatch.setattr(found.store, name, read_slowly(getattr(found.store, name)))
    found.catch_up()
    found.catch_up()
    assert not late
    assert state(found) == (["example-0"], expected(["example-0"]))
    abandon(found)

"""The pure parts of the speed benchmark: what is called quiet, ranges over runs, what may be printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

from bench.__main__ import main
from bench.harness import ROUNDS, Result
from bench.memory import Extra
from bench.quiet import Noise, Sample, Turns, judged, judged_together, worst
from bench.report import Run, kept_promises, markdown, read, table, write

from bench import commands, quiet

STILL = Noise(Sample(0.01, 0.0, 0.0), Sample(0.02, 0.01, 0.0), 0.1, 0.01, 0.0)
NAME = "a process that loads a model and answers one row"


def run(ours: float, noise: Noise | None = STILL, **more: object) -> Run:
    return Run([Result(NAME, "a row", ours=ours, peer=10 * ours**0.5, peer_name="peer", limit=0.1, **more)], noise)  # type: ignore[arg-type]


def turns(fastest: list[float], cpu: float = 1.0, stolen: float = 0.0) -> Turns:
    return Turns(fastest, 1.0, cpu, stolen)


def test_turns_that_all_take_the_same_are_quiet() -> None:
    assert judged(turns([0.01] * 4 * ROUNDS), 0.01) == Sample(0.0, 0.0, 0.0)


def test_late_turns_are_forgiven_where_the_fastest_of_each_group_agree() -> None:
    late = [0.01] + [0.03] * (ROUNDS - 1)
    assert judged(turns(late * 4), 0.01).spread == 0.0


def test_a_group_without_a_fast_turn_is_not() -> None:
    assert judged(turns([0.01] * ROUNDS + [0.013] * ROUNDS), 0.01).spread == pytest.approx(0.3)


def test_turns_that_were_interrupted_are_not_quiet() -> None:
    found = judged(turns([0.01] * ROUNDS, cpu=0.6, stolen=0.5), 0.01)
    assert found == Sample(0.0, pytest.approx(0.4), pytest.approx(0.5))


def test_what_got_slower_or_faster_meanwhile_shows() -> None:
    fast, slow = {"loop cpu0": turns([0.01] * ROUNDS)}, {"loop cpu0": turns([0.012] * ROUNDS)}
    assert [s.spread for s in judged_together(fast, slow)] == [0.0, pytest.approx(0.2)]
    assert [s.spread for s in judged_together(slow, fast)] == [pytest.approx(0.2), 0.0]
    both = {"loop cpu0": turns([0.01] * ROUNDS), "memory cpu0": turns([0.002] * ROUNDS)}  # each beside itself alone
    assert [s.spread for s in judged_together(both, both)] == [0.0, 0.0]


def test_each_thing_has_its_turns_on_each_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiet, "TURN", 0.0)
    monkeypatch.setattr(quiet, "MEMORY", 8000)
    cores = quiet.os.sched_getaffinity(0)
    found = quiet.taken()
    assert quiet.os.sched_getaffinity(0) == cores
    assert set(found) == {f"{thing} cpu{core}" for thing in ("loop", "memory") for core in cores}
    for one in found.values():
        assert len(one.fastest) == quiet.GROUPS * ROUNDS
        assert len(one.of_groups()) == quiet.GROUPS
        assert 0 < max(one.fastest) <= one.wall


def test_the_worst_core_counts() -> None:
    assert worst([Sample(0.1, 0.0, 0.3), Sample(0.0, 0.2, 0.1)]) == Sample(0.1, 0.2, 0.3)


def test_seconds_of_the_cores() -> None:
    tick = quiet.os.sysconf("SC_CLK_TCK")
    text = "cpu  100 10 50 9000 7 3 2 40 0 0\ncpu1 1 0 0 0 0 0 0 5 0 0\nintr 5"
    assert quiet.jiffies("cpu", text) == (165 / tick, 40 / tick)
    assert quiet.jiffies("cpu1", text) == (1 / tick, 5 / tick)
    assert quiet.jiffies("cpu7", text) == (0.0, 0.0)
    assert quiet.jiffies("cpu", "cpu some words") == (0.0, 0.0)


@pytest.mark.parametrize(
    ("noise", "says"),
    [
        (
            Noise(Sample(0.3, 0, 0), STILL.after, 0, 0, 0),
            f"before it the fastest call of {ROUNDS} turns took up to 30% longer",
        ),
        (Noise(STILL.before, Sample(0, 0.2, 0), 0, 0, 0), "after it turns waited 20% of the time"),
        (Noise(STILL.before, Sample(0, 0, 0.1), 0, 0, 0), "after it the host took 10% of a core"),
        (Noise(STILL.before, STILL.after, 3.0, 0, 0), "the load was 3.0"),
        (Noise(STILL.before, STILL.after, 0, 0.4, 0), "other processes used 40% of the cores"),
        (Noise(STILL.before, STILL.after, 0, 0, 0.1), "the host took 10% of the cores"),
    ],
)
def test_why_a_machine_is_not_quiet(noise: Noise, says: str) -> None:
    assert STILL.reasons() == []
    (reason,) = noise.reasons()
    assert reason.startswith(says)
    assert "quiet:" in reason


def test_the_table_of_the_page_has_the_ranges_of_the_runs() -> None:
    text = markdown([run(0.2), run(0.25), run(0.3)])
    assert text.splitlines()[2] == f"| {NAME} | a row | 200–300 ms | 4.47–5.48 s peer | 18.3–22.4× | 2–3 () | – |"


def test_a_target_is_met_if_every_run_meets_it() -> None:
    assert commands.answer_one is not None  # the workload with the target of 0.35 s
    assert kept_promises(run(0.2).results) == {"≤ 0.35 s": True}
    assert kept_promises([*run(0.2).results, *run(0.4).results]) == {"≤ 0.35 s": False}
    text = table([run(0.2), run(0.4)])
    assert "200–400 ms" in text
    assert "≤ 0.35 s ✗" in text
    assert "0.2 s" not in text
    assert "FAILED: it broke" in table([run(0.2), run(0.4, error="it broke")])


def test_runs_go_to_a_file_and_come_back(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    runs = [run(0.2, memory=Extra(12.0)), run(0.3, memory=Extra(14.0, exact=False))]
    write(path, runs, quick=False)
    assert read(path) == runs
    assert json.loads(path.read_text())["runs"][0]["noise"]["quiet"] is True
    assert "≤ 12–14 MB" in markdown(runs)


def test_only_may_be_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("river")  # of the extra "bench"
    monkeypatch.setattr(quiet, "TURN", 0.0)  # how quiet the machine is does not matter here
    monkeypatch.setattr(quiet, "MEMORY", 8000)
    out = ["--json", str(tmp_path / "runs.json")]
    assert main(["--only", "no such", "--only", "nor this", *out]) == 2
    assert "no workload matches 'no such' or 'nor this'" in capsys.readouterr().err
    assert main(["--quick", "--only", "one row: fit", "--only", "[o]ne dict: learn_one", *out]) == 0
    run = json.loads((tmp_path / "runs.json").read_text())["runs"][0]
    assert [result["workload"] for result in run["results"]] == ["one row: fit", "one dict: learn_one"]


def test_what_the_other_threads_gain_is_a_column_where_it_was_measured() -> None:
    assert "gain" not in table([run(0.1)])
    shown = table([run(0.1, alone=0.18), run(0.1, alone=0.19)])
    assert "180–190 ms" in shown
    assert "1.80–1.90×" in shown


def test_one_thread_is_one_only_for_its_own_call() -> None:
    from bench.harness import Case, Targets, Workload
    from bench.harness import run as measure

    from tallybayes import _core

    before, seen = _core.threads(), set[int]()

    def ours() -> None:
        seen.add(_core.threads())

    found = measure(Workload("", lambda _: Case("", ours), {}, Targets()), quick=True, threads=True)
    assert found.alone is not None
    assert seen == {1, before}
    assert _core.threads() == before

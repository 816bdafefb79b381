"""Figures of a pass go to docs/ whole, and what README.md and the home page say of them is copied from there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")

from bench.accuracy.report import Figures, save, save_rows
from bench.harness import Result
from bench.publish import ACCURACY, IN_README, ROOT, SPEED, block, claim_of, copies, main
from bench.quiet import Noise, Sample
from bench.report import Run, write

from bench import report

PAGES = ("README.md", "docs/index.md", str(SPEED), str(ACCURACY))
SCORES = ("error", "balanced_error", "auc_error", "log_loss_4", "brier", "ece", "fit_cpu", "predict_cpu")
STILL = Noise(Sample(0.01, 0.0, 0.0), Sample(0.02, 0.01, 0.0), 0.1, 0.01, 0.0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The pages with figures, to be written to."""
    for page in PAGES:
        (tmp_path / page).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / page, tmp_path / page)
    return tmp_path


@pytest.fixture(autouse=True)
def _no_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of workloads that are not loaded here."""
    monkeypatch.setattr(report, "promises", lambda _: {})


def test_readme_and_home_page_repeat_the_pages_of_figures() -> None:
    for page, blocks in copies().items():
        text = (ROOT / page).read_text(encoding="utf-8")
        for name, content in blocks.items():
            assert block(text, name) == content, f"python -m bench.publish writes {page}"


def runs(seconds: float, noise: Noise = STILL) -> list[Run]:
    names = [*IN_README, "QDA fit"]
    return [Run([Result(n, "a table", ours=s, peer=4 * s, peer_name="peer") for n in names], noise) for s in
            (seconds, 2 * seconds)]  # fmt: skip


def test_a_pass_of_the_speed_benchmark_goes_to_its_page_and_a_part_of_it_to_the_readme(root: Path) -> None:
    write(root / "runs.json", runs(0.001), quick=False)
    assert main(["--speed", str(root / "runs.json")], root) == 0
    page, readme = (block((root / p).read_text("utf-8"), "speed figures") for p in (SPEED, "README.md"))
    assert "`python -m bench --runs 2`" in page
    assert "; quiet. Times are the fastest call of each side, the range of 2 runs." in page
    assert "| QDA fit | a table | 1–2 ms | 4–8 ms peer | 4× | – | – |" in page
    assert "QDA" not in readme
    rows = [line for line in readme.splitlines() if line.startswith("| ")][1:]
    assert [row.split(" | ")[0] for row in rows] == [f"| {name}" for name in IN_README]
    assert set(rows) < set(page.splitlines())
    assert "](../" not in readme
    before = [(root / p).read_text("utf-8") for p in PAGES]
    assert main([], root) == 0  # nothing new: nothing changes
    assert [(root / p).read_text("utf-8") for p in PAGES] == before


def test_what_disturbed_the_runs_is_reported(root: Path) -> None:
    noisy = Noise(Sample(0.3, 0.0, 0.0), STILL.after, 0.0, 0.4, 0.0)
    write(root / "runs.json", runs(0.001, noisy), quick=False)
    main(["--speed", str(root / "runs.json")], root)
    page = (root / SPEED).read_text("utf-8")
    assert "not quiet (the same loop took up to 30% longer at times, other processes used up to 40%" in page


def test_a_pass_of_some_workloads_is_refused(root: Path) -> None:
    before = (root / SPEED).read_text("utf-8")
    write(root / "runs.json", [Run([Result("QDA fit", ours=1.0)], STILL)], quick=False)
    with pytest.raises(SystemExit, match=r"README.md needs GaussianNB fit, .* measure all workloads"):
        main(["--speed", str(root / "runs.json")], root)
    assert (root / SPEED).read_text("utf-8") == before


def test_a_workload_that_failed_is_named_and_has_no_row(root: Path) -> None:
    first, second = runs(0.001)
    broken = Result(IN_README[0], error="its peer is not installed")
    write(root / "runs.json", [first, Run([broken, *second.results[1:]], STILL)], quick=False)
    assert main(["--speed", str(root / "runs.json")], root) == 0
    page, readme = (block((root / p).read_text("utf-8"), "speed figures") for p in (SPEED, "README.md"))
    assert page.endswith(f"Not measured in this pass: {IN_README[0]}.")
    assert f"| {IN_README[0]} |" not in page + readme
    assert f"| {IN_README[1]} |" in readme


def figures(path: Path) -> Figures:
    """Three tables; ours wins one by log-loss, and each row is measured on two."""
    found: Figures = {}
    losses = {"BayesClassifier balanced": (0.2, 0.5, 0.6), "LightGBM": (0.4, 0.4, 0.6)}
    for model, three in losses.items():
        for k, loss in enumerate(three):
            record = dict.fromkeys(SCORES, 0.1) | {
                "table": f"t{k}",
                "model": model,
                "ours": model != "LightGBM",
                "rows": 100 * (k + 1),
                "classes": 2,
                "fingerprint": str(k),
                "log_loss": loss,
                "steadiness": {"mean_change": 0.01 if model == "LightGBM" else 0.005, "max_change": 0.3},
            }
            rows = np.full((2, 100 * (k + 1)), 0.1, np.float32)
            rows[0] = loss + np.linspace(-0.1, 0.1, rows.shape[1]) * (model == "LightGBM")
            save_rows(path, record, rows)
            found[f"t{k}", model] = record
    return found


def test_a_pass_of_the_accuracy_benchmark_goes_to_its_page_the_readme_and_the_home_page(root: Path) -> None:
    path = root / "figures.json"
    save(path, figures(path), "python -m bench.accuracy --folds 2")
    assert main(["--accuracy", str(path)], root) == 0
    page = block((root / ACCURACY).read_text("utf-8"), "accuracy figures")
    claim = (
        "On 3 public tables of 100 to 300 rows (larger ones subsampled), both with default settings, "
        "`BayesClassifier()` has a lower log-loss than LightGBM on 1 and a lower error on 0."
    )
    assert claim_of(page) == claim
    for copy in ("README.md", "docs/index.md"):
        assert block((root / copy).read_text("utf-8"), "accuracy claim") == claim
    assert "`python -m bench.accuracy --folds 2`" in page
    assert "in log-loss it is better on 1 tables and worse on 1 of 3" in page
    assert "in log-loss (ratio): t1 1.25. The next ratios: t2 1.00, t0 0.5" in page
    assert "change on average by 0.50 of what LightGBM's change (geometric mean over 3 tables" in page
    assert "the mean change is 0.005, the largest 0.30" in page
    readme = block((root / "README.md").read_text("utf-8"), "accuracy figures")
    assert "0–3–0" in readme
    assert "Stability" not in readme


def test_the_command_of_a_pass_is_in_its_file(tmp_path: Path) -> None:
    from bench.accuracy.__main__ import main as measure

    out = tmp_path / "out.json"
    given = ["--out", str(out), "--only", "iris", "--models", "AODE", "--folds", "2", "--limit", "0", "--spread", "0"]
    assert measure(given) == 0
    command = json.loads(out.read_text())["command"]
    assert command == "python -m bench.accuracy --folds 2 --max-rows 50000 --spread 0 --models AODE"

"""`python -m bench.publish [--speed FILE] [--accuracy FILE…]`: figures into docs/, and from docs/ into README.md.

A pass of a benchmark goes whole to its page in docs/. README.md and docs/index.md repeat a part of it, which is copied
from that page: without a file the copies alone are written, and a test compares them. What is written stands between
`<!-- NAME -->` and `<!-- /NAME -->`.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from .accuracy.duel import Duel
from .accuracy.report import STEADY_PEER, Figures, load, merge
from .accuracy.report import markdown as accuracy_table
from .accuracy.report import of_model as of
from .report import Run, markdown, read

ROOT = Path(__file__).parents[1]
SPEED, ACCURACY = Path("docs/speed.md"), Path("docs/accuracy.md")
FLAGSHIP, PEER = "BayesClassifier balanced", "LightGBM"
IN_README = (  # workloads of the speed table
    "GaussianNB fit",
    "GaussianNB predict_proba",
    "CategoricalNB fit",
    "NaiveBayes fit, pandas strings",
    "MultinomialNB fit",
    "one dict: predict, then learn",
    "LDA fit",
    "TAN fit, beside pyAgrum",
    "CSV to model file, beside pandas",
)
CLAIM = re.compile(r"^On \d+ public tables .*?\.$", re.MULTILINE)
BENCH_OF = "[How it measures](../bench/README.md#{})."


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser("python -m bench.publish", description=(__doc__ or "").partition("\n\n")[2])
    parser.add_argument("--speed", metavar="FILE", type=Path, help="what python -m bench has written")
    parser.add_argument("--accuracy", metavar="FILE", type=Path, nargs="+", help="what python -m bench.accuracy has")
    options = parser.parse_args(argv)
    if options.speed:
        _write(root / SPEED, {"speed figures": speed(read(options.speed), _held(options.speed))})
    if options.accuracy:
        figures = merge(load(path) for path in options.accuracy)
        _write(root / ACCURACY, {"accuracy figures": accuracy(figures, _held(options.accuracy[0]))})
    for page, blocks in copies(root).items():
        _write(root / page, blocks)
    return 0


def copies(root: Path = ROOT) -> dict[str, dict[str, str]]:
    """What README.md and docs/index.md repeat of the pages with figures, by page and block."""
    fast = block((root / SPEED).read_text("utf-8"), "speed figures")
    right = block((root / ACCURACY).read_text("utf-8"), "accuracy figures")
    table = [line for line in fast.splitlines() if line.startswith("| ")]
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in table}
    facts = [line for line in fast.splitlines() if line.startswith("- ")]
    rule = next(line for line in fast.splitlines() if line.startswith("|---"))
    compared = right.removeprefix(claim_of(right)).partition("**Stability**")[0].strip()
    chosen = "\n".join([*facts, "", table[0], rule, *(rows[name] for name in IN_README if name in rows)])
    return {
        "README.md": {
            "accuracy claim": claim_of(right),
            "accuracy figures": _linked_from_root(compared),
            "speed figures": _linked_from_root(chosen),
        },
        "docs/index.md": {"accuracy claim": claim_of(right)},
    }


def claim_of(figures: str) -> str:
    found = CLAIM.search(figures)
    if found is None:
        raise SystemExit(f"{ACCURACY} does not begin its figures with 'On … public tables …'")
    return found[0]


def speed(runs: Sequence[Run], held: dict[str, Any]) -> str:
    """The block of docs/speed.md. A workload that failed, say for want of its peer, is named below the table."""
    failed = dict.fromkeys(r.workload for run in runs for r in run.results if r.error)
    measured = {r.workload for run in runs for r in run.results} - failed.keys()
    missing = [name for name in IN_README if name not in measured and name not in failed]
    if missing:
        raise SystemExit(f"README.md needs {', '.join(missing)}: measure all workloads, not some (--only)")
    runs = [Run([r for r in run.results if r.workload in measured], run.noise) for run in runs]
    machine, many = held["machine"], f", the range of {len(runs)} runs" if len(runs) > 1 else ""
    command = "python -m bench" + (" --quick" if held["quick"] else "") + (f" --runs {len(runs)}" if many else "")
    versions = {name: found for name, found in machine["versions"].items() if found}
    peers = [f"{name} {versions[name]}" for name in ("scikit-learn", "river", "polars", "pandas") if name in versions]
    return "\n".join(
        [
            f"- **Command**: `{command}`. {BENCH_OF.format('speed-and-memory')}",
            f"- **Version and date**: {_dated(machine)}, with {', '.join(peers)}.",
            f"- **Machine**: {_cores(machine)}; {_noise(runs)}. Times are the fastest call of each side{many}.",
            "",
            markdown(runs),
            *(["", f"Not measured in this pass: {'; '.join(failed)}."] if failed else []),
        ]
    )


def accuracy(figures: Figures, held: dict[str, Any]) -> str:
    """The block of docs/accuracy.md."""
    machine = held["machine"]
    rows, classes = ([record[key] for record in figures.values()] for key in ("rows", "classes"))
    duel = Duel(of(figures, FLAGSHIP), of(figures, PEER))
    extent = f"{min(rows):,} to {max(rows):,} rows (larger ones subsampled)"
    won = {measure: duel.counts(measure)[0] for measure in ("error", "log_loss")}
    parts = [
        f"On {len(duel.tables)} public tables of {extent}, both with default settings, `BayesClassifier()` has a lower "
        f"log-loss than {PEER} on {won['log_loss']} and a lower error on {won['error']}.",
        "\n".join(
            [
                f"- **Command**: `{held.get('command', 'make bench-accuracy')}`. {BENCH_OF.format('accuracy')}",
                f"- **Version and date**: {_dated(machine)}.",
                f"- **Machine**: {_cores(machine)}, load {machine['load']:g}; one thread for each model. "
                "Times are CPU times.",
                f"- **Data**: {len({table for table, _ in figures})} public tables of {extent} and {min(classes)} to "
                f"{max(classes)} classes; the same rows and folds for every model.",
            ]
        ),
        "Ratios are ours / peer, below 1 is better: the geometric mean over the tables, in brackets the median.",
        accuracy_table(figures, machine["versions"]),
        _beyond_noise(duel),
        _losses(duel),
        _stability(figures),
    ]
    return "\n\n".join(part for part in parts if part)


def _beyond_noise(duel: Duel) -> str:
    said = []
    for measure, name in (("error", "error"), ("log_loss", "log-loss")):
        better, worse, tested = duel.sure(measure)
        said.append(f"in {name} it is better on {better} tables and worse on {worse} of {tested}")
    head = f"**Significance** (1.96 standard errors of the difference, row by row): compared with {PEER}, "
    return f"{head}{'; '.join(said)}." if duel.sure("error")[2] else ""


def _losses(duel: Duel) -> str:
    ratios = sorted(zip(duel.ratios("log_loss"), duel.tables, strict=True), reverse=True)
    lost, others = ([f"{t} {r:.2f}" for r, t in ratios if (r > 1) == side] for side in (True, False))
    return (
        f"**Where it loses** to {PEER} in log-loss (ratio): {', '.join(lost) or 'on no table'}. "
        f"The next ratios: {', '.join(others[:3])}."
    )


def _stability(figures: Figures) -> str:
    """How much predictions change when one training row in a hundred is removed, beside those of the peer."""
    own, peer = ({t: r["steadiness"] for t, r in of(figures, m).items() if "steadiness" in r} for m in (FLAGSHIP, PEER))
    shared = [t for t in own if peer.get(t, {}).get("mean_change")]
    ratios = {t: own[t]["mean_change"] / peer[t]["mean_change"] for t in shared}
    if not ratios:
        return ""
    mean = math.exp(fmean(math.log(max(ratio, 1e-9)) for ratio in ratios.values()))
    by_table = ", ".join(f"{table} {ratio:.2f}" for table, ratio in ratios.items())
    return (
        f"**Stability**: if one training row in a hundred is removed, predicted probabilities change on average by "
        f"{mean:.2f} of what {STEADY_PEER}'s change (geometric mean over {len(ratios)} tables: {by_table}); the mean "
        f"change is {fmean(own[t]['mean_change'] for t in ratios):.3f}, the largest "
        f"{max(own[t]['max_change'] for t in ratios):.2f}."
    )


def _dated(machine: dict[str, Any]) -> str:
    day = datetime.fromisoformat(machine["time"])
    return f"{machine['tallybayes']}, {day.day} {day:%B %Y}"


def _cores(machine: dict[str, Any]) -> str:
    return f"{machine['cores']} cores, {machine['cpu']}, {machine['instruction set']}"


def _noise(runs: Sequence[Run]) -> str:
    noises = [run.noise for run in runs if run.noise is not None]
    if len(noises) == len(runs) and not any(noise.reasons() for noise in noises):
        return "quiet"
    spread = max((s.spread for noise in noises for s in (noise.before, noise.after)), default=math.nan)
    others = max((noise.others for noise in noises), default=math.nan)
    return (
        f"not quiet (the same loop took up to {spread:.0%} longer at times, other processes used up to {others:.0%} "
        "of the cores)"
    )


def block(text: str, name: str) -> str:
    """What stands between the marks of a name."""
    found = re.search(_marked(name), text, re.DOTALL)
    if found is None:
        raise SystemExit(f"no <!-- {name} --> … <!-- /{name} --> there")
    return found[1].strip("\n")


def _marked(name: str) -> str:
    return rf"<!-- {name} -->\n(.*?)<!-- /{name} -->"


def _write(path: Path, blocks: dict[str, str]) -> None:
    text = path.read_text(encoding="utf-8")
    for name, content in blocks.items():
        block(text, name)
        text = re.sub(
            _marked(name), lambda _, n=name, c=content: f"<!-- {n} -->\n{c}\n<!-- /{n} -->", text, flags=re.DOTALL
        )
    path.write_text(text, encoding="utf-8")


def _linked_from_root(text: str) -> str:
    """Links of a page of docs/, for a page beside that folder."""
    return re.sub(r"\]\((?:\.\./)?([\w/-]+\.md)", lambda m: f"]({m[1] if '../' in m[0] else 'docs/' + m[1]}", text)


def _held(path: Path) -> dict[str, Any]:
    held: dict[str, Any] = json.loads(path.read_text())
    return held


if __name__ == "__main__":
    sys.exit(main())

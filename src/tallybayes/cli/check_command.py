"""The command check: do the compiled kernels give the same predictions with every instruction set of this machine?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from tallybayes.cli import options, output

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

CHECK_ROWS = 600  # enough that every component of BayesClassifier is active
TOLERANCE = 1e-9  # of a log probability: sums in another order
ENSEMBLE_TOLERANCE = 1e-4  # some kernels of the ensemble compute in single precision


@output.answering
def check(json: options.Json = False) -> None:
    """Compares the predictions of each instruction set of this machine with base, on random tables.

    Prints the largest difference of a log probability for each model and instruction set. Exit code 1 if one is too
    large: then set TALLYBAYES_ISA=base, the instruction set that every processor has, and please report it.
    """
    from tallybayes import _core

    _, _, used, why = _core.isa_choice()
    found = differences()
    wrong = sorted({row["instruction_set"] for row in found if not row["agrees"]})
    if wrong:
        verdict = f"FAILED: {', '.join(wrong)} differs from base. Set TALLYBAYES_ISA=base, and please report it."
    else:
        verdict = "OK" if found else "OK: there is no other instruction set to compare with base."
    lines = [f"Instruction set used: {used} ({why}).", *map(_line, found), verdict]
    output.show("\n".join(lines), {"instruction_set": used, "why": why, "ok": not wrong, "comparisons": found}, json)
    if wrong:
        raise typer.Exit(1)


def differences() -> list[dict[str, Any]]:
    """The largest difference from base of each model's log probabilities, for each instruction set up to the chosen."""
    import numpy as np

    from tallybayes import _core

    names, chosen = _core.isa_choice()[0], _core.isa()
    found = []
    try:
        for model, table, y, tolerance in _cases():
            _core.limit_isa(0)
            base = model.fit(table, y).predict_log_proba(table)
            for isa in range(1, chosen + 1):
                _core.limit_isa(isa)
                other = model.fit(table, y).predict_log_proba(table)
                difference = float(np.max(np.abs(other - base)))  # NaN agrees with nothing
                found.append(
                    {
                        "model": type(model).__name__,
                        "instruction_set": names[isa],
                        "difference": difference,
                        "agrees": difference <= tolerance,
                    }
                )
    finally:
        _core.limit_isa(chosen)
    return found


def _cases() -> Iterator[tuple[Any, Any, np.ndarray, float]]:
    """Models, random tables they learn from, and how far the instruction sets may differ."""
    import numpy as np
    from scipy.sparse import csr_array

    import tallybayes as tb

    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, CHECK_ROWS)
    numbers = rng.normal(size=(CHECK_ROWS, 8)) + 0.7 * (y[:, None] == np.arange(8) % 3)
    holes = np.where(rng.random(numbers.shape) < 0.05, np.nan, numbers)
    drawn = np.where(rng.random((CHECK_ROWS, 6)) < 0.4, y[:, None], rng.integers(0, 6, (CHECK_ROWS, 6)))
    levels = np.array(list("abcdef"))[drawn]
    counts = rng.poisson(1.0 + (y[:, None] == np.arange(12) % 3), (CHECK_ROWS, 12))
    for model in (tb.GaussianNB(), tb.KernelNB(), tb.NaiveBayes(), tb.QuadraticDiscriminantAnalysis()):
        yield model, holes, y, TOLERANCE
    for model in (tb.LinearDiscriminantAnalysis(), tb.RegularizedDiscriminantAnalysis()):
        yield model, numbers, y, TOLERANCE
    for model in (tb.NaiveBayes(), tb.TAN(), tb.KDB(), tb.AODE(), tb.SPODE()):
        yield model, levels, y, TOLERANCE
    for model in (tb.MultinomialNB(), tb.PoissonNB(), tb.BernoulliNB()):
        yield model, counts, y, TOLERANCE
    yield tb.MultinomialNB(), csr_array(counts), y, TOLERANCE
    for table in (holes, levels):
        yield tb.BayesClassifier(), table, y, ENSEMBLE_TOLERANCE


def _line(row: dict[str, Any]) -> str:
    verdict = "" if row["agrees"] else "   too large"
    return f"  {row['model']:32} {row['instruction_set']:8} {row['difference']:.1e}{verdict}"

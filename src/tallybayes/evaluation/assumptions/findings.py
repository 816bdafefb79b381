"""What check_assumptions found: numbers for a frame, words for people, JSON for machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tallybayes.data.output_tables import build_frame
from tallybayes.errors import OptionError, brief
from tallybayes.utils import notebook
from tallybayes.utils.array_types import Floats

SIZES = ("negligible", "small", "medium", "large")
PARTS = ("independence", "normality", "covariances")


def holm(p: Floats) -> Floats:
    """Holm's (1979) adjusted p-values: the chance of any false alarm among them is at most significance."""
    order = np.argsort(p)
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    out = np.empty(len(p))
    out[order] = np.minimum(steps, 1.0)
    return out


def sizes(effect: Floats, limits: tuple[float, float, float]) -> list[str]:
    return [SIZES[i] for i in np.searchsorted(limits, effect, side="right")]


@dataclass(frozen=True)
class Finding:
    """One assumption: its verdict, a sentence, and one line per test (the strongest first).

    Parameters
    ----------
    assumption : str
        What is assumed.
    verdict : {'holds', 'nearly', 'fails', 'untested'}
        'holds': nothing significant; 'nearly': significant, but small; 'fails': significant, and at least of medium
        size.
    sentence : str
        The verdict in words.
    lines : tuple of dict, default=()
        One for each test: what, effect, size (in words), says, statistic, p and p_holm; the p of a mere detail is None.
    """

    assumption: str
    verdict: str
    sentence: str
    lines: tuple[dict[str, Any], ...] = ()


def finding(assumption: str, lines: Sequence[dict[str, Any]], significance: float, noun: str, means: str) -> Finding:
    """The verdict on lines that have p, effect and size. noun: what is counted; means: what it says if all is well."""
    p = holm(np.array([line["p"] for line in lines]))
    done = [{**line, "p_holm": float(q)} for line, q in zip(lines, p, strict=True)]
    done.sort(key=lambda line: (line["p_holm"] > significance, -line["effect"]))
    found = [line for line in done if line["p_holm"] <= significance]
    heavy = [line for line in found if line["size"] in ("medium", "large")]
    verdict = "fails" if heavy else "nearly" if found else "holds"
    if verdict == "holds":
        sentence = f"{means}: nothing significant in {len(done)} {noun}."
    else:
        worst = found[0]
        what = f"{len(found)} of {len(done)} {noun} significant, {len(heavy)} of them more than small"
        sentence = f"{what}; the largest: {worst['what']} ({worst['size']}, {worst['effect']:.2g})."
    return Finding(assumption, verdict, sentence, tuple(done))


def p_value(p: float) -> str:
    """p = 0.02, or p < 1e-300"""
    return f"p = {p:.1g}" if p > 1e-300 else "p < 1e-300"


def _worth(line: dict[str, Any], significance: float) -> bool:
    """Significant, or a detail that is not tested by itself."""
    return line["p_holm"] is None or line["p_holm"] <= significance


def _described(line: dict[str, Any]) -> str:
    tail = "" if line["p_holm"] is None else f", {p_value(line['p_holm'])}"
    return f"{line['what']}: {line['size']} ({line['says']}){tail}"


@dataclass(frozen=True, repr=False)
class AssumptionReport:
    """Result of `check_assumptions`: a verdict per assumption and suggested models. Print it.

    Parameters
    ----------
    independence : Finding
        On the independence of columns, given the class.
    normality : Finding
        On normal columns in each class.
    covariances : Finding
        On equal covariances of the classes.
    suggestions : tuple of dict
        Which classifiers the evidence points to ('model'), each with its reason ('why').
    notes : tuple of str
        What was left out, sampled or taken for granted.
    significance : float
        Below it a corrected p-value is significant.
    container : str, default='numpy'
        What kind of frame `frame` gives: that of the table that was checked.

    Attributes
    ----------
    independence, normality, covariances, suggestions, notes, significance, container
        As above.
    findings : tuple of Finding
        The three, in this order.

    See Also
    --------
    check_assumptions : Makes it.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tallybayes.evaluation import check_assumptions
    >>> found = check_assumptions(*load_iris(return_X_y=True))
    >>> found.suggestions[0]["model"]
    'QuadraticDiscriminantAnalysis()'
    """

    independence: Finding
    normality: Finding
    covariances: Finding
    suggestions: tuple[dict[str, str], ...]
    notes: tuple[str, ...]
    significance: float
    container: str = "numpy"

    @property
    def findings(self) -> tuple[Finding, Finding, Finding]:
        """tuple of Finding: independence, normality and covariances."""
        return self.independence, self.normality, self.covariances

    def frame(self, which: str | None = None, backend: str | None = None) -> Any:
        """Return the tests as a frame with one line per test.

        Parameters
        ----------
        which : {'independence', 'normality', 'covariances'}, default=None
            One assumption only; None gives all.
        backend : {'pandas', 'polars', 'pyarrow', 'dict'}, default=None
            What to give them as; by default the kind of data frame that was checked, and a dict of arrays if it was
            none.

        Returns
        -------
        data frame or dict of arrays
            With the columns assumption, what, effect, size, statistic, p and p_holm.
        """
        if which not in (None, *PARTS):
            raise OptionError(f"which must be one of {', '.join(PARTS)}; got {brief(which)}.")
        chosen = self.findings if which is None else [getattr(self, which)]
        lines = [{"assumption": f.assumption, **line} for f in chosen for line in f.lines]
        keys = ("assumption", "what", "effect", "size", "statistic", "p", "p_holm")
        return build_frame({key: [line[key] for line in lines] for key in keys}, self.container, backend)

    def to_dict(self) -> dict[str, object]:
        """Return the report as plain values, as JSON has them.

        Returns
        -------
        dict
            Of each assumption verdict, sentence and tests; suggestions, notes and significance.
        """
        return {
            **{
                name: {"verdict": f.verdict, "sentence": f.sentence, "tests": [dict(line) for line in f.lines]}
                for name, f in zip(PARTS, self.findings, strict=True)
            },
            "suggestions": [dict(s) for s in self.suggestions],
            "notes": list(self.notes),
            "significance": float(self.significance),
        }

    def text(self, most: int = 3) -> str:
        """Describe the verdicts in words, with the strongest deviations of each assumption.

        Parameters
        ----------
        most : int, default=3
            How many deviations of each assumption are listed.

        Returns
        -------
        str
            Several lines.
        """
        lines = []
        for f in self.findings:
            lines.append(f"{f.assumption}: {f.verdict.upper()}. {f.sentence}")
            if f.verdict in ("nearly", "fails"):
                lines += [f"    {_described(line)}" for line in f.lines if _worth(line, self.significance)][:most]
        lines.append("This points to:")
        lines += [f"    {s['model']}: {s['why']}" for s in self.suggestions]
        if self.notes:
            lines.append("Notes:")
            lines += [f"    {note}" for note in self.notes]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{name} {f.verdict}" for name, f in zip(PARTS, self.findings, strict=True))
        return f"AssumptionReport({verdicts})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = [(f.assumption, f.verdict.upper(), f.sentence) for f in self.findings]
        points = [(s["model"], s["why"]) for s in self.suggestions]
        return notebook.page(
            notebook.table(("assumption", "", ""), rows, words=(0, 1, 2)),
            notebook.table(("this points to", "because"), points, words=(0, 1)),
            *map(notebook.paragraph, self.notes),
        )

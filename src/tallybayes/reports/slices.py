"""Where the model errs: error by value of the columns; and which columns are associated with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from tallybayes.reports.html import Child, Markup, level, number, shorten, table, tag
from tallybayes.reports.predicted_rows import Judged, as_day, is_number
from tallybayes.utils.array_types import Array

MIN_ROWS = 20  # of a slice
SHOWN = 12
LEVELS = 8  # of a category; the others are one
QUANTILES = 5  # of a number
PAIRED = 40  # columns whose pairs are looked at: the most informative
MATRIX = 12  # columns of the matrix
HEAD = 24  # characters of their names


def grouped(rows: Judged, j: int, is_day: bool = False) -> tuple[Array, list[str]]:
    """The slice of each row by column j, and what each is called: levels, or intervals with about as many rows each."""
    values = rows.table.values(j)
    gone = np.array([v is None or v != v for v in values])
    there = [v for v, g in zip(values, gone, strict=True) if not g]
    if there and all(map(is_number, there)):
        codes, names = _intervals(np.array([float(v) for v in there]), is_day)
    else:
        common = [v for v, _ in Counter(there).most_common(LEVELS)]
        place = {v: i for i, v in enumerate(common)}
        codes = np.array([place.get(v, len(common)) for v in there], dtype=np.intp)
        names = [shorten(level(v), 60) for v in common] + ["all other values"]
    found = np.full(len(values), len(names))
    found[~gone] = codes
    return found, [*names, "missing"]


def _intervals(x: Array, is_day: bool) -> tuple[Array, list[str]]:
    """The interval of each number, or the number itself where few are distinct; and what each is called."""
    distinct = np.unique(x)
    write = as_day if is_day else partial(number, digits=_digits(distinct))
    if len(distinct) <= LEVELS:
        return np.searchsorted(distinct, x), [write(float(v)) for v in distinct]
    cuts = np.unique(np.quantile(x, np.linspace(0, 1, QUANTILES + 1)[1:-1]))
    cuts = cuts[cuts > distinct[0]] if cuts[-1] > distinct[0] else distinct[1:2]  # mostly the least one
    used, groups = np.unique(np.searchsorted(cuts, distinct, side="right"), return_inverse=True)
    ends = [distinct[groups == c][[0, -1]].tolist() for c in range(len(used))]
    names = [write(a) if a == b else f"{write(a)} to {write(b)}" for a, b in ends]
    return np.searchsorted(used, np.searchsorted(cuts, x, side="right")), names


def _digits(distinct: Array) -> int:
    """Digits that tell the intervals of these numbers apart."""
    width, most = float(np.ptp(distinct)), float(np.abs(distinct).max())
    return 3 + max(0, int(np.log10(most / width))) if width > 0 and np.isfinite(most / width) else 5


def slices_section(rows: Judged, names: Sequence[str], order: Sequence[int], days: set[str]) -> Markup | None:
    """The slices whose error is furthest above that of all rows, in standard errors."""
    wrong = (rows.log_proba.argmax(axis=1) != rows.y).astype(float)
    loss = -np.maximum(rows.log_proba[np.arange(rows.n), rows.y], -745.0)
    usual = float(wrong.mean())
    found = []
    for j in order[:PAIRED]:
        codes, called = grouped(rows, j, names[j] in days)
        n = np.bincount(codes, minlength=len(called)).astype(float)
        errors = np.bincount(codes, weights=wrong, minlength=len(called))
        losses = np.bincount(codes, weights=loss, minlength=len(called))
        for c in np.flatnonzero((n >= MIN_ROWS) & (n < rows.n)).tolist():
            deviation = np.sqrt(max(usual * (1 - usual), 1e-9) / n[c])
            found.append(
                ((errors[c] / n[c] - usual) / deviation, j, called[c], int(n[c]), errors[c] / n[c], losses[c] / n[c])
            )
    worst = sorted((f for f in found if f[0] > 1), key=lambda f: -f[0])[:SHOWN]
    head = tag("h2", "Slices: where it errs most", id="slices")
    if not worst:
        return tag("section", head, tag("p", f"No group of {MIN_ROWS} or more rows has a notably higher error."))
    most = max(f[4] for f in worst)
    lines = [
        (names[j], value, f"{n:,}", _bar(error, most, usual), f"{mean:.3f}", f"{z:.1f}")
        for z, j, value, n, error, mean in worst
    ]
    lead = (
        f"Error by value of a column; of all rows {usual:.1%} are wrong. Sorted by how many standard errors a slice "
        "lies above that; of so many slices some lie above it by chance, up to about 3."
    )
    shown = table(
        ("column", "value", "rows", "error", "log-loss", "standard errors above"),
        lines,
        "The worst slices",
        numeric=(2, 4, 5),
    )
    return tag("section", head, tag("p", lead, class_="lead"), shown)


def _bar(share: float, most: float, usual: float) -> Child:
    width = round(100 * share / most) if most else 0
    mark = round(100 * usual / most) if most else 0
    picture = tag(
        "svg",
        tag("rect", x=0, y=1, width=max(width, 1), height=10, rx=2, class_="bad"),
        tag("line", x1=mark, x2=mark, y1=0, y2=12, class_="ideal"),
        viewbox="0 0 100 12", width=100, height=12, class_="share-bar", aria_hidden="true",
    )  # fmt: skip
    return tag("span", picture, f" {share:.1%}", class_="inline-bar")


def associations_section(
    rows: Judged, names: Sequence[str], order: Sequence[int], source: Mapping[str, int]
) -> Markup | None:
    """Bias-corrected Cramér's V (Bergsma 2013) of the pairs of columns, numbers in intervals.

    source: the input column of each column; parts of one date are not listed as a pair.
    """
    which = list(order[:PAIRED])
    coded = [grouped(rows, j)[0] for j in which]
    if len(which) < 2:
        return None
    pairs = sorted(((cramers_v(coded[a], coded[b]), a, b) for a in range(len(which)) for b in range(a)), reverse=True)
    strength = {(a, b): v for v, a, b in pairs}
    few = range(min(len(which), MATRIX))
    lines = [(names[which[a]], *(_shade(1.0 if a == b else strength[max(a, b), min(a, b)]) for b in few)) for a in few]
    heads = [tag("span", _shortened(names[which[b]])) for b in few]
    of = [source.get(rows.table.name(j), -1 - j) for j in which]
    top = [(f"{names[which[b]]} – {names[which[a]]}", f"{v:.2f}") for v, a, b in pairs if v >= 0.1 and of[a] != of[b]][
        :8
    ]
    strongest = table(("columns", "Cramér's V"), top, "The strongest pairs", numeric=(1,)) if top else None
    lead = (
        "Cramér's V (bias-corrected, Bergsma 2013) of each pair: 0 is independent, 1 determines. Numbers are cut at "
        "quintiles. Columns that are strongly associated share their evidence."
    )
    limit = f" Pairs of the {len(which)} most informative columns." if len(names) > len(which) else ""
    return tag(
        "section",
        tag("h2", "Associations between columns", id="associations"),
        tag("p", lead + limit, class_="lead"),
        strongest,
        tag("div", table(("column", *heads), lines, "Cramér's V", numeric=range(1, len(few) + 1)), class_="matrix"),
    )


def _shortened(name: str) -> str:
    """A long name without its middle: what tells columns apart is as often at the end."""
    return name if len(name) <= HEAD else f"{name[: HEAD // 2]}…{name[-HEAD // 2 :]}"


def cramers_v(a: Array, b: Array) -> float:
    """0 for independent codes, 1 where one determines the other."""
    _, x = np.unique(a, return_inverse=True)
    _, y = np.unique(b, return_inverse=True)
    r, c, n = int(x.max()) + 1, int(y.max()) + 1, len(a)
    if min(r, c) < 2 or n < 3:
        return 0.0
    counts = np.bincount(x * c + y, minlength=r * c).reshape(r, c).astype(float)
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0) / n
    phi = max(0.0, float(((counts - expected) ** 2 / expected).sum()) / n - (r - 1) * (c - 1) / (n - 1))
    rows, columns = r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)
    return float(min(1.0, np.sqrt(phi / max(min(rows - 1, columns - 1), 1e-9))))


def _shade(v: float) -> Child:
    shade = 0 if v < 0.05 else 1 + min(3, int(v * 4))
    return tag("span", f"{v:.2f}", class_=f"heat h{shade}")

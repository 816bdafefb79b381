"""Pictures as inline SVG, drawn with the colours of the page: bars, densities, a calibration curve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tallybayes.reports.html import Markup, join, number, shorten, tag
from tallybayes.utils.array_types import Floats

WIDTH, BAR = 480, 24


def bars(names: Sequence[str], values: Sequence[float], errors: Sequence[float], unit: str, title: str) -> Markup:
    """Horizontal bars with whiskers. title: what a screen reader says of it."""
    most = max([v + e for v, e in zip(values, errors, strict=True)], default=0.0) or 1.0
    left, right = 150, 80
    scale = (WIDTH - left - right) / most
    lines = []
    for i, (name, value, error) in enumerate(zip(names, values, errors, strict=True)):
        y = 6 + i * BAR
        end = left + value * scale
        lines += [
            tag("text", shorten(name, 22), x=left - 8, y=y + 13, text_anchor="end"),
            tag("rect", x=left, y=y + 2, width=round(max(value * scale, 0.5), 2), height=BAR - 9, rx=2, class_="mark"),
            tag("text", f"{value:.3g}{unit}", x=round(end + error * scale + 6, 2), y=y + 13, class_="soft"),
        ]
        if error > 0:
            low, high = end - error * scale, end + error * scale
            lines.append(tag("line", x1=round(low, 2), x2=round(high, 2), y1=y + 9, y2=y + 9, class_="whisker"))
    return drawing(WIDTH, 12 + len(names) * BAR, title, lines)


def densities(means: Floats, deviations: Floats, name: str) -> Markup:
    """The normal densities of a column, one curve for each class."""
    width, height = 280, 120
    low = float((means - 3 * deviations).min())
    high = float((means + 3 * deviations).max())
    x = np.linspace(low, high, 120)
    y = np.exp(-0.5 * ((x - means[:, None]) / deviations[:, None]) ** 2) / deviations[:, None]
    top = float(y.max()) or 1.0
    across = 8 + (x - low) / (high - low) * (width - 16)
    curves = []
    for k, each in enumerate(y):
        points = " ".join(
            f"{a:.1f},{height - 22 - b / top * (height - 32):.1f}" for a, b in zip(across, each, strict=True)
        )
        curves.append(tag("polyline", points=points, class_=f"curve k{min(k, 7)}"))
    axis = [
        tag("line", x1=8, x2=width - 8, y1=height - 21, y2=height - 21, class_="axis"),
        tag("text", number(low, 4), x=8, y=height - 5, class_="soft"),
        tag("text", number(high, 4), x=width - 8, y=height - 5, text_anchor="end", class_="soft"),
    ]
    return drawing(width, height, f"Normal densities of {name}, one curve for each class", [*axis, *curves])


def calibration(said: Floats, true: Floats, error: Floats, n: Floats) -> Markup:
    """How often answers were right, against how sure they were; whiskers: one standard error."""
    width, height, left, bottom = 430, 320, 58, 36

    def across(p: float) -> float:
        return round(left + p * (width - left - 12), 2)

    def up(p: float) -> float:
        return round(height - bottom - p * (height - bottom - 12), 2)

    grid = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        grid += [
            tag("line", x1=across(tick), x2=across(tick), y1=up(0), y2=up(1), class_="axis"),
            tag("line", x1=across(0), x2=across(1), y1=up(tick), y2=up(tick), class_="axis"),
            tag("text", f"{tick:g}", x=across(tick), y=height - bottom + 16, text_anchor="middle", class_="soft"),
            tag("text", f"{tick:g}", x=left - 6, y=up(tick) + 4, text_anchor="end", class_="soft"),
        ]
    points = []
    for p, t, e, m in zip(said.tolist(), true.tolist(), error.tolist(), n.tolist(), strict=True):
        size = 3 + 6 * float(np.sqrt(m / n.sum()))
        low, high = up(max(t - e, 0)), up(min(t + e, 1))
        points += [
            tag("line", x1=across(p), x2=across(p), y1=low, y2=high, class_="whisker"),
            tag("circle", cx=across(p), cy=up(t), r=round(size, 2), class_="mark"),
        ]
    words = [
        tag("text", "how sure the answer was", x=across(0.5), y=height - 3, text_anchor="middle", class_="soft"),
        tag(
            "text",
            "how often it was right",
            x=12,
            y=up(0.5),
            text_anchor="middle",
            class_="soft",
            transform=f"rotate(-90 12 {up(0.5)})",
        ),
    ]
    ideal = tag("line", x1=across(0), y1=up(0), x2=across(1), y2=up(1), class_="ideal")
    return drawing(
        width,
        height,
        "Calibration: how often answers were right, against how sure they were",
        [*grid, ideal, *points, *words],
    )


def drawing(width: int, height: int, title: str, parts: Sequence[Markup]) -> Markup:
    """An SVG that a screen reader calls by its title."""
    return tag(
        "svg", join(parts), viewbox=f"0 0 {width} {height}", width=width, height=height, role="img", aria_label=title
    )

"""Pictures as inline SVG, drawn with the colours of the page: bars, curves, calibration."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from unicodedata import east_asian_width

import numpy as np

from tallybayes.reports.html import Markup, join, percent, share, tag
from tallybayes.utils.array_types import Floats

WIDTH, BAR = 380, 24  # a phone shows it without making the letters smaller
LETTER = 7.0  # pixels of a letter of 12 pixels, on average in a wide font; a Chinese one has 12


def fitted_label(text: str, pixels: float) -> str:
    """As much of a text as fits into so many pixels."""
    wide = [12.0 if east_asian_width(c) in "WF" else LETTER for c in text]
    if sum(wide) <= pixels:
        return text
    room, kept = pixels - LETTER, 0
    while wide[kept] <= room:
        room -= wide[kept]
        kept += 1
    return f"{text[:kept]}…"


def label_lines(text: str, pixels: float) -> list[str]:
    """A label in one line, or in two that break after a space, underscore, slash or hyphen; what is longer is cut."""
    if fitted_label(text, pixels) == text:
        return [text]
    words = re.findall(r"[^ _/-]*[ _/-]*", text)
    first = ""
    for k, word in enumerate(words):
        if fitted_label(first + word.rstrip(), pixels) != first + word.rstrip():
            rest = "".join(words[k:])
            return [first.rstrip(), fitted_label(rest, pixels)] if first else [fitted_label(text, pixels)]
        first += word
    return [text]


def _label(text: str, pixels: float, x: float, y: float) -> Markup:
    """A label that ends at x, its middle at height y."""
    found = label_lines(text, pixels)
    spans = [tag("tspan", line, x=x, y=y + 4 + 13 * k - 6.5 * (len(found) - 1)) for k, line in enumerate(found)]
    return tag("text", tag("title", text), spans, text_anchor="end")


def _places(names: Sequence[str], pixels: float) -> tuple[list[int], int]:
    """The top of the line of each bar, and where the last ends; labels of two lines take more room."""
    tall = [BAR + 8 if len(label_lines(name, pixels)) > 1 else BAR for name in names]
    return [6 + sum(tall[:i]) for i in range(len(tall))], 6 + sum(tall)


def bars(names: Sequence[str], values: Sequence[float], errors: Sequence[float], title: str) -> Markup:
    """Horizontal bars of shares, with whiskers. title: what a screen reader says of it."""
    most = max([v + e for v, e in zip(values, errors, strict=True)], default=0.0) or 1.0
    left, right = 160, 50
    scale = (WIDTH - left - right) / most
    lines = []
    tops, bottom = _places(names, left - 10)
    ends = [*tops[1:], bottom]
    for name, value, error, y0, y1 in zip(names, values, errors, tops, ends, strict=True):
        y = (y0 + y1 - BAR) / 2
        end = left + value * scale
        lines += [
            _label(name, left - 10, left - 8, y + 9.5),
            tag("rect", x=left, y=y + 2, width=round(max(value * scale, 0.5), 2), height=BAR - 9, rx=2, class_="mark"),
            tag("text", percent(value), x=round(end + error * scale + 6, 2), y=y + 13, class_="soft"),
        ]
        if error > 0:
            low, high = end - error * scale, end + error * scale
            lines.append(tag("line", x1=round(low, 2), x2=round(high, 2), y1=y + 9, y2=y + 9, class_="whisker"))
    return drawing(WIDTH, bottom + 6, title, lines)


def calibration(said: Floats, true: Floats, error: Floats, n: Floats) -> Markup:
    """The share of predictions that were right, against their probability; whiskers: one standard error."""
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
        tag("text", "predicted probability", x=across(0.5), y=height - 3, text_anchor="middle", class_="soft"),
        tag(
            "text",
            "share that was right",
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
        "Calibration: the share of predictions that were right, against their probability",
        [*grid, ideal, *points, *words],
    )


def drawing(width: int, height: int, title: str, parts: Sequence[Markup]) -> Markup:
    """An SVG that a screen reader calls by its title."""
    return tag(
        "svg", join(parts), viewbox=f"0 0 {width} {height}", width=width, height=height, role="img", aria_label=title
    )


def lines(
    curves: Sequence[tuple[Floats, Floats]], across: str, up: str, title: str, chance: str | float | None
) -> Markup:
    """Curves in the unit square. chance: "diagonal", a height, or None: where a dashed line stands."""
    width, height, left, bottom = 320, 280, 50, 40

    def at(x: float, y: float) -> tuple[float, float]:
        return round(left + x * (width - left - 10), 1), round(height - bottom - y * (height - bottom - 10), 1)

    parts = []
    for tick in (0.0, 0.5, 1.0):
        (x, y0), (_, y1) = at(tick, 0), at(tick, 1)
        (x0, y), (x1, _) = at(0, tick), at(1, tick)
        parts += [
            tag("line", x1=x, x2=x, y1=y0, y2=y1, class_="axis"),
            tag("line", x1=x0, x2=x1, y1=y, y2=y, class_="axis"),
            tag("text", f"{tick:g}", x=x, y=height - bottom + 16, text_anchor="middle", class_="soft"),
            tag("text", f"{tick:g}", x=left - 6, y=y + 4, text_anchor="end", class_="soft"),
        ]
    if chance is not None:
        low, high = (0.0, 1.0) if isinstance(chance, str) else (chance, chance)
        (x0, y0), (x1, y1) = at(0, low), at(1, high)
        parts.append(tag("line", x1=x0, y1=y0, x2=x1, y2=y1, class_="ideal"))
    for i, (x_, y_) in enumerate(curves):
        points = " ".join(f"{a},{b}" for a, b in (at(float(u), float(v)) for u, v in zip(x_, y_, strict=True)))
        parts.append(tag("polyline", points=points, class_=f"curve k{i % 8}"))
    middle = at(0.5, 0.5)
    parts += [
        tag("text", across, x=middle[0], y=height - 4, text_anchor="middle", class_="soft"),
        tag(
            "text", up, x=12, y=middle[1], text_anchor="middle", class_="soft", transform=f"rotate(-90 12 {middle[1]})"
        ),
    ]
    return drawing(width, height, title, parts)


def effect(x: Floats, evidence: Floats, seen: Floats | None, name: str, write: Callable[[float], str]) -> Markup:
    """Evidence of a number as curves, one for each class, over a histogram of the rows and a rug of their deciles."""
    width, height, left, bottom = 320, 170, 40, 24
    low, high = float(x.min()), float(x.max())
    span = (high - low) or 1.0
    top, least = max(1.0, float(evidence.max())), min(-1.0, float(evidence.min()))

    def across(v: float) -> float:
        return round(left + (v - low) / span * (width - left - 10), 1)

    def up(v: float) -> float:
        return round(8 + (top - v) / (top - least) * (height - bottom - 12), 1)

    parts = []
    if seen is not None and len(seen) and high > low:
        inside = seen[(seen >= low) & (seen <= high)]
        n, edges = np.histogram(inside, bins=min(24, max(len(np.unique(inside)), 1)), range=(low, high))
        for c, a, b in zip(n.tolist(), edges, edges[1:], strict=False):
            tall = c / max(n.max(), 1) * (height - bottom - 12) * 0.5
            if c:
                box = {"x": across(float(a)), "width": round(max(across(float(b)) - across(float(a)) - 1, 0.5), 1)}
                parts.append(
                    tag("rect", **box, y=round(height - bottom - tall, 1), height=round(tall, 1), class_="often")
                )
        foot = {"y1": height - bottom, "y2": height - bottom + 5, "class_": "rug"}
        marks = [across(float(q)) for q in np.quantile(inside, np.linspace(0, 1, 11))]
        parts += [tag("line", x1=x_, x2=x_, **foot) for x_ in marks]
    parts += [
        tag("line", x1=left, x2=width - 10, y1=up(0), y2=up(0), class_="ideal"),
        tag("text", f"+{top:.1f}", x=left - 4, y=up(top) + 8, text_anchor="end", class_="soft"),
        tag("text", "0", x=left - 4, y=up(0) + 4, text_anchor="end", class_="soft"),
        tag("text", f"\u2212{-least:.1f}", x=left - 4, y=up(least), text_anchor="end", class_="soft"),
        tag("text", write(low), x=left, y=height - 4, class_="soft"),
        tag("text", write(high), x=width - 10, y=height - 4, text_anchor="end", class_="soft"),
    ]
    for i, each in enumerate(evidence):
        points = " ".join(f"{across(float(a))},{up(float(b))}" for a, b in zip(x, each, strict=True))
        shape = tag("polyline", points=points, class_=f"curve k{i}")
        parts.append(shape if len(x) > 1 else tag("circle", cx=across(low), cy=up(float(each[0])), r=4, class_="mark"))
    return drawing(width, height, f"Evidence of {name}, from {write(low)} to {write(high)}", parts)


def evidence_bars(names: Sequence[str], values: Floats, often: Sequence[float | None], name: str) -> Markup:
    """Bars of evidence to both sides of 0, one for each value of a category; at the right how often it occurs."""
    width, left, right = 320, 128, 46
    top = max(1.0, float(np.abs(values).max()) if len(values) else 1.0)
    middle, scale = (left + width - right) / 2, (width - left - right) / 2 / top
    parts = []
    tops, bottom = _places(names, left - 8)
    ends = [*tops[1:], bottom]
    for label, v, part, y0, y1 in zip(names, values.tolist(), often, tops, ends, strict=True):
        y = (y0 + y1 - BAR) / 2
        parts += [
            _label(label, left - 8, left - 6, y + 10.5),
            tag(
                "rect",
                x=round(min(middle, middle + v * scale), 1),
                y=y + 3,
                width=round(max(abs(v) * scale, 0.5), 1),
                height=BAR - 9,
                rx=2,
                class_="good" if v > 0 else "bad",
            ),
            tag("text", "" if part is None else share(part), x=width - 4, y=y + 14, text_anchor="end", class_="soft"),
        ]
    parts += [
        tag("line", x1=middle, x2=middle, y1=2, y2=bottom, class_="axis"),
        tag("text", f"\u2212{top:.1f}", x=left, y=bottom + 14, class_="soft"),
        tag("text", "0", x=middle, y=bottom + 14, text_anchor="middle", class_="soft"),
        tag("text", f"+{top:.1f}", x=width - right, y=bottom + 14, text_anchor="end", class_="soft"),
    ]
    return drawing(width, bottom + 20, f"Evidence of each value of {name}", parts)

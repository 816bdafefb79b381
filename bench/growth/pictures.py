"""The curves as pictures: one for each axis, a panel for each estimator; ours, the peer, and the limit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from .findings import Curve, Row, curves
from .orders import ORDERS

AXES = {
    "rows": "rows learned",
    "columns": "columns",
    "classes": "classes",
    "levels": "levels of one column",
    "batch": "rows predicted",
    "missing": "share of values missing",
}
COLOURS = {"fit": "#1f5fa8", "predict": "#c4572a"}
WIDE = 5


def draw(rows: Sequence[Row], folder: Path) -> list[Path]:
    """The pictures that there are figures for."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = curves(rows)
    return [_picture([c for c in lines if c.axis == axis], axis, folder) for axis in AXES if _any(lines, axis)]


def _any(lines: Sequence[Curve], axis: str) -> bool:
    return any(line.axis == axis and len(line.values) > 1 for line in lines)


def _picture(lines: Sequence[Curve], axis: str, folder: Path) -> Path:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    models = [name for name in ORDERS if any(line.model == name for line in lines)]
    high = math.ceil(len(models) / WIDE)
    figure, panels = plt.subplots(
        high, min(WIDE, len(models)), figsize=(2.1 * WIDE, 1.75 * high + 0.6), sharex=True, sharey=True, squeeze=False
    )
    for panel, name in zip(panels.flat, models, strict=False):
        panel.set_title(_short(name), fontsize=8)
        for line in (line for line in lines if line.model == name):
            _line(panel, line)
        panel.set_yscale("log")
        if axis != "missing":
            panel.set_xscale("log")
        panel.grid(alpha=0.25)
        panel.tick_params(labelsize=7)
    for panel in panels.flat[len(models) :]:
        panel.set_axis_off()
    figure.supxlabel(AXES[axis], fontsize=9)
    figure.supylabel("processor time, seconds", fontsize=9)
    figure.legend(handles=_legend(plt), loc="upper center", ncols=5, fontsize=8, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    path = folder / f"{axis}.png"
    figure.savefig(path, dpi=75, metadata={"Software": None}, pil_kwargs={"optimize": True})
    plt.close(figure)
    return path


def _line(panel: object, line: Curve) -> None:
    how = {
        "ours": {"linestyle": "-", "marker": "o", "markersize": 3, "linewidth": 1.4},
        "limit": {"linestyle": ":", "linewidth": 1.0},
    }.get(line.side, {"linestyle": "--", "marker": "x", "markersize": 3, "linewidth": 1.0})
    panel.plot(line.values, line.cpu, color=COLOURS[line.op], **how)  # type: ignore[attr-defined]


def _legend(plt: object) -> list[object]:
    line = plt.Line2D  # type: ignore[attr-defined]
    return [
        line([], [], color=COLOURS["fit"], label="fit"),
        line([], [], color=COLOURS["predict"], label="predict_proba"),
        line([], [], color="grey", marker="o", markersize=3, label="ours"),
        line([], [], color="grey", linestyle="--", marker="x", markersize=3, label="peer"),
        line([], [], color="grey", linestyle=":", label="limit: reading X"),
    ]


def _short(name: str) -> str:
    return name.replace("DiscriminantAnalysis", "DA").replace("Discriminant", "D.")

"""The points that are measured: one axis at a time, the others at their usual values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

KINDS = ("plain", "weights", "missing", "float32", "fortran", "pandas", "polars", "arrow", "strings", "one dict")


@dataclass(frozen=True)
class Shape:
    """A table and what is asked of it; these are the usual values."""

    rows: int = 10_000
    columns: int = 20
    classes: int = 3
    levels: int = 8
    missing: float = 0.0
    batch: int = 1_000
    threads: int = 1
    kind: str = "plain"


USUAL = Shape()
Value = float | str
FULL: Mapping[str, tuple[Value, ...]] = {
    "rows": (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000),
    "columns": (2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000),
    "classes": (2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000),
    "levels": (2, 10, 100, 1_000, 10_000, 100_000, 1_000_000),
    "missing": (0.0, 0.02, 0.1, 0.3, 0.5, 0.9),
    "batch": (1, 10, 100, 1_000, 10_000, 100_000),
    "threads": (1, 2),
    "kind": KINDS,
}
QUICK: Mapping[str, tuple[Value, ...]] = {
    "rows": (1_000, 10_000, 100_000),
    "columns": (10, 100, 1_000),
    "classes": (10, 100, 1_000),
    "levels": (10, 1_000, 100_000),
    "missing": (0.0, 0.02, 0.5),
    "batch": (1, 1_000, 10_000),
    "kind": KINDS,
}


@dataclass(frozen=True)
class Point:
    model: str
    side: str  # "ours", the name of the peer, or "limit"
    axis: str
    value: Value

    @property
    def shape(self) -> Shape:
        shape = USUAL
        if self.axis in ("kind", "threads"):  # so that a call's own cost does not hide what the rows cost
            shape = replace(shape, rows=20_000, batch=20_000)
        if self.axis == "levels":  # there is a row for each level at least, and no fewer with few levels
            shape = replace(shape, rows=100_000, columns=8)
        if self.value == "missing":
            shape = replace(shape, missing=0.02)
        value = self.value if isinstance(self.value, str) or self.axis == "missing" else int(self.value)
        return replace(shape, **{self.axis: value})  # type: ignore[arg-type]

    @property
    def megabytes(self) -> float:
        """About what the table takes."""
        return max(self.shape.rows, self.shape.batch) * self.shape.columns * 8 / 1e6

    @property
    def curve(self) -> tuple[str, str, str]:
        return self.model, self.side, self.axis


def curve(model: str, side: str, axis: str, grid: Mapping[str, tuple[Value, ...]]) -> Iterator[Point]:
    """Smallest first."""
    for value in grid.get(axis, ()):
        yield Point(model, side, axis, value)

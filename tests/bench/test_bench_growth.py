"""The pure parts of the benchmark of growth: exponents, lists, orders, points; and the page of the orders."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pandas")

from bench.growth import reasons
from bench.growth.__main__ import predicted, read
from bench.growth.findings import Finding, curves, exponent, findings
from bench.growth.models import MODELS, as_kind, table
from bench.growth.orders import ORDERS, SYMBOLS, documented, power
from bench.growth.points import FULL, KINDS, QUICK, USUAL, Point, Shape, curve
from bench.growth.reasons import Reason, reason_for
from bench.growth.report import TITLES, lists, orders_table, put, reasons_table

import tallybayes as tb
from tallybayes.io.model_document import estimator

PAGE = Path(__file__).parents[2] / "docs" / "growth.md"


def row(
    value: object,
    fit: float,
    *,
    model: str = "GaussianNB",
    side: str = "ours",
    axis: str = "rows",
    predict: float = 1e-5,
    mb: float = 1.0,
) -> dict[str, object]:
    return {
        "model": model,
        "side": side,
        "axis": axis,
        "value": value,
        "fit": {"cpu": fit, "wall": fit, "mb": mb},
        "predict": {"cpu": predict, "wall": predict, "mb": 0.0},
    }


@pytest.fixture(autouse=True)
def no_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reasons, "REASONS", ())


def test_the_exponent_of_the_last_decade() -> None:
    values = [10.0, 100.0, 1_000.0, 10_000.0]
    assert exponent(values, [v**1.5 for v in values]) == pytest.approx(1.5)
    assert exponent(values, [1.0, 1.0, 1.0, 100.0]) == pytest.approx(2.0)  # what was before does not matter
    assert exponent([1.0, 2.0, 5.0, 10.0], [1.0, 2.0, 5.0, 10.0]) == pytest.approx(1.0)
    assert exponent([10.0, 1_000.0], [1.0, 100.0]) == pytest.approx(1.0)  # two points at least
    assert math.isnan(exponent([10.0], [1.0]))


def test_the_power_of_a_symbol() -> None:
    order = "n·d² + K·d³ + v"
    assert [power(order, s) for s in "ndKvb"] == [1, 3, 1, 1, 0]
    for bad in ("n*d", "n·d⁴", "", "n·d +"):
        with pytest.raises(ValueError, match="not a product"):
            power(bad, "n")


def test_every_estimator_is_measured_and_has_orders() -> None:
    public = {name for name in tb.__all__ if estimator(name) is not None}
    assert public == set(ORDERS) == set(MODELS)
    for name, model in MODELS.items():
        for axis in model.axes:
            for what in ("fit", "fit_memory", "predict", "predict_memory"):
                assert axis not in SYMBOLS or documented(name, what, axis) >= 0
        assert isinstance(model.make(USUAL), getattr(tb, name))


def test_points_grow_and_only_one_thing_changes() -> None:
    for grid in (FULL, QUICK):
        for axis, values in grid.items():
            assert axis == "kind" or list(values) == sorted(values)
            assert [p.value for p in curve("TAN", "ours", axis, grid)] == list(values)
    assert Point("TAN", "ours", "columns", 50.0).shape == Shape(columns=50)
    assert Point("TAN", "ours", "missing", 0.3).shape == Shape(missing=0.3)
    assert Point("TAN", "ours", "kind", "missing").shape.missing == 0.02
    assert Point("TAN", "ours", "rows", 1e6).megabytes == pytest.approx(160.0)


@pytest.mark.parametrize("name", ["GaussianNB", "MultinomialNB", "TAN", "NaiveBayes"])
def test_tables_hold_what_their_titles_name(name: str) -> None:
    model = MODELS[name]
    X, y = table(model, Shape(rows=400, columns=6, classes=7, levels=50), 400, 1)
    assert X.shape == (400, 6)
    assert sorted(set(y.tolist())) == list(range(7))
    if name == "TAN":
        assert len(np.unique(X[:, 0])) == 50
        assert len(np.unique(X[:, 1])) <= 8
    gaps, _ = table(model, Shape(rows=400, columns=6, missing=0.3), 400, 1)
    share = np.mean(gaps.isna().to_numpy() if hasattr(gaps, "isna") else np.isnan(gaps))
    assert 0.2 < share < 0.4
    for kind in KINDS:
        other = as_kind(model, X, kind)
        assert other is None or other.shape == (400, 6)


def test_a_curve_that_grows_too_fast_is_listed() -> None:
    fine = [row(1_000, 0.01), row(10_000, 0.1)]
    assert findings(fine) == []
    (found,) = findings([row(1_000, 0.01), row(10_000, 0.25)])
    assert (found.list_, found.model, found.op, found.axis) == ("order", "GaussianNB", "fit", "rows")
    assert "exponent 1.40; documented: 1" in found.text
    assert findings([row(1_000, 1e-5), row(10_000, 5e-4)]) == []  # too short to tell
    (memory,) = findings([row(1_000, 0.01, mb=5.0), row(10_000, 0.1, mb=50.0)])
    assert memory.text.startswith("memory grows with exponent 1.00; documented: 0")


def test_a_step_is_listed_even_if_the_end_is_flat() -> None:
    steps = [row(100, 0.001), row(1_000, 0.2), row(10_000, 0.3), row(100_000, 0.4)]
    (found,) = findings(steps)
    assert found.text == "time steps from 1 ms at 100 to 200 ms at 1000"


def test_a_kind_that_costs_five_times_its_neighbour_is_listed() -> None:
    kinds = [row("plain", 0.01, axis="kind"), row("weights", 0.04, axis="kind"), row("pandas", 0.07, axis="kind")]
    (found,) = findings(kinds)
    assert (found.list_, found.axis) == ("kind", "pandas")
    assert "7.0 times" in found.text
    missing = [row(0.0, 0.01, axis="missing"), row(0.02, 0.02, axis="missing"), row(0.5, 0.08, axis="missing")]
    assert [f.text[:11] for f in findings(missing)] == ["50% missing"]
    cheap = [row("plain", 1e-6, axis="kind"), row("pandas", 1e-4, axis="kind")]
    assert findings(cheap) == []  # a call costs something whatever it is given


def test_one_row_beside_its_share_of_a_batch() -> None:
    batch = [row(1, 1.0, axis="batch", predict=1e-4), row(10_000, 1.0, axis="batch", predict=1e-2)]
    assert findings(batch) == []
    (found,) = findings([row(1, 1.0, axis="batch", predict=1e-3), batch[1]])
    assert (found.list_, found.op, found.text[:10]) == ("kind", "predict", "a row of 1")


def test_a_peer_that_is_faster_is_listed() -> None:
    rows = [row(1_000, 0.01), row(1_000, 0.005, side="scikit-learn"), row(1_000, 0.001, side="limit")]
    (found,) = findings(rows)
    assert (found.list_, found.op) == ("peer", "fit")
    assert findings([row(1_000, 0.01), row(1_000, 0.02, side="scikit-learn")]) == []


def test_what_was_stopped_is_no_point() -> None:
    stopped: dict[str, object] = {"model": "TAN", "side": "ours", "axis": "rows", "value": 10, "stopped": "time"}
    assert curves([stopped]) == []
    failed = stopped | {"failed": "ValueError: no"}
    assert "FAILED TAN ours rows 10: ValueError: no" in lists({}, [failed])


def test_a_reason_moves_a_finding_to_the_other_list(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(1_000, 0.01), row(10_000, 0.25)]
    assert "documented order: 1 (0 more have a reason)" in lists({}, rows)
    monkeypatch.setattr(reasons, "REASONS", (Reason("order", "GaussianNB", "", "rows", "because"),))
    assert reason_for("order", "GaussianNB", "fit", "rows") == "because"
    assert reason_for("order", "TAN", "fit", "rows") is None
    assert Finding("order", "GaussianNB", "fit", "rows", "").reason == "because"
    assert "documented order: 0 (1 more have a reason)" in lists({}, rows)


def test_the_next_point_is_foreseen() -> None:
    point = Point("QuadraticDiscriminantAnalysis", "ours", "columns", 100.0)
    assert predicted({"cpu": 0.01}, 10.0, point, "fit") == pytest.approx(10.0)  # d³
    assert predicted(None, 10.0, point, "fit") == 0.0


def test_the_last_measurement_of_a_point_counts(tmp_path: Path) -> None:
    path = tmp_path / "growth.jsonl"
    lines = [row(10, 1.0), {"machine": {"cpu": "old"}}, row(10, 2.0), row(20, 3.0), {"machine": {"cpu": "new"}}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    head, rows = read(path)
    assert head == {"machine": {"cpu": "new"}}
    assert rows == [row(10, 2.0), row(20, 3.0)]


def test_the_page_repeats_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    page = PAGE.read_text()
    assert orders_table() in page
    assert reasons_table() in page
    for reason in reasons.REASONS:
        assert reason.list_ in TITLES
        assert reason.model in ("", *ORDERS)
        assert reason.op in ("", "fit", "predict")
        assert reason.axis in ("", *FULL, *KINDS)
    for picture in (PAGE.parent / "images" / "growth").glob("*.png"):
        assert picture.name in page
    with pytest.raises(ValueError, match="no part 'nonsense'"):
        put(page, "nonsense", "")

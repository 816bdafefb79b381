"""Dates, times and durations: read from anywhere, spread over columns, and back."""

from __future__ import annotations

import datetime as dt
import io
import warnings
import zoneinfo
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import tallybayes as tb
from tallybayes.data.expansion import Expansion
from tallybayes.data.schema import align
from tallybayes.data.table import read_table
from tallybayes.errors import MergeError, ModelFileError, OptionError, TableError
from tests.command_line import run
from tests.quick import examples

N = 80
rng = np.random.default_rng(4)
MOMENTS = [dt.datetime(2019, 12, 28) + dt.timedelta(hours=int(h)) for h in rng.integers(0, 9000, N)]
Y = np.where(np.arange(N) % 3 == 0, "a", "b")
PARTS = ("days since 1970", "year", "month", "weekday", "hour")
anytime = st.datetimes(dt.datetime(1, 1, 3), dt.datetime(9999, 12, 29))


def parts(X: Any, schema: Any) -> dict[str, list[Any]]:
    table = align(read_table(X), schema)
    return {name: table.values(j) for j, name in enumerate(table.names or ())}


def naive(**options: Any) -> tb.NaiveBayes:
    return tb.NaiveBayes("gaussian", **options)


def as_python_says(v: dt.datetime | None) -> list[Any]:
    """The oracle: what the standard library says of a wall clock."""
    if v is None:
        return [None] * 5
    days = (v - dt.datetime(1970, 1, 1)) / dt.timedelta(days=1)
    return [days, v.year, v.strftime("%b"), v.strftime("%a"), v.hour]


# --- parts -------------------------------------------------------------------------------------------------------


@settings(max_examples=examples(60))
@given(st.lists(st.none() | anytime, min_size=1, max_size=8).filter(any))
def test_parts_are_those_of_the_standard_library(values: list[dt.datetime | None]) -> None:
    model = naive(schema={"t": "date"}).fit([{"t": v} for v in values], ["a"] * len(values))
    found = list(zip(*parts([{"t": v} for v in values], model.schema_).values(), strict=True))
    for v, own in zip(values, found, strict=True):
        assert own[1:] == tuple(as_python_says(v)[1:])
        assert own[0] is None if v is None else own[0] == pytest.approx(as_python_says(v)[0], rel=1e-15, abs=1e-9)


@settings(max_examples=examples(60))
@given(
    st.lists(st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)), min_size=1, max_size=8),
    st.sampled_from(["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia", "Australia/Lord_Howe"]),
)
def test_zones_are_read_on_their_wall_clock(values: list[dt.datetime], zone: str) -> None:
    utc = pd.Series(values).astype("M8[us]").dt.tz_localize("UTC")
    X = pd.DataFrame({"t": utc.dt.tz_convert(zone)})
    model = naive(schema={"t": "date"}).fit(X, ["a"] * len(values))
    assert model.schema_.expansion == (Expansion("t", "datetime", PARTS, zone),)
    found = parts(X, model.schema_)
    local = [v.replace(tzinfo=dt.UTC).astimezone(zoneinfo.ZoneInfo(zone)) for v in values]
    assert found["t: hour"] == [v.hour for v in local]
    assert found["t: weekday"] == [v.strftime("%a") for v in local]
    assert parts(pd.DataFrame({"t": utc}), model.schema_) == found  # the same moments, said in another zone
    naive_clock = pd.DataFrame({"t": [v.replace(tzinfo=None) for v in local]})
    assert parts(naive_clock, model.schema_) == found  # without a zone: the wall clock of the fit's


def test_a_fixed_offset_and_mixed_zones() -> None:
    east = dt.timezone(dt.timedelta(hours=5, minutes=30))
    rows = [{"t": v.replace(tzinfo=east)} for v in MOMENTS]
    model = naive(schema={"t": "date"}).fit(rows, Y)
    assert model.schema_.expansion[0].zone == "+05:30"  # type: ignore[index]
    assert parts(rows, model.schema_)["t: hour"] == [v.hour for v in MOMENTS]
    mixed = [{"t": v.replace(tzinfo=dt.timezone(dt.timedelta(hours=i % 3)))} for i, v in enumerate(MOMENTS)]
    model = naive(schema={"t": "date"}).fit(mixed, Y)
    assert model.schema_.expansion[0].zone == "UTC"  # type: ignore[index]
    assert parts(mixed, model.schema_)["t: hour"] == [(v.hour - i % 3) % 24 for i, v in enumerate(MOMENTS)]


class OfOnesOwn(dt.tzinfo):
    """A zone that no database knows: minutes ahead of UTC, or, of a moment only, an hour more from June."""

    def __init__(self, ahead: float | None) -> None:
        self.ahead = ahead

    def utcoffset(self, at: dt.datetime | None) -> dt.timedelta:
        return dt.timedelta(minutes=60 * (at.month > 5) if self.ahead is None else self.ahead)  # type: ignore[union-attr]

    def dst(self, _: dt.datetime | None) -> dt.timedelta:
        return dt.timedelta(0)

    def tzname(self, _: dt.datetime | None) -> str:
        return "OO"


@pytest.mark.parametrize(
    ("ahead", "name", "shift"),
    [(-210, "-03:30", 0), (-0.25, "UTC", 0.25), (None, "UTC", 0), (0, "UTC", 0)],
)
def test_zones_of_ones_own(ahead: float | None, name: str, shift: float) -> None:
    """They are offsets of whole minutes, or else read in UTC."""
    moments = [dt.datetime(2021, 1, 1 + i % 28, i % 24, 30) for i in range(N)]
    rows = [{"t": v.replace(tzinfo=OfOnesOwn(ahead))} for v in moments]
    model = naive(schema={"t": "date"}).fit(rows, Y)
    assert model.schema_.expansion[0].zone == name  # type: ignore[index]
    expected = [(v - dt.datetime(1970, 1, 1) + dt.timedelta(minutes=shift)) / dt.timedelta(days=1) for v in moments]
    assert parts(rows, model.schema_)["t: days since 1970"] == pytest.approx(expected, abs=1e-9)
    if ahead is None:  # summer, by its own clock
        summer = [{"t": v.replace(month=7, tzinfo=OfOnesOwn(None))} for v in moments]
        assert parts(summer, model.schema_)["t: hour"] == [(v.hour - 1) % 24 for v in moments]


@pytest.mark.parametrize("unit", ["Y", "2Y", "M", "W", "2W", "D", "h", "6h", "15m", "s", "ms", "ns", "ps", "as"])
def test_every_unit_of_numpy(unit: str) -> None:
    ticks = np.random.default_rng(0).integers(-40, 40, size=(N, 1))
    whole = {"ps": 10**12, "as": 10**15}.get(unit, 1)  # else they are all the same day
    X = (ticks * whole).astype(f"M8[{unit}]")
    X[3] = "NaT"
    found = parts(X, naive(schema={0: "date"}).fit(X, Y).schema_)["x0: days since 1970"]
    known = X[:, 0].astype("M8[ns]").astype(np.int64) / (86_400 * 10**9)
    assert found[3] is None
    np.testing.assert_allclose(np.delete(found, 3).astype(float), np.delete(known, 3), rtol=1e-12, atol=1e-9)
    spans = (ticks * whole).astype(f"m8[{unit}]")
    if unit[-1] not in "YM":  # NumPy itself knows no length of these
        found = parts(spans, naive().fit(spans, Y).schema_)["x0: days"]
        np.testing.assert_allclose(
            np.array(found, dtype=float), spans[:, 0].astype("m8[ns]").astype(float) / (86_400 * 10**9), atol=1e-9
        )


@pytest.mark.parametrize("unit", ["Y", "D", "h", "s", "us", "ns"])
def test_moments_of_numpy_in_dicts(unit: str) -> None:
    """Each with a unit of its own, as a list of rows may have them; NaT is missing."""
    theirs = [{"t": np.datetime64(v).astype(f"M8[{u}]")} for v, u in zip(MOMENTS, [unit, "us"] * N, strict=False)]
    python = [{"t": row["t"].astype("M8[us]").item()} for row in theirs]
    assert parts(theirs, naive().fit(theirs, Y).schema_) == parts(python, naive().fit(python, Y).schema_)
    model = naive().fit(python, Y)
    for row, same in zip(theirs[:4], python, strict=False):
        assert model.predict_proba_one(row) == model.predict_proba_one(same)
    assert model.predict_proba_one({"t": np.datetime64("NaT", unit)}) == model.predict_proba_one({"t": None})
    spans = [{"t": np.timedelta64(i, "h" if i % 2 else "m")} for i in range(8)]
    same_spans = [{"t": row["t"].astype("m8[us]").item()} for row in spans]
    assert parts(spans, naive().fit(spans, Y[:8]).schema_) == parts(same_spans, naive().fit(same_spans, Y[:8]).schema_)


def test_a_zone_that_is_not_known_here() -> None:
    """Such as that of a model from a machine with a newer database."""
    X = pd.DataFrame({"t": pd.Series(MOMENTS).dt.tz_localize("Asia/Kathmandu")})
    model = naive(schema={"t": "date"}).fit(X, Y)
    assert model.schema_.expansion is not None
    elsewhere = replace(model.schema_, expansion=(replace(model.schema_.expansion[0], zone="Mars/Olympus"),))
    with pytest.raises(OptionError, match="'Mars/Olympus' is not known here"):
        parts(X, elsewhere)


def test_moments_as_categories_are_written_as_iso_does() -> None:
    columns = {
        "s": [dt.timedelta(hours=36), dt.timedelta(hours=-6)],
        "c": [dt.time(7, 5), dt.time(23, 59, 1)],
        "d": [dt.date(2024, 2, 29), dt.date(1, 1, 1)],
        "t": [dt.datetime(2024, 2, 29, 7), dt.datetime(2024, 2, 29, 18, 30, 0, 250)],
    }
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    model = tb.NaiveBayes(schema=dict.fromkeys(columns, "categorical")).fit(rows, ["a", "b"])
    found = {model.schema_.name(j): set(levels.labels) for j, levels in model.schema_.levels.items()}
    assert found == {
        "s": {"1.5 days", "-0.25 days"},
        "c": {"07:05:00", "23:59:01"},
        "d": {"2024-02-29", "0001-01-01"},
        "t": {"2024-02-29T07:00:00", "2024-02-29T18:30:00.000250"},
    }


SAME: dict[str, Any] = {
    "objects": lambda: pd.DataFrame({"t": np.array(MOMENTS, dtype=object)}),
    "timestamps": lambda: pd.DataFrame({"t": np.array([pd.Timestamp(v) for v in MOMENTS], dtype=object)}),
    "ns": lambda: pd.DataFrame({"t": pd.Series(MOMENTS).astype("M8[ns]")}),
    "s": lambda: pd.DataFrame({"t": pd.Series(MOMENTS).astype("M8[s]")}),
    "pandas arrow": lambda: pd.DataFrame({"t": pd.Series(MOMENTS, dtype=pd.ArrowDtype(pa.timestamp("us")))}),
    "polars": lambda: pl.DataFrame({"t": MOMENTS}),
    "polars ms": lambda: pl.DataFrame({"t": pl.Series(MOMENTS).cast(pl.Datetime("ms"))}),
    "pyarrow": lambda: pa.table({"t": pa.array(MOMENTS, pa.timestamp("ms"))}),
    "dicts": lambda: [{"t": v} for v in MOMENTS],
    "strings": lambda: [{"t": v.isoformat()} for v in MOMENTS],
    "strings with a space": lambda: pl.DataFrame({"t": [v.isoformat(" ") for v in MOMENTS]}),
}


@pytest.mark.parametrize("name", SAME)
def test_every_form_of_the_same_moments_is_the_same(name: str) -> None:
    model = naive(schema={"t": "date"}).fit(SAME["objects"](), Y)
    other = naive(schema={"t": "date"}).fit(SAME[name](), Y)
    np.testing.assert_array_equal(other.predict_proba(SAME[name]()), model.predict_proba(SAME["objects"]()))
    np.testing.assert_array_equal(model.predict_proba(SAME[name]()), model.predict_proba(SAME["objects"]()))
    assert model.schema_.names == other.schema_.names == tuple(f"t: {part}" for part in PARTS)


DAYS = [dt.date(2020, 1, 1) + dt.timedelta(days=7 * i) for i in range(N)]
CLOCKS = [dt.time(i % 24, i % 60) for i in range(N)]
SPANS = [dt.timedelta(hours=i - 40) for i in range(N)]


@pytest.mark.parametrize(
    ("column", "what", "names"),
    [
        (pa.array(DAYS), "date", ["days since 1970", "year", "month"]),  # all of them are Wednesdays
        (pa.array(DAYS).cast(pa.date64()), "date", ["days since 1970", "year", "month"]),
        (pl.Series(DAYS), "date", ["days since 1970", "year", "month"]),
        (pd.Series(DAYS), "date", ["days since 1970", "year", "month"]),
        (pd.Series(pd.period_range("2020-01", periods=N, freq="M")), "datetime", PARTS[:4]),
        (pa.array(CLOCKS), "time", ["hours"]),
        (pl.Series(CLOCKS), "time", ["hours"]),
        (pd.Series(CLOCKS), "time", ["hours"]),
        (pa.array(SPANS), "duration", ["days"]),
        (pl.Series(SPANS), "duration", ["days"]),
        (pd.Series(SPANS), "duration", ["days"]),
        (pd.Series(pd.to_timedelta(SPANS)).astype("m8[s]"), "duration", ["days"]),
    ],
)
def test_sorts_of_columns(column: Any, what: str, names: list[str]) -> None:
    X = pa.table({"t": column}) if isinstance(column, pa.Array) else type(column.to_frame())({"t": column})
    model = naive().fit(X, Y)
    assert model.schema_.names == tuple(f"t: {name}" for name in names)
    assert model.schema_.expansion is not None
    assert model.schema_.expansion[0].what == what
    first = parts(X, model.schema_)[f"t: {names[0]}"]
    if what == "time":
        assert first == pytest.approx([v.hour + v.minute / 60 for v in CLOCKS])
    elif what == "duration":
        assert first == pytest.approx([v / dt.timedelta(days=1) for v in SPANS])  # negative ones too
    drawn, _ = model.sample(40, random_state=0)
    assert np.isfinite(model.predict_proba(drawn)).all()


def test_far_away_and_nowhere() -> None:
    far = pd.DataFrame({"t": np.array([-(10**13), 0, 10**13, 2**40], dtype="M8[s]")})  # some 300,000 years around 1970
    model = naive().fit(far, ["a", "b", "a", "b"])
    assert np.isfinite(model.predict_proba(far)).all()
    assert parts(far, model.schema_)["t: year"] == (far["t"].to_numpy().astype("M8[Y]").astype(int) + 1970).tolist()
    edges = pd.DataFrame({"t": pd.Series([pd.Timestamp.min, pd.Timestamp.max], dtype="M8[ns]")})
    assert parts(edges, naive(schema={"t": "date"}).fit(edges, ["a", "b"]).schema_)["t: year"] == [1677, 2262]
    nowhere = pd.DataFrame({"t": pd.Series([pd.NaT] * 3), "x": [1.0, 2.0, 3.0]})
    model = naive().fit(nowhere, ["a", "b", "a"])
    assert model.schema_.names == ("t: days since 1970", "x")
    assert model.describe("t: days since 1970") == {"a": {}, "b": {}}
    one = naive().fit([{"t": dt.date(2020, 2, 29)}] * 3, ["a", "b", "a"])
    assert one.schema_.names == ("t: days since 1970",)
    with pytest.raises(TableError, match="3,000,000 years"):
        naive().fit(np.full((2, 1), 2**50, dtype="M8[M]"), ["a", "b"])
    with pytest.raises(TableError, match="290,000 years"):
        naive().fit([{"t": np.datetime64(2**40, "D")}, {"t": None}], ["a", "b"])


def test_kinds_that_are_declared() -> None:
    X = pd.DataFrame({"t": DAYS, "x": rng.normal(size=N)})
    assert naive(schema={"t": "real"}).fit(X, Y).schema_.names == ("t: days since 1970", "x")
    assert naive(schema={"t": "date"}).fit(X, Y).schema_.names[3] == "t: weekday"  # though it does not vary
    assert naive(schema={"t": "id"}).fit(X, Y).schema_.names == ("x",)
    model = naive(schema={"t": "categorical"}).fit(X, Y)
    assert model.schema_.levels[0].labels[:2] == ("2020-01-01", "2020-01-08")
    model = naive(schema={"t: month": "real", "t": "date"}).fit(X, Y)
    assert model.schema_.kinds[2] == "real"
    assert model.describe("t: month")["a"]["mean"] > 1  # January is 1
    with pytest.raises(OptionError, match="no column 't: hour'"):
        naive(schema={"t: hour": "real"}).fit(X, Y)
    with pytest.raises(OptionError, match="date, id"):
        naive(schema={"t": "dates"}).fit(X, Y)
    for kind in ("date", "id"):
        with pytest.raises(OptionError, match=f"'t: month' was given the kind '{kind}'. Allowed: real, .*text\\.$"):
            naive(schema={"t: month": kind, "t": "date"}).fit(X, Y)
        with pytest.raises(OptionError, match="A sparse matrix has no dates and no ids"):
            naive(schema={0: kind}).fit(sparse.eye(4, format="csr"), list("abab"))
    with pytest.raises(TableError, match="'yesterday' \\(row 1\\), which is no datetime"):
        naive(schema={"t": "date"}).fit([{"t": "2020-01-01"}, {"t": "yesterday"}], ["a", "b"])
    with pytest.raises(TableError, match="one of them is a part of a date"):
        naive().fit(X.assign(**{"t: month": 1.0}), Y)


def test_what_does_not_fit_at_predict() -> None:
    model = naive().fit(pd.DataFrame({"t": DAYS}), Y)
    assert (
        model.predict_proba([{"t": "2020-05-06"}]).tolist()
        == model.predict_proba([{"t": dt.date(2020, 5, 6)}]).tolist()
    )
    for bad, why in ((3.0, "which is no date"), (dt.timedelta(1), "holds durations"), ("1 May", "which is no date")):
        with pytest.raises(TableError, match=why):
            model.predict([{"t": bad}])
        with pytest.raises(TableError, match=why):
            model.predict_proba_one({"t": bad})
    spans = naive().fit([{"t": dt.timedelta(1)}, {"t": dt.timedelta(2)}], ["a", "b"])
    for bad in ("1 day", "2020-05-06", 3.0, b"1"):
        with pytest.raises(TableError, match="which is no duration"):
            spans.predict([{"t": bad}])
        with pytest.raises(TableError, match="which is no duration"):
            spans.predict_proba_one({"t": bad})
    numbers = naive().fit([{"t": 1.0}, {"t": 2.0}], ["a", "b"])
    with pytest.raises(TableError, match="'2020-01-01'"):
        numbers.predict([{"t": dt.date(2020, 1, 1)}])
    words = tb.NaiveBayes().fit([{"t": "2020-01-01"}, {"t": "2020-01-02"}], ["a", "b"])
    assert words.predict([{"t": dt.date(2020, 1, 2)}]).tolist() == ["b"]


# --- laws --------------------------------------------------------------------------------------------------------

rows = st.lists(
    st.tuples(st.none() | st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)), st.sampled_from("ab")),
    min_size=6,
    max_size=20,
).filter(lambda found: len({y for _, y in found[:3]}) == 2 == len({y for _, y in found[3:]}))


@settings(max_examples=examples(40))
@given(rows, st.randoms(use_true_random=False))
def test_merge_forget_weights_and_order(found: list[tuple[dt.datetime | None, str]], random: Any) -> None:
    X, y = [{"t": t} for t, _ in found], [label for _, label in found]
    whole = naive(schema={"t": "date"}).fit(X, y)
    same = whole.predict_proba(X)
    first = naive(schema={"t": "date"}).fit(X[:3], y[:3])
    if first.schema_.expansion == whole.schema_.expansion:  # missing values have no hours
        merged = first.copy().merge(naive(schema=first.schema_).fit(X[3:], y[3:]))
        np.testing.assert_allclose(merged.predict_proba(X), same, atol=1e-7)
        np.testing.assert_allclose(first.copy().partial_fit(X[3:], y[3:]).predict_proba(X), same, atol=1e-7)
        left = whole.copy().forget(X[3:], y[3:])
        assert left.class_count_.tolist() == first.class_count_.tolist()
        for j in range(2, whole.schema_.d):  # counts are exact
            assert left.describe(j) == first.describe(j)
    order = list(range(len(X)))
    random.shuffle(order)
    turned = naive(schema={"t": "date"}).fit([X[i] for i in order], [y[i] for i in order])
    np.testing.assert_allclose(turned.predict_proba(X), same, atol=1e-7)


def test_rows_of_no_weight_do_not_decide_what_varies() -> None:
    X = [{"t": dt.datetime(2020, 1, d)} for d in (1, 2, 3, 4)]
    odd = {"t": dt.datetime(2021, 5, 5, 17)}
    model = naive().fit([*X, odd], ["a", "b", "a", "b", "a"], sample_weight=[1, 1, 1, 1, 0])
    assert model.schema_ == naive().fit(X, ["a", "b", "a", "b"]).schema_
    assert model.schema_.names == ("t: days since 1970", "t: weekday")


def test_merge_names_what_differs() -> None:
    a = naive().fit([{"t": d} for d in DAYS], Y)
    b = naive().fit([{"t": v} for v in MOMENTS], Y)
    with pytest.raises(MergeError, match=r"'t' is read in one model as date .*schema=first.schema_"):
        a.merge(b)
    assert a.merge(naive(schema=a.schema_).fit([{"t": v} for v in MOMENTS], Y)).class_count_.sum() == 2 * N


# --- files, streams, back ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make", [tb.NaiveBayes, tb.BayesClassifier, tb.TAN, tb.GaussianNB, tb.LinearDiscriminantAnalysis]
)
def test_files_keep_it(make: Any) -> None:
    X = pd.DataFrame(
        {"t": pd.Series(MOMENTS).dt.tz_localize("UTC"), "i": [f"n{i}" for i in range(N)], "x": rng.normal(size=N)}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make().fit(X, Y)
        again = tb.from_bytes(tb.to_bytes(model))
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.schema_.expansion == model.schema_.expansion
    assert again.feature_names_in_.tolist() == ["t", "i", "x"]
    assert model.feature_importances_.shape == (3,)
    assert model.feature_importances_[1] == 0


def test_a_file_with_other_contents_is_refused() -> None:
    from tallybayes.io.value_reader import ValueReader
    from tallybayes.io.value_writer import Writer

    good = naive(schema={"t": "date"}).fit([{"t": v} for v in MOMENTS], Y).schema_
    writer = Writer()
    stored: Any = writer.schema(good)
    reader = ValueReader(list(writer.arrays), [])
    assert reader.schema(stored).expansion == good.expansion
    for key, value in (("what", "dates"), ("parts", ["year"]), ("parts", []), ("name", 3), ("zone", 1)):
        bad = {**stored, "given": [{**stored["given"][0], key: value}]}
        with pytest.raises(ModelFileError):
            ValueReader(list(writer.arrays), []).schema(bad)


@pytest.mark.parametrize("make", [tb.GaussianNB, tb.LinearDiscriminantAnalysis, tb.GaussianDiscriminant])
def test_one_row_where_the_parts_of_dates_are_numbers(make: Any) -> None:
    X = pd.DataFrame({"t": MOMENTS, "x": rng.normal(size=N), "id": [f"n{i}" for i in range(N)]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, other = make().fit(X, Y), make().fit(X, Y)
    for i in (0, 3, 7):
        for row in (X.iloc[i], X.iloc[i].to_dict(), {"t": MOMENTS[i].isoformat(), "x": X["x"][i]}):
            assert list(model.predict_proba_one(row).values()) == model.predict_proba(X.iloc[[i]])[0].tolist()
    for i in range(5):
        model.learn_one({"t": MOMENTS[i], "x": X["x"][i]}, "a")
    other.partial_fit(X.iloc[:5], ["a"] * 5)
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=1e-12)
    model.forget_one({"t": MOMENTS[0], "x": X["x"][0]}, "a")
    other.forget(X.iloc[:1], ["a"])
    np.testing.assert_allclose(model.predict_proba(X), other.predict_proba(X), rtol=1e-9)


def test_one_row_is_as_a_table_of_it() -> None:
    X = pd.DataFrame({"t": pd.Series(MOMENTS), "x": rng.normal(size=N), "id": [f"n{i}" for i in range(N)]})
    model = naive(schema={"id": "id"}).fit(X, Y)
    assert model.one_row == "compiled"
    for i in range(20):
        row = X.iloc[i]
        expected = model.predict_proba(X.iloc[[i]])[0].tolist()
        assert list(model.predict_proba_one(row).values()) == expected
        assert list(model.predict_proba_one({"t": MOMENTS[i], "x": row["x"], "id": None}).values()) == expected
        assert list(model.predict_proba_one({"t": MOMENTS[i].isoformat(), "x": row["x"]}).values()) == expected
    counterpart = model.copy()
    for i in range(10):
        model.learn_one(X.iloc[i], "a")
        counterpart.partial_fit(X.iloc[[i]], ["a"])
    np.testing.assert_array_equal(model.predict_proba(X), counterpart.predict_proba(X))
    with pytest.raises(TableError, match="got list"):
        model.predict_proba_one([1, 2])  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["objects", "s", "polars", "pyarrow", "dicts"])
def test_dates_are_drawn_as_dates(name: str) -> None:
    X = SAME[name]()
    model = naive().fit(X, Y)
    drawn, y = model.sample(200, random_state=0)
    assert type(drawn) is type(X)
    found = read_table(drawn)
    assert found.columns is not None
    assert found.columns[0].storage == "datetimes"
    hours = parts(drawn, model.schema_)["t: hour"]
    assert len(set(hours)) > 12  # drawn as the model has them
    assert len(y) == 200


def test_explain_and_importances_name_the_parts() -> None:
    weekend = np.where([v.weekday() >= 5 for v in MOMENTS], "free", "work")
    model = naive().fit(pd.DataFrame({"t": MOMENTS, "x": rng.normal(size=N)}), weekend)
    assert "t: weekday = Sat" in str(model.explain([{"t": dt.datetime(2020, 2, 1, 12)}]))
    assert model.feature_importances_[0] > 0.9
    assert model.n_features_in_ == 2


def test_arrays_and_lists_of_dates_have_no_names() -> None:
    for X in (np.array(MOMENTS, dtype="M8[m]").reshape(-1, 1), [[v, 1.0] for v in MOMENTS]):
        model = naive().fit(X, Y)
        assert not hasattr(model, "feature_names_in_")
        assert model.schema_.names[0] == "x0: days since 1970"  # type: ignore[index]
        assert np.isfinite(model.predict_proba(model.sample(3, random_state=0)[0])).all()
        buffer = io.BytesIO()
        tb.save(model, buffer)
        buffer.seek(0)
        np.testing.assert_array_equal(tb.load(buffer).predict_proba(X), model.predict_proba(X))


def test_the_whole_library_takes_dates() -> None:
    weekend = np.where([v.weekday() >= 5 for v in MOMENTS], "free", "work")
    X = pd.DataFrame({"t": MOMENTS, "x": rng.normal(size=N)})
    assert tb.evaluation.check_assumptions(X, weekend).text()
    assert tb.compare_models(X, weekend, folds=2).to_frame("dict")["model"][0]
    model = naive().fit(X, weekend)
    assert 0 < model.novelty().p_value(X).min() <= 1
    assert tb.export.to_json(model)


# --- elsewhere ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_on_the_command_line(tmp_path: Path, ending: str) -> None:
    frame = pd.DataFrame({"t": MOMENTS, "d": [v.date() for v in MOMENTS], "id": [f"n{i}" for i in range(N)], "y": Y})
    path, model = tmp_path / f"d.{ending}", tmp_path / "m.tb"
    if ending == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    said = run("fit", path, "-t", "y", "-m", "NaiveBayes", "-o", model)
    assert "--kind id=id" in said.stderr
    found = tb.load(model)
    names = [f"t: {part}" for part in PARTS] + [f"d: {part}" for part in PARTS[:4]]
    assert list(found.schema_.names) == names
    assert found.feature_names_in_.tolist() == ["t", "d", "id"]
    reported = [line.strip('"') for line in run("predict", model, path).stdout.splitlines()[1:]]
    assert reported == found.predict(frame[["t", "d"]]).tolist()


def test_a_service_takes_dates() -> None:
    from tallybayes.serve.request_tables import ServedColumns, from_columns

    model = naive(schema={"id": "id"}).fit([{"t": v, "id": "a"} for v in MOMENTS], Y)
    served = ServedColumns.of(model.schema_)
    table = from_columns({"t": [v.isoformat() for v in MOMENTS], "id": ["x"] * N}, N, served)
    np.testing.assert_array_equal(model.predict_proba(table), model.predict_proba([{"t": v} for v in MOMENTS]))
    table = from_columns({"t: weekday": ["Mon"]}, 1, served)
    np.testing.assert_array_equal(model.predict_proba(table), model.predict_proba([{"t: weekday": "Mon"}]))


@pytest.mark.parametrize("form", ["array", "object array", "rows"])
def test_a_duration_without_a_unit_is_refused(form: str) -> None:
    spans: Any = np.array([5, 7, 9, "NaT"], dtype="m8")
    X = {"array": spans[:, None], "object array": np.array([[v] for v in spans], dtype=object)}.get(
        form, [{"wait": v} for v in spans]
    )
    with pytest.raises(TableError, match=r"timedelta64\(5\).* has no unit. Give it one"):
        tb.NaiveBayes().fit(X, [0, 1, 0, 1])
    missing = np.array([["NaT"], ["NaT"]], dtype="m8")
    seconds = np.array([[5], [7]], dtype="m8[s]")
    assert tb.NaiveBayes().fit(np.concatenate([missing, seconds]), [0, 1, 0, 1]).schema_.d == 1

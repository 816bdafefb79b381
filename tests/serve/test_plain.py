"""Rows in plain JSON by compiled code: what it takes must be what the careful way reads; what it does not take is left
to the careful way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import NaiveBayes, _core, save
from tallybayes.serve import Limits, Settings, application
from tallybayes.serve.http_errors import HttpError
from tallybayes.serve.request_bodies import BodyReader, Question
from tallybayes.serve.request_tables import _array
from tests.quick import examples

from .service import LABELS, ROWS, ask, melons

NAMES = ["a", "b", "größe", 'x"\\y', ""]
READER = _core.JsonReader(NAMES)
CAREFUL = BodyReader(Question)

number = st.one_of(
    st.integers(-(2**53), 2**53),
    st.integers(-(10**18) + 1, 10**18 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(-10_000, 10_000, places=3).map(float),
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
column = st.sampled_from([st.integers(-1000, 1000), st.floats(-1e6, 1e6), texts, st.booleans(), number])


def read(body: bytes, most: int = 1000) -> dict[str, pa.Array] | None:
    found = READER.read(body, most)
    if found is None:
        return None
    n, columns = found
    return {NAMES[c[0]]: pa.nulls(n) if c[1] == "nothing" else _array(n, c) for c in columns}


def expected(body: bytes) -> dict[str, pa.Array]:
    """What the careful way makes of it, column by column; raises if it refuses the body."""
    question = CAREFUL.read(body)
    if isinstance(question.rows, list):
        there = set().union(*question.rows)
        return {name: pa.array([row.get(name) for row in question.rows]) for name in NAMES if name in there}
    assert isinstance(question.columns, dict)
    return {name: pa.array(values) for name, values in question.columns.items()}


def same(found: dict[str, pa.Array], wanted: dict[str, pa.Array]) -> None:
    assert found.keys() == wanted.keys()
    for name, values in found.items():
        values.validate(full=True)
        assert values.type == wanted[name].type
        assert values.equals(wanted[name])
        assert [str(v) for v in values.to_pylist()] == [str(v) for v in wanted[name].to_pylist()]  # -0.0 is not 0.0


@st.composite
def tables(draw: st.DrawFn) -> list[dict[str, Any]]:
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    kinds = {name: draw(column) for name in names}
    n = draw(st.integers(1, 20))
    return [
        {name: draw(st.none() | kinds[name]) for name in draw(st.permutations(names)) if draw(st.integers(0, 5))}
        for _ in range(n)
    ]


@settings(max_examples=examples(300), deadline=None)
@given(tables(), st.booleans(), st.sampled_from([None, 1]))
def test_what_is_plain_is_read_as_the_careful_way_reads_it(rows: Any, ascii_: bool, indent: int | None) -> None:
    body = json.dumps({"rows": rows}, ensure_ascii=ascii_, indent=indent).encode()
    found = read(body)
    try:
        wanted = expected(body)
    except (pa.ArrowException, OverflowError):  # large whole numbers among fractions
        assert found is None
        return
    if found is None:
        gaps = len(rows) * len(wanted) - sum(map(len, rows))
        assert gaps > len(body) or any(type(v) is int and abs(v) > 2**53 for row in rows for v in row.values())
        return
    same(found, wanted)


@settings(max_examples=examples(500), deadline=None)
@given(tables(), st.data())
def test_what_is_changed_is_left_alone_or_read_alike(rows: Any, data: st.DataObject) -> None:
    by_name = {name: [row.get(name) for row in rows] for name in rows[0]}
    body = bytearray(json.dumps({"rows": rows} if data.draw(st.booleans()) else {"columns": by_name}).encode())
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(body) - 1))
        new = data.draw(
            st.sampled_from([b"", b'"', b"\\", b"0", b"1", b"-", b".", b"e", b",", b":", b"[", b"}", b"\xc3"])
        )
        body[at : at + data.draw(st.integers(0, 2))] = new
        body = body or bytearray(b"{")
    found = read(bytes(body))
    if found is not None:
        same(found, expected(bytes(body)))


def test_it_is_taken_where_it_should_be() -> None:
    """So that the tests above do not pass because nothing is taken."""
    body = json.dumps({"rows": [{"a": 1, "b": "x"}, {"b": None, "größe": 0.30000000000000004}]}).encode()
    same(read(body) or {}, expected(body))
    body = json.dumps({"columns": {"a": [1, 2.5, -0.0, 1e-320, 1.7976931348623157e308], "b": [True] * 5}}).encode()
    found = read(body) or {"a": pa.array([])}
    assert found["a"].to_pylist()[:3] == [1.0, 2.5, 0.0]
    assert read(b'{"rows": [{"a": 1}, {"a": 2}]}', 1) is None


@pytest.mark.parametrize(
    "body",
    [
        b'{"rows": [{"density": 0.5}, {"density": "much"}]}',
        b'{"rows": [{"density": 0.5, "density": 0.6}]}',
        b'{"rows": [{"densty": 0.5}]}',
        b'{"rows": [{"density": 1e400}]}',
        b'{"columns": {"density": [1, 2], "sugar": [1]}}',
        b'{"rows": [{}, {}]}',
        b'{"rows": []}',
        b'{"rows": [{"color": null}]}',
        b'{"rows": [{"color": 3}, {"color": "green"}]}',
        b'{"rows": [{"color": true}, {"color": false}]}',
        b'{"rows": [{"density": true}]}',
        b'{"rows": [{"color": "\\u0000never met"}]}',
        b'{"rows": [{"density": 123456789012345678901234567890}]}',
    ],
)
def test_the_service_says_the_same_with_and_without_it(tmp_path: Path, body: bytes) -> None:
    app = application(Settings(str(melons(tmp_path))))
    fast = ask(app, "/predict", body)
    careful = ask(app, "/predict", body[:-1] + b', "prior": [0.5294117647058824, 0.47058823529411764]}')
    assert fast.status == careful.status
    if fast.status != 200:
        assert fast.json == careful.json
    else:
        assert fast.json.keys() == careful.json.keys()
        assert fast.json.get("notes") == careful.json.get("notes")


def test_answers_are_those_of_python(tmp_path: Path) -> None:
    path = melons(tmp_path)
    app = application(Settings(str(path)))
    expected = NaiveBayes().fit(ROWS, LABELS).predict_proba(ROWS).tolist()
    assert ask(app, "/predict", {"rows": ROWS}).json["probabilities"] == expected
    by_name = {name: [row[name] for row in ROWS] for name in reversed(ROWS[0])}
    assert ask(app, "/predict", {"columns": by_name}).json["probabilities"] == expected
    few = application(Settings(str(path), limits=Limits(rows=3)))
    assert ask(few, "/predict", {"rows": ROWS}).status == 413


def test_dates_and_names_of_rows(tmp_path: Path) -> None:
    days = [{"day": f"2024-{m:02d}-{d:02d}", "v": float(m)} for m in range(1, 13) for d in range(1, 20)]
    y = ["warm" if 4 < int(r["day"][5:7]) < 10 else "cold" for r in days]  # type: ignore[index]
    table = {"day": pa.array([r["day"] for r in days]).cast(pa.timestamp("s")), "v": pa.array([r["v"] for r in days])}
    model = NaiveBayes().fit(pa.table(table), y)
    save(model, tmp_path / "days.tb")
    app = application(Settings(str(tmp_path / "days.tb")))
    got = ask(app, "/predict", {"rows": days}).json["probabilities"]
    assert got == model.predict_proba(pa.table(table)).tolist()


def test_a_body_that_is_refused_is_an_error_of_ours() -> None:
    with pytest.raises(HttpError):
        expected(b'{"rows": [{"a": 1, "a": 2}]}')
    assert read(b'{"rows": [{"a": 1, "a": 2}]}') is None

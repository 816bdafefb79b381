"""Files that end too early, rows that are too long, a file that would be overwritten, and learning that is stopped."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import tallybayes as tb
from tallybayes.engines.frames import FrameSource
from tallybayes.errors import LabelError, OptionError, TableError
from tests.engines.tables import features, table


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv"])
def test_predictions_do_not_overwrite_their_source(tmp_path: Path, name: str) -> None:
    t, path = table(60), tmp_path / name
    (parquet.write_table if name.endswith("parquet") else csv.write_csv)(t, path)
    before = path.read_bytes()
    model = tb.NaiveBayes("gaussian").learn_from(path, "kind", columns=features(t).column_names)
    os.link(path, tmp_path / f"linked-{name}")
    os.symlink(path, tmp_path / f"pointed-{name}")
    with pytest.raises(OptionError, match="would overwrite"):
        model.predict_to(str(tmp_path / f"*{path.suffix}"), tmp_path / f"linked-{name}")
    for to in (path, os.path.relpath(path), tmp_path / f"linked-{name}", tmp_path / f"pointed-{name}"):
        with pytest.raises(OptionError, match="would overwrite"):
            model.predict_to(path, to)
    assert path.read_bytes() == before
    assert model.predict_to(path, tmp_path / f"new-{name}") == 60
    assert model.predict_to(path, tmp_path / f"new-{name}") == 60


def test_predictions_do_not_overwrite_a_dataset(tmp_path: Path) -> None:
    from pyarrow import dataset

    t, path = table(60), tmp_path / "rows.parquet"
    parquet.write_table(t, path)
    model = tb.NaiveBayes("gaussian").learn_from(path, "kind", columns=features(t).column_names)
    with pytest.raises(OptionError, match="would overwrite"):
        model.predict_to(dataset.dataset(path), path)
    with pytest.raises(OptionError, match="would overwrite"):
        model.predict_to(tmp_path, path)


def test_predictions_do_not_overwrite_what_is_read_lazily(tmp_path: Path) -> None:
    t, path = table(60), tmp_path / "some rows 'these'.parquet"
    parquet.write_table(t, path)
    before = path.read_bytes()
    model = tb.NaiveBayes("gaussian").learn_from(path, "kind", columns=features(t).column_names)
    every, literal = str(tmp_path / "*.parquet"), str(path).replace("'", "''")
    with duckdb.connect() as db:
        for source in (
            pl.scan_parquet(path).filter(pl.col("length") > 0),
            pl.scan_parquet([path, path]),
            db.sql(f"SELECT * FROM '{literal}'").filter("length > 0"),
            db.read_parquet(every),
        ):
            with pytest.raises(OptionError, match="would overwrite"):
                model.predict_to(source, path)
            assert model.predict_to(source, tmp_path / "new.csv") > 0
    assert path.read_bytes() == before


@pytest.mark.parametrize("place", [0, 400])
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_very_long_cell(tmp_path: Path, place: int, ending: str) -> None:
    note = ["short"] * 500
    note[place] = "x" * 5_000_000
    lines = [f'{{"x": {i}.5, "note": "{n}", "kind": "{"ab"[i % 2]}"}}' for i, n in enumerate(note)]
    if ending == "csv":
        lines = ["x,note,kind", *(f"{i}.5,{n},{'ab'[i % 2]}" for i, n in enumerate(note))]
    path = tmp_path / f"rows.{ending}"
    path.write_text("\n".join(lines) + "\n")
    model = tb.GaussianNB().learn_from(path, "kind", columns=["x"])
    assert model.class_count_.tolist() == [250.0, 250.0]
    np.testing.assert_allclose(model.theta_[:, 0], [249.5, 250.5])


def test_a_compressed_file_that_is_cut_off_is_named(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = "\n".join(f"{v},{'ab'[i % 2]}" for i, v in enumerate(rng.random(200_000)))
    whole, cut, short = (tmp_path / f"{name}.csv.gz" for name in ("whole", "cut", "short"))
    data = gzip.compress(f"x,kind\n{rows}\n".encode())
    whole.write_bytes(data)
    cut.write_bytes(data[: len(data) // 2])
    short.write_bytes(data[:200])
    for bad in (cut, short):
        with pytest.raises(TableError, match=bad.name):
            tb.GaussianNB().learn_from([whole, bad], "kind")
        with pytest.raises(TableError, match=bad.name):
            tb.GaussianNB().learn_from(bad, "kind")


@pytest.mark.parametrize("large", [10**18, 2**63, -(10**18)])
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_files_keep_the_digits_of_integers_that_a_model_knows(tmp_path: Path, ending: str, large: int) -> None:
    accounts = [large + 1, large + 2]
    learned = pa.array(accounts * 30, pa.uint64() if large >= 2**63 else pa.int64())
    model = tb.CategoricalNB().fit(pa.table({"account": learned}), ["a", "b"] * 30)
    path = tmp_path / f"rows.{ending}"
    if ending == "csv":
        path.write_text(f"account,x\n{accounts[0]},1\n{accounts[1]},1\n,1\n")
    else:
        path.write_text("".join(f'{{"account": {cell}}}\n' for cell in (*accounts, "null")))
    found = model.ignore_extra().predict_to(path).read_all()
    here = model.predict_proba([{"account": a} for a in (*accounts, None)])
    assert here[0, 0] > 0.9
    np.testing.assert_allclose(found.column(1).to_pylist(), here[:, 0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", [["a", "b"], {}, np.array([1, 2]), None, 7])
def test_kinds_that_are_none_are_refused_for_files_too(tmp_path: Path, kind: Any) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("x,kind\n" + "1,a\n2,b\n" * 20)
    with pytest.raises(OptionError, match=r"Column 'x' was given the kind .* Allowed: real"):
        tb.NaiveBayes(schema={"x": kind}).learn_from(path, "kind")


def test_learning_that_is_stopped_reports_how_far_it_came() -> None:
    t = table(300, missing=False)

    def source(stop: BaseException | None) -> Any:
        def read(columns: Any, rows: int) -> Iterator[pa.Table]:  # noqa: ARG001
            for start in range(0, 300, 100):
                if start == 200 and stop is not None:
                    raise stop
                yield t.select(list(columns)).slice(start, 100)

        return FrameSource(t.column_names, read, "the rows", 300)

    model = tb.GaussianNB().fit(t.select(["length"]), t["kind"].to_pylist())
    before = model.class_count_.copy()
    for stop in (KeyboardInterrupt(), LabelError("no label"), RuntimeError("lost")):
        with pytest.raises(type(stop)) as found:
            model.learn_from(source(stop), "kind", columns=["length"])
        assert "stopped after 200 rows of the rows" in found.value.__notes__[0]
        assert "cannot be resumed" in found.value.__notes__[0]
        np.testing.assert_array_equal(model.class_count_, before)
    model.learn_from(source(None), "kind", columns=["length"])
    np.testing.assert_array_equal(model.class_count_, 2 * before)


@pytest.mark.parametrize(
    ("late", "match"),
    [
        (b"two,a\n", "leave the cell empty"),
        (b"1,a,3\n", "has 3 cells"),
        (b"1,\xff\xfe\xfd\n", "Read it with its own encoding"),
    ],
)
def test_errors_of_files_advise_what_python_has(tmp_path: Path, late: bytes, match: str) -> None:
    path = tmp_path / "rows.csv"
    good = b"x,kind\n" + b"1,a\n2,b\n" * 300_000
    path.write_bytes(good + late)
    model = tb.NaiveBayes("gaussian")
    with pytest.raises(TableError, match=match) as refused:
        model.learn_from(path, "kind")
    assert "--" not in str(refused.value)
    with pytest.raises(TableError) as refused:
        tb.AODE().plan(path, "kind")
    assert "--" not in str(refused.value)
    assert ("schema={'x': 'categorical'}" in str(refused.value)) == late.startswith(b"two")
    with pytest.raises(TableError) as refused:
        tb.RegularizedDiscriminantAnalysis().learn_from(path, "kind")  # it has no schema=
    assert ("say NaiveBayes(schema={'x': 'categorical'})" in str(refused.value)) == late.startswith(b"two")

"""Parquet that need not fit into memory: learn_from beside pyarrow's own scan of the same columns.

    python -m bench.large 100000000        # rows; the file is made in build/ and kept for the next run

20 columns and a class: 16 numbers, 4 of text. Each model, and the scan, runs in a process of its own: wall time, the
processor time beside it (how many cores were busy), and the peak of resident memory of the whole process.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

GROUP = 250_000  # rows of a row group
NUMBERS, TEXTS = [f"x{j}" for j in range(16)], [f"t{j}" for j in range(4)]
PROMISED = 700  # megabytes
SCAN = "scan of pyarrow"
COLUMNS = {SCAN: [*NUMBERS, *TEXTS], "scan of numbers": NUMBERS, "LinearDiscriminantAnalysis": NUMBERS}
MODELS = ("NaiveBayes('gaussian')", "NaiveBayes()", "AODE()", "LinearDiscriminantAnalysis()", "BayesClassifier('fast')")


def make(rows: int) -> Path:
    """The table, written once."""
    path = Path("build") / f"large-{rows}.parquet"
    if path.exists():
        return path
    import numpy as np
    import pyarrow as pa
    from pyarrow import parquet

    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(".part")
    rng, writer = np.random.default_rng(0), None
    words = np.array(["red", "green", "blue", "grey", "black", "white"])
    for start in range(0, rows, GROUP):
        n = min(GROUP, rows - start)
        y = rng.integers(0, 3, n)
        table: dict[str, Any] = {}
        for j, name in enumerate(NUMBERS):
            x = rng.standard_normal(n, dtype=np.float32).astype(np.float64) + y * (j % 4) / 4
            table[name] = pa.array(x, mask=rng.random(n) < 0.02) if j % 5 == 0 else pa.array(x)
        for j, name in enumerate(TEXTS):
            codes = (rng.integers(0, 6, n) + (y if j % 2 else 0)) % 6
            table[name] = pa.DictionaryArray.from_arrays(codes.astype(np.int8), words).dictionary_decode()
        table["class"] = pa.array(y)
        chunk = pa.table(table)
        writer = parquet.ParquetWriter(part, chunk.schema) if writer is None else writer
        writer.write_table(chunk)
    assert writer is not None
    writer.close()
    os.replace(part, path)
    return path


def run(what: str, path: str) -> dict[str, float]:
    """One of them, in this process. The imports are not timed; their memory counts."""
    columns = COLUMNS.get(what.split("(")[0], [*NUMBERS, *TEXTS])
    if what.startswith("scan"):
        from pyarrow import parquet

        def call() -> int:
            source = parquet.ParquetFile(path, pre_buffer=False)  # twice as fast here as with it
            return sum(batch.num_rows for batch in source.iter_batches(131_072, columns=[*columns, "class"]))
    else:
        import tallybayes as tb

        def call() -> int:
            model = eval(what, vars(tb)).learn_from(path, "class", columns=columns)  # one of MODELS
            return int(model.class_count_.sum())

        _ = tb.NaiveBayes, tb.AODE, tb.BayesClassifier, tb.LinearDiscriminantAnalysis, __import__("pyarrow.parquet")
    start, busy = time.perf_counter(), time.process_time()
    rows = call()
    seconds, cpu = time.perf_counter() - start, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"rows": rows, "seconds": seconds, "cores": cpu / seconds, "cpu": cpu, "megabytes": peak}


def main() -> None:
    if len(sys.argv) == 4 and sys.argv[1] == "--one":
        print(json.dumps(run(sys.argv[2], sys.argv[3])))
        return
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000_000
    path = make(rows)
    print(f"{rows:,} rows x 20 columns, {path.stat().st_size / 1e9:.2f} GB of Parquet, {os.cpu_count()} cores")
    head = f"{'':<30}{'seconds':>9}{'rows/s':>14}{'of scan':>9}{'CPU s':>8}{'cores':>7}{'peak MB':>9}"
    print(head)
    found: dict[str, dict[str, float]] = {}
    for what in (SCAN, "scan of numbers", *MODELS):
        done = subprocess.run(
            [sys.executable, "-m", "bench.large", "--one", what, str(path)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            print(f"{what:<30} failed: {done.stderr.strip().splitlines()[-1]}")
            continue
        r = found[what] = json.loads(done.stdout)
        assert r["rows"] == rows
        scan = found.get("scan of numbers" if "Linear" in what or "numbers" in what else SCAN, r)
        r["of_scan"] = scan["seconds"] / r["seconds"]
        note = "" if r["megabytes"] < PROMISED else f"  more than {PROMISED} MB"
        print(
            f"{what:<30}{r['seconds']:>9.2f}{rows / r['seconds']:>14,.0f}{r['of_scan']:>9.2f}{r['cpu']:>8.2f}"
            f"{r['cores']:>7.2f}{r['megabytes']:>9.0f}{note}",
            flush=True,
        )
    Path("bench/results-large.json").write_text(json.dumps({"rows": rows, "found": found}, indent=1))


if __name__ == "__main__":
    main()

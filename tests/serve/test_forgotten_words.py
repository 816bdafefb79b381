"""A service that forgets a text keeps none of its words: not in the model file, the database or its log."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tallybayes as tb

from .service import LABELS, ROWS
from .test_ledger import Example, everything, learn, opened


@pytest.mark.parametrize("make", [tb.NaiveBayes, tb.BayesClassifier])
def test_words_of_texts_are_forgotten_too(tmp_path: Path, make: Any) -> None:
    path = tmp_path / "m"
    rows = [{**row, "note": f"a ripe melon from field {i % 3}"} for i, row in enumerate(ROWS)]
    tb.save(make(schema={"note": "text"}).fit(rows, LABELS), path)
    found = opened(path)
    learn(found, Example("a", {**rows[0], "note": "agathaword and a secretphrase"}, "yes", 0.0))
    found.snapshot()
    assert b"agathaword" in everything(tmp_path)
    found.forget(["a"], None)
    found.close()
    left = everything(tmp_path)
    assert b"melon" in left
    for word in ("agathaword", "secretphrase"):
        assert word.encode() not in left
        assert word.encode("utf-16-le") not in left

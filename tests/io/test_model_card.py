"""The model card: facts of the model as Markdown, beside the file."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import OptionError


def test_a_card_lists_the_facts_of_the_model() -> None:
    rows, ripe = tb.datasets.load_watermelon()
    model = tb.NaiveBayes(tempered=True, priors={"yes": 0.2, "no": 0.8}).fit(rows, ripe)
    card = tb.io.model_card(model, notes={"source": "the field | left"})
    assert card.startswith("# NaiveBayes\n")
    assert "- rows learned: 17" in card
    assert "tempered=True" in card
    assert f"the log-likelihood counts {model.temperature_:.4g} times" in card
    assert "| yes | 8 | 47.1% | 20.0% |" in card
    assert "| color | categorical | categorical | 3: green, dark, light |" in card
    assert "- source: the field \\| left" in card
    assert "| sugar | 0." in card


def test_texts_of_the_data_stay_in_their_cells() -> None:
    model = tb.NaiveBayes().fit([{"a|b": "<script>\n| x"}, {"a|b": "*y*"}], ["|", "[z](u)"])
    card = tb.io.model_card(model)
    assert "a\\|b" in card
    assert "\\<script\\> \\| x" in card
    assert "\\[z\\](u)" in card
    lengths = {line.replace("\\|", "").count("|") for line in card.splitlines() if line.startswith("| a")}
    assert lengths == {5, 3}


def test_long_tables_are_cut() -> None:
    rng = np.random.default_rng(0)
    card = tb.io.model_card(tb.GaussianNB().fit(rng.normal(size=(80, 60)), np.arange(80) % 40))
    assert "10 more columns." in card
    assert "10 more classes." in card


def test_save_writes_it_beside_the_file(tmp_path: Path) -> None:
    model = tb.GaussianNB().fit([[1.0], [2.0]], ["ä", "b"])
    tb.save(model, tmp_path / "m.tb", card=True)
    assert (tmp_path / "m.tb.md").read_text(encoding="utf-8") == tb.io.model_card(model)
    assert tb.load(tmp_path / "m.tb").classes_.tolist() == ["b", "ä"]
    with pytest.raises(OptionError, match="give a path"):
        tb.save(model, io.BytesIO(), card=True)
    with pytest.raises(OptionError, match="model_card takes"):
        tb.io.model_card(object())  # type: ignore[arg-type]


@pytest.mark.parametrize("notes", ["four days", "", ["four days"], 4])
def test_notes_are_a_dict(notes: object, tmp_path: Path) -> None:
    model = tb.GaussianNB().fit([[1.0], [2.0]], ["low", "high"])
    writers: list[Callable[..., object]] = [tb.io.model_card, tb.to_bytes, partial(tb.save, path=tmp_path / "m.tb")]
    for write in writers:
        with pytest.raises(OptionError, match="notes must be a dict, such as"):
            write(model, notes=notes)
    assert not list(tmp_path.iterdir())

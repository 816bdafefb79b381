"""The tables that ship with the library."""

from __future__ import annotations

import pytest

from tallybayes import NaiveBayes
from tallybayes.datasets import load_watermelon
from tallybayes.errors import OptionError


def test_watermelons_in_chinese_are_the_same_table() -> None:
    rows, ripe = load_watermelon()
    melons, good = load_watermelon(language="zh")
    assert [label == "yes" for label in ripe] == [label == "是" for label in good]
    assert [list(row.values())[6:] for row in rows] == [list(row.values())[6:] for row in melons]
    for english, chinese in zip(rows[0], melons[0], strict=True):
        pairs = {(row[english], melon[chinese]) for row, melon in zip(rows, melons, strict=True)}
        assert len(pairs) == len({row[english] for row in rows}) == len({melon[chinese] for melon in melons})
    one, other = NaiveBayes("gaussian").fit(rows, ripe), NaiveBayes("gaussian").fit(melons, good)
    assert one.predict_proba(rows).tolist() == other.predict_proba(melons).tolist()  # 'no', 否 before 'yes', 是


@pytest.mark.parametrize("language", ["fr", None, ["zh"], 1])
def test_other_languages_are_refused(language: object) -> None:
    with pytest.raises(OptionError, match="'en' and 'zh'"):
        load_watermelon(language=language)  # type: ignore[arg-type]

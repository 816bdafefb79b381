"""Two tables that ship with the library, as rows of dicts: no data-frame library is needed to read them.

watermelon: 17 watermelons, six nominal and two real columns, ripe or not (Zhou, Machine Learning, table 4.3).
census: 10,000 rows of the Adult table (Becker and Kohavi 1996, UCI Machine Learning Repository, CC BY 4.0), mixed
columns with missing values; does a person earn more than 50,000 dollars a year?
"""

from __future__ import annotations

import csv
import gzip
import io
from importlib.resources import files
from typing import Any

from tallybayes.errors import OptionError

Rows = list[dict[str, Any]]


def load_watermelon(language: str = "en") -> tuple[Rows, list[str]]:
    """Read 17 watermelons, ripe or not, with six nominal and two real columns (Zhou, Machine Learning, table 4.3).

    Parameters
    ----------
    language : {'en', 'zh'}, default='en'
        The language of column names, levels and labels; 'zh' has them as the Chinese original prints them.

    Returns
    -------
    X : list of dicts
        Rows with color, root, sound, texture, umbilicus, surface, density and sugar;
        in Chinese 色泽, 根蒂, 敲声, 纹理, 脐部, 触感, 密度, 含糖率.
    y : list of str
        'yes' or 'no' (是, 否).

    Examples
    --------
    >>> from tallybayes.datasets import load_watermelon
    >>> X, y = load_watermelon()
    >>> len(X), X[0]["density"], y[0]
    (17, 0.697, 'yes')
    >>> X, y = load_watermelon(language="zh")
    >>> X[0]["色泽"], X[0]["密度"], y[0]
    ('青绿', 0.697, '是')
    """
    if not isinstance(language, str) or language not in ("en", "zh"):
        raise OptionError(f"language is {language!r}; allowed are 'en' and 'zh'.")
    text = files(__name__).joinpath("watermelon.csv").read_text(encoding="utf-8")
    rows, ripe = _rows(text, "ripe", {"density": float, "sugar": float})
    if language == "en":
        return rows, ripe
    in_chinese = [{_CHINESE[name]: _CHINESE.get(value, value) for name, value in row.items()} for row in rows]
    return in_chinese, [_CHINESE[label] for label in ripe]


# The watermelon table in the words of its Chinese original: columns, then levels, then labels.
_CHINESE = {
    "color": "色泽",
    "root": "根蒂",
    "sound": "敲声",
    "texture": "纹理",
    "umbilicus": "脐部",
    "surface": "触感",
    "density": "密度",
    "sugar": "含糖率",
    "green": "青绿",
    "dark": "乌黑",
    "light": "浅白",
    "curly": "蜷缩",
    "slightly curly": "稍蜷",
    "straight": "硬挺",
    "muffled": "浊响",
    "dull": "沉闷",
    "crisp": "清脆",
    "clear": "清晰",
    "slightly blurry": "稍糊",
    "blurry": "模糊",
    "hollow": "凹陷",
    "slightly hollow": "稍凹",
    "flat": "平坦",
    "hard": "硬滑",
    "soft": "软粘",
    "yes": "是",
    "no": "否",
}


def load_census() -> tuple[Rows, list[str]]:
    """Read 10,000 rows of the Adult table, of people who earn more than 50,000 dollars a year or not.

    14 mixed columns, some values missing. From Becker and Kohavi (1996), UCI Machine Learning Repository, CC BY 4.0.

    Returns
    -------
    X : list of dicts
        Rows; None where a value is missing.
    y : list of str
        '<=50K' or '>50K'.

    Examples
    --------
    >>> from tallybayes.datasets import load_census
    >>> X, y = load_census()
    >>> len(X), len(X[0]), sorted(set(y))
    (10000, 14, ['<=50K', '>50K'])
    """
    text = gzip.decompress(files(__name__).joinpath("census.csv.gz").read_bytes()).decode("utf-8")
    whole = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
    return _rows(text, "target", dict.fromkeys(whole, int))


def _rows(text: str, target: str, numbers: dict[str, Any]) -> tuple[Rows, list[str]]:
    rows: Rows = []
    y = []
    for record in csv.DictReader(io.StringIO(text)):
        y.append(record.pop(target))
        rows.append({k: None if v == "" else numbers.get(k, str)(v) for k, v in record.items()})
    return rows, y

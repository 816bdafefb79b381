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

Rows = list[dict[str, Any]]


def load_watermelon() -> tuple[Rows, list[str]]:
    """Read 17 watermelons, ripe or not, with six nominal and two real columns (Zhou, Machine Learning, table 4.3).

    Returns
    -------
    X : list of dicts
        Rows with color, root, sound, texture, umbilicus, surface, density and sugar.
    y : list of str
        'yes' or 'no'.

    Examples
    --------
    >>> from tallybayes.datasets import load_watermelon
    >>> X, y = load_watermelon()
    >>> len(X), X[0]["density"], y[0]
    (17, 0.697, 'yes')
    """
    text = files(__name__).joinpath("watermelon.csv").read_text(encoding="utf-8")
    return _rows(text, "ripe", {"density": float, "sugar": float})


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

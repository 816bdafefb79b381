"""Rows that were removed: a keyed hash of each, and the values that may identify somebody.

A row is written as JSON with sorted keys, without missing values, beside its label and weight, so that the kind of
table and the order of rows and columns do not matter. Its hash is HMAC-SHA256 under a random key of 256 bits.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import numbers
import re
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np

from tallybayes.data.schema import Schema
from tallybayes.data.table import Table, read_table
from tallybayes.errors import OptionError

EXACT = 2**53  # up to here an integer and its float64 are one number
MIN_TEXT_LENGTH = 4  # characters of a text, and
DIGITS = 6  # significant digits of a number, that may identify somebody: shorter ones are anywhere
WORDS = re.compile(r"\w+")


class RemovedRows:
    """What a receipt says of the rows that were removed.

    Parameters
    ----------
    key : bytes, default=None
        The key of the hashes, of at least 16 bytes; None: 32 random ones.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.receipts import RemovedRows
    >>> model = NaiveBayes().fit([{"sky": "clear"}, {"sky": "grey"}], ["sail", "stay"])
    >>> rows = RemovedRows(bytes(32))
    >>> rows.add(model.schema_, [{"sky": "grey"}], ["stay"])
    >>> rows.n, rows.hashes[0][:8]
    (1, '438a30aa')
    """

    def __init__(self, key: bytes | None = None) -> None:
        if key is not None and (not isinstance(key, bytes) or len(key) < 16):
            raise OptionError("The key of the hashes must be at least 16 bytes; None draws 32 random ones.")
        self.key = secrets.token_bytes(32) if key is None else key
        self.hashes: list[str] = []
        self.texts: dict[str, set[str]] = {}
        self.numbers: dict[str, set[float]] = {}

    @property
    def n(self) -> int:
        """int: how many rows there are."""
        return len(self.hashes)

    def add(self, schema: Schema, X: object, y: object, sample_weight: object = None) -> None:
        """Add rows.

        Parameters
        ----------
        schema : Schema
            Of the model that forgets them: it names the columns of a matrix.
        X : table of shape (n_rows, n_columns)
            The rows.
        y : array-like of shape (n_rows,)
            Their labels.
        sample_weight : array-like of shape (n_rows,), default=None
            Their weights; None: 1.
        """
        table = read_table(X)
        labels = _labels(y, table.n)
        weights = [1.0] * table.n if sample_weight is None else np.asarray(sample_weight, float).ravel().tolist()
        for row, label, weight in zip(_rows(table, schema), labels, weights, strict=True):
            self.hashes.append(row_hash(self.key, row, label, weight))
            for name, value in row.items():
                self._search_for(name, value, _is_text(schema, name))

    def merge(self, other: RemovedRows) -> None:
        """Add rows that were noted with the same key.

        Parameters
        ----------
        other : RemovedRows
            More rows.
        """
        self.hashes += other.hashes
        for mine, theirs in ((self.texts, other.texts), (self.numbers, other.numbers)):
            for name, values in theirs.items():
                mine.setdefault(name, set()).update(values)  # type: ignore[arg-type]

    def _search_for(self, name: str, value: object, text: bool) -> None:
        """Note a value that may identify somebody; of a text its words."""
        if isinstance(value, str):
            parts = [word.lower() for word in WORDS.findall(value)] if text else [value]
            self.texts.setdefault(name, set()).update(p for p in parts if len(p) >= MIN_TEXT_LENGTH)
        elif isinstance(value, float) and len(repr(value).split("e")[0].replace(".", "").strip("-0")) >= DIGITS:
            self.numbers.setdefault(name, set()).add(value)


def row_hash(key: bytes, row: dict[str, object], label: object, weight: float) -> str:
    """The keyed hash of a canonical row."""
    text = json.dumps([row, label, float(weight)], ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode("ascii"), hashlib.sha256).hexdigest()


def _rows(table: Table, schema: Schema) -> list[dict[str, object]]:
    """Canonical rows: values by name, without those that are missing."""
    names: Sequence[str] = table.names or schema.input_names or [f"x{j}" for j in range(table.d)]
    rows: list[dict[str, object]] = [{} for _ in range(table.n)]
    for j, name in enumerate(names):
        for row, value in zip(rows, table.values(j), strict=True):
            found = canonical(value)
            if found is not None:
                row[name] = found
    return rows


def _labels(y: object, n: int) -> list[object]:
    """Canonical labels; of several targets a list for each row."""
    convert = next((f for f in ("to_pylist", "tolist", "to_list") if hasattr(y, f)), None)
    found: Any = list(y) if convert is None and not hasattr(y, "shape") else y  # type: ignore[call-overload]
    if convert is not None:
        found = getattr(y, convert)()
    elif hasattr(y, "to_numpy"):
        found = y.to_numpy().tolist()
    if len(found) != n:
        raise OptionError(f"X has {n} rows and y has {len(found)}.")
    return [[canonical(v) for v in label] if isinstance(label, list | tuple) else canonical(label) for label in found]


def canonical(value: object) -> object:
    """A value as JSON can hold it: equal numbers of any type are one; None is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, numbers.Integral):
        return float(value) if abs(int(value)) <= EXACT else str(int(value))
    if isinstance(value, numbers.Real):
        return None if math.isnan(value) else float(value) + 0.0
    return str(value)


def _is_text(schema: Schema, name: str) -> bool:
    return any(kind == "text" and schema.name(j) == name for j, kind in enumerate(schema.kinds))

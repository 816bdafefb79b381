"""RowHashes: a keyed 64-bit hash of each row that was learned, with its weight: memory='hashes'.

With them a model of sums knows which rows it has learned, and not what is in them. Who has the key can check a guess of
a row. It is random and in the model file, so that hashes of two models cannot be compared and none can be computed in
advance; or it comes from the environment, and is not in the file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.row_store import RowStore, in_order
from tallybayes.errors import ForgetError, MergeError, OptionError
from tallybayes.utils.array_types import Floats

KEY = "TALLYBAYES_ROW_KEY"  # the variable of the environment


@dataclass(frozen=True, eq=False)
class RowHashes:
    """Ascending hashes, the weight of each, the key (empty: that of the environment), and a hash of it."""

    key: bytes
    check: str
    hash: NDArray[np.uint64]
    w: Floats

    def add(self, other: RowHashes) -> RowHashes:
        """The rows of both."""
        self._require_key(other)
        at, known = self._places(other)
        w = self.w.copy()
        w[at[known]] += other.w[known]
        new = at[~known]
        return replace(self, hash=np.insert(self.hash, new, other.hash[~known]), w=np.insert(w, new, other.w[~known]))

    def subtract(self, other: RowHashes) -> RowHashes:
        """The rows without others; ForgetError if some of these, or so much weight of them, were never added."""
        self._require_key(other)
        at, known = self._places(other)
        there = np.zeros(len(at))
        there[known] = self.w[at[known]]
        lost = int((there < other.w * (1 - 1e-9)).sum())
        if lost:
            raise ForgetError(
                f"{lost} of the {len(other.hash)} distinct rows were never learned with this class and weight, or are "
                "forgotten already. Nothing was changed; give rows as they were learned."
            )
        w = self.w.copy()
        w[at] -= other.w
        gone = at[w[at] <= 1e-9 * self.w[at]]
        return replace(self, hash=np.delete(self.hash, gone), w=np.delete(w, gone))

    def scale(self, factor: float) -> RowHashes:
        """Each row with factor times its weight."""
        return replace(self, w=self.w * factor)

    def empty(self) -> RowHashes:
        """The hashes of no row, with the same key."""
        return replace(self, hash=self.hash[:0], w=self.w[:0])

    def _places(self, other: RowHashes) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Where the hashes of the other are among these or would come, and which of them are there."""
        at = np.searchsorted(self.hash, other.hash)
        known = np.append(self.hash, np.uint64(0))[at] == other.hash if len(self.hash) else np.zeros(len(at), bool)
        return at, known & (at < len(self.hash))

    def _require_key(self, other: RowHashes) -> None:
        if self.check != other.check:
            if self.key:
                raise MergeError(
                    "The rows of the two were hashed with different keys. Merge parts that were learned with copies of "
                    f"one model (model.empty()), or set the variable {KEY} before each fit."
                )
            raise OptionError(
                f"The rows of this model were hashed with another key than {KEY} has now. Set the variable to the key "
                "of the fit."
            )


def hashes_of(rows: RowStore, key: bytes | None, names: Sequence[str] | None = None) -> RowHashes:
    """The hashes of some rows; columns with names in the order of these. key: None for a new one.

    names: of all columns, where rows may leave out a missing value; None: those of the rows.
    """
    rows = rows if rows.names is None else in_order(rows, tuple(sorted(names or rows.names)))
    environment = os.environ.get(KEY, "").encode("utf-8", "surrogateescape")
    if key is None:
        key = b"" if environment else os.urandom(32)
    secret = hashlib.blake2b(key or environment, digest_size=32).digest()
    found = [int.from_bytes(_hash(row.tobytes(), secret), "little") for row in rows.key]
    hashes, at = np.unique(np.array(found, dtype=np.uint64), return_inverse=True)
    w = np.bincount(at, weights=rows.w, minlength=len(hashes)).astype(np.float64, copy=False)
    return RowHashes(key, _hash(b"key", secret).hex(), hashes, w)


def _hash(data: bytes, secret: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=8, key=secret).digest()


def pack(held: RowHashes) -> dict[str, object]:
    """What a model file holds."""
    return {"key": held.key.hex(), "check": held.check, "hash": held.hash, "w": held.w}


def unpack(held: object) -> RowHashes:
    """The way back; ValueError if these are no hashes."""
    if not isinstance(held, dict) or set(held) != {"key", "check", "hash", "w"}:
        raise ValueError("its row hashes are none")
    if not isinstance(held["check"], str) or not isinstance(held["key"], str):
        raise ValueError("the key of its row hashes is none")
    found, w = held["hash"], held["w"]
    arrays = isinstance(found, np.ndarray) and isinstance(w, np.ndarray)
    if not arrays or found.dtype != np.uint64 or w.dtype != np.float64 or found.ndim != 1 or w.shape != found.shape:
        raise ValueError("its row hashes are no list of them, each with a weight")
    if (found[1:] <= found[:-1]).any() or not (np.isfinite(w) & (w > 0)).all():
        raise ValueError("its row hashes are not in order, or weigh nothing")
    return RowHashes(bytes.fromhex(held["key"]), held["check"], found, w)

"""The bytes of a model file: a fixed start, a header in JSON, raw arrays, a checksum. Knows nothing of models.

    8 bytes   magic
    uint32    version of the format; uint32 zero
    uint64    length of the whole file; uint64 length of the header
    …         the header: JSON, ASCII, padded with zeros to a multiple of 8
    …         the arrays in the order of header["arrays"], each in C order and padded to a multiple of 8
    32 bytes  BLAKE2b-256 of everything before

All numbers are little-endian. Whatever the bytes are, reading takes time and memory in proportion to how many of them
there are, and gives a header and arrays or a ModelFileError.
"""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np

from tallybayes.errors import ModelFileError
from tallybayes.utils.array_types import Array

MAGIC = b"\x89TBM\r\n\x1a\n"  # not text, and a copy that changes line ends breaks it
VERSION = 3  # the only one that is read; from 1.0 on, every later version will read it
START = struct.Struct("<8sIIQQ")
DIGEST = 32
READ_BYTES = 1 << 20
DTYPE = re.compile(r"\|b1|\|i1|\|u1|<[iu][248]|<f[248]|<U[1-9][0-9]{0,6}|\|S[1-9][0-9]{0,6}")


class Readable(Protocol):
    def read(self, size: int, /) -> bytes | None:
        """Read at most so many bytes."""


def chunks(header: Mapping[str, object], arrays: Sequence[Array]) -> Iterator[bytes | memoryview]:
    """The file, piece by piece. The header must be JSON, the arrays storable; header["arrays"] is filled in here."""
    plain = [_plain(a) for a in arrays]
    listed = [{"dtype": a.dtype.str, "shape": list(a.shape)} for a in plain]
    text = json.dumps({**header, "arrays": listed}, allow_nan=False, separators=(",", ":")).encode("ascii")
    total = START.size + _padded(len(text)) + sum(_padded(a.nbytes) for a in plain) + DIGEST
    digest = blake2b(digest_size=DIGEST)
    start = START.pack(MAGIC, VERSION, 0, total, len(text))
    pieces: list[bytes | memoryview] = [start, text, *(a.reshape(-1).view(np.uint8).data for a in plain)]
    for data in pieces:
        for part in (data, bytes(_padded(len(data)) - len(data))):
            digest.update(part)
            yield part
    yield digest.digest()


def storable(dtype: np.dtype[Any]) -> bool:
    """Can a file have an array of this type?"""
    return DTYPE.fullmatch(dtype.newbyteorder("<").str) is not None


def _plain(a: Array) -> Array:
    """In C order and little-endian; a copy only if it is not."""
    return np.asarray(a, dtype=a.dtype.newbyteorder("<"), order="C")


def _padded(n: int) -> int:
    return -(-n // 8) * 8


def read(source: Readable) -> tuple[dict[str, object], list[Array]]:
    """Header and arrays. The arrays are views of one buffer, and may be written to."""
    data = _up_to(source, bytearray(), START.size)
    if not data:
        raise ModelFileError("It is empty.")
    if data[: len(MAGIC)] != MAGIC[: len(data)]:
        raise ModelFileError("It is not a tallybayes model: it does not begin like one.")
    if len(data) < START.size:
        raise ModelFileError(f"It is cut off: it ends after {len(data)} bytes.")
    _, version, zero, total, length = START.unpack(data)
    if version > VERSION:
        raise ModelFileError(
            f"It was written in format {version}; this version of tallybayes reads format {VERSION}. Upgrade it."
        )
    if 0 < version < VERSION:
        raise ModelFileError(
            f"It was written in format {version} by a version of tallybayes before 0.3; this version reads format "
            f"{VERSION}. Fit the model again, or load it with the version that wrote it and export it."
        )
    if version == 0 or zero or total % 8 or not START.size + _padded(length) + DIGEST <= total:
        raise ModelFileError("It is damaged: its first bytes contradict each other.")
    data = _up_to(source, data, total)
    if len(data) < total:
        raise ModelFileError(f"It is cut off: it has {len(data)} of {total} bytes.")
    if blake2b(memoryview(data)[:-DIGEST], digest_size=DIGEST).digest() != data[-DIGEST:]:
        raise ModelFileError("It is damaged: its checksum does not fit its contents.")
    header = _parse(bytes(memoryview(data)[START.size : START.size + length]))
    return header, _arrays(header.pop("arrays", None), data, START.size + _padded(length))


def _up_to(source: Readable, data: bytearray, size: int) -> bytearray:
    """data, read on until it has `size` bytes or the source ends: never more memory than there are bytes."""
    while len(data) < size:
        more = source.read(min(READ_BYTES, size - len(data)))
        if not isinstance(more, bytes | bytearray | memoryview):
            raise ModelFileError(f"Reading it gave {type(more).__name__} instead of bytes: open it in binary mode.")
        if not more:
            break
        data += more
    return data


def _parse(text: bytes) -> dict[str, object]:
    try:
        found = json.loads(text.decode("ascii"), parse_constant=_refuse, object_pairs_hook=_once)
    except (ValueError, RecursionError) as e:  # JSONDecodeError and UnicodeDecodeError are ValueErrors
        raise ModelFileError(f"Its header is not valid: {e}.") from None
    if not isinstance(found, dict):
        raise ModelFileError("Its header is not a JSON object.")
    return found


def _refuse(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _arrays(listed: object, data: bytearray, at: int) -> list[Array]:
    if not isinstance(listed, list):
        raise ModelFileError("Its header has no list of arrays.")
    found = []
    for i, entry in enumerate(listed):
        dtype, shape = _type_and_shape(entry, i)
        size = math.prod(shape)
        if at + size * dtype.itemsize > len(data) - DIGEST:
            raise ModelFileError(f"Its array {i} would be longer than the file.")
        a = np.frombuffer(data, dtype, size, at) if size else np.empty(0, dtype)
        if not _sound(a):
            raise ModelFileError(f"Its array {i} holds what is not of its type {dtype}.")
        found.append(a.reshape(shape).astype(dtype.newbyteorder("="), copy=False))
        at += _padded(size * dtype.itemsize)
    if at != len(data) - DIGEST:
        raise ModelFileError(f"It has {len(data) - DIGEST - at} bytes that belong to no array.")
    return found


def _sound(a: Array) -> bool:
    """Not all bytes are truth values, or characters of UTF-32."""
    if a.dtype.kind == "b":
        return not (a.view(np.uint8) > 1).any()
    return a.dtype.kind != "U" or not (a.view("<u4") > 0x10FFFF).any()


def _type_and_shape(entry: Any, i: int) -> tuple[np.dtype[Any], tuple[int, ...]]:
    wanted = isinstance(entry, dict) and set(entry) == {"dtype", "shape"}
    if not wanted or not isinstance(entry["dtype"], str) or not DTYPE.fullmatch(entry["dtype"]):
        raise ModelFileError(f"Its array {i} is of no type that model files have.")
    shape = entry["shape"]
    if not isinstance(shape, list) or len(shape) > 8 or not all(type(v) is int and 0 <= v < 1 << 48 for v in shape):
        raise ModelFileError(f"Its array {i} has no valid shape.")
    if 0 in shape and math.prod(v for v in shape if v) >= 1 << 48:  # no bytes, yet too large for NumPy
        raise ModelFileError(f"Its array {i} has no valid shape.")
    return np.dtype(entry["dtype"]), tuple(shape)

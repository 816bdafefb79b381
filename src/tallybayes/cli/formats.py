"""What a file is, by its name and its first bytes: a table that can be read, or something that is named in one line.

What comes through a pipe or out of an archive is put into a file first, since a table is read twice: once to see what
its columns are.
"""

from __future__ import annotations

import glob
import os
import shutil
import stat
import sys
import tempfile
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from tallybayes.errors import TableError, listing
from tallybayes.io.container import MAGIC

if TYPE_CHECKING:
    from _typeshed import SupportsRead

ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
FORMATS = tuple(dict.fromkeys(ENDINGS.values()))
PACKED = (".gz", ".bz2", ".zst", ".lz4")
SIGNATURE_BYTES = 1024  # bytes that say what a file is
BOMS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")
BLANK = b" \t\r\n"

# What people have beside tables, by its first bytes.
OTHERS = {
    MAGIC: "a model file of tallybayes",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an old Excel workbook; save the sheet as CSV",
    b"%PDF": "a PDF",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"\x93NUMPY": "an array of NumPy; write it as CSV or Parquet",
    b"\x89HDF": "an HDF5 file; write the table as CSV or Parquet",
    b"SQLite format 3": "an SQLite database; write the table as CSV",
    b"\x80\x04": "a pickle, which may run any code when it is opened; write the table as CSV or Parquet",
    b"\x80\x05": "a pickle, which may run any code when it is opened; write the table as CSV or Parquet",
    b"7z\xbc\xaf": "a 7z archive; unpack it first",
    b"\x7fELF": "a program",
    b"<!DOCTYPE": "a web page",
    b"<!doctype": "a web page",
    b"<html": "a web page",
}


class Found(NamedTuple):
    """A file that can be read. name: what it is called in messages, which its path need not be."""

    path: str
    name: str
    format: str


def find(patterns: list[str], format: str | None, scratch: str) -> list[Found]:
    """The files of patterns such as 'part-*.csv', or '-'. scratch: a folder for what has to be copied or unpacked."""
    return [_find(path, format, scratch) for pattern in patterns for path in _expand(pattern)]


def _expand(pattern: str) -> list[str]:
    if pattern == "-" or os.path.exists(pattern):
        return [pattern]
    if glob.has_magic(pattern):
        found = sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
        if found:
            return found
        raise TableError(f"No file matches {pattern!r}.")
    raise TableError(f"There is no file {pattern!r}.{_like(pattern)}")


def _like(path: str) -> str:
    from difflib import get_close_matches

    folder, name = os.path.split(path)
    try:
        there = os.listdir(folder or ".")
    except OSError:
        return ""
    near = get_close_matches(name, there, n=1, cutoff=0.75)
    return f" Did you mean {os.path.join(folder, near[0])!r}?" if near else ""


def _find(path: str, format: str | None, scratch: str) -> Found:
    name = "standard input" if path == "-" else path
    path = _seekable(path, scratch)
    if os.path.getsize(path) == 0:
        raise TableError(f"{name} is empty: not even the names of columns are there.")
    head = _head(path)
    if head.startswith(b"PK\x03\x04"):
        path, inner = _unzipped(path, name, scratch)
        name, head = f"{name} ({inner})", _head(path)
    elif head.startswith(b"\x1f\x8b") and not path.lower().endswith(".gz"):
        path = _unpacked(path, name, scratch)
        head = _head(path)
    _refuse_others(head, name)
    found = format or _by_ending(path) or _by_head(head)
    if found in ("csv", "tsv", "jsonl") and not path.lower().endswith(PACKED):
        _refuse_bytes(head, name)
        if _stripped(head).startswith(b"[") and (found == "jsonl" or path.lower().endswith(".json")):
            return Found(_lines_of_array(path, name, scratch), name, "jsonl")
    return Found(path, name, found)


def _refuse_bytes(head: bytes, name: str) -> None:
    if b"\0" in head and not head.startswith(BOMS[:2]) and not _wide(head):
        raise TableError(f"{name} holds bytes that are no text. Tables are read from {_readable()}.")


def _readable() -> str:
    return "CSV, TSV, Parquet, Arrow and JSON"


def _head(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(SIGNATURE_BYTES)


def _stripped(head: bytes) -> bytes:
    return head.removeprefix(BOMS[2]).lstrip(BLANK)


def _wide(head: bytes) -> bool:
    """Text of two bytes a character without a mark that says so: every other byte is zero."""
    return head[1::2].count(0) > 0.8 * len(head) // 2 or head[::2].count(0) > 0.8 * len(head) // 2


def _refuse_others(head: bytes, name: str) -> None:
    for start, what in OTHERS.items():
        if head.startswith(start) or (start.startswith(b"<") and _stripped(head).startswith(start)):
            raise TableError(f"{name} is no table but {what}.")


def _by_ending(path: str) -> str | None:
    stem = path.lower()
    for packed in PACKED:
        stem = stem.removesuffix(packed)
    return ENDINGS.get(os.path.splitext(stem)[1])


def _by_head(head: bytes) -> str:
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith(b"ARROW1"):
        return "arrow"
    return "jsonl" if _stripped(head).startswith((b"{", b"[{")) else "csv"


# --- copies ----------------------------------------------------------------------------------------------------------


def _seekable(path: str, scratch: str) -> str:
    """A path that can be read twice."""
    if path == "-":
        return _copy(sys.stdin.buffer, scratch)
    mode = os.stat(path).st_mode
    if stat.S_ISDIR(mode):
        raise TableError(f"{path!r} is a folder. Name the files in it: '{path}/*.csv'.")
    if not stat.S_ISREG(mode):
        with open(path, "rb") as pipe:
            return _copy(pipe, scratch)
    return path


def _copy(source: SupportsRead[bytes], scratch: str, ending: str = "") -> str:
    with tempfile.NamedTemporaryFile(dir=scratch, suffix=ending, delete=False) as file:
        shutil.copyfileobj(source, file, 1 << 20)
    return file.name


def _unzipped(path: str, name: str, scratch: str) -> tuple[str, str]:
    """The one table in an archive, and what it is called there."""
    import zipfile

    try:
        with closing(zipfile.ZipFile(path)) as archive:
            inside = [m for m in archive.namelist() if not m.endswith("/") and not m.startswith("__MACOSX")]
            if "xl/workbook.xml" in inside:
                raise TableError(f"{name} is no table but an Excel workbook; save the sheet as CSV.")
            if len(inside) != 1:
                what = listing(inside) if inside else "nothing"
                raise TableError(f"{name} is an archive of more than one file, or none: {what}. Unpack it first.")
            with archive.open(inside[0]) as member:
                return _copy(member, scratch, os.path.splitext(inside[0])[1]), inside[0]
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as e:
        raise TableError(f"{name} is a zip archive that cannot be read: {e}.") from None


def _unpacked(path: str, name: str, scratch: str) -> str:
    """Compressed text whose name does not say so, as that of standard input cannot."""
    import gzip
    import zlib

    try:
        with gzip.open(path) as source:
            return _copy(source, scratch, os.path.splitext(path)[1])
    except (OSError, EOFError, zlib.error) as e:
        raise TableError(f"{name} is compressed by gzip and cannot be read: {e}.") from None


def _lines_of_array(path: str, name: str, scratch: str) -> str:
    """A JSON array of objects as JSON lines."""
    import json

    try:
        with open(path, encoding="utf-8-sig") as file:
            rows = json.load(file)
    except (ValueError, RecursionError) as e:
        raise TableError(f"{name} is no whole JSON array: {e}.") from None
    odd = next((k for k, row in enumerate(rows) if not isinstance(row, dict)), None)
    if odd is not None:
        raise TableError(
            f"{name}: a table in JSON is an array of objects, one for each row; number {odd + 1} is {rows[odd]!r:.60}."
        )
    with tempfile.NamedTemporaryFile("w", dir=scratch, suffix=".jsonl", delete=False, encoding="utf-8") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    if not rows:
        raise TableError(f"{name}: there are no rows.")
    return out.name

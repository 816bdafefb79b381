"""An append-only file of examples and of what was forgotten, that a killed process leaves readable.

    file    = HEAD, the 16 bytes of its id, entries
    entry   = 2 bytes "TJ", kind, flags, length, number, start of its group, CRC-32 of the payload, CRC-32 of all that,
              payload

Entries are written in groups, each synced before the next begins, and only then acknowledged. So of all that can be
wrong with a file after a crash only the last group can be torn, and it was acknowledged to nobody. Each entry says
where its group starts: a sound entry of a later group proves that what stands before had been synced, and then damage
there is damage, and is told. What is forgotten is overwritten with zeros in its place.
"""

from __future__ import annotations

import mmap
import os
import secrets
import struct
import zlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from tallybayes.errors import ModelFileError
from tallybayes.io.atomic_files import sync_folder

HEAD = b"tallybayes journal 1\n"
FIRST = len(HEAD) + 16  # where entries begin
ENTRY = struct.Struct("<2sBBIQQI")
CHECK = struct.Struct("<I")
SIZE = ENTRY.size + CHECK.size
MARK = b"TJ"
LEARN, FORGET = 1, 2
LAST = 1  # flag: of its request


class Entry(NamedTuple):
    """What stands in the journal. at: where its payload is; start: where its group is; payload: None if damaged."""

    kind: int
    last: bool
    number: int
    start: int
    at: int
    length: int
    payload: bytes | None


def encoded(kind: int, last: bool, number: int, start: int, payload: bytes) -> bytes:
    """An entry as bytes."""
    head = ENTRY.pack(MARK, kind, LAST if last else 0, len(payload), number, start, zlib.crc32(payload))
    return head + CHECK.pack(zlib.crc32(head)) + payload


class Journal:
    """The file, open for one writer. Whoever opens it holds the lock of the model."""

    def __init__(self, path: str) -> None:
        self.path = path
        if not os.path.exists(path):
            _write_anew(path, secrets.token_bytes(16), ())
        self._fd = os.open(path, os.O_RDWR)
        self.id, self.end, self._tail = "", FIRST, FIRST  # the tail: the end, once all that is pending is written
        self._pending: list[bytes] = []

    def close(self) -> None:
        """Close the file; what is pending is lost."""
        os.close(self._fd)

    # --- reading -----------------------------------------------------------------------------------------------

    def recover(self) -> list[Entry]:
        """All entries of requests that are whole; a torn end is cut off. Payloads that are damaged are None.

        Raises ModelFileError where damage cannot come from an unfinished write.
        """
        size = os.fstat(self._fd).st_size
        if size < FIRST or os.pread(self._fd, len(HEAD), 0) != HEAD:
            raise ModelFileError(f"{self.path} is no journal of examples. Move it away.")
        self.id = os.pread(self._fd, 16, len(HEAD)).hex()
        entries: list[Entry] = []
        if size > FIRST:
            with mmap.mmap(self._fd, size, access=mmap.ACCESS_READ) as view:
                entries = list(self._scan(view, size))
        whole = max((k + 1 for k, entry in enumerate(entries) if entry.last), default=0)
        del entries[whole:]
        self.end = entries[-1].at + entries[-1].length if entries else FIRST
        self._tail = self.end
        if self.end < size:
            os.ftruncate(self._fd, self.end)
            os.fsync(self._fd)
        return entries

    def _scan(self, view: mmap.mmap, size: int) -> Iterator[Entry]:
        at = FIRST
        synced: int | None = None  # where the last sound group starts, once somebody needs to know
        while at < size:
            entry = _entry_at(view, at, size)
            if entry is None or entry.payload is None:
                synced = _last_start(view, at + (1 if entry is None else SIZE), size) if synced is None else synced
                if synced <= at:
                    return  # nothing after it was begun later: it was never synced
                if entry is None or entry.kind == FORGET:  # of an example that was forgotten the zeros are right
                    raise ModelFileError(
                        f"{self.path} is damaged at byte {at}, before examples that were written later. Restore it "
                        "from a copy. Moved away, it takes with it what was learned since MODEL was last written."
                    )
            yield entry
            at = entry.at + entry.length

    def read(self, at: int, length: int) -> bytes:
        """Read a payload.

        Parameters
        ----------
        at : int
            Where it is in the file.
        length : int
            How many bytes it has.

        Returns
        -------
        bytes
            The payload.
        """
        return os.pread(self._fd, length, at)

    # --- writing -----------------------------------------------------------------------------------------------

    def add(self, kind: int, last: bool, number: int, payload: bytes) -> int:
        """Put an entry into the next group.

        Parameters
        ----------
        kind : int
            What the entry is.
        last : bool
            Whether it ends what belongs together.
        number : int
            Its number.
        payload : bytes
            What it holds.

        Returns
        -------
        int
            Where its payload will be.
        """
        self._pending.append(encoded(kind, last, number, self.end, payload))
        at = self._tail + SIZE
        self._tail += len(self._pending[-1])
        return at

    @property
    def waiting(self) -> bool:
        """bool: whether there is something to sync."""
        return bool(self._pending)

    def sync(self) -> None:
        """Write the group, and return when the disk has it."""
        group, self._pending = b"".join(self._pending), []
        rest, at = memoryview(group), self.end
        while len(rest):
            written = os.pwrite(self._fd, rest, at)
            rest, at = rest[written:], at + written
        os.fdatasync(self._fd)
        self.end = self._tail = at

    def erase(self, places: Iterable[tuple[int, int]]) -> None:
        """Overwrite payloads with zeros, and return when the disk has that.

        Parameters
        ----------
        places : iterable of (int, int)
            Where payloads are, and how long.
        """
        for at, length in places:
            os.pwrite(self._fd, bytes(length), at)
        os.fdatasync(self._fd)

    def compact(self, entries: Iterable[Entry]) -> list[Entry]:
        """Write the journal anew with these entries alone.

        Parameters
        ----------
        entries : iterable of Entry
            Those that stay.

        Returns
        -------
        list of Entry
            The same with their new places.
        """
        kept, pieces, at = [], [], FIRST
        for entry in entries:
            payload = self.read(entry.at, entry.length)
            pieces.append(encoded(entry.kind, True, entry.number, at, payload))  # each a group: all are synced
            kept.append(Entry(entry.kind, True, entry.number, at, at + SIZE, entry.length, payload))
            at += len(pieces[-1])
        _write_anew(self.path, bytes.fromhex(self.id), pieces)
        os.close(self._fd)
        self._fd = os.open(self.path, os.O_RDWR)
        self.end = self._tail = at
        return kept


def _entry_at(view: mmap.mmap, at: int, size: int) -> Entry | None:
    if at + SIZE > size:
        return None
    head = view[at : at + ENTRY.size]
    mark, kind, flags, length, number, start, check = ENTRY.unpack(head)
    if mark != MARK or CHECK.unpack_from(view, at + ENTRY.size)[0] != zlib.crc32(head) or kind not in (LEARN, FORGET):
        return None
    payload: bytes | None = view[at + SIZE : at + SIZE + length]
    if payload is None or len(payload) < length or zlib.crc32(payload) != check:
        payload = None
    return Entry(kind, bool(flags & LAST), number, start, at + SIZE, length, payload)


def _last_start(view: mmap.mmap, at: int, size: int) -> int:
    """The latest start of a group among sound heads of entries after a place; 0 if there are none."""
    found = 0
    while (at := view.find(MARK, at)) >= 0:
        entry = _entry_at(view, at, size)
        if entry is not None:
            found = max(found, entry.start)
        at += 1
    return found


def _write_anew(path: str, journal_id: bytes, pieces: Iterable[bytes]) -> None:
    """Beside, synced, renamed, the folder synced. What a kill leaves behind the next one overwrites."""
    beside = path + ".new"
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(fd, "wb") as file:
        file.write(HEAD + journal_id)
        file.writelines(pieces)
        file.flush()
        os.fsync(fd)
    os.replace(beside, path)
    sync_folder(os.path.dirname(path) or ".")

"""Bytes to and from a place on disk. A save that fails, or is killed, leaves the file that was there."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Callable, Iterable, Iterator
from typing import IO

from tallybayes.errors import ModelFileError

Pieces = Iterable[bytes | memoryview]

# For a process that ends without tidying up, as a command that is stopped does: what it has to remove, and what to call
# before a file is replaced, after which it can no longer say that nothing was changed.
unfinished: set[str] = set()
before_replacing: list[Callable[[], None]] = []


def write(path: str, pieces: Pieces) -> None:
    """Writes beside, syncs, renames. A link is followed; a device or a pipe is written to as it is."""
    target = os.path.realpath(path)
    try:
        if path.endswith(("/", os.sep)):
            raise IsADirectoryError(errno.EISDIR, "that is the name of a folder; add the name of a file")
        try:
            mode = os.stat(target).st_mode
        except FileNotFoundError:
            mode = None
        if mode is None or stat.S_ISREG(mode):
            _replace(target, mode, pieces)
        else:
            with open(target, "wb") as f:
                f.writelines(pieces)
    except OSError as e:
        raise OSError(e.errno, f"Cannot save the model: {e.strerror}", path) from e


def _replace(target: str, mode: int | None, pieces: Pieces) -> None:
    folder = os.path.dirname(target)
    beside = os.path.join(folder, f".tallybayes-{secrets.token_hex(8)}.tmp")
    unfinished.add(beside)
    try:
        fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        with open(fd, "wb") as f:
            f.writelines(pieces)
            f.flush()
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(fd, stat.S_IMODE(mode))
            os.fsync(fd)
        for call in before_replacing:
            call()
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
    finally:
        unfinished.discard(beside)
    sync_folder(folder)


def sync_folder(folder: str) -> None:
    """The new name is on disk too. Not every system can: those that cannot do it by themselves, or not at all."""
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    except OSError as e:
        if e.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(fd)


@contextlib.contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """A file to read; anything else of that name is refused (a pipe would wait for ever)."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "not a file"
        raise ModelFileError(f"It is {what}.")
    with open(path, "rb") as f:
        yield f

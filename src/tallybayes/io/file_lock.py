"""One writer at a time for a model file: who reads it to change it and write it again holds its lock meanwhile.

The lock is on a file beside, `.NAME.lock`, since the model file itself is replaced by each save. The system keeps it
and frees it when the holder ends, however that ends: what a killed command leaves is a file that nobody holds. The file
says who holds it, for those who wait.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator

from tallybayes.io import atomic_files

if sys.platform != "win32":
    import fcntl

POLL_SECONDS = 0.05  # seconds between two looks at a lock that somebody holds
NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)


@contextlib.contextmanager
def held(path: str, who: str, waiting: Callable[[str], None]) -> Iterator[None]:
    """Holds the lock of a model file; waits until it is free.

    who: what is doing this, for others that wait. waiting: called once with who holds the lock, if somebody does.
    What cannot be replaced (a device, a pipe, a file in a folder that is not there) has no lock, nor has any file on
    Windows or on a disk that knows no locks.
    """
    target = os.path.realpath(path)
    beside = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.lock")
    try:
        fd = _take(beside, waiting) if _replaceable(target) else None
    except OSError as e:
        raise OSError(e.errno, f"Cannot lock the model: {e.strerror}", path) from e
    if fd is None:
        yield
        return
    try:
        atomic_files.unfinished.add(beside)
        os.ftruncate(fd, 0)
        os.write(fd, f"process {os.getpid()}, {who}, since {time.strftime('%Y-%m-%d %H:%M:%S')}".encode())
        yield
    finally:
        with contextlib.suppress(OSError):  # while it is held: nobody can hold a file of that name that is not there
            os.unlink(beside)
        atomic_files.unfinished.discard(beside)
        os.close(fd)


def _replaceable(target: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(target).st_mode)
    except FileNotFoundError:
        return os.path.isdir(os.path.dirname(target))


def _take(beside: str, waiting: Callable[[str], None]) -> int | None:
    if sys.platform == "win32":
        return None
    announced = False
    while True:
        fd = os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_there(beside, fd):
                return fd
            os.close(fd)  # the last holder has taken the file away: look for the next one
            continue
        except OSError as e:
            holder = os.read(fd, 200).decode("utf-8", "replace")
            os.close(fd)
            if e.errno in NO_LOCKS:
                return None
            if e.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise
        if not announced:
            waiting(holder or "another process")
            announced = True
        time.sleep(POLL_SECONDS)


def _is_there(beside: str, fd: int) -> bool:
    """Is the file that was locked still the one of that name?"""
    try:
        return os.path.samestat(os.stat(beside), os.fstat(fd))
    except FileNotFoundError:
        return False

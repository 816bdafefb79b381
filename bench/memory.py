"""Peak memory of a call beyond what the process held before it and the answer it returned (Linux)."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Extra:
    """Megabytes. Not `exact` where the system does not let us reset the peak: then an upper bound."""

    megabytes: float
    exact: bool = True


def extra_memory(call: Callable[[], object]) -> Extra | None:
    """Only the first call in a process counts: later ones find memory that earlier ones left in the heap.
    None where there is no /proc."""
    if not Path("/proc/self/status").exists():
        return None
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # what building the data left behind must not be reused unseen
    exact = _reset_peak()
    before = _status("VmRSS")
    answer = call()
    peak = _status("VmHWM")
    kept = answer.nbytes if isinstance(answer, np.ndarray) else 0
    return Extra(max(0, peak - before - kept) / 1e6, exact)


def extra_memory_apart(call: Callable[[], object]) -> Extra | None:
    """The same in a copy of this process, so that the call finds the memory as the first one here does."""
    if not hasattr(os, "fork"):
        return None
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            found = extra_memory(call)
            os.write(writing, json.dumps(None if found is None else asdict(found)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        reported = pipe.read()
    os.waitpid(child, 0)
    held = json.loads(reported) if reported else None
    return None if held is None else Extra(**held)


def _reset_peak() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def _status(key: str) -> int:
    """Bytes, from a line such as `VmHWM:   123456 kB`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    return 0

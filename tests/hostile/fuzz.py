"""Looks for a model file that breaks `load`, for so many seconds: `make fuzz`, or python -m tests.hostile.fuzz 60

Guided by coverage where atheris is installed, else by the mutations that the tests use, with another seed each time.
What it finds is printed in hexadecimal (or kept as crash-…) and belongs into a test.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import sys
import tempfile
import time
from pathlib import Path


def guided(seconds: int) -> None:
    import atheris

    with atheris.instrument_imports(include=["tallybayes"]):
        from tests.hostile import broken_files as files

    def one(data: bytes) -> None:
        """An input is the length of the header, the header, the arrays; start and checksum are made to fit."""
        length = int.from_bytes(data[:4], "little")
        files.exercise(files.assemble(data[4 : 4 + length], data[4 + length :]))
        with contextlib.suppress(files.ModelFileError):
            files.from_bytes(data)

    with tempfile.TemporaryDirectory() as corpus:
        for i, model in enumerate(files.models()):
            header, arrays = files.parts(files.to_bytes(model))
            text = json.dumps(header, separators=(",", ":")).encode()
            Path(corpus, str(i)).write_bytes(len(text).to_bytes(4, "little") + text + arrays)
        limits = [f"-max_total_time={seconds}", "-rss_limit_mb=2048", "-timeout=10", "-max_len=20000"]
        atheris.Setup([sys.argv[0], *limits, corpus], one)
        atheris.Fuzz()


def seeded(seconds: int) -> None:
    from tests.hostile import broken_files as files

    print(files.seeded(seconds, seed=int(time.time())))


if __name__ == "__main__":
    how = guided if importlib.util.find_spec("atheris") else seeded
    how(int(sys.argv[1]) if len(sys.argv) > 1 else 60)

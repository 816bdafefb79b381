"""BLAS with one thread: the same bits on any machine, and faster where matrices are small or our own threads work."""

from __future__ import annotations

from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looking for the libraries takes milliseconds


def one_thread() -> Any:
    """For a with statement."""
    return _controller().limit(limits=1, user_api="blas")

"""Threads: BLAS with one, so that the bits are the same on any machine, and threadpoolctl's say over our own."""

from __future__ import annotations

from functools import cache
from typing import Any

from threadpoolctl import LibController, ThreadpoolController, register

from tallybayes import _core


class _Core(LibController):  # type: ignore[misc]  # threadpoolctl has no types
    """How threadpool_limits finds and limits the threads of the core, beside those of OpenMP."""

    user_api = "openmp"
    internal_api = "tallybayes"
    filename_prefixes = ("_core",)
    check_symbols = ("tallybayes_threads",)  # other libraries have a _core too

    def get_num_threads(self) -> int:
        return _core.threads()

    def set_num_threads(self, num_threads: int) -> None:
        _core.limit_threads(num_threads)

    def get_version(self) -> None:
        return None


register(_Core)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looking for the libraries takes milliseconds


def one_thread() -> Any:
    """For a with statement."""
    return _controller().limit(limits=1, user_api="blas")

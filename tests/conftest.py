"""What all tests share."""

from __future__ import annotations

import gc
import math
import os
from collections import defaultdict
from collections.abc import Generator

import hypothesis
import pytest

import tallybayes.utils.blas  # noqa: F401  # threadpool_limits reaches the core in tests that import nothing else
from tests.quick import THOROUGH, examples, pairwise

hypothesis.settings.register_profile("default", deadline=None, max_examples=examples(40), derandomize=True)
hypothesis.settings.load_profile("default")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out tests marked slow, and all but a pairwise cover of grids: see tests/quick.py."""
    if THOROUGH:
        return
    grids: dict[str, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            grids[item.nodeid.partition("[")[0]].append(item)
    out = {id(item) for item in items if item.get_closest_marker("slow")}
    for grid in grids.values():
        if len(grid) <= 12:
            continue
        rows = [tuple(map(id, item.callspec.params.values())) for item in grid]  # of one list each
        sizes = [len(set(axis)) for axis in zip(*rows, strict=True)]
        if sum(size > 1 for size in sizes) > 2 and len(grid) == math.prod(sizes):  # all combinations
            cover = set(pairwise(rows))
            out |= {id(item) for k, item in enumerate(grid) if k not in cover}
    if out:
        config.hook.pytest_deselected(items=[item for item in items if id(item) in out])
        items[:] = [item for item in items if id(item) not in out]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fails a test that leaves a file in the current folder, such as a model saved under the value of an option."""
    before, here = set(os.listdir()), os.getcwd()
    result = yield
    left = {name for name in set(os.listdir(here)) - before if not name.startswith((".", "build"))}
    assert not left, f"{item.nodeid}, or a test beside it, left {sorted(left)} in {here}"
    return result


def pytest_collection_finish() -> None:
    """Keeps thousands of collected tests out of every later garbage collection, which would take half a second."""
    gc.collect()
    gc.freeze()

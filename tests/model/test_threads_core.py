"""How many threads a call may use: the environment's number, threadpoolctl's limit, or one for each processor."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from tallybayes import GaussianNB, _core


def started_with(number: str | None) -> int:
    """How many a new process may use if OMP_NUM_THREADS is this."""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    if number is not None:
        environment["OMP_NUM_THREADS"] = number
    code = "from tallybayes import _core; print(_core.threads())"
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return int(ran.stdout)


@pytest.mark.parametrize(("number", "threads"), [("1", 1), ("3", 3), ("7,2", 7), (" 2 ", 2)])
def test_the_environment_sets_how_many(number: str, threads: int) -> None:
    assert started_with(number) == threads


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="nobody tells which processors may be used")
@pytest.mark.parametrize("number", [None, "", "0", "-1", "many"])
def test_else_one_for_each_processor_that_may_be_used(number: str | None) -> None:
    assert started_with(number) == len(os.sched_getaffinity(0))


def test_threadpoolctl_limits_them() -> None:
    before = _core.threads()
    for limits in (
        {"limits": 3},
        {"limits": 3, "user_api": "openmp"},
        {"limits": {"openmp": 3}},
    ):
        with threadpool_limits(**limits):
            assert _core.threads() == 3
            with threadpool_limits(1):
                assert _core.threads() == 1
            assert _core.threads() == 3
        assert _core.threads() == before
    with threadpool_limits(1, user_api="blas"):
        assert _core.threads() == before


def test_threadpoolctl_lists_the_core_once() -> None:
    (ours,) = [pool for pool in threadpool_info() if pool["internal_api"] == "tallybayes"]
    assert ours["num_threads"] == _core.threads()
    assert "tallybayes" in ours["filepath"]


def test_a_limit_is_that_of_one_thread() -> None:
    before, met = _core.threads(), []
    with threadpool_limits(before + 1):
        other = threading.Thread(target=lambda: met.append(_core.threads()))
        other.start()
        other.join()
        assert _core.threads() == before + 1
    assert met == [before]


def test_the_bits_are_the_same_for_any_limit() -> None:
    X = np.random.default_rng(0).normal(size=(200_000, 5))
    y = X[:, 0] > 0
    answers = []
    for threads in (1, 2, 5):
        with threadpool_limits(threads):
            answers.append(GaussianNB().fit(X, y).predict_proba(X[:1000]).tobytes())
    assert len(set(answers)) == 1

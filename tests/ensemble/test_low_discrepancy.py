"""The low-discrepancy design of an ensemble: fair shares of what many draws have."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallybayes import _core
from tallybayes.ensemble.networks import bin_turns, parent_orders
from tests.quick import examples


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 12), st.integers(0, 6), st.integers(1, 20), st.sampled_from([0.0, 1.0, 10.0]), st.integers(0, 9))
def test_orders_are_of_different_columns(d: int, most: int, members: int, noise: float, seed: int) -> None:
    strength = np.linspace(0.001, 1.0, d)
    found = parent_orders(strength, noise, members, most, np.random.default_rng(seed))
    assert found.shape == (members, min(most, d))
    assert all(len(set(order)) == len(order) and set(order) <= set(range(d)) for order in found.tolist())
    if noise == 0:
        assert (found == np.argsort(-strength)[: found.shape[1]]).all()


def greedy_design(has: np.ndarray, share: np.ndarray, members: int) -> list[int]:
    """The definition in cpp/core/ensemble/low_discrepancy.hpp."""
    owed, taken = np.zeros_like(share), list[int]()
    for _ in range(members):
        owed += share
        taken.append(int(owed[has].sum(axis=1).argmax()))
        np.subtract.at(owed, has[taken[-1]], 1.0)
    return taken


@pytest.mark.parametrize("each", [0, 1, 3, 7, 8, 9, 18, 35])
@pytest.mark.parametrize("draws", [1, 64])
def test_the_kernel_takes_the_draws_that_are_owed_most(each: int, draws: int) -> None:
    has = np.random.default_rng(each).integers(0, 40, (draws, each)).astype(np.int32)
    share = np.bincount(has.ravel(), minlength=40) / draws
    assert _core.low_discrepancy_design(has, share, 20).tolist() == greedy_design(has, share, 20)


def test_designs_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ValueError, match="share"):
        _core.low_discrepancy_design(np.array([[0, 3]], dtype=np.int32), np.ones(3), 2)
    with pytest.raises(ValueError, match="draws"):
        _core.low_discrepancy_design(np.zeros((0, 2), dtype=np.int32), np.ones(3), 2)


def test_columns_and_pairs_come_as_often_as_among_many_draws() -> None:
    strength, d, most = np.linspace(0.1, 1.0, 12), 12, 4
    rng = np.random.default_rng(0)
    chance = rng.gumbel(size=(20_000, d))
    many = np.argsort(-(np.log(strength) + chance), axis=1)[:, :most]
    laid = [parent_orders(strength, 1.0, 16, most, np.random.default_rng(seed)) for seed in range(8)]
    drawn = [many[16 * i : 16 * (i + 1)] for i in range(8)]

    def columns(o: np.ndarray) -> np.ndarray:
        return np.bincount(o.ravel(), minlength=d) / len(o)

    def pairs(o: np.ndarray) -> np.ndarray:
        has = (o[:, :, None] == np.arange(d)).any(axis=1).astype(float)
        return np.asarray(has.T @ has / len(o))

    for what, gain in ((columns, 0.4), (pairs, 0.8)):
        wrong = [np.sqrt(np.mean([(what(o) - what(many)) ** 2 for o in some])) for some in (laid, drawn)]
        assert wrong[0] < gain * wrong[1]
    assert max(np.abs(columns(o) - columns(many)).max() for o in laid) < 2.0 / 16


@pytest.mark.parametrize("d", [1, 5000])
def test_one_column_and_many(d: int) -> None:
    found = parent_orders(np.ones(d), 10.0, 16, 4, np.random.default_rng(0))
    assert found.shape == (16, min(d, 4))
    assert d == 1 or len(np.unique(found)) > 60  # all have the same strength: hardly one comes twice


def test_turns_are_those_of_super_parents_first() -> None:
    rng = np.random.default_rng(0)
    parents = np.array([[0, 1], [2, 0], [1, 0], [3, 2], [3, 1]])
    found = bin_turns(5, 6, rng, parents)
    assert (np.sort(found, axis=0) == np.arange(5)[:, None]).all()
    assert found[0, 0] == 0  # column 0 is first of member 0, and second of two others
    assert set(found[[1, 2], 0]) == {1, 2}
    assert set(found[[3, 4], 3]) == {0, 1}
    free = bin_turns(40, 6, rng)
    assert (np.sort(free, axis=0) == np.arange(40)[:, None]).all()
    assert len({tuple(column) for column in free.T}) == 6

"""Several threads of one program fit and query one model: no row is lost, and each prediction is of one whole model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest

import tallybayes as tb
from tallybayes import _core
from tallybayes.distributions.capabilities import sizes
from tallybayes.estimators.model_lock import lock_of
from tests.every_estimator import ESTIMATORS, labels

THREADS, ROUNDS = 4, 40
NAMES = ["GaussianNB", "MultinomialNB", "NaiveBayes mixed", "QuadraticDiscriminantAnalysis", "AODE words", "KernelNB"]


@pytest.fixture(autouse=True)
def _often_switched() -> Iterator[None]:
    """Threads take turns after a few instructions: what can go wrong between two of them does."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def at_once(work: Callable[[int], None]) -> None:
    """work(0), work(1), … in threads that start together; the first error of any is raised."""
    start = Barrier(THREADS)

    def one(i: int) -> None:
        start.wait()
        work(i)

    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(one, i) for i in range(THREADS)]:
            done.result()


def dicts(n: int, seed: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    return [{"n": float(rng.integers(0, 9)), "w": "abc"[int(rng.integers(3))]} for _ in range(n)]


def sound(P: Any) -> None:
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


@pytest.mark.parametrize("name", NAMES)
def test_no_row_is_lost_by_partial_fit_and_forget(name: str) -> None:
    """Each thread learns its rows batch by batch and forgets every other batch again."""
    make, data = ESTIMATORS[name]
    rng = np.random.default_rng(0)
    first, parts = (data(rng, 30), labels(rng, 30)), [(data(rng, 5), labels(rng, 5)) for _ in range(THREADS * 8)]
    model = make().fit(*first)

    def work(i: int) -> None:
        for j, (X, y) in enumerate(parts[i::THREADS]):
            model.partial_fit(X, y)
            sound(model.predict_proba(first[0]))
            if j % 2:
                model.forget(X, y)

    at_once(work)
    alone = make().fit(*first)
    for i in range(THREADS):
        for X, y in parts[i::THREADS][::2]:
            alone.partial_fit(X, y)
    np.testing.assert_array_equal(model.class_count_, alone.class_count_)
    np.testing.assert_allclose(model.predict_proba(first[0]), alone.predict_proba(first[0]), atol=1e-9)


def test_no_row_is_lost_where_single_rows_tables_and_questions_meet() -> None:
    """The fast path has statistics of its own: a prediction must not settle them while another row comes in."""
    rows = dicts(THREADS * ROUNDS, 0)
    truth = ["yes" if row["n"] > 4 else "no" for row in rows]
    model = tb.NaiveBayes().fit(rows, truth)

    def work(i: int) -> None:
        for j in range(i, len(rows), THREADS):
            if j % 5 == 0:
                model.partial_fit([rows[j]], [truth[j]])
            else:
                model.learn_one(rows[j], truth[j])
            assert abs(sum(model.predict_proba_one(rows[j]).values()) - 1) < 1e-9
            if j % 3 == 0:
                sound(model.predict_proba(rows[:5]))
            if j % 7 == 0:
                model.forget([rows[j]], [truth[j]])
                model.learn_one(rows[j], truth[j])

    at_once(work)
    alone = tb.NaiveBayes().fit(rows, truth).partial_fit(rows, truth)
    np.testing.assert_array_equal(model.class_count_, alone.class_count_)
    np.testing.assert_allclose(model.predict_proba(rows), alone.predict_proba(rows), atol=1e-9)


def test_copies_and_pickles_made_meanwhile_are_whole() -> None:
    """The weight of the classes and the sums of a column are of the same rows."""
    import pickle

    model = tb.NaiveBayes().fit([{"w": "a"}, {"w": "b"}], ["x", "y"])

    def work(i: int) -> None:
        for j in range(ROUNDS):
            model.learn_one({"w": "abc"[j % 3]}, "xyz"[(i + j) % 3])
            for counterpart in (model.copy(), pickle.loads(pickle.dumps(model))):
                (term,) = counterpart.fitted_.terms
                assert sizes(term.distribution, term.statistics) == [len(counterpart.schema_.levels[0])]
                counterpart.forget([{"w": "abc"[j % 3]}], ["xyz"[(i + j) % 3]])

    at_once(work)
    assert model.class_count_.sum() == 2 + THREADS * ROUNDS


def test_labels_are_those_of_the_model_that_answered() -> None:
    """A class that comes before the others moves them all by one, between the answer and its name."""
    X = np.array([[0.0], [0.2], [9.0], [9.2]])
    model = tb.GaussianNB().fit(X, ["m", "m", "n", "n"])

    def work(i: int) -> None:
        for _ in range(ROUNDS):
            if i == 0:
                model.partial_fit([[1e3], [1e3 + 1]], ["a", "a"])
                model.forget([[1e3], [1e3 + 1]], ["a", "a"])
            else:
                assert model.predict(X).tolist() == ["m", "m", "n", "n"]

    at_once(work)


def test_a_single_row_waits_for_whoever_is_learning() -> None:
    """Usual rows take no lock; they still must not come in between while somebody has it."""
    rows = dicts(20, 1)
    model = tb.NaiveBayes("gaussian").fit(rows, ["yes", "no"] * 10)
    for row in rows[:3]:  # from the second on without the lock
        model.learn_one(row, "yes")
    with lock_of(model):
        waiting = Thread(target=model.learn_one, args=(rows[4], "no"))
        waiting.start()
        waiting.join(0.05)
        assert waiting.is_alive()
        model.learn_one(rows[5], "yes")  # whoever has it may
        np.testing.assert_array_equal(model.class_count_, [10, 14])
    waiting.join()
    np.testing.assert_array_equal(model.class_count_, [11, 14])


def test_a_row_that_comes_while_another_is_read_is_not_mixed_with_it() -> None:
    rows = dicts(20, 2)
    model, alone = (tb.NaiveBayes("gaussian").fit(rows, ["yes", "no"] * 10) for _ in range(2))

    class Sly(str):
        busy = True

        def __hash__(self) -> int:
            if Sly.busy:
                Sly.busy = False
                model.learn_one(rows[3], "no")
            return str.__hash__(self)

    model.learn_one(rows[0], "yes").learn_one(rows[1], "yes").learn_one({"n": 77.0, "w": Sly("b")}, "yes")
    alone.learn_one(rows[0], "yes").learn_one(rows[1], "yes").learn_one(rows[3], "no")
    alone.learn_one({"n": 77.0, "w": "b"}, "yes")
    np.testing.assert_array_equal(model.class_count_, alone.class_count_)
    np.testing.assert_array_equal(model.predict_proba(rows), alone.predict_proba(rows))


def test_a_lock_is_of_the_thread_that_has_it() -> None:
    lock = _core.Lock()
    with lock, lock:
        other = Thread(target=lock.__enter__)
        other.start()
        other.join(0.05)
        assert other.is_alive()
    other.join()
    with pytest.raises(RuntimeError, match="has not the lock"):
        lock.__exit__(None, None, None)

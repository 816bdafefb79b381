"""Many classes and very wide sparse tables: little memory, or a refusal that names the size before it is allocated."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import tallybayes as tb
from tallybayes import errors
from tallybayes.data.encoding.numeric import WIDE_BLOCK, Sparse, raw_columns
from tallybayes.data.table import read_table
from tallybayes.distributions import information
from tallybayes.errors import LabelError, OptionError, OutOfMemoryError
from tallybayes.model import distribution_selection
from tests.every_estimator import ESTIMATORS, LEARNED, codes, real

MANY = 20_000


@pytest.fixture(scope="module")
def wide() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    at = rng.integers(0, 40, 400), rng.integers(0, 1 << 20, 400)
    return sparse.csr_matrix((np.ones(400), at), shape=(40, 1 << 20)), np.arange(40) % 3


def test_naive_bayes_compares_distributions_only_in_the_classes_of_its_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 40,000 classes with two rows each, a sample has next to none twice: nothing can be compared."""
    monkeypatch.setattr(distribution_selection, "_losses", lambda *_: pytest.fail("nothing can be compared"))
    X = np.random.default_rng(0).normal(size=(4 * MANY, 2))
    model = tb.NaiveBayes().fit(X, np.arange(4 * MANY) % (2 * MANY))
    assert {choice.name for choice in model.schema_.chosen.values()} == {"gaussian"}
    assert len(model.predict(X[:3])) == 3


def test_classes_without_rows_change_no_choice() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.exponential(size=(900, 3)), np.arange(900) % 3
    X[:, 0] += y
    X[:, 1] = rng.poisson(2 + y)
    few, many = (tb.NaiveBayes().partial_fit(X, y, classes=np.arange(K)).schema_.chosen for K in (3, 500))
    assert len({choice.name for choice in few.values()}) > 1
    assert few == many


@pytest.mark.parametrize("make", [tb.RegularizedDiscriminantAnalysis, tb.GaussianDiscriminant])
def test_auto_of_a_discriminant_refuses_more_scores_than_it_can_compute(make: Any) -> None:
    X, y = np.random.default_rng(0).normal(size=(3 * MANY, 2)), np.arange(3 * MANY) % MANY
    given = {"own_covariance": "auto", "shrinkage": "auto"}
    if make is tb.GaussianDiscriminant:
        given["covariance"] = "diagonal"
    with pytest.raises(OptionError, match=r"121 pairs .* 60,000 rows in 20,000 classes: 1.5e\+11 scores"):
        make(**given).fit(X, y)


@pytest.mark.parametrize("name", ["TAN", "AODE", "KDB", "SPODE", "BayesClassifier", "CategoricalNB"])
def test_a_table_that_would_not_fit_when_dense_is_refused_with_its_size(
    monkeypatch: pytest.MonkeyPatch, wide: tuple[Any, Any], name: str
) -> None:
    monkeypatch.setattr(errors, "machine_memory", lambda: 1 << 28)
    with pytest.raises(OutOfMemoryError, match=r"1,048,576 sparse columns of 40 rows dense needs 0.7 GB; .* 0.3 GB"):
        getattr(tb, name)().fit(*wide)


@pytest.mark.parametrize("name", ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"])
def test_a_covariance_that_would_not_fit_is_refused_with_its_size(
    monkeypatch: pytest.MonkeyPatch, wide: tuple[Any, Any], name: str
) -> None:
    monkeypatch.setattr(errors, "machine_memory", lambda: 1 << 28)
    with pytest.raises(OutOfMemoryError, match=r"40 rows, 1,048,576 columns and 3 classes needs 0.7 GB"):
        getattr(tb, name)().fit(*wide)
    classes = np.arange(1200) % 600
    with pytest.raises(OutOfMemoryError, match=r"1,200 rows, 250 columns and 600 classes needs 0.6 GB"):
        tb.QuadraticDiscriminantAnalysis().fit(np.zeros((1200, 250)), classes)


def test_stacking_that_would_not_fit_is_refused_with_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "machine_memory", lambda: 1 << 20)
    X, y = np.random.default_rng(0).normal(size=(400, 2)), np.arange(400) % 50
    with pytest.raises(OutOfMemoryError, match=r"meta-features of 400 rows in 50 classes"):
        tb.BayesClassifier().fit(X, y)


def test_sparse_rows_are_made_dense_block_by_block(wide: tuple[Any, Any]) -> None:
    X, _ = wide
    blocks = Sparse(X).dense_blocks()
    assert iter(blocks) is blocks  # not all at once
    spans = [(span.start, span.stop, block.n) for span, block in blocks]
    assert spans == [(0, WIDE_BLOCK, WIDE_BLOCK), (WIDE_BLOCK, 40, 40 - WIDE_BLOCK)]


def test_sparse_columns_are_those_of_the_dense_table() -> None:
    rng = np.random.default_rng(3)
    at = rng.integers(0, 30, 200), rng.integers(0, 7, 200)
    X = sparse.coo_matrix((rng.normal(size=200), at), shape=(30, 7)).tocsr()  # cells that are there twice are summed
    twice = sparse.csr_matrix((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 3))
    for table in (X, twice):
        found = raw_columns(read_table(table), range(table.shape[1]))
        np.testing.assert_allclose(np.column_stack([column.values for column in found]), table.toarray())


@pytest.mark.parametrize("name", ["GaussianNB", "KernelNB", "PoissonNB", "LinearDiscriminantAnalysis"])
def test_information_of_many_classes_takes_a_bounded_number_of_cells(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """In all classes at once for few, by a sample of classes for many: the same within the error that is reported."""
    rng = np.random.default_rng(0)
    y = np.arange(3000) % 300
    model = getattr(tb, name)().fit(np.c_[rng.poisson(2 + y % 7), rng.poisson(3, 3000)] + 0.0, y)
    whole = model.explain()
    sizes: list[int] = []
    divergence = information._divergence
    monkeypatch.setattr(information, "CELLS", 300 * 200)
    monkeypatch.setattr(information, "_divergence", lambda p, prior: sizes.append(p.size) or divergence(p, prior))
    few = model.explain()
    assert 0 < max(sizes) <= 300 * 20
    assert sum(sizes) == 2 * 300 * 200
    np.testing.assert_array_less(np.abs(few.information - whole.information), 4 * few.error + 4 * whole.error)


@pytest.mark.parametrize("name", ["GaussianNB", "NaiveBayes", "TAN", "BayesClassifier", "StreamingBayes"])
def test_memory_that_is_not_to_be_had_is_an_error_with_the_sizes(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 3
    model = getattr(tb, name)()

    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError("Unable to allocate 8.00 TiB for an array with shape (1048576, 1048576)")

    reading = "tallybayes.estimators.streaming_bayes" if name == "StreamingBayes" else "tallybayes.estimators.learning"
    monkeypatch.setattr(f"{reading}.read_table", fail)
    with pytest.raises(OutOfMemoryError, match=rf"{name}.fit of a table of 60 × 2 and 3 classes.*8.00 TiB"):
        model.fit(X, y)


def test_wrappers_pass_on_the_sizes_of_the_call_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError

    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 3
    monkeypatch.setattr("tallybayes.estimators.learning.read_table", fail)
    for wrapped in (tb.BayesDecision(tb.GaussianNB()), tb.SemiSupervised(tb.GaussianNB())):
        with pytest.raises(OutOfMemoryError, match=r"There is not enough memory for .* of a table of 60 × 2"):
            wrapped.fit(X, y)


def test_a_limit_of_the_process_counts_as_memory() -> None:
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "from tallybayes.errors import machine_memory; assert machine_memory() <= 2 << 30"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


REFUSED = {
    "SPODE", "SPODE mixed, real", "KDB", "KDB mixed, real", "RegularizedDiscriminantAnalysis", "BayesDecision",
    "StreamingBayes", *(name for name in LEARNED if name.startswith("BayesClassifier")),
}  # fmt: skip
MANY_CLASSES: dict[str, tuple[Any, Any]] = {
    **ESTIMATORS,
    **LEARNED,
    "RegularizedDiscriminantAnalysis": (tb.RegularizedDiscriminantAnalysis, real),
    "NaiveBayes tempered": (lambda: tb.NaiveBayes(tempered=True), real),
    "TAN tempered": (lambda: tb.TAN(tempered=True), codes),
    "GaussianNB rows": (lambda: tb.GaussianNB(memory="rows"), real),
    "BayesDecision": (lambda: tb.BayesDecision(tb.GaussianNB()), real),
    "SemiSupervised": (lambda: tb.SemiSupervised(tb.GaussianNB()), real),
    "StreamingBayes": (tb.StreamingBayes, real),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", MANY_CLASSES)
def test_many_classes_are_predicted_or_refused_with_their_number(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As 100,000 classes on a machine of 8 GB, in small: limits are lowered by the square of the classes."""
    K = 300
    monkeypatch.setattr(errors, "machine_memory", lambda: 8 * (K - 1) ** 2)
    monkeypatch.setattr(errors, "MOST_SCORES", 1e5)
    monkeypatch.setattr("tallybayes.estimators.streaming_bayes.MOST_CLASSES", K - 1)
    make, data = MANY_CLASSES[name]
    X, y = data(np.random.default_rng(0), 2 * K), np.arange(2 * K) % K
    try:
        found = make().fit(X, y).predict_proba(X[:3])
    except (OptionError, OutOfMemoryError, LabelError) as e:
        assert name in REFUSED
        assert f"{K:,} classes" in str(e)  # noqa: PT017
    else:
        assert name not in REFUSED
        np.testing.assert_allclose(found.sum(axis=1), 1.0)
        assert found.shape == (3, K)


@pytest.mark.parametrize("name", ["AODE words", "AODE codes", "A2DE"])
def test_scores_of_many_classes_are_those_of_few_at_a_time(name: str) -> None:
    """The count of a cell in all classes is summed once, not for every eight classes."""
    make, data = ESTIMATORS[name]
    rng = np.random.default_rng(0)
    X, y = data(rng, 900), np.arange(900) % 60
    model = make().fit(X, y)
    both = np.exp(model.predict_joint_log_proba(X[:20]))
    assert both.shape == (20, 60)
    np.testing.assert_allclose(both / both.sum(axis=1, keepdims=True), model.predict_proba(X[:20]), rtol=1e-9)

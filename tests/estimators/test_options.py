"""Options that no model can have are refused by fit, not by save; and what is learned suits the options it has."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tallybayes.errors import OptionError, OutOfMemoryError, TallybayesError
from tallybayes.estimators.loss import read_loss

X = np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0], [1.0, 4.0], [3.0, 1.0], [0.0, 2.0]])
Y = ["a", "a", "b", "b", "a", "b"]


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (tb.ComplementNB(norm="x"), "norm must be True or False; got 'x'"),  # type: ignore[arg-type]
        (tb.MultinomialNB(fit_prior="no"), "fit_prior must be True or False; got 'no'"),  # type: ignore[arg-type]
        (tb.CategoricalNB(force_alpha=1), "force_alpha must be True or False; got 1"),  # type: ignore[arg-type]
        (tb.BernoulliNB(binarize="x"), "binarize must be None or a finite number; got 'x'"),  # type: ignore[arg-type]
        (tb.BernoulliNB(binarize=float("nan")), "binarize must be None or a finite number; got nan"),
        (tb.MultinomialNB(alpha=["a", "b"]), "alpha must be a number, or one for each feature; got ['a', 'b']"),
        (tb.PoissonNB(alpha=[1.0]), "alpha must be a number of at least 0, or an array of them; got [1.0]"),  # type: ignore[arg-type]
        (tb.PoissonNB(alpha=-1.0), "alpha must be a number of at least 0, or an array of them; got -1.0"),
        (tb.GaussianDiscriminant(tol=1e200), "tol must be from 0 to 1"),
        (tb.GaussianDiscriminant("diagonal", tol=1e200), "tol must be from 0 to 1"),
        (tb.LinearDiscriminantAnalysis(tol=1e200), "tol must be from 0 to 1"),
        (tb.QuadraticDiscriminantAnalysis(tol=1e200), "tol must be from 0 to 1"),
        (tb.GaussianDiscriminant("diagonal", tol=-1.0), "tol must be a number of at least 0; got -1.0"),
        (tb.QuadraticDiscriminantAnalysis(reg_param=2.0), "reg_param must be between 0 and 1; got 2.0"),
        (tb.LinearDiscriminantAnalysis("eigen", shrinkage=[1]), "'oas' or between 0 and 1; got [1]"),  # type: ignore[arg-type]
        (tb.LinearDiscriminantAnalysis(n_components=0), "a whole number of at least 1; got 0"),
        (tb.LinearDiscriminantAnalysis(n_components=True), "a whole number of at least 1; got True"),
        (tb.GaussianNB(variance="mine"), "variance must be 'own' or 'shared'; got 'mine'"),
        (tb.MultinomialNB(alpha=[1.0, -1.0]), "All values in alpha must be greater than 0"),
        (tb.CategoricalNB(min_categories=2.5), "'min_categories' should have integral type. Got float64"),  # type: ignore[arg-type]
        (tb.AnDE(n=4), "n must be 1, 2 or 3; got 4. For no parents use NaiveBayes"),
        (tb.AODE(min_count=0), "min_count must be a number above 0; got 0"),
        (tb.AODE(subsumption=1), "subsumption must be True or False; got 1"),  # type: ignore[arg-type]
        (tb.AODE(weighting="mine"), "weighting must be None or 'information'; got 'mine'"),
        (tb.AODE(alpha=[1.0, 2.0]), "alpha must be one number for categories; got [1.0, 2.0]"),  # type: ignore[arg-type]
        (tb.TAN(unseen="guess"), "unseen must be 'ignore' or 'error'; got 'guess'"),
        (tb.TAN(bins=0), "bins must be a whole number from 1 to 1,000,000; got 0"),
        (tb.BayesNetwork(bins=10**9), "bins must be a whole number from 1 to 1,000,000"),
        (tb.KDB(k=1.5), "k must be a whole number of at least 0; got 1.5"),  # type: ignore[arg-type]
        (tb.KDB(select=1), "select must be True or False; got 1"),  # type: ignore[arg-type]
    ],
)
def test_options_are_refused_by_fit(model: Any, why: str) -> None:
    with pytest.raises(OptionError, match=re.escape(why)):
        model.fit(X, Y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("model", [tb.ComplementNB(norm=np.True_), tb.BernoulliNB(binarize=None)])  # type: ignore[arg-type]
def test_options_that_are_taken(model: Any, tmp_path: Any) -> None:
    tb.save(model.fit(X > 1, Y), tmp_path / "model")
    np.testing.assert_array_equal(tb.load(tmp_path / "model").predict_proba(X > 1), model.predict_proba(X > 1))


@pytest.mark.parametrize("call", ["forget", "decay", "merge", "partial_fit"])
def test_a_parameter_of_what_is_counted_was_changed(call: str, tmp_path: Any) -> None:
    """One covariance was counted; covariances of the classes cannot come of it, and no file would take the rest."""
    other = tb.GaussianDiscriminant().fit(X, Y)
    arguments: dict[str, Any] = {"decay": (0.5,), "merge": (other,)}
    model = tb.GaussianDiscriminant().fit(np.tile(X, (2, 1)), Y * 2).set_params(own_covariance=0.5)
    before = model.predict_proba(X)
    with pytest.raises(OptionError, match="what is counted was changed"):
        getattr(model, call)(*arguments.get(call, (X, Y)))
    np.testing.assert_array_equal(model.predict_proba(X), before)
    getattr(model.set_params(own_covariance=0.0), call)(*arguments.get(call, (X, Y)))
    tb.save(model, tmp_path / "model")


def test_one_feature_is_uninformative_to_the_complement() -> None:
    """Its share is 1 in every class; divided by the sum of the weights that was 0 / 0."""
    model = tb.ComplementNB(norm=True).fit(X[:, :1], Y)
    np.testing.assert_allclose(model.predict_proba(X[:, :1]), 0.5)


HOSTILE = {
    "array": np.array([1, 2]),
    "matrix": np.array([[1.0]]),
    "0-d": np.array("a"),
    "Series": pd.Series([1, 2]),
    "NA": pd.NA,
    "NaT": pd.NaT,
    "NaN": np.nan,
    "list": [1],
    "nested": [[1], [2]],
    "dict": {"a": 1},
    "set": {1},
    "object": object(),
    "bytes": b"x",
    "huge": 2**70,
    "function": lambda: 0,
}
EVERY_OPTION = [
    (name, option)
    for name in tb.__all__
    for cls in [getattr(tb, name)]
    if inspect.isclass(cls) and hasattr(cls, "learn_one")
    for option in inspect.signature(cls).parameters
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "option"), EVERY_OPTION)
def test_an_option_of_any_value_is_taken_or_refused_in_our_words(name: str, option: str) -> None:
    assert len(EVERY_OPTION) > 150
    for value in HOSTILE.values():
        with suppress(TallybayesError):  # any other error fails here
            getattr(tb, name)(**{option: value}).fit(X, Y)


class _Odd:
    """Cannot be compared, and has no hash."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError


ODD: list[Any] = [
    np.array([1, 2]),
    np.array(3),
    np.eye(3),
    pd.NA,
    pd.NaT,
    float("nan"),
    10**400,
    1j,
    "",
    b"x",
    [],
    [[1, 2], [3]],
    {},
]
ODD += [{"a": _Odd()}, pd.Series([1, 2]), set(), object(), _Odd(), [_Odd()], int, lambda a: a, [{}], tb.GaussianNB]


@pytest.mark.parametrize("value", ODD, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize(
    "name", ["estimator", "loss", "reject", "answers", "amount_loss", "reject_label", "unlabelled", "weight", "tol"]
)
def test_hostile_options_of_estimators_around_others(name: str, value: Any) -> None:
    options: dict[str, Any] = {"estimator": tb.GaussianNB(), name: value}
    if name == "reject_label":
        options["reject"] = 0.2
    make = tb.SemiSupervised if name in ("unlabelled", "weight", "tol") else tb.BayesDecision
    with suppress(TallybayesError):
        make(**options).fit(X, Y).predict(X)


def test_one_table_of_losses_too_large_for_any_machine() -> None:
    with pytest.raises(OutOfMemoryError, match="10,000,000 classes needs 800,000"):
        read_loss(None, None, np.arange(10_000_000))


def test_memory_that_the_core_does_not_get_is_an_error_of_ours() -> None:
    """In a process of its own: DuckDB, once imported, translates std::bad_alloc of every module into its own error."""
    script = (
        "import numpy as np\n"
        "from tallybayes import _core\n"
        "from tallybayes.errors import OutOfMemoryError\n"
        "try:\n"
        "    _core.Scorer(1 << 52, np.zeros(2)).joint()\n"
        "except OutOfMemoryError as error:\n"
        "    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert "fewer" in run.stdout

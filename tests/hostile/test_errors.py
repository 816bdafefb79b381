"""Only errors of this library leave it, or scikit-learn's NotFittedError, and at the call that caused them."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

import tallybayes as tb
from tallybayes.errors import (
    AmbiguousColumnWarning,
    LabelError,
    ModelFileError,
    OptionError,
    TallybayesError,
    UnsavableLabelWarning,
)
from tests.hostile.broken_files import assemble, from_bytes, parts, to_bytes
from tests.hostile.test_hostile_model_file import place

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
C = RNG.integers(0, 3, (40, 3))
Y = np.array(["a", "b"] * 20)
HUGE = 10**400  # a number to Python, and no float

DICTS, SETS, RAGGED, PAIRS = [{}] * 40, [{1}] * 40, [[1], [1, 2]] * 20, [[1, 2]] * 40
NO_LABELS = {
    "dicts": DICTS, "sets": SETS, "ragged": RAGGED, "pairs": PAIRS, "none": [None] * 40, "complex": [1j] * 40,
    "number": 5, "text": "ab", "object": object(), "iterator": iter("ab" * 20), "set": {1, 2}, "dict": {"a": 1},
    "ragged arrays": [np.array([1]), np.array([1, 2])] * 20, "mixed": [1, "a"] * 20,
}  # fmt: skip


def _fitted(model: Any = None) -> Any:
    return (model or tb.GaussianNB()).fit(X, Y)


def _sparse(form: str, attribute: str, value: int) -> Any:
    """A sparse table of 40 rows and 3 columns in which one index is another."""
    table = sp.csr_matrix(C.astype(float)).asformat(form)
    array = getattr(table, attribute).copy()
    array[3] = value
    setattr(table, attribute, array)
    return table


def _told(value: Any) -> str:
    """The same in every process that collects these tests."""
    return type(value).__name__ if " at 0x" in repr(value) else f"{value!s:.20}"


def _cases() -> list[Any]:
    ways: dict[str, Callable[[Any], Any]] = {
        "fit": lambda y: tb.GaussianNB().fit(X, y),
        "partial_fit": lambda y: tb.GaussianNB().partial_fit(X, y, classes=["a", "b"]),
        "semi": lambda y: tb.SemiSupervised(tb.GaussianNB()).fit(X, y),
        "score": lambda y: _fitted().score(X, y),
        "semi score": lambda y: tb.SemiSupervised(tb.GaussianNB()).fit(X, Y).score(X, y),
        "leave_one_out": lambda y: _fitted().leave_one_out(X, y),
        "forget": lambda y: _fitted().forget(X, y),
        "classes": lambda y: tb.GaussianNB().partial_fit(X, Y, classes=y),
    }
    cases: dict[str, Callable[[], Any]] = {
        f"{way}: {what}": lambda f=f, y=y: f(y) for way, f in ways.items() for what, y in NO_LABELS.items()
        if (way, what) not in {("classes", "text"), ("classes", "iterator"), ("semi", "mixed"), ("classes", "dict")}
    }  # fmt: skip
    for state in ("x", -1, 1.5, 2**40, [1, -2], object(), np.random.default_rng(0)):
        cases[f"sample {_told(state)}"] = lambda s=state: _fitted().sample(5, random_state=s)
        cases[f"novelty {_told(state)}"] = lambda s=state: _fitted().novelty(random_state=s)
        cases[f"BayesClassifier {_told(state)}"] = lambda s=state: tb.BayesClassifier(random_state=s).fit(C, Y)
        cases[f"curves {_told(state)}"] = lambda s=state: tb.evaluation.learning_curves(
            tb.LinearDiscriminantAnalysis(), X, Y, random_state=s
        )
    for targets in (5, {}, [], [1.5], object(), [["a"]]):
        cases[f"targets {_told(targets)}"] = lambda t=targets: tb.BayesNetwork(targets=t).fit(X, Y)
    for value in ("x", [1], object(), float("nan"), np.array([1.0, 2.0]), True, HUGE):
        cases[f"binarize {_told(value)}"] = lambda v=value: tb.BernoulliNB(binarize=v).fit(X, Y)
    for cls in (tb.LinearDiscriminantAnalysis, tb.QuadraticDiscriminantAnalysis):
        for tol in (1e200, "x", -1, float("nan"), float("inf"), [1], None, HUGE):
            cases[f"{cls.__name__} tol {tol!s:.20}"] = lambda c=cls, t=tol: c(tol=t).fit(X, Y)
    for norm in ("x", 5, None, [1.0], np.array([1, 2])):
        cases[f"norm {norm!r}"] = lambda v=norm: tb.ComplementNB(norm=v).fit(C, Y)
    for cls in (tb.PoissonNB, tb.ComplementNB, tb.MultinomialNB, tb.BernoulliNB, tb.CategoricalNB):
        for alpha in ([1.0], "x", np.array([1.0]), None, {}, True, HUGE):
            cases[f"{cls.__name__} alpha {alpha!s:.20}"] = lambda c=cls, a=alpha: c(alpha=a).fit(C, Y)
    for form, attribute, value in (
        ("csr", "indices", 99), ("csr", "indices", 10**8), ("csr", "indices", -1), ("csr", "indptr", 999),
        ("csc", "indices", 99), ("coo", "row", 99), ("coo", "row", -1), ("coo", "col", 99), ("bsr", "indices", 99),
    ):  # fmt: skip
        bad = _sparse(form, attribute, value)
        cases[f"{form} {attribute} {value}"] = lambda b=bad: tb.GaussianNB().fit(b, Y)
        cases[f"asked {form} {attribute} {value}"] = lambda b=bad: _fitted().predict(b)
    return [pytest.param(call, id=name) for name, call in cases.items()]


@pytest.mark.parametrize("call", _cases())
def test_only_errors_of_this_library(call: Callable[[], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((TallybayesError, NotFittedError)) as refused:
            call()
    assert len(str(refused.value)) < 600


@pytest.mark.parametrize("y", [[0, 1] * 20, [b"a", b"b"] * 20])
def test_labels_that_can_never_be_right(y: Any) -> None:
    with pytest.raises(LabelError, match="mixes"):
        _fitted().score(X, y)


def test_score_counts_what_is_right() -> None:
    model, said = _fitted(), _fitted().predict(X)
    assert model.score(X, Y) == np.mean(said == Y)
    w = RNG.uniform(size=40)
    assert model.score(X, Y, w) == pytest.approx(w[said == Y].sum() / w.sum())
    w[said != Y] = 0
    assert model.score(X, Y, w) == 1
    assert model.score(X, ["c"] * 40) == 0  # a class never learned
    with pytest.raises(OptionError, match="every sample weight is zero"):
        model.score(X, Y, np.zeros(40))


@pytest.mark.parametrize(
    "model",
    [tb.QuadraticDiscriminantAnalysis(), tb.LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
     tb.GaussianDiscriminant("diagonal"), tb.GaussianNB()],
)  # fmt: skip
@pytest.mark.parametrize("weight", [1e-310, 5e-324])
def test_a_file_whose_classes_weigh_next_to_nothing(model: Any, weight: float) -> None:
    """It was loaded, and every question after that ended in a LinAlgError."""
    header, arrays = parts(to_bytes(_fitted(model)))
    for place_of in (header["model"]["weight"], header["model"]["stats"][0]["n"]):
        at = place(header, place_of["array"])
        arrays = arrays[:at] + np.float64(weight).tobytes() + arrays[at + 8 :]
    with pytest.raises(ModelFileError, match="is not one: a sum of squares is larger than"):
        from_bytes(assemble(header, arrays))


def test_labels_that_no_file_can_hold_give_a_warning_at_the_fit() -> None:
    y = pd.Series([("a", 1), ("b", 2)] * 20)
    with pytest.warns(UnsavableLabelWarning, match=r"The label \('a', 1\) is of type tuple") as said:
        model = tb.GaussianNB().fit(X, y)
    assert said[0].filename == __file__
    assert model.predict(X[:1])[0] in {("a", 1), ("b", 2)}
    with pytest.raises(ModelFileError, match="Turn it into a string, or pickle the model"):
        tb.save(model, io.BytesIO())


@pytest.mark.parametrize(
    "call",
    [
        lambda: _fitted().explain(X[:2], against=np.str_("no")),
        lambda: _fitted().sample(3, y=np.str_("no")),
        lambda: _fitted().sample(3, y=np.array(["no"] * 3)),
        lambda: _fitted().with_prior({np.str_("no"): 0.5, "a": 0.5}),
        lambda: _fitted().predict(X, priors=np.str_("no")),
        lambda: _fitted().explain(X[:2]).text(0, np.str_("no")),
        lambda: tb.BayesDecision(tb.GaussianNB(), loss={(np.str_("no"), "a"): 1.0}).fit(X, Y),
        lambda: tb.BayesDecision(tb.GaussianNB(), answers=[np.str_("no")]).fit(X, Y),
        lambda: tb.GaussianNB().partial_fit(X, Y, classes=np.array(["no", "yes"])),
        lambda: _fitted().decay(np.float64(7)),
        lambda: tb.GaussianNB(var_smoothing=np.float64(-1)).fit(X, Y),
        lambda: tb.PoissonNB(alpha=np.float64(-1)).fit(C, Y),
        lambda: tb.NaiveBayes(schema={"zz": np.str_("no")}).fit(X, Y),
        lambda: tb.NaiveBayes(schema={"x0": np.str_("no")}).fit(X, Y),
        lambda: tb.BayesDecision(tb.GaussianNB(), loss=np.zeros(3)).fit(X, Y),
    ],
)
def test_messages_speak_plainly(call: Callable[[], Any]) -> None:
    with pytest.raises(TallybayesError) as refused:
        call()
    assert "np." not in str(refused.value)
    assert ", answers, " not in str(refused.value).replace("(rows, answers, classes)", "")


def test_a_thousand_classes_make_no_thousand_words() -> None:
    model = tb.GaussianNB().fit(np.arange(2000.0)[:, None], np.arange(2000) % 1000)
    for call in (
        lambda: model.explain([[1.0]], against=7000),
        lambda: model.sample(1, y=7000),
        lambda: model.partial_fit([[1.0]], [7000], classes=range(3)),
        lambda: model.with_prior({1: 1.0}),
        lambda: model.predict([[1.0]], priors={str(k): 0.001 for k in range(1000)}),
    ):
        with pytest.raises(TallybayesError) as refused:
            call()
        assert len(str(refused.value)) < 300


def test_ambiguous_columns_are_all_named_once() -> None:
    with pytest.warns(AmbiguousColumnWarning) as said:
        tb.NaiveBayes().fit(RNG.integers(0, 3, (60, 9)), [0, 1] * 30)
    (only,) = [w for w in said if w.category is AmbiguousColumnWarning]
    assert all(f"'x{j}'" in str(only.message) for j in range(9))

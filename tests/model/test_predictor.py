"""The nouns by themselves: a Fitted that adds as its model does, a Predictor that is made once and asked often."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tallybayes as tb
from tallybayes import _core
from tallybayes.errors import OptionError, TableError, UnseenCategoryWarning
from tests.every_estimator import ESTIMATORS, LEARNED, labels

EVERY = {**ESTIMATORS, **LEARNED}


def some(name: str, n: int = 40) -> tuple[Any, Any, Any]:
    make, data = EVERY[name]
    rng = np.random.default_rng(0)
    return make(), data(rng, n), labels(rng, n)


@pytest.mark.parametrize("name", list(EVERY))
def test_a_predictor_is_made_once_and_answers_as_its_model(name: str) -> None:
    model, X, y = some(name)
    predictor = model.fit(X, y).predictor_
    rows = predictor.read(X)
    np.testing.assert_array_equal(predictor.predict_rows(rows, "proba"), model.predict_proba(X))
    np.testing.assert_array_equal(predictor.predict_rows(rows, "joint"), model.predict_joint_log_proba(X))
    np.testing.assert_array_equal(model.classes_[predictor.predict_rows(rows, "best")], model.predict(X))
    assert model.predictor_ is predictor
    before = model.fitted_
    model.partial_fit(X, y)
    assert model.predictor_ is not predictor  # it belongs to what was known then
    assert before.weight.sum() * 2 == model.fitted_.weight.sum()


@pytest.mark.parametrize("name", list(EVERY))
def test_outputs_agree_with_each_other(name: str) -> None:
    """Explanations look before they split: an error or a warning is that of a prediction."""
    model, X, y = some(name)
    predictor = model.fit(X, y).predictor_
    reported = set()
    for value in (np.inf, -1.0, 7.0, np.nan, "unseen value"):
        for j in range(X.shape[1]):
            bad = X.astype(object)
            if hasattr(bad, "iloc"):
                bad.iloc[5, j] = value
                bad = bad.astype({name: X.dtypes[name] for i, name in enumerate(X.columns) if i != j})
            else:
                bad[5, j] = value
                bad = bad if isinstance(value, str) or isinstance(X[0, 0], str) else bad.astype(float)
            said = [
                _said(lambda rows: predictor.predict_rows(rows, "proba"), predictor, bad),
                _said(predictor.check_rows, predictor, bad),
            ]
            assert said[0] == said[1]
            reported.add(said[0])
    assert len(reported) > 1  # something was refused, or warned of


def _said(ask: Any, predictor: Any, X: Any) -> tuple[str, ...]:
    """The error or the warnings of a question."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            ask(predictor.read(X))
        except (TableError, OptionError) as e:
            return (str(e),)
    return tuple(str(w.message) for w in heard)


def test_an_unknown_answer_is_refused() -> None:
    predictor = tb.GaussianNB().fit([[1.0], [2.0]], [0, 1]).predictor_
    with pytest.raises(OptionError, match="'joint', 'log_proba', 'proba', 'best', 'log_density'; got 'odds'"):
        predictor.predict_rows(predictor.read([[1.0]]), "odds")


def test_a_model_as_data_adds_and_takes_away() -> None:
    X, y = [[1.0], [2.0], [4.0], [5.0]], ["a", "b", "a", "b"]
    whole = tb.GaussianNB().fit(X, y).fitted_
    one, two = (tb.GaussianNB().fit(X[i : i + 2], y[i : i + 2]).fitted_ for i in (0, 2))
    for fitted in (one.merge(two), one.add(two), whole.add(one).subtract(one)):
        np.testing.assert_allclose(fitted.terms[0].statistics.mean, whole.terms[0].statistics.mean)
        assert fitted.weight.tolist() == whole.weight.tolist()
    assert whole.log_prior is None
    np.testing.assert_allclose(np.exp(whole.estimate("uniform").prior), [0.5, 0.5])


MATRICES = {
    "linear": lambda: tb.LinearDiscriminantAnalysis(),
    "quadratic": lambda: tb.QuadraticDiscriminantAnalysis(reg_param=0.1),
    "regularized": lambda: tb.RegularizedDiscriminantAnalysis(),
    "independent columns": lambda: tb.GaussianNB(),
    "shared, with a prior": lambda: tb.LinearDiscriminantAnalysis(priors=[0.2, 0.5, 0.3]),
    "tree": lambda: tb.TAN(),
    "tree, Laplace, many intervals": lambda: tb.TAN(smoothing="laplace", cuts="frequency", bins=300),
    "several parents": lambda: tb.KDB(k=2),
    "one parent of all": lambda: tb.SPODE(),
    "average": lambda: tb.AODE(priors=[0.2, 0.5, 0.3]),
    "average, weighted": lambda: tb.AODE(weighting="information", min_count=30),
    "average of pairs": lambda: tb.AnDE(n=2, smoothing="laplace"),
    "graph": lambda: tb.BayesNetwork([("x0", "x1"), ("x2", "x3")]),
}


def matrix(n: int = 1200, d: int = 4) -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, d)) + y[:, None], y


@pytest.mark.parametrize("name", list(MATRICES))
@pytest.mark.parametrize("how", ["proba", "log_proba", "best", "joint", "log_density"])
def test_few_rows_of_a_matrix_have_the_bits_of_a_table(name: str, how: str) -> None:
    X, y = matrix()
    predictor = MATRICES[name]().fit(X, y).predictor_
    gaps = X[:5].copy()
    gaps[2, 1] = np.nan
    forms = [X[:1], X[:7], X[:1000], X, X[:, ::-1][:5], np.asfortranarray(X[:5]), X[:9][::2], X[-2::-3, ::-1]]
    forms += [X[:6].astype(t) for t in (">f8", *"fedlgbi?O")]  # halves and byte orders of elsewhere are tables' too
    for rows in (*forms, gaps, np.full((2, 4), np.nan), X[:3].tolist()):
        np.testing.assert_array_equal(predictor.predict(rows, how), predictor.predict_rows(predictor.read(rows), how))
    other = np.log([0.5, 0.25, 0.25])
    np.testing.assert_array_equal(
        predictor.predict(X[:3], how, other), predictor.predict_rows(predictor.read(X[:3]), how, other)
    )


@pytest.mark.parametrize("name", list(MATRICES))
def test_few_rows_of_a_matrix_are_not_read_as_a_table(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = matrix()
    model = MATRICES[name]().fit(X, y)
    expected = model.predict_proba(X.tolist())[:10]
    monkeypatch.setattr(tb.model.predictor.Predictor, "read", None)
    np.testing.assert_array_equal(model.predict_proba(X[:10]), expected)
    np.testing.assert_array_equal(model.predict(X[:10]), model.classes_[expected.argmax(axis=1)])


@pytest.mark.parametrize("name", list(MATRICES))
def test_errors_of_few_rows_of_a_matrix_are_those_of_a_table(name: str) -> None:
    X, y = matrix(60)
    model = MATRICES[name]().fit(X, y)
    infinite = X[:3].copy()
    infinite[1, 2] = -np.inf
    for rows, what in (
        (infinite, r"column 'x2' has -inf \(row 1\)"),
        (X[:0], "0 sample"),
        (X[:2, :3], "3 features, but .* is expecting 4"),
        (X[0], "1D array|Reshape|dimension"),
    ):
        with pytest.raises(TableError, match=what):
            model.predict_proba(rows)


def test_a_matrix_is_read_as_a_table_where_columns_have_names_or_a_temperature_is_set() -> None:
    import pandas as pd

    X, y = matrix(60)
    named = tb.LinearDiscriminantAnalysis().fit(pd.DataFrame(X, columns=list("abcd")), y)
    with pytest.warns(UserWarning, match="feature names"):
        plain = named.predict_proba(X[:3])
    np.testing.assert_array_equal(plain, tb.LinearDiscriminantAnalysis().fit(X, y).predict_proba(X[:3]))
    hot = tb.LinearDiscriminantAnalysis(tempered=True).fit(X, y)
    assert hot.temperature_ != 1
    np.testing.assert_allclose(hot.predict_log_proba(X[:3]), hot.predict_log_proba(X)[:3], rtol=0, atol=1e-12)


def test_a_distribution_that_scores_in_its_own_way_inherits_no_fast_path() -> None:
    @dataclass(frozen=True)
    class Halved(tb.distributions.Gaussian):
        name = "halved"

        def score(self, scorer: Any, data: Any, p: Any) -> None:
            own = _core.Scorer(data.n, np.zeros(len(p.mean)))
            super().score(own, data, p)
            scorer.added(own.joint() / 2)

    X, y = matrix(80)
    model = tb.NaiveBayes(Halved()).fit(X, y)
    predictor = model.predictor_
    np.testing.assert_array_equal(model.predict_proba(X[:5]), predictor.predict_rows(predictor.read(X[:5]), "proba"))


NUMBERED = {
    "tree": lambda **kw: tb.TAN(schema="categorical", **kw),
    "average": lambda **kw: tb.AODE(schema="categorical", **kw),
    "average of pairs": lambda **kw: tb.AnDE(schema="categorical", **kw),
}


@pytest.mark.parametrize("name", list(NUMBERED))
@pytest.mark.parametrize("levels", [3, 300])
def test_whole_numbers_that_are_codes_have_the_bits_of_a_table(
    name: str, levels: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 900)
    X = np.column_stack(
        [rng.integers(0, 3, 900), (rng.integers(0, levels, 900) + y) % levels, y ^ (rng.random(900) < 0.2)]
    )
    model = NUMBERED[name]().fit(X, y)
    predictor = model.predictor_
    for rows in (X[:1], X[:50], np.asfortranarray(X[:9]), X[:7].astype(np.int16), X[:7].astype(np.uint32), X[3:9, ::1]):
        np.testing.assert_array_equal(
            predictor.predict(rows, "proba"), predictor.predict_rows(predictor.read(rows), "proba")
        )
    floats = X[:5].astype(float)
    np.testing.assert_array_equal(predictor.predict(floats, "proba"), predictor.predict(X[:5], "proba"))
    for strange in (-1, levels + 4):
        odd = X[:4].copy()
        odd[2, 1] = strange
        with pytest.warns(UnseenCategoryWarning, match="'x1'"):
            found = predictor.predict(odd, "proba")
        with pytest.warns(UnseenCategoryWarning, match="'x1'"):
            np.testing.assert_array_equal(found, predictor.predict_rows(predictor.read(odd), "proba"))
    if len(model.fitted_.terms) == 1:  # no column is apart
        expected = predictor.predict_rows(predictor.read(X[:10]), "proba")
        monkeypatch.setattr(tb.model.predictor.Predictor, "read", None)
        np.testing.assert_array_equal(model.predict_proba(X[:10]), expected)


def test_a_level_that_is_gone_is_missing_in_few_rows_of_a_matrix() -> None:
    X, y = np.array([[0, 0], [1, 1], [0, 1], [1, 0], [2, 1]]), np.array([0, 1, 0, 1, 1])
    model = tb.TAN(schema="categorical").fit(X, y).forget(X[4:], y[4:])
    predictor = model.predictor_
    np.testing.assert_array_equal(predictor.predict(X, "proba"), predictor.predict_rows(predictor.read(X), "proba"))
    np.testing.assert_array_equal(predictor.predict(X[4:], "proba"), model.predict_proba([[None, 1]]))


@pytest.mark.parametrize(
    ("levels", "cuts", "at", "here", "wrong"),
    [
        ([2, -1], None, [], None, "sizes"),
        ([2, 2], [1], [0.5], None, "sizes"),
        ([2, 2], [1, 1], [0.5], None, "add up"),
        ([2, 3], [1, 2], [0.5, 2.0, 1.0], None, "ascend"),
        ([2, 2], None, [], [True, True], "each level"),
    ],
)
def test_how_a_matrix_becomes_codes_is_checked(levels: Any, cuts: Any, at: Any, here: Any, wrong: str) -> None:
    sizes = None if cuts is None else np.array(cuts, dtype=np.int64)
    with pytest.raises(ValueError, match=wrong):
        _core.MatrixCodes(np.array(levels, dtype=np.int64), sizes, np.array(at, dtype=float), here and np.array(here))


def test_a_fast_path_is_for_the_codes_of_its_model() -> None:
    X, y = matrix(60)
    p = tb.TAN().fit(X, y).fitted_.estimate(None).terms[0].params
    codes = _core.MatrixCodes(p.sizes + 1, None, np.empty(0), None)
    with pytest.raises(ValueError, match="as many levels"):
        p.network.fast_matrix(np.zeros(3), codes)
    with pytest.raises(ValueError, match="as many classes"):
        p.network.fast_matrix(np.zeros(2), _core.MatrixCodes(p.sizes, None, np.empty(0), None))


@pytest.mark.parametrize(
    "call",
    [
        lambda p, m: _core.FastMatrix.gaussian(p, np.zeros((3, *m.shape))),
        lambda p, m: _core.FastMatrix.gaussian(p, np.zeros((4, *m[:2].shape))),
        lambda p, m: _core.FastMatrix.affine(p, m[:2], p, p[:2]),
        lambda p, m: _core.FastMatrix.affine(p, m, p[:2], m[0]),
        lambda p, m: _core.FastMatrix.affine(p, m, p, p[:1]),
        lambda p, m: _core.FastMatrix.affine(p[:0], m[:0], p[:0], m[0]),
        lambda p, m: _core.FastMatrix.quadratic(p, m, m[:2], np.zeros((1, 4, 4)), p),
        lambda p, m: _core.FastMatrix.quadratic(p, m, m, np.zeros((2, 4, 4)), p),
        lambda p, m: _core.FastMatrix.quadratic(p, m, m, np.zeros((3, 4, 3)), p),
        lambda p, m: _core.FastMatrix.quadratic(p, m, m, np.zeros((3, 4, 4)), p[:1]),
    ],
)
def test_a_fast_path_of_a_matrix_checks_its_parameters(call: Any) -> None:
    with pytest.raises(ValueError, match=r"must be|needed"):
        call(np.zeros(3), np.zeros((3, 4)))


WAITING = {
    "words": lambda: tb.NaiveBayes(schema={"a": "text"}),
    "categories": lambda: tb.CategoricalNB(),
    "both": lambda: tb.NaiveBayes({"a": "categorical"}, unseen="other"),
}


def counting(estimate: Any, asked: list[object]) -> Any:
    def wrapped(*given: Any) -> Any:
        asked.append(given[0])
        return estimate(*given)

    return wrapped


@pytest.mark.parametrize("name", list(WAITING))
def test_more_rows_are_counted_and_no_parameter_is_estimated_before_it_is_asked_for(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = [{"a": v} for v in ("red", "blue", "green", "red")], [0, 1, 1, 0]
    model, whole = WAITING[name]().fit(X, y), WAITING[name]().fit(X + X[1:], y + y[1:])
    asked: list[object] = []
    for kind in {type(t.distribution) for t in model.fitted_.terms}:
        monkeypatch.setattr(kind, "estimate", counting(kind.estimate, asked))
    model.partial_fit(X[1:], y[1:])
    assert asked == []
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
    assert len(asked) > 0


@pytest.mark.parametrize("name", list(WAITING))
def test_a_class_that_a_given_prior_does_not_name_is_refused_with_the_rows(name: str) -> None:
    X, y = [{"a": v} for v in ("red", "blue", "green", "red")], [0, 1, 1, 0]
    given: dict[str, Any] = {"class_prior": [0.4, 0.6]} if name == "categories" else {"priors": [0.4, 0.6]}
    model = WAITING[name]().set_params(**given).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(OptionError, match="prior"):
        model.partial_fit(X, [0, 1, 2, 2])
    assert model.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(model.predict_proba(X), before)


@pytest.mark.parametrize("name", list(EVERY))
def test_asking_makes_no_dictionary_whatever_the_model(name: str) -> None:
    model, X, y = some(name)
    model.fit(X, y)
    row = X[:1]
    for asked in (X, row):
        model.predict_proba(asked)
    made = _core.dictionaries_made()
    for asked in (X, row):
        for ask in (model.predict_proba, model.predict, model.predict_joint_log_proba):
            ask(asked)
    assert _core.dictionaries_made() == made

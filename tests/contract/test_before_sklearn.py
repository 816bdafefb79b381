"""Nothing that learns, answers or is kept in a file imports scikit-learn; who imports it later finds its estimators."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.datasets import load_watermelon
from tests.every_estimator import ESTIMATORS, LEARNED, labels

HEAVY = ("sklearn", "joblib", "narwhals", "pandas", "polars", "pyarrow", "matplotlib", "scipy.stats", "scipy.optimize")

ANSWERS = """
import json, sys
from tallybayes import load
for path, rows in json.load(open(sys.argv[1])):
    model = load(path)
    for row in rows:
        one = model.predict_proba_one(row)
    found = model.predict_proba(rows)
    print(json.dumps(found.tolist()))
    print(json.dumps(list(one.values())))
print("LOADED", *(m for m in {heavy!r} if m in sys.modules))
"""


def python(code: str, *args: object) -> list[str]:
    done = subprocess.run([sys.executable, "-c", code, *map(str, args)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def as_dicts(X: object) -> list[dict[str, object]]:
    if hasattr(X, "to_dict"):
        rows: list[dict[str, object]] = X.to_dict("records")
        return [{key: v for key, v in row.items() if not isinstance(v, timedelta)} for row in rows]  # no text of those
    return [{f"x{j}": value for j, value in enumerate(row)} for row in np.asarray(X).tolist()]


def test_every_model_is_loaded_and_answers_without_scikit_learn(tmp_path: Path) -> None:
    """Out of a file: the same bits, and no library but NumPy and the corners of scipy that its arithmetic needs."""
    rng = np.random.default_rng(0)
    asked, expected = [], []
    for k, (make, data) in enumerate([*ESTIMATORS.values(), *LEARNED.values()]):
        rows = as_dicts(data(rng, 60))
        model = make().fit(rows, labels(rng, 60))
        path = tmp_path / f"{k}.tb"
        tb.save(model, path)
        asked.append((str(path), rows[:2]))
        expected += [model.predict_proba(rows[:2]).tolist(), list(model.predict_proba_one(rows[1]).values())]
    (tmp_path / "asked.json").write_text(json.dumps(asked, default=str))  # dates as text
    *found, loaded = python(ANSWERS.format(heavy=HEAVY), tmp_path / "asked.json")
    assert list(map(json.loads, found)) == expected
    assert loaded == "LOADED"


@pytest.mark.parametrize("make", [tb.NaiveBayes, tb.TAN, tb.AODE])
def test_counts_and_categories_need_nothing_of_scipy(tmp_path: Path, make: type[tb.NaiveBayes]) -> None:
    rows, y = load_watermelon()
    tb.save(make().fit(rows, y), tmp_path / "model.tb")
    code = (
        "import sys, tallybayes as tb; model = tb.load(sys.argv[1]); model.predict_proba_one(eval(sys.argv[2]));"
        "heavy = 'sklearn', 'narwhals', 'scipy.special', 'scipy.linalg', 'scipy.sparse';"
        "print(*(m for m in heavy if m in sys.modules))"
    )
    assert python(code, tmp_path / "model.tb", rows[0]) == [""]


LATER = """
import pickle, sys
import numpy as np
import tallybayes as tb
X, y = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 4.0], [4.0, 3.5]]), [0, 1, 0, 1]
class Mine(tb.NaiveBayes):
    pass
models = [Mine().fit(X, y), tb.LinearDiscriminantAnalysis().fit(X, y), tb.TAN().fit(X, y)]
models += [pickle.loads(pickle.dumps(model)) for model in models]
before = [model.predict_proba(X).tolist() for model in models]
assert models[0].get_params() == models[3].get_params()
assert "sklearn" not in sys.modules
{wakes}
assert "sklearn" in sys.modules
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone, is_classifier
from sklearn.model_selection import cross_val_score
from sklearn.utils import get_tags
import sklearn
sklearn.set_config(enable_metadata_routing=True)
for model in models:
    assert isinstance(model, BaseEstimator) and isinstance(model, ClassifierMixin) and is_classifier(model)
    assert get_tags(model).input_tags.allow_nan
    assert clone(model).fit(X, y).predict_proba(X).tolist() == model.predict_proba(X).tolist()
    assert len(cross_val_score(model, X, y, cv=2)) == 2
    assert model.set_fit_request(sample_weight=True).get_metadata_routing().fit.requests["sample_weight"]
    assert model.set_params(**model.get_params()) is model
    assert repr(model) == type(model).__name__ + "()"
    assert "sklearn" in model._repr_html_()
assert [model.predict_proba(X).tolist() for model in models] == before
assert isinstance(models[1], TransformerMixin)
models[1].set_output(transform="pandas")
frame = models[1].transform(X)
assert frame.columns.tolist() == models[1].get_feature_names_out().tolist() == ["lineardiscriminantanalysis0"]
class Younger(tb.NaiveBayes):
    pass
assert Younger.__mro__[1:] == Mine.__mro__[1:]
assert not [finder for finder in sys.meta_path if type(finder).__module__.startswith("tallybayes")]
print("fine")
"""


@pytest.mark.parametrize(
    "wakes",
    [
        "import sklearn.pipeline",
        "models[0].set_params(alpha=1.0)",
        pytest.param("models[2]._repr_html_", marks=pytest.mark.slow),
        pytest.param("assert repr(models[0]) == 'Mine()'", marks=pytest.mark.slow),
        pytest.param("models[1].set_output(transform='default')", marks=pytest.mark.slow),
        "import importlib.util; importlib.util.find_spec('sklearn'); import sklearn",
    ],
)
def test_who_imports_scikit_learn_later_finds_its_estimators(wakes: str) -> None:
    assert python(LATER.format(wakes=wakes)) == ["fine"]


def test_an_unfitted_model_raises_scikit_learns_error() -> None:
    code = (
        "import sys, tallybayes as tb\n"
        "try: tb.NaiveBayes().predict([[1.0]])\n"
        "except Exception as e:\n"
        "    from sklearn.exceptions import NotFittedError\n"
        "    print(type(e) is NotFittedError)"
    )
    assert python(code) == ["True"]


def test_an_import_of_scikit_learn_that_fails_can_be_tried_again() -> None:
    code = (
        "import sys, tallybayes as tb\n"
        "model = tb.NaiveBayes().fit([[1.0], [2.0]], [0, 1])\n"
        "sys.modules['joblib'] = None\n"
        "try: import sklearn\n"
        "except ImportError: print('no')\n"
        "del sys.modules['joblib']\n"
        "for name in [m for m in sys.modules if m.startswith('sklearn')]: del sys.modules[name]\n"
        "from sklearn.base import BaseEstimator\n"
        "print(isinstance(model, BaseEstimator))"
    )
    assert python(code) == ["no", "True"]

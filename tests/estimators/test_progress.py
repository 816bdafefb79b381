"""verbose: a line on standard error where a person or a notebook watches, and not a character elsewhere."""

from __future__ import annotations

import inspect
import io
import sys
import types
from typing import Any

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import OptionError
from tallybayes.utils import progress
from tests.every_estimator import ESTIMATORS, LEARNED, labels

ALL = {**ESTIMATORS, **LEARNED}


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def opened(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Called by the test itself: pytest puts a stderr of its own between a fixture and its test."""
    found = Screen()
    monkeypatch.setattr(sys, "stderr", found)
    monkeypatch.setattr(progress, "REFRESH_SECONDS", 0.0)
    return found


def last_line(text: str) -> str:
    """What a terminal shows in the end of a line that was written over."""
    shown: list[str] = []
    for part in text.split("\r"):
        shown[: len(part)] = part
    return "".join(shown)


def data_of(name: str) -> tuple[Any, Any, Any]:
    make, data = ALL[name]
    rng = np.random.default_rng(0)
    return make(), data(rng, 60), labels(rng, 60)


@pytest.mark.parametrize("name", list(ALL))
def test_every_model_shows_progress_on_request(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = opened(monkeypatch)
    model, X, y = data_of(name)
    quiet = model.fit(X, y).predict_proba(X)
    assert screen.getvalue() == ""
    reported = model.copy().set_params(verbose=True).fit(X, y)
    said = screen.getvalue()
    assert f"tallybayes: {type(model).__name__}: counting" in said
    assert last_line(said).strip() == ""  # nothing stays
    np.testing.assert_array_equal(reported.predict_proba(X), quiet)


def test_every_model_has_the_parameter() -> None:
    models = [
        v for v in vars(tb).values() if inspect.isclass(v) and "tempered" in getattr(v, "_get_param_names", list)()
    ]
    assert len(models) > 10
    assert all("verbose" in model._get_param_names() for model in models)


@pytest.mark.parametrize("stderr", [io.StringIO(), None])
def test_nobody_watches(stderr: Any, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.setattr(sys, "stderr", stderr)
    model, X, y = data_of("GaussianNB")
    model.set_params(verbose=True).fit(X, y)
    with progress.progress("learning", 4) as advance:
        advance(3)
    assert stderr is None or stderr.getvalue() == ""
    assert capfd.readouterr() == ("", "")


def test_a_closed_screen_is_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = Screen()
    monkeypatch.setattr(sys, "stderr", closed)
    model, X, y = data_of("GaussianNB")
    closed.close()
    assert model.set_params(verbose=True).fit(X, y).is_fitted
    gone = Screen()
    monkeypatch.setattr(sys, "stderr", gone)
    with progress.telling("it", True):
        progress.stage("here")
        gone.close()
        progress.stage("there")


def test_a_notebook_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    for shell, reported in ((None, False), (object(), False), (types.SimpleNamespace(kernel=object()), True)):
        output = io.StringIO()
        ipython = types.ModuleType("IPython")
        ipython.get_ipython = lambda shell=shell: shell  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        monkeypatch.setattr(sys, "stderr", output)
        model, X, y = data_of("GaussianNB")
        model.set_params(verbose=True).fit(X, y)
        assert bool(output.getvalue()) is reported
        assert "\x1b" not in output.getvalue()  # a notebook knows no escapes that erase


def test_bars_of_grids_and_networks(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = opened(monkeypatch)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 2, 80)
    for model, what in [
        (
            tb.RegularizedDiscriminantAnalysis(own_covariance="auto", shrinkage="auto"),
            "leaving one out, for own_covariance and shrinkage",
        ),
        (
            tb.GaussianDiscriminant("diagonal", own_covariance="auto"),
            "leaving one out, for own_covariance and shrinkage",
        ),
        (tb.GaussianNB(var_smoothing="auto"), "leaving one out, for var_smoothing"),
        (tb.NaiveBayes(), "choosing distributions"),
        (tb.BayesClassifier(), "counting networks"),
    ]:
        model.set_params(verbose=True).fit(X, y)
        assert f"{what} {'█' * progress.WIDTH} 100%" in screen.getvalue(), what
        screen.truncate(0)
    tb.BayesClassifier(verbose=True, tempered=True).fit(X, y)
    for what in ("choosing networks", "choosing concentrations of back-off", "stacking", "for the temperature"):
        assert what in screen.getvalue()


def test_compare_models_shows_its_own_progress_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = opened(monkeypatch)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    tb.compare_models(X, y, folds=2)
    assert screen.getvalue() == ""
    own = {"mine": tb.GaussianNB()}
    tb.compare_models(X, y, folds=2, models=own, verbose=True)
    said = screen.getvalue()
    assert f"comparing: TAN (7 of 15) {'█' * 10}{'░' * 10} 50%" in said
    assert "mine (15 of 15)" in said
    assert "counting" not in said  # the stages of the models are not its own
    assert last_line(said).strip() == ""


def test_a_screen_of_plain_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    class Plain(Screen):
        encoding = "ascii"

    screen = Plain()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "REFRESH_SECONDS", 0.0)
    with progress.telling("it", True):
        progress.stage("here", 4)
        progress.step(2)
    assert "it: here ##########.......... 50%" in screen.getvalue()


def test_rows_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = opened(monkeypatch)
    with progress.progress("learning", 4) as advance:
        advance(3)
    assert "learning: 3 rows of 4 ███████████████░░░░░ 75%" in screen.getvalue()
    with progress.progress("reading") as advance:
        advance(3000)
    assert "reading: 3,000 rows" in screen.getvalue()


def test_what_is_no_answer_is_refused() -> None:
    with pytest.raises(OptionError, match="verbose must be True or False"):
        tb.GaussianNB(verbose="loud").fit([[1.0], [2.0]], [0, 1])  # type: ignore[arg-type]

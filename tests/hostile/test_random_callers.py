"""Some of the random callers, always the same; and that they see a fault when there is one.

The files that are made to break `load` have theirs in test_model_file.py.
"""

from __future__ import annotations

import pytest

from tests.hostile.fuzz_api import Worker, faults, run, shortened
from tests.hostile.random_calls import lines_of

CASES = 60  # in each of four runs: about ten seconds on two cores


@pytest.mark.parametrize("start", [100, 200, 300, 400])
def test_random_calls_end_in_a_sound_answer_or_a_documented_error(start: int) -> None:
    worker = Worker()
    try:
        found = [text for _, text in faults(range(start, start + CASES), worker)]
    finally:
        worker.stop()
    assert not found, "\n".join(found)


def test_a_case_is_the_same_program_each_time() -> None:
    assert lines_of(7) == lines_of(7)
    assert lines_of(7) != lines_of(8)


FITTED = ["model = tb.GaussianNB()", "X = np.eye(4)", "model.fit(X, [0, 1, 0, 1])"]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("raise KeyError('x')", "KeyError at <case>:1"),
        ("model.fit(X, [0, 1, 0, 1], nonsense=1)", "TypeError at memory_errors.py"),
        ("import warnings; warnings.warn('old', DeprecationWarning)", "DeprecationWarning from <case>:1"),
        ("model.fitted_.weight[0] = np.nan; model.fit('no table', 'none')", "changed by an error"),
        ("answer = model.partial_fit(X, [0, 1, 0, 1])", "changed by a questi"),
        ("model.predict_proba = lambda X: np.full((4, 2), np.nan); sound(model, X)", "unsound: probabilities are not"),
        ("model.predict_proba = lambda X: np.full((4, 2), 0.4); sound(model, X)", "unsound: rows do not sum to 1"),
        ("model.predict = lambda X: model.classes_[[1, 0, 1, 0]]; sound(model, X)", "unsound: predict is not"),
        ("model.predict_log_proba = lambda X: np.zeros((4, 2)); sound(model, X)", "unsound: log-probabilities are not"),
        (
            "model.predict_joint_log_proba = lambda X: X[:, :2]; sound(model, X)",
            "unsound: the log joint does not",
        ),
    ],
)
def test_faults_are_seen(line: str, kind: str) -> None:
    found = run([*FITTED, line])
    assert found is not None
    assert found.line == len(FITTED)
    assert found.kind.startswith(kind)


def test_sound_answers_and_documented_errors_are_no_faults() -> None:
    asked = ["answer = sound(model, X)", "answer = kept(model, X)", "model.fit(X, None)", "model.decay(-1)"]
    assert run([*FITTED, *asked]) is None


def test_a_crash_is_an_outcome_and_is_shortened() -> None:
    worker = Worker()
    try:
        program = ["import os", "os._exit(3)", "X = np.eye(4)"]
        fault = worker.run(program)
        assert fault is not None
        assert (fault.line, fault.kind) == (1, "crash 3")
        lines, fault = shortened(worker, program, fault)
        assert lines == ["import os", "os._exit(3)"]
        assert worker.run(FITTED) is None  # a new child is there
    finally:
        worker.stop()

"""Forks, threads that race an import, the end of the interpreter, and subinterpreters."""

from __future__ import annotations

import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from tallybayes.data.table import read_table


def _run(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=120)


FORK = """
import os, signal, threading, time
import numpy as np
from tallybayes import BayesClassifier, GaussianNB, NaiveBayes, StreamingBayes
words = np.array([f"w{i % 50}" for i in range(4000)], dtype=object)
tables = {"numbers": np.arange(40_000.0).reshape(-1, 10) % 97, "words": [{"k": w} for w in words]}
for make, kind in ((GaussianNB, "numbers"), (NaiveBayes, "words"), (BayesClassifier, "words"),
                   (StreamingBayes, "words"), (StreamingBayes, "numbers")):
    X = tables[kind]
    y = np.arange(len(X)) % 3
    model = make().fit(X, y)
    stop = threading.Event()
    def learn():
        while not stop.is_set():
            model.partial_fit(X, y)
    thread = threading.Thread(target=learn)
    thread.start()
    for wait in (0.1, 0.13, 0.17):
        time.sleep(wait)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            model.predict_proba(X[:5])
            model.partial_fit(X[:5], y[:5])
            model.learn_one(X[0] if kind == "words" else {f"x{j}": v for j, v in enumerate(X[0])}, 1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0, make.__name__
    stop.set()
    thread.join()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks there")
def test_a_child_forked_while_another_thread_learns_can_predict_and_learn() -> None:
    done = _run(FORK)
    assert done.returncode == 0, done.stderr


FORK_LEVELS = """
import os, signal, threading, time
import numpy as np, pyarrow as pa
from tallybayes import NaiveBayes
words = pa.array([f"w{i % 3000}" for i in range(200_000)])
X, y = pa.table({"k": words, "m": words}), np.arange(200_000) % 3
model = NaiveBayes().fit(X, y)
threading.Thread(target=lambda: [model.partial_fit(X, y) for _ in iter(int, 1)], daemon=True).start()
for wait in (0.05, 0.07, 0.11, 0.13, 0.17, 0.19):
    time.sleep(wait)
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        model.partial_fit(pa.table({"k": ["new"], "m": ["new"]}), [0])  # levels are added under the mutex of readers
        model.learn_one({"k": "newer", "m": "new"}, 1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
os._exit(0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks there")
def test_a_child_forked_while_another_thread_reads_levels_can_add_some() -> None:
    pytest.importorskip("pyarrow")
    done = _run(FORK_LEVELS)
    assert done.returncode == 0, done.stderr


FORK_CACHED = """
import os, signal, threading
from tallybayes.utils.cached import cached_property
class Slow:
    @cached_property
    def value(self):
        started.set()
        free.wait(60)
        return 7
started, free = threading.Event(), threading.Event()
thread = threading.Thread(target=lambda: Slow().value)
thread.start()
started.wait()
child = os.fork()
if child == 0:
    signal.alarm(20)
    free = threading.Event()
    free.set()
    os._exit(Slow().value)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
free.set()
thread.join()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="nothing forks there")
def test_a_child_forked_while_another_thread_computes_a_cached_value() -> None:
    done = _run(FORK_CACHED)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["scipy.sparse", "pandas", "pyarrow"])
def test_a_module_that_another_thread_is_still_importing(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """It is in sys.modules before it has any names."""
    monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    assert read_table(np.ones((3, 2))).d == 2
    assert read_table([{"a": 1.0}]).d == 1


RACE = """
import threading
import numpy as np
from tallybayes import NaiveBayes
X, y = [{"a": "x y z w v", "b": float(i)} for i in range(40)], [i % 2 for i in range(40)]
start, failed = threading.Barrier(6), []
def first_call(k):
    start.wait()
    try:
        if k % 2:
            import scipy.sparse
        NaiveBayes(schema={"a": "text"}).fit(X, y).predict_proba(X)
        NaiveBayes().fit(np.arange(80.0).reshape(-1, 2), y)
    except Exception as e:
        failed.append(e)
threads = [threading.Thread(target=first_call, args=(k,)) for k in range(6)]
[t.start() for t in threads]
[t.join() for t in threads]
assert not failed, failed
"""


def test_threads_whose_first_calls_import_together() -> None:
    done = _run(RACE)
    assert done.returncode == 0, done.stderr


AT_EXIT = """
import atexit
import numpy as np
from tallybayes import GaussianNB, NaiveBayes
X, y = np.arange(200_000.0).reshape(-1, 10) % 97, np.arange(20_000) % 3
for make in (GaussianNB, NaiveBayes):
    atexit.register(lambda model: model.predict_proba(X), make().fit(X, y))
"""


def test_a_prediction_while_python_ends() -> None:
    done = _run(AT_EXIT)
    assert (done.returncode, done.stderr) == (0, "")


DAEMONS = """
import threading, time
import numpy as np
from tallybayes import TAN, GaussianNB, NaiveBayes
X, y = np.arange(400_000.0).reshape(-1, 10) % 97, np.arange(40_000) % 3
words = np.array([f"w{i % 3000}" for i in range(40_000)], dtype=object).reshape(-1, 1)
for model, table in ((GaussianNB(), X), (TAN(), X), (NaiveBayes(), words)):
    model.fit(table, y)
    for act in (lambda m=model, t=table: m.predict_proba(t), lambda m=model, t=table: m.partial_fit(t, y)):
        threading.Thread(target=lambda act=act: [act() for _ in iter(int, 1)], daemon=True).start()
time.sleep(0.2)
"""


def test_daemon_threads_that_learn_and_predict_while_python_ends() -> None:
    done = _run(DAEMONS)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_binding_releases_the_gil_so_that_a_daemon_thread_can_end() -> None:
    """nanobind's own guard is unwound by a thread that ends with Python, which aborts the process."""
    bindings = Path(__file__).parents[2] / "cpp" / "bind"
    assert [path.name for path in sorted(bindings.glob("*.?pp")) if "gil_scoped_release" in path.read_text()] == []


def test_a_subinterpreter_is_refused_in_one_sentence() -> None:
    interpreters = pytest.importorskip("_xxsubinterpreters" if sys.version_info < (3, 13) else "_interpreters")
    inside = (
        "try:\\n    import tallybayes._core\\n"
        "except ImportError as e:\\n    assert 'main interpreter only' in str(e), e\\n"
        "else:\\n    raise AssertionError('it was imported')"
    )
    for before in ("", "import tallybayes._core\n"):
        done = _run(f'{before}import {interpreters.__name__} as i\nk = i.create()\ni.run_string(k, """{inside}""")')
        assert done.returncode == 0, done.stderr

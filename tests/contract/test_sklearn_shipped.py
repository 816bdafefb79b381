"""Runs scikit-learn's shipped tests of naive Bayes on our classes; see sklearn_shipped.py for the exceptions."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.contract.sklearn_shipped import EXCEPTIONS


def test_shipped_tests_pass() -> None:
    script = Path(__file__).with_name("sklearn_shipped.py")
    run = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-2000:]
    passed = re.search(r"(\d+) passed", run.stdout)
    assert passed is not None
    assert int(passed.group(1)) >= 60


def test_every_exception_has_a_reason() -> None:
    assert all(len(reason) > 20 for reason in EXCEPTIONS.values())

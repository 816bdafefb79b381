"""show_versions, and the choice of an instruction set that it tells of."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import numpy
import pytest

import tallybayes
from tallybayes import _core
from tallybayes.utils import versions

CPP = Path(__file__).parents[2] / "cpp"


def in_a_new_process(code: str, isa: str | None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "TALLYBAYES_ISA"}
    if isa is not None:
        environment["TALLYBAYES_ISA"] = isa
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)


def used_with(isa: str | None) -> tuple[str, str, str]:
    """The instruction set used, why, and the warnings."""
    ran = in_a_new_process("from tallybayes import _core; print(*_core.isa_choice()[2:], sep='\\n')", isa)
    assert ran.returncode == 0, ran.stderr
    used, why = ran.stdout.splitlines()
    return used, why, ran.stderr


def test_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert tallybayes.show_versions() is None
    lines = capsys.readouterr().out.splitlines()
    said = versions.versions()
    assert len(lines) == len(said)
    for line, (name, value) in zip(lines, said.items(), strict=True):
        assert line.startswith(name)
        assert line.endswith(value)
    assert said["tallybayes"] == tallybayes.__version__
    assert said["numpy"] == numpy.__version__
    assert said["threads"] == str(_core.threads())
    assert said["python"].startswith(f"{sys.version_info.major}.{sys.version_info.minor}.")
    assert said["compiler"].startswith(("GCC ", "Clang "))


def test_every_package_that_is_needed_is_named() -> None:
    needed = {re.split(r"[^\w.-]", line)[0] for line in requires("tallybayes") or [] if "extra ==" not in line}
    assert needed == set(versions._PACKAGES)


def test_a_package_that_is_not_there() -> None:
    assert versions._installed("no-such-package-as-this") == "not installed"


def test_the_highest_that_is_supported_is_used() -> None:
    compiled, supported, _, _ = _core.isa_choice()
    assert compiled[: len(supported)] == supported
    used, why, warned = used_with(None)
    assert used == supported[-1]
    assert why == "the highest that was compiled and that this processor supports"
    assert warned == ""


NEEDS = {
    "avx2": {"avx2", "fma", "bmi1", "bmi2", "popcnt"},
    "avx512": {"avx512f", "avx512dq", "avx512bw", "avx512vl"},
}


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="only Linux tells there what a processor has")
def test_what_the_processor_has_is_what_the_system_reports() -> None:
    said = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    flags = set(said[1].split()) if said else set()
    compiled, supported, _, _ = _core.isa_choice()
    assert supported == [isa for isa in compiled if NEEDS.get(isa, set()) <= flags]


@pytest.mark.parametrize("isa", _core.isa_choice()[1])
def test_the_environment_names_one(isa: str) -> None:
    used, why, warned = used_with(isa)
    assert used == isa
    assert f"TALLYBAYES_ISA is '{isa}'" in why
    assert warned == ""


@pytest.mark.parametrize(
    "isa", ["sse9", "AVX2", *[name for name in ("avx2", "avx512") if name not in _core.isa_choice()[1]]]
)
def test_the_environment_names_one_that_cannot_be_used(isa: str) -> None:
    used, why, warned = used_with(isa)
    assert used == _core.isa_choice()[1][-1]
    assert "RuntimeWarning" in warned
    complaint = "does not have" if isa in ("avx2", "avx512") else "none of base, avx2 and avx512"
    for text in (why, warned):
        assert f"TALLYBAYES_ISA is '{isa}'" in text
        assert complaint in text
        assert "ignored" in text


def test_nothing_in_the_environment_is_as_no_variable() -> None:
    assert used_with("") == used_with(None)


def test_every_kernel_has_a_probe_in_the_cpp_tests() -> None:
    declared = {
        name
        for header in (CPP / "kernels").glob("*.hpp")
        for name in re.findall(r"TB_DECLARE\([\w:]+, (\w+),", header.read_text())
    }
    checked = {
        name
        for source in (CPP / "test" / "kernels").glob("probe_*pp")
        for name in re.findall(r"TB_CALL_AT\(\s*[\w.]+,\s*(\w+)", source.read_text())
    }
    assert declared == checked

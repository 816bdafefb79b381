"""tools/lines.py: which lines ran is reported of the processes that wrote it to the end."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from coverage import CoverageData

TOOL = Path(__file__).parents[2] / "tools" / "lines.py"
spec = importlib.util.spec_from_file_location("lines", TOOL)
assert spec is not None
assert spec.loader is not None
lines = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lines)


def written(path: Path) -> bytes:
    data = CoverageData(str(path))
    data.add_lines({f"module_{i}.py": set(range(1, 400)) for i in range(40)})
    data.write()
    return path.read_bytes()


def test_a_whole_file_is_taken(tmp_path: Path) -> None:
    written(tmp_path / "ran")
    assert lines.readable(tmp_path / "ran")


@pytest.mark.parametrize("share", [0.01, 0.3, 0.6])
def test_a_file_that_ends_too_soon_is_left_out(
    tmp_path: Path, share: float, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = written(tmp_path / "ran")
    (tmp_path / "ran").write_bytes(whole[: int(share * len(whole))])
    assert not lines.readable(tmp_path / "ran")
    assert "Left out" in capsys.readouterr().out


@pytest.mark.parametrize("page", range(0, 60, 3))
def test_what_is_taken_can_be_added(tmp_path: Path, page: int) -> None:
    """Pages that were never written are zeros."""
    whole = bytearray(written(tmp_path / "torn"))
    whole[4096 * page : 4096 * (page + 1)] = bytes(len(whole[4096 * page : 4096 * (page + 1)]))
    (tmp_path / "torn").write_bytes(whole)
    if lines.readable(tmp_path / "torn"):
        both, torn = CoverageData(str(tmp_path / "both")), CoverageData(str(tmp_path / "torn"))
        written(tmp_path / "both")
        both.read()
        torn.read()
        both.update(torn)
        assert both.lines("module_7.py") == list(range(1, 400))

"""cpp/bind keeps to Python's stable ABI (one wheel for 3.12 and later), though the compiler asks only there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

BIND = Path(__file__).parents[2] / "cpp" / "bind"
INSIDE = re.compile(
    r"\bPy[A-Z]\w*_(?:SET_ITEM|GET_ITEM|GET_SIZE|GET_LENGTH|AS_[A-Z]+|DATA|KIND|READ)\b|->(?:tp|ob|nb)_\w+"
)
UNLIMITED = re.compile(r"#if defined\(Py_LIMITED_API\).*?#else(.*?)#endif", re.DOTALL)


def outside(text: str) -> list[str]:
    """Names of what the stable ABI does not have, but for what stands under an #else for those who have more."""
    return [found.group() for found in INSIDE.finditer(UNLIMITED.sub("", text))]


@pytest.mark.parametrize("path", sorted(BIND.glob("*.?pp")), ids=lambda path: path.name)
def test_nothing_looks_inside_of_objects(path: Path) -> None:
    assert outside(path.read_text()) == []


def test_what_looks_inside_is_found() -> None:
    assert outside("PyTuple_SET_ITEM(t, 0, x); Py_TYPE(x)->tp_name; PyTuple_SetItem(t, 0, x)") == [
        "PyTuple_SET_ITEM",
        "->tp_name",
    ]
    assert outside("#if defined(Py_LIMITED_API)\na\n#else\nPyUnicode_DATA(x)\n#endif") == []

"""The lowest versions that pyproject.toml allows, as requirements for pip.

`make lowest` installs them and runs the tests of the contract and of the command line on them, so that what the file
says of versions is true. Tools that only look at the sources are left out.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parent.parent / "pyproject.toml"
EXTRAS = ("test", "cli", "plot")
TOOLS = ("ruff", "mypy", "import-linter", "clang-format", "numpydoc")
NOT_RUN = ("onnx", "onnxruntime", "mlflow-skinny", "river")  # their tests are not among those of `make lowest`


def lowest() -> list[str]:
    """'numpy>=1.26' → 'numpy==1.26'; one requirement for each package, the lowest that is named."""
    document = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    project = document["project"]
    named = [
        *document["build-system"]["requires"],
        *project["dependencies"],
        *(requirement for extra in EXTRAS for requirement in project["optional-dependencies"][extra]),
    ]
    found = {}
    for requirement in named:
        name, version = re.split(r">=|==", requirement)
        if name not in (*TOOLS, *NOT_RUN):
            assert found.setdefault(name, version) == version, f"{name} has two lowest versions"
    return [f"{name}=={version}" for name, version in sorted(found.items())]


if __name__ == "__main__":
    print(*lowest())

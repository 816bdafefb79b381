"""What a report of a problem should say about the machine it happened on."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from tallybayes import __version__, _core

# What tallybayes needs, then what it can work with.
_PACKAGES = ("numpy", "scipy", "scikit-learn", "narwhals", "threadpoolctl")
_OPTIONAL = ("pandas", "polars", "pyarrow", "matplotlib", "networkx", "typer", "skops")


def versions() -> dict[str, str]:
    """What show_versions prints, by name."""
    compiled, supported, used, why = _core.isa_choice()
    return {
        "python": sys.version.replace("\n", " "),
        "platform": platform.platform(),
        "tallybayes": __version__,
        **{name: _installed(name) for name in (*_PACKAGES, *_OPTIONAL)},
        "compiler": _core.COMPILER,
        "instruction sets compiled": ", ".join(compiled),
        "instruction sets supported": ", ".join(supported),
        "instruction set used": f"{used} ({why})",
        "threads": str(_core.threads()),
    }


def show_versions() -> None:
    """Print versions, compiler, instruction sets and threads, for bug reports.

    One line each: Python, the platform, tallybayes, the packages it can use and whether they are installed, the
    compiler of the core, the instruction sets that were compiled, those that this processor supports, the one in use
    and why, and how many threads a call may use.

    The instruction set is the highest that was compiled and that the processor supports. The environment variable
    ``TALLYBAYES_ISA`` (``base``, ``avx2`` or ``avx512``) selects a lower one. A name that is unknown, or that the
    processor does not support, is ignored with a RuntimeWarning. The command ``tallybayes check`` compares the
    predictions of each instruction set with those of ``base``.

    Returns
    -------
    None
        The lines go to the standard output.

    Examples
    --------
    >>> import tallybayes
    >>> tallybayes.show_versions()  # doctest: +SKIP
    python                     3.13.1 (main, Jan  1 2025, 00:00:00) [GCC 12.2.0]
    platform                   Linux-6.1.0-x86_64-with-glibc2.36
    tallybayes                 0.2.0
    numpy                      2.2.1
    ...
    compiler                   GCC 12.2.0
    instruction sets compiled  base, avx2, avx512
    instruction sets supported base, avx2
    instruction set used       avx2 (the highest that was compiled and that this processor supports)
    threads                    2
    """
    said = versions()
    width = max(map(len, said))
    for name, value in said.items():
        print(f"{name:{width}} {value}")


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"

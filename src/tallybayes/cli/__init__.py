"""The command line: thin faces of the library. `tallybayes --help`."""

from __future__ import annotations

import sys


def main() -> None:
    """The program `tallybayes`."""
    from tallybayes.cli import start

    start.own_process()
    try:
        from tallybayes.cli.app import app
    except ModuleNotFoundError as e:
        if e.name not in ("typer", "click"):
            raise
        print(
            "tallybayes: the command line needs more than the library: pip install 'tallybayes[cli]'", file=sys.stderr
        )
        sys.exit(1)
    start.run(app)

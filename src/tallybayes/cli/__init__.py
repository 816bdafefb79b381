"""The command line: thin faces of the library. `tallybayes --help`."""

from __future__ import annotations

import os
import signal
import sys


def main() -> None:
    """The program `tallybayes`."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stopped_at_once)
    try:
        from tallybayes.cli import start

        start.own_process()
        from tallybayes.cli.commands import app
    except ImportError as e:
        needs = "The command line needs more than the library: pip install 'tallybayes[cli]'"
        print(f"tallybayes: {e}. {needs}", file=sys.stderr)
        sys.exit(1)
    start.run(app)


def _stopped_at_once(*_: object) -> None:
    """Before anything is imported there is nothing to remove."""
    os.write(2, b"tallybayes: stopped; nothing was changed\n")
    os._exit(130)

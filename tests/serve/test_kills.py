"""A few kills of a service under load; `make test-kills` makes it two hundred."""

from __future__ import annotations

import os

from . import kills


def test_nothing_acknowledged_is_lost() -> None:
    kills.main(int(os.environ.get("TALLYBAYES_KILLS", "4")))

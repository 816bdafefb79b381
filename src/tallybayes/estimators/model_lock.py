"""The lock of a model: what several threads learn is all learned, and a forked child finds it free."""

from __future__ import annotations

import os
from typing import Any
from weakref import WeakSet

from tallybayes import _core

_locked: WeakSet[Any] = WeakSet()  # models that have a lock


def lock_of(model: Any) -> _core.Lock:
    """The lock of this model, made when it is first asked for: one writer at a time."""
    lock: _core.Lock | None = model.__dict__.get("_lock")
    if lock is None:
        lock = model.__dict__.setdefault("_lock", _core.Lock())
        _locked.add(model)
    return lock


def _renew_locks() -> None:
    """In a forked child: a thread that had a lock is not there to release it."""
    for model in list(_locked):
        model.__dict__.pop("_lock", None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)

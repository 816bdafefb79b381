"""The lock of a model: what several threads learn is all learned, and a forked child finds it free."""

from __future__ import annotations

import os
from weakref import WeakSet

from tallybayes import _core


class Locked:
    """A model with a lock of its own, made when it is first asked for."""

    _lock: _core.Lock

    def _learning(self) -> _core.Lock:
        """The lock of this model, one writer at a time: what several threads add is all learned."""
        lock: _core.Lock | None = self.__dict__.get("_lock")
        if lock is None:
            lock = self.__dict__.setdefault("_lock", _core.Lock())
            _locked.add(self)
        return lock


_locked: WeakSet[Locked] = WeakSet()  # models that have a lock


def _renew_locks() -> None:
    """In a forked child: a thread that had a lock is not there to release it."""
    for model in list(_locked):
        model.__dict__.pop("_lock", None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)

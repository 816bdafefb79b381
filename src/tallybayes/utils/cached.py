"""functools.cached_property without the lock that it has up to Python 3.11.

That lock is one for all instances of a class and is not renewed in a forked child: a child whose parent was computing
the value in another thread waited for ever. Two threads may compute the same value; the last one stays.
"""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801
        """A property that is computed once for each instance, and then is an attribute of it."""

        def __get__(self, instance: object, owner: type | None = None) -> object:
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value


__all__ = ["cached_property"]

"""A table as it comes: reading, column kinds, schema, labels, encoding."""

from typing import TYPE_CHECKING

from tallybayes.utils.lazy_imports import lazy_exports

if TYPE_CHECKING:
    from tallybayes.data.schema import Schema

__all__ = ["Schema"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "data.schema": ("Schema",),
    },
)

"""What the estimators say aloud, and options that several of them share."""

from __future__ import annotations

from tallybayes.errors import AmbiguousColumnWarning, OptionError, listing, warn
from tallybayes.schema import Schema


def warn_ambiguous(schema: Schema) -> None:
    names = [schema.name(j) for j in schema.ambiguous]
    warn(
        f"Integer column(s) with few values taken as numbers: {listing(names)}. If they are categories say "
        f"schema={{{names[0]!r}: 'categorical'}}; to keep them as numbers without this warning say "
        f"schema={{{names[0]!r}: 'real'}}.",
        AmbiguousColumnWarning,
    )


def unseen_policy(value: str) -> str:
    if value not in ("ignore", "other", "error"):
        raise OptionError(f"unseen must be 'ignore', 'other' or 'error'; got {value!r}.")
    return value

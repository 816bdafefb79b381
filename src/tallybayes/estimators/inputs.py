"""What the estimators say aloud, and options that several of them share."""

from __future__ import annotations

import numpy as np

from tallybayes.data.schema import Schema
from tallybayes.errors import AmbiguousColumnWarning, OptionError, brief, listing, warn


def warn_ambiguous(schema: Schema) -> None:
    names = [schema.name(j) for j in schema.ambiguous]
    warn(
        f"Integer column(s) with few values taken as numbers: {listing(names, most=20)}. If they are categories say "
        f"schema={{{names[0]!r}: 'categorical'}}; to keep them as numbers without this warning say "
        f"schema={{{names[0]!r}: 'real'}}.",
        AmbiguousColumnWarning,
    )


def unseen_policy(value: str) -> str:
    if value not in ("ignore", "other", "error"):
        raise OptionError(f"unseen must be 'ignore', 'other' or 'error'; got {brief(value)}.")
    return value


def random_of(state: object) -> np.random.RandomState:
    """As scikit-learn reads random_state."""
    if isinstance(state, np.random.RandomState):
        return state
    from sklearn.utils import check_random_state

    try:
        found: np.random.RandomState = check_random_state(state)
    except ValueError:
        raise OptionError(f"random_state must be a whole number, a RandomState or None; got {brief(state)}.") from None
    return found

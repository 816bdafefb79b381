"""Parameters that several estimators share: what each may be, and what no parameter of any estimator can be."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes.errors import OptionError, brief, is_label, is_number

if TYPE_CHECKING:
    from tallybayes.estimators.state import ModelState
    from tallybayes.estimators.wrapper import Wrapper

AUTO = "auto"
BALANCED = "balanced"
MEMORIES = {
    "sums": "'sums' (statistics alone)",
    "hashes": "'hashes' (and a hash of each row)",
    "sample": "'sample' (and a bounded sample of rows)",
    "rows": "'rows' (all rows)",
}
SUMS = ("sums", "hashes")  # memories that hold no row
# options that may be arrays, tables or objects: each is read, or refused, where it is used
STRUCTURED = frozenset(
    (
        "alpha",
        "amount_loss",
        "answers",
        "class_prior",
        "class_weight",
        "covariance_estimator",
        "distributions",
        "estimator",
        "graph",
        "loss",
        "min_categories",
        "parts",
        "priors",
        "random_state",
        "schema",
        "targets",
    )
)


def check_shared(model: ModelState) -> None:
    """OptionError if a parameter that every classifier has is outside what is allowed."""
    check_single_values(model)
    if not isinstance(model.tempered, bool | np.bool_):
        raise OptionError(f"tempered must be True or False; got {brief(model.tempered)}.")
    if not isinstance(model.verbose, bool | np.bool_ | int):
        raise OptionError(f"verbose must be True or False; got {brief(model.verbose)}.")
    check_class_weight(model.class_weight)
    rows = model.half_life
    auto = isinstance(rows, str) and rows == AUTO
    forever = isinstance(rows, float) and rows == float("inf")
    if rows is not None and not auto and not forever and (not is_number(rows) or float(rows) < 1):
        raise OptionError(f"half_life must be None, 'auto' or a number of rows of at least 1; got {brief(rows)}.")
    if auto and model.tempered:
        raise OptionError("tempered=True chooses one temperature, and half_life='auto' mixes several models. Set one.")
    _check_memory(model)


def memory_of(model: ModelState) -> str:
    """What the model keeps of its rows; OptionError unless it is one of the memories that it has."""
    memory: object = model.memory
    if not isinstance(memory, str) or memory not in model._memories:
        allowed = ", ".join(MEMORIES[m] for m in model._memories)
        raise OptionError(f"memory of {type(model).__name__} must be {allowed}; got {brief(memory)}.")
    return memory


def _check_memory(model: ModelState) -> None:
    """OptionError unless the memory goes with the other options."""
    memory = memory_of(model)
    if memory != "sums" and model.half_life is not None:
        raise OptionError(
            f"memory={memory!r} keeps rows or their hashes without their order, and half_life makes older ones count "
            "less. Set one of them to its default, or call decay(factor), which scales the weights of all rows."
        )


def check_single_values(model: ModelState | Wrapper) -> None:
    """OptionError if an option that is one value is an array, a table or NA: comparing these is ambiguous."""
    kind: Any = type(model)
    names = _parameters_of(kind)
    for name in names:
        value = getattr(model, name)
        if name in ("priors", "class_prior"):
            given_prior(model, name)
        single = name not in STRUCTURED or (name == "alpha" and "smoothing" in names)
        if (single and _ambiguous(value)) or value is np.ma.masked:
            raise OptionError(f"{name} must be one value, not {type(value).__name__}; got {brief(value)}.")


@cache
def _parameters_of(cls: Any) -> list[str]:
    """The names of its parameters: to read a signature takes as long as to learn a row."""
    return list(cls._get_param_names())


def given_prior(model: ModelState | Wrapper, name: str) -> object:
    """A prior as it was given; OptionError if it is a function."""
    value: object = getattr(model, name, None)
    if callable(value):
        raise OptionError(
            f"{name} must be None, 'uniform', 'laplace', a number for each class, or a dict by label; got "
            f"{brief(value)}."
        )
    return value


def _ambiguous(value: object) -> bool:
    """Whether it is an array, or pandas' NA."""
    array = hasattr(value, "__array__") and not isinstance(value, np.generic)
    return (array and np.ndim(value) > 0) or type(value).__name__ == "NAType"  # type: ignore[arg-type]


def check_class_weight(given: object) -> None:
    """OptionError unless these are weights of classes."""
    if given is None or (isinstance(given, str) and given == BALANCED):
        return
    if not isinstance(given, Mapping):
        raise OptionError(f"class_weight must be None, 'balanced' or a dict by label; got {brief(given)}.")
    check_weights(given)


def check_weights(given: Mapping[Any, Any]) -> None:
    """OptionError if a weight is no number above 0."""
    for label, weight in given.items():
        if not is_number(weight) or not 0 < weight < np.inf:
            raise OptionError(
                f"class_weight must be finite numbers above 0; got {brief(weight)} for the class {brief(label)}."
            )


def check_var_smoothing(given: Any) -> None:
    """OptionError unless it is a number of at least 0, or 'auto'."""
    if not (isinstance(given, str) and given == AUTO) and (not is_number(given) or given < 0):
        raise OptionError(f"var_smoothing must be a number of at least 0, or 'auto'; got {brief(given)}.")


def unseen_policy(value: str) -> str:
    """The same; OptionError unless it says what to do with a category unseen."""
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


def check_label(name: str, value: object) -> None:
    """OptionError unless an option can be a label: something with a hash that can be compared."""
    if not is_label(value):
        raise OptionError(f"{name} must be a label such as a text or a number; got {brief(value)}.")

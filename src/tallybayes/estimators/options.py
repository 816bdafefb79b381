"""The error contract of options: what no option of any estimator can be is refused before anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tallybayes.errors import OptionError, brief

if TYPE_CHECKING:
    from tallybayes.estimators.state import ModelState

# options that may be arrays, tables or objects: each is read, or refused, where it is used
STRUCTURED = frozenset(
    (
        "alpha",
        "class_prior",
        "class_weight",
        "covariance_estimator",
        "distributions",
        "graph",
        "min_categories",
        "parts",
        "priors",
        "random_state",
        "schema",
        "targets",
    )
)
ALPHA_IS_ONE_NUMBER = ("smoothing", "covariance", "shrinkage")  # beside one of these


def check_single_values(model: ModelState) -> None:
    """OptionError if an option that is one value is an array, a table or NA: comparing these is ambiguous."""
    names = model._get_param_names()
    one_alpha = any(name in names for name in ALPHA_IS_ONE_NUMBER)
    for name in names:
        value = getattr(model, name)
        if name in ("priors", "class_prior") and callable(value):
            raise OptionError(
                f"{name} must be None, 'uniform', 'laplace', a number for each class, or a dict by label; got "
                f"{brief(value)}."
            )
        single = name not in STRUCTURED or (name == "alpha" and one_alpha)
        if single and _ambiguous(value):
            raise OptionError(f"{name} must be one value, not {type(value).__name__}; got {brief(value)}.")


def _ambiguous(value: object) -> bool:
    """Whether it is an array, or pandas' NA."""
    array = hasattr(value, "__array__") and not isinstance(value, np.generic)
    return (array and np.ndim(value) > 0) or type(value).__name__ == "NAType"  # type: ignore[arg-type]

"""Memory that is not to be had: one error, with the sizes of what was asked, from every public call of an estimator."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sized
from typing import Any, TypeVar

import numpy as np

from tallybayes.errors import OutOfMemoryError

Class = TypeVar("Class", bound=type)
CALLS = (
    "fit",
    "partial_fit",
    "forget",
    "temper",
    "relearn",
    "predict",
    "predict_proba",
    "predict_log_proba",
    "predict_joint_log_proba",
    "score_samples",
    "score",
    "leave_one_out",
    "sample",
    "log_likelihood",
    "explain",
    "novelty",
    "logistic",
    "quadratic",
    "adapt_prior",
)


def name_sizes(cls: Class) -> Class:
    """MemoryError of these calls, where this class defines them, becomes an OutOfMemoryError that names the sizes."""
    for name in CALLS:
        call = cls.__dict__.get(name)
        if callable(call) and not hasattr(call, "_names_sizes"):
            setattr(cls, name, _named(call, name))
    return cls


def _named(call: Callable[..., Any], name: str) -> Callable[..., Any]:
    @functools.wraps(call)
    def named(self: Any, *args: Any, **options: Any) -> Any:
        try:
            return call(self, *args, **options)
        except MemoryError as e:
            if getattr(e, "sized", False):  # by require_memory, or by a call inside this one
                raise
            raise _error(self, name, args, options, str(e)) from e

    named._names_sizes = True  # type: ignore[attr-defined]
    return named


def _error(model: Any, name: str, args: tuple[Any, ...], options: dict[str, Any], said: str) -> OutOfMemoryError:
    """What was asked, of how much."""
    X = args[0] if args else options.get("X")
    y = args[1] if len(args) > 1 else options.get("y")
    shape = getattr(X, "shape", None) or ((len(X),) if isinstance(X, Sized) else ())
    sizes = [f"a table of {' × '.join(f'{n:,}' for n in shape)}"] if shape else []
    classes = _classes(model, y)
    sizes += [f"{classes:,} classes"] if classes else []
    error = OutOfMemoryError(
        f"There is not enough memory for {type(model).__name__}.{name}"
        f"{' of ' + ' and '.join(sizes) if sizes else ''}. Give fewer rows at a time, fewer classes, columns or "
        "levels, or a simpler model." + (f" ({said.rstrip('.')}.)" if "allocate" in said else "")
    )
    error.sized = True
    return error


def _classes(model: Any, y: Any) -> int:
    """How many classes there are, as far as the memory that is left allows."""
    try:
        return len(np.unique(np.asarray(y))) if y is not None else len(model.classes_)
    except Exception:
        return 0

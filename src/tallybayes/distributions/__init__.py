"""The distributions a column can follow, by name. `register` adds another."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from tallybayes.distributions.base import Distribution, SimpleDistribution
from tallybayes.distributions.bernoulli import Bernoulli, Threshold
from tallybayes.distributions.categorical import Binned, Categorical
from tallybayes.distributions.counts import Complement, Multinomial, Poisson
from tallybayes.distributions.gaussian import Gaussian
from tallybayes.distributions.kernel import Kernel
from tallybayes.errors import OptionError, brief

__all__ = [
    "Bernoulli",
    "Binned",
    "Categorical",
    "Complement",
    "Distribution",
    "Gaussian",
    "Kernel",
    "Multinomial",
    "Poisson",
    "SimpleDistribution",
    "Threshold",
    "distribution",
    "known",
    "register",
    "registered",
]

_REGISTRY: dict[str, tuple[type[Distribution], dict[str, Any]]] = {
    "gaussian": (Gaussian, {}),
    "categorical": (Categorical, {}),
    "bernoulli": (Bernoulli, {}),
    "multinomial": (Multinomial, {}),
    "complement": (Complement, {}),
    "poisson": (Poisson, {}),
    "kernel": (Kernel, {}),
    "mdl": (Binned, {"method": "mdl"}),
    "width": (Binned, {"method": "width"}),
    "frequency": (Binned, {"method": "frequency"}),
}


def register(cls: type[Distribution]) -> type[Distribution]:
    """Makes a distribution available by its `name`; usable as a class decorator."""
    if not (isinstance(cls, type) and issubclass(cls, Distribution)):
        raise OptionError(f"register takes a subclass of Distribution; got {brief(cls)}.")
    if not isinstance(getattr(cls, "name", None), str):
        raise OptionError(f"{cls.__name__} must have a name: write name = '…' in its body.")
    if not dataclasses.is_dataclass(cls):
        raise OptionError(f"{cls.__name__} must be a frozen dataclass: put @dataclass(frozen=True) above it.")
    known = _REGISTRY.get(cls.name)
    if known is not None and known[0].__module__.startswith("tallybayes."):
        raise OptionError(f"The name {cls.name!r} belongs to a distribution of the library. Choose another.")
    _REGISTRY[cls.name] = (cls, {})
    return cls


def registered() -> tuple[str, ...]:
    """The names that `distributions=` understands."""
    return tuple(_REGISTRY)


def known() -> dict[str, type[Distribution]]:
    """Every class by its own name: the library's, and what was registered in this process."""
    own: dict[str, type[Distribution]] = {}
    waiting = Distribution.__subclasses__()
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if cls.__module__.startswith("tallybayes.") and "name" in vars(cls):
            own[cls.name] = cls
    return {**{cls.name: cls for cls, _ in _REGISTRY.values()}, **own}


def distribution(what: Any, options: Mapping[str, Any]) -> Distribution:
    """A distribution from its name (with the estimator's options), or the instance given."""
    if isinstance(what, Distribution):
        return what
    if not isinstance(what, str) or what not in _REGISTRY:
        raise OptionError(
            f"{brief(what)} is not a distribution. Allowed: {', '.join(repr(k) for k in _REGISTRY)}, or an instance of "
            "Distribution."
        )
    cls, fixed = _REGISTRY[what]
    takes = {f.name for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    return cls(**{**{k: v for k, v in options.items() if k in takes}, **fixed})

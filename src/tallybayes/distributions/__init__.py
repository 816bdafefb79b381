"""The distributions a column can follow, by name. `register` adds another."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from tallybayes.distributions.base import Distribution
from tallybayes.distributions.text.word_counts import Words
from tallybayes.distributions.univariate.bernoulli import Bernoulli, Threshold
from tallybayes.distributions.univariate.categorical import Binned, Categorical
from tallybayes.distributions.univariate.gaussian import Gaussian
from tallybayes.distributions.univariate.kernel_density import Kernel
from tallybayes.distributions.univariate.log_gaussian import LogGaussian
from tallybayes.distributions.univariate.multinomial import Complement, Multinomial
from tallybayes.distributions.univariate.poisson import Poisson
from tallybayes.distributions.univariate.simple import SimpleDistribution
from tallybayes.errors import OptionError, brief

__all__ = [
    "Bernoulli",
    "Binned",
    "Categorical",
    "Complement",
    "Distribution",
    "Gaussian",
    "Kernel",
    "LogGaussian",
    "Multinomial",
    "Poisson",
    "SimpleDistribution",
    "Threshold",
    "Words",
    "distribution",
    "known",
    "register",
    "registered",
]

_REGISTRY: dict[str, tuple[type[Distribution], dict[str, object]]] = {
    "gaussian": (Gaussian, {}),
    "categorical": (Categorical, {}),
    "bernoulli": (Bernoulli, {}),
    "multinomial": (Multinomial, {}),
    "complement": (Complement, {}),
    "poisson": (Poisson, {}),
    "kernel": (Kernel, {}),
    "log-gaussian": (LogGaussian, {}),
    "words": (Words, {"length_normalized": True}),
    "mdl": (Binned, {"method": "mdl"}),
    "width": (Binned, {"method": "width"}),
    "frequency": (Binned, {"method": "frequency"}),
}


def register(cls: type[Distribution]) -> type[Distribution]:
    """Make a distribution available by its `name`; usable as a class decorator.

    Parameters
    ----------
    cls : subclass of Distribution
        A frozen dataclass with a `name` that no distribution of the library has.

    Returns
    -------
    type
        The same class.

    Raises
    ------
    OptionError
        If it is no such class.

    See Also
    --------
    registered : All names.

    Examples
    --------
    A column of numbers about 0; ``NaiveBayes({"error": "centred"})`` then takes it by name:

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.distributions import SimpleDistribution, register
    >>> @register
    ... @dataclass(frozen=True)
    ... class Centred(SimpleDistribution):
    ...     name = "centred"
    ...     parameters = ("variance",)
    ...     def statistics(self, x):
    ...         return [x**2]
    ...     def estimate_one(self, n, sums):
    ...         return [sums[0] / n]
    ...     def log_density(self, x, variance):
    ...         return -0.5 * np.log(2 * np.pi * variance) - x**2 / (2 * variance)
    ...     def draw(self, rng, variance):
    ...         return rng.normal(0, np.sqrt(variance))
    >>> X, y = [{"error": 1.0}, {"error": -1.0}, {"error": 4.0}, {"error": -2.0}], ["new", "new", "old", "old"]
    >>> NaiveBayes({"error": "centred"}).fit(X, y).describe("error")
    {'new': {'variance': 1.0}, 'old': {'variance': 10.0}}
    """
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
    """List the names that the parameter `distributions` accepts.

    Returns
    -------
    tuple of str
        Those of the library first, then what was registered.

    See Also
    --------
    register : Give a distribution a name.

    Examples
    --------
    >>> from tallybayes.distributions import registered
    >>> registered()[:3]
    ('gaussian', 'categorical', 'bernoulli')
    """
    return tuple(_REGISTRY)


def known() -> dict[str, type[Distribution]]:
    """Return all distribution classes by name, built-in and registered.

    Returns
    -------
    dict from str to type
        The library's that have no name in `distributions=` too.

    See Also
    --------
    registered : All names.

    Examples
    --------
    >>> from tallybayes.distributions import known
    >>> known()["poisson"]
    <class 'tallybayes.distributions.univariate.poisson.Poisson'>
    """
    own: dict[str, type[Distribution]] = {}
    waiting = Distribution.__subclasses__()
    while waiting:
        cls = waiting.pop()
        waiting += cls.__subclasses__()
        if cls.__module__.startswith("tallybayes.") and "name" in vars(cls):
            own[cls.name] = cls
    return {**{cls.name: cls for cls, _ in _REGISTRY.values()}, **own}


def distribution(what: object, options: Mapping[str, object]) -> Distribution:
    """Make a distribution from its name; an instance is returned as it is.

    Parameters
    ----------
    what : str or Distribution
        One of the names that `registered` lists, or an instance.
    options : dict
        The estimator's options; those that the distribution has fields for are taken.

    Returns
    -------
    Distribution
        Ready to add.

    Raises
    ------
    OptionError
        If it is no distribution.

    See Also
    --------
    register : Give a distribution a name.
    registered : All names.

    Examples
    --------
    >>> from tallybayes.distributions import distribution
    >>> distribution("poisson", {"alpha": 0.5, "ddof": 1})
    Poisson(alpha=0.5)
    """
    if isinstance(what, Distribution):
        return what
    if not isinstance(what, str) or what not in _REGISTRY:
        raise OptionError(
            f"{brief(what)} is not a distribution. Allowed: {', '.join(repr(k) for k in _REGISTRY)}, or an instance of "
            "Distribution; NaiveBayes also takes 'auto'."
        )
    cls, fixed = _REGISTRY[what]
    takes = {f.name for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    return cls(**{**{k: v for k, v in options.items() if k in takes}, **fixed})

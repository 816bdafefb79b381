"""scikit-learn's contract, as our estimators see it.

Importing scikit-learn takes several times as long as all of this library, a model file and an answer together, and
nothing that learns, answers or is kept in a file needs it. So nobody here imports it first. The classes below stand
for scikit-learn's until somebody imports scikit-learn, whoever that is; at that moment its classes take their place
among the bases of ours (`become`), and every model there is has been scikit-learn's all along: ``isinstance``,
``clone``, pipelines and searches find what they always found. What only scikit-learn can answer (`score`,
`set_params`, how a model is shown) imports it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from inspect import signature
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING, Any

__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "TransformerMixin",
    "become",
    "not_fitted",
]

SKLEARN = "sklearn"


def _asks(name: str) -> Any:
    """A method that only scikit-learn has."""

    def method(self: object, *args: object, **kwargs: object) -> object:
        become()
        return getattr(self, name)(*args, **kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = "See scikit-learn, which is imported when this is first called."
    return method


if TYPE_CHECKING or SKLEARN in sys.modules:
    from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin

    STAND_INS: tuple[type, ...] = ()
else:

    class BaseEstimator:
        """The parameters of a model, as scikit-learn finds them: the arguments of its constructor."""

        @classmethod
        def _get_param_names(cls) -> list[str]:
            return sorted(signature(cls).parameters)

        def get_params(self, deep: bool = True) -> dict[str, object]:  # noqa: ARG002 - no parameter is an estimator
            return {name: getattr(self, name) for name in self._get_param_names()}

        def __setstate__(self, state: dict[str, object]) -> None:
            vars(self).update(state)

        def __repr__(self) -> str:
            become()
            return repr(self)

        @property
        def _repr_html_(self) -> object:  # a property there too: it may be switched off
            become()
            return self._repr_html_

        set_params = _asks("set_params")
        get_metadata_routing = _asks("get_metadata_routing")
        _repr_mimebundle_ = _asks("_repr_mimebundle_")

    class ClassifierMixin:
        score = _asks("score")

    class ClassNamePrefixFeaturesOutMixin:
        get_feature_names_out = _asks("get_feature_names_out")

    class TransformerMixin:
        fit_transform = _asks("fit_transform")
        set_output = _asks("set_output")

    STAND_INS = (BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin)

_becoming = RLock()


def become() -> None:
    """scikit-learn is imported, and its classes are among the bases of ours; what it does to a new class is done."""
    import sklearn.base

    global STAND_INS
    with _becoming:
        swap = {stand_in: getattr(sklearn.base, stand_in.__name__) for stand_in in STAND_INS}
        ours = sorted(_below(swap), key=lambda cls: len(cls.__mro__))  # a class before those made of it
        for cls in ours:
            if not swap.keys().isdisjoint(cls.__bases__):
                cls.__bases__ = tuple(swap.get(base, base) for base in cls.__bases__)
        for cls in ours:
            super(cls, cls).__init_subclass__()  # type: ignore[arg-type]
        globals().update({there.__name__: there for there in swap.values()})
        STAND_INS = ()


def _below(classes: Iterable[type]) -> set[type]:
    found: set[type] = set()
    for cls in classes:
        subclasses: set[type] = set(cls.__subclasses__())
        found |= subclasses | _below(subclasses)
    return found


class _Watch(MetaPathFinder):
    """Sees scikit-learn being imported, and has `become` called at the end of it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != SKLEARN:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next((s for finder in others if (s := finder.find_spec(fullname, path, target)) is not None), None)
        if spec is not None and spec.loader is not None:
            spec.loader.exec_module = _then(spec.loader.exec_module)  # type: ignore[method-assign, assignment]
        return spec


def _then(run: Callable[[ModuleType], None]) -> Callable[[ModuleType], None]:
    def exec_module(module: ModuleType) -> None:
        run(module)
        become()
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Watch)]

    return exec_module


if STAND_INS:
    sys.meta_path.insert(0, _Watch())


def not_fitted(message: str) -> Exception:
    """scikit-learn's error of a model that has learned nothing."""
    from sklearn.exceptions import NotFittedError

    error: Exception = NotFittedError(message)
    return error

"""The docstring of every public name, method and property is whole by itself: numpydoc's own checks, one by one.

Its examples are run by `test_docs.py`, with those of all modules.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import ERROR_MSGS, validate

import tallybayes
from tallybayes import data, datasets, decision, distributions, evaluation, explain, export, io, plots
from tallybayes.distributions import capabilities

# numpydoc's checks that are left out, and why.
LEFT_OUT = {
    "GL01": "a docstring starts beside its quotes here",
    "SS02": "a summary may start with a formula, as in 'log P(x)', or with the type of a property",
    "SS05": "a picture 'shows' and a model 'draws': both moods are in use",
    "ES01": "a summary line may be all there is to say",
    "PR08": "a description may start with a formula or with the name of a library, as in 'pandas, polars'",
    "RT02": "a returned value has a name where that says more than its type",
    "RT04": "as for PR08",
    "SA01": "few things need another one to be seen",
    "EX01": "asked for below, of classes and functions; a method is shown where that helps",
}
CHECKED = frozenset(ERROR_MSGS) - LEFT_OUT.keys()
# numpydoc takes a first argument called cls for that of a class method.
EXCEPTIONS = {("tallybayes.distributions.register", "PR02")}
PUBLIC = {
    "tallybayes": tallybayes.__all__,
    "tallybayes.plots": plots.__all__,
    "tallybayes.distributions": distributions.__all__,
    "tallybayes.evaluation": evaluation.__all__,
    "tallybayes.explain": explain.__all__,
    "tallybayes.decision": decision.__all__,
    "tallybayes.export": export.__all__,
    "tallybayes.io": io.__all__,
    "tallybayes.reports": ["Report", "report"],
    "tallybayes.data": data.__all__,
    "tallybayes.datasets": [name for name in vars(datasets) if name.startswith("load_")],
}
NAMES = {f"{module}.{name}": getattr(import_module(module), name) for module, names in PUBLIC.items() for name in names}
CLASSES = {name: thing for name, thing in NAMES.items() if inspect.isclass(thing)}
ESTIMATORS = {name: cls for name, cls in CLASSES.items() if hasattr(cls, "get_params")}
ELSEWHERE = re.compile(r"\b[Aa]s (for|in) (``fit``|fit\b|scikit-learn|[A-Z]\w*[A-Z])|\bsee [A-Z]\w*[a-z][A-Z]")


CAPABILITIES = {method for wanted in vars(capabilities).values() if inspect.isclass(wanted) for method in vars(wanted)}


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class and its bases that this library wrote: scikit-learn's have
    scikit-learn's docstrings. Of a distribution these are its verbs; its capabilities are documented where they are
    defined."""
    verbs = {*vars(distributions.Distribution), *vars(distributions.SimpleDistribution), "split"}
    for name in dir(cls) if not issubclass(cls, distributions.Distribution) else verbs & set(dir(cls)) - CAPABILITIES:
        member = inspect.getattr_static(cls, name)
        if isinstance(member, classmethod | staticmethod):
            member = member.__func__
        code = member.fget if isinstance(member, property) else getattr(member, "func", member)
        if not name.startswith("_") and inspect.isfunction(code) and code.__module__.startswith("tallybayes."):
            yield name, member


def teller(cls: type, name: str) -> type:
    """The class whose docstring of a member `help` shows: its own, or that of the nearest base with one."""
    owners = [base for base in cls.__mro__ if name in vars(base)]
    return next((base for base in owners if inspect.getattr_static(base, name).__doc__), owners[0])


def arguments(cls: type, name: str) -> list[str]:
    return list(inspect.signature(getattr(cls, name)).parameters)


def docstrings(name: str) -> list[str]:
    """Where the docstrings of a public name and of its members are."""
    cls = CLASSES.get(name)
    own = [] if cls is None else [(teller(cls, member), member) for member, _ in members(cls)]
    return [name, *(f"{base.__module__}.{base.__qualname__}.{member}" for base, member in own)]


def test_there_is_something_to_check() -> None:
    assert len(NAMES) > 60
    assert len(ESTIMATORS) > 20
    found = {place for name in NAMES for place in docstrings(name)}
    assert len(found) > 280
    assert "tallybayes.estimators.spode_tan.LearnedNetwork.relearn" in docstrings("tallybayes.TAN")
    assert "tallybayes.estimators.base.GenerativeClassifier.fit" in docstrings("tallybayes.TAN")
    assert "tallybayes.estimators.numeric_nb.GaussianNB.theta_" in docstrings("tallybayes.GaussianNB")
    assert "tallybayes.explain.evidence.Explanation.values" in docstrings("tallybayes.explain.Explanation")
    assert not any(place.endswith("get_params") for place in found)
    assert set(ERROR_MSGS) > LEFT_OUT.keys()


@pytest.mark.parametrize("name", NAMES)
def test_every_docstring_is_whole(name: str) -> None:
    wrong = [
        f"{place}: {code} {message}"
        for place in docstrings(name)
        for code, message in validate(place)["errors"]
        if code in CHECKED and (place, code) not in EXCEPTIONS
    ]
    assert wrong == []


def test_no_public_method_is_without_a_word() -> None:
    """Of any public class of the library, public name or not: its own docstring, or that of a base."""
    silent, classes = [], 0
    for _, module, _ in walk_packages(tallybayes.__path__, "tallybayes."):
        if module.endswith("__main__"):
            continue
        try:
            there = vars(import_module(module))
        except ImportError:  # of an extra that is not installed
            continue
        own = [cls for cls in there.values() if inspect.isclass(cls) and cls.__module__ == module]
        for cls in own:
            protocol = getattr(cls, "_is_protocol", False) and cls.__doc__  # a capability: its class says what it does
            if not cls.__name__.startswith("_") and not protocol:
                classes += 1
                fields = getattr(cls, "__dataclass_fields__", {})  # one may have a function as its default
                said = {m: inspect.getdoc(getattr(cls, m)) for m, _ in members(cls) if m not in fields}
                silent += [f"{module}.{cls.__name__}.{m}" for m, doc in said.items() if not doc]
    assert silent == []
    assert classes > 250


@pytest.mark.parametrize("name", CLASSES)
def test_an_inherited_docstring_lists_the_same_arguments(name: str) -> None:
    cls = CLASSES[name]
    methods = [member for member, what in members(cls) if inspect.isfunction(what)]
    assert [m for m in methods if arguments(cls, m) != arguments(teller(cls, m), m)] == []


@pytest.mark.parametrize("name", NAMES)
def test_every_class_and_function_is_shown_at_work(name: str) -> None:
    assert ">>> " in "\n".join(NumpyDocString(inspect.getdoc(NAMES[name]) or "")["Examples"])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_attributes_of_an_estimator_are_listed(name: str) -> None:
    """Those that are properties, and what every estimator has; each with a type and a line."""
    cls = ESTIMATORS[name]
    listed = {a.name: a for a in NumpyDocString(inspect.getdoc(cls) or "")["Attributes"]}
    wanted = {n for n, what in members(cls) if n.endswith("_") and isinstance(what, property | cached_property)}
    wanted |= {"n_features_in_"} if name == "tallybayes.evaluation.MatchingFeatures" else {"n_features_in_", "classes_"}
    wanted -= {"graph_"} if issubclass(cls, tallybayes.AnDE) else set()  # it is there to say that there is none
    assert wanted - listed.keys() == set()
    assert [n for n, attribute in listed.items() if not (attribute.type and attribute.desc)] == []


@pytest.mark.parametrize("name", NAMES)
def test_nothing_sends_the_reader_elsewhere(name: str) -> None:
    """No argument is said to be that of another class."""
    cls = CLASSES.get(name)
    texts = [inspect.getdoc(NAMES[name])] + ([] if cls is None else [inspect.getdoc(m) for _, m in members(cls)])
    assert [text for text in texts if text and (ELSEWHERE.search(text))] == []

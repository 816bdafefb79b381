"""Generative Bayes classifiers that learn by adding.

Names are imported when they are first used: `tallybayes --help` need not wait for scikit-learn.
"""

import sys
from importlib import import_module

TYPE_CHECKING = False  # type checkers take it for true; typing itself would be half of the time that this import takes
if TYPE_CHECKING:
    from tallybayes.engines.sql import LazyBayes
    from tallybayes.estimators.ande import AODE, AnDE
    from tallybayes.estimators.bayes_classifier import BayesClassifier
    from tallybayes.estimators.bayes_decision import BayesDecision
    from tallybayes.estimators.bayes_network import BayesNetwork
    from tallybayes.estimators.discrete_nb import BernoulliNB, CategoricalNB
    from tallybayes.estimators.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from tallybayes.estimators.gaussian_discriminant import GaussianDiscriminant, RegularizedDiscriminantAnalysis
    from tallybayes.estimators.kdb import KDB
    from tallybayes.estimators.merging import merge_all
    from tallybayes.estimators.multinomial_nb import ComplementNB, MultinomialNB
    from tallybayes.estimators.naive_bayes import NaiveBayes
    from tallybayes.estimators.numeric_nb import GaussianNB, KernelNB, PoissonNB
    from tallybayes.estimators.prior_shift import PriorShift
    from tallybayes.estimators.semi_supervised import SemiSupervised
    from tallybayes.estimators.spode_tan import SPODE, TAN
    from tallybayes.estimators.streaming_bayes import StreamingBayes
    from tallybayes.evaluation.leaderboard import compare_models
    from tallybayes.io import from_bytes, load, save, to_bytes
    from tallybayes.reports import report
    from tallybayes.utils.versions import show_versions


def _check_interpreter() -> None:
    """Refuse a subinterpreter: the compiled core, like NumPy, exists once per process."""
    try:
        interpreters = import_module("_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters")
    except ImportError:
        return
    if interpreters.get_current() != interpreters.get_main():
        raise ImportError("tallybayes runs in Python's main interpreter only, not in a subinterpreter.")


_check_interpreter()

__version__ = "0.3.0.dev0"

__all__ = [
    "AODE",
    "KDB",
    "SPODE",
    "TAN",
    "AnDE",
    "BayesClassifier",
    "BayesDecision",
    "BayesNetwork",
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianDiscriminant",
    "GaussianNB",
    "KernelNB",
    "LazyBayes",
    "LinearDiscriminantAnalysis",
    "MultinomialNB",
    "NaiveBayes",
    "PoissonNB",
    "PriorShift",
    "QuadraticDiscriminantAnalysis",
    "RegularizedDiscriminantAnalysis",
    "SemiSupervised",
    "StreamingBayes",
    "compare_models",
    "from_bytes",
    "load",
    "merge_all",
    "report",
    "save",
    "show_versions",
    "to_bytes",
]

# Where the public names are. Type checkers read the imports above, Python reads this; a test compares them.
_HOMES = {
    "evaluation.leaderboard": ("compare_models",),
    "engines.sql": ("LazyBayes",),
    "estimators.discriminant_analysis": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    "estimators.ande": ("AODE", "AnDE"),
    "estimators.bayes_classifier": ("BayesClassifier",),
    "estimators.bayes_network": ("BayesNetwork",),
    "estimators.bayes_decision": ("BayesDecision",),
    "estimators.discrete_nb": ("BernoulliNB", "CategoricalNB"),
    "estimators.gaussian_discriminant": ("GaussianDiscriminant", "RegularizedDiscriminantAnalysis"),
    "estimators.kdb": ("KDB",),
    "estimators.merging": ("merge_all",),
    "estimators.multinomial_nb": ("ComplementNB", "MultinomialNB"),
    "estimators.naive_bayes": ("NaiveBayes",),
    "estimators.spode_tan": ("SPODE", "TAN"),
    "estimators.streaming_bayes": ("StreamingBayes",),
    "estimators.numeric_nb": ("GaussianNB", "KernelNB", "PoissonNB"),
    "estimators.prior_shift": ("PriorShift",),
    "estimators.semi_supervised": ("SemiSupervised",),
    "io": ("from_bytes", "load", "save", "to_bytes"),
    "reports": ("report",),
    "utils.versions": ("show_versions",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    from importlib.util import find_spec

    if name in _HOME:
        found: object = getattr(import_module(f"tallybayes.{_HOME[name]}"), name)
    elif not name.startswith("__") and find_spec(f"tallybayes.{name}") is not None:
        found = import_module(f"tallybayes.{name}")
    else:
        raise AttributeError(f"module 'tallybayes' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""Generative Bayes classifiers that learn by adding.

Names are imported when they are first used: `tallybayes --help` need not wait for scikit-learn.
"""

from importlib import import_module

TYPE_CHECKING = False  # type checkers take it for true; typing itself would be half of the time that this import takes
if TYPE_CHECKING:
    from tallybayes.assumptions import AssumptionReport, check_assumptions
    from tallybayes.comparison import Comparison
    from tallybayes.decision import bayes_risk, conditional_risk
    from tallybayes.distributions import Distribution, SimpleDistribution, register
    from tallybayes.engines.sql import LazyBayes, to_sql
    from tallybayes.estimators.analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from tallybayes.estimators.averaged import AODE, AnDE
    from tallybayes.estimators.bayes import BayesClassifier
    from tallybayes.estimators.bayes_network import BayesNetwork
    from tallybayes.estimators.decide import BayesDecision
    from tallybayes.estimators.discrete import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
    from tallybayes.estimators.discriminant import GaussianDiscriminant, RegularizedDiscriminantAnalysis
    from tallybayes.estimators.kdb import KDB
    from tallybayes.estimators.merging import merge_all
    from tallybayes.estimators.naive import NaiveBayes
    from tallybayes.estimators.network import SPODE, TAN
    from tallybayes.estimators.numeric import GaussianNB, KernelNB, PoissonNB
    from tallybayes.estimators.priors import PriorShift
    from tallybayes.estimators.semi import SemiSupervised
    from tallybayes.explain import Explanation, FeatureRanking
    from tallybayes.export import to_js, to_json
    from tallybayes.export.onnx import to_onnx
    from tallybayes.leaderboard import compare_models
    from tallybayes.novelty import NoveltyScore
    from tallybayes.persist import from_bytes, load, load_notes, model_card, save, to_bytes
    from tallybayes.reports import Report, report
    from tallybayes.schema import Schema
    from tallybayes.twins import LearningCurves, MatchingFeatures, count_parameters, learning_curves, twin
    from tallybayes.versions import show_versions

__version__ = "0.2.0"

__all__ = [
    "AODE",
    "KDB",
    "SPODE",
    "TAN",
    "AnDE",
    "AssumptionReport",
    "BayesClassifier",
    "BayesDecision",
    "BayesNetwork",
    "BernoulliNB",
    "CategoricalNB",
    "Comparison",
    "ComplementNB",
    "Distribution",
    "Explanation",
    "FeatureRanking",
    "GaussianDiscriminant",
    "GaussianNB",
    "KernelNB",
    "LazyBayes",
    "LearningCurves",
    "LinearDiscriminantAnalysis",
    "MatchingFeatures",
    "MultinomialNB",
    "NaiveBayes",
    "NoveltyScore",
    "PoissonNB",
    "PriorShift",
    "QuadraticDiscriminantAnalysis",
    "RegularizedDiscriminantAnalysis",
    "Report",
    "Schema",
    "SemiSupervised",
    "SimpleDistribution",
    "bayes_risk",
    "check_assumptions",
    "compare_models",
    "conditional_risk",
    "count_parameters",
    "from_bytes",
    "learning_curves",
    "load",
    "load_notes",
    "merge_all",
    "model_card",
    "register",
    "report",
    "save",
    "show_versions",
    "to_bytes",
    "to_js",
    "to_json",
    "to_onnx",
    "to_sql",
    "twin",
]

# Where the public names are. Type checkers read the imports above, Python reads this; a test compares them.
_HOMES = {
    "assumptions": ("AssumptionReport", "check_assumptions"),
    "twins": ("LearningCurves", "MatchingFeatures", "count_parameters", "learning_curves", "twin"),
    "leaderboard": ("compare_models",),
    "comparison": ("Comparison",),
    "decision": ("bayes_risk", "conditional_risk"),
    "distributions": ("Distribution", "SimpleDistribution", "register"),
    "engines.sql": ("LazyBayes", "to_sql"),
    "estimators.analysis": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    "estimators.averaged": ("AODE", "AnDE"),
    "estimators.bayes": ("BayesClassifier",),
    "estimators.bayes_network": ("BayesNetwork",),
    "estimators.decide": ("BayesDecision",),
    "estimators.discrete": ("BernoulliNB", "CategoricalNB", "ComplementNB", "MultinomialNB"),
    "estimators.discriminant": ("GaussianDiscriminant", "RegularizedDiscriminantAnalysis"),
    "estimators.kdb": ("KDB",),
    "estimators.merging": ("merge_all",),
    "estimators.naive": ("NaiveBayes",),
    "estimators.network": ("SPODE", "TAN"),
    "estimators.numeric": ("GaussianNB", "KernelNB", "PoissonNB"),
    "estimators.priors": ("PriorShift",),
    "estimators.semi": ("SemiSupervised",),
    "explain": ("Explanation", "FeatureRanking"),
    "export.onnx": ("to_onnx",),
    "export": ("to_js", "to_json"),
    "novelty": ("NoveltyScore",),
    "persist": ("from_bytes", "load", "load_notes", "model_card", "save", "to_bytes"),
    "reports": ("Report", "report"),
    "schema": ("Schema",),
    "versions": ("show_versions",),
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

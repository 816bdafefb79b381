"""Generative Bayes classifiers that learn by adding.

Names are imported when they are first used: `tallybayes --help` need not wait for scikit-learn.
"""

from importlib import import_module

TYPE_CHECKING = False  # type checkers take it for true; typing itself would be half of the time that this import takes
if TYPE_CHECKING:
    from tallybayes.data.schema import Schema
    from tallybayes.decision import bayes_risk, conditional_risk
    from tallybayes.distributions import Distribution, SimpleDistribution, register
    from tallybayes.engines.sql import LazyBayes, to_sql
    from tallybayes.estimators.ande import AODE, AnDE
    from tallybayes.estimators.bayes_classifier import BayesClassifier
    from tallybayes.estimators.bayes_decision import BayesDecision
    from tallybayes.estimators.bayes_network import BayesNetwork
    from tallybayes.estimators.discrete_nb import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
    from tallybayes.estimators.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from tallybayes.estimators.gaussian_discriminant import GaussianDiscriminant, RegularizedDiscriminantAnalysis
    from tallybayes.estimators.kdb import KDB
    from tallybayes.estimators.merging import merge_all
    from tallybayes.estimators.naive_bayes import NaiveBayes
    from tallybayes.estimators.numeric_nb import GaussianNB, KernelNB, PoissonNB
    from tallybayes.estimators.prior_shift import PriorShift
    from tallybayes.estimators.semi_supervised import SemiSupervised
    from tallybayes.estimators.spode_tan import SPODE, TAN
    from tallybayes.evaluation.assumptions import AssumptionReport, check_assumptions
    from tallybayes.evaluation.comparison import Comparison
    from tallybayes.evaluation.counterpart import (
        LearningCurves,
        MatchingFeatures,
        count_parameters,
        learning_curves,
        twin,
    )
    from tallybayes.evaluation.leaderboard import compare_models
    from tallybayes.explain import Explanation, FeatureRanking
    from tallybayes.explain.novelty import NoveltyScore
    from tallybayes.export import to_js, to_json
    from tallybayes.export.onnx import to_onnx
    from tallybayes.io import from_bytes, load, load_notes, model_card, save, to_bytes
    from tallybayes.reports import Report, report
    from tallybayes.utils.versions import show_versions

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
    "evaluation.assumptions": ("AssumptionReport", "check_assumptions"),
    "evaluation.counterpart": ("LearningCurves", "MatchingFeatures", "count_parameters", "learning_curves", "twin"),
    "evaluation.leaderboard": ("compare_models",),
    "evaluation.comparison": ("Comparison",),
    "decision": ("bayes_risk", "conditional_risk"),
    "distributions": ("Distribution", "SimpleDistribution", "register"),
    "engines.sql": ("LazyBayes", "to_sql"),
    "estimators.discriminant_analysis": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    "estimators.ande": ("AODE", "AnDE"),
    "estimators.bayes_classifier": ("BayesClassifier",),
    "estimators.bayes_network": ("BayesNetwork",),
    "estimators.bayes_decision": ("BayesDecision",),
    "estimators.discrete_nb": ("BernoulliNB", "CategoricalNB", "ComplementNB", "MultinomialNB"),
    "estimators.gaussian_discriminant": ("GaussianDiscriminant", "RegularizedDiscriminantAnalysis"),
    "estimators.kdb": ("KDB",),
    "estimators.merging": ("merge_all",),
    "estimators.naive_bayes": ("NaiveBayes",),
    "estimators.spode_tan": ("SPODE", "TAN"),
    "estimators.numeric_nb": ("GaussianNB", "KernelNB", "PoissonNB"),
    "estimators.prior_shift": ("PriorShift",),
    "estimators.semi_supervised": ("SemiSupervised",),
    "explain": ("Explanation", "FeatureRanking"),
    "export.onnx": ("to_onnx",),
    "export": ("to_js", "to_json"),
    "explain.novelty": ("NoveltyScore",),
    "io": ("from_bytes", "load", "load_notes", "model_card", "save", "to_bytes"),
    "reports": ("Report", "report"),
    "data.schema": ("Schema",),
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

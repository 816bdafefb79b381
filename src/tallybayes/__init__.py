"""Generative Bayes classifiers that learn by adding."""

from tallybayes.assumptions import AssumptionReport, check_assumptions
from tallybayes.compare import LearningCurves, MatchingFeatures, count_parameters, learning_curves, twin
from tallybayes.distributions import Distribution, SimpleDistribution, register
from tallybayes.estimators.analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from tallybayes.estimators.discrete import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
from tallybayes.estimators.discriminant import GaussianDiscriminant, RegularizedDiscriminantAnalysis
from tallybayes.estimators.naive import NaiveBayes
from tallybayes.estimators.numeric import GaussianNB, KernelNB, PoissonNB
from tallybayes.explain import Explanation, FeatureRanking
from tallybayes.novelty import NoveltyScore
from tallybayes.schema import Schema

__version__ = "0.1.0"

__all__ = [
    "AssumptionReport",
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "Distribution",
    "Explanation",
    "FeatureRanking",
    "GaussianDiscriminant",
    "GaussianNB",
    "KernelNB",
    "LearningCurves",
    "LinearDiscriminantAnalysis",
    "MatchingFeatures",
    "MultinomialNB",
    "NaiveBayes",
    "NoveltyScore",
    "PoissonNB",
    "QuadraticDiscriminantAnalysis",
    "RegularizedDiscriminantAnalysis",
    "Schema",
    "SimpleDistribution",
    "check_assumptions",
    "count_parameters",
    "learning_curves",
    "register",
    "twin",
]

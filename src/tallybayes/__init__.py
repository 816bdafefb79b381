"""Generative Bayes classifiers that learn by adding."""

from tallybayes.distributions import Distribution, SimpleDistribution, register
from tallybayes.estimators.analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from tallybayes.estimators.discrete import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
from tallybayes.estimators.discriminant import GaussianDiscriminant, RegularizedDiscriminantAnalysis
from tallybayes.estimators.naive import NaiveBayes
from tallybayes.estimators.numeric import GaussianNB, KernelNB, PoissonNB
from tallybayes.explain import Explanation, FeatureRanking
from tallybayes.schema import Schema

__version__ = "0.1.0"

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "Distribution",
    "Explanation",
    "FeatureRanking",
    "GaussianDiscriminant",
    "GaussianNB",
    "KernelNB",
    "LinearDiscriminantAnalysis",
    "MultinomialNB",
    "NaiveBayes",
    "PoissonNB",
    "QuadraticDiscriminantAnalysis",
    "RegularizedDiscriminantAnalysis",
    "Schema",
    "SimpleDistribution",
    "register",
]

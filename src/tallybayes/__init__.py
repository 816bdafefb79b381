"""Generative Bayes classifiers that learn by adding."""

from tallybayes.distributions import Distribution, SimpleDistribution, register
from tallybayes.estimators.discrete import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
from tallybayes.estimators.naive import NaiveBayes
from tallybayes.estimators.numeric import GaussianNB, KernelNB, PoissonNB
from tallybayes.schema import Schema

__version__ = "0.1.0"

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "Distribution",
    "GaussianNB",
    "KernelNB",
    "MultinomialNB",
    "NaiveBayes",
    "PoissonNB",
    "Schema",
    "SimpleDistribution",
    "register",
]

"""Generative Bayes classifiers that learn by adding."""

from tallybayes.decision import bayes_risk, conditional_risk
from tallybayes.distributions import Distribution, SimpleDistribution, register
from tallybayes.estimators.analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from tallybayes.estimators.decide import BayesDecision
from tallybayes.estimators.discrete import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
from tallybayes.estimators.discriminant import GaussianDiscriminant, RegularizedDiscriminantAnalysis
from tallybayes.estimators.naive import NaiveBayes
from tallybayes.estimators.numeric import GaussianNB, KernelNB, PoissonNB
from tallybayes.estimators.priors import PriorShift
from tallybayes.estimators.semi import SemiSupervised
from tallybayes.schema import Schema

__version__ = "0.1.0"

__all__ = [
    "BayesDecision",
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "Distribution",
    "GaussianDiscriminant",
    "GaussianNB",
    "KernelNB",
    "LinearDiscriminantAnalysis",
    "MultinomialNB",
    "NaiveBayes",
    "PoissonNB",
    "PriorShift",
    "QuadraticDiscriminantAnalysis",
    "RegularizedDiscriminantAnalysis",
    "Schema",
    "SemiSupervised",
    "SimpleDistribution",
    "bayes_risk",
    "conditional_risk",
    "register",
]

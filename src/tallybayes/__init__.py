"""Generative Bayes classifiers that learn by adding."""

from tallybayes.assumptions import AssumptionReport, check_assumptions
from tallybayes.compare import LearningCurves, MatchingFeatures, count_parameters, learning_curves, twin
from tallybayes.decision import bayes_risk, conditional_risk
from tallybayes.distributions import Distribution, SimpleDistribution, register
from tallybayes.estimators.analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from tallybayes.estimators.averaged import AODE, AnDE
from tallybayes.estimators.bayes_network import BayesNetwork
from tallybayes.estimators.decide import BayesDecision
from tallybayes.estimators.discrete import BernoulliNB, CategoricalNB, ComplementNB, MultinomialNB
from tallybayes.estimators.discriminant import GaussianDiscriminant, RegularizedDiscriminantAnalysis
from tallybayes.estimators.kdb import KDB
from tallybayes.estimators.naive import NaiveBayes
from tallybayes.estimators.network import SPODE, TAN
from tallybayes.estimators.numeric import GaussianNB, KernelNB, PoissonNB
from tallybayes.estimators.priors import PriorShift
from tallybayes.estimators.semi import SemiSupervised
from tallybayes.explain import Explanation, FeatureRanking
from tallybayes.novelty import NoveltyScore
from tallybayes.persist import load, load_notes, save
from tallybayes.schema import Schema

__version__ = "0.1.0"

__all__ = [
    "AODE",
    "KDB",
    "SPODE",
    "TAN",
    "AnDE",
    "AssumptionReport",
    "BayesDecision",
    "BayesNetwork",
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
    "PriorShift",
    "QuadraticDiscriminantAnalysis",
    "RegularizedDiscriminantAnalysis",
    "Schema",
    "SemiSupervised",
    "SimpleDistribution",
    "bayes_risk",
    "check_assumptions",
    "conditional_risk",
    "count_parameters",
    "learning_curves",
    "load",
    "load_notes",
    "register",
    "save",
    "twin",
]

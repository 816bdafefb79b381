"""Generative against discriminative: a classifier beside the logistic regression of the same form."""

from tallybayes.compare.count import count_parameters
from tallybayes.compare.curves import LearningCurves, learning_curves
from tallybayes.compare.features import MatchingFeatures
from tallybayes.compare.twins import twin

__all__ = ["LearningCurves", "MatchingFeatures", "count_parameters", "learning_curves", "twin"]

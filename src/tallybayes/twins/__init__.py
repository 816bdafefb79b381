"""Generative against discriminative: a classifier beside the logistic regression of the same form."""

from tallybayes.twins.count import count_parameters
from tallybayes.twins.curves import LearningCurves, learning_curves
from tallybayes.twins.features import MatchingFeatures
from tallybayes.twins.logistic import twin

__all__ = ["LearningCurves", "MatchingFeatures", "count_parameters", "learning_curves", "twin"]

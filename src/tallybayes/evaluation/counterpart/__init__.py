"""Generative against discriminative: a classifier beside the logistic regression of the same form."""

from tallybayes.evaluation.counterpart.logistic import discriminative_counterpart
from tallybayes.evaluation.counterpart.matching_features import MatchingFeatures
from tallybayes.evaluation.counterpart.paired_learning_curves import LearningCurves, learning_curves
from tallybayes.evaluation.counterpart.parameter_count import count_parameters

__all__ = ["LearningCurves", "MatchingFeatures", "count_parameters", "discriminative_counterpart", "learning_curves"]

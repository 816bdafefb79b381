"""What `explain` gives back: evidence by row, feature and class; and the features in order of what they tell."""

from tallybayes.explain.evidence import Explanation
from tallybayes.explain.phrases import PRIOR, TOGETHER, strength
from tallybayes.explain.ranking import FeatureRanking

__all__ = ["PRIOR", "TOGETHER", "Explanation", "FeatureRanking", "strength"]

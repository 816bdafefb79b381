"""Evidence by row, feature and class; features ranked by information; novelty of rows."""

from typing import TYPE_CHECKING

from tallybayes.utils.lazy_imports import lazy_exports

if TYPE_CHECKING:
    from tallybayes.explain.evidence import Explanation
    from tallybayes.explain.novelty import NoveltyScore
    from tallybayes.explain.ranking import FeatureRanking

__all__ = ["Explanation", "FeatureRanking", "NoveltyScore"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "explain.evidence": ("Explanation",),
        "explain.novelty": ("NoveltyScore",),
        "explain.ranking": ("FeatureRanking",),
    },
)

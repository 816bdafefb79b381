"""How good a model is: scores, baselines, assumptions, comparison, streams, and its discriminative counterpart."""

from typing import TYPE_CHECKING

from tallybayes.utils.lazy_imports import lazy_exports

if TYPE_CHECKING:
    from tallybayes.evaluation.assumptions import AssumptionReport, check_assumptions
    from tallybayes.evaluation.comparison import Comparison
    from tallybayes.evaluation.counterpart import (
        LearningCurves,
        MatchingFeatures,
        count_parameters,
        discriminative_counterpart,
        learning_curves,
    )
    from tallybayes.evaluation.leaderboard import compare_models
    from tallybayes.evaluation.prequential_evaluation import Prequential, prequential

__all__ = [
    "AssumptionReport",
    "Comparison",
    "LearningCurves",
    "MatchingFeatures",
    "Prequential",
    "check_assumptions",
    "compare_models",
    "count_parameters",
    "discriminative_counterpart",
    "learning_curves",
    "prequential",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "evaluation.assumptions": (
            "AssumptionReport",
            "check_assumptions",
        ),
        "evaluation.comparison": ("Comparison",),
        "evaluation.counterpart": (
            "LearningCurves",
            "MatchingFeatures",
            "count_parameters",
            "discriminative_counterpart",
            "learning_curves",
        ),
        "evaluation.leaderboard": ("compare_models",),
        "evaluation.prequential_evaluation": ("Prequential", "prequential"),
    },
)

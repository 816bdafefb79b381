"""Pictures of models. They need matplotlib: pip install 'tallybayes[plot]'; nothing else of the library does.

Each is a Display, as in scikit-learn: `XDisplay.from_estimator(model, …)` computes, `.plot(ax=None)` draws, `.figure_`
and `.ax_` are matplotlib's, `.frame()` gives the numbers behind the picture. In a notebook the object shows itself.
"""

from tallybayes.plots.boundary import DecisionBoundaryDisplay
from tallybayes.plots.boundary_shift import BoundaryShiftDisplay
from tallybayes.plots.calibration import CalibrationDisplay
from tallybayes.plots.comparison_plot import ComparisonDisplay
from tallybayes.plots.contours import DensityContourDisplay
from tallybayes.plots.density import ClassDensityDisplay
from tallybayes.plots.evidence_plot import EvidenceDisplay
from tallybayes.plots.factor_graph import FactorGraphDisplay
from tallybayes.plots.learning_curves import LearningCurvesDisplay
from tallybayes.plots.network_plot import NetworkDisplay
from tallybayes.plots.nomogram import NomogramDisplay
from tallybayes.plots.prequential_plot import PrequentialDisplay
from tallybayes.plots.sigmoid import SigmoidDisplay
from tallybayes.plots.surface import DensitySurfaceDisplay

__all__ = [
    "BoundaryShiftDisplay",
    "CalibrationDisplay",
    "ClassDensityDisplay",
    "ComparisonDisplay",
    "DecisionBoundaryDisplay",
    "DensityContourDisplay",
    "DensitySurfaceDisplay",
    "EvidenceDisplay",
    "FactorGraphDisplay",
    "LearningCurvesDisplay",
    "NetworkDisplay",
    "NomogramDisplay",
    "PrequentialDisplay",
    "SigmoidDisplay",
]

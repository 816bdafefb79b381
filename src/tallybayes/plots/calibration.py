"""Reliability diagrams: observed frequency against predicted probability, of one or several models, with counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from tallybayes.errors import OptionError, brief
from tallybayes.plots import style, text_fitting
from tallybayes.plots.display import Display
from tallybayes.plots.plot_tables import class_codes, classes_of, container_of, pick_class
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ticker import PercentFormatter

Z = 1.96  # of the intervals: 95%
BAND = (-0.3, -0.06)  # where the counts are drawn, in units of the vertical axis
PREDICTED = "the predicted class"


@dataclass(frozen=True)
class Curve:
    """A reliability curve, bin by bin.

    Parameters
    ----------
    predicted : ndarray of shape (bins,)
        Mean predicted probability.
    observed : ndarray of shape (bins,)
        Observed frequency.
    count : ndarray of shape (bins,)
        Number of rows.
    """

    predicted: Floats
    observed: Floats
    count: Floats

    def interval(self) -> tuple[Floats, Floats]:
        """Return Wilson's 95% interval of the observed frequency.

        Returns
        -------
        tuple of two ndarrays of shape (bins,)
            The lower and the upper ends.
        """
        n, p = self.count, self.observed
        middle = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
        half = Z / (1 + Z**2 / n) * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
        return np.asarray(middle - half), np.asarray(middle + half)


class CalibrationDisplay(Display):
    """Reliability diagram: observed frequency against predicted probability. On the diagonal a model is calibrated.

    With two classes, p is the probability of the second one, or of `label`. With more, p is the probability of the
    predicted class, and the curve shows the accuracy; with `label`, p is that of one class. Vertical lines: 95%
    intervals. Below: the number of rows in each bin, on a logarithmic scale. Any classifier with predict_proba can be
    shown; the bins are those of sklearn.calibration.calibration_curve. Made by `from_estimator`.

    Parameters
    ----------
    curves : dict of {str: Curve}
        By model: mean prediction, observed frequency and number of rows of each bin.
    what : str
        The class whose probability is shown, or 'the predicted class'.

    Attributes
    ----------
    curves, what
        As given.
    figure_ : matplotlib Figure
        Drawn on first access.
    ax_ : matplotlib Axes
        Drawn on first access.

    See Also
    --------
    tallybayes.report : A report with the calibration of a model.

    References
    ----------
    - Wilson (1927), Probable inference, the law of succession, and statistical inference. JASA 22.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tallybayes import GaussianNB, LinearDiscriminantAnalysis
    >>> from tallybayes.plots import CalibrationDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> models = {m.__name__: m().fit(X[::2], y[::2]) for m in (GaussianNB, LinearDiscriminantAnalysis)}
    >>> picture = CalibrationDisplay.from_estimator(models, X[1::2], y[1::2])
    >>> picture.frame("pandas").groupby("model")["count"].sum().tolist()
    [284, 284]
    """

    _size = (6.8, 5.2)

    def __init__(self, curves: Mapping[str, Curve], what: str) -> None:
        self.curves = dict(curves)
        self.what = what

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: object,
        y: object,
        *,
        label: object = None,
        n_bins: int = 10,
        strategy: str = "uniform",
        ax: Axes | None = None,
    ) -> Self:
        """Compute the curves of one or several fitted classifiers.

        Parameters
        ----------
        estimator : fitted classifier with predict_proba, or dict of {name: classifier}
            One model, or several side by side.
        X : table
            Rows that were not learned.
        y : array of shape (n_rows,)
            Their classes.
        label : class label, default=None
            The class whose probability is shown. By default the second of two; of more, the predicted class.
        n_bins : int, default=10
            As in calibration_curve.
        strategy : {'uniform', 'quantile'}, default='uniform'
            'quantile' gives every bin as many rows.
        ax : matplotlib Axes, default=None
            Where to draw at once; without it, nothing is drawn yet.

        Returns
        -------
        CalibrationDisplay
            The curves; the picture is drawn on first access.
        """
        models = dict(estimator) if isinstance(estimator, Mapping) else {type(estimator).__name__: estimator}
        if not models:
            raise OptionError("Give at least one fitted classifier.")
        if not isinstance(n_bins, int | np.integer) or n_bins < 1:
            raise OptionError(f"n_bins must be a whole number of at least 1; got {brief(n_bins)}.")
        if strategy not in ("uniform", "quantile"):
            raise OptionError(f"strategy must be 'uniform' or 'quantile'; got {brief(strategy)}.")
        curves, what = {}, ""
        for name, model in models.items():
            classes = classes_of(model)
            p = np.asarray(model.predict_proba(X))
            codes = class_codes(y, len(p), classes)
            if label is None and len(classes) > 2:
                shown, true, what = p.max(axis=1), p.argmax(axis=1) == codes, PREDICTED
            else:
                k = len(classes) - 1 if label is None else pick_class(classes, label)
                shown, true, what = p[:, k], codes == k, str(classes.tolist()[k])
            curves[str(name)] = _curve(true, np.clip(shown, 0.0, 1.0), int(n_bins), strategy)
        made = cls(curves, what)
        made.container = container_of(next(iter(models.values())))
        return made if ax is None else made.plot(ax)

    def _columns(self) -> Mapping[str, Sequence[object] | Array]:
        low, high = zip(*(c.interval() for c in self.curves.values()), strict=True)
        return {
            "model": [name for name, c in self.curves.items() for _ in c.predicted],
            "predicted": np.concatenate([c.predicted for c in self.curves.values()]),
            "observed": np.concatenate([c.observed for c in self.curves.values()]),
            "low": np.concatenate(low),
            "high": np.concatenate(high),
            "count": np.concatenate([c.count for c in self.curves.values()]).astype(int),
        }

    def _draw(self, ax: Axes) -> list[Axes]:
        handles = []
        ax.plot([0, 1], [0, 1], color=style.FAINT, linewidth=1, linestyle=(0, (3, 2)), zorder=1)
        for k, c in enumerate(self.curves.values()):
            low, high = c.interval()
            ax.vlines(c.predicted, low, high, color=style.colour(k), linewidth=1.3, alpha=0.6, zorder=2)
            look: style.Look = {"color": style.colour(k), "linestyle": style.dashes(k), "marker": style.marker(k)}
            handles += ax.plot(
                c.predicted,
                c.observed,
                linewidth=1.8,
                markersize=7,
                markeredgecolor=style.INK,
                markeredgewidth=0.5,
                zorder=3,
                **look,
            )
        self._draw_counts(ax)
        ax.set_xlim(-0.03, 1.03)
        ax.set_ylim(BAND[0], 1.03)
        ax.set_xlabel(f"probability of {text_fitting.shorten(self.what, 30)}, as predicted")
        ax.set_ylabel("accuracy" if self.what == PREDICTED else "observed frequency")
        ax.xaxis.set_major_formatter(_percent())
        style.tidy(ax, "both")
        style.legend(ax, handles, list(self.curves))
        return []

    def _draw_counts(self, ax: Axes) -> None:
        """In a band below the curves: rows in each bin on a logarithmic scale, since they differ by powers of ten."""
        most = max(float(c.count.max()) for c in self.curves.values())
        top = max(int(np.ceil(np.log10(most))), 1)
        for k, c in enumerate(self.curves.values()):
            at = c.predicted + (k - (len(self.curves) - 1) / 2) * 0.009
            ax.vlines(
                at, BAND[0], _height(c.count, top), linewidth=2.2, color=style.colour(k), linestyles=style.dashes(k)
            )
            look: style.Look = {"linestyle": "", "marker": style.marker(k), "color": style.colour(k)}
            ax.plot(at, _height(c.count, top), markersize=4, markeredgecolor=style.INK, markeredgewidth=0.4, **look)
        ax.axhline(-0.035, color=style.FAINT, linewidth=0.8)
        shares = np.linspace(0, 1, 6)
        powers = 10.0 ** np.unique([top // 2, top])
        rows = [f"{n:,.0f} rows" for n in powers]
        ax.set_yticks([*shares, *_height(powers, top)], [*(f"{v:.0%}" for v in shares), *rows])
        for label in ax.get_yticklabels()[len(shares) :]:
            label.set_fontsize("x-small")


def _height(count: Floats, top: int) -> Floats:
    """Where in the band so many rows lie; one row is a tenth of the band above its floor."""
    return BAND[0] + (BAND[1] - BAND[0]) * (0.1 + 0.9 * np.log10(count) / top)


def _curve(true: object, p: Floats, n_bins: int, strategy: str) -> Curve:
    from sklearn.calibration import calibration_curve

    share, mean = calibration_curve(true, p, pos_label=True, n_bins=n_bins, strategy=strategy)
    # calibration_curve does not return counts: the same bins again
    edges = np.linspace(0, 1, n_bins + 1) if strategy == "uniform" else np.quantile(p, np.linspace(0, 1, n_bins + 1))
    count = np.bincount(np.searchsorted(edges[1:-1], p), minlength=n_bins)
    return Curve(mean, share, count[count > 0].astype(np.float64))


def _percent() -> PercentFormatter:
    from matplotlib.ticker import PercentFormatter

    return PercentFormatter(1.0, decimals=0)

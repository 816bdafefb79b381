"""The features in order of what they tell of the class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.output_tables import build_frame
from tallybayes.utils import notebook
from tallybayes.utils.array_types import Floats


@dataclass(frozen=True, repr=False, eq=False)
class FeatureRanking:
    """How much each feature tells of the class under the model: I(feature; class) in nats, most first. Print it.

    Each feature by itself: two that say the same are both high. A word of a multinomial model is taken as the question
    whether one word of a text is this one.

    Parameters
    ----------
    names : tuple of str
        The features.
    information : ndarray of shape (n_features,)
        I(feature; class) in nats.
    error : ndarray of shape (n_features,)
        The standard error where information is a mean over values drawn from the model, else 0.
    entropy : float
        That of the class prior: the most that can be told.
    container : str, default='numpy'
        What kind of frame `frame` gives: that of the table that the model was fitted on.

    Attributes
    ----------
    names, information, error, entropy, container
        As above.
    order : ndarray of shape (n_features,)
        Positions of the features, the most telling first.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.datasets import load_watermelon
    >>> ranking = NaiveBayes().fit(*load_watermelon()).explain()
    >>> [ranking.names[j] for j in ranking.order[:2]]
    ['sugar', 'texture']
    """

    names: tuple[str, ...]
    information: Floats
    error: Floats
    entropy: float
    container: str = "numpy"

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """ndarray of shape (n_features,): positions of the features, the most telling first."""
        return np.argsort(-self.information, kind="stable")

    def frame(self, backend: str | None = None) -> Any:
        """Give the ranking as a frame with one line per feature, the most telling first.

        Parameters
        ----------
        backend : {'pandas', 'polars', 'pyarrow', 'dict'}, default=None
            What to give it as; by default the kind of data frame that the model was fitted on, and a dict of arrays if
            it was none.

        Returns
        -------
        data frame or dict of arrays
            With the columns feature, information, error and share (of the entropy of the class).
        """
        share = self.information / self.entropy if self.entropy > 0 else np.zeros(len(self.names))
        return build_frame(
            {
                "feature": [self.names[j] for j in self.order],
                "information": self.information[self.order],
                "error": self.error[self.order],
                "share": share[self.order],
            },
            self.container,
            backend,
        )

    def text(self, most: int = 10) -> str:
        """Tell the ranking in words.

        Parameters
        ----------
        most : int, default=10
            How many features are told.

        Returns
        -------
        str
            One line for each feature.
        """
        width = max(len(name) for name in self.names)
        lines = [f"What each feature tells of the class, by itself (of {abs(self.entropy):.3g} nats that there are):"]
        for j in self.order[:most].tolist():
            note = f" ± {self.error[j]:.1g}" if self.error[j] > 0 else ""
            lines.append(f"  {self.names[j]:<{width}}  {self.information[j]:.3g}{note}")
        if len(self.names) > most:
            lines.append(f"  {len(self.names) - most} more")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        best = f", {self.names[self.order[0]]!r} tells most" if len(self.names) else ""
        return f"FeatureRanking({len(self.names)} feature{'s' * (len(self.names) != 1)}{best})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        first, *_ = self.text(0).splitlines()
        rows = [
            (
                self.names[j],
                f"{self.information[j]:.3g}" + (f" ± {self.error[j]:.1g}" if self.error[j] > 0 else ""),
                f"{self.information[j] / self.entropy:.1%}" if self.entropy > 0 else "",
            )
            for j in self.order.tolist()
        ]
        return notebook.page(notebook.heading(first), notebook.table(("feature", "nats", "share"), rows))

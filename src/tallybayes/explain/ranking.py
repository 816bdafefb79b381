"""The features in order of what they tell of the class."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.output_tables import build_frame
from tallybayes.data.schema import Schema
from tallybayes.distributions.information import information
from tallybayes.errors import OptionError, brief
from tallybayes.model.fitted import Fitted
from tallybayes.utils import notebook
from tallybayes.utils.array_types import Floats
from tallybayes.utils.cached import cached_property

showing: ContextVar[bool] = ContextVar("showing", default=False)  # a notebook shows the model

MIN_SHOWN_NATS = 5e-7  # nats that are shown


@dataclass(frozen=True, repr=False, eq=False)
class FeatureRanking:
    """Result of `explain()` without rows: features by their mutual information with the class, in nats. Print it.

    Each feature by itself: two redundant ones are both high. A word of a multinomial model is taken as the question
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
        That of the class prior: the most that features can say.
    container : str, default='numpy'
        What kind of frame `frame` gives: that of the table that the model was fitted on.

    Attributes
    ----------
    names, information, error, entropy, container
        As above.
    order : ndarray of shape (n_features,)
        Positions of the features, the most informative first.

    See Also
    --------
    Explanation : The evidence in single rows.

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
        """ndarray of shape (n_features,): positions of the features, the most informative first."""
        return np.argsort(-self.information, kind="stable")

    def frame(self, backend: str | None = None) -> Any:
        """Return the ranking as a frame with one line per feature, the most informative first.

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
        """Describe the ranking in words.

        Parameters
        ----------
        most : int, default=10
            How many features are listed.

        Returns
        -------
        str
            One line for each feature.
        """
        width = max(len(name) for name in self.names)
        lines = [f"Mutual information of each feature with the class, in nats (entropy {abs(self.entropy):.3g}):"]
        for j in self.order[:most].tolist():
            note = f" ± {self.error[j]:.1g}" if self.error[j] > 0 else ""
            lines.append(f"  {self.names[j]:<{width}}  {_nats(self.information[j])}{note}")
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
        values = self.information[self.order].tolist()
        most = max(values, default=0.0)
        rows = [
            (
                self.names[j],
                notebook.bar(max(v, 0.0), most, _nats(v) + (f" ± {error:.1g}" if error > 0 else ""), error),
                f"{max(v, 0.0) / self.entropy:.1%}" if self.entropy > 0 else "",
            )
            for j, v, error in zip(self.order.tolist(), values, self.error[self.order].tolist(), strict=True)
        ]
        return notebook.page(notebook.heading(first), notebook.table(("feature", "nats", "share"), rows))


def _nats(v: float) -> str:
    """Information in three digits, but at most five decimals; what is below a rounding error of it is 0."""
    return f"{v:.3g}" if v >= 1e-4 else "<0.0001" if v >= MIN_SHOWN_NATS else "0"


def rank_features(fitted: Fitted, feature_names: object = None) -> FeatureRanking:
    """The features of a model with parameters, by their mutual information with the class."""
    schema = fitted.schema
    value, error = np.zeros(schema.d), np.zeros(schema.d)
    for term in fitted.terms:
        columns = list(term.columns)
        value[columns], error[columns] = information(term.distribution, term.params, len(columns), fitted.prior)
    names = column_names(schema, feature_names)
    share = np.exp(fitted.prior)
    entropy = float(-(share[share > 0] * np.log(share[share > 0])).sum())
    return FeatureRanking(names, value, error, entropy, schema.container)


def importances(fitted: Fitted) -> Floats:
    """The share of each column in the information of all; of a date, that of its parts."""
    if showing.get():
        raise AttributeError("feature_importances_ may take samples of the model: a notebook does not show it")
    found = fitted.schema.by_input(np.maximum(rank_features(fitted).information, 0.0))
    total = found.sum()
    return np.asarray(found / total if total > 0 else np.full(len(found), 1.0 / len(found)))


def column_names(schema: Schema, given: object) -> tuple[str, ...]:
    """What the columns are called; given: by the user, where the table did not say."""
    if given is None:
        return tuple(schema.name(j) for j in range(schema.d))
    if schema.names is not None:
        raise OptionError("feature_names are for a table without names; this model knows the names of its columns.")
    found = [str(v) for v in given] if isinstance(given, Iterable) and not isinstance(given, str) else []
    if len(found) != schema.d:
        raise OptionError(f"feature_names must be {schema.d} names, one for each column; got {brief(given)}.")
    return tuple(found)

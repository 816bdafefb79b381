"""Names of categories that only forgotten rows had: taken out of the model, as the rows were.

A model's levels keep their codes for ever, so that counts of other machines still fit. Forgetting leaves such a level
with a count of zero, which no answer looks at, and with its name, which may be somebody's. The code stays; the name is
replaced by one that says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tallybayes.data.schema import Levels
from tallybayes.distributions.capabilities import LevelCounts, LevelWeights, capability
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.model.fitted import Fitted
from tallybayes.model.term import Term

FAR = -(2**62)  # where numbers are found that nobody uses as a category


def without_names(model: GenerativeClassifier, rows: Sequence[Mapping[str, object]]) -> GenerativeClassifier:
    """The model without the names of categories that were in these rows, which it has forgotten, and in no others."""
    fitted = model.fitted_
    levels = {}
    for term in fitted.terms:
        for j, unmet in _unmet(term, fitted).items():
            name, known = fitted.schema.name(j), fitted.schema.levels[j]
            were = {row.get(name) for row in rows}
            gone = [code for code in unmet if known.labels[code] in were and code not in known.declared]
            if gone:
                levels[j] = _renamed(known, gone)
    return model._holding(replace(fitted, schema=fitted.schema.with_levels(levels))) if levels else model


def _unmet(term: Term, fitted: Fitted) -> dict[int, list[int]]:
    """Codes without weight, by column; of columns that have labels."""
    counted, weighed = capability(term.distribution, LevelCounts), capability(term.distribution, LevelWeights)
    if counted is None or weighed is None:
        return {}
    parts = np.split(weighed.level_weights(term.statistics), np.cumsum(counted.sizes(term.statistics))[:-1])
    found = {}
    for j, part in zip(term.columns, parts, strict=False):
        if j in fitted.schema.levels and j not in fitted.schema.cuts:
            codes = np.arange(len(fitted.schema.levels[j]))
            found[j] = [code for code in codes.tolist() if code >= len(part) or part[code] == 0]
    return found


def _renamed(levels: Levels, codes: Sequence[int]) -> Levels:
    labels = list(levels.labels)
    for code in codes:
        labels[code] = FAR - code if isinstance(labels[code], int | float) else f"\x00forgotten {code}"
    return Levels(tuple(labels), levels.declared)

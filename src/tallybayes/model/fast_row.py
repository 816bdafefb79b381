"""One row at a time, in compiled code: a fast path into a fitted model, made of the fast paths of its distributions.

It has statistics of its own: what it learns becomes a Fitted when somebody asks for one. Whatever is unusual (a new
class, a wrong type, a label that calls for a warning) it does not take, and the general path through a table of one row
gives the same answer to the bit; with a half-life, to rounding: the fast path lets new rows weigh more instead of
multiplying all sums at each.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tallybayes import _core
from tallybayes.data.schema import Levels, Schema
from tallybayes.distributions.capabilities import CompiledRow, capability
from tallybayes.distributions.context import RowColumn
from tallybayes.distributions.statistics import changed
from tallybayes.model.fitted import Fitted
from tallybayes.model.term import Term
from tallybayes.utils.array_types import Array


class FastRow:
    """A compiled fast path and its parts, one for each term; what they have learned that the model has not."""

    __slots__ = ("core", "decay", "forget", "learn", "learn_unlocked", "let_in", "parts", "proba", "schema", "settled")

    def __init__(self, core: _core.FastRow, parts: Sequence[Any], schema: Schema) -> None:
        self.core, self.parts, self.schema = core, parts, schema
        self.learn, self.forget, self.decay, self.proba = core.learn, core.forget, core.decay, core.proba
        self.learn_unlocked, self.let_in = core.learn_unlocked, core.let_in
        self.settled = 0  # changes that the model knows of

    def catch_up(self, fitted: Fitted) -> Fitted:
        """Take over all that happened at the fast path: rows that came, went or faded."""
        if self.settled == self.core.changes:
            return fitted
        self.settled = self.core.changes
        terms = tuple(
            replace(term, statistics=changed(term.statistics, self.parts[i].sums()), params=None)
            for i, term in enumerate(fitted.terms)
        )
        schema = self._grown() if self.core.learned else self.schema
        return replace(fitted, schema=schema, weight=self.core.weight(), terms=terms, log_prior=None)

    def _grown(self) -> Schema:
        """The schema with the labels learned since; a column of bare codes has labels as soon as it has met a dict."""
        levels = {}
        for part in self.parts:
            if isinstance(part, _core.FastLevels):
                sizes = part.sums()["sizes"].tolist()
                for (j, new), size in zip(part.added().items(), sizes, strict=True):
                    old = self.schema.levels.get(j, Levels(tuple(range(size))))
                    levels[j] = old.extend(new) if new else old
        return self.schema.with_levels(levels)


class RowCodes:
    """Reads one dict as packed codes (columns, 1), for a term that is a whole model: what a table of
    this row would be packed into. Whatever is unusual it does not take."""

    __slots__ = ("_gone", "_kind", "_none", "_readers")

    def __init__(self, fitted: Fitted, sizes: Array, gone: Sequence[tuple[int, int]]) -> None:
        schema, (term,) = fitted.schema, fitted.terms
        top = int(sizes.max(initial=0))
        self._kind = np.uint8 if top <= 255 else np.uint16 if top <= 65535 else np.uint32
        self._none = int(np.iinfo(self._kind).max)
        self._gone = frozenset(gone)
        self._readers = [
            (
                schema.name(j),
                schema.cuts[j].points.tolist() if j in schema.cuts else None,
                _plain_labels(schema, j, size),
            )
            for j, size in zip(term.columns, sizes.tolist(), strict=True)
        ]

    def read(self, row: dict[str, object]) -> Array | None:
        """Return the packed codes of a row."""
        none = self._none
        codes, met = [none] * len(self._readers), 0
        for i, (name, points, labels) in enumerate(self._readers):
            value = row.get(name, self)
            if value is self:
                continue
            met += 1
            if value is None:
                continue
            if isinstance(value, float) or (points is not None and type(value) is int):
                if value != value:
                    continue
                if points is None or not -1e300 < value < 1e300:
                    return None
                codes[i] = bisect_right(points, float(value))
                continue
            code = labels.get(value) if type(value) is str or type(value) is int else None
            if code is None:
                return None
            codes[i] = none if (i, code) in self._gone else code
        return None if met < len(row) else np.array(codes, dtype=self._kind)[:, None]


def _plain_labels(schema: Schema, j: int, size: int) -> dict[object, int]:
    """The codes below size of labels that are texts or whole numbers; none where others could be equal to them."""
    known = {} if j in schema.cuts or j not in schema.levels else schema.levels[j].index()
    plain = all(type(label) in (str, int) for label in known)
    return {label: code for label, code in known.items() if code < size} if plain else {}


def open_fast_row(fitted: Fitted, priors: object, lock: _core.Lock) -> FastRow | str:
    """A fast path for the model as it is, or why there is none.

    fitted: with parameters; priors: as for its estimate; lock: rows that come without it wait while somebody has it.
    """
    schema = fitted.schema
    parts: list[object] = []
    for term in fitted.terms:
        compiled = capability(term.distribution, CompiledRow)
        if compiled is None:
            part: _core.FastRowTerm | str = (
                f"the distribution {term.distribution.name!r} has no compiled form for one row"
            )
        else:
            part = compiled.fast_row(row_columns(schema, term), term.statistics, fitted.context(term))
        if isinstance(part, _core.FastAveraged):
            part.chosen(term.params.rank, term.params.strengths)  # or it would choose them once more
        if isinstance(part, str):
            return f"column {schema.name(term.columns[0])!r}: {part}"
        parts.append(part)
    if callable(priors):
        return "its prior is a function of all that was counted"
    names = [schema.name(j) for j in range(schema.d)]
    classes = {label: c for c, label in enumerate(fitted.classes.tolist())}
    core = _core.FastRow(names, classes, fitted.weight, _prior_of(fitted, priors), parts, lock)
    return FastRow(core, parts, schema)


def row_columns(schema: Schema, term: Term) -> list[RowColumn]:
    """What a fast path needs to know of the columns of a term."""
    points = {j: schema.cuts[j].points for j in term.columns if j in schema.cuts}
    return [RowColumn(j, schema.kinds[j], points.get(j)) for j in term.columns]


def _prior_of(fitted: Fitted, priors: object) -> Any:
    """What is added to the weight of each class, or log priors that do not follow the rows."""
    if priors is None:
        return 0.0
    return 1.0 if isinstance(priors, str) and priors == "laplace" else fitted.prior

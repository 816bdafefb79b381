"""Which distribution models which columns: as the user says (`assign`), or chosen by leave-one-out log-loss (`choose`).

Each candidate for a numeric column predicts the class by the column alone. For a sample of the first batch, at most
SAMPLE rows with the smallest hashes, each has the loss

    −log P(class | x_j),   P(class | x_j) ∝ P(class) P(x_j | class),

by the statistics of those rows without the row itself. Cuts are found on one half of the rows and judged on the other,
since cuts that a row has helped to choose would flatter it. Taken is the simplest distribution that is within one
standard error of the best, in the order of CANDIDATES: a table of few rows keeps its Gaussians.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data.encoding import Data, Numbers, cut_numbers, find_cuts, numbers
from tallybayes.data.labels import Target
from tallybayes.data.schema import KINDS, DistributionChoice, Levels, Schema
from tallybayes.data.table import Table
from tallybayes.distributions import Distribution, distribution
from tallybayes.distributions.capabilities import ColumnLeaveOneOut, capability
from tallybayes.distributions.context import Context
from tallybayes.errors import OptionError
from tallybayes.model.term import Term
from tallybayes.utils.array_types import Array, Floats
from tallybayes.utils.progress import stage, step

AUTO = "auto"  # chosen for each column by leave-one-out
BY_KIND = {"real": AUTO, "categorical": "categorical", "binary": "bernoulli", "count": "poisson", "text": "words"}
UNCHOSEN = {"real": "gaussian", "count": "poisson"}  # where nothing was chosen: too few rows, or an earlier version
SAMPLE = 1024  # rows that judge
CUTTING = 1 << 14  # rows that cuts are found on, once they are chosen; and the most rows for a kernel, which keeps all
SELECTION_CELLS = 1 << 22  # rows × columns × classes that are judged at a time
FEWEST = 30  # the weight of rows: with less there is nothing to choose by
MOST_LOSS = 30.0  # a row that is more surprising than that says no more: a mean must not hang on one row


class Candidate(NamedTuple):
    """A distribution that has ColumnLeaveOneOut, and which columns it may have: (columns, rows), NaN is missing."""

    name: str
    takes: Callable[[Floats], NDArray[np.bool_]]
    keeps_values: bool = False  # only where at most CUTTING rows are learned, and not in a plan, which is sent
    cut: bool = False  # its intervals are chosen on the rows, too


CANDIDATES = (  # the simplest first
    Candidate("gaussian", lambda x: np.ones(len(x), dtype=bool)),
    Candidate("log-gaussian", lambda x: _varies(x) & ((x > 0) | np.isnan(x)).all(axis=1)),
    Candidate("poisson", lambda x: _varies(x) & (((x >= 0) & (x == np.floor(x))) | np.isnan(x)).all(axis=1)),
    Candidate("mdl", lambda x: np.ones(len(x), dtype=bool), cut=True),
    Candidate("kernel", lambda x: _varies(x), keeps_values=True),
)


@dataclass(frozen=True)
class _Judged:
    """Some rows that count: their classes, weights, how much of each is left out, and their hashes."""

    at: NDArray[np.int64]  # which rows of the table
    y: NDArray[np.int32]
    w: Floats
    unit: Floats
    weight: Floats  # of each class: (K,)
    key: NDArray[np.uint64]

    @property
    def K(self) -> int:
        return len(self.weight)

    @property
    def has_others(self) -> NDArray[np.bool_]:
        """Whether the class of each row has other rows, which can predict it."""
        own = self.weight[self.y]
        return np.asarray(own - self.unit > 1e-9 * own)


def assign(schema: Schema, chosen: object, options: Mapping[str, object]) -> tuple[Term, ...]:
    """Columns by distribution: what the user chose, else by kind.

    chosen: None, one distribution (for every numeric column), or a dict from column or kind to distribution.
    options: parameters of the estimator that a distribution given by name takes over (alpha, ddof, …).
    """
    by_kind, by_column = _choices(schema, chosen, options)
    made: dict[object, Distribution] = {}
    members: dict[object, list[int]] = {}
    for j, kind in enumerate(schema.kinds):
        what = by_column.get(j, by_kind[kind])
        if isinstance(what, str) and what == AUTO and kind in UNCHOSEN:
            what = schema.chosen[j].name if j in schema.chosen else UNCHOSEN[kind]
        key: Any = what if isinstance(what, str) else id(what)
        if key not in made:
            made[key] = distribution(what, options)
        found = made[key]
        if found.one_column:
            key = (key, j)
            made[key] = found
        if kind not in found.kinds:
            to = found.kinds[0]
            change = f"change the kind with schema={{{schema.name(j)!r}: {to!r}}}"
            if kind in ("categorical", "text") and to in ("real", "count"):  # to call words numbers would not do
                change = "give numbers there"
            raise OptionError(
                f"Column {schema.name(j)!r} is {kind}; the distribution {found.name!r} takes "
                f"{' or '.join(found.kinds)} columns. Choose another, such as {BY_KIND[kind]!r}, or {change}."
            )
        members.setdefault(key, []).append(j)
    return tuple(Term(made[key], tuple(columns)) for key, columns in members.items())


def to_choose(schema: Schema, chosen: object, options: Mapping[str, object]) -> list[int]:
    """The columns whose distribution is to be chosen, and is not yet."""
    by_kind, by_column = _choices(schema, chosen, options)
    asked = [by_column.get(j, by_kind[kind]) for j, kind in enumerate(schema.kinds)]
    return [
        j
        for j, (what, kind) in enumerate(zip(asked, schema.kinds, strict=True))
        if isinstance(what, str) and what == AUTO and kind in UNCHOSEN and j not in schema.chosen
    ]


def _choices(
    schema: Schema, chosen: object, options: Mapping[str, object]
) -> tuple[dict[str, object], dict[int, object]]:
    """What is asked for by kind, and by column."""
    by_kind: dict[str, object] = dict(BY_KIND)
    by_column: dict[int, object] = {}
    if isinstance(chosen, Mapping):
        at = {name: j for j, name in enumerate(schema.names or ())}
        for key, value in chosen.items():
            if key in KINDS and key not in at:
                by_kind[key] = value
            else:
                by_column[at[key] if key in at else schema.position(key)] = value
    elif isinstance(chosen, str) and chosen == AUTO:
        by_kind.update(dict.fromkeys(UNCHOSEN, AUTO))
    elif chosen is not None:
        one = distribution(chosen, options)
        numeric = [kind for kind in one.kinds if kind in ("real", "count", "text")]
        if not numeric:
            raise OptionError(
                f"The distribution {one.name!r} takes {' or '.join(one.kinds)} columns, not numbers. Name the columns "
                f"it is for: distributions={{'column': {one.name!r}}}."
            )
        by_kind.update(dict.fromkeys(numeric, chosen))
    return by_kind, by_column


def choose(
    table: Table,
    schema: Schema,
    columns: Sequence[int],
    options: Mapping[str, object],
    target: Target,
    for_plan: bool = False,
) -> Schema:
    """The schema with a choice for each of the columns, and cuts for those that are cut.

    options: parameters of the estimator that a distribution takes over (alpha, ddof, …). for_plan: what is learned
    with the choices may leave its place, so none may be a distribution that keeps values of rows.
    """
    if not columns:
        return schema
    if table.csr is not None:
        name = "multinomial" if _whole_counts(table.csr) else "gaussian"
        return replace(schema, chosen={**schema.chosen, **dict.fromkeys(columns, DistributionChoice(name))})
    rows = _sample(table, schema, columns, target, SAMPLE)
    chosen: dict[int, DistributionChoice] = dict.fromkeys(columns, DistributionChoice("gaussian", rows=len(rows.at)))
    if rows.w[rows.has_others].sum() >= FEWEST and rows.K > 1:
        many = for_plan or int((target.y >= 0).sum()) > CUTTING
        at_once = max(1, SELECTION_CELLS // (len(rows.at) * rows.K))
        stage("choosing distributions", len(columns))
        for first in range(0, len(columns), at_once):
            some = columns[first : first + at_once]
            step(len(some))
            try:
                found = _choices_of(_numbers(table, schema, some, rows.at), rows, options, many)
            except _core.BadValue:  # too large to square: counting it refuses it, by its name
                continue
            chosen.update(zip(some, found, strict=True))
    schema = replace(schema, chosen={**schema.chosen, **chosen})
    return _cut(table, schema, [j for j in columns if chosen[j].name == "mdl" and j not in schema.cuts], target)


def _whole_counts(csr: Any) -> bool:
    values = csr.data  # a sparse table holds floats or signed integers, whatever it was made of
    return bool(np.isfinite(values).all() and (values >= 0).all() and (values == np.floor(values)).all())


def _sample(table: Table, schema: Schema, columns: Sequence[int], target: Target, most: int) -> _Judged:
    """Some of the rows that count, whatever order they are in: those with the smallest hashes of these columns."""
    own, K = numbers(table, schema, columns, learning=True), max(len(target.classes), 1)
    there, key = _core.hashed_sample(own.columns, target.y, target.w, K, most)
    w = np.ones(len(there)) if target.w is None else target.w[there]
    if len(w):
        w = w / min(1.0, float(w.mean()))  # weights may be shares of a whole: a row is a row
    present, y = np.unique(target.y[there], return_inverse=True)  # of many classes, few are in the sample
    weight = np.bincount(y, weights=w, minlength=len(present)).astype(np.float64)
    return _Judged(there, y.astype(np.int32), w, np.minimum(w, 1.0), weight, key)


def _numbers(table: Table, schema: Schema, columns: Sequence[int], at: NDArray[np.int64]) -> Numbers:
    """These columns of these rows, float64, column by column."""
    if table.matrix is not None:
        x = np.ascontiguousarray(table.matrix[at][:, list(columns)].T, dtype=np.float64)
    else:
        data = numbers(table, schema, columns, learning=True)
        x = np.stack([np.asarray(a[at], dtype=np.float64) for a in data.arrays])
    return Numbers(None, None, tuple(np.where(np.isinf(x), np.nan, x)))  # an infinity is refused when it is counted


def _cut(table: Table, schema: Schema, columns: Sequence[int], target: Target) -> Schema:
    if not columns:
        return schema
    rows = _sample(table, schema, columns, target, CUTTING)
    w = None if target.w is None else rows.w
    found = find_cuts(_numbers(table, schema, columns, rows.at), "mdl", 1, rows.y, w, rows.K)
    return replace(schema, cuts={**schema.cuts, **dict(zip(columns, found, strict=True))})


def _choices_of(data: Numbers, rows: _Judged, options: Mapping[str, object], many: bool) -> list[DistributionChoice]:
    """A choice for each column. many: too many rows are learned to keep their values."""
    x = np.stack(data.arrays)
    losses = {c.name: _judge(c, x, rows, options) for c in CANDIDATES if not (many and c.keeps_values)}
    judged = _judged(rows, ~np.isnan(x))
    return [_decide({name: loss[j] for name, loss in losses.items()}, rows, judged[j]) for j in range(len(x))]


def _varies(x: Floats) -> NDArray[np.bool_]:
    """(columns,): has two values."""
    return np.array([len(np.unique(own[~np.isnan(own)])) > 1 for own in x], dtype=bool)


def _judged(rows: _Judged, there: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(columns, rows): has a value, and its class has other rows."""
    return np.asarray(there & rows.has_others)


def _judge(candidate: Candidate, x: Floats, rows: _Judged, options: Mapping[str, object]) -> Floats:
    """(columns, rows): −log P(class | x_j) of each row, leave-one-out; NaN where the candidate does not take x_j."""
    loss = np.full(x.shape, np.nan)
    which = np.flatnonzero(candidate.takes(x))
    if len(which):
        some = Numbers(None, None, tuple(x[which]))
        own = distribution(candidate.name, options)
        judge = _cut_losses if candidate.cut else _column_losses
        loss[which] = judge(own, some, rows)
    return loss


def _column_losses(own: Distribution[Any, Any], data: Numbers, rows: _Judged) -> Floats:
    return _losses(own, data, rows, [None] * data.d)


def _cut_losses(own: Distribution[Any, Any], data: Numbers, rows: _Judged) -> Floats:
    """Losses by cuts that the row had no part in."""
    share, out = _halves(rows.key, rows.w), np.zeros((data.d, data.n))
    for judged, others in ((share, 1 - share), (1 - share, share)):
        cuts = find_cuts(data, "mdl", 1, rows.y, rows.w * others, rows.K)
        out += judged * _losses(own, cut_numbers(data, cuts), rows, [c.intervals for c in cuts])
    return out


def _losses(own: Distribution[Any, Any], data: Data, rows: _Judged, levels: Sequence[Levels | None]) -> Floats:
    """(columns, rows): −log P(class | x_j) of each row by the others."""
    by_column = capability(own, ColumnLeaveOneOut)
    if by_column is None:
        raise TypeError(f"{type(own).__name__} is a candidate and has no leave_one_out_columns in its capabilities.")
    context, statistics = Context(rows.weight, levels), own.add(data, rows.y, rows.w, rows.K)
    return _class_losses(by_column.leave_one_out_columns(data, rows.y, rows.unit, statistics, context), rows)


def _halves(key: NDArray[np.uint64], w: Floats) -> Floats:
    """(rows,): the share of each row in the first half. Rows that are the same share alike, whatever their order."""
    kinds, kind = np.unique(key, return_inverse=True)
    weight = np.bincount(kind.reshape(-1), weights=w, minlength=len(kinds))
    even = 2 * np.floor(weight / 2)
    odd = np.where(kinds >> np.uint64(63) > 0, weight - even, 0.0)
    return np.asarray(((even / 2 + odd) / weight)[kind.reshape(-1)])


def _class_losses(log: Array, rows: _Judged) -> Floats:
    """(columns, rows) from log P(x_j | class): (columns, rows, K)."""
    at = np.arange(len(rows.y))
    with np.errstate(divide="ignore", invalid="ignore"):
        prior = np.repeat(np.log(rows.weight)[None], len(rows.y), axis=0)
        prior[at, rows.y] = np.log(np.maximum(rows.weight[rows.y] - rows.unit, 0.0))
        joint = log + prior
        top = joint.max(axis=2)
        loss = np.log(np.exp(joint - top[..., None]).sum(axis=2)) + top - joint[:, at, rows.y]
    return np.minimum(np.where(np.isnan(loss), MOST_LOSS, loss), MOST_LOSS)


def _decide(losses: Mapping[str, Floats], rows: _Judged, judged: NDArray[np.bool_]) -> DistributionChoice:
    """The simplest within one standard error of the best."""
    w = rows.w[judged]
    if w.sum() < FEWEST:
        return DistributionChoice("gaussian", rows=len(rows.at))
    tried = {name: loss[judged] for name, loss in losses.items() if not np.isnan(loss[judged]).any()}
    mean = {name: float(np.average(loss, weights=w)) for name, loss in tried.items()}
    best = min(mean, key=mean.__getitem__)
    for name, loss in tried.items():
        more = loss - tried[best]
        spread = np.sqrt(np.average((more - np.average(more, weights=w)) ** 2, weights=w) / w.sum())
        if mean[name] - mean[best] <= spread:
            return DistributionChoice(name, mean, len(rows.at))
    return DistributionChoice(best, mean, len(rows.at))


def differs(a: Schema, b: Schema) -> tuple[int, str, str] | None:
    """The first column of numbers for which the two chose differently, and what; no choice is a Gaussian."""
    for j in sorted(
        j for j in {*a.chosen, *b.chosen} if a.kinds[j] != "categorical"
    ):  # else: structure/high_cardinality.py
        one, two = (s.chosen[j].name if j in s.chosen else "gaussian" for s in (a, b))
        if one != two:
            return j, one, two
    return None

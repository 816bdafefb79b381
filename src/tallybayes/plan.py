"""Which distribution looks after which columns, and how a table becomes what they read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core, encode
from tallybayes.distributions import Distribution, distribution
from tallybayes.distributions.categorical import Binned, Categorical
from tallybayes.distributions.joint import Joint
from tallybayes.errors import OptionError, TableError
from tallybayes.schema import KINDS, Schema
from tallybayes.source import Table

CUT = ("real", "count")  # kinds that are cut into intervals where levels are wanted
BY_KIND = {"real": "gaussian", "categorical": "categorical", "binary": "bernoulli", "count": "poisson"}


@dataclass(frozen=True)
class Group:
    """Columns that share a distribution; their tally is one set of arrays."""

    distribution: Distribution
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Batch:
    """Rows as the kernels read them: classes, weights, and the data of each group."""

    n: int
    data: tuple[encode.Data, ...]


def assign(schema: Schema, chosen: Any, options: Mapping[str, Any]) -> tuple[Group, ...]:
    """Groups of columns by distribution: what the user chose, else by kind.

    chosen: None, one distribution (for every numeric column), or a dict from column or kind to distribution.
    options: parameters of the estimator that a distribution given by name takes over (alpha, ddof, …).
    """
    by_kind = dict(BY_KIND)
    by_column: dict[int, Any] = {}
    if isinstance(chosen, Mapping):
        at = {name: j for j, name in enumerate(schema.names or ())}
        for key, value in chosen.items():
            if key in KINDS and key not in at:
                by_kind[key] = value
            else:
                by_column[at[key] if key in at else schema.position(key)] = value
    elif chosen is not None:
        one = distribution(chosen, options)
        numeric = [kind for kind in one.kinds if kind in ("real", "count")]
        if not numeric:
            raise OptionError(
                f"The distribution {one.name!r} takes {' or '.join(one.kinds)} columns, not numbers. Name the columns "
                f"it is for: distributions={{'column': {one.name!r}}}."
            )
        by_kind.update(dict.fromkeys(numeric, chosen))
    made: dict[Any, Distribution] = {}
    members: dict[Any, list[int]] = {}
    for j, kind in enumerate(schema.kinds):
        what = by_column.get(j, by_kind[kind])
        key = what if isinstance(what, str) else id(what)
        if key not in made:
            made[key] = distribution(what, options)
        found = made[key]
        if kind not in found.kinds:
            raise OptionError(
                f"Column {schema.name(j)!r} is {kind}; the distribution {found.name!r} takes "
                f"{' or '.join(found.kinds)} columns. Choose another, or change the kind with "
                f"schema={{{schema.name(j)!r}: {found.kinds[0]!r}}}."
            )
        members.setdefault(key, []).append(j)
    return tuple(Group(made[key], tuple(columns)) for key, columns in members.items())


def same_shape(a: Sequence[Group], b: Sequence[Group]) -> bool:
    """Do the two look after the same columns in the same way, so that their tallies add?"""
    return [(g.distribution.layout(), g.columns) for g in a] == [(g.distribution.layout(), g.columns) for g in b]


def learn_cuts(
    table: Table,
    schema: Schema,
    groups: Sequence[Group],
    y: NDArray[np.int32],
    w: NDArray[np.float64] | None,
    K: int,
) -> Schema:
    """Chooses the cuts of columns that have none yet."""
    for group in groups:
        d = group.distribution
        if isinstance(d, Binned | Joint):
            cut = group.columns[: len(group.columns) - d.reals] if isinstance(d, Joint) else group.columns
            new = [j for j in cut if j not in schema.cuts and schema.kinds[j] in CUT]
            if new:
                if d.method is None:  # what is not cut stays real, and is not among these; a file may say otherwise
                    raise OptionError(f"Column {schema.name(new[0])!r} is neither cut nor kept real. Fit again.")
                with named(schema, new):
                    schema = encode.learn_cuts(table, schema, new, d.method, d.bins, y, w, K)
    return schema


def encode_batch(
    table: Table, schema: Schema, groups: Sequence[Group], grow: bool, sizes: Mapping[int, int]
) -> tuple[Batch, Schema]:
    """The data of every group; with grow, labels not met before are appended to the schema.

    sizes: how many integer codes a column without a dictionary has had so far.
    """
    data: list[encode.Data] = []
    for group in groups:
        d, which = group.distribution, group.columns
        with named(schema, which):
            if isinstance(d, Joint):
                both, schema = encode.coded(table, schema, which, grow, sizes, d.reals)
                data.append(both)
                if grow:
                    _check_two(schema, which)
            elif d.needs == "levels":
                codes, schema = encode.levels(table, schema, which, grow, sizes)
                data.append(codes)
                if grow:
                    _check_two(schema, which)
                    if isinstance(d, Categorical) and d.contiguous:
                        schema = _fill(schema, which)
            elif d.needs == "cuts":
                data.append(encode.cut_codes(table, schema, which))
            elif table.csr is not None:
                csr = table.csr if len(which) == table.d else table.csr[:, list(which)]
                data.append(encode.Sparse(csr))
            else:
                data.append(encode.numbers(table, schema, which, grow))
    return Batch(table.n, tuple(data)), schema


def _fill(schema: Schema, which: Sequence[int]) -> Schema:
    """Integer labels are codes: all from 0 to the largest are levels, met or not."""
    levels = {}
    for j in which:
        labels = schema.levels[j].labels if j in schema.levels else ()
        if labels and all(isinstance(v, int) and 0 <= v < encode.RAW_LIMIT for v in labels):
            levels[j] = schema.levels[j].extend(range(max(labels) + 1))
    return schema.with_levels(levels)


def _check_two(schema: Schema, which: Sequence[int]) -> None:
    for j in which:
        if schema.kinds[j] == "binary" and j in schema.levels and len(schema.levels[j]) > 2:
            labels = ", ".join(repr(v) for v in schema.levels[j].labels[:4])
            raise TableError(
                f"Column {schema.name(j)!r} is binary but has {len(schema.levels[j])} values ({labels}). Declare it "
                f"categorical with schema={{{schema.name(j)!r}: 'categorical'}}."
            )


@contextmanager
def named(schema: Schema, which: Sequence[int]) -> Iterator[None]:
    """Turns a value that a kernel refused into a sentence with the column's name."""
    try:
        yield
    except _core.BadValue as e:
        kind, row, col, value = e.args
        name = schema.name(which[col])
        raise TableError(_refusal(kind, name, row, value), column=name, row=row, value=value) from None


def _refusal(kind: str, name: str, row: int, value: float) -> str:
    if kind == "infinite" and np.isnan(value):
        return (
            f"Column {name!r} of the sparse table has NaN (row {row}). What is not stored counts as 0, so a missing "
            "value has no place there; make the table dense, where NaN is missing."
        )
    if kind == "infinite":
        return (
            f"Input X contains infinity: column {name!r} has {value:g} (row {row}). Replace it by a finite number, or "
            "by NaN to mark it missing."
        )
    if kind == "negative":
        return (
            f"Negative values in data passed to this model (input X): column {name!r} has {value:g} (row {row}). "
            "Counts and shares must be at least 0."
        )
    if kind == "overflow":
        return (
            f"Column {name!r} has values of the size of {value:g}, whose squares do not fit into a float64. Rescale "
            "the column."
        )
    return f"Column {name!r} has the code {value:g} (row {row}), which is too large to count directly."

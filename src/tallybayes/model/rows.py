"""Rows: a table read, aligned and encoded once, with the class and weight of each row.

Predicting, forgetting, explaining, leaving out and EM take Rows. A fit that needs its rows only once counts the table
term by term instead (`fitted.tally`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

import tallybayes.utils.blas  # noqa: F401  # threadpool_limits learns of the core's threads
from tallybayes import _core
from tallybayes.data.encoding import Data
from tallybayes.data.labels import LabelCodes, Target
from tallybayes.data.schema import Schema, align
from tallybayes.data.table import Table, read_table
from tallybayes.distributions.capabilities import LearnedCuts, capability
from tallybayes.errors import warn
from tallybayes.model.term import Term, refused
from tallybayes.utils.array_types import Floats


@dataclass(frozen=True)
class Rows:
    """Rows as the distributions read them.

    Parameters
    ----------
    table : Table
        Aligned with the schema.
    schema : Schema
        With the levels that the rows brought, if they are to be learned.
    data : dict from int to Data
        What the distribution of a term reads, by the first column of the term: no two terms share a column, and the
        tuple of them all would be hashed at each look, which takes longer than scoring a row of 50,000 words.
    y : ndarray of int32, of shape (n,), default=None
        The class of each row by number, −1 where it does not count.
    w : ndarray of shape (n,), default=None
        The weight of each row; None if all weigh 1.
    who : str, default='this model'
        What messages call the model.
    weight_of_one : ndarray of shape (n,), default=None
        What one row weighs: the weight of its class; None if that is 1.
    """

    table: Table
    schema: Schema
    data: Mapping[int, Data]
    y: LabelCodes | None = None
    w: Floats | None = None
    who: str = "this model"
    weight_of_one: Floats | None = None

    @property
    def n(self) -> int:
        """int: how many rows there are."""
        return self.table.n

    def of(self, term: Term) -> Data:
        """Return what the distribution of a term reads.

        Parameters
        ----------
        term : Term
            One of those that the rows were read for.

        Returns
        -------
        Numbers, Codes, Sparse or Coded
            Its columns.
        """
        return self.data[term.columns[0]]

    def labelled(self, y: LabelCodes, w: Floats | None) -> Rows:
        """Return the same rows classes and weights.

        Parameters
        ----------
        y : ndarray of int32, of shape (n,)
            The class of each row by number, −1 where it does not count.
        w : ndarray of shape (n,) or None
            The weight of each row; None if all weigh 1.

        Returns
        -------
        Rows
            The same rows otherwise.
        """
        return replace(self, y=y, w=w)

    def of_target(self, target: Target) -> Rows:
        """Return the same rows the classes and weights of a target.

        Parameters
        ----------
        target : Target
            Of as many rows.

        Returns
        -------
        Rows
            The same rows otherwise.
        """
        return replace(self, y=target.y, w=target.w)

    def weight_left_out(self) -> Floats:
        """Return what is left out of each row: of one of weight 2, which is two rows, one.

        Returns
        -------
        ndarray of shape (n,)
            A weight.
        """
        one: Floats = np.ones(self.n) if self.weight_of_one is None else self.weight_of_one
        return one if self.w is None else np.minimum(self.w, one)

    @property
    def classes_of_rows(self) -> LabelCodes:
        """ndarray of int32, of shape (n,): y, where there must be one."""
        assert self.y is not None
        return self.y


def read_rows(
    X: object, schema: Schema, terms: Sequence[Term], sizes: Mapping[int, int], who: str, grow: bool = False
) -> Rows:
    """A table as a model reads it that was fitted before; who: what messages call the model.

    sizes: how many codes columns without a dictionary have had so far. grow: unseen labels are appended to the
    schema of the rows.
    """
    return encode_rows(aligned(read_table(X), schema, who), schema, terms, sizes, who, grow)


def aligned(table: Table, schema: Schema, who: str) -> Table:
    """The table in the schema's order, with a word where only one of the two has names."""
    if table.container != "rows" and table.csr is None and (table.names is None) != (schema.input_names is None):
        has, had = ("has", "without") if table.names is not None else ("does not have valid", "with")
        warn(f"X {has} feature names, but {who} was fitted {had} feature names", UserWarning)
    return align(table, schema, who)


def encode_rows(
    table: Table, schema: Schema, terms: Sequence[Term], sizes: Mapping[int, int], who: str, grow: bool
) -> Rows:
    """The data of every term, from an aligned table."""
    data: dict[int, Data] = {}
    for term in terms:
        try:
            data[term.columns[0]], schema = term.distribution.encode(table, schema, term.columns, grow, sizes)
        except _core.BadValue as e:
            raise refused(e, schema, term.columns, who) from None
    return Rows(table, schema, data, who=who)


def cut_columns(table: Table, schema: Schema, terms: Sequence[Term], target: Target) -> Schema:
    """The schema with cuts for the columns that need them and have none yet."""
    for term in terms:
        try:
            cut = capability(term.distribution, LearnedCuts)
            if cut is not None:
                schema = cut.learn_cuts(table, schema, term.columns, target.y, target.w, len(target.classes))
        except _core.BadValue as e:
            raise refused(e, schema, term.columns, "this model") from None
    return schema

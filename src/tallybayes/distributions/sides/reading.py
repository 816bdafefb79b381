"""How a distribution reads its columns: cuts, codes, numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tallybayes.data import encoding
from tallybayes.data.encoding import Data, Sparse
from tallybayes.data.schema import Schema
from tallybayes.data.table import Table
from tallybayes.distributions.arithmetic import check_binary
from tallybayes.distributions.context import P, S, Weights
from tallybayes.distributions.contract import Contract


class Reads(Contract[S, P]):
    """Its columns as it needs them, and the tally of a table."""

    def learn_cuts(
        self,
        table: Table,  # noqa: ARG002
        schema: Schema,
        columns: Sequence[int],  # noqa: ARG002
        y: NDArray[np.int32],  # noqa: ARG002
        w: Weights,  # noqa: ARG002
        K: int,  # noqa: ARG002
    ) -> Schema:
        """Cut those of its columns that it wants cut and that have no cuts yet; by default none.

        Parameters
        ----------
        table : Table
            The first rows.
        schema : Schema
            What the columns are.
        columns : sequence of int
            Its columns.
        y : ndarray of int32, of shape (n,)
            The class of each row; below 0, the row does not count.
        w : ndarray of shape (n,) or None
            The weight of each row; None weighs each 1.
        K : int
            How many classes there are.

        Returns
        -------
        Schema
            With the cuts.
        """
        return schema

    def encode(
        self, table: Table, schema: Schema, columns: Sequence[int], grow: bool, sizes: Mapping[int, int]
    ) -> tuple[Data, Schema]:
        """Read its columns as it needs them.

        Parameters
        ----------
        table : Table
            The rows.
        schema : Schema
            What the columns are.
        columns : sequence of int
            Its columns.
        grow : bool
            Whether labels not met before are appended to the schema.
        sizes : dict from int to int
            How many integer codes a column without a dictionary has had so far.

        Returns
        -------
        data : Numbers, Coded, Codes or Sparse
            The columns.
        schema : Schema
            The schema, grown where labels were new.
        """
        if self.needs == "levels":
            codes, schema = encoding.levels(table, schema, columns, grow, sizes)
            if grow:
                check_binary(schema, columns)
            return codes, schema
        if self.needs == "cuts":
            return encoding.cut_codes(table, schema, columns), schema
        if table.csr is not None:
            return Sparse(table.csr if len(columns) == table.d else table.csr[:, list(columns)]), schema
        return encoding.numbers(table, schema, columns, grow), schema

    def tally(
        self,
        table: Table,
        schema: Schema,
        columns: Sequence[int],
        sizes: Mapping[int, int],
        y: NDArray[np.int32],
        w: Weights,
        K: int,
    ) -> tuple[S, Schema]:
        """Count the rows of a table, and keep nothing else of them: `encode` and `add` in one.

        Parameters
        ----------
        table : Table
            The rows.
        schema : Schema
            What the columns are.
        columns : sequence of int
            Its columns.
        sizes : dict from int to int
            How many integer codes a column without a dictionary has had so far.
        y : ndarray of int32, of shape (n,)
            The class of each row; below 0, the row does not count.
        w : ndarray of shape (n,) or None
            The weight of each row; None weighs each 1.
        K : int
            How many classes there are.

        Returns
        -------
        sums
            As `add` gives them.
        schema : Schema
            The schema, grown where labels were new.
        """
        data, schema = self.encode(table, schema, columns, True, sizes)
        return self.add(data, y, w, K), schema

"""A data frame of Dask as a source: its partitions are counted and scored where they are, and merged in a tree."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from tallybayes.engines.partitions import (
    MERGE_FAN_IN,
    add_surveys,
    count_part,
    merge_parts,
    received_model,
    spread_evenly,
    survey_part,
    unique_names,
)
from tallybayes.engines.source import ColumnRoles, RowSource, answer, answer_schema
from tallybayes.engines.survey import Survey

if TYPE_CHECKING:
    import pyarrow as pa

    from tallybayes.estimators.base import GenerativeClassifier

Model = TypeVar("Model", bound="GenerativeClassifier")


def frame(source: Any) -> RowSource:
    """A data frame of Dask."""
    return _DaskFrame(source)


class _DaskFrame(RowSource):
    """The partitions of a data frame of Dask, in order."""

    where = "the Dask frame"

    def __init__(self, source: Any) -> None:
        self._frame, self._names = source, unique_names(source.columns, self.where)

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        for part in self._parts(columns):
            table = _arrow(part.compute())
            for start in range(0, table.num_rows, rows):
                yield table.slice(start, rows)

    def survey(self, roles: ColumnRoles, rows: int, pieces: int | None) -> Survey:
        """Look at the rows before they are counted: a sample, and all labels, of all partitions or of some.

        Parameters
        ----------
        roles : ColumnRoles
            Which columns are what.
        rows : int
            How many rows the sample has at most.
        pieces : int or None
            None reads all partitions; a number so many, evenly spread, and all of them if those do not fill the sample.

        Returns
        -------
        Survey
            Made by the workers, and added there.
        """
        parts = self._parts(roles.columns)
        chosen = spread_evenly(len(parts), pieces)
        found = self._surveyed([(i, parts[i]) for i in chosen], rows)
        if len(chosen) < len(parts) and (found is None or found.rows < rows):
            found = self._surveyed(list(enumerate(parts)), rows)
        if found is None:
            raise self.no_rows()
        return found

    def count(self, plan: Model, roles: ColumnRoles) -> Model:
        from dask import delayed

        from tallybayes.io import to_bytes

        # Once in the graph, not once in each task.
        sent = delayed(to_bytes(plan.empty()))
        counted = delayed(_count)
        whole = _tree([counted(sent, roles, part) for part in self._parts(roles.columns)], merge_parts)
        found = received_model(plan, whole)
        if found is None:
            raise self.no_rows()
        return found

    def deliver(self, model: GenerativeClassifier, roles: ColumnRoles, to: str | os.PathLike[str] | None) -> object:
        """Bring the answers to where they are wanted.

        Parameters
        ----------
        model : fitted classifier
            Who answers.
        roles : ColumnRoles
            Which columns are what.
        to : str, path or None
            A file to write, here, partition by partition; None gives the answers back.

        Returns
        -------
        int or dask.dataframe.DataFrame
            How many rows were written; or a frame of answers with the index of the rows, made when it is computed.
        """
        if to is not None:
            return super().deliver(model, roles, to)
        import pandas as pd

        from tallybayes.io import to_bytes

        made = answer_schema(model).empty_table().to_pandas()
        empty = self._frame._meta  # dask's own, of no row: what there is without computing anything
        meta = pd.concat([empty[list(roles.keep)], made.set_axis(empty.index)], axis=1)
        rows = self._frame[roles.columns]
        return rows.map_partitions(_answers, to_bytes(model), roles, made, meta=meta)

    def _parts(self, columns: Sequence[str]) -> list[Any]:
        found: list[Any] = self._frame[list(columns)].to_delayed()
        return found

    def _surveyed(self, parts: Sequence[tuple[int, Any]], rows: int) -> Survey | None:
        from dask import delayed

        looked = delayed(_survey)
        found: Survey | None = _tree([looked(part, rows, i) for i, part in parts], add_surveys)
        return found


def _tree(parts: Sequence[Any], together: Callable[[Any], Any]) -> Any:
    """What delayed parts are together: some at a time, by whichever worker has them."""
    from dask import delayed

    joined = delayed(together)
    while len(parts) > 1:
        parts = [joined(list(parts[i : i + MERGE_FAN_IN])) for i in range(0, len(parts), MERGE_FAN_IN)]
    return parts[0].compute()


def _arrow(part: Any) -> pa.Table:
    import pyarrow as pa

    return pa.Table.from_pandas(part, preserve_index=False).replace_schema_metadata(None)


def _survey(part: Any, rows: int, number: int) -> Survey | None:
    return survey_part([_arrow(part)], rows, number)


def _count(plan: bytes, roles: ColumnRoles, part: Any) -> bytes | None:
    return count_part(plan, roles, [_arrow(part)])


def _answers(part: Any, sent: bytes, roles: ColumnRoles, meta: Any) -> Any:
    import pandas as pd

    from tallybayes.io import from_bytes

    kept = part[list(roles.keep)]
    if not len(part):
        return pd.concat([kept, meta], axis=1)
    model = from_bytes(sent)
    made = answer(model, _arrow(part), replace(roles, keep=())).cast(answer_schema(model)).to_pandas()
    return pd.concat([kept, made.set_axis(part.index)], axis=1)

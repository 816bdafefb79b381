"""A data frame of Spark as a source: counted, merged and scored by its executors.

Only the DataFrame API is used, so that Spark Connect works too. Columns travel under numbers, by their places: whatever
a column is called (dots, back ticks, names that differ in case alone), Spark does not read anything into it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tallybayes import errors
from tallybayes.engines.partitions import (
    MERGE_FAN_IN,
    add_surveys,
    count_part,
    from_ipc,
    in_bulk,
    merge_parts,
    received_model,
    spread_evenly,
    survey_from_bytes,
    survey_part,
    survey_to_bytes,
    to_ipc,
    unique_names,
)
from tallybayes.engines.source import ColumnRoles, RowSource, answer, answer_schema, batch_rows
from tallybayes.engines.survey import Survey, survey_of
from tallybayes.errors import OptionError, TallybayesError

if TYPE_CHECKING:
    import pyarrow as pa

    from tallybayes.estimators.base import GenerativeClassifier

Model = TypeVar("Model", bound="GenerativeClassifier")
Work = Callable[[int, Iterator["pa.Table"]], bytes | None]
Together = Callable[[Sequence[bytes]], bytes | None]

PART = "part long, data binary, error string"  # what a task gives: its number, and bytes or why there are none


def frame(source: Any) -> RowSource:
    """A data frame of Spark, classic or Connect."""
    return _SparkFrame(source)


class _SparkFrame(RowSource):
    """The rows of a data frame of Spark, by its partitions."""

    where = "the Spark frame"

    def __init__(self, source: Any) -> None:
        self._frame, self._names = source, unique_names(source.columns, self.where)

    @property
    def names(self) -> tuple[str, ...]:
        return self._names

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        self._require_all()
        names = list(columns)

        def packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import pyarrow as pa

            for table in in_bulk(_tables(batches, names), rows):
                yield pa.record_batch({"data": pa.array([to_ipc(table)], pa.binary())})

        for row in self._select(names).mapInArrow(packed, "data binary").toLocalIterator():
            yield from_ipc(bytes(row["data"]))

    def head(self, roles: ColumnRoles) -> Survey:
        self._require_all()
        most = batch_rows(len(roles.columns))
        table = self._select(roles.columns).limit(most).toArrow().rename_columns(roles.columns)
        if not table.num_rows:
            raise self.no_rows()
        return survey_of(table, most)

    def survey(self, roles: ColumnRoles, rows: int, pieces: int | None) -> Survey:
        """Look at the rows before they are counted: a sample, and all labels, of all partitions or of some.

        Parameters
        ----------
        roles : ColumnRoles
            Which columns are what.
        rows : int
            How many rows the sample has at most.
        pieces : int or None
            None reads all partitions; a number so many, evenly spread, unless all rows fit into the sample.

        Returns
        -------
        Survey
            Made by the executors, and added there.
        """
        from pyspark.sql import functions as F  # noqa: N812

        self._require_all()
        sizes = dict(self._frame.groupBy(F.spark_partition_id().alias("part")).count().collect())
        total = sum(sizes.values())
        filled = sorted(sizes)
        chosen = {filled[i] for i in spread_evenly(len(filled), None if total <= rows else pieces)}
        there = sum(sizes[i] for i in chosen)
        # No task sends more than its share of the sample, and a bit: six standard deviations.
        bound = min(1.0, (rows + 6 * rows**0.5) / max(1, there))
        everything = len(chosen) == len(filled)

        def work(part: int, tables: Iterator[pa.Table]) -> bytes | None:
            found = survey_part(tables, rows, part, bound) if everything or part in chosen else None
            return None if found is None else survey_to_bytes(found)

        def together(parts: Sequence[bytes]) -> bytes | None:
            found = add_surveys(map(survey_from_bytes, parts))
            return None if found is None else survey_to_bytes(found)

        whole = self._gather(roles.columns, work, together)
        if whole is None:
            raise self.no_rows()
        return survey_from_bytes(whole)

    def count(self, plan: Model, roles: ColumnRoles) -> Model:
        from tallybayes.io import to_bytes

        self._require_all()
        sent = to_bytes(plan.empty())

        def work(part: int, tables: Iterator[pa.Table]) -> bytes | None:  # noqa: ARG001
            return count_part(sent, roles, tables)

        found = received_model(plan, self._gather(roles.columns, work, merge_parts))
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
            A file to write, here; None gives the answers back.

        Returns
        -------
        int or pyspark.sql.DataFrame
            How many rows were written; or a frame of answers, made by the executors when something is done with it.
        """
        if to is not None:
            return super().deliver(model, roles, to)
        from pyspark.sql.pandas.types import from_arrow_schema
        from pyspark.sql.types import StructType

        from tallybayes.io import to_bytes

        sent, made = to_bytes(model), answer_schema(model)
        kept = [self._frame.schema.fields[self._names.index(name)] for name in roles.keep]
        names = roles.columns

        def scored(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import pyarrow as pa

            from tallybayes.io import from_bytes

            here = None
            for table in in_bulk(_tables(batches, names), batch_rows(len(names))):
                here = here or from_bytes(sent)
                found = answer(here, table, roles)
                fields = [*(found.schema.field(name) for name in roles.keep), *made]
                yield from found.cast(pa.schema(fields)).combine_chunks().to_batches()

        return self._select(names).mapInArrow(scored, StructType([*kept, *from_arrow_schema(made).fields]))

    def _require_all(self) -> None:
        if self._frame.isStreaming:
            raise OptionError(
                "A streaming frame of Spark has no end. Learn batch by batch: stream.writeStream.foreachBatch("
                "lambda batch, _: model.learn_from(batch, target)). predict_to takes it as it is."
            )

    def _select(self, columns: Sequence[str]) -> Any:
        places = [self._names.index(name) for name in columns]
        return self._frame.toDF(*(f"c{j}" for j in range(len(self._names)))).select([f"c{j}" for j in places])

    def _gather(self, columns: Sequence[str], work: Work, together: Together) -> bytes | None:
        """What all tasks give, brought together by the executors until there are few enough to be sent here."""
        from pyspark.sql import functions as F  # noqa: N812

        names = list(columns)

        def worked(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from pyspark import TaskContext

            task = TaskContext.get()
            number = 0 if task is None else task.partitionId()
            yield from _given(number, lambda: work(number, _tables(batches, names)))

        def joined(key: Any, table: pa.Table) -> pa.Table:
            import pyarrow as pa

            rows = sorted(table.to_pylist(), key=lambda row: row["part"])
            bad = next((row for row in rows if row["error"] is not None), None)
            parts = [row["data"] for row in rows]
            if bad is not None:
                return pa.Table.from_pylist([bad], _part_schema())
            return pa.Table.from_batches(_given(key[0].as_py(), lambda: together(parts)), _part_schema())

        counted = self._select(names).mapInArrow(worked, PART).persist()  # so that it is done once, and can be counted
        try:
            level, parts = counted, counted.count()
            while parts > MERGE_FAN_IN:
                group = F.floor(F.col("part") / MERGE_FAN_IN).alias("group")
                level = level.groupBy(group).applyInArrow(joined, PART)
                parts = -(-parts // MERGE_FAN_IN)
            rows = sorted(level.collect(), key=lambda row: row["part"])
        except Exception as e:
            if "No module named 'tallybayes'" in str(e):
                e.add_note(
                    "The Python of the executors has no tallybayes. Install it on every worker, or set PYSPARK_PYTHON "
                    "to a Python that has it before the session starts."
                )
            raise
        finally:
            counted.unpersist()
        for row in rows:
            if row["error"] is not None:
                kind, _, message = row["error"].partition(": ")
                raise getattr(errors, kind, TallybayesError)(message)
        return together([bytes(row["data"]) for row in rows]) if rows else None


def _tables(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> Iterator[pa.Table]:
    import pyarrow as pa

    for batch in batches:
        yield pa.Table.from_batches([batch]).rename_columns(list(names))


def _given(part: int, work: Callable[[], bytes | None]) -> Iterator[pa.RecordBatch]:
    """One row, or none if there is nothing. What this library refuses is handed on as it is: trying again is no use."""
    import pyarrow as pa

    data, error = None, None
    try:
        data = work()
    except TallybayesError as e:
        error = f"{type(e).__name__}: {e}"
    if data is not None or error is not None:
        yield pa.RecordBatch.from_pylist([{"part": part, "data": data, "error": error}], _part_schema())


def _part_schema() -> pa.Schema:
    import pyarrow as pa

    return pa.schema([("part", pa.int64()), ("data", pa.binary()), ("error", pa.string())])

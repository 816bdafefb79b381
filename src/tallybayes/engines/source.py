"""RowSource: rows that are somewhere else, read in batches of columns."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from glob import glob
from typing import TYPE_CHECKING, TypeVar

from tallybayes.engines.arrow_batches import reader_errors
from tallybayes.engines.survey import Survey, survey_of
from tallybayes.errors import LabelError, OptionError, TableError, TallybayesError, did_you_mean, listing
from tallybayes.utils.progress import progress

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from tallybayes.estimators.base import GenerativeClassifier

Model = TypeVar("Model", bound="GenerativeClassifier")

BATCH_ROWS = 131_072  # rows counted at a time,
BATCH_CELLS = 1 << 22  # and fewer where they are wide


@dataclass(frozen=True)
class ColumnRoles:
    """The roles of the columns of a source: features, target, weight, and columns to copy.

    Parameters
    ----------
    features : tuple of str
        The columns of the model.
    target : tuple of str, default=()
        The column that holds the class, or one for each output of a network.
    weight : str, default=None
        The column of sample weights.
    keep : tuple of str, default=()
        Columns to copy beside the predictions.
    """

    features: tuple[str, ...]
    target: tuple[str, ...] = ()
    weight: str | None = None
    keep: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """list of str: all of them, each once."""
        return list(dict.fromkeys([*self.features, *self.target, *([self.weight] if self.weight else []), *self.keep]))

    def inputs(self, table: pa.Table) -> pa.Table:
        """Select the features of a batch.

        Parameters
        ----------
        table : pyarrow.Table
            With all columns.

        Returns
        -------
        pyarrow.Table
            Without metadata: a saved index that is a feature here was asked for by name.
        """
        return table.select(list(self.features)).replace_schema_metadata(None)

    def split(self, table: pa.Table) -> tuple[pa.Table, object, NDArray[np.float64] | None]:
        """Take a batch apart.

        Parameters
        ----------
        table : pyarrow.Table
            With all columns.

        Returns
        -------
        X : pyarrow.Table
            The features.
        y : pyarrow.ChunkedArray or pyarrow.Table
            The class of each row.
        w : ndarray or None
            The weights.
        """
        y = table.column(self.target[0]) if len(self.target) == 1 else table.select(list(self.target))
        return self.inputs(table), y, None if self.weight is None else _weights(table, self.weight)


def _weights(table: pa.Table, name: str) -> NDArray[np.float64]:
    import pyarrow as pa

    column = table.column(name)
    if column.null_count:
        raise OptionError(
            f"The column of weights {name!r} has a missing value. Every row needs a weight; 0 leaves it out."
        )
    try:
        found: NDArray[np.float64] = column.cast(pa.float64()).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise OptionError(f"The column of weights {name!r} must be numbers; it is {column.type}.") from None
    return found


class RowSource(ABC):
    """Base class of row sources: files, lazy frames, databases. A subclass names the columns and yields batches.

    Attributes
    ----------
    where : str
        Its name in messages.
    once : bool
        Whether it can be read only once.
    total : int or None
        How many rows there are, if that is known without reading them.
    rows_read : int or None
        How many rows were counted so far; None where another process counts them.
    files : tuple of str
        The files that it reads, which must not be written meanwhile.
    index : frozenset of str
        Columns that hold a saved index of pandas: no features unless they are asked for.
    """

    where: str = "the source"
    once: bool = False
    total: int | None = None
    rows_read: int | None = None
    files: tuple[str, ...] = ()
    index: frozenset[str] = frozenset()

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """tuple of str: the names of the columns."""

    @abstractmethod
    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Read all rows.

        Parameters
        ----------
        columns : sequence of str
            Which columns, in this order.
        rows : int
            About how many rows at a time.

        Yields
        ------
        pyarrow.Table
            The next rows.
        """

    def pieces(self, columns: Sequence[str], rows: int, most: int, least: int) -> Iterator[pa.Table]:  # noqa: ARG002
        """Read parts that are spread evenly over the source; by default everything.

        Parameters
        ----------
        columns : sequence of str
            Which columns, in this order.
        rows : int
            About how many rows at a time.
        most : int
            How many parts at most,
        least : int
            unless they have fewer rows than this: then more.

        Yields
        ------
        pyarrow.Table
            The next rows.
        """
        yield from self.batches(columns, rows)

    def read(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Read all rows, as many at a time as are counted at a time.

        Parameters
        ----------
        columns : sequence of str
            Which columns, in this order.

        Yields
        ------
        pyarrow.Table
            The next rows. What a reader refuses is a TableError.
        """
        with reader_errors(self.where):
            yield from self.batches(columns, batch_rows(len(columns)))

    def with_model_types(self, model: GenerativeClassifier, roles: ColumnRoles) -> RowSource:  # noqa: ARG002
        """Return the same rows, read as a fitted model knows its columns; by default as they are.

        Parameters
        ----------
        model : fitted classifier
            Who will read them.
        roles : ColumnRoles
            Which columns are what.

        Returns
        -------
        RowSource
            For text, whose columns have the types that the model expects.
        """
        return self

    def with_declared_kinds(self, kinds: Mapping[str, str] | None, target: Sequence[str]) -> RowSource:  # noqa: ARG002
        """Return the same rows, read as a model's ``schema=`` says; by default as they are.

        Parameters
        ----------
        kinds : dict from column to kind or None
            What is said of some columns; None if the model has no such option.
        target : sequence of str
            The column of the class, whose whole numbers stay whole.

        Returns
        -------
        RowSource
            For text, whose columns show no types.
        """
        return self

    @contextmanager
    def reading_once(self) -> Iterator[None]:
        """Inside it, rows of a plan may be kept for the count that follows; by default they are read again."""
        yield

    def head(self, roles: ColumnRoles) -> Survey:
        """Read the first rows only: what columns are, where nothing is chosen on rows.

        Parameters
        ----------
        roles : ColumnRoles
            Which columns are what.

        Returns
        -------
        Survey
            Of the first batch.
        """
        for table in self.read(roles.columns):
            if table.num_rows:
                return survey_of(table, table.num_rows)
        raise self.no_rows()

    def survey(self, roles: ColumnRoles, rows: int, pieces: int | None) -> Survey:
        """Look at the rows before they are counted: a random sample of them, and all labels of text columns.

        Parameters
        ----------
        roles : ColumnRoles
            Which columns are what.
        rows : int
            How many rows the sample has at most.
        pieces : int or None
            None reads everything; a number so many parts, evenly spread, where the source has parts, and more of them
            if those would not fill the sample.

        Returns
        -------
        Survey
            Those of parts of the source add to it.
        """
        size = batch_rows(len(roles.columns))
        whole = pieces is None or (self.total is not None and self.total <= rows)
        stream = (
            self.batches(roles.columns, size) if whole else self.pieces(roles.columns, size, int(pieces or 1), rows)
        )
        found: Survey | None = None
        with progress("looking", self.total) as advance, reader_errors(self.where):
            for part, table in enumerate(stream):
                if table.num_rows:
                    new = survey_of(table, rows, part, found.bound if found else 1.0)
                    found = new if found is None else found.add(new)
                advance(table.num_rows)
        if found is None:
            raise self.no_rows()
        return found

    def count(self, plan: Model, roles: ColumnRoles) -> Model:
        """Count all rows with a plan.

        Parameters
        ----------
        plan : classifier
            A model with schema, cuts and structure; what it has counted does not matter.
        roles : ColumnRoles
            Which columns are what.

        Returns
        -------
        classifier
            A model of these rows alone.
        """
        from tallybayes.estimators.learning import learn_batches

        part = learn_batches(plan.empty(), self._labelled(roles))
        if not part.class_count_.sum() > 0:
            raise self.no_rows()
        return part

    def _labelled(self, roles: ColumnRoles) -> Iterator[tuple[object, object, object]]:
        self.rows_read = 0
        with progress("learning", self.total) as advance:
            for table in self.read(roles.columns):
                if table.num_rows:
                    yield roles.split(table)
                self.rows_read += table.num_rows
                advance(table.num_rows)

    def answers(self, model: GenerativeClassifier, roles: ColumnRoles) -> Iterator[pa.Table]:
        """Score all rows.

        Parameters
        ----------
        model : fitted classifier
            Who answers.
        roles : ColumnRoles
            Which columns are what.

        Yields
        ------
        pyarrow.Table
            The columns to keep, ``prediction`` and ``proba_…`` of each class, of the next rows.
        """
        with progress("answering", self.total) as advance:
            for table in self.read(roles.columns):
                if table.num_rows:
                    yield answer(model, table, roles)
                advance(table.num_rows)

    def deliver(self, model: GenerativeClassifier, roles: ColumnRoles, to: str | os.PathLike[str] | None) -> object:
        """Bring the answers to where they are wanted.

        Parameters
        ----------
        model : fitted classifier
            Who answers.
        roles : ColumnRoles
            Which columns are what.
        to : str, path or None
            A file to write; None gives the answers back.

        Returns
        -------
        int or pyarrow.RecordBatchReader
            How many rows were written; or the answers, made as they are read.
        """
        from tallybayes.engines.batch_writer import stream_of, write

        tables = self.answers(model, roles)
        return stream_of(tables, _no_answers(model, roles)) if to is None else write(to, tables)

    def no_rows(self) -> TallybayesError:
        """Make the error of a source without rows.

        Returns
        -------
        TableError
            To be raised.
        """
        return TableError(f"There are no rows in {self.where}.")

    def require(self, names: Sequence[str]) -> None:
        """Check that there are columns of these names.

        Parameters
        ----------
        names : sequence of str
            What is needed.

        Raises
        ------
        TableError
            If one is not there.
        """
        absent = [name for name in names if name not in self.names]
        if absent:
            hint = did_you_mean(absent[0], self.names)
            there = f"Columns: {listing(self.names)}.{hint}"
            raise TableError(f"There is no column {listing(absent)} in {self.where}. {there}")


def answer_schema(model: GenerativeClassifier) -> pa.Schema:
    """The columns that a model answers with, of whatever rows."""
    import pyarrow as pa

    classes = model.predictor_.fitted.classes.tolist()
    if not classes:
        raise LabelError("The model has no classes.")
    shares = [(f"proba_{label}", pa.float64()) for label in classes]
    return pa.schema([("prediction", pa.array(classes).type), *shares])


def _no_answers(model: GenerativeClassifier, roles: ColumnRoles) -> pa.Schema:
    """The columns of an answer for no rows; what the kept ones are nobody has seen."""
    import pyarrow as pa

    return pa.schema([*((name, pa.null()) for name in roles.keep), *answer_schema(model)])


def answer(model: GenerativeClassifier, table: pa.Table, roles: ColumnRoles) -> pa.Table:
    """The columns to keep, the most probable class and the probabilities of some rows."""
    import pyarrow as pa

    predictor = model.predictor_
    rows = predictor.read(roles.inputs(table))
    classes = predictor.fitted.classes
    if len(classes) == 0:
        raise LabelError("The model has no classes.")
    best, proba = predictor.predict_rows(rows, "best"), predictor.predict_rows(rows, "proba")
    out = {name: table.column(name) for name in roles.keep}
    out["prediction"] = pa.array(classes[best].tolist())
    for k, label in enumerate(classes.tolist()):
        out[f"proba_{label}"] = pa.array(proba[:, k])
    return pa.table(out)


def expanded(names: Iterable[str]) -> tuple[str, ...]:
    """The files that some names and patterns stand for."""
    return tuple(path for name in names for path in (glob(name, recursive=True) or [name]))


def batch_rows(columns: int) -> int:
    """How many rows to read at a time."""
    return max(1000, min(BATCH_ROWS, BATCH_CELLS // max(1, columns)))

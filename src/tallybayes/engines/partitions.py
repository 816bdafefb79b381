"""What a worker does with its part of the rows: survey it, count it, bring parts together. Bytes in, bytes out.

An engine sends the plan, runs these where the rows are, and moves what they give. A part that is worked on twice,
because a worker was lost, gives the same bytes twice: only those that the engine takes are added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from tallybayes.engines.source import ColumnRoles, batch_rows
from tallybayes.engines.survey import Survey, survey_of
from tallybayes.errors import OptionError

if TYPE_CHECKING:
    import pyarrow as pa

    from tallybayes.estimators.base import GenerativeClassifier

Model = TypeVar("Model", bound="GenerativeClassifier")

MERGE_FAN_IN = 16  # parts that are brought together at a time
MAX_BATCHES_PER_PART = 1 << 20  # more batches than a part has


def in_bulk(tables: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The same rows, at least so many at a time but for the last."""
    import pyarrow as pa

    held: list[pa.Table] = []
    for table in tables:
        if table.num_rows:
            held.append(table)
        if sum(t.num_rows for t in held) >= rows:
            yield pa.concat_tables(held)
            held = []
    if held:
        yield pa.concat_tables(held)


def survey_part(tables: Iterable[pa.Table], rows: int, part: int, bound: float = 1.0) -> Survey | None:
    """The survey of one part; None if it has no rows."""
    found: Survey | None = None
    for i, table in enumerate(tables):
        if table.num_rows:
            new = survey_of(table, rows, part * MAX_BATCHES_PER_PART + i, min(bound, found.bound if found else 1.0))
            found = new if found is None else found.add(new)
    return found


def survey_to_bytes(survey: Survey) -> bytes:
    """A survey, to be sent: one row that holds the sample as a stream of Arrow."""
    import pyarrow as pa

    labels = {name: None if found is None else found.to_pylist() for name, found in survey.labels.items()}
    row = {"sample": to_ipc(survey.sample), "key": survey.key, "rows": survey.rows, "most": survey.most}
    kinds = [
        ("sample", pa.large_binary()),
        ("key", pa.large_list(pa.float64())),
        ("rows", pa.int64()),
        ("most", pa.int64()),
    ]
    lists = pa.struct([(f"l{j}", pa.large_list(pa.large_string())) for j in range(len(labels))])
    row |= {"labels": {f"l{j}": found for j, found in enumerate(labels.values())}, "names": list(labels)}
    schema = pa.schema([*kinds, ("labels", lists), ("names", pa.list_(pa.string()))])
    return to_ipc(pa.Table.from_pylist([row], schema))


def survey_from_bytes(data: bytes) -> Survey:
    """The survey in such bytes."""
    row = from_ipc(data).combine_chunks()
    names, lists = row["names"][0].as_py(), row["labels"].combine_chunks()
    found = [(name, lists.field(j)[0]) for j, name in enumerate(names)]
    labels = {name: value.values if value.is_valid else None for name, value in found}
    sample = from_ipc(row["sample"][0].as_py())
    return Survey(sample, row["key"][0].values.to_numpy(), row["rows"][0].as_py(), labels, row["most"][0].as_py())


def to_ipc(table: pa.Table) -> bytes:
    """A table as a stream of Arrow."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.unify_dictionaries())
    found: bytes = sink.getvalue().to_pybytes()
    return found


def from_ipc(data: bytes) -> pa.Table:
    """The table in such a stream."""
    import pyarrow as pa

    return pa.ipc.open_stream(data).read_all()


def add_surveys(parts: Iterable[Survey | None]) -> Survey | None:
    """The survey of several parts; None if none has rows."""
    found: Survey | None = None
    for part in parts:
        found = part if found is None or part is None else found.add(part)
    return found


def count_part(plan: bytes, roles: ColumnRoles, tables: Iterable[pa.Table]) -> bytes | None:
    """The model of one part, as bytes; None if it has no rows."""
    from tallybayes.estimators.learning import learn_batches
    from tallybayes.io import from_bytes, to_bytes

    bulk = in_bulk(tables, batch_rows(len(roles.columns)))
    first = next(bulk, None)
    if first is None:
        return None

    def labelled() -> Iterator[tuple[object, object, object]]:
        yield roles.split(first)
        for table in bulk:
            yield roles.split(table)

    return compressed(to_bytes(learn_batches(from_bytes(plan), labelled())))


def merge_parts(parts: Sequence[bytes | None]) -> bytes | None:
    """The model of several parts, as bytes; None if none has rows."""
    from tallybayes.estimators.merging import merge_all
    from tallybayes.io import from_bytes, to_bytes

    some = [part for part in parts if part is not None]
    if len(some) < 2:
        return some[0] if some else None
    return compressed(to_bytes(merge_all(from_bytes(decompressed(part)) for part in some)))


def compressed(data: bytes) -> bytes:
    """For the way: counts are mostly small numbers, and shrink to a sixth."""
    import pyarrow as pa

    found: bytes = pa.compress(data, codec="zstd", asbytes=True)
    return len(data).to_bytes(8, "little") + found


def decompressed(data: bytes) -> bytes:
    """What was compressed."""
    import pyarrow as pa

    found: bytes = pa.decompress(data[8:], int.from_bytes(data[:8], "little"), codec="zstd", asbytes=True)
    return found


def received_model(plan: Model, whole: bytes | None) -> Model | None:
    """The plan with what was counted, and its own parameters; None if no row counts."""
    from tallybayes.estimators.state import with_fitted
    from tallybayes.io import from_bytes

    received = None if whole is None else from_bytes(decompressed(whole))
    found = None if received is None else with_fitted(plan, received.fitted_)
    if found is not None and received is not None and "_rows" in received.__dict__:
        found.__dict__["_rows"] = received.__dict__["_rows"]
    return found if found is not None and found.class_count_.sum() > 0 else None


def spread_evenly(parts: int, most: int | None) -> list[int]:
    """Which of the parts to look at: all, or so many that are evenly spread."""
    return list(range(parts)) if most is None or parts <= most else [i * parts // most for i in range(most)]


def unique_names(names: Iterable[Any], where: str) -> tuple[str, ...]:
    """Names of columns, each a string and each once."""
    found = tuple(names)
    for name in found:
        if not isinstance(name, str):
            raise OptionError(f"The columns of {where} must have names; one is called {name!r}. Rename it to a string.")
    if len(set(found)) < len(found):
        twice = next(name for name in found if found.count(name) > 1)
        raise OptionError(f"Several columns of {where} are called {twice!r}. Each needs a name of its own.")
    return found

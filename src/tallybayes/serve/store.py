"""Labelled examples and the newest snapshot of the model, in SQLite or PostgreSQL, in plain SQL.

One table of examples, in the order in which they were learned, and one row with the snapshot and the sequence number up
to which it has learned. Idempotency is the unique key, a keyed hash of the id; replay is `seq > snapshot`. A deletion
overwrites the example with zeros and replaces the snapshot in one transaction; the key stays, so that a late repetition
is refused.

Why hashes and zeros: `secure_delete` overwrites what SQLite deletes, but not the copies that stay behind when an index
moves its entries to another page (1 of 300 ids was found again). Indexes hold hashes alone; a row that is as long as
before is overwritten where it is.

A writer holds the store's lock to the end of its transaction, so sequence numbers grow in the order of the commits, and
a process that has read up to one of them has missed none.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from tallybayes.errors import OptionError
from tallybayes.serve.request_bodies import Label, Row

POSTGRES = ("postgresql://", "postgres://")
MAX_STATEMENT_PARAMETERS = 500  # parameters of one statement
HASH = 32  # characters of a hash
LOCK = 7_203_144_905_113  # of PostgreSQL's advisory locks: any number that nobody else uses
SCHEMA = """
create table if not exists tallybayes_examples (
    seq {integer} primary key, key text not null unique, subject text not null, body {blob} not null,
    batch {integer} not null, state {integer} not null);
create index if not exists tallybayes_subjects on tallybayes_examples (subject) where state = 1;
create table if not exists tallybayes_snapshot (
    store text primary key, seq {integer} not null, epoch {integer} not null, model {blob} not null, file text not null)
"""
LEARNED, DELETED = 1, 0  # states


class Example(NamedTuple):
    """A labelled example. batch: the number of the first example of its request."""

    id: str
    row: Row
    label: Label
    time: float
    subject: str | None = None
    seq: int = 0
    batch: int = 0


class Snapshot(NamedTuple):
    """The model up to an example. epoch: grows with each deletion. file: a hash of the model file last written."""

    store: str
    seq: int
    epoch: int
    model: bytes
    file: str


encode = msgspec.json.Encoder(order="sorted").encode
_body = msgspec.json.Decoder(tuple[str, Row, Label, float, str | None]).decode


class Store:
    """One connection, used by one thread at a time."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.shared = where.startswith(POSTGRES)  # whether other processes learn into it too
        self._connection: Any = None

    def open(self) -> None:
        """Connect, anew if there was a connection, and make the tables where there are none."""
        self.close()
        types = {"integer": "integer", "blob": "blob"}
        if self.shared:
            types = {"integer": "bigint", "blob": "bytea"}
            self._connection = _postgres(self.where)
        else:
            os.close(os.open(self.where, os.O_RDWR | os.O_CREAT, 0o600))  # it holds the rows: for its owner alone
            self._connection = sqlite3.connect(self.where, isolation_level=None, check_same_thread=False)
            for pragma in ("journal_mode=wal", "synchronous=full", "secure_delete=on"):
                self._connection.execute(f"pragma {pragma}").fetchall()
            ((found,),) = self._connection.execute("pragma quick_check(1)").fetchall()
            if found != "ok":
                raise sqlite3.DatabaseError(found.splitlines()[-1])
        with self.transaction():
            for statement in SCHEMA.format(**types).split(";"):
                self.run(statement)
        if not self.shared:
            self.scrub()  # what a process that was killed had deleted and not yet overwritten

    def close(self) -> None:
        """Let the connection go."""
        if self._connection is not None:
            with contextlib.suppress(Exception):
                self._connection.close()
            self._connection = None

    def run(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """What a statement gives."""
        cursor = self._connection.execute(sql.replace("?", "%s") if self.shared else sql, values)
        return cursor.fetchall() if cursor.description else []

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All of the block or nothing; one writer at a time."""
        self.run("begin" if self.shared else "begin immediate")
        try:
            if self.shared:
                self.run("select pg_advisory_xact_lock(?)", (LOCK,))
            yield
            self.run("commit")
        except BaseException:
            with contextlib.suppress(Exception):
                self.run("rollback")
            raise

    def scrub(self) -> None:
        """Overwrite what was deleted: SQLite's log is copied into its file, where deleted bytes become zeros."""
        if self.shared:
            self.run("vacuum tallybayes_examples, tallybayes_snapshot")
            return
        ((busy, _, _),) = self.run("pragma wal_checkpoint(truncate)")
        if busy:
            raise OSError(f"{self.where} is read by another program; deleted rows cannot be overwritten meanwhile.")

    # --- the snapshot ------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot | None:
        """The newest one; None: the store is new."""
        found = self.run("select store, seq, epoch, model, file from tallybayes_snapshot")
        if not found:
            return None
        ((store, seq, epoch, model, file),) = found
        return Snapshot(store, seq, epoch, bytes(model), file)

    def epoch(self) -> int:
        """How many deletions there were."""
        found = self.run("select epoch from tallybayes_snapshot")
        return int(found[0][0]) if found else 0

    def put(self, snapshot: Snapshot) -> None:
        """Replace the snapshot."""
        self.run("delete from tallybayes_snapshot")
        self.run("insert into tallybayes_snapshot (store, seq, epoch, model, file) values (?, ?, ?, ?, ?)", snapshot)

    def written(self, file: str) -> None:
        """Note the hash of the model file, now that it is written."""
        self.run("update tallybayes_snapshot set file = ?", (file,))

    # --- examples ----------------------------------------------------------------------------------------------

    def add(self, examples: Iterable[Example], store: str) -> None:
        """Insert examples that have their numbers."""
        for e in examples:
            subject = "" if e.subject is None else digest(e.subject, store)
            self.run(
                "insert into tallybayes_examples (seq, key, subject, body, batch, state) values (?, ?, ?, ?, ?, 1)",
                (e.seq, digest(e.id, store), subject, encode(e[:5]), e.batch),
            )

    def last(self) -> int:
        """The number of the last example, deleted or not."""
        return int(self.run("select coalesce(max(seq), 0) from tallybayes_examples")[0][0])

    def after(self, seq: int, limit: int | None = None, subject: str | None = None) -> list[Example]:
        """Examples beyond a number, in their order. subject: the hash of one."""
        of, values = ("", [seq]) if subject is None else (" and subject = ?", [seq, subject])
        tail = "" if limit is None else f" limit {limit:d}"
        sql = f"select seq, body, batch from tallybayes_examples where state = 1 and seq > ?{of} order by seq{tail}"
        return [Example(*_body(bytes(body)), seq, batch) for seq, body, batch in self.run(sql, values)]

    def find(self, ids: Sequence[str], store: str) -> tuple[dict[str, Example], set[str]]:
        """Those of these ids that there are, and those that were deleted."""
        names = {digest(name, store): name for name in ids}
        keys, found, gone = list(names), {}, set()
        for k in range(0, len(keys), MAX_STATEMENT_PARAMETERS):
            part = keys[k : k + MAX_STATEMENT_PARAMETERS]
            marks = ", ".join("?" * len(part))
            sql = f"select seq, key, body, batch, state from tallybayes_examples where key in ({marks})"
            for seq, key, body, batch, state in self.run(sql, part):
                if state == LEARNED:
                    found[names[key]] = Example(*_body(bytes(body)), seq, batch)
                else:
                    gone.add(names[key])
        return found, gone

    def count(self, subject: str | None = None) -> int:
        """How many examples there are. subject: the hash of one."""
        of, values = ("", []) if subject is None else (" and subject = ?", [subject])
        return int(self.run(f"select count(*) from tallybayes_examples where state = 1{of}", values)[0][0])

    def delete(self, examples: Iterable[Example]) -> None:
        """Overwrite examples with zeros of the same length; their keys stay."""
        for e in examples:
            subject = "" if e.subject is None else "0" * HASH
            self.run(
                "update tallybayes_examples set subject = ?, body = ?, state = ? where seq = ?",
                (subject, bytes(len(encode(e[:5]))), DELETED, e.seq),
            )


def _postgres(where: str) -> Any:
    try:
        import psycopg
    except ImportError as e:
        raise OptionError(f"{e}. A store in PostgreSQL takes: pip install 'tallybayes[serve,postgres]'.") from None
    return psycopg.connect(where, autocommit=True)


def new_name() -> str:
    """The name of a new store, and the key of its hashes."""
    return secrets.token_hex(16)


def digest(name: str, store: str) -> str:
    """A name that reveals nothing to anyone who does not have it already."""
    return hashlib.blake2b(name.encode(), key=store.encode(), digest_size=HASH // 2).hexdigest()

"""A model that learns, and its store: every example counted once, whatever happens to the process.

    learn    the model learns, or refuses; the examples join the transaction of their group; it commits; acknowledged
    forget   a copy of the model forgets; one transaction overwrites the rows and replaces the snapshot; SQLite's log is
             emptied; the model file is written anew; acknowledged

The store is the truth. With SQLite the model file is a copy of its snapshot, for those who read files; a start that
finds the copy behind writes it again. With PostgreSQL the file is what the first process started from, never written.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from tallybayes.errors import ForgetError, ModelFileError, OptionError
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.io import to_bytes
from tallybayes.io.atomic_files import sync_folder
from tallybayes.io.file_lock import held
from tallybayes.receipts import Receipt, RecordedForgetting, load_key
from tallybayes.serve.http_errors import HttpError
from tallybayes.serve.live import Known, Live, Stamp, read_model, stamp_of
from tallybayes.serve.store import Example, Snapshot, Store, digest, encode, new_name

log = logging.getLogger("tallybayes.serve")
NOTE = "store"  # in the notes of the model file


class LearnedExamples(NamedTuple):
    """What became of a request: new examples, and those that had been learned before."""

    fresh: int
    again: int


class Ledger:
    """The model and its examples. One thread calls all of this, one call after the other.

    count: called with the name of an event and how many times it happened.
    """

    def __init__(
        self, live: Live, count: Callable[[str, int], None], where: str | None = None, sign: str | None = None
    ) -> None:
        self.live, self._count = live, count
        self._key = None if sign is None else load_key(sign)  # what receipts are signed with
        self.path = os.path.realpath(live.path)
        self.store = Store(where or self.path + ".sqlite")
        self.model: GenerativeClassifier = live.known.model
        self.seq = self.unwritten = 0  # the last example learned; how many the snapshot does not have
        self._shown = self.store.where.rpartition("@")[2]  # without a password
        self._behind = False  # whether deleted rows may be left in a file
        self._stack = contextlib.ExitStack()
        if not self.store.shared:
            self._stack.enter_context(held(self.path, "tallybayes serve --learn", self._taken))
        try:
            self.restore()
        except BaseException:
            self.store.close()
            self._stack.close()
            raise

    def _taken(self, holder: str) -> None:
        raise OptionError(f"{self.live.path} is being changed by {holder}. One service at a time learns into a model.")

    # --- from the store ----------------------------------------------------------------------------------------

    def restore(self) -> None:
        """The state as the store has it: at the start, and after a transaction that failed."""
        try:
            self.store.open()
        except sqlite3.DatabaseError as e:
            raise ModelFileError(f"{self.store.where} cannot be used: {e}.") from None
        data = self._read_file()
        with self.store.transaction():
            found = self._reconciled(data, self.store.snapshot())
            self._take(found)
            self._replay()
        if not self.store.shared and found.file != hash_of(found.model):
            self._write(found.model)
        log.info("%s: %s examples, %s of them after the snapshot", self._shown, self.store.count(), self.unwritten)
        if self.unwritten and not self.store.shared:
            self.snapshot()
        self._publish()

    def _read_file(self) -> bytes:
        """The model file; it is ours from now on."""
        self._stamp: Stamp | None = stamp_of(self.path)
        data = Path(self.path).read_bytes()
        self._hash, self._ours = hash_of(data), True
        return data

    def _reconciled(self, data: bytes, found: Snapshot | None) -> Snapshot:
        """The snapshot to start from: the store's, or the model file where that is newer."""
        known = read_model(io.BytesIO(data))
        _refuse(self.path, known)
        note = known.notes.get(NOTE)
        if found is None:
            found = Snapshot(new_name(), 0, 0, data, hash_of(data))
            self.store.put(found)
            if isinstance(note, dict):
                log.warning(
                    "%s learned %s examples of another store, which stay in it; %s is new, and can neither list nor "
                    "forget them, nor recognise their ids", self.path, note.get("seq"), self._shown,
                )  # fmt: skip
        elif hash_of(data) in (found.file, hash_of(found.model)):
            pass  # in order, or a crash came between the store and the file
        elif note == {"id": found.store, "seq": found.seq, "epoch": found.epoch}:
            found = found._replace(model=data, file=hash_of(data))  # `tallybayes learn` has learned into the file
            self.store.put(found)
        else:
            raise ModelFileError(
                f"{self.path} is not the model that learned the examples in {self._shown}: it was "
                "replaced since. To go on with the old model, put it back; for the new one use another store."
            )
        return found

    def _take(self, found: Snapshot) -> None:
        self.name, self.seq, self.epoch = found.store, found.seq, found.epoch
        known = read_model(io.BytesIO(found.model))
        self.model, self._notes, self.unwritten = known.model, known.notes, 0

    def _replay(self) -> None:
        """Learn the examples that the model has not, request by request, as they came."""
        last = self.store.last()  # read first: what another process commits before the next line is learned too
        for _, batch in groupby(self.store.after(self.seq), key=lambda e: e.batch):
            examples = list(batch)
            self._learn_all(examples)
            self.unwritten += len(examples)
            last = max(last, examples[-1].seq)
        self.seq = max(self.seq, last)

    def catch_up(self) -> None:
        """Learn and forget what other processes did."""
        if self.store.epoch() != self.epoch:
            found = self.store.snapshot()
            assert found is not None
            self._take(found)
        self._replay()
        self._publish()

    def check(self) -> None:
        """Raise ModelFileError if the model file is not the one that was read or written here."""
        if self.store.shared:
            return
        try:
            stamp = stamp_of(self.path)
            if stamp != self._stamp:  # touched, copied back or another: its bytes say
                self._ours = hash_of(Path(self.path).read_bytes()) == self._hash
        except OSError:
            stamp, self._ours = None, False
        self._stamp = stamp
        if not self._ours:
            raise ModelFileError(
                f"{self.path} was replaced or removed while the service learned into it. What was acknowledged is in "
                f"{self.store.where}. Put the old file back, or start anew with another store."
            )

    # --- to the store ------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """What is learned in the block is committed together; the store's other writers were heard before."""
        self.check()
        with self.store.transaction():
            if self.store.shared:
                self.catch_up()
            yield
        self._count("commits", 1)

    def snapshot(self) -> None:
        """Write the model as it is now: into the store, and into its file."""
        with self.transaction():
            data = self._dumped(self.model, self.epoch)
            before = self.store.snapshot()
            assert before is not None
            if before.seq < self.seq:  # else another process was faster
                self.store.put(before._replace(seq=self.seq, epoch=self.epoch, model=data))
        self._write(data)
        self.unwritten = 0

    def _dumped(self, model: GenerativeClassifier, epoch: int) -> bytes:
        return to_bytes(model, notes={**self._notes, NOTE: {"id": self.name, "seq": self.seq, "epoch": epoch}})

    def _write(self, data: bytes) -> None:
        """The model file, replaced in one step; its hash is noted after."""
        self._count("snapshots", 1)
        if self.store.shared:
            return
        self.check()
        beside = self.path + ".new"  # a name of its own: what a kill leaves behind the next one overwrites
        try:
            with open(beside, "wb") as file:
                shutil.copymode(self.path, beside)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except OSError as e:
            with contextlib.suppress(OSError):
                os.remove(beside)  # on a full disk a part of it is in the way
            raise OSError(e.errno, e.strerror, beside) from e
        os.replace(beside, self.path)
        sync_folder(os.path.dirname(self.path))
        self._stamp, self._hash = stamp_of(self.path), hash_of(data)
        self.store.written(self._hash)

    def close(self) -> None:
        """Write what is not written, and let others have the model."""
        try:
            if self.unwritten:
                self.snapshot()
        finally:
            self.store.close()
            self._stack.close()

    # --- examples ----------------------------------------------------------------------------------------------

    def learn(self, examples: Sequence[Example]) -> LearnedExamples:
        """Learn all of these or none, inside a transaction."""
        ids = [e.id for e in examples]
        known, gone = self.store.find(ids, self.name)
        for e in examples:
            if e.id in gone:
                raise HttpError(409, f"The example {e.id!r:.80} was forgotten. To learn it again, give it another id.")
            if e.id in known and _content(known[e.id]) != _content(e):
                raise HttpError(409, f"There is another example called {e.id!r:.80}. Give this one its own id.")
        fresh = [e for e in examples if e.id not in known]
        if fresh:
            self._learn_all(fresh)
            first = self.seq + 1
            self.store.add((e._replace(seq=first + k, batch=first) for k, e in enumerate(fresh)), self.name)
            self.seq += len(fresh)
            self.unwritten += len(fresh)
            self._publish()
        return LearnedExamples(len(fresh), len(examples) - len(fresh))

    def _learn_all(self, examples: Sequence[Example]) -> None:
        """Of a new class a copy learns: those who predict hold the model together with the list of its classes."""
        classes = self.model.classes_.tolist()
        model = self.model if all(e.label in classes for e in examples) else self.model.copy()
        if len(examples) == 1:
            model.learn_one(examples[0].row, examples[0].label)
        else:
            model.partial_fit([e.row for e in examples], [e.label for e in examples])
        self.model = model

    def forget(self, ids: Sequence[str] | None, subject: str | None, receipt: bool = False) -> dict[str, object]:
        """Take examples out of the model, the store and the model file; when it returns they are gone.

        receipt: whether a receipt is asked for; there is none if no example was forgotten now.
        """
        data, made = b"", None
        with self.transaction():
            if subject is not None:
                found = {e.id: e for e in self.store.after(0, subject=digest(subject, self.name))}
                ids, already = list(found), set[str]()
            else:
                ids = list(dict.fromkeys(ids or ()))
                found, already = self.store.find(ids, self.name)
            if found:
                before = self.store.snapshot()
                assert before is not None
                model, made = forgotten(self.model, list(found.values()), receipt, self._key)
                data = self._dumped(model, self.epoch + 1)
                self.store.delete(found.values())
                self.store.put(before._replace(seq=self.seq, epoch=self.epoch + 1, model=data))
        if found:
            self.model, self.epoch, self.unwritten, self._behind = model, self.epoch + 1, 0, True
            self._publish()
        if self._behind:  # also for a repetition of a request that failed here
            self.store.scrub()
            self._write(data or self._dumped(self.model, self.epoch))
            self._behind = False
        unknown = [name for name in ids if name not in found and name not in already]
        result: dict[str, object] = {"forgotten": len(found), "already": len(already), "unknown": unknown}
        return {**result, "receipt": made} if receipt else result

    def page(self, after: str | None, limit: int, subject: str | None) -> tuple[list[Example], int, bool]:
        """Examples in their order, how many there are in all, and whether there are more after these."""
        first = 0
        if after is not None:
            known, _ = self.store.find([after], self.name)
            if after not in known:
                raise HttpError(404, f"There is no example {after!r:.80} to go on after.")
            first = known[after].seq
        key = None if subject is None else digest(subject, self.name)
        found = self.store.after(first, limit + 1, key)
        return found[:limit], self.store.count(key), len(found) > limit

    def _publish(self) -> None:
        """Hands the model to those who predict, if it is another."""
        if self.live.known.model is not self.model:
            self.live.replace(self.model)


def forgotten(
    model: GenerativeClassifier, examples: Sequence[Example], receipt: bool, key: object
) -> tuple[GenerativeClassifier, Receipt | None]:
    """A copy of the model that has forgotten these, and the receipt if it is asked for."""
    found = model.copy()
    recorded = RecordedForgetting(found) if receipt else None
    forget = found.forget if recorded is None else recorded.forget
    forget([e.row for e in examples], [e.label for e in examples])
    if not found.class_count_.sum() > 0:
        raise ForgetError("The model would have no rows left. Delete its file and its store instead.")
    return found, None if recorded is None else recorded.receipt(sign=key)


def _refuse(path: str, known: Known) -> None:
    if known.decision is not None:
        raise OptionError(
            f"{path} holds a BayesDecision, with its losses; --learn would write the classifier alone. "
            "Save model.estimator_ into a file of its own, and serve that."
        )
    if known.model.half_life is not None:
        raise OptionError(
            f"The rows of {path} fade (half_life), so that what is left of an example depends on those "
            "after it, and none could be forgotten by name. Save the model with half_life=None first."
        )


def _content(e: Example) -> bytes:
    return encode([e.row, e.label, e.subject])


def hash_of(data: bytes) -> str:
    """Of the bytes of a model file."""
    return hashlib.sha256(data).hexdigest()

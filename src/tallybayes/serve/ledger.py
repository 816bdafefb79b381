"""What a service has been learned: the model, its examples, and both on disk, so that a killed process loses nothing.

The model file is the snapshot: its notes say which journal it goes with and up to which entry it has learned. The
journal has every example that is not forgotten, since only whoever has a row can take it out again. A start loads the
model and replays the entries that came after.

    learn     the model learns (or refuses); the entries join the group; the group is synced; acknowledged
    forget    the rows are read back; the model forgets them; an entry says so, synced; the model file is written;
              the rows are overwritten in the journal, synced; acknowledged

Killed at any point, what is on disk is the state before or after: an example counts from the moment that its entry is
whole on disk, and by its number once; rows are overwritten only when no replay can need them. One thread calls all of
this, one call after the other.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from tallybayes.errors import ForgetError, ModelFileError, OptionError
from tallybayes.estimators.base import TallyClassifier
from tallybayes.io import load_notes, save
from tallybayes.io.atomic_files import sync_folder
from tallybayes.io.file_lock import held
from tallybayes.serve.http_errors import HttpError
from tallybayes.serve.journal import FORGET, LEARN, Entry, Journal
from tallybayes.serve.live import Known, Live, stamp_of
from tallybayes.serve.purge import without_names
from tallybayes.serve.request_bodies import Label, Row

log = logging.getLogger("tallybayes.serve")
NOTE = "journal"  # in the notes of the model file
WASTE = 1 << 20  # bytes that were overwritten before the journal is written anew, if that is half of it


class Example(msgspec.Struct, array_like=True):
    """A row that was learned.

    Parameters
    ----------
    id : str
        What it is called; there is one of each name.
    row : dict
        Its values.
    label : label
        Its class.
    time : float
        When it was learned, in seconds since 1970.
    subject : str or None, default=None
        Whom it is about: all examples of one are forgotten by one call.
    """

    id: str
    row: Row
    label: Label
    time: float
    subject: str | None = None


class Erasure(msgspec.Struct, array_like=True):
    """What was forgotten: the numbers of entries, and hashes of the ids, so that a late repetition is not learned."""

    numbers: list[int]
    hashes: list[str]
    time: float


class Place(NamedTuple):
    """Where an example is in the journal, and a hash of what it says."""

    number: int
    at: int
    length: int
    digest: bytes
    subject: str | None


class Learned(NamedTuple):
    """What became of a request: new examples, and those that had been learned before."""

    fresh: int
    again: int


read_example = msgspec.json.Decoder(Example).decode
read_erasure = msgspec.json.Decoder(Erasure).decode
encode = msgspec.json.Encoder(order="sorted").encode


class Ledger:
    """The model and its examples.

    Parameters
    ----------
    live : Live
        Where the model is handed to those who ask.
    told : callable
        Called with the name of an event and how many times it happened.
    """

    def __init__(self, live: Live, told: Callable[[str, int], None]) -> None:
        self.live, self._told = live, told
        self.path = os.path.realpath(live.path)
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(held(self.path, "tallybayes serve --learn", self._taken))
        self.journal: Journal | None = None
        try:
            self.restore()
        except BaseException:
            self._stack.close()
            raise

    def _taken(self, holder: str) -> None:
        raise OptionError(f"{self.live.path} is being changed by {holder}. One service at a time learns into a model.")

    # --- from disk and to disk ---------------------------------------------------------------------------------

    def restore(self) -> None:
        """The state as it is on disk: at the start, and after a write that failed."""
        if self.journal is not None:
            self.journal.close()
            self.journal = None
        self.live.reload_now()
        if self.live.known.decision is not None:
            raise OptionError(
                f"{self.live.path} holds a BayesDecision, with its losses; --learn would write the classifier alone. "
                "Save model.estimator_ into a file of its own, and serve that."
            )
        self.model: TallyClassifier = self.live.known.model
        if self.model.half_life is not None:
            raise OptionError(
                f"The rows of {self.live.path} fade (half_life), so that what is left of an example depends on those "
                "after it, and none could be forgotten by name. Save the model with half_life=None first."
            )
        self._notes = load_notes(self.path)
        self.index: dict[str, Place] = {}
        self.subjects: dict[str, set[str]] = {}
        self.forgotten: set[str] = set()
        self.unwritten = 0  # entries that the model file does not know of
        self.wasted = 0  # bytes of the journal that were overwritten
        self.journal = Journal(self.path + ".journal")
        entries = self.journal.recover()
        through = self._through(entries)
        self.number = max([through, *(e.number for e in entries[-1:])])
        self._replay(entries, through)
        note = self._notes.get(NOTE)
        if self.unwritten or not isinstance(note, dict) or note.get("id") != self.journal.id:
            self.snapshot()
        self._finish_erasing(entries)
        self._publish()

    def _through(self, entries: Sequence[Entry]) -> int:
        """Up to which entry the model file has learned."""
        assert self.journal is not None
        note = self._notes.get(NOTE)
        if isinstance(note, dict) and note.get("id") == self.journal.id and isinstance(note.get("through"), int):
            return int(note["through"])
        if entries:
            raise ModelFileError(
                f"{self.path} does not know the examples in {self.journal.path}: it was replaced since. To learn the "
                "new model from now on, move the journal away; to go on with the old one, put it back."
            )
        return 0

    def _replay(self, entries: Sequence[Entry], through: int) -> None:
        """Enters all examples into the index; the model learns and forgets what it has not yet."""
        names: dict[int, str] = {}
        request: list[Example] = []
        unreadable: set[int] = set()
        for entry in entries:
            new = entry.number > through
            self.unwritten += new
            if entry.kind == FORGET:
                erasure = read_erasure(entry.payload or b"")
                unreadable.difference_update(erasure.numbers)
                gone = [names[n] for n in erasure.numbers if n in names]
                if new:
                    self._forget_all(self._read(gone))
                self._drop(gone, erasure.hashes)
            elif entry.payload is None:
                unreadable.add(entry.number)
            else:
                example = read_example(entry.payload)
                names[entry.number] = example.id
                self._enter(example, entry.number, entry.at, entry.length)
                if new:
                    request.append(example)
                    if entry.last:
                        self._learn_all(request)
                        request = []
        if unreadable:
            assert self.journal is not None
            raise ModelFileError(f"{self.journal.path} is damaged: example number {min(unreadable)} cannot be read.")

    def _finish_erasing(self, entries: Sequence[Entry]) -> None:
        """Overwrites what was forgotten and is still there; writes the journal anew if half of it is zeros."""
        assert self.journal is not None
        kept = {place.number for place in self.index.values()}
        gone = [e for e in entries if e.kind == LEARN and e.number not in kept]
        left = [(e.at, e.length) for e in gone if e.payload is not None]
        if left:
            self.journal.erase(left)
        self.wasted = sum(e.length for e in gone)
        self._compact()

    def _compact(self) -> None:
        assert self.journal is not None
        if self.wasted < WASTE or 2 * self.wasted < self.journal.end:
            return
        kept = {place.number for place in self.index.values()}
        entries = self.journal.recover()
        places = self.journal.compact(e for e in entries if e.kind == FORGET or e.number in kept)
        at = {e.number: e.at for e in places}
        self.index = {name: place._replace(at=at[place.number]) for name, place in self.index.items()}
        self.wasted = 0

    def commit(self) -> None:
        """Sync what was learned since the last time."""
        assert self.journal is not None
        if self.journal.waiting:
            self.journal.sync()
            self._told("syncs", 1)

    def snapshot(self) -> None:
        """Write the model file, with what it has learned up to now. What it has learned is in the journal first."""
        self.commit()
        assert self.journal is not None
        if stamp_of(self.path) != self.live.stamp:
            raise ModelFileError(f"{self.path} was replaced by somebody else; what was learned is not written over it.")
        self._notes = {**self._notes, NOTE: {"id": self.journal.id, "through": self.number}}
        beside = self.path + ".new"  # a name of its own: what a kill leaves behind the next one overwrites
        with open(beside, "wb") as file:
            shutil.copymode(self.path, beside)
            save(self.model, file, notes=self._notes)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, self.path)
        sync_folder(os.path.dirname(self.path))
        self.live.stamp = stamp_of(self.path)
        self.unwritten = 0
        self._told("snapshots", 1)

    def close(self) -> None:
        """Write what is not written, and let others have the model. With no journal what is on disk is all there is."""
        try:
            if self.unwritten and self.journal is not None:
                self.snapshot()
        finally:
            if self.journal is not None:
                self.journal.close()
            self._stack.close()

    # --- examples -----------------------------------------------------------------------------------------------

    def learn(self, examples: Sequence[Example]) -> Learned:
        """Learn all of these or none; they are acknowledged after the next `commit`.

        Parameters
        ----------
        examples : sequence of Example
            What is learned.

        Returns
        -------
        Learned
            How many are new, and how many had been learned before.
        """
        assert self.journal is not None
        fresh = [example for example in examples if self._is_fresh(example)]
        if fresh:
            self._learn_all(fresh)
            for k, example in enumerate(fresh):
                self.number += 1
                payload = encode(example)
                at = self.journal.add(LEARN, k == len(fresh) - 1, self.number, payload)
                self._enter(example, self.number, at, len(payload))
            self.unwritten += len(fresh)
            self._publish()
        return Learned(len(fresh), len(examples) - len(fresh))

    def _is_fresh(self, example: Example) -> bool:
        known = self.index.get(example.id)
        if known is not None:
            if known.digest != _digest(example):
                raise HttpError(409, f"There is another example called {example.id!r:.80}. Give this one its own id.")
            return False
        if self._hash(example.id) in self.forgotten:
            raise HttpError(
                409, f"The example {example.id!r:.80} was forgotten. To learn it again, give it another id."
            )
        return True

    def _learn_all(self, examples: Sequence[Example]) -> None:
        """Of a new class a copy learns: those who ask hold the model together with the list of its classes."""
        classes = self.model.classes_.tolist()
        model = self.model if all(one.label in classes for one in examples) else self.model.copy()
        if len(examples) == 1:
            model.learn_one(examples[0].row, examples[0].label)
        else:
            model.partial_fit([one.row for one in examples], [one.label for one in examples])
        self.model = model

    def forget(self, ids: Iterable[str]) -> int:
        """Take these examples out of the model, the model file and the journal; when it returns they are gone.

        Parameters
        ----------
        ids : iterable of str
            Their names.

        Returns
        -------
        int
            How many there were.
        """
        assert self.journal is not None
        self.commit()
        found = {name: self.index[name] for name in ids if name in self.index}
        if not found:
            return 0
        before = self.model
        self.model = before.copy()
        try:
            self._forget_all(self._read(found))
        except BaseException:
            self.model = before
            raise
        erasure = Erasure([p.number for p in found.values()], [self._hash(name) for name in found], time.time())
        self.number += 1
        self.journal.add(FORGET, True, self.number, encode(erasure))
        self.commit()
        self.unwritten += 1
        self._publish()
        self._drop(found, erasure.hashes)
        self.snapshot()
        self.journal.erase((place.at, place.length) for place in found.values())
        self.wasted += sum(place.length for place in found.values())
        self._compact()
        return len(found)

    def _forget_all(self, examples: Sequence[Example]) -> None:
        self.model.forget([one.row for one in examples], [one.label for one in examples])
        if not self.model.class_count_.sum() > 0:
            raise ForgetError("The model would have no rows left. Delete its file and its journal instead.")
        self.model = without_names(self.model, [one.row for one in examples])

    def was_forgotten(self, name: str) -> bool:
        """Whether there was an example of this name that was forgotten.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        bool
            True if there was.
        """
        return self._hash(name) in self.forgotten

    def examples(self, names: Iterable[str]) -> list[Example]:
        """Give some examples as they were learned.

        Parameters
        ----------
        names : iterable of str
            Their names, all of which are known.

        Returns
        -------
        list of Example
            In this order.
        """
        self.commit()
        return self._read(names)

    def _read(self, names: Iterable[str]) -> list[Example]:
        assert self.journal is not None
        return [read_example(self.journal.read(self.index[name].at, self.index[name].length)) for name in names]

    # --- who is who --------------------------------------------------------------------------------------------

    def _enter(self, example: Example, number: int, at: int, length: int) -> None:
        self.index[example.id] = Place(number, at, length, _digest(example), example.subject)
        if example.subject is not None:
            self.subjects.setdefault(example.subject, set()).add(example.id)

    def _drop(self, names: Iterable[str], hashes: Iterable[str]) -> None:
        for name in names:
            subject = self.index.pop(name).subject
            if subject is not None:
                self.subjects[subject].discard(name)
                if not self.subjects[subject]:
                    del self.subjects[subject]
        self.forgotten.update(hashes)

    def _hash(self, name: str) -> str:
        """A name that says nothing to whoever does not have it already."""
        assert self.journal is not None
        return hashlib.blake2b(name.encode(), key=bytes.fromhex(self.journal.id), digest_size=16).hexdigest()

    def _publish(self) -> None:
        """Hands the model to those who ask, if it is another."""
        known = self.live.known
        if known.model is not self.model:
            self.live.known = Known(self.model, known.target, known.generation + 1)


def _digest(example: Example) -> bytes:
    return hashlib.blake2b(encode([example.row, example.label, example.subject]), digest_size=16).digest()

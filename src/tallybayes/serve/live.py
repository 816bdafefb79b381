"""The model that is served: loaded, compiled, and replaced as a whole when its file is."""

from __future__ import annotations

import io
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.io import load, load_notes
from tallybayes.io.decision_documents import classifier_inside, decision_of
from tallybayes.serve.request_tables import ServedColumns
from tallybayes.serve.responses import label_text

if TYPE_CHECKING:
    from tallybayes.estimators.bayes_decision import BayesDecision

log = logging.getLogger("tallybayes.serve")
Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Known:
    """A model and what requests look up of it. A request takes one, once, and keeps it to its end."""

    model: GenerativeClassifier
    target: str | None = None
    generation: int = 1
    decision: BayesDecision | None = None  # whose losses /decide takes if a request has none
    notes: Mapping[str, object] = field(default_factory=dict)
    since: float = field(default_factory=time.time)
    labels: list[object] = field(init=False)
    by_text: Mapping[str, object] = field(init=False)
    columns: ServedColumns = field(init=False)

    def __post_init__(self) -> None:
        labels = self.model.classes_.tolist()
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "by_text", {label_text(label): label for label in labels})
        object.__setattr__(self, "columns", ServedColumns.of(self.model.schema_))


def read_model(file: str | io.BytesIO, generation: int = 1) -> Known:
    """The model of a file, compiled, so that the first request does not wait for it."""
    found = load(file)
    if isinstance(file, io.BytesIO):
        file.seek(0)
    notes = load_notes(file)
    target = notes.get("target")
    model = found if isinstance(found, GenerativeClassifier) else classifier_inside(found)
    known = Known(model, target if isinstance(target, str) else None, generation, decision_of(found), notes)
    _ = model.one_row, model.predictor_
    return known


def stamp_of(path: str) -> Stamp:
    """What changes when a file is replaced."""
    found = os.stat(path)
    return found.st_ino, found.st_mtime_ns, found.st_size


class Live:
    """The model as it is now. `known` changes in one step; whoever took it before goes on with what it took."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.stamp = stamp_of(path)
        self.known = read_model(path)

    def replaced(self) -> bool:
        """Whether the file is another one than the one that was read."""
        try:
            return stamp_of(self.path) != self.stamp
        except OSError:  # between two names, or gone: what is loaded stays in use
            return False

    def reload(self) -> bool:
        """Take over the file as it is now; one that holds no model is logged once, and the old model stays."""
        try:
            self.stamp = stamp_of(self.path)
            self.known = read_model(self.path, self.known.generation + 1)
        except (ValueError, OSError) as e:
            log.warning("the model file was replaced by one that cannot be served; the old model stays in use: %s", e)
            return False
        log.info("the model file was replaced; the new model is in use")
        return True

    def replace(self, model: GenerativeClassifier) -> None:
        """Serve this model, which was learned online, from now on."""
        self.known = Known(model, self.known.target, self.known.generation + 1)

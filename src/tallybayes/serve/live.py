"""The model that is served: loaded, made ready, and replaced as a whole when its file is."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tallybayes.estimators.base import TallyClassifier
from tallybayes.io import load, load_notes
from tallybayes.io.decision_documents import classifier_inside, decision_of
from tallybayes.serve.request_tables import Columns
from tallybayes.serve.responses import label_text

if TYPE_CHECKING:
    from tallybayes.estimators.bayes_decision import BayesDecision

log = logging.getLogger("tallybayes.serve")
Stamp = tuple[int, int, int]


@dataclass(frozen=True)
class Known:
    """A model and what requests look up of it. A request takes one, once, and keeps it to its end."""

    model: TallyClassifier
    target: str | None = None
    generation: int = 1
    decision: BayesDecision | None = None  # whose losses /decide takes if a question has none
    since: float = field(default_factory=time.time)
    labels: list[object] = field(init=False)
    by_text: Mapping[str, object] = field(init=False)
    columns: Columns = field(init=False)

    def __post_init__(self) -> None:
        labels = self.model.classes_.tolist()
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "by_text", {label_text(label): label for label in labels})
        object.__setattr__(self, "columns", Columns.of(self.model.schema_))


def read_model(path: str, generation: int = 1) -> Known:
    """The model of a file, compiled, so that the first request does not wait for it."""
    found, notes = load(path), load_notes(path)
    decision = decision_of(found)
    model = found if isinstance(found, TallyClassifier) else classifier_inside(found)
    target = notes.get("target")
    known = Known(model, target if isinstance(target, str) else None, generation, decision)
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
        except OSError:  # between two names, or gone: what is loaded goes on answering
            return False

    def reload_now(self) -> None:
        """Take over the file as it is now."""
        self.stamp = stamp_of(self.path)
        self.known = read_model(self.path, self.known.generation + 1)

    def reload(self) -> bool:
        """Take over the file as it is now; a file that holds no model is told once, and the old one stays."""
        try:
            self.reload_now()
        except (ValueError, OSError) as e:
            log.warning("the model file was replaced by one that cannot be served; the old one goes on: %s", e)
            return False
        log.info("the model file was replaced; the new one is served")
        return True

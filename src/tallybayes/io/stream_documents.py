"""A StreamingBayes ↔ a document: its schema and labels as any other model's, and the state of its learner as bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tallybayes.data.labels import is_label
from tallybayes.errors import ModelFileError, OptionError
from tallybayes.estimators.model_lock import lock_of
from tallybayes.io.json_checks import Json, fields, items, mapping
from tallybayes.io.value_reader import ValueReader
from tallybayes.io.value_writer import Writer

if TYPE_CHECKING:
    from tallybayes.estimators.streaming_bayes import StreamingBayes

NAME = "StreamingBayes"
FIELDS = ("class", "parameters", "schema", "classes", "state")


def stream_learner_of(model: object) -> StreamingBayes | None:
    """The model, if it is a fitted StreamingBayes."""
    if type(model).__name__ != NAME:
        return None
    from tallybayes.estimators.streaming_bayes import StreamingBayes

    if type(model) is not StreamingBayes:
        return None
    if not model.is_fitted:
        raise OptionError("This StreamingBayes is not fitted yet: let it learn a row first.")
    return model


def write_stream_learner(model: StreamingBayes, writer: Writer) -> dict[str, Json]:
    """Its document."""
    given = model.get_params(deep=False)
    with lock_of(model):
        return {
            "class": NAME,
            "parameters": {k: writer.value(v, f"The parameter {k!r} of {NAME}") for k, v in given.items()},
            "schema": writer.schema(model._schema),
            "classes": [writer.label(v, "The target") for v in model._labels],
            "state": writer.array(np.asarray(model._learner.bytes()), "Its state"),
        }


def read_stream_learner(document: Json, reader: ValueReader) -> StreamingBayes:
    """The model of a document; ModelFileError, or another error, if it is none."""
    from tallybayes.estimators.streaming_bayes import StreamingBayes

    _, given, schema, labels_, state = fields(document, "The model", *FIELDS)
    parameters = {k: reader.value(v, f"The parameter {k!r:.60}") for k, v in mapping(given, "parameters").items()}
    labels = [reader.label(v, "A class") for v in items(labels_, "classes")]
    held = np.asarray(reader.value(state, "state"))
    if not labels or not all(map(is_label, labels)):
        raise ModelFileError("Its classes are not labels.")
    if held.dtype != np.uint8 or held.ndim != 1:
        raise ModelFileError("Its state is not an array of bytes.")
    return StreamingBayes(**parameters)._restore(reader.schema(schema), labels, held)

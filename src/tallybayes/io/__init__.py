"""save and load: a fitted model as a file of numbers and JSON, safe to keep and safe to open."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from tallybayes.errors import ModelFileError, OptionError
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.io import atomic_files, container
from tallybayes.io.card import model_card
from tallybayes.io.decision_documents import classifier_inside, decision_of
from tallybayes.io.json_checks import bounded
from tallybayes.io.model_document import from_document, to_document
from tallybayes.io.stream_documents import stream_learner_of
from tallybayes.io.value_writer import read_notes
from tallybayes.privacy.small_counts import check_counts

if TYPE_CHECKING:
    from tallybayes.estimators.bayes_decision import BayesDecision
    from tallybayes.estimators.streaming_bayes import StreamingBayes

__all__ = ["from_bytes", "load", "load_notes", "model_card", "save", "to_bytes"]


def save(
    model: GenerativeClassifier | BayesDecision | StreamingBayes,
    path: object,
    *,
    notes: Mapping[str, object] | None = None,
    card: bool = False,
    min_count: float | None = None,
) -> None:
    """Write a fitted model to a file: its parameters, schema and sufficient statistics.

    A file that is there already is replaced in one step: it is the old one or the new one at every moment, whatever
    happens.

    Parameters
    ----------
    model : fitted classifier of this library
        The model; also a StreamingBayes, or a BayesDecision around a classifier.
    path : str, path or binary file
        The file.
    notes : dict, default=None
        Additional information to store, such as the origin of the data; `load_notes` reads it.
    card : bool, default=False
        Whether to write a model card to path with ``.md`` appended.

    min_count : float, default=None
        Refuse to write statistics with a cell of more than 0 and fewer than min_count rows (see
        `tallybayes.privacy.check_counts`); None: no check.

    Raises
    ------
    OptionError
        If path is neither a path nor a binary file, or no path where there is to be a card; if the notes are no dict.

    See Also
    --------
    load : Reads the file.
    tallybayes.export.to_json : A model for other languages.

    Examples
    --------
    >>> import io
    >>> from tallybayes import GaussianNB, load, save
    >>> file = io.BytesIO()
    >>> save(GaussianNB().fit([[1.0], [2.0], [7.0], [8.0]], ["low", "low", "high", "high"]), file)
    >>> _ = file.seek(0)
    >>> load(file).predict([[6.0]]).tolist()
    ['high']
    """
    _check_counts(model, min_count)
    header, arrays = to_document(model, read_notes(notes))
    pieces = container.chunks(header, arrays)
    if hasattr(path, "write"):
        if card:
            raise OptionError(
                "A card is written beside the model file: give a path, or write model_card(model) yourself."
            )
        _write_all(path, pieces)
        return
    text = model_card(cast(GenerativeClassifier, model), notes=notes) if card else None
    atomic_files.write(_path(path), pieces)
    if text is not None:
        atomic_files.write(f"{_path(path)}.md", [text.encode("utf-8", "backslashreplace")])


def _write_all(file: Any, pieces: Iterable[bytes | memoryview]) -> None:
    if isinstance(file, io.TextIOBase):
        raise OptionError("A model is bytes: open the file in binary mode, as in open(path, 'wb').")
    for piece in pieces:
        rest = memoryview(piece)
        while len(rest):  # a raw file may take a part at a time
            taken = file.write(rest)
            rest = rest[len(rest) if taken is None else taken :]


def load(path: object) -> GenerativeClassifier | BayesDecision | StreamingBayes:
    """Load a model from a file that `save` wrote.

    Nothing in the file is executed. Whatever its bytes are, the answer is a model or one ModelFileError, in time and
    memory in proportion to its size.

    Parameters
    ----------
    path : str, path or binary file
        The file.

    Returns
    -------
    estimator
        It answers with the same bits, and can go on learning and forgetting.

    Raises
    ------
    ModelFileError
        If the file holds no model, or one that no rows can have made.

    See Also
    --------
    save : Writes the file.

    Examples
    --------
    >>> import io
    >>> from tallybayes import NaiveBayes, load, save
    >>> file = io.BytesIO()
    >>> save(NaiveBayes().fit([{"sky": "clear"}, {"sky": "grey"}], ["sail", "stay"]), file)
    >>> _ = file.seek(0)
    >>> load(file).learn_one({"sky": "grey"}, "stay").class_count_.tolist()
    [1.0, 2.0]
    """
    return _load(path)[0]


def load_classifier(path: object, *, changing: bool = False) -> GenerativeClassifier:
    """The classifier in a model file; of a BayesDecision the one inside it.

    changing: it is to be written again, which would lose what the decision knows.
    """
    model = load(path)
    decision = decision_of(model)
    if stream_learner_of(model) is not None:
        raise OptionError(
            f"{path} holds a StreamingBayes, which is for streams in Python: load(path).learn_one(row, label). "
            "Commands, services and reports take the other classifiers."
        )
    if decision is None:
        return cast(GenerativeClassifier, model)
    if changing:
        raise OptionError(
            f"{path} holds a BayesDecision, with its losses. Change the classifier inside in Python, model.estimator_, "
            "and save the whole again."
        )
    return classifier_inside(decision)


def _check_counts(model: GenerativeClassifier | BayesDecision | StreamingBayes, min_count: float | None) -> None:
    if min_count is not None:
        if stream_learner_of(model) is not None:
            raise OptionError("A StreamingBayes keeps rows, not counts alone: min_count cannot be had for its file.")
        decision = decision_of(model)
        check_counts(cast(GenerativeClassifier, model) if decision is None else classifier_inside(decision), min_count)


def to_bytes(
    model: GenerativeClassifier | BayesDecision | StreamingBayes,
    *,
    notes: Mapping[str, object] | None = None,
    min_count: float | None = None,
) -> bytes:
    """Convert a fitted model to the bytes of its model file, to send or store it.

    A model that has learned nothing (``model.empty()``, ``model.plan(source)``) can be sent too: a plan for others.

    Parameters
    ----------
    model : fitted classifier of this library
        The model.
    notes : dict, default=None
        Additional information to store, such as the origin of the data.
    min_count : float, default=None
        Refuse statistics with a cell of more than 0 and fewer than min_count rows (see
        `tallybayes.privacy.check_counts`); None: no check.

    Returns
    -------
    bytes
        For ``from_bytes``; written into a file, they are the file that ``load`` reads.

    See Also
    --------
    from_bytes : Reads the bytes.

    Examples
    --------
    >>> from tallybayes import GaussianNB, from_bytes, to_bytes
    >>> here = GaussianNB().fit([[1.0], [2.0], [7.0], [8.0]], ["low", "low", "high", "high"])
    >>> there = from_bytes(to_bytes(here.empty())).partial_fit([[1.5]], ["low"])
    >>> here.merge(there).class_count_.tolist()
    [2.0, 3.0]
    """
    _check_counts(model, min_count)
    header, arrays = to_document(model, read_notes(notes))
    return b"".join(container.chunks(header, arrays))


def from_bytes(data: bytes | bytearray | memoryview) -> GenerativeClassifier | BayesDecision | StreamingBayes:
    """Load a model from the bytes of ``to_bytes`` or of a model file.

    Nothing in them is executed. Whatever they are, the answer is a model or one ModelFileError.

    Parameters
    ----------
    data : bytes
        The bytes of a model file.

    Returns
    -------
    estimator
        It answers with the same bits, and can go on learning and forgetting.

    Raises
    ------
    ModelFileError
        If they hold no model, or one that no rows can have made.

    See Also
    --------
    to_bytes : Writes the bytes.

    Examples
    --------
    >>> from tallybayes import GaussianNB, from_bytes, to_bytes
    >>> model = GaussianNB().fit([[1.0], [2.0], [7.0], [8.0]], ["low", "low", "high", "high"])
    >>> from_bytes(to_bytes(model)).predict([[6.0]]).tolist()
    ['high']
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise OptionError(f"Expected the bytes of a model; got {type(data).__name__}. For a file use load(path).")
    file = io.BytesIO(data)
    try:
        model, _ = from_document(*container.read(file))
        if file.read(1):
            raise ModelFileError("They go on after the end of the model.")
    except ModelFileError as e:
        raise ModelFileError(f"These bytes hold no model. {bounded(e)}") from e.__cause__
    return model


def load_notes(path: object) -> dict[str, Any]:
    """Read the notes that `save` stored with a model.

    Parameters
    ----------
    path : str, path or binary file
        Where to read them from; the whole file is checked, as when its model is loaded.

    Returns
    -------
    dict
        What `save` was given as notes.

    Raises
    ------
    ModelFileError
        If the file holds no model, or one that no rows can have made.

    See Also
    --------
    tallybayes.save : Writes notes with a model.

    Examples
    --------
    >>> import io
    >>> from tallybayes import GaussianNB, save
    >>> from tallybayes.io import load_notes
    >>> file = io.BytesIO()
    >>> save(GaussianNB().fit([[1.0], [8.0]], ["low", "high"]), file, notes={"source": "the river"})
    >>> _ = file.seek(0)
    >>> load_notes(file)
    {'source': 'the river'}
    """
    return _load(path)[1]


def _load(path: object) -> tuple[GenerativeClassifier | BayesDecision | StreamingBayes, dict[str, Any]]:
    if hasattr(path, "read"):
        name = getattr(path, "name", type(path).__name__)
    else:
        name = path = _path(path)
    try:
        if not isinstance(path, str):
            return from_document(*container.read(path))
        with atomic_files.opened(path) as f:
            found = container.read(f)
            if f.read(1):
                raise ModelFileError("It goes on after its end.")
            return from_document(*found)
    except ModelFileError as e:
        raise ModelFileError(f"Cannot load the model file {name!r}. {bounded(e)}") from e.__cause__


def _path(path: object) -> str:
    if not isinstance(path, str | bytes | os.PathLike):
        raise OptionError(f"Expected a path or a binary file; got {type(path).__name__}.")
    try:
        return os.fsdecode(os.fsencode(path))
    except UnicodeEncodeError:
        raise OptionError(f"A path must be text that this system can encode; got {path!r}.") from None

"""to_js: a model as one file of JavaScript. The scorer itself is in the .js files beside this one."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from os import PathLike
from pathlib import Path

from tallybayes import __version__
from tallybayes.export.model_json import dumps, predictor_of, to_json

PARTS = (
    "compact",
    "forms",
    "block",
    "network",
    "average",
    "ensemble",
    "given",
    "words",
    "scorer",
)  # each after those that it imports
FILE_HEADER = "// Made by tallybayes {version}. {who}; classes: {classes}.\n"
TAIL = "export const model = scorer({description});\nexport default model;\n"


def to_js(model: object, path: str | PathLike[str] | None = None, *, compact: bool = False) -> str:
    """Write a fitted model as an ES module without dependencies, for browsers and Node.

    It exports ``model``, with ``proba(row)``, ``logProba(row)``, ``predict(row)`` and ``evidence(row)``; a row is an
    object by the names of the columns, a date in it a string of ISO 8601 or a Date. P(class | x) is that of
    ``predict_proba`` to 1e-9, missing values included.

    Parameters
    ----------
    model : fitted classifier of this library, or Predictor
        What is written.
    path : str or path, default=None
        Where to write it too; None only returns it.
    compact : bool, default=False
        Whether the model is written as :func:`tallybayes.export.compact` gives it, which is far smaller for a
        `BayesClassifier`; then P(class | x) is that of ``predict_proba`` to 1e-6. The module unpacks it by a top-level
        ``await`` and ``DecompressionStream`` (browsers of 2023, Node 18, or later).

    Returns
    -------
    str
        The module, in UTF-8 if written.

    Raises
    ------
    ExportError
        If the model cannot be described; the message says why.

    See Also
    --------
    to_json : The model as data.

    Examples
    --------
    >>> from tallybayes import GaussianNB
    >>> from tallybayes.export import to_js
    >>> text = to_js(GaussianNB().fit([[1.0], [2.0], [7.0], [8.0]], ["low", "low", "high", "high"]))
    >>> text.rstrip().splitlines()[-1]
    'export default model;'
    """
    predictor = predictor_of(model)
    found, tail = to_json(predictor, compact=compact), TAIL.format(description="description")
    if compact:
        tail = TAIL.format(description="await unpack(description)")
    classes = dumps([str(v) for v in predictor.fitted.classes.tolist()[:8]])
    head = FILE_HEADER.format(version=__version__, who=predictor.options.who, classes=classes)
    text = f"{head}{scorer_source()}\nexport const description = {found};\n{tail}"
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


@cache
def scorer_source(exported: bool = True) -> str:
    """Return the source of the JavaScript scorer as one string.

    Parameters
    ----------
    exported : bool, default=True
        Whether ``scorer`` and ``unpack`` are exported, as from a module, or only defined.

    Returns
    -------
    str
        JavaScript without imports.

    See Also
    --------
    description : The model that it scores.

    Examples
    --------
    >>> from tallybayes.export import scorer_source
    >>> "export function scorer" in scorer_source(), "import" in scorer_source(exported=False)
    (True, False)
    """
    parts = []
    for name in PARTS:
        text = files("tallybayes.export").joinpath(f"{name}.js").read_text(encoding="utf-8")
        text = re.sub(r'^import \{[^}]*\} from "\./\w+\.js";\n', "", text, flags=re.MULTILINE)
        if not (exported and name in ("compact", "scorer")):
            text = re.sub(r"^export (?=function|class|const)", "", text, flags=re.MULTILINE)
        parts.append(text)
    return "\n".join(parts)

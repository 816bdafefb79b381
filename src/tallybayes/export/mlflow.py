"""A model in MLflow: a pyfunc flavour around the model file. Nothing is pickled, and what is loaded is safe to open."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tallybayes import __version__
from tallybayes.errors import ExportError, OptionError, brief
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.export.model_json import predictor_of
from tallybayes.io import load, save
from tallybayes.io.decision_documents import classifier_inside, decision_of

if TYPE_CHECKING:
    from tallybayes.estimators.bayes_decision import BayesDecision

METHODS = ("predict", "predict_proba", "predict_log_proba")
FILE = "model.tb"
EXAMPLE = 5  # rows


def save_model(
    model: GenerativeClassifier | BayesDecision,
    path: str | PathLike[str],
    *,
    input_example: object = None,
    **options: Any,
) -> None:
    """Write a fitted model as an MLflow model: a folder with the model file, its card, signature and an example.

    ``mlflow.pyfunc.load_model(path).predict(X)`` gives labels; ``predict(X, params={"method": "predict_proba"})`` a
    column of probabilities for each class.

    Parameters
    ----------
    model : fitted classifier of this library
        What is written; a BayesDecision around one too, whose answers ``predict`` then gives.
    path : str or path
        The folder, which must not be there yet.
    input_example : data frame, default=None
        A few rows, whose types become those of the signature; None draws some from the model.
    **options : dict
        For ``mlflow.pyfunc.save_model``.

    Raises
    ------
    OptionError
        If the package mlflow is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.export.mlflow import save_model
    >>> model = NaiveBayes().fit([{"sky": "clear"}, {"sky": "grey"}], ["sail", "stay"])
    >>> save_model(model, tempfile.mkdtemp() + "/boats")
    """
    with tempfile.TemporaryDirectory() as folder:
        _pyfunc().save_model(path=fspath(path), **_parts(model, Path(folder), input_example), **options)


def log_model(
    model: GenerativeClassifier | BayesDecision, name: str = "model", *, input_example: object = None, **options: Any
) -> Any:
    """Log a fitted model to the active MLflow run.

    Parameters
    ----------
    model : fitted classifier of this library
        What is written; a BayesDecision around one too, whose answers ``predict`` then gives.
    name : str, default='model'
        What it is called there.
    input_example : data frame, default=None
        A few rows, whose types become those of the signature; None draws some from the model.
    **options : dict
        For ``mlflow.pyfunc.log_model``, such as ``registered_model_name``.

    Returns
    -------
    mlflow ModelInfo
        Where it is.

    Raises
    ------
    OptionError
        If the package mlflow is not installed.

    Examples
    --------
    >>> from tallybayes.export.mlflow import log_model
    >>> callable(log_model)                                  # inside `with mlflow.start_run():`
    True
    """
    with tempfile.TemporaryDirectory() as folder:
        return _pyfunc().log_model(name=name, **_parts(model, Path(folder), input_example), **options)


class Answers:
    """The pyfunc model of MLflow: it calls the requested method of a fitted model.

    Parameters
    ----------
    model : fitted classifier of this library
        The model that predicts.

    Examples
    --------
    >>> import pandas as pd
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.export.mlflow import Answers
    >>> model = NaiveBayes().fit([{"sky": "clear"}, {"sky": "grey"}], ["sail", "stay"])
    >>> Answers(model).predict(pd.DataFrame({"sky": ["grey"]})).tolist()
    ['stay']
    """

    def __init__(self, model: GenerativeClassifier | BayesDecision) -> None:
        self.model = model
        decision = decision_of(model)
        self._inside: GenerativeClassifier = model if decision is None else classifier_inside(decision)

    def predict(self, X: Any, params: Mapping[str, Any] | None = None) -> Any:
        """Answer for rows.

        Parameters
        ----------
        X : data frame
            The rows.
        params : dict, default=None
            ``method``: 'predict' (the default), 'predict_proba' or 'predict_log_proba'.

        Returns
        -------
        ndarray or data frame
            Labels, or a column for each class.
        """
        import pandas as pd

        method = (params or {}).get("method", METHODS[0])
        if method not in METHODS:
            raise OptionError(f"method must be one of {', '.join(METHODS)}; got {brief(method)}.")
        nameless = self._inside.schema_.names is None and hasattr(X, "to_numpy")
        rows = X.to_numpy() if nameless else X
        if method == METHODS[0]:
            return self.model.predict(rows)
        labels = [str(label) for label in self._inside.classes_.tolist()]
        return pd.DataFrame(getattr(self._inside, method)(rows), columns=labels)


def _load_pyfunc(path: str) -> Answers:
    """What MLflow calls to load: path is what `data_path` was."""
    where = Path(path)
    return Answers(load(where / FILE if where.is_dir() else where))


def _parts(model: GenerativeClassifier | BayesDecision, folder: Path, example: object) -> dict[str, Any]:
    """What MLflow is given; every column may be missing, and has the type that the example has."""
    from mlflow.models import ModelSignature, infer_signature
    from mlflow.types import ColSpec, DataType, ParamSchema, ParamSpec, Schema

    decision = decision_of(model)
    inside: GenerativeClassifier = model if decision is None else classifier_inside(decision)
    schema = predictor_of(inside).fitted.schema
    if "" in (schema.names or ()):
        raise ExportError("A column has no name (''), and MLflow finds columns by their names. Name it, and fit again.")
    data = folder / "data"
    data.mkdir()
    save(model, data / FILE, card=True)
    rows: Any = _example(inside) if example is None else example
    found: Any = infer_signature(rows).inputs
    columns: list[Any] = [ColSpec(each.type, each.name, required=False) for each in found.inputs]
    asked = ParamSchema([ParamSpec("method", DataType.string, METHODS[0])])
    return {
        "loader_module": "tallybayes.export.mlflow",
        "data_path": str(data),
        "signature": ModelSignature(inputs=Schema(columns), params=asked),
        "input_example": rows,
        "pip_requirements": [f"tallybayes=={__version__}", "pandas"],
    }


def _example(model: GenerativeClassifier) -> Any:
    """Rows drawn from the model, as a data frame."""
    import pandas as pd

    X, _ = model.sample(EXAMPLE, random_state=0)
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if hasattr(X, "toarray"):
        X = X.toarray()
    found = pd.DataFrame(X)
    if model.schema_.names is not None:  # a date is one column here, and several in the schema
        return found
    return found.set_axis([model.schema_.name(j) for j in range(model.schema_.d)], axis=1)


def _pyfunc() -> Any:
    try:
        import mlflow.pyfunc
    except ImportError:
        raise OptionError("This needs the package mlflow: pip install mlflow (mlflow-skinny is enough).") from None
    return mlflow.pyfunc

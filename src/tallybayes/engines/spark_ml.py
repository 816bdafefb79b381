"""A classifier as a stage of a pipeline of pyspark.ml: an Estimator that fits, a Transformer that answers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tallybayes.errors import OptionError, brief
from tallybayes.estimators.base import TallyClassifier

if TYPE_CHECKING:
    from pyspark.ml import Estimator, Model
else:
    try:
        from pyspark.ml import Estimator, Model
    except ImportError:  # the classes can be read about; making one says what is missing
        Estimator = Model = object


FOLD_COLUMN = re.compile(r"_[0-9a-f]{12,}_rand$")  # what CrossValidator and TrainValidationSplit add to split rows


def _without_folds(names: Sequence[str], others: Sequence[str | None]) -> list[str]:
    """The columns that are features: neither target nor weight, nor one by which Spark splits rows."""
    return [name for name in names if name not in others and not FOLD_COLUMN.search(name)]


def _require_spark() -> None:
    if Estimator is object:
        raise OptionError("A stage of a Spark pipeline needs pyspark: pip install 'tallybayes[spark]'.")


class BayesEstimator(Estimator):  # type: ignore[misc]
    """A classifier of this library as an Estimator of pyspark.ml.

    It reads columns of text, numbers and truth values with gaps as they are: no indexer, no vector.

    Parameters
    ----------
    classifier : classifier of this library
        Who learns. It stays as it is: every fit starts from it, and goes on from what it has learned.
    target : str
        The column of the class.
    weight : str, default=None
        The column that says how many times a row counts.
    columns : list of str, default=None
        The features; None takes all other columns, but for the one by which CrossValidator splits rows. Name them if
        you give it a ``foldCol`` of your own.
    plan : classifier, default=None
        What ``classifier.plan(frame, target)`` gave; None makes one.

    Examples
    --------
    In a pipeline: ``Pipeline(stages=[SQLTransformer(statement=…), BayesEstimator(NaiveBayes(), "kind")])``.
    """

    def __init__(
        self,
        classifier: TallyClassifier,
        target: str,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        plan: TallyClassifier | None = None,
    ) -> None:
        _require_spark()
        if not isinstance(classifier, TallyClassifier):
            raise OptionError(f"classifier must be one of tallybayes, such as NaiveBayes(); got {brief(classifier)}.")
        super().__init__()
        self.classifier, self.target, self.weight, self.columns, self.plan = classifier, target, weight, columns, plan

    def _fit(self, dataset: Any) -> BayesTransformer:
        model = self.classifier.copy()
        columns = self.columns
        if columns is None and self.plan is None and not model.__sklearn_is_fitted__():
            columns = _without_folds(dataset.columns, [self.target, self.weight])
        model.learn_from(dataset, self.target, weight=self.weight, columns=columns, plan=self.plan)
        return BayesTransformer(model)


class BayesTransformer(Model):  # type: ignore[misc]
    """A fitted classifier of this library as a Transformer of pyspark.ml.

    Parameters
    ----------
    model : fitted classifier of this library
        Who answers. ``save(stage.model, path)`` keeps it, and ``BayesTransformer(load(path))`` brings it back.

    Examples
    --------
    ``BayesTransformer(model).transform(frame)`` has all columns of the frame, ``prediction`` and ``proba_…``.
    """

    def __init__(self, model: TallyClassifier) -> None:
        _require_spark()
        if not isinstance(model, TallyClassifier):
            raise OptionError(f"model must be a fitted classifier of tallybayes; got {brief(model)}.")
        super().__init__()
        self.model = model

    def _transform(self, dataset: Any) -> Any:
        return self.model.predict_to(dataset, keep=dataset.columns)

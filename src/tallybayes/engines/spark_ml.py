"""A classifier as a stage of a pipeline of pyspark.ml: an Estimator that fits, a Model that predicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tallybayes.engines.partitions import in_bulk
from tallybayes.engines.source import batch_rows
from tallybayes.errors import OptionError, brief, listing
from tallybayes.estimators.base import GenerativeClassifier

if TYPE_CHECKING:
    import pyarrow as pa

    from tallybayes.engines.spark_params import EstimatorStage, ModelStage
else:
    try:
        from tallybayes.engines.spark_params import EstimatorStage, ModelStage
    except ImportError:  # the classes can be read about; making one says what is missing
        EstimatorStage = ModelStage = object


FOLD_COLUMN = re.compile(r"_[0-9a-f]{12,}_rand$")  # what CrossValidator and TrainValidationSplit add to split rows
MAX_CLASSES = 100  # labels below this number are places in a vector; Spark's own classifiers have the same bound


class _LabelIndex(NamedTuple):
    """How classes become numbers.

    values: the prediction for each class. places: where its probability stands in a vector. length: of that vector.
    """

    values: list[float]
    places: list[int]
    length: int


def _label_index(classes: Sequence[Any], names: Sequence[str] | None) -> _LabelIndex:
    """What the classes of a model are in Spark. names: the labels that a StringIndexer made numbers of."""
    if any(isinstance(label, bool | str) or not isinstance(label, int | float) for label in classes):
        places = list(range(len(classes)))
        return _LabelIndex([float(place) for place in places], places, len(classes))
    values = [float(label) for label in classes]
    if all(value.is_integer() and 0 <= value < max(MAX_CLASSES, len(names or ())) for value in values):
        # By the label, as Spark has it: a fold without one of the classes does not move the others.
        places = [int(value) for value in values]
        return _LabelIndex(values, places, max(len(names or ()), *(place + 1 for place in places)))
    return _LabelIndex(values, list(range(len(values))), len(values))


def _without_folds(names: Sequence[str], others: Sequence[str | None]) -> list[str]:
    """The columns that are features: neither target nor weight, nor one by which Spark splits rows."""
    return [name for name in names if name not in others and not FOLD_COLUMN.search(name)]


def _require_spark() -> None:
    if EstimatorStage is object:
        raise OptionError("A stage of a Spark pipeline needs pyspark: pip install 'tallybayes[spark]'.")


class BayesEstimator(EstimatorStage):
    """A classifier of this library as an Estimator of pyspark.ml.

    It reads columns of text, numbers, booleans and dates with missing values as they are: no indexer, no vector. Every
    option of the classifier is a Param of the stage under its own name, so that a ``ParamGridBuilder`` can vary it.

    Parameters
    ----------
    classifier : classifier of this library
        Who learns. It stays as it is: every fit starts from it, and goes on from what it has learned. Where it was made
        by ``plan``, its cuts and structure are used.
    labelCol : str, default='label'
        The column of the class: text, numbers or booleans.
    inputCols : list of str, default=None
        The features; None takes all other columns, but for the one by which CrossValidator splits rows. Name them if
        you give it a ``foldCol`` of your own, or if the label is made from another column.
    weightCol : str, default=None
        The column that says how many times a row counts.
    predictionCol, probabilityCol, rawPredictionCol : str
        The columns of the answers, by default 'prediction', 'probability' and 'rawPrediction'; '' leaves one out.
    options : object
        Values for options of the classifier, such as ``alpha=0.5``.

    Examples
    --------
    In a pipeline: ``Pipeline(stages=[SQLTransformer(statement=…), BayesEstimator(NaiveBayes(), labelCol="kind")])``.
    """

    def __init__(
        self,
        classifier: GenerativeClassifier,
        *,
        labelCol: str = "label",
        inputCols: Sequence[str] | None = None,
        weightCol: str | None = None,
        predictionCol: str = "prediction",
        probabilityCol: str = "probability",
        rawPredictionCol: str = "rawPrediction",
        **options: Any,
    ) -> None:
        _require_spark()
        if not isinstance(classifier, GenerativeClassifier):
            raise OptionError(f"classifier must be one of tallybayes, such as NaiveBayes(); got {brief(classifier)}.")
        super().__init__()
        from pyspark.ml.param import Param

        self.classifier = classifier
        allowed = classifier.get_params(deep=False)
        for name in allowed:
            setattr(self, name, Param(self, name, f"an option of {type(classifier).__name__}"))
        self._params = None  # Spark keeps a list of them
        unknown = [name for name in options if name not in allowed]
        if unknown:
            raise OptionError(
                f"{type(classifier).__name__} has no option {listing(unknown)}. Options: {listing(list(allowed))}."
            )
        self._set(labelCol=labelCol, predictionCol=predictionCol)
        self._set(probabilityCol=probabilityCol, rawPredictionCol=rawPredictionCol)
        if inputCols is not None:
            self._set(inputCols=list(inputCols))
        if weightCol is not None:
            self._set(weightCol=weightCol)
        for name, value in options.items():  # None is a value of an option
            self.set(self.getParam(name), value)

    def _fit(self, dataset: Any) -> BayesTransformer:
        given = {param.name: value for param, value in self.extractParamMap().items()}
        names = self.classifier.get_params(deep=False)
        options = {name: value for name, value in given.items() if name in names}
        model = self.classifier.copy()
        fresh = not model.__sklearn_is_fitted__()
        if options and not fresh:
            raise OptionError(
                f"The classifier has learned, or is a plan: {listing(list(options))} cannot change any more. "
                "Give the stage one that has not been fitted."
            )
        model.set_params(**options)
        label, weight = given["labelCol"], given.get("weightCol")
        indexed = _indexed_labels(dataset, label)
        columns = given.get("inputCols")
        if columns is None and fresh:
            columns = _features(dataset, [label, weight], label, indexed)
        model.learn_from(dataset, label, weight=weight, columns=columns)
        return self._copyValues(BayesTransformer(model, indexed))  # type: ignore[no-any-return]

    def _content(self) -> tuple[dict[str, Any], bytes]:
        """What is saved beside the Params."""
        from tallybayes.io import to_bytes

        if self.classifier.__sklearn_is_fitted__():
            return {}, to_bytes(self.classifier)
        return {"classifier": type(self.classifier).__name__, "options": self.classifier.get_params(deep=False)}, b""

    @classmethod
    def _from_content(cls, about: dict[str, Any], content: bytes) -> BayesEstimator:
        import tallybayes
        from tallybayes.io import from_bytes

        if content:
            return cls(from_bytes(content))
        name = about["classifier"]
        kind = getattr(tallybayes, name, None) if name in tallybayes.__all__ else None
        if not (isinstance(kind, type) and issubclass(kind, GenerativeClassifier)):
            raise OptionError(f"This version has no classifier {name!r:.60}.")
        return cls(kind(**about["options"]))


class BayesTransformer(ModelStage):
    """A fitted classifier of this library as a Model of pyspark.ml.

    ``transform`` adds three columns. The prediction is a double: the label itself where labels are numbers, else its
    place in ``model.classes_``, with the labels in the column's metadata, by which ``IndexToString`` gives them back.
    ``probability`` and ``rawPrediction``, which is log P(class | x), are vectors. Where labels are whole numbers from 0
    to 99 they stand at the place of the label, otherwise in the order of ``model.classes_``.

    Parameters
    ----------
    model : fitted classifier of this library
        Who predicts.
    labels : list of str, default=None
        What the numbers of a label column stand for; a fit takes them from a StringIndexer.

    Examples
    --------
    ``BayesTransformer(model).transform(frame)`` has all columns of the frame and those of the answers.
    """

    def __init__(self, model: GenerativeClassifier, labels: Sequence[str] | None = None) -> None:
        _require_spark()
        if not isinstance(model, GenerativeClassifier):
            raise OptionError(f"model must be a fitted classifier of tallybayes; got {brief(model)}.")
        super().__init__()
        self.model = model
        self.labels = None if labels is None else list(labels)

    @property
    def numClasses(self) -> int:
        """int: the length of the vectors."""
        return _label_index(self.model.classes_.tolist(), self.labels).length

    def _transform(self, dataset: Any) -> Any:
        from pyspark.ml.linalg import VectorUDT
        from pyspark.sql.types import DoubleType, StructField, StructType

        made = [
            ("log_proba", self.getRawPredictionCol(), VectorUDT(), {}),
            ("proba", self.getProbabilityCol(), VectorUDT(), {}),
            ("best", self.getPredictionCol(), DoubleType(), self._nominal()),
        ]
        wanted = [row for row in made if row[1]]
        both = next((name for _, name, *_ in wanted if name in dataset.columns), None)
        if both is not None:
            raise OptionError(f"The frame has a column {both!r} already. Name another for the answers, or drop it.")
        fields = [StructField(name, kind, metadata=about) for _, name, kind, about in wanted]
        schema = StructType([*dataset.schema.fields, *fields])
        return dataset.mapInArrow(self._answers(list(dataset.columns), [how for how, *_ in wanted]), schema)

    def _answers(self, names: list[str], wanted: list[str]) -> Any:
        """What executors do with batches of rows."""
        from tallybayes.io import to_bytes

        schema = self.model.fitted_.schema.needed_names
        features = list(names if schema is None else schema)
        absent = [name for name in features if name not in names]
        if absent:
            raise OptionError(f"There is no column {listing(absent)} in the Spark frame. Columns: {listing(names)}.")
        sent, index = to_bytes(self.model), _label_index(self.model.classes_.tolist(), self.labels)

        def answered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import pyarrow as pa

            from tallybayes.io import from_bytes

            model = None
            tables = (pa.Table.from_batches([batch]).rename_columns(names) for batch in batches)
            for table in in_bulk(tables, batch_rows(len(names))):
                model = model or from_bytes(sent)
                predictor = model.predictor_
                rows = predictor.read(table.select(features))
                found = [_column(how, predictor.predict_rows(rows, how), index) for how in wanted]
                whole = pa.Table.from_arrays([*table.columns, *found], [*names, *wanted])
                yield from whole.combine_chunks().to_batches()

        return answered

    def _nominal(self) -> dict[str, Any]:
        """The labels as Spark's metadata has them."""
        classes = self.model.classes_.tolist()
        if self.labels is None and all(isinstance(label, int | float) for label in classes):
            return {}
        names = self.labels if self.labels is not None else [str(label) for label in classes]
        return {"ml_attr": {"name": self.getPredictionCol(), "type": "nominal", "vals": names}}

    def _content(self) -> tuple[dict[str, Any], bytes]:
        """What is saved beside the Params."""
        from tallybayes.io import to_bytes

        return {"labels": self.labels}, to_bytes(self.model)

    @classmethod
    def _from_content(cls, about: dict[str, Any], content: bytes) -> BayesTransformer:
        from tallybayes.io import from_bytes

        return cls(from_bytes(content), about["labels"])


def _column(how: str, found: Any, index: _LabelIndex) -> pa.Array:
    """Answers as Spark's type in Arrow: a double, or a dense vector, which is (1, null, null, values)."""
    import pyarrow as pa

    if how == "best":
        return pa.array(np.asarray(index.values)[found])
    n = len(found)
    values = np.full((n, index.length), -np.inf if how == "log_proba" else 0.0)
    values[:, index.places] = found
    starts = pa.array(np.arange(n + 1, dtype=np.int32) * index.length)
    dense = pa.array(np.ones(n, dtype=np.int8))
    vectors = [
        dense,
        pa.nulls(n, pa.int32()),
        pa.nulls(n, pa.list_(pa.int32())),
        pa.ListArray.from_arrays(starts, pa.array(values.ravel())),
    ]
    return pa.StructArray.from_arrays(vectors, ["type", "size", "indices", "values"])


def _indexed_labels(dataset: Any, label: str) -> list[str] | None:
    """The labels that a StringIndexer made the numbers of a column from."""
    field = next((field for field in dataset.schema.fields if field.name == label), None)
    about = {} if field is None else (field.metadata or {}).get("ml_attr", {})
    return list(about["vals"]) if about.get("type") == "nominal" and "vals" in about else None


def _features(dataset: Any, others: Sequence[str | None], label: str, indexed: list[str] | None) -> list[str]:
    """All other columns, unless one of them would give the class away or cannot be read."""
    names = _without_folds(dataset.columns, others)
    if indexed is not None:
        raise OptionError(
            f"The labels {label!r} were indexed from another column, which would be taken for a feature. Name the "
            "features: inputCols=[…]."
        )
    udts = {field.name for field in dataset.schema.fields if hasattr(field.dataType, "sqlType")}
    vectors = [name for name in names if name in udts]
    if vectors:
        raise OptionError(
            f"The column {vectors[0]!r} is a vector. Name the features, inputCols=[…]: the columns that it was made of."
        )
    return names

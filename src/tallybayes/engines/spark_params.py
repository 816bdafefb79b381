"""What stages of pyspark.ml share: the Params of their columns, and how they are saved and loaded.

It imports pyspark; `spark_ml` can be imported without it.
"""

from __future__ import annotations

import json
import os
from typing import Any, TypeVar

from pyspark.ml import Estimator, Model
from pyspark.ml.param.shared import (
    HasInputCols,
    HasLabelCol,
    HasPredictionCol,
    HasProbabilityCol,
    HasRawPredictionCol,
    HasWeightCol,
)
from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReadable, MLReader, MLWritable, MLWriter

from tallybayes.errors import OptionError

Stage = TypeVar("Stage")
CONTENT = "tallybayes"  # beside Spark's own "metadata": a table of one row


class AnswerColumns(HasPredictionCol, HasProbabilityCol, HasRawPredictionCol, MLWritable, MLReadable):  # type: ignore[misc]
    """The columns that answers have, and saving and loading: of the Estimator and of the Model."""

    def setPredictionCol(self: Stage, value: str) -> Stage:
        """Set the column of the predicted class; '' for none."""
        return self._set(predictionCol=value)  # type: ignore[attr-defined, no-any-return]

    def setProbabilityCol(self: Stage, value: str) -> Stage:
        """Set the column of P(class | x); '' for none."""
        return self._set(probabilityCol=value)  # type: ignore[attr-defined, no-any-return]

    def setRawPredictionCol(self: Stage, value: str) -> Stage:
        """Set the column of log P(class | x); '' for none."""
        return self._set(rawPredictionCol=value)  # type: ignore[attr-defined, no-any-return]

    def write(self) -> MLWriter:
        """Return a writer; ``write().overwrite().save(path)`` replaces what is there."""
        return StageWriter(self)

    @classmethod
    def read(cls) -> MLReader:
        """Return a reader."""
        return StageReader(cls)


class EstimatorStage(Estimator, AnswerColumns, HasInputCols, HasLabelCol, HasWeightCol):  # type: ignore[misc]
    """The Params of a stage that learns."""

    def setInputCols(self: Stage, value: list[str]) -> Stage:
        """Set the features."""
        return self._set(inputCols=value)  # type: ignore[attr-defined, no-any-return]

    def setLabelCol(self: Stage, value: str) -> Stage:
        """Set the column of the class."""
        return self._set(labelCol=value)  # type: ignore[attr-defined, no-any-return]

    def setWeightCol(self: Stage, value: str) -> Stage:
        """Set the column that says how many times a row counts."""
        return self._set(weightCol=value)  # type: ignore[attr-defined, no-any-return]


class ModelStage(Model, AnswerColumns):  # type: ignore[misc]
    """The Params of a stage that predicts."""


class StageWriter(MLWriter):  # type: ignore[misc]
    """Writes a stage: its Params as Spark does, and what it holds as a Parquet table beside them."""

    def __init__(self, stage: Any) -> None:
        super().__init__()
        self.stage = stage

    def saveImpl(self, path: str) -> None:
        """Write into a folder that is not there yet."""
        about, content = self.stage._content()
        given = {param.name: value for param, value in self.stage._paramMap.items()}
        try:
            json.dumps([given, about], allow_nan=False)
        except (TypeError, ValueError) as e:
            raise OptionError(
                f"This {type(self.stage).__name__} cannot be saved: an option holds what JSON cannot ({e}). Save it "
                "after it was fitted, or give options that are text, numbers, lists or dicts."
            ) from e
        DefaultParamsWriter.saveMetadata(self.stage, path, self.sparkSession, {CONTENT: about})
        row = [(bytearray(content),)]
        self.sparkSession.createDataFrame(row, "model binary").coalesce(1).write.parquet(os.path.join(path, CONTENT))


class StageReader(MLReader):  # type: ignore[misc]
    """Reads what StageWriter has written."""

    def __init__(self, kind: Any) -> None:
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> Any:
        """Return the stage that was saved into a folder."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sparkSession)
        name = f"{self.kind.__module__}.{self.kind.__name__}"
        if metadata["class"] != name:
            raise OptionError(f"There is a {metadata['class']} in {path!r}, no {name}. Load it by its own class.")
        row = self.sparkSession.read.parquet(os.path.join(path, CONTENT)).first()
        stage = self.kind._from_content(metadata[CONTENT], bytes(row["model"]))
        stage._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(stage, metadata)
        return stage

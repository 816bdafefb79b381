"""The models: how each is made for a table and a number of threads. All but the tuned one have their default settings.

Most take the table as it is: numbers, pandas categories and missing values. Some do not, and what they need is a part
of them, learned from the rows of the fold and timed with it:

    RandomForest, ExtraTrees  labels as ordinal codes, missing and unknown ones as codes of their own;
                              numbers with the median where missing, and a column that says where that was
    LogisticRegression        labels as one-hot columns, missing being a label; numbers as for the forest, then
                              standardised; at most 1000 steps
    CatBoost                  missing labels as a label
    XGBoost                   classes numbered without gaps; a column of labels that has none is left out
    EBM                       interpret-core; missing labels as a label
    RealMLP                   pytabkit's RealMLP-TD (torch): labels and numbers as for the forest, codes as categories
    LightGBM tuned            the search that is described in tuned.py

To add one, write a function of a Table and a number of threads that returns an estimator, with what it needs imported
inside, and add a line to MODELS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from .tables import Table
from .tuned import TunedLightGBM

Make = Callable[[Table, int], Any]


@dataclass(frozen=True)
class Model:
    name: str
    make: Make
    ours: bool = False
    draws: bool = False  # it has a random_state that its answers depend on, and explain


def bayes(effort: str, table: Table, threads: int) -> Any:  # noqa: ARG001
    from tallybayes import BayesClassifier

    return BayesClassifier(effort=effort)


def naive(table: Table, threads: int) -> Any:  # noqa: ARG001
    from tallybayes import NaiveBayes

    return NaiveBayes("mdl")


def aode(table: Table, threads: int) -> Any:  # noqa: ARG001
    from tallybayes import AODE

    return AODE()


def kdb(table: Table, threads: int) -> Any:  # noqa: ARG001
    from tallybayes import KDB

    return KDB()


def lightgbm(table: Table, threads: int) -> Any:  # noqa: ARG001
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=threads, verbose=-1)


def lightgbm_tuned(table: Table, threads: int) -> Any:  # noqa: ARG001
    return TunedLightGBM(threads)


def xgboost(table: Table, threads: int) -> Any:
    from xgboost import XGBClassifier

    return Numbered(XGBClassifier(n_jobs=threads, enable_categorical=True, random_state=0), table.labels)


class Numbered:
    """A classifier that wants the classes as 0, 1, … without gaps (a fold may lack one), and labels in every column of
    labels."""

    def __init__(self, estimator: Any, labels: list[str]) -> None:
        self.estimator, self.labels = estimator, labels

    def fit(self, X: pd.DataFrame, y: NDArray[np.intp]) -> Self:
        self.classes_, numbers = np.unique(y, return_inverse=True)
        self.estimator.fit(self._without_empty(X), numbers)
        return self

    def predict_proba(self, X: pd.DataFrame) -> Any:
        return self.estimator.predict_proba(self._without_empty(X))

    def _without_empty(self, X: pd.DataFrame) -> pd.DataFrame:
        """The folds of a table have the same categories, so all lose the same columns."""
        return X.drop(columns=[name for name in self.labels if not len(X[name].cat.categories)])


def hist_gradient_boosting(table: Table, threads: int) -> Any:  # noqa: ARG001
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0)


def catboost(table: Table, threads: int) -> Any:
    from catboost import CatBoostClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    quiet = {"verbose": False, "allow_writing_files": False}
    model = CatBoostClassifier(cat_features=table.labels, thread_count=threads, **quiet)
    return make_pipeline(FunctionTransformer(_name_missing), model)


def ebm(table: Table, threads: int) -> Any:  # noqa: ARG001
    from interpret.glassbox import ExplainableBoostingClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    model = ExplainableBoostingClassifier(n_jobs=threads, random_state=0)
    return make_pipeline(FunctionTransformer(_name_missing), model)


def real_mlp(table: Table, threads: int) -> Any:
    from pytabkit import RealMLP_TD_Classifier
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder

    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    ready = make_column_transformer((codes, table.labels), (_fill(), table.numbers), sparse_threshold=0.0)
    ready.set_output(transform="pandas")
    model = RealMLP_TD_Classifier(device="cpu", n_threads=threads, random_state=0)
    return make_pipeline(ready, FunctionTransformer(_codes_as_labels), model)


def _codes_as_labels(X: pd.DataFrame) -> pd.DataFrame:
    return X.astype({name: "category" for name in X if name.startswith("ordinalencoder__")})


def _name_missing(X: pd.DataFrame) -> pd.DataFrame:
    labels = X.select_dtypes("category").astype(object)
    return X.assign(**labels.where(labels.notna(), "missing"))


def random_forest(table: Table, threads: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return _after_codes(table, RandomForestClassifier(n_jobs=threads, random_state=0))


def extra_trees(table: Table, threads: int) -> Any:
    from sklearn.ensemble import ExtraTreesClassifier

    return _after_codes(table, ExtraTreesClassifier(n_jobs=threads, random_state=0))


def _after_codes(table: Table, forest: Any) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    return make_pipeline(make_column_transformer((_fill(), table.numbers), (codes, table.labels)), forest)


def logistic(table: Table, threads: int) -> Any:  # noqa: ARG001
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    hot = OneHotEncoder(handle_unknown="ignore")
    ready = make_column_transformer((make_pipeline(_fill(), StandardScaler()), table.numbers), (hot, table.labels))
    return make_pipeline(ready, LogisticRegression(max_iter=1000))


def _fill() -> Any:
    from sklearn.impute import SimpleImputer

    return SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)


EFFORTS = ("fast", "balanced", "best")
MODELS: list[Model] = [
    *(Model(f"BayesClassifier {effort}", partial(bayes, effort), ours=True, draws=True) for effort in EFFORTS),
    Model("NaiveBayes mdl", naive, ours=True),
    Model("AODE", aode, ours=True),
    Model("KDB", kdb, ours=True),
    Model("LightGBM", lightgbm),
    Model("LightGBM tuned", lightgbm_tuned),
    Model("XGBoost", xgboost),
    Model("CatBoost", catboost),
    Model("EBM", ebm),
    Model("RealMLP", real_mlp),
    Model("HistGradientBoosting", hist_gradient_boosting),
    Model("RandomForest", random_forest),
    Model("ExtraTrees", extra_trees),
    Model("LogisticRegression", logistic),
]


def available(models: list[Model]) -> tuple[list[Model], dict[str, str]]:
    """Those whose packages and classes are there, and what is missing for the others."""
    empty = Table("", pd.DataFrame(), np.zeros(0, dtype=np.intp), full=0, folds=2, repeats=1)
    found: list[Model] = []
    absent: dict[str, str] = {}
    for model in models:
        try:
            model.make(empty, 1)
        except ImportError as error:
            absent[model.name] = error.msg
        else:
            found.append(model)
    return found, absent

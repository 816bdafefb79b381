"""The models: how each is made for a table. All have their default settings, and all cores.

Most take the table as it is: numbers, pandas categories and missing values. Two of scikit-learn's do not, and what they
need is a part of them, learned from the rows of the fold and timed with it:

    RandomForest        labels as ordinal codes, missing and unknown ones as codes of their own;
                        numbers with the median where missing, and a column that says where that was
    LogisticRegression  labels as one-hot columns, missing being a label; numbers as for the forest, then standardised;
                        at most 1000 steps
    CatBoost            missing labels as a label

To add one, write a function of a Table that returns an estimator, with what it needs imported inside, and add a line
to MODELS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from .tables import Table

Make = Callable[[Table], Any]


@dataclass(frozen=True)
class Model:
    name: str
    make: Make
    ours: bool = False


def bayes(effort: str, table: Table) -> Any:  # noqa: ARG001
    from tallybayes import BayesClassifier

    return BayesClassifier(effort=effort)


def naive(table: Table) -> Any:  # noqa: ARG001
    from tallybayes import NaiveBayes

    return NaiveBayes("mdl")


def aode(table: Table) -> Any:  # noqa: ARG001
    from tallybayes import AODE

    return AODE()


def kdb(table: Table) -> Any:  # noqa: ARG001
    from tallybayes import KDB

    return KDB()


def lightgbm(table: Table) -> Any:  # noqa: ARG001
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=0, verbose=-1)  # 0: as many threads as OpenMP gives, so OMP_NUM_THREADS is heard


def hist_gradient_boosting(table: Table) -> Any:  # noqa: ARG001
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(random_state=0)


def catboost(table: Table) -> Any:
    from catboost import CatBoostClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    model = CatBoostClassifier(cat_features=table.labels, verbose=False, allow_writing_files=False)
    return make_pipeline(FunctionTransformer(_name_missing), model)


def _name_missing(X: pd.DataFrame) -> pd.DataFrame:
    labels = X.select_dtypes("category").astype(object)
    return X.assign(**labels.where(labels.notna(), "missing"))


def random_forest(table: Table) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    ready = make_column_transformer((_fill(), table.numbers), (codes, table.labels))
    return make_pipeline(ready, RandomForestClassifier(n_jobs=-1, random_state=0))


def logistic(table: Table) -> Any:
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


MODELS: list[Model] = [
    *(Model(f"BayesClassifier {effort}", partial(bayes, effort), ours=True) for effort in ("fast", "balanced", "best")),
    Model("NaiveBayes mdl", naive, ours=True),
    Model("AODE", aode, ours=True),
    Model("KDB", kdb, ours=True),
    Model("LightGBM", lightgbm),
    Model("RandomForest", random_forest),
    Model("LogisticRegression", logistic),
    Model("HistGradientBoosting", hist_gradient_boosting),
    Model("CatBoost", catboost),
]


def available(models: list[Model]) -> tuple[list[Model], dict[str, str]]:
    """Those whose packages and classes are there, and what is missing for the others."""
    empty = Table("", pd.DataFrame(), np.zeros(0, dtype=np.intp), full=0, folds=2, repeats=1)
    found: list[Model] = []
    absent: dict[str, str] = {}
    for model in models:
        try:
            model.make(empty)
        except ImportError as error:
            absent[model.name] = error.msg
        else:
            found.append(model)
    return found, absent

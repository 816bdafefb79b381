"""Why this answer: what each feature says for each class, which features say most, and is the row like any seen."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np

from tallybayes.data.schema import Schema
from tallybayes.data.table import read_table
from tallybayes.distributions.information import information
from tallybayes.errors import LabelError, OptionError, TableError, brief, listing
from tallybayes.estimators.model import Model
from tallybayes.explain.evidence import Explanation
from tallybayes.explain.novelty import NoveltyScore, novelty_score
from tallybayes.explain.phrases import TOGETHER
from tallybayes.explain.ranking import FeatureRanking
from tallybayes.model.fitted import Fitted
from tallybayes.model.predictor import Predictor
from tallybayes.utils.array_types import Floats

MOST_NUMBERS = 1 << 27  # in one explanation: 1 GB


_showing: ContextVar[bool] = ContextVar("_showing", default=False)  # a notebook shows the model


class Explains(Model):
    """explain and novelty."""

    def explain(self, X: object = None, *, against: object = None, feature_names: object = None) -> Any:
        """Tell what each feature says for each class, row by row; without rows, how much each tells of the class.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns), default=None
            The rows to explain; None ranks the features.
        against : label, default=None
            None: each class against the rest; or the class that the others are compared with.
        feature_names : sequence of str, default=None
            What the columns are called, where the table has no names: the words behind a sparse matrix of counts.

        Returns
        -------
        Explanation or FeatureRanking
            With rows, contributions to the log-odds of each class that sum, with the prior, to the log-odds; beneath
            them log P(x_j | class), times the temperature if there is one, which sums with the log prior to the log
            joint. Without rows, the mutual information of each feature and the class under the model.
        """
        self._require_fit()
        if X is None:
            if against is not None:
                raise OptionError("explain() ranks the features for all classes at once: against= goes with rows.")
            return _ranking(self._parameters(), feature_names)
        if against is not None and against not in self.classes_.tolist():
            raise LabelError(
                f"against={brief(against)} is not a class of this model. Classes: {listing(self.classes_)}."
            )
        return _explanation(self.predictor_, X, against, feature_names)

    @property
    def feature_importances_(self) -> Floats:
        """ndarray of shape (n_features,): the share of each column in what the columns tell of the class.

        The mutual information of each column and the class under the model, divided by their sum: what ``explain()``
        ranks by. Columns that say the same have each their full share; the share of a date is that of its parts.
        """
        self._require_attribute("feature_importances_")
        if _showing.get():
            raise AttributeError("feature_importances_ may take samples of the model: a notebook does not show it")
        fitted = self._parameters()
        found = fitted.schema.by_input(np.maximum(_ranking(fitted).information, 0.0))
        total = found.sum()
        return np.asarray(found / total if total > 0 else np.full(len(found), 1.0 / len(found)))

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        """scikit-learn's list of fitted attributes in a notebook, without the one that takes samples."""
        token = _showing.set(True)
        try:
            return super()._get_fitted_attr_html(doc_link)
        finally:
            _showing.reset(token)

    def novelty(self, reference: object = None, *, n: int = 2000, random_state: object = 0) -> NoveltyScore:
        """Make a judge of whether a row is like anything seen, which turns log p(x) into p-values.

        Parameters
        ----------
        reference : table, default=None
            Rows that the model did not learn; None draws rows from the model.
        n : int, default=2000
            How many rows are drawn.
        random_state : int, RandomState or None, default=0
            What they are drawn with.

        Returns
        -------
        NoveltyScore
            Of the model as it is now: what it learns afterwards changes nothing.
        """
        self._require_fit()
        return novelty_score(self, reference, n, random_state)


def _names(schema: Schema, given: object) -> tuple[str, ...]:
    """What the columns are called; given: by the user, where the table did not say."""
    if given is None:
        return tuple(schema.name(j) for j in range(schema.d))
    if schema.names is not None:
        raise OptionError("feature_names are for a table without names; this model knows the names of its columns.")
    found = [str(v) for v in given] if isinstance(given, Iterable) and not isinstance(given, str) else []
    if len(found) != schema.d:
        raise OptionError(f"feature_names must be {schema.d} names, one for each column; got {brief(given)}.")
    return tuple(found)


def _explanation(predictor: Predictor, X: object, against: object, feature_names: object) -> Explanation:
    fitted = predictor.fitted
    schema, K = fitted.schema, fitted.K
    table = read_table(X)
    _refuse_absurd(table.n, schema.d, K)
    rows = predictor.read(table)
    predictor.look(rows)
    terms = predictor.terms(rows)
    names = (*_names(schema, feature_names), *[TOGETHER] * (terms.shape[1] - schema.d))
    parts = terms, predictor.start.copy(), fitted.classes.copy()
    index = getattr(X, "index", None) if table.container == "pandas" else None
    pieces = partial(predictor.pieces, rows) if "text" in schema.kinds else None
    return Explanation(*parts, names, rows.table, against, index, pieces)


def _refuse_absurd(n: int, d: int, K: int) -> None:
    if n * d * K <= MOST_NUMBERS:
        return
    rows = MOST_NUMBERS // (d * K)
    advice = f"Ask for at most {rows} rows at a time." if rows else "Not even one row fits: leave out columns."
    raise TableError(
        f"An explanation of {n} rows, {d} columns and {K} classes would take {n * d * K * 8 / 1e9:.1f} GB. {advice}"
    )


def _ranking(fitted: Fitted, feature_names: object = None) -> FeatureRanking:
    schema = fitted.schema
    value, error = np.zeros(schema.d), np.zeros(schema.d)
    for term in fitted.terms:
        columns = list(term.columns)
        value[columns], error[columns] = information(term.distribution, term.params, len(columns), fitted.prior)
    names = _names(schema, feature_names)
    share = np.exp(fitted.prior)
    entropy = float(-(share[share > 0] * np.log(share[share > 0])).sum())
    return FeatureRanking(names, value, error, entropy, schema.container)

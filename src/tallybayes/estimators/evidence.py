"""Why this answer: what each feature says for each class, which features say most, and is the row like any seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes.distributions.information import information
from tallybayes.errors import LabelError, OptionError, TableError
from tallybayes.explain import Explanation, FeatureRanking
from tallybayes.novelty import NoveltyScore, novelty_score
from tallybayes.plan import encode_batch, named
from tallybayes.schema import align
from tallybayes.source import read_table

if TYPE_CHECKING:
    from tallybayes.estimators.base import TallyClassifier

MOST = 1 << 27  # numbers in one explanation: 1 GB


class Explains:
    """explain and novelty for a TallyClassifier."""

    def explain(self, X: Any = None, *, against: Any = None) -> Any:
        """What each feature says for each class, row by row; without rows, how much each feature tells of the class.

        X: a table of rows → Explanation: contributions to the log-odds of each class that sum, with the prior, to
        the log-odds; beneath them log P(x_j | class), times the temperature if there is one, which sums with the log
        prior to the log joint.
        against: None, each class against the rest; or the label of the class that the others are compared with.
        X=None → FeatureRanking: the mutual information of each feature and the class under the model.
        """
        me: Any = self
        me._require_fit()
        if X is None:
            if against is not None:
                raise OptionError("explain() ranks the features for all classes at once: against= goes with rows.")
            return _ranking(me)
        if against is not None and against not in me.classes_.tolist():
            raise LabelError(f"against={against!r} is not a class of this model. Classes: {me.classes_.tolist()}.")
        return _explanation(me, X, against)

    def novelty(self, reference: Any = None, *, n: int = 2000, random_state: Any = 0) -> NoveltyScore:
        """Is a row like anything seen? A NoveltyScore, which turns log p(x) into p-values.

        reference: rows that the model did not learn; without it, n rows drawn from the model. The model is kept as it
        is now: what it learns afterwards changes nothing.
        """
        me: Any = self
        me._require_fit()
        return novelty_score(me, reference, n, random_state)


def _explanation(model: TallyClassifier, X: Any, against: Any) -> Explanation:
    from tallybayes.estimators.base import _sizes

    p, K, schema = model._parameters(), len(model.classes_), model.schema_
    start = model._start(p)
    with model._speaking():
        table = read_table(X)
        _refuse_absurd(table.n, schema.d, K)
        model._answer(table, "joint", p, start)  # refuses bad values, and warns of categories never met
        table = align(table, schema)
    batch, _ = encode_batch(table, schema, model._groups, False, _sizes(model))
    terms = np.empty((batch.n, schema.d, K))
    for group, part, data in zip(model._groups, p.parts, batch.data, strict=True):
        with named(schema, group.columns):
            terms[:, list(group.columns)] = group.distribution.terms(data, part, K)
    if model._beta != 1:
        terms *= model._beta
    names = tuple(schema.name(j) for j in range(schema.d))
    return Explanation(terms, start.copy(), model.classes_.copy(), names, table, against)


def _refuse_absurd(n: int, d: int, K: int) -> None:
    if n * d * K <= MOST:
        return
    rows = MOST // (d * K)
    advice = f"Ask for at most {rows} rows at a time." if rows else "Not even one row fits: leave out columns."
    raise TableError(
        f"An explanation of {n} rows, {d} columns and {K} classes would take {n * d * K * 8 / 1e9:.1f} GB. {advice}"
    )


def _ranking(model: TallyClassifier) -> FeatureRanking:
    p, schema = model._parameters(), model.schema_
    value, error = np.zeros(schema.d), np.zeros(schema.d)
    for group, part in zip(model._groups, p.parts, strict=True):
        columns = list(group.columns)
        value[columns], error[columns] = information(group.distribution, part, len(columns), p.log_prior)
    names = tuple(schema.name(j) for j in range(schema.d))
    share = np.exp(p.log_prior)
    entropy = float(-(share[share > 0] * np.log(share[share > 0])).sum())
    return FeatureRanking(names, value, error, entropy, schema.container)

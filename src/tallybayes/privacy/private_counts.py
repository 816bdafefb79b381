"""Differentially private counts for models whose statistics are tables of counts: naive Bayes and given networks.

One row is in one cell of each table. With T tables, the counts of two sets of rows that differ in one row differ by at
most T in sum; discrete Laplace noise of scale T/ε in every cell makes their release ε-differentially private.
"""

from __future__ import annotations

import random
import secrets
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tallybayes.data.labels import positions, read_target
from tallybayes.data.schema import Schema
from tallybayes.distributions.capabilities import LevelCounts, capability
from tallybayes.distributions.networks.family_network import FamilyNetwork
from tallybayes.distributions.networks.joint_statistics import MixedStatistics
from tallybayes.distributions.statistics import arrays_of
from tallybayes.distributions.univariate.categorical import Categorical
from tallybayes.errors import OptionError, brief, is_number, listening, listing
from tallybayes.estimators.state import with_fitted
from tallybayes.model.fitted import Fitted, count
from tallybayes.model.rows import read_rows
from tallybayes.model.term import Term
from tallybayes.privacy.discrete_laplace import Below, discrete_laplace
from tallybayes.utils.array_types import Floats

if TYPE_CHECKING:
    from tallybayes.estimators.base import GenerativeClassifier

Model = TypeVar("Model", bound="GenerativeClassifier")


def private_counts(plan: Model, X: object, y: object, epsilon: float, *, random_state: int | None = None) -> Model:
    """Count rows with a public plan, and add noise: a model that is ε-differentially private.

    The guarantee is for adding or removing one row. It holds if the plan was made without the rows: classes, levels,
    cuts and graph come from public knowledge or other data. A level or a label that the plan does not know is taken as
    missing, without a word. Counts below 0 after the noise become 0.

    Parameters
    ----------
    plan : classifier without rows
        What ``model.empty()`` or ``model.plan(…)`` gave, on public data: a `NaiveBayes` of categories and of numbers
        that are cut, a `CategoricalNB`, or a `BayesNetwork` with one target.
    X : table of shape (n_rows, n_columns)
        The rows.
    y : array-like of shape (n_rows,)
        Their labels.
    epsilon : float
        The privacy loss: above 0. Noise has a standard deviation of about 1.4 T / epsilon, with T tables.
    random_state : int, default=None
        None draws from the generator of the operating system. A number is for tests: whoever knows it can remove the
        noise.

    Returns
    -------
    estimator
        A model with noisy counts and ``privacy_loss_``, which is epsilon. It predicts and merges as others do; it
        learns and forgets no rows. ``merge`` adds the losses: right for a person who may have rows in both.

    Raises
    ------
    OptionError
        If something else than tables of counts is needed, or the plan has rows.

    See Also
    --------
    small_counts : Cells of few rows, without noise.
    tallybayes.merge_all : Add the models of several sites.

    References
    ----------
    - Dwork, McSherry, Nissim and Smith (2006), Calibrating noise to sensitivity in private data analysis. TCC.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.privacy import private_counts
    >>> public = [{"sky": "clear"}, {"sky": "grey"}], ["sail", "stay"]
    >>> plan = NaiveBayes().fit(*public).empty()
    >>> rows = [{"sky": "clear"}] * 500 + [{"sky": "grey"}] * 400
    >>> model = private_counts(plan, rows, ["sail"] * 500 + ["stay"] * 400, epsilon=1.0)
    >>> model.privacy_loss_, model.predict([{"sky": "clear"}]).tolist()
    (1.0, ['sail'])
    """
    if not is_number(epsilon) or not 0 < float(epsilon) < np.inf:
        raise OptionError(f"epsilon must be a finite number above 0; got {brief(epsilon)}.")
    exact = _counted(plan, X, y)
    tables = 1 + sum(_tables(t) for t in exact.terms)
    below: Below = secrets.randbelow if random_state is None else random.Random(random_state).randrange
    scale = Fraction(tables) / Fraction(float(epsilon))
    terms = tuple(replace(t, statistics=_noisy(t.statistics, scale, below)) for t in exact.terms)
    noisy = replace(exact, weight=_with_noise(exact.weight, scale, below), terms=terms, classes_fixed=True)
    model = with_fitted(plan, noisy)
    model.privacy_loss_ = float(epsilon)
    return model


def _counted(plan: GenerativeClassifier, X: object, y: object) -> Fitted:
    """Exact counts of rows, in tables whose shapes the plan alone decides."""
    fitted = plan.fitted_
    if fitted.weight.sum() > 0:
        raise OptionError(
            "private_counts takes a plan, a model without rows whose classes, levels and cuts are public: "
            "model.empty() of a model of public rows."
        )
    plan._check_options()
    if plan.memory != "sums" or plan.class_weight is not None or plan.tempered:
        raise OptionError("private_counts takes a model with memory='sums', class_weight=None and tempered=False.")
    if getattr(plan, "_outputs", None) is not None:
        raise OptionError("private_counts takes one target; this network has several.")
    for term in fitted.terms:
        _check_term(fitted, term)
    schema = _declared(fitted.schema)
    with listening():  # that a level is unknown would tell something of the rows
        rows = read_rows(X, schema, fitted.terms, fitted.sizes(), type(plan).__name__)
    target = read_target(y, rows.n, None)
    own = positions(target.classes, fitted.classes)
    rows = rows.labelled(np.where(target.y < 0, -1, own[target.y]).astype(np.int32), None)
    counted = count(rows, fitted.terms, fitted.classes)
    return replace(counted, schema=schema, terms=tuple(_full(schema, t) for t in counted.terms))


def _check_term(fitted: Fitted, term: Term) -> None:
    d, schema = term.distribution, fitted.schema
    names = [schema.name(j) for j in term.columns]
    if (
        not isinstance(d, Categorical | FamilyNetwork)
        or int(getattr(d, "reals", 0))
        or d.__class__.__name__ == "Threshold"
    ):
        raise OptionError(
            f"private_counts needs tables of counts; {listing(names)} has the distribution {d.name!r}. Cut numbers "
            "into intervals (distributions='frequency', or cuts= in a network), and declare binary columns categorical."
        )
    if isinstance(d, FamilyNetwork) and d.order > 1:
        raise OptionError("private_counts takes a network whose graph is given: BayesNetwork(graph=…).")
    unknown = [name for j, name in zip(term.columns, names, strict=True) if j not in {**schema.levels, **schema.cuts}]
    if unknown:
        raise OptionError(f"The levels of {listing(unknown)} are not listed in the plan, so they are not public.")


def _declared(schema: Schema) -> Schema:
    """All levels of the plan exist, whether or not a row has them."""
    return schema.with_levels({j: v.extend(v.labels, declared=True) for j, v in schema.levels.items()})


def _full(schema: Schema, term: Term) -> Term:
    """The counts with a place for every level of the plan: how many were seen would tell something of the rows."""
    maps = [
        list(range(len(schema.cuts[j].points) + 1 if j in schema.cuts else len(schema.levels[j]))) for j in term.columns
    ]
    levels = capability(term.distribution, LevelCounts)
    assert levels is not None
    return replace(term, statistics=levels.relevel(term.statistics, maps))


def _tables(term: Term) -> int:
    """How many tables of counts a row is in."""
    d: Any = term.distribution
    return len(term.columns) + (len(d.extra) if isinstance(d, FamilyNetwork) else 0)


def _noisy(statistics: Any, scale: Fraction, below: Below) -> Any:
    assert not isinstance(statistics, MixedStatistics)
    found = {
        k: _with_noise(a, scale, below) for k, a in arrays_of(statistics).items() if k in ("count", "single", "joint")
    }
    return replace(statistics, **found)


def _with_noise(counts: Any, scale: Fraction, below: Below) -> Floats:
    """Every cell with noise of its own, and none below 0."""
    exact = np.asarray(counts, np.float64)
    noise = np.array([float(discrete_laplace(scale, below)) for _ in range(exact.size)])
    return np.asarray(np.maximum(exact + noise.reshape(exact.shape), 0.0))

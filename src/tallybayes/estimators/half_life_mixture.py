"""half_life='auto': statistics at several half-lives, mixed by their prequential log-loss.

The model itself holds all rows (half-life ∞). Beside it are the same statistics at the other half-lives. A row is
predicted by each before it is learned, and a fixed-share mixture (Herbster and Warmuth 1998) weighs them by the
probability that each gave the label.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy

from tallybayes.data.encoding import rows_of
from tallybayes.data.encoding.numeric import kinds_are_settled
from tallybayes.data.labels import Target, positions, read_target, union
from tallybayes.data.table import Table
from tallybayes.distributions.base import statistics_from
from tallybayes.distributions.statistics import arrays_of
from tallybayes.errors import MergeError, OptionError, brief
from tallybayes.estimators.learned_state import LearnedState
from tallybayes.estimators.model_lock import lock_of
from tallybayes.model.fast_row import FastRow, open_fast_row
from tallybayes.model.fitted import GONE, Fitted, count
from tallybayes.model.predictor import Predictor
from tallybayes.model.rows import Rows, read_rows
from tallybayes.utils.array_types import Floats

if TYPE_CHECKING:
    from tallybayes.estimators.state import ModelState

Model = TypeVar("Model", bound="ModelState")
AUTO = "auto"
HALF_LIVES = (float("inf"), 1e4, 1e3, 1e2)  # in rows, as those of StreamingBayes
SHARE = 1e-3  # of the weight that is shared among all at each row: about the chance of a change
BLOCK_ROWS = 100  # rows of a table that are predicted before any of them is learned
MIN_LIKELIHOOD = 1e-15  # probability of a label that a member did not know


def is_auto(model: ModelState) -> bool:
    """Whether the model is a mixture."""
    return isinstance(model.half_life, str) and model.half_life == AUTO


class Fading:
    """The statistics at finite half-lives, as `LearnedState`, and the mixture weight of each half-life, ∞ first."""

    def __init__(self, members: Sequence[LearnedState], weights: Floats) -> None:
        self.members, self._weights = list(members), weights
        self.core: Any = None  # the compiled fast path that mixes the members, once there is one

    @property
    def weights(self) -> Floats:
        """Mixture weights, ∞ first; while the fast path is open they change there."""
        return self._weights if self.core is None else np.array(self.core.mixture_weights())

    def settled(self) -> Fading:
        """A copy without what is compiled."""
        for held in self.members:
            held.flush_fast_path()
        return Fading([LearnedState(held.fitted) for held in self.members], self.weights.copy())

    def packed(self) -> dict[str, Any]:
        """Plain values and arrays, for a file: schema, terms and classes are those of the model."""
        fitted = [held.fitted for held in self.settled().members]
        return {
            "weights": self.weights,
            "classes": [f.weight for f in fitted],
            "stats": [[dict(arrays_of(t.statistics)) for t in f.terms] for f in fitted],
        }


def unpacked(packed: object, fitted: Fitted) -> Fading:
    """The way back; ValueError if these are no such statistics."""
    if not isinstance(packed, dict) or set(packed) != {"weights", "classes", "stats"}:
        raise ValueError("its half-lives are not held as a mixture")
    weights, sizes, stats = np.asarray(packed["weights"]), packed["classes"], packed["stats"]
    n = len(HALF_LIVES)
    if weights.dtype != np.float64 or weights.shape != (n,) or not (weights > 0).all() or abs(weights.sum() - 1) > 1e-6:
        raise ValueError("its mixture weights are no weights")
    if not isinstance(sizes, list) or not isinstance(stats, list) or len(sizes) != n - 1 or len(stats) != n - 1:
        raise ValueError(f"it does not hold statistics at {n - 1} half-lives")
    members = []
    for size, own in zip(sizes, stats, strict=True):
        members.append(LearnedState(_unpacked_member(size, own, fitted)))
    return Fading(members, weights.copy())


def _unpacked_member(size: object, own: object, fitted: Fitted) -> Fitted:
    """What one half-life has learned: the weights of the classes, the statistics of each term."""
    if not isinstance(size, np.ndarray) or size.dtype != np.float64 or size.shape != fitted.weight.shape:
        raise ValueError("a half-life does not have one weight for each class")
    if not ((size >= 0) & (size < np.inf)).all() or not isinstance(own, list) or len(own) != len(fitted.terms):
        raise ValueError("a half-life does not have the statistics of each term")
    terms = tuple(
        replace(t, statistics=statistics_from(t.distribution, a), params=None)
        for t, a in zip(fitted.terms, own, strict=True)
    )
    made = replace(fitted, weight=size, terms=terms, log_prior=None)
    for term in made.terms:
        term.distribution.check(term.statistics, made.context(term))
    return made


def fading_of(model: ModelState) -> Fading:
    """The other half-lives of a model that is a mixture; where there are none yet, they start from all its rows."""
    found: Fading | None = model.__dict__.get("_fading")
    return restart(model) if found is None else found


def restart(model: ModelState) -> Fading:
    """The other half-lives from all rows, each at the weight that it had, or can have; the weights stay."""
    now: Fading | None = model.__dict__.get("_fading")
    before = None if now is None else now.settled()
    fitted, total = model.fitted_, float(model.fitted_.weight.sum())
    members = []
    for i, rows in enumerate(HALF_LIVES[1:]):
        most = rows / np.log(2) if before is None else float(before.members[i].fitted.weight.sum())
        members.append(LearnedState(fitted.scale(most / total) if 0 < most < total else fitted))
    weights = np.full(len(HALF_LIVES), 1 / len(HALF_LIVES)) if before is None else before.weights
    model.__dict__["_fading"] = found = Fading(members, weights)
    return found


@contextmanager
def all_or_nothing(model: ModelState) -> Iterator[None]:
    """What fails changes nothing: several sets of statistics change one after the other."""
    before = dict(model.__dict__)
    try:
        yield
    except BaseException:
        model.__dict__.clear()
        model.__dict__.update(before)
        raise


# --- learning --------------------------------------------------------------------------------


def advance(model: ModelState, before: Fitted | None, table: Table, target: Target) -> None:
    """The other half-lives learn rows that the model has learned. before: what it was then; target: with weights."""
    fitted, who = model.fitted_, type(model).__name__
    with warnings.catch_warnings(), kinds_are_settled():
        warnings.simplefilter("ignore")  # what there is to say was said when the model learned them
        rows = read_rows(table, fitted.schema, fitted.terms, fitted.sizes(), who, grow=True)
    target = target.among(fitted.classes)
    there = np.flatnonzero(target.y >= 0)
    nothing, fading = fitted.emptied(), model.__dict__.get("_fading")
    empty = [nothing] * len(HALF_LIVES)
    if before is not None and fading is not None:
        empty = [before, *(held.fitted for held in fading.settled().members)]
        empty = [one.with_terms(fitted.terms).add(nothing) for one in empty]
    elif before is not None:
        fading, empty = None, [before.with_terms(fitted.terms).add(nothing)] * len(HALF_LIVES)
    found = empty
    weights = np.full(len(found), 1 / len(found)) if fading is None else fading.weights.copy()
    for first in range(0, len(there), BLOCK_ROWS):
        at = there[first : first + BLOCK_ROWS]
        block = _block(rows, target, slice(int(at[0]), int(at[-1]) + 1))
        if all(one.weight.sum() > 0 for one in found):
            weights = _reweighted(weights, _losses(model, found, block))
        found = [_learned(one, block, half_life) for one, half_life in zip(found, HALF_LIVES, strict=True)]
    model.__dict__["_fading"] = Fading([LearnedState(one) for one in found[1:]], weights)


def _block(rows: Rows, target: Target, span: slice) -> Rows:
    data = {j: rows_of(d, span) for j, d in rows.data.items()}
    table = replace(rows.table, n=span.stop - span.start)  # of which only the number of rows is read
    return replace(rows, table=table, data=data, y=target.y[span], w=None if target.w is None else target.w[span])


def _losses(model: ModelState, members: Sequence[Fitted], block: Rows) -> Floats:
    """The probability that each member gave the label of each row that counts: (rows, members)."""
    y = block.classes_of_rows
    counted = np.flatnonzero(y >= 0)
    options = model._prediction_options()._replace(unseen="other")  # says nothing of levels unseen
    out = np.empty((len(counted), len(members)))
    for i, one in enumerate(members):
        estimated = one.estimate(model._prior())
        p = Predictor(estimated, model._offset(estimated.prior), options).predict_rows(block, "proba")
        out[:, i] = p[counted, y[counted]]
    return out


def _reweighted(weights: Floats, likelihood: Floats) -> Floats:
    """Fixed share, row by row."""
    for p in np.maximum(likelihood, MIN_LIKELIHOOD):
        weights = weights * p
        weights = (1 - SHARE) * weights / weights.sum() + SHARE / len(weights)
    return weights


def _learned(one: Fitted, block: Rows, half_life: float) -> Fitted:
    """These rows and what is left of those before."""
    y = block.classes_of_rows
    if np.isinf(half_life):
        return one.add(count(block, one.terms, one.classes, one.classes_fixed))
    there = y >= 0
    left = np.exp2((np.cumsum(there) - there.sum()) / half_life)
    w = left if block.w is None else block.w * left
    aged = replace(block, y=np.where(there & (w >= GONE), y, -1).astype(np.int32), w=w)
    return one.scale(float(np.exp2(-there.sum() / half_life))).add(
        count(aged, one.terms, one.classes, one.classes_fixed)
    )


def attach(model: ModelState, fast_row: FastRow) -> FastRow | str:
    """Makes the fast path of the model that of all half-lives; or why there is none."""
    fading = fading_of(model)
    if fading.core is not fast_row.core:
        others = []
        for held in fading.members:
            if held.fast_row is None:
                held.estimated = held.estimated or held.fitted.estimate(model._prior())
                held.fast_row = open_fast_row(held.estimated, model._prior(), lock_of(model))
            if isinstance(held.fast_row, str):
                return held.fast_row
            others.append(held.fast_row.core)
        fast_row.core.mix(others, list(HALF_LIVES[1:]), fading.weights.tolist(), SHARE, MIN_LIKELIHOOD)
        fading.core = fast_row.core
    return fast_row


def detach(model: ModelState) -> None:
    """half_life is 'auto' no longer: from here on there is one memory."""
    if model.__dict__.pop("_fading", None) is not None and isinstance(model._state.fast_row, FastRow):
        model._state.fast_row.core.unmix()


def at_half_life(model: Model, rows: float | None) -> Model:
    """A model of one half-life; OptionError if there is none of so many rows."""
    model._require_fit()
    if not is_auto(model):
        raise OptionError(f"at_half_life is for half_life='auto'; this model has half_life={model.half_life!r}.")
    with lock_of(model):
        fading = fading_of(model).settled()
        which = HALF_LIVES[int(np.argmax(fading.weights))] if rows is None else rows
        if which not in HALF_LIVES:
            raise OptionError(f"rows must be one of {', '.join(f'{h:g}' for h in HALF_LIVES)}; got {brief(which)}.")
        i = HALF_LIVES.index(float(which))
        other = model.copy()
    other.__dict__.pop("_fading", None)
    other.half_life = HALF_LIVES[i] if i else None
    if i:
        other._set_fitted(fading.members[i - 1].fitted)
    return other


def decay(model: ModelState, factor: float) -> None:
    """All half-lives count what they have factor times as much."""
    fading = fading_of(model).settled()
    for held in fading.members:
        held.fitted = held.fitted.scale(factor)
    model.__dict__["_fading"] = fading


def check_merge(one: ModelState, two: ModelState) -> None:
    """MergeError if only one of the two is a mixture."""
    if is_auto(one) != is_auto(two):
        raise MergeError(
            "One model has half_life='auto', which holds statistics at several half-lives, the other has "
            f"half_life={(two if is_auto(one) else one).half_life!r}. Give both the same half_life before they learn."
        )


def merged(models: Sequence[ModelState]) -> Fading:
    """The statistics of each half-life added, and the logarithms of the weights averaged."""
    all_of_them = [fading_of(model).settled() for model in models]
    members = []
    for i in range(len(HALF_LIVES) - 1):
        whole = all_of_them[0].members[i].fitted
        for other in all_of_them[1:]:
            whole = whole.merge(other.members[i].fitted)
        members.append(LearnedState(whole))
    weights = np.exp(np.mean([np.log(f.weights) for f in all_of_them], axis=0))
    return Fading(members, weights / weights.sum())


# --- predicting ------------------------------------------------------------------------------


class MixturePredictor:
    """Answers as a `Predictor` does: P(class | x) = Σ weight · P(class | x) of each half-life."""

    def __init__(self, members: Sequence[Predictor], weights: Floats) -> None:
        first, *others = members
        quiet = [one.with_options(one.options._replace(unseen="other")) for one in others]
        self.members, self.weights, self.fitted = [first, *quiet], weights, first.fitted

    def offset_for(self, priors: object) -> list[Floats] | None:
        """What the log joint of each member starts from under a prior; None: as always."""
        if priors is None:
            return None
        return [start for one in self.members if (start := one.offset_for(priors)) is not None]

    def predict(self, X: object, output: str, offset: Sequence[Floats] | None = None) -> Any:
        """As of `Predictor`; log p(x) is that of the mixture of densities."""
        rows = self.members[0].read(X)
        each: Sequence[Floats | None] = [None] * len(self.members) if offset is None else offset

        def mixed(which: str) -> Floats:
            found = [one.predict_rows(rows, which, start) for one, start in zip(self.members, each, strict=True)]
            log = np.log(self.weights).reshape(-1, *([1] * found[0].ndim))
            return np.asarray(scipy.special.logsumexp(np.stack(found) + log, axis=0))

        if output == "log_density":
            return mixed("log_density")
        log = mixed("log_proba")
        if output == "joint":
            return log + mixed("log_density")[:, None]
        if output == "best":
            return np.argmax(log, axis=1)
        return np.exp(log) if output == "proba" else log

    def accuracy(self, X: object, y: object, sample_weight: object) -> float:
        """The share of rows predicted right."""
        best, classes = self.predict(X, "best"), self.fitted.classes
        target = read_target(y, len(best), sample_weight)
        counts = target.y >= 0
        if not counts.any():
            raise OptionError("There is nothing to score: every sample weight is zero.")
        both = union(classes, target.classes)
        right = positions(classes, both)[best] == target.among(both).y
        return float(np.average(right[counts], weights=None if target.w is None else target.w[counts]))


def predictor(model: ModelState) -> MixturePredictor:
    """All half-lives, compiled."""
    with lock_of(model):
        fading = fading_of(model)
        own = model._own_predictor()
        return MixturePredictor([own, *map(model._compiled, fading.members)], fading.weights)


def proba_one(model: ModelState, fast_row: object) -> Any:
    """What gives P(label | row) in compiled code; None where only tables do."""
    if type(fast_row) is not FastRow:
        return None
    fading: Fading | None = model.__dict__.get("_fading")
    if fading is None or fading.core is not fast_row.core:
        with lock_of(model):
            if type(attach(model, fast_row)) is not FastRow:
                return None
    return fast_row.core.mixed_proba


class MixtureError(OptionError, AttributeError):
    """A mixture has no single set of parameters. Also an AttributeError: dir() passes over such properties."""


def require_one(model: ModelState) -> None:
    """OptionError of a mixture, for what needs one set of parameters."""
    if is_auto(model):
        raise MixtureError(
            f"This {type(model).__name__} has half_life='auto': it predicts by a mixture of models with several "
            "half-lives, which has no parameters of its own to explain, draw, sample from, export or leave rows out "
            "of. model.at_half_life() gives the one in force."
        )

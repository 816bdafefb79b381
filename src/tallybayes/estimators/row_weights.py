"""The weights of rows: those of their classes (class_weight), and what a half-life leaves of earlier rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from tallybayes.data.labels import MAX_TOTAL_WEIGHT, Target
from tallybayes.errors import MergeError, OptionError, listing
from tallybayes.estimators.parameters import check_class_weight, memory_of
from tallybayes.model.fitted import GONE
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from tallybayes.estimators.state import ModelState


def require_given_weights(model: ModelState) -> None:
    """OptionError if the weights of classes need all rows at once."""
    if isinstance(model.class_weight, str) and memory_of(model) != "rows":
        raise OptionError(
            "class_weight='balanced' needs all rows at once, so it goes with fit alone. To learn in parts give the "
            "weights as a dict, such as the class_weight_ of a model that was fitted on some of the rows."
        )


def balanced_weights(model: ModelState, target: Target) -> dict[object, float] | None:
    """What 'balanced' finds on all rows: n / (K n_c); None where it is not asked for."""
    if not isinstance(model.class_weight, str):
        return None
    there = target.y >= 0
    w = None if target.w is None else target.w[there]
    weight = np.bincount(target.y[there], weights=w, minlength=len(target.classes))
    share = weight.sum() / (len(weight) * np.maximum(weight, np.finfo(np.float64).tiny))
    return dict(zip(target.classes.tolist(), share.tolist(), strict=True))


def with_class_weights(model: ModelState, target: Target, found: Mapping[object, float] | None = None) -> Target:
    """The rows with the weights of their classes. found: those of 'balanced', if this is a fit."""
    given = model.class_weight
    if given is None:
        return target
    check_class_weight(given)  # it may have been set after the fit
    by_label = (found or model.__dict__.get("class_weight_", {})) if isinstance(given, str) else given
    assert isinstance(by_label, Mapping)
    share: Floats = np.array([float(by_label.get(label, 1.0)) for label in target.classes.tolist()])
    own = np.append(share, 1.0)[target.y]  # −1, no class, reads the last
    with np.errstate(over="ignore", under="ignore"):
        w = own if target.w is None else target.w * own
        total = w.sum()
    if not total <= MAX_TOTAL_WEIGHT:
        raise OptionError(
            f"The weights of {len(w)} rows, with those of their classes (class_weight), add up to more than "
            f"{MAX_TOTAL_WEIGHT:g}. Divide them all by the same number."
        )
    return replace(target, w=w)


def check_class_weight_labels(given: object, classes: Array, all_there: bool) -> None:
    """OptionError if a weight is of no class, and a class has none: a label that was misspelled.

    all_there: no other class may come. Else only what differs from a class in its case or type is refused, since the
    class of any other may come later. Weights for more than all classes are taken, as scikit-learn does: a fold may
    lack a rare one.
    """
    if not isinstance(given, Mapping):
        return
    known = classes.tolist()
    without = [label for label in known if label not in given]
    unknown = [label for label in given if label not in set(known)]
    if not all_there:
        near = {str(label).casefold() for label in without}
        unknown = [label for label in unknown if str(label).casefold() in near]
    if unknown and without:
        raise OptionError(
            f"class_weight names [{listing(unknown)}], and the classes are [{listing(known)}]. Name them as they "
            "are in y; a class without a weight counts once."
        )


def check_same_weights(one: ModelState, two: ModelState) -> None:
    """MergeError if the rows of the two were weighed differently."""
    mine, theirs = (m.__dict__.get("class_weight_", getattr(m, "class_weight", None)) for m in (one, two))
    found = [m.__dict__["class_weight_"] for m in (one, two) if "class_weight_" in m.__dict__]
    if len(found) == 2:  # a class that was forgotten has no weight any more
        mine, theirs = ({k: w[k] for k in found[0].keys() & found[1].keys()} for w in found)
    if mine != theirs:
        raise MergeError(
            "The two models weigh the classes differently (class_weight). Give both the same weights as a dict."
        )


def finite_half_life(half_life: float | str | None) -> float | None:
    """The half-life of the model's own statistics: with 'auto', as with ∞, they keep all rows."""
    return None if half_life is None or isinstance(half_life, str) or half_life == inf else half_life


def decay_weights(target: Target, rows: float | None) -> tuple[Target, float]:
    """Rows in their order, each with what is left of it when the last has come; and what is left of all before."""
    if rows is None:
        return target, 1.0
    there = target.y >= 0
    left = np.exp2((np.cumsum(there) - there.sum()) / float(rows))
    w = left if target.w is None else target.w * left
    y = np.where(there & (w >= GONE), target.y, -1).astype(np.int32)
    return replace(target, y=y, w=w), float(np.exp2(-there.sum() / float(rows)))


def require_no_order(model: ModelState) -> None:
    """OptionError if rows fade: then their order counts, and parts that are counted apart have none."""
    if model.half_life is not None:
        raise OptionError(
            "Rows that fade (half_life) are learned in their order, and rows counted in parts have none. Learn "
            "them with fit, partial_fit or learn_one, or set half_life=None."
        )

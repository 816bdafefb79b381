"""class_weight: how many times the rows of each class count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tallybayes.data.target import Target
from tallybayes.errors import MergeError, OptionError, brief, is_number, listing
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from tallybayes.estimators.state import ModelState

BALANCED = "balanced"


def check(given: object) -> None:
    """OptionError unless these are weights of classes."""
    if given is None or (isinstance(given, str) and given == BALANCED):
        return
    if not isinstance(given, Mapping):
        raise OptionError(f"class_weight must be None, 'balanced' or a dict by label; got {brief(given)}.")
    check_weights(given)


def require_parts(model: ModelState) -> None:
    """OptionError if the weights of classes need all rows at once."""
    if isinstance(model.class_weight, str):
        raise OptionError(
            "class_weight='balanced' needs all rows at once, so it goes with fit alone. To learn in parts give the "
            "weights as a dict, such as the class_weight_ of a model that was fitted on some of the rows."
        )


def balanced(model: ModelState, target: Target) -> dict[object, float] | None:
    """What 'balanced' finds on all rows: n / (K n_c); None where it is not asked for."""
    if not isinstance(model.class_weight, str):
        return None
    there = target.y >= 0
    w = None if target.w is None else target.w[there]
    weight = np.bincount(target.y[there], weights=w, minlength=len(target.classes))
    share = weight.sum() / (len(weight) * np.maximum(weight, np.finfo(np.float64).tiny))
    return dict(zip(target.classes.tolist(), share.tolist(), strict=True))


def weighed(model: ModelState, target: Target, found: Mapping[object, float] | None = None) -> Target:
    """The rows with the weights of their classes. found: those of 'balanced', if this is a fit."""
    given = model.class_weight
    if given is None:
        return target
    by_label = (found or model.__dict__.get("class_weight_", {})) if isinstance(given, str) else given
    assert isinstance(by_label, Mapping)
    share: Floats = np.array([float(by_label.get(label, 1.0)) for label in target.classes.tolist()])
    own = np.append(share, 1.0)[target.y]  # −1, no class, reads the last
    return replace(target, w=own if target.w is None else target.w * own)


def check_named(given: object, classes: Array, all_there: bool) -> None:
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


def check_same(one: ModelState, two: ModelState) -> None:
    """MergeError if the rows of the two were weighed differently."""
    mine, theirs = (m.__dict__.get("class_weight_", getattr(m, "class_weight", None)) for m in (one, two))
    if mine != theirs:
        raise MergeError(
            "The two models weigh the classes differently (class_weight). Give both the same weights as a dict."
        )


def check_kept(found: object) -> None:
    """ValueError if the weights of classes (they come from a file) are none."""
    if found is not None and not isinstance(found, dict):
        raise ValueError("its class_weight_ is no dict")
    try:
        check_weights(found or {})
    except OptionError as e:
        raise ValueError(str(e)) from None


def check_weights(given: Mapping[Any, Any]) -> None:
    """OptionError if a weight is no number above 0."""
    for label, weight in given.items():
        if not is_number(weight) or not 0 < weight < np.inf:
            raise OptionError(
                f"class_weight must be finite numbers above 0; got {brief(weight)} for the class {brief(label)}."
            )

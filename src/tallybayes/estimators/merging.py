"""Models added: into one of them (`merge`), or into a new one (`merge_all`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from tallybayes.errors import MergeError, OptionError
from tallybayes.estimators.state import ModelState
from tallybayes.estimators.tree import Tree

Model = TypeVar("Model", bound=ModelState)


def merge_all(models: Iterable[Model]) -> Model:
    """Add many models, as if all their rows had been learned by one.

    They are merged two by two, in a tree, as they come: of an iterator no more are held at a time than the tree is
    high. Counts are the same bits in whatever order the models come: levels that all of them list first keep their
    order, the others are sorted. Means and squares agree to rounding.

    Parameters
    ----------
    models : iterable of fitted classifiers of this library
        Of one class, on the same columns, with the same bins and structure: such as copies of one plan that learned
        parts of the rows with ``partial_fit``.

    Returns
    -------
    estimator
        With the parameters of the first, which stays as it is.

    Raises
    ------
    MergeError
        If two of them count different things, or there is none.

    Examples
    --------
    >>> from tallybayes import NaiveBayes, merge_all
    >>> days = [[{"sky": "clear"}], [{"sky": "grey"}, {"sky": "red"}]]
    >>> models = [NaiveBayes().fit(rows, ["sail"] * len(rows)) for rows in days]
    >>> whole = merge_all(models)
    >>> whole.class_count_.tolist(), whole.schema_.levels[0].labels
    ([3.0], ('clear', 'grey', 'red'))
    """
    if isinstance(models, ModelState) or not isinstance(models, Iterable):
        raise OptionError(f"merge_all takes several fitted models; got {type(models).__name__}.")
    several = _models(models)
    first = next(several, None)
    if first is None:
        raise MergeError(
            "There is no model to merge. Where every part of the data is empty, there is nothing to learn."
        )
    return merged(first, several)


def merge(model: ModelState, others: Iterable[object]) -> None:
    """Adds other models, or iterables of them, to a model: all or none."""
    several: list[Any] = [m for other in others for m in (other if isinstance(other, Iterable) else [other])]
    if not several:
        raise OptionError("merge takes at least one fitted model.")
    for other in several:
        model._check_merge(other)
    theirs = [other.fitted_ for other in several]
    with model._learning():
        whole = model._again()
        for fitted in theirs:
            whole = whole.merge(fitted)
        model._keep(whole)


def merged(first: Model, others: Iterable[ModelState]) -> Model:
    """A new model of one and many others, added in a tree; parameters are estimated once, at the end."""
    first._require_fit()
    first._require_adding()
    again, tree = first._again(), Tree()
    tree.add(again)
    for other in others:
        first._check_merge(other)
        tree.add(other.fitted_)
    whole = tree.total().with_terms(again.terms)
    return first._holding(whole, first._ready(whole))


def _models(models: Iterable[Model]) -> Iterator[Model]:
    for model in models:
        if not isinstance(model, ModelState):
            raise OptionError(f"merge_all takes fitted models of tallybayes; one is a {type(model).__name__}.")
        yield model

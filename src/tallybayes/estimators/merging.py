"""merge_all: many models as one, in a tree, with parameters estimated once at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from tallybayes.errors import MergeError, OptionError
from tallybayes.estimators.base import TallyClassifier

Model = TypeVar("Model", bound=TallyClassifier)


def merge_all(models: Iterable[Model]) -> Model:
    """Add many models, as if all their rows had been learned by one.

    They are merged two by two, in a tree, as they come: of an iterator no more are held at a time than the tree is
    high. Counts are the same bits in whatever order the models come: levels that all of them list first keep their
    order, the others are sorted. Means and squares agree to rounding.

    Parameters
    ----------
    models : iterable of fitted classifiers of this library
        Of one class, on the same columns, with the same cuts and structure: such as ``plan.count(X, y)`` gives.

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
    if isinstance(models, TallyClassifier) or not isinstance(models, Iterable):
        raise OptionError(f"merge_all takes several fitted models; got {type(models).__name__}.")
    several = _models(models)
    first = next(several, None)
    if first is None:
        raise MergeError(
            "There is no model to merge. Where every part of the data is empty, there is nothing to learn."
        )
    return first.merged(several)


def _models(models: Iterable[Model]) -> Iterator[Model]:
    for model in models:
        if not isinstance(model, TallyClassifier):
            raise OptionError(f"merge_all takes fitted models of tallybayes; one is a {type(model).__name__}.")
        yield model

"""Paragraphs that the docstrings of several classes share: written once here, and whole in every `help()`."""

from __future__ import annotations

import re
import textwrap
from typing import TypeVar

T = TypeVar("T")

PARAGRAPHS = {
    # --- parameters of constructors ----------------------------------------------------------------------------
    "schema": """
        schema : None, str, dict or Schema, default=None
            Kinds of columns where the type does not tell: a kind for all of them, or ``{"zip": "categorical"}``. The
            kinds are 'real', 'categorical', 'binary', 'count' and 'text'. Another model's ``schema_`` makes this one
            use the same levels and cuts.
        """,
    "priors": """
        priors : None, 'uniform', 'laplace', array, dict or Series, default=None
            The class prior. None counts the classes, 'laplace' counts each once more, 'uniform' makes them equally
            likely. An array goes in the order of ``classes_``, a dict or a Series by label.
        """,
    "tempered": """
        tempered : bool, default=False
            True: the log-likelihood counts ``temperature_`` times, as leave-one-out log-loss finds best on the rows of
            fit.
        """,
    "class_weight": """
        class_weight : None, 'balanced' or dict, default=None
            How many times a row of each class counts, by label (1 where a label is not named). 'balanced' lets all
            classes weigh the same, n / (K n_c), which needs all rows at once: ``fit`` only. The weights found are
            ``class_weight_``; forget uses the same.
        """,
    "verbose": """
        verbose : bool, default=False
            Whether fit tells how far it is: a line on standard error, where a person or a notebook watches.
        """,
    "half_life": """
        half_life : float, default=None
            For streams that drift: in how many rows what was learned counts half as much. Rows fade in the order they
            come in, by learn_one, partial_fit and fit alike, whatever they weigh; None: they never do.
        """,
    "unseen": """
        unseen : {'ignore', 'other', 'error'}, default='ignore'
            What to do at predict with a category never met: leave its factor out (with one warning), give it the
            smoothed probability of one more level, or refuse.
        """,
    "unseen_network": """
        unseen : {'ignore', 'error'}, default='ignore'
            What to do at predict with a category never met: take it as missing (with one warning), or refuse.
        """,
    "smoothing": """
        smoothing : {'backoff', 'laplace'}, default='backoff'
            How P(x | class, parents) is read from counts. 'laplace' adds alpha to every count. 'backoff' mixes in the
            estimate with one parent less, as strongly as leave-one-out finds best.
        alpha : float, default=1.0
            Laplace's correction; with back-off, where no parent is left.
        """,
    "cuts": """
        cuts : {'mdl', 'frequency', 'width'} or None, default='mdl'
            How numbers are cut into intervals, once, on the first rows: where the minimum description length of the
            classes finds best, into intervals of as many rows, or of equal width. None: numbers stay numbers, normally
            distributed given the class and discrete parents; they are not parents themselves.
        bins : int, default=10
            Into how many intervals 'frequency' and 'width' cut.
        """,
    "alpha_counts": """
        alpha : float or array of shape (n_features,), default=1.0
            What is added to every count; 1 is Laplace's correction. An array has a number for each feature.
        """,
    "discrete_prior": """
        force_alpha : bool, default=True
            False raises alpha to 1e-10 where it is below.
        fit_prior : bool, default=True
            True counts the classes; False makes them equally likely.
        class_prior : array, dict or Series, default=None
            A class prior in the place of what fit_prior says: an array in the order of ``classes_``, a dict or a Series
            by label.
        """,
    "variances": """
        ddof : {0, 1}, default=0
            Gaussian variances divide by n (0) or n − 1 (1).
        variance : {'own', 'shared'}, default='own'
            Each class has its own Gaussian variance, or all share one (the posterior is then a logistic regression).
        """,
    "tol_gaussian": """
        tol : float, default=1e-4
            A direction whose standard deviation, in units of the columns' own, is below tol counts as having none; it
            takes the shared one, and tol if that is none either.
        """,
    "covariance_estimator": """
        covariance_estimator : object with fit and covariance_, default=None
            An estimator of covariances such as those of ``sklearn.covariance``, with any solver: a copy finds the
            covariance of each class. Such a model can fit, but not add, forget, merge or decay.
        """,
    # --- what every fitted model has ---------------------------------------------------------------------------
    "learned": """
        classes_ : ndarray of shape (n_classes,)
            The labels, in the order of all answers.
        class_count_ : ndarray of shape (n_classes,)
            The weight of the rows of each class.
        n_features_in_ : int
            How many columns there are.
        feature_names_in_ : ndarray of shape (n_features_in_,)
            Their names, where the table had names.
        schema_ : Schema
            What each column is: name, kind, levels, cuts; print it.
        is_fitted : bool
            Whether it has learned anything yet; there before the fit too.
        feature_importances_ : ndarray of shape (n_features_in_,)
            The share of each column in what the columns, each by itself, tell of the class.
        class_weight_ : dict from label to float
            What ``class_weight='balanced'`` has found; only then.
        temperature_ : float
            How many times the log-likelihood counts; after ``tempered=True`` or ``temper`` only.
        loo_log_proba_ : ndarray of shape (n_rows, n_classes)
            log P(class | x) of the rows that chose the temperature, each by the model without it; gone when others are
            learned.
        loo_score_ : float
            Minus the mean log-loss of ``loo_log_proba_``.
        fitted_ : Fitted
            The model as data: schema, classes, and the sums of each term.
        predictor_ : Predictor
            The model made for answering, with its parameters; never saved.
        """,
    "wrapped": """
        classes_ : ndarray of shape (n_classes,)
            The labels, in the order of all answers.
        n_features_in_ : int
            How many columns there are.
        feature_names_in_ : ndarray of shape (n_features_in_,)
            Their names, where the table had names.
        """,
}

PLACE = re.compile(r"^( *)\{(\w+)\}$", re.MULTILINE)


def documented(cls: type[T]) -> type[T]:
    """Puts the paragraphs that a class's docstring names, each alone on a line as ``{name}``, in their places.

    Parameters
    ----------
    cls : type
        A class with a docstring.

    Returns
    -------
    type
        The same class.

    Examples
    --------
    >>> from tallybayes.utils.paragraphs import documented
    >>> @documented
    ... class Model:
    ...     '''A model.
    ...
    ...     Parameters
    ...     ----------
    ...     {tempered}
    ...     '''
    >>> "tempered : bool, default=False" in Model.__doc__
    True
    """
    if cls.__doc__ is not None:  # python -OO drops all docstrings
        cls.__doc__ = PLACE.sub(lambda found: _paragraph(found.group(2), found.group(1)), cls.__doc__)
    return cls


def _paragraph(name: str, indent: str) -> str:
    return textwrap.indent(textwrap.dedent(PARAGRAPHS[name]).strip("\n"), indent)

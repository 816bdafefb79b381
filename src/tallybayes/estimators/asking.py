"""Asking: predict in every form, and how often it is right."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.labels import positions, union
from tallybayes.data.target import read_target
from tallybayes.errors import OptionError
from tallybayes.estimators.model import Model
from tallybayes.model.fitted import Fitted
from tallybayes.model.priors import log_priors
from tallybayes.utils.array_types import Array, Floats


class Answers(Model):
    """predict, predict_proba and their like, score_samples and score."""

    def predict(self, X: object, priors: object = None) -> Array:
        """Tell the most probable class of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior in the place of the model's own, for this question only: an array in the order of
            ``classes_``, a dict or a Series by label, or an array (rows, classes) with a prior for each row.

        Returns
        -------
        labels : ndarray of shape (n_rows,)
            One of ``classes_`` for each row.
        """
        predictor = self.predictor_  # one for all: another thread may be learning
        best = predictor.ask(X, "best", other_start(predictor.fitted, priors))
        return np.asarray(predictor.fitted.classes[best])

    def predict_proba(self, X: object, priors: object = None) -> Floats:
        """Tell P(class | x) of each row.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior in the place of the model's own, for this question only: an array in the order of
            ``classes_``, a dict or a Series by label, or an array (rows, classes) with a prior for each row.

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._matrix(X, "proba", priors)

    def predict_log_proba(self, X: object, priors: object = None) -> Floats:
        """Tell log P(class | x) of each row, normalised in log space.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior in the place of the model's own, for this question only: an array in the order of
            ``classes_``, a dict or a Series by label, or an array (rows, classes) with a prior for each row.

        Returns
        -------
        log_probabilities : ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._matrix(X, "log_proba", priors)

    def predict_joint_log_proba(self, X: object, priors: object = None) -> Floats:
        """Tell log P(x, class) of each row and class.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior in the place of the model's own, for this question only: an array in the order of
            ``classes_``, a dict or a Series by label, or an array (rows, classes) with a prior for each row.

        Returns
        -------
        log_joint : ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._matrix(X, "joint", priors)

    def score_samples(self, X: object, priors: object = None) -> Floats:
        """Tell log p(x): how much a row is like anything seen.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        priors : dict, Series, array-like, 'uniform', 'laplace' or None, default=None
            A class prior in the place of the model's own, for this question only: an array in the order of
            ``classes_``, a dict or a Series by label, or an array (rows, classes) with a prior for each row.

        Returns
        -------
        log_density : ndarray of shape (n_rows,)
            The lower, the stranger the row.
        """
        return self._matrix(X, "evidence", priors)

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Tell the share of rows whose class is told right.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            Rows, in any kind of table that fit takes; missing values are left out.
        y : array-like of shape (n_rows,)
            The true class of each row.
        sample_weight : array-like of shape (n_rows,), default=None
            How many times each row counts; None counts each once.

        Returns
        -------
        accuracy : float
            From 0 to 1. A row of a class that was never learned is told wrong.
        """
        predictor = self.predictor_
        rows = predictor.read(X)
        target = read_target(y, rows.n, sample_weight)
        counts = target.y >= 0
        if not counts.any():
            raise OptionError("There is nothing to score: every sample weight is zero.")
        both = union(self.classes_, target.classes)  # LabelError where labels of the two can never be equal
        best: NDArray[np.int64] = predictor.answer(rows, "best")
        right = positions(self.classes_, both)[best] == target.among(both).y
        return float(np.average(right[counts], weights=None if target.w is None else target.w[counts]))

    def _matrix(self, X: object, how: str, priors: object = None) -> Floats:
        answer: Floats = self._ask(X, how, priors)
        return answer

    def _ask(self, X: object, how: str, priors: object = None) -> Any:
        """joint, log_proba, proba, best or evidence of each row."""
        predictor = self.predictor_
        return predictor.ask(X, how, other_start(predictor.fitted, priors))


def other_start(fitted: Fitted, priors: object) -> Floats | None:
    """What the log joint starts from under a prior for one question; None: as always."""
    return None if priors is None else log_priors(fitted.weight, fitted.classes, priors)

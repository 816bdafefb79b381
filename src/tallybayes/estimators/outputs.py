"""Several outputs as one: every combination of their labels is a class of the network."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.labels import positions, read_labels
from tallybayes.errors import LabelError, OptionError, brief, listing
from tallybayes.structure.graph import Edge, parents_of
from tallybayes.utils.array_types import Array, Floats
from tallybayes.utils.lazy_imports import nw

MAX_COMBINATIONS = 100_000  # combinations of labels


@dataclass(frozen=True)
class Outputs:
    """The labels of each target. Combination (a, b, …) is class number a · K_b · … + b · … + …"""

    names: tuple[str, ...]
    labels: tuple[Array, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many labels each target has."""
        return tuple(len(v) for v in self.labels)

    @property
    def K(self) -> int:
        """How many combinations of labels there are."""
        return math.prod(self.shape)

    def check(self, K: int) -> None:
        """Raise ValueError unless these are names and labels whose combinations are K classes.

        Parameters
        ----------
        K : int
            How many classes there are.
        """
        good = len(self.names) == len(self.labels) > 0 and all(isinstance(v, str) for v in self.names)
        if not good or any(not isinstance(v, np.ndarray) or v.ndim != 1 or not len(v) for v in self.labels):
            raise ValueError("its targets are not names with labels")
        if self.K != K:
            raise ValueError(f"its targets have {self.K} combinations of labels, and it has {K} classes")

    def codes(self, columns: Sequence[Array], n: int) -> NDArray[np.int64]:
        """Return the class of each row, from one column of labels for each target.

        Parameters
        ----------
        columns : sequence of ndarray
            The labels of each target.
        n : int
            How many rows there are.

        Returns
        -------
        ndarray of int64, of shape (n,)
            The number of the combination.
        """
        each = []
        for name, known, column in zip(self.names, self.labels, columns, strict=True):
            codes, found = read_labels(column, n)
            at = positions(found, known)
            if (at < 0).any():
                new = found[at < 0].tolist()
                raise LabelError(f"Target {name!r} has the label(s) {new}, which are not among {known.tolist()}.")
            each.append(at[codes])
        return np.ravel_multi_index(each, self.shape)

    def decode(self, joint: Array) -> Array:
        """Return the labels of class numbers.

        Parameters
        ----------
        joint : ndarray of int
            Class numbers.

        Returns
        -------
        ndarray of shape (n, targets)
            Labels.
        """
        each = np.unravel_index(joint, self.shape)
        one_kind = len({v.dtype.kind for v in self.labels}) == 1
        kind = np.result_type(*(v.dtype for v in self.labels)) if one_kind else np.dtype(object)
        out = np.empty((len(joint), len(self.names)), dtype=kind)
        for t, codes in enumerate(each):
            out[:, t] = self.labels[t][codes]
        return out

    @property
    def combinations(self) -> list[str]:
        """What each class is called: the labels of its combination, as in 'a=1, b=0'."""
        rows = [v.tolist() for v in self.labels]
        return [
            ", ".join(f"{name}={label}" for name, label in zip(self.names, row, strict=True)) for row in product(*rows)
        ]

    def groups(self, wanted: Sequence[Sequence[str]]) -> tuple[tuple[int, ...], ...]:
        """Return which classes a column does not tell apart.

        Parameters
        ----------
        wanted : sequence of sequence of str
            The targets that each column depends on; none: all.

        Returns
        -------
        tuple of tuple of int
            Of each column the group of each class: classes that agree in those targets have one number.
        """
        each = np.unravel_index(np.arange(self.K), self.shape)
        out = []
        for names in wanted:
            which = [t for t, name in enumerate(self.names) if not names or name in names]
            joint = np.ravel_multi_index([each[t] for t in which], [self.shape[t] for t in which])
            out.append(tuple(joint.tolist()))
        return tuple(out)

    def prior(self, weight: Floats, arrows: Sequence[Edge], alpha: float) -> Floats:
        """Return the prior: as counted, or Π_t P(y_t | parents of t) where arrows are given.

        Parameters
        ----------
        weight : ndarray of shape (K,)
            The weight of the rows of each class.
        arrows : sequence of (str, str)
            Which target depends on which.
        alpha : float
            What is added to each count, where arrows are given: Laplace smoothing.

        Returns
        -------
        ndarray of shape (K,)
            P(y₁, …, y_m).
        """
        if not arrows:
            return np.asarray(weight / weight.sum())
        parents = parents_of(arrows, self.names.index, self.names)
        counts = weight.reshape(self.shape)
        p = np.ones(self.shape)
        for t, own in enumerate(parents):
            axes = tuple(i for i in range(len(self.shape)) if i != t and i not in own)
            n = counts.sum(axis=axes, keepdims=True) + alpha
            p = p * (n / n.sum(axis=t, keepdims=True))
        return np.asarray((p / p.sum()).ravel())

    def given(self, known: Mapping[str, object] | None) -> NDArray[np.bool_]:
        """Return which classes agree with the targets that are known.

        Parameters
        ----------
        known : dict from target to label, or None
            What is known.

        Returns
        -------
        ndarray of bool, of shape (K,)
            True for those.
        """
        fits = np.ones(self.K, dtype=bool)
        each = np.unravel_index(np.arange(self.K), self.shape)
        if known is not None and not isinstance(known, Mapping):
            raise OptionError(f"given must be a dict from target to label; got {brief(known)}.")
        for name, label in (known or {}).items():
            t = self._target(name)
            if isinstance(label, list | dict | set | np.ndarray):
                raise LabelError(f"{brief(label)} is not a label of {name!r}. Labels: {listing(self.labels[t])}.")
            codes = positions(np.array([label], dtype=object), self.labels[t])
            if codes[0] < 0:
                raise LabelError(f"{brief(label)} is not a label of {name!r}. Labels: {listing(self.labels[t])}.")
            fits &= each[t] == codes[0]
        return fits

    def _target(self, name: object) -> int:
        if name not in self.names:
            raise OptionError(f"{name!r} is not a target. Targets: {listing(list(self.names))}.")
        return self.names.index(name)


def read_columns(Y: object, targets: Sequence[str]) -> tuple[list[Array], int]:
    """One column of labels per target: from a frame (by name), a dict of columns, or rows."""
    if isinstance(Y, Mapping):
        return _from_mapping(Y, targets)
    if isinstance(Y, list | tuple) and len(Y) and all(isinstance(row, Mapping) for row in Y):
        return _from_mapping({t: [row.get(t) for row in Y] for t in targets}, targets)
    frame = nw.from_native(Y, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        absent = [t for t in targets if t not in frame.columns]
        if absent:
            raise LabelError(f"y has no column {absent[0]!r}; its columns are {listing(frame.columns)}.")
        return [frame[t].to_numpy() for t in targets], len(frame)
    return _from_rows(np.asarray(Y, dtype=None if isinstance(Y, np.ndarray) else object), targets)


def _from_mapping(Y: Mapping[str, object], targets: Sequence[str]) -> tuple[list[Array], int]:
    absent = [t for t in targets if t not in Y]
    if absent:
        raise LabelError(f"y has no column {absent[0]!r}. Targets: {listing(list(targets))}.")
    try:
        columns = [np.atleast_1d(np.asarray(Y[t])) for t in targets]
    except ValueError:  # lists of different lengths
        raise LabelError("y needs one label of each target for each row of X; got lists among them.") from None
    for name, column in zip(targets, columns, strict=True):
        if len(column) != len(columns[0]):
            raise LabelError(
                f"Target {targets[0]!r} has {len(columns[0])} labels and {name!r} has {len(column)}: one for each "
                "row of X is needed."
            )
    return columns, len(columns[0])


def _from_rows(rows: Array, targets: Sequence[str]) -> tuple[list[Array], int]:
    if len(targets) == 1 and rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or rows.shape[1] != len(targets):
        raise LabelError(
            f"With {len(targets)} targets y needs {len(targets)} columns, one row per row of X; got the shape "
            f"{rows.shape}."
        )
    return [rows[:, t] for t in range(len(targets))], len(rows)


def _declared(classes: object, n: int) -> list[list[object]]:
    try:
        found = [] if isinstance(classes, str | Mapping) else [[] if isinstance(v, str) else list(v) for v in classes]  # type: ignore[attr-defined]
    except TypeError:
        found = []
    if len(found) != n or not all(found):
        raise LabelError(f"classes must list the labels of each of the {n} targets; got {brief(classes)}.")
    return found


def find_outputs(targets: Sequence[str], columns: Sequence[Array], n: int, classes: object = None) -> Outputs:
    """The labels of each target: those met, or those declared."""
    if isinstance(classes, Mapping) and set(classes) == set(targets):
        classes = [classes[t] for t in targets]
    declared = None if classes is None else _declared(classes, len(targets))
    labels = []
    for t, column in enumerate(columns):
        source = column if declared is None else declared[t]
        labels.append(read_labels(source, n if declared is None else len(source))[1])
    found = Outputs(tuple(targets), tuple(labels))
    if found.K > MAX_COMBINATIONS:
        raise OptionError(
            f"The targets have {found.K:,} combinations of labels; at most {MAX_COMBINATIONS:,} are answered for at "
            "once. Use fewer targets in one network."
        )
    return found


def counted_prior(outputs: Outputs, arrows: Sequence[Edge], alpha: float) -> Callable[[Floats], Floats]:
    """What `priors` is for several outputs: read from the weights of the classes."""

    def prior(weight: Floats) -> Floats:
        return outputs.prior(weight, arrows, alpha)

    return prior

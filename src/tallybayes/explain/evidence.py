"""What `explain` gives back: evidence by row, feature and class; and the features in order of what they tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from tallybayes import notebook
from tallybayes.arrays import Array, Floats
from tallybayes.errors import LabelError, OptionError, brief, listing
from tallybayes.raw import RawColumn
from tallybayes.source import Table
from tallybayes.table_out import build_frame

SHOWN = 10  # rows of an explanation that a notebook shows
PRIOR = "(prior)"  # its name among the features of a frame
# Jeffreys' words for a factor on the odds of less than this
WORDS = ((10**0.5, "weak"), (10.0, "substantial"), (10**1.5, "strong"), (100.0, "very strong"))


@dataclass(frozen=True, repr=False, eq=False)
class Explanation:
    """Evidence for each class: rows × features × classes, in nats (exp of a number is a factor on the odds).

    log P(x, k) = log_prior[k] + Σ_j log_likelihood[:, j, k]                                       (exact)

    `values` and `prior` are the same evidence as log-odds. Against a class l, they are differences::

        log P(k | x) / P(l | x) = prior[:, k] + Σ_j values[:, j, k]
        values[:, j, k] = log P(x_j | k) − log P(x_j | l),   prior[:, k] = log P(k) / P(l)

    Against the rest (the default), the odds of k against a mixture are no sum over features, so each rival l counts by
    its share r_l = P(l | x) / (1 − P(k | x)) of what k leaves to the others in that row::

        log P(k | x) / (1 − P(k | x)) = prior[:, k] + Σ_j values[:, j, k]
        values[:, j, k] = log P(x_j | k) − Σ_l r_l log P(x_j | l)
        prior[:, k]     = log P(k) − Σ_l r_l log P(l) + Σ_l r_l log r_l

    which is exact, does not depend on the order of the features, and for two classes is the difference above. What is
    missing in a row adds 0. Where a probability is 0, evidence is infinite; where it is 0 on both sides, it is 0.

    Columns that a model looks at together (a full covariance, a network) share their evidence by a rule of their
    distribution: see the guide, docs/evidence.md.

    Parameters
    ----------
    log_likelihood : ndarray of shape (n_rows, n_features, n_classes)
        log P(x_j | class), as the model's distributions share it among the features.
    log_prior : ndarray of shape (n_classes,)
        log P(class).
    classes : ndarray of shape (n_classes,)
        The labels.
    names : tuple of str
        The features.
    table : Table
        The rows that are explained.
    rival : label, default=None
        The class that the others are compared with, or None for the rest.
    index : pandas Index, default=None
        The index of the rows, where they came as a pandas frame: `frame` keeps it.
    pieces : callable, default=None
        Of a column and a row, by their positions, what each word of the text there adds; None of other columns.

    Attributes
    ----------
    log_likelihood, log_prior, classes, names, table, rival, index, pieces
        As above.
    values : ndarray of shape (n_rows, n_features, n_classes)
        What each feature adds to the log-odds of each class.
    prior : ndarray of shape (n_rows, n_classes)
        Where the log-odds start from.
    log_odds : ndarray of shape (n_rows, n_classes)
        Prior and contributions together.
    log_joint : ndarray of shape (n_rows, n_classes)
        log P(x, class).
    probability : ndarray of shape (n_rows, n_classes)
        P(class | x).

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> rows = [{"sky": "clear", "wind": 2.0}, {"sky": "grey", "wind": 9.5}, {"sky": "grey", "wind": 7.0},
    ...         {"sky": "clear", "wind": 3.5}]
    >>> found = NaiveBayes().fit(rows, ["sail", "stay", "stay", "sail"]).explain([{"sky": "grey"}])
    >>> print(found.text())
    'stay' against the rest: odds 3 : 1, P = 0.75
      prior: odds 1 : 1
      evidence for:
        sky = grey: ×3, weak
      evidence against: none
    """

    log_likelihood: Floats
    log_prior: Floats
    classes: Array
    names: tuple[str, ...]
    table: Table
    rival: object = None
    index: Any = None
    pieces: Callable[[int, int], list[tuple[str, Floats]] | None] | None = None

    def words(self, row: int = 0) -> Explanation:
        """Give the evidence of one row with its texts word by word: every word is a feature.

        Parameters
        ----------
        row : int, default=0
            The position of the row.

        Returns
        -------
        Explanation
            Of this row alone; of a table without texts the same features.

        Examples
        --------
        >>> from tallybayes import NaiveBayes
        >>> texts = ["free money now", "win free money", "lunch at noon", "see you at noon"]
        >>> model = NaiveBayes().fit([{"body": t} for t in texts], ["spam", "spam", "ham", "ham"])
        >>> print(model.explain([{"body": "Free lunch: you win!"}]).words().text())
        'spam' against the rest: odds 1.94 : 1, P = 0.66
          prior: odds 1 : 1
          evidence for:
            body 'free': ×3.2, substantial
            body 'win': ×2.13, weak
          evidence against:
            body 'lunch': ÷1.88, weak
            body 'you': ÷1.88, weak
        """
        i = self.row_number(row)
        names: list[str] = []
        says: list[Floats] = []
        columns: list[RawColumn] = []
        for j, name in enumerate(self.names):
            found = self.pieces(j, i) if self.pieces is not None else None
            whole = found is None
            parts = [(name, self.log_likelihood[i, j])] if found is None else found
            value = np.array([self.table.values(j)[i] if whole else None], dtype=object)
            names += [part if whole else f"{name} {part}" for part, _ in parts]
            says += [terms for _, terms in parts]
            columns += [RawColumn(value, "objects", "categorical" if whole else "text")] * len(parts)
        K = len(self.classes)
        table = Table(1, len(names), self.table.container, tuple(names), columns=tuple(columns))
        index = None if self.index is None else self.index[i : i + 1]
        evidence = np.array(says).reshape(1, len(names), K)
        return replace(self, log_likelihood=evidence, names=tuple(names), table=table, index=index, pieces=None)

    def against(self, label: object = None) -> Explanation:
        """Give the same evidence against another class.

        Parameters
        ----------
        label : class label, default=None
            The class that the others are compared with, or None for the rest.

        Returns
        -------
        Explanation
            Of the same rows.

        Raises
        ------
        LabelError
            If the label is none of the classes.
        """
        if label is not None and label not in self.classes.tolist():
            raise LabelError(f"{brief(label)} is not a class of this model. Classes: {listing(self.classes)}.")
        return replace(self, rival=label)

    def __len__(self) -> int:
        return len(self.log_likelihood)

    # --- numbers -----------------------------------------------------------------------------------------------

    @cached_property
    def log_joint(self) -> Floats:
        """ndarray of shape (n_rows, n_classes): log P(x, class)."""
        return np.asarray(self.log_prior + self.log_likelihood.sum(axis=1))

    @cached_property
    def probability(self) -> Floats:
        """ndarray of shape (n_rows, n_classes): P(class | x); the prior where every class is impossible."""
        joint = self._possible_joint
        return np.asarray(np.exp(joint - scipy.special.logsumexp(joint, axis=1, keepdims=True)))

    @cached_property
    def values(self) -> Floats:
        """ndarray of shape (n_rows, n_features, n_classes): contributions to the log-odds."""
        return _minus(self.log_likelihood, self._reference(self.log_likelihood))

    @cached_property
    def prior(self) -> Floats:
        """ndarray of shape (n_rows, n_classes): where the log-odds start from."""
        start = np.broadcast_to(self.log_prior, (len(self), 1, len(self.classes)))
        found = _minus(start, self._reference(start))[:, 0]
        if self.rival is None and len(self.classes) == 1:  # P = 1, before and after
            return np.full(found.shape, np.inf)
        if self.rival is None and len(self.classes) > 2:
            found += np.stack(
                [scipy.special.xlogy(r, r).sum(axis=1) for r in map(self._rivals, range(len(self.classes)))], axis=1
            )
        return found

    @cached_property
    def log_odds(self) -> Floats:
        """ndarray of shape (n_rows, n_classes): prior and contributions together.

        The prior's odds where every class is impossible.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            total = self.prior + self.values.sum(axis=1)
            if self.rival is None:
                fallback = np.log(self.probability) - np.log1p(-np.minimum(self.probability, 1.0))
            else:
                fallback = np.log(self.probability) - np.log(
                    self.probability[:, [self.classes.tolist().index(self.rival)]]
                )
        return np.where(np.isnan(total), fallback, total)

    @cached_property
    def _possible_joint(self) -> Floats:
        """The log joint; the log prior where every class is impossible."""
        return np.where(np.isneginf(self.log_joint).all(axis=1, keepdims=True), self.log_prior, self.log_joint)

    def _rivals(self, k: int) -> Floats:
        """(rows, classes): each class's share of what k leaves to the others; of their prior where that is nothing."""
        others = np.arange(len(self.classes)) != k
        rest = self._possible_joint[:, others]
        for instead in (self.log_prior[others], np.zeros(len(self.classes) - 1)):
            rest = np.where(np.isneginf(rest).all(axis=1, keepdims=True), instead, rest)
        out = np.zeros(self.log_joint.shape)
        out[:, others] = np.exp(rest - scipy.special.logsumexp(rest, axis=1, keepdims=True))
        return out

    def _reference(self, a: Floats) -> Floats:
        """What (rows, features, classes) is compared with."""
        K = len(self.classes)
        if self.rival is not None:
            k = self.classes.tolist().index(self.rival)
            return a[:, :, k : k + 1]
        if K <= 2:
            return a[:, :, ::-1]  # of one class itself: there is nothing else to compare it with
        finite = bool(np.isfinite(a).all())
        out = np.empty(a.shape)
        for k in range(K):
            share = self._rivals(k)[:, None]
            with np.errstate(invalid="ignore"):  # 0 · −inf = 0: a rival without a share has no say
                out[:, :, k] = (share * a if finite else np.where(share > 0, share * a, 0.0)).sum(axis=2)
        return out

    # --- words -------------------------------------------------------------------------------------------------

    def frame(self, backend: str | None = None) -> Any:
        """Give the evidence as a frame with one line per row, feature and class; the prior is a feature too.

        Parameters
        ----------
        backend : {'pandas', 'polars', 'pyarrow', 'dict'}, default=None
            What to give it as; by default the kind of data frame that was explained, and a dict of arrays if it was
            none.

        Returns
        -------
        data frame or dict of arrays
            With the columns row (its position), feature, value, class and contribution. A pandas frame that explains
            rows of a pandas frame has their index: ``frame.loc[label]`` is what is said of that row.
        """
        n, d, K = self.log_likelihood.shape
        names = [PRIOR, *self.names]
        cells = [[""] * n, *([_shown(v) for v in self.table.values(j)] for j in range(d))]
        contribution = np.concatenate([self.prior[:, None], self.values], axis=1)
        built = build_frame(
            {
                "row": np.repeat(np.arange(n), (d + 1) * K),
                "feature": [name for _ in range(n) for name in names for _ in range(K)],
                "value": [cells[j][i] for i in range(n) for j in range(d + 1) for _ in range(K)],
                "class": self.classes.tolist() * (n * (d + 1)),
                "contribution": contribution.ravel(),
            },
            self.table.container,
            backend,
        )
        if self.index is not None and backend in (None, "pandas"):
            built.index = self.index.repeat((d + 1) * K)
        return built

    def to_dict(self) -> dict[str, object]:
        """Give the evidence as plain values, as JSON has them.

        Returns
        -------
        dict
            'classes'; 'against' (None is the rest); 'rows', for each row a dict of its position 'row', the 'answer',
            and in the order of the classes 'probability', 'log_odds' and 'prior'; 'evidence' lists of each feature
            'feature', 'value' (None is missing) and 'contribution', again in the order of the classes. Infinite numbers
            are 'inf' and '-inf', since JSON has none. Where rows have an index, 'index' is the label of the row.

        Examples
        --------
        >>> from tallybayes import NaiveBayes
        >>> rows = [{"sky": "clear"}, {"sky": "grey"}, {"sky": "grey"}, {"sky": "clear"}]
        >>> found = NaiveBayes().fit(rows, ["sail", "stay", "stay", "sail"]).explain(rows[:1]).to_dict()
        >>> found["rows"][0]["answer"], found["rows"][0]["evidence"][0]["value"]
        ('sail', 'clear')
        """
        labels = [_plain(label) for label in self.classes.tolist()]
        values = [self.table.values(j) for j in range(len(self.names))]
        rows = []
        for i in range(len(self)):
            row: dict[str, object] = {"row": i} if self.index is None else {"row": i, "index": _plain(self.index[i])}
            row["answer"] = labels[int(np.argmax(self.probability[i]))]
            for name in ("probability", "log_odds", "prior"):
                row[name] = [_plain(v) for v in getattr(self, name)[i].tolist()]
            row["evidence"] = [
                {
                    "feature": name,
                    "value": _plain(values[j][i]),
                    "contribution": [_plain(v) for v in self.values[i, j].tolist()],
                }
                for j, name in enumerate(self.names)
            ]
            rows.append(row)
        return {"classes": labels, "against": _plain(self.rival), "rows": rows}

    def text(self, row: int = 0, label: object = None, most: int = 5) -> str:
        """Tell the evidence of one row for one class in words, strongest first.

        ×3 multiplies the odds by 3, ÷3 divides them. weak: less than √10; substantial: less than 10; strong: less than
        10√10; very strong: less than 100; decisive: more (Jeffreys).

        Parameters
        ----------
        row : int, default=0
            The position of the row.
        label : class label, default=None
            The class that the evidence is for; by default the most probable one of the row.
        most : int, default=5
            How many features are told on each side; the others are added up.

        Returns
        -------
        str
            Several lines.
        """
        i, k = self.row_number(row), self.class_number(row, label)
        name = self.classes.tolist()[k]
        if self.pieces is not None and any(self.pieces(j, i) is not None for j in range(len(self.names))):
            return self.words(i).text(0, name, most)
        if len(self.classes) == 1:
            return f"{name!r} is the only class: P = 1, whatever the row holds"
        rest = "the rest" if self.rival is None else repr(self.rival)
        lines = [f"{name!r} against {rest}: {_odds(self.log_odds[i, k])}, P = {self._chance(i, k)}"]
        lines.append(f"  prior: {_odds(self.prior[i, k])}")
        evidence = self.values[i, :, k]
        order = np.argsort(-np.abs(evidence), kind="stable")
        for head, side in (("for", evidence > 0), ("against", evidence < 0)):
            found = [j for j in order.tolist() if side[j]]
            lines.append(f"  evidence {head}:" + ("" if found else " none"))
            lines += [f"    {self._says(i, j, float(evidence[j]))}" for j in found[:most]]
            if len(found) > most:
                rest_of = float(evidence[found[most:]].sum())
                lines.append(f"    {len(found) - most} more, together {_factor(rest_of)}")
        return "\n".join(lines)

    def _chance(self, i: int, k: int) -> str:
        """P of a class in three digits, or in as many as it takes to tell it from 1."""
        found, joint = f"{self.probability[i, k]:.3g}", self._possible_joint[i]
        log_rest = float(scipy.special.logsumexp(np.delete(joint, k)) - scipy.special.logsumexp(joint))
        if found != "1" or np.isneginf(log_rest):
            return found
        digits = int(np.ceil(-log_rest / np.log(10)))
        if digits <= 9:
            return f"{1 - np.exp(log_rest):.{digits}f}"
        return f"1 − {np.exp(log_rest):.2g}" if log_rest > -700 else f"1 − 10^{log_rest / np.log(10):.0f}"

    def _says(self, i: int, j: int, evidence: float) -> str:
        columns = self.table.columns
        a_word = columns is not None and columns[j].kind == "text" and columns[j].values[i] is None
        value = "" if a_word else f" = {_shown(self.table.values(j)[i])}"
        return f"{self.names[j]}{value}: {_factor(evidence)}, {strength(evidence)}"

    def row_number(self, row: int) -> int:
        """Check the number of a row.

        Parameters
        ----------
        row : int
            From 0; from −1 backwards.

        Returns
        -------
        int
            The same from 0.
        """
        if not isinstance(row, int | np.integer) or not -len(self) <= row < len(self):
            raise OptionError(f"row must be a whole number below {len(self)}, the number of rows; got {brief(row)}.")
        return int(row) % len(self)

    def class_number(self, row: int, label: object) -> int:
        """Find the place of a class.

        Parameters
        ----------
        row : int
            The row that is asked about.
        label : label or None
            The class; None finds the most probable one of the row.

        Returns
        -------
        int
            Its place in ``classes``.
        """
        labels = self.classes.tolist()
        if label is not None:
            if label not in labels:
                raise LabelError(f"{brief(label)} is not a class of this model. Classes: {listing(labels)}.")
            return int(labels.index(label))
        odds = self.probability[row].copy()
        if self.rival is not None and len(labels) > 1:  # a class says nothing against itself
            odds[labels.index(self.rival)] = -1.0
        return int(np.argmax(odds))

    def __repr__(self) -> str:
        n, d, K = self.log_likelihood.shape
        rest = "the rest" if self.rival is None else repr(self.rival)
        return f"Explanation of {n} row(s), {d} feature(s), {K} class(es), against {rest}"

    def __str__(self) -> str:
        return f"{self!r}\nRow 0: {self.text(0)}" if len(self) else repr(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: of one row all its evidence, of several the strongest of each."""
        if len(self) == 1 and len(self.classes) > 1:
            k = self.class_number(0, None)
            evidence = self.values[0, :, k]
            first, *_ = self.text(0).splitlines()
            rows = [
                (self.names[j], _shown(self.table.values(j)[0]), _factor(float(evidence[j])), strength(evidence[j]))
                for j in np.argsort(-np.abs(evidence), kind="stable").tolist()
            ]
            prior = (PRIOR, "", _odds(self.prior[0, k]), "")
            head = ("feature", "value", "odds", "strength")
            return notebook.page(notebook.heading(first), notebook.table(head, [prior, *rows], words=(0, 1, 3)))
        rows = [self._row_line(i) for i in range(min(len(self), SHOWN))]
        table = notebook.table(("row", "answer", "P", "most for", "most against"), rows, words=(0, 1, 3, 4))
        more = f"{len(self) - SHOWN:,} more rows" if len(self) > SHOWN else ""
        return notebook.page(notebook.heading(repr(self)), table, notebook.paragraph(more))

    def _row_line(self, i: int) -> tuple[Any, ...]:
        """One row in a few words: its answer, and what speaks most for and against it."""
        k = self.class_number(i, None)
        evidence = self.values[i, :, k]
        most, least = int(np.argmax(evidence)), int(np.argmin(evidence))
        says = [self._says(i, j, float(evidence[j])) for j in (most, least)]
        signed = (says[0] if evidence[most] > 0 else "", says[1] if evidence[least] < 0 else "")
        label = i if self.index is None else self.index[i]
        return (label, self.classes.tolist()[k], f"{self.probability[i, k]:.3g}", *signed)


@dataclass(frozen=True, repr=False, eq=False)
class FeatureRanking:
    """How much each feature tells of the class under the model: I(feature; class) in nats, most first. Print it.

    Each feature by itself: two that say the same are both high. A word of a multinomial model is taken as the question
    whether one word of a text is this one.

    Parameters
    ----------
    names : tuple of str
        The features.
    information : ndarray of shape (n_features,)
        I(feature; class) in nats.
    error : ndarray of shape (n_features,)
        The standard error where information is a mean over values drawn from the model, else 0.
    entropy : float
        That of the class prior: the most that can be told.
    container : str, default='numpy'
        What kind of frame `frame` gives: that of the table that the model was fitted on.

    Attributes
    ----------
    names, information, error, entropy, container
        As above.
    order : ndarray of shape (n_features,)
        Positions of the features, the most telling first.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.datasets import load_watermelon
    >>> ranking = NaiveBayes().fit(*load_watermelon()).explain()
    >>> [ranking.names[j] for j in ranking.order[:2]]
    ['sugar', 'texture']
    """

    names: tuple[str, ...]
    information: Floats
    error: Floats
    entropy: float
    container: str = "numpy"

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """ndarray of shape (n_features,): positions of the features, the most telling first."""
        return np.argsort(-self.information, kind="stable")

    def frame(self, backend: str | None = None) -> Any:
        """Give the ranking as a frame with one line per feature, the most telling first.

        Parameters
        ----------
        backend : {'pandas', 'polars', 'pyarrow', 'dict'}, default=None
            What to give it as; by default the kind of data frame that the model was fitted on, and a dict of arrays if
            it was none.

        Returns
        -------
        data frame or dict of arrays
            With the columns feature, information, error and share (of the entropy of the class).
        """
        share = self.information / self.entropy if self.entropy > 0 else np.zeros(len(self.names))
        return build_frame(
            {
                "feature": [self.names[j] for j in self.order],
                "information": self.information[self.order],
                "error": self.error[self.order],
                "share": share[self.order],
            },
            self.container,
            backend,
        )

    def text(self, most: int = 10) -> str:
        """Tell the ranking in words.

        Parameters
        ----------
        most : int, default=10
            How many features are told.

        Returns
        -------
        str
            One line for each feature.
        """
        width = max(len(name) for name in self.names)
        lines = [f"What each feature tells of the class, by itself (of {abs(self.entropy):.3g} nats that there are):"]
        for j in self.order[:most].tolist():
            note = f" ± {self.error[j]:.1g}" if self.error[j] > 0 else ""
            lines.append(f"  {self.names[j]:<{width}}  {self.information[j]:.3g}{note}")
        if len(self.names) > most:
            lines.append(f"  {len(self.names) - most} more")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        best = f", {self.names[self.order[0]]!r} tells most" if len(self.names) else ""
        return f"FeatureRanking({len(self.names)} feature{'s' * (len(self.names) != 1)}{best})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        first, *_ = self.text(0).splitlines()
        rows = [
            (
                self.names[j],
                f"{self.information[j]:.3g}" + (f" ± {self.error[j]:.1g}" if self.error[j] > 0 else ""),
                f"{self.information[j] / self.entropy:.1%}" if self.entropy > 0 else "",
            )
            for j in self.order.tolist()
        ]
        return notebook.page(notebook.heading(first), notebook.table(("feature", "nats", "share"), rows))


def strength(evidence: float) -> str:
    """Jeffreys' word for evidence given in nats: weak, substantial, strong, very strong, decisive."""
    factor = np.exp(min(abs(evidence), 700.0))
    return next((word for limit, word in WORDS if factor < limit), "decisive")


def _minus(a: Floats, b: Floats) -> Floats:
    """a − b, and 0 where both are −inf."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(np.isneginf(a) & np.isneginf(b), 0.0, a - b))


def _factor(evidence: float) -> str:
    """×3 or ÷3."""
    sign = "×" if evidence >= 0 else "÷"
    size = abs(evidence)
    return (
        f"{sign}{np.exp(size):.3g}"
        if size < 700
        else f"{sign}∞"
        if np.isinf(size)
        else f"{sign}10^{size / np.log(10):.0f}"
    )


def _odds(log_odds: float) -> str:
    """odds 3 : 1 or 1 : 3"""
    size = _factor(abs(float(log_odds)))[1:]
    return f"odds {size} : 1" if log_odds >= 0 else f"odds 1 : {size}"


def _plain(value: Any) -> Any:
    """A value as JSON has it: infinite numbers and whatever JSON does not know in words."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None if np.isnan(value) else str(value)
    item = getattr(value, "item", None)
    return _plain(item()) if isinstance(value, np.generic) and item is not None else str(value)


def _shown(value: object) -> str:
    if value is None:
        return "?"
    return f"{value:.6g}" if isinstance(value, float) else str(value)

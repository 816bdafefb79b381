"""What `explain` gives back of rows: evidence by row, feature and class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy

from tallybayes.data.output_tables import build_frame
from tallybayes.data.raw_column import RawColumn
from tallybayes.data.table import Table, read_table
from tallybayes.errors import LabelError, OptionError, TableError, brief, is_label, listing
from tallybayes.explain import summary_text
from tallybayes.explain.phrases import PRIOR, TOGETHER, chance, plain, shown
from tallybayes.explain.ranking import column_names
from tallybayes.model.predictor import Predictor
from tallybayes.utils.array_types import Array, Floats
from tallybayes.utils.cached import cached_property

MOST_NUMBERS = 1 << 27  # in one explanation: 1 GB


@dataclass(frozen=True, repr=False, eq=False)
class Explanation:
    """Result of `explain`: the log-odds contribution of each feature, by row and class, in nats.

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
    distribution: see the guide, docs/evidence.md. What a `BayesClassifier` adds that belongs to no column is the last
    feature, '(together)'.

    Parameters
    ----------
    log_likelihood : ndarray of shape (n_rows, n_features, n_classes)
        log P(x_j | class), as the model's distributions share it among the features.
    log_prior : ndarray of shape (n_classes,)
        log P(class).
    classes : ndarray of shape (n_classes,)
        The labels.
    names : tuple of str
        The features: the columns of the table, and '(together)' where something belongs to none of them.
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

    See Also
    --------
    tallybayes.plots.EvidenceDisplay : Draws the evidence of one row.
    FeatureRanking : Features ranked for all rows.

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
        """Return the evidence of one row with its texts word by word: every word is a feature.

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
            found = self.pieces(j, i) if self.pieces is not None and j < self.table.d else None
            whole = found is None
            parts = [(name, self.log_likelihood[i, j])] if found is None else found
            names += [part if whole else f"{name} {part}" for part, _ in parts]
            says += [terms for _, terms in parts]
            if j < self.table.d:
                value = np.array([self.table.values(j)[i] if whole else None], dtype=object)
                columns += [RawColumn(value, "objects", "categorical" if whole else "text")] * len(parts)
        K, d = len(self.classes), len(columns)
        table = Table(1, d, self.table.container, tuple(names[:d]), columns=tuple(columns))
        index = None if self.index is None else self.index[i : i + 1]
        evidence = np.array(says).reshape(1, len(names), K)
        return replace(self, log_likelihood=evidence, names=tuple(names), table=table, index=index, pieces=None)

    def cells(self, j: int) -> list[Any]:
        """Return the values of a feature in all rows.

        Parameters
        ----------
        j : int
            Its place in ``names``.

        Returns
        -------
        list
            Plain values; None is missing. What belongs to no column has none.
        """
        return self.table.values(j) if j < self.table.d else [None] * len(self)

    def against(self, label: object = None) -> Explanation:
        """Return the same evidence against another class.

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
        """Return the evidence as a frame with one line per row, feature and class.

        The prior is a feature too, and so is what belongs to no column.

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
        cells = [[""] * n, *([shown(v) for v in self.table.values(j)] for j in range(self.table.d)), [""] * n]
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
        """Return the evidence as plain values, as JSON has them.

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
        labels = [plain(label) for label in self.classes.tolist()]
        values = [self.cells(j) for j in range(len(self.names))]
        rows = []
        for i in range(len(self)):
            row: dict[str, object] = {"row": i} if self.index is None else {"row": i, "index": plain(self.index[i])}
            row["answer"] = labels[int(np.argmax(self.probability[i]))]
            for name in ("probability", "log_odds", "prior"):
                row[name] = [plain(v) for v in getattr(self, name)[i].tolist()]
            row["evidence"] = [
                {
                    "feature": name,
                    "value": plain(values[j][i]),
                    "contribution": [plain(v) for v in self.values[i, j].tolist()],
                }
                for j, name in enumerate(self.names)
            ]
            rows.append(row)
        return {"classes": labels, "against": plain(self.rival), "rows": rows}

    def text(self, row: int = 0, label: object = None, most: int = 5) -> str:
        """Describe the evidence of one row for one class in words, strongest first.

        ×3 multiplies the odds by 3, ÷3 divides them. weak: less than √10; substantial: less than 10; strong: less than
        10√10; very strong: less than 100; decisive: more (Jeffreys).

        Parameters
        ----------
        row : int, default=0
            The position of the row.
        label : class label, default=None
            The class that the evidence is for; by default the most probable one of the row.
        most : int, default=5
            How many features are listed on each side. The others, and those of a factor below 1.02, are added up.

        Returns
        -------
        str
            Several lines.
        """
        i, k = self.row_number(row), self.class_number(row, label)
        name = self.classes.tolist()[k]
        if self.pieces is not None and any(self.pieces(j, i) is not None for j in range(self.table.d)):
            return self.words(i).text(0, name, most)
        if len(self.classes) == 1:
            return f"{name!r} is the only class: P = 1, whatever the row holds"
        return summary_text.row(self, i, k, chance(float(self.probability[i, k]), self._possible_joint[i], k), most)

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
        return f"Explanation of {_some(n, 'row')}, {_some(d, 'feature')}, {_some(K, 'class', 'es')}, against {rest}"

    def __str__(self) -> str:
        return f"{self!r}\nRow 0: {self.text(0)}" if len(self) else repr(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: of one row all its evidence, of several the strongest of each."""
        return summary_text.page(self)


def _minus(a: Floats, b: Floats) -> Floats:
    """a − b, and 0 where both are −inf."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(np.isneginf(a) & np.isneginf(b), 0.0, a - b))


def explain_rows(predictor: Predictor, X: object, against: object, feature_names: object) -> Explanation:
    """Evidence of each feature of each row for each class."""
    fitted = predictor.fitted
    if against is not None and not (is_label(against) and against in fitted.classes.tolist()):
        raise LabelError(f"against={brief(against)} is not a class of this model. Classes: {listing(fitted.classes)}.")
    schema, K = fitted.schema, fitted.K
    table = read_table(X)
    _refuse_absurd(table.n, schema.d, K)
    rows = predictor.read(table)
    predictor.check_rows(rows)
    terms = predictor.terms(rows)
    names = (*column_names(schema, feature_names), *[TOGETHER] * (terms.shape[1] - schema.d))
    parts = terms, predictor.offset.copy(), fitted.classes.copy()
    index = getattr(X, "index", None) if table.container == "pandas" else None
    pieces = partial(predictor.pieces, rows) if "text" in schema.kinds else None
    return Explanation(*parts, names, rows.table, against, index, pieces)


def _refuse_absurd(n: int, d: int, K: int) -> None:
    if n * d * K <= MOST_NUMBERS:
        return
    rows = MOST_NUMBERS // (d * K)
    advice = f"Ask for at most {rows} rows at a time." if rows else "Not even one row fits: leave out columns."
    raise TableError(
        f"An explanation of {n} rows, {d} columns and {K} classes would take {n * d * K * 8 / 1e9:.1f} GB. {advice}"
    )


def _some(n: int, what: str, ending: str = "s") -> str:
    return f"{n:,} {what}{'' if n == 1 else ending}"

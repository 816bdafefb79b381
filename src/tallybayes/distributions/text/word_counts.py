"""Texts by their words: multinomial, complement or Bernoulli, over a vocabulary that grows by adding."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tallybayes import _core
from tallybayes.data import encoding
from tallybayes.data.encoding import Data, Sparse, Splitting, Texts
from tallybayes.data.schema import Levels, Schema
from tallybayes.data.table import Table
from tallybayes.distributions.base import Distribution
from tallybayes.distributions.capabilities import (
    ColumnTerms,
    CountsExport,
    DroppedLevels,
    LeaveOneOut,
    LevelCounts,
    LevelWeights,
    Outcomes,
    Pieces,
    SeenColumns,
    TableCounts,
    Vocabulary,
)
from tallybayes.distributions.context import TEXT, Context, Exported, Needs, Weights
from tallybayes.distributions.statistics import LOG_TINY, Record, check_alpha, expect, subtract
from tallybayes.distributions.text.word_leave_one_out import Prepared, leave_one_out, length_factors, length_normalized
from tallybayes.errors import OptionError, SharedWordsWarning, brief, is_number, warn
from tallybayes.utils.array_types import Array, Floats
from tallybayes.utils.cached import cached_property

MODELS = ("multinomial", "complement", "bernoulli")
ANALYZERS = ("auto", "word", "char")
MOST_WORDS = 1 << 19
LOG_BLOCK = 1 << 15  # of which logarithms are taken at a time
DESCRIBED_WORDS = 20  # words that `describe` tells of each class


@dataclass(frozen=True)
class WordStatistics(Record):
    """How often each class has each word (Bernoulli: in how many rows).

    Parameters
    ----------
    count : ndarray of shape (K, words)
        The weight of the words.
    rows : ndarray of shape (K,)
        The weight of the rows that have a text.
    """

    count: Array
    rows: Array


@dataclass(frozen=True)
class WordParams(Record):
    """What a text and its words add to log P(x | class).

    Parameters
    ----------
    weight : ndarray of shape (1 + words, K)
        First what any text adds, then what each word does.
    count : ndarray of shape (K, words)
        The words as summed.
    alpha : float
        What is added to each count.
    exist : ndarray of bool, of shape (words,)
        Which of the words there are.
    length : ndarray of shape (K,)
        How many words a text has, on average.
    words : Levels
        The words.
    """

    weight: Array
    count: Array
    alpha: float
    exist: NDArray[np.bool_]
    length: Array
    words: Levels

    @cached_property
    def held(self) -> dict[str, Prepared]:
        """What leave-one-out needs of the counts for all rows."""
        return {}

    @cached_property
    def share(self) -> Array:
        """(words, K): log P(one word of a text is this one | class); −inf where there is no such word."""
        log = _log_shares(self.count, self.exist, self.alpha)
        return np.where(self.exist[:, None], log, -np.inf)

    @cached_property
    def log_mean_share(self) -> Array:
        """(words,): log of the mean over the classes of P(one word of a text is this one | class)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(np.exp(self.share).mean(axis=1)))


@dataclass(frozen=True)
class Words(Distribution[WordStatistics, WordParams]):
    """A text column as a bag of words or n-grams.

    'multinomial': log p(x | c) = Σ_w x_w log θ_cw, θ_cw = (S_cw + a) / (S_c + a V). x_w: how often a text has the word
    w, S: summed counts, V: how many words there are. 'complement': the weights of a class come from all other classes
    (Rennie et al. 2003). 'bernoulli': is a word there or not, P = (n_cw + a) / (n_c + 2a), n: texts. The same numbers
    as scikit-learn's CountVectorizer with MultinomialNB, ComplementNB or BernoulliNB, unless
    length_normalized.

    Words are numbered as they are first met. A word that no row has any more does not count in V; one that was never
    met says nothing. A missing text says nothing; an empty one is a text without words.

    Parameters
    ----------
    model : {'multinomial', 'complement', 'bernoulli'}, default='multinomial'
        Model of the words.
    ngrams : tuple of (int, int), default=(1, 1)
        Minimum and maximum length of n-grams.
    analyzer : {'auto', 'word', 'char'}, default='auto'
        'word': runs of two and more letters, digits and underscores, as CountVectorizer takes them. 'char': runs of
        characters, spaces too. 'auto': words; and single characters and pairs of them where a script has no spaces
        (Chinese, Japanese, Thai and others).
    lowercase : bool, default=True
        Whether to convert text to lower case first.
    max_words : int, default=524288
        Number of words with their own count: the most frequent of the first rows, then new ones as they occur. Other
        words share an eighth as many hashed cells, with a warning.
    alpha : float, default=1.0
        Additive smoothing a.
    weight : float, default=1.0
        Factor of log P(x | class), so that many words do not outweigh a few other columns. BayesClassifier chooses it
        by leave-one-out.
    length_normalized : bool, default=False
        Whether log P(x | class) of a text with L known words is multiplied by min(1, 3.5 L^(−3/4)). Words of one text
        are not independent, so naive Bayes is overconfident on long texts; length normalisation gives the multinomial
        and complement models better probabilities. NaiveBayes chooses True for its own 'words'.

    See Also
    --------
    Multinomial : Counts in columns.
    Complement : The rule for unbalanced classes.

    References
    ----------
    - McCallum and Nigam (1998), A comparison of event models for naive Bayes text classification. AAAI workshop.
    - Rennie, Shih, Teevan and Karger (2003), Tackling the poor assumptions of naive Bayes text classifiers. ICML.

    Examples
    --------
    >>> from tallybayes import NaiveBayes
    >>> from tallybayes.distributions import Words
    >>> texts = ["free money now", "win free money", "lunch at noon", "see you at noon"]
    >>> model = NaiveBayes(Words(ngrams=(1, 2))).fit(texts, ["spam", "spam", "ham", "ham"])
    >>> model.predict(["see you at lunch", "money money"]).tolist()
    ['ham', 'spam']
    """

    model: str = "multinomial"
    ngrams: tuple[int, int] = (1, 1)
    analyzer: str = "auto"
    lowercase: bool = True
    max_words: int = MOST_WORDS
    alpha: float = 1.0
    weight: float = 1.0
    length_normalized: bool = False

    name: ClassVar[str] = "words"
    kinds: ClassVar[tuple[str, ...]] = ("text",)
    needs: ClassVar[Needs] = "texts"
    one_column: ClassVar[bool] = True
    waits: ClassVar[bool] = True
    cells: ClassVar[tuple[str, ...]] = ("count", "rows")
    statistics_type = WordStatistics
    statistics_options = ("_statistics_key",)
    capabilities: ClassVar[Collection[type]] = (
        ColumnTerms,
        CountsExport,
        LeaveOneOut,
        DroppedLevels,
        LevelCounts,
        LevelWeights,
        Outcomes,
        Pieces,
        SeenColumns,
        TableCounts,
        Vocabulary,
    )

    def __post_init__(self) -> None:
        for name, allowed in (("model", MODELS), ("analyzer", ANALYZERS)):
            if getattr(self, name) not in allowed:
                raise OptionError(
                    f"{name} must be one of {', '.join(map(repr, allowed))}; got {brief(getattr(self, name))}."
                )
        object.__setattr__(self, "ngrams", _two(self.ngrams))
        for name in ("lowercase", "length_normalized"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise OptionError(f"{name} must be True or False; got {brief(getattr(self, name))}.")
        if not _whole(self.max_words) or self.max_words < 1:
            raise OptionError(f"max_words must be a whole number of at least 1; got {brief(self.max_words)}.")
        check_alpha(self.alpha)
        if np.ndim(self.alpha):
            raise OptionError(f"alpha must be one number for words; got {brief(self.alpha)}.")
        if not is_number(self.weight) or self.weight < 0:
            raise OptionError(f"weight must be a number of at least 0; got {brief(self.weight)}.")
        if self.model == "bernoulli" and self.alpha == 0:
            raise OptionError("alpha must be above 0 for the Bernoulli model of words; got 0.")
        if self.model == "bernoulli" and self.length_normalized:
            raise OptionError(
                "length_normalized=True is for the multinomial and complement models of words: the Bernoulli model "
                "counts absent words too. Leave it False."
            )

    @property
    def _statistics_key(self) -> tuple[object, ...]:
        return self.model == "bernoulli", self.ngrams, self.analyzer, bool(self.lowercase), int(self.max_words)

    def splitting(self) -> Splitting:
        """Return how a text becomes words."""
        most = int(self.max_words)
        return Splitting(self.analyzer, self.ngrams, bool(self.lowercase), most, max(1, most // 8))

    def split(self, text: str) -> list[str]:
        """Return what this makes of a text.

        Parameters
        ----------
        text : str
            Any text.

        Returns
        -------
        list of str
            Its words, each as often as it is there.

        Examples
        --------
        >>> from tallybayes.distributions import Words
        >>> Words(ngrams=(1, 2)).split("Free money!")
        ['free', 'money', 'free money']
        """
        how = self.splitting()
        return _core.words_of(text, how.analyzer, *how.ngrams, how.lowercase)

    # --- what it reads and sums --------------------------------------------------------------------------------

    def encode(
        self,
        table: Table,
        schema: Schema,
        columns: Sequence[int],
        grow: bool,
        sizes: Mapping[int, int],  # noqa: ARG002
    ) -> tuple[Data, Schema]:
        (j,) = columns
        if not grow:
            return encoding.texts(table, schema, j, self.splitting()), schema
        data, longer, shared = encoding.words(table, schema, j, grow, self.splitting())
        if shared and not _has_cells(schema.levels.get(j, Levels())):
            warn(
                f"Column {schema.name(j)!r} has more than {self.max_words} words: the others share "
                f"{self.splitting().cells} cells by a hash of their letters. max_words= of Words sets the bound.",
                SharedWordsWarning,
            )
        return data, longer

    def add(self, data: Data, y: NDArray[np.int32], w: Weights, K: int) -> WordStatistics:
        sums = _core.csr_sums(_counts(data).view, y, w, K, 0.0 if self.model == "bernoulli" else None)
        return WordStatistics(np.ascontiguousarray(sums[:, 1:]), sums[:, 0].copy())

    def count_table(
        self, table: Table, schema: Schema, columns: Sequence[int], y: NDArray[np.int32], w: Weights, K: int
    ) -> tuple[WordStatistics, Schema] | None:
        """Count the texts of a table while they are read: the words of each row are nowhere kept."""
        (j,) = columns
        found = encoding.word_sums(table, schema, j, self.splitting(), (y, w, K), self.model == "bernoulli")
        if found is None:  # which of them have a count of their own all rows tell
            return None
        count, rows, longer = found
        return WordStatistics(count, rows), longer

    def combine(self, a: WordStatistics, b: WordStatistics, sign: int = 1) -> WordStatistics:
        size = max(a.count.shape[1], b.count.shape[1])
        one, two = _padded(a.count, size), _padded(b.count, size)
        if sign > 0:
            return WordStatistics(one + two, a.rows + b.rows)
        return WordStatistics(subtract(one, two), subtract(a.rows, b.rows))

    def relevel(self, s: WordStatistics, maps: Sequence[Sequence[int] | None]) -> WordStatistics:
        (to,) = maps
        if to is None or not len(to):
            return s
        out = np.zeros((len(s.count), max(to) + 1))
        np.add.at(out.T, np.asarray(to[: s.count.shape[1]], dtype=np.intp), s.count.T)
        return replace(s, count=out)

    def level_weights(self, s: WordStatistics) -> NDArray[np.float64]:
        return np.asarray(s.count.sum(axis=0))

    def drop_levels(self, s: WordStatistics, keep: Sequence[NDArray[np.intp] | None]) -> WordStatistics:
        (own,) = keep
        return s if own is None else replace(s, count=np.ascontiguousarray(s.count[:, own[own < s.count.shape[1]]]))

    def join_levels(self, first: Levels, second: Levels) -> Levels:
        room = int(self.max_words) - sum(isinstance(v, str) for v in first.labels)
        known = first.find(second.labels) >= 0
        new = [v for v, there in zip(second.labels, known.tolist(), strict=True) if not there]
        words = [v for v in new if isinstance(v, str)]
        if len(words) <= room:
            return first.extend(new)
        cells = {self._cell(v) for v in words[max(room, 0) :]} | {v for v in new if not isinstance(v, str)}
        return first.extend(words[: max(room, 0)]).extend(sorted(cells))

    def level_map(self, own: Levels, joined: Levels) -> list[int]:
        found = joined.find(own.labels)
        beyond = np.flatnonzero(found < 0).tolist()
        if beyond:
            found = found.copy()
            found[beyond] = joined.find([self._cell(own.labels[i]) for i in beyond])
        return [int(code) for code in found]

    def _cell(self, word: str) -> int:
        return int(_core.cell_of(word, self.splitting().cells))

    def sizes(self, s: WordStatistics) -> NDArray[np.int64]:
        return np.array([s.count.shape[1]], dtype=np.int64)

    def seen_columns(self, s: WordStatistics, d: int) -> NDArray[np.bool_]:
        return np.full(d, bool(s.rows.any()))

    def check(self, s: WordStatistics, context: Context) -> None:
        known = context.levels[0] if len(context.levels) == 1 else None
        if known is None:
            raise ValueError("it is for one column of texts, whose words the schema lists")
        if not all(isinstance(v, str) or (type(v) is int and 0 <= v < self.splitting().cells) for v in known.labels):
            raise ValueError("the schema lists words that are none")
        if s.count.ndim != 2 or s.count.shape[1] > len(known):
            raise ValueError("'count' has more words than the schema lists")
        expect(s, {"count": (context.K, s.count.shape[1]), "rows": (context.K,)}, at_least_0=self.cells)
        if self.model == "bernoulli" and (s.count > s.rows[:, None] * (1 + 1e-9)).any():
            raise ValueError("a word is in more rows than there are")

    # --- parameters --------------------------------------------------------------------------------------------

    def estimate(self, s: WordStatistics, context: Context) -> WordParams:
        words = context.levels[0]
        assert words is not None
        count = _padded(s.count, len(words))
        exist = np.asarray(count.any(axis=0))
        if self.model == "bernoulli":
            weight = _presence(count, s.rows, exist, self.alpha)
        elif self.model == "complement":
            others = np.maximum(count.sum(axis=0) - count, 0.0)  # rounding may leave less than nothing
            weight = _weights(others, exist, self.alpha)
            weight[1:][exist] = -np.maximum(weight[1:][exist], LOG_TINY)
        else:
            weight = _weights(count, exist, self.alpha)
        length = count.sum(axis=1) / np.where(s.rows > 0, s.rows, 1.0)
        if self.weight != 1:
            weight = np.multiply(weight, self.weight, out=weight, where=weight != 0)
        return WordParams(weight, count, self.alpha, exist, length, words)

    def score(self, scorer: _core.Scorer, data: Data, p: WordParams) -> None:
        once = self.model == "bernoulli"
        if isinstance(data, Texts):
            scorer.texts(data.held, data.words.known, data.cells, p.weight, once, bool(self.length_normalized))
        else:
            counts = _counts(data) if not self.length_normalized else length_normalized(_counts(data), p.exist)
            scorer.csr(counts.view, p.weight, np.zeros(p.weight.shape[1]), 0.0 if once else None, False)

    def export(self, p: WordParams, context: Context) -> str:  # noqa: ARG002
        if _has_cells(p.words):
            return (
                f"a text has more than max_words={self.max_words:,} distinct words, of which the others share cells by "
                "a hash that other programs do not have. Ask the model where it is (tallybayes serve), or give a "
                "NaiveBayes Words with ngrams=(1, 1) or a larger max_words"
            )
        return (
            "a text is split into words by tables of characters that other programs do not have. Ask the model where "
            "it is (tallybayes serve), or fit without that column"
        )

    def export_counts(self, s: WordStatistics, p: WordParams) -> Exported | None:
        if _has_cells(p.words):  # whose words are found by a hash that only we have
            return None
        return {
            "form": "words",
            "reads": [TEXT],
            "model": self.model,
            "analyzer": self.analyzer,
            "ngrams": list(self.ngrams),
            "lowercase": bool(self.lowercase),
            "alpha": float(self.alpha),
            "weight": float(self.weight),
            "length_normalized": bool(self.length_normalized),
            "rows": s.rows.tolist(),
            "words": [p.words.labels[v] for v in np.flatnonzero(p.exist).tolist()],
            "counts": p.count[:, p.exist],
        }

    def leave_one_out(
        self,
        data: Data,
        y: NDArray[np.int32],
        unit: NDArray[np.float64],
        s: WordStatistics,
        p: WordParams,
        context: Context,
    ) -> Array:
        """Return log P(x | class) of rows that are in the statistics, each by the statistics without the row itself.

        A row takes its words out of its class. Words that no other row has are gone without it: they say nothing, and
        V is smaller by them.
        """
        found = leave_one_out(
            self.model, self.alpha, _counts(data), y, unit, _padded(s.count, len(p.exist)), s.rows, context.K, p.held,
            bool(self.length_normalized),
        )  # fmt: skip
        return found if self.weight == 1 else np.multiply(found, self.weight, out=found, where=found != 0)

    def terms(self, data: Data, p: WordParams, K: int) -> Array:
        scorer = _core.Scorer(data.n, np.zeros(K))
        self.score(scorer, data, p)
        return np.asarray(scorer.joint())[:, None]

    def pieces(self, data: Data, p: WordParams, i: int) -> list[tuple[str, Floats]]:
        csr = _counts(data).csr
        begin, end = csr.indptr[i : i + 2].tolist()
        index, times = csr.indices[begin:end], csr.data[begin:end]
        factor = length_factors(Sparse(csr[i]), p.exist)[0] if self.length_normalized else 1.0
        found = []
        for at, n in sorted(zip(index.tolist(), times.tolist(), strict=True)):
            n = min(n, 1) if self.model == "bernoulli" else n
            word = p.words.labels[at - 1] if at else ""
            name = "no word" if not at else repr(word) if isinstance(word, str) else f"(words of cell {word})"
            found.append((f"{name} ×{n}" if n > 1 else name, factor * n * p.weight[at]))
        return [(name, says) for name, says in found if says.any()]

    def sample(self, p: WordParams, y: NDArray[np.int32], rng: np.random.Generator) -> list[Array]:
        """Draw one text for each row, given the class of each row.

        As many words as texts of the class have on average, each drawn by itself.

        Parameters
        ----------
        p : params
            Parameters.
        y : ndarray of int32, of shape (n,)
            The class of each row.
        rng : numpy.random.Generator
            What they are drawn with.

        Returns
        -------
        list of one ndarray of shape (n,)
            Texts.
        """
        out = np.full(len(y), "", dtype=object)
        names = [str(v) for v in p.words.labels]
        for k in np.unique(y).tolist() if p.exist.any() else ():
            here = np.flatnonzero(y == k)
            chance = np.exp(p.share[:, k])
            lengths = rng.poisson(p.length[k], size=len(here))
            drawn = iter(rng.choice(len(chance), size=int(lengths.sum()), p=chance / chance.sum()).tolist())
            for row, length in zip(here.tolist(), lengths.tolist(), strict=True):
                out[row] = " ".join(names[next(drawn)] for _ in range(length))
        return [out]

    def describe(self, p: WordParams, j: int, k: int, labels: Sequence[str]) -> dict[str, float]:  # noqa: ARG002
        """Return the words that say most for class k, and how large a share of its words each is.

        Parameters
        ----------
        p : params
            Parameters.
        j : int
            The column.
        k : int
            The class.
        labels : sequence of str
            The words.

        Returns
        -------
        dict from str to float
            Twenty of them, those first that tell most.
        """
        share = np.exp(p.share[:, k])
        with np.errstate(invalid="ignore"):
            gain = np.where(share > 0, share * (p.share[:, k] - p.log_mean_share), 0.0)
        some = np.flatnonzero(gain > 0)
        if len(some) > DESCRIBED_WORDS:
            some = some[gain[some] >= np.partition(gain[some], -DESCRIBED_WORDS)[-DESCRIBED_WORDS]]
        best = some[np.argsort(-gain[some], kind="stable")[:DESCRIBED_WORDS]]
        return {str(labels[v]): float(share[v]) for v in best.tolist()}

    def outcomes(self, p: WordParams, j: int) -> Array:  # noqa: ARG002
        """Return the log probability of each value that the column can have.

        Of one word of a text: which word is it? The model says nothing of how many there are.
        """
        return p.share[p.exist]


def _whole(x: object) -> bool:
    return isinstance(x, int | np.integer) and not isinstance(x, bool)


def _two(ngrams: object) -> tuple[int, int]:
    found = tuple(ngrams) if isinstance(ngrams, tuple | list) else ()
    if len(found) != 2 or not all(_whole(v) for v in found) or not 1 <= found[0] <= found[1]:
        raise OptionError(
            f"ngrams must be two whole numbers such as (1, 2), the first at least 1; got {brief(ngrams)}."
        )
    return int(found[0]), int(found[1])


def _has_cells(words: Levels) -> bool:
    return any(not isinstance(v, str) for v in words.labels)


def _counts(data: Data) -> Sparse:
    counts = data.counted if isinstance(data, Texts) else data
    assert isinstance(counts, Sparse)
    return counts


def _padded(count: Array, size: int) -> Array:
    """With room for `size` words."""
    return count if count.shape[1] == size else np.pad(count, ((0, 0), (0, size - count.shape[1])))


def _log_shares(count: Array, exist: NDArray[np.bool_], alpha: float) -> Array:
    """(words, K): log (S + a) / (Σ S + a V); evenly shared where there is nothing."""
    return _weights(count, np.ones_like(exist), alpha, int(exist.sum()))[1:]


def _weights(count: Array, exist: NDArray[np.bool_], alpha: float, V: int | None = None) -> Array:
    """(1 + words, K): a text by itself says nothing, nor do words that are gone; V: how many there are.

    Some words at a time: besides the answer there is nothing of its size.
    """
    V = int(exist.sum()) if V is None else V
    total = _core.level_totals(count, np.array([count.shape[1]], dtype=np.int64)) + alpha * V  # (K, 1)
    there = total > 0
    below = _core.logs(np.where(there, total, 1.0))
    weight = np.zeros((1 + count.shape[1], len(count)))
    for first in range(0, count.shape[1], step := max(1, LOG_BLOCK // len(count))):
        log = np.asarray(_core.logs(count[:, first : first + step] + alpha))
        log -= below
        log[~there[:, 0]] = -np.log(max(V, 1))
        log[:, ~exist[first : first + step]] = 0.0
        weight[1 + first : 1 + first + step] = log.T
    return weight


def _presence(count: Array, rows: Array, exist: NDArray[np.bool_], alpha: float) -> Array:
    """(1 + words, K): first what a text without any word says; then what each word changes of that."""
    below = _core.logs(rows + 2 * alpha)[:, None]
    yes = np.where(exist, _core.logs(count + alpha) - below, 0.0)
    no = np.where(exist, _core.logs(np.maximum(rows[:, None] - count, 0.0) + alpha) - below, 0.0)
    weight = np.empty((1 + count.shape[1], len(count)))
    weight[0] = no.sum(axis=1)
    weight[1:] = (yes - no).T
    return weight

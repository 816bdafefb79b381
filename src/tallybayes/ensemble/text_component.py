"""Text columns of a BayesClassifier: words and pairs of words, by the multinomial (McCallum & Nigam 1998) or the
complement model (Rennie et al. 2003), weighted beside the rest.

The model, the smoothing and the weight of each text are chosen by leave-one-out, given the other columns and the texts
before it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tallybayes.data.encoding import rows_of
from tallybayes.distributions import Words
from tallybayes.ensemble.ensemble_distribution import Ensemble
from tallybayes.model import temperature
from tallybayes.model.fitted import Fitted, Starts
from tallybayes.model.rows import Rows
from tallybayes.model.term import Term
from tallybayes.utils.array_types import Array, Floats

NGRAMS = (1, 2)  # words and pairs of words: pairs hold what a word negates or begins
ALPHAS = (1.0, 0.3, 0.1, 0.03)
SELECTION_ROWS, SPANS = 2000, 20  # leave-one-out rows, and spans of the table that they are taken from
TEXT_MODELS = ("multinomial", "complement")
ROUNDS = 4  # of coordinate descent over the two weights
MIN_GAIN = 5e-4  # of log-loss, below which a side has no weight
COLUMN_GAIN = 2.0  # of log-likelihood, that each other column must add: their stacking saw the same rows
PULL = 1.0  # prior rows that draw a weight to 1: a few rows without an error would make it infinite


def fit_texts(fitted: Fitted, rows: Rows, priors: object, starts: Starts) -> Fitted:
    """The model with the smoothing and weight of each text, and the weight of the other columns, chosen by LOO."""
    texts = [(t, d) for t in fitted.terms if isinstance(d := t.distribution, Words)]
    others = tuple(_weighted(t, 1.0) for t in fitted.terms if not isinstance(t.distribution, Words))
    spans = _spans(rows)
    prior, known = _leave_one_out(replace(fitted, terms=others).estimate(priors), spans, priors, starts)
    joint = prior + known
    y = np.concatenate([span.classes_of_rows for span in spans])
    w = np.concatenate([np.ones(span.n) if span.w is None else span.w for span in spans])
    w, y = np.where(y < 0, 0.0, w), np.maximum(y, 0)
    chosen: list[Term] = []
    for term, words in texts:

        def left_out(tried: Term) -> Floats:
            return _leave_one_out(replace(fitted, terms=(tried,)).estimate(priors), spans, priors, starts)[1]

        best, joint = _smoothed(term, words, fitted.K, left_out, joint, y, w)
        chosen.append(best)
    if others:
        columns = sum(len(t.columns) for t in others)
        gain = max(MIN_GAIN, COLUMN_GAIN * columns / max(float(w.sum()), 1e-300))
        weight, of_texts = _balance(prior, known, joint - prior - known, y, w, gain)
        others = tuple(_weighted(t, weight) for t in others)
        chosen = [_weighted(t, of_texts) for t in chosen]
    by_columns = {t.columns: t for t in (*others, *chosen)}
    return replace(fitted, terms=tuple(by_columns[t.columns] for t in fitted.terms))


def _smoothed(
    term: Term, words: Words, K: int, left_out: Callable[[Term], Floats], joint: Floats, y: Array, w: Floats
) -> tuple[Term, Floats]:
    """A text with the model, smoothing and weight of least LOO log-loss beside `joint`, and the joint with it.

    left_out: the leave-one-out log-likelihood of the rows under one text.
    """
    best, loss, best_joint = term, np.inf, joint
    for model in TEXT_MODELS if K > 2 else TEXT_MODELS[:1]:  # of two classes both give the same odds
        last = np.inf
        for alpha in ALPHAS:
            plain = replace(words, model=model, alpha=alpha, weight=1.0)
            own = left_out(replace(term, distribution=plain))
            weight = temperature.best_temperature(joint, own, y, w, PULL)
            found = -temperature.score(temperature.posterior(joint, own, weight), y, w)
            if found < loss:
                best, loss = replace(term, distribution=replace(plain, weight=weight)), found
                best_joint = joint + weight * own
            if found > last:  # less smoothing harms already
                break
            last = found
    return best, best_joint


def _balance(
    prior: Floats, known: Floats, texts: Floats, y: Array, w: Floats, gain: float = MIN_GAIN
) -> tuple[float, float]:
    """The weights of the other columns (at most 1) and of the texts with the least LOO log-loss together.

    The stacking weights of the other columns were fitted without the texts. Where texts predict the class, the others
    have less to add and their noise harms more. Other columns that add less than `gain` have weight 0, and so have
    texts that add less than MIN_GAIN.
    """

    def loss(weight: float, of_texts: float) -> float:
        return -temperature.score(temperature.posterior(prior + weight * known, texts, of_texts), y, w)

    weight, of_texts = 1.0, 1.0
    for _ in range(ROUNDS):
        weight = min(1.0, temperature.best_temperature(prior + of_texts * texts, known, y, w, PULL))
        of_texts = temperature.best_temperature(prior + weight * known, texts, y, w, PULL)
    both = loss(weight, of_texts)
    texts_alone = temperature.best_temperature(prior, texts, y, w, PULL)
    if loss(0.0, texts_alone) < min(both + gain, loss(1.0, 0.0)):
        return 0.0, texts_alone
    return (1.0, 0.0) if loss(1.0, 0.0) < both + MIN_GAIN else (weight, of_texts)


def _weighted(term: Term, weight: float) -> Term:
    """An ensemble with this weight, or a text with its weight times this."""
    own = term.distribution
    assert isinstance(own, Ensemble | Words)
    return replace(term, distribution=replace(own, weight=weight * own.weight if isinstance(own, Words) else weight))


def _spans(rows: Rows) -> list[Rows]:
    """Spans of rows, evenly over the table; all rows if they are few."""
    step = max(1, SELECTION_ROWS // SPANS)
    starts = range(0, rows.n, max(step, -(-rows.n // SPANS)))
    out = []
    for first in starts:
        span = slice(first, min(first + step, rows.n))
        data = {column: rows_of(found, span) for column, found in rows.data.items()}
        table = replace(rows.table, n=span.stop - span.start)
        w = None if rows.w is None else rows.w[span]
        out.append(Rows(table, rows.schema, data, rows.classes_of_rows[span], w, rows.who))
    return out


def _leave_one_out(fitted: Fitted, spans: list[Rows], priors: object, starts: Starts) -> tuple[Floats, Floats]:
    found = [fitted.leave_one_out(span, priors, starts) for span in spans]
    return np.concatenate([prior for prior, _ in found]), np.concatenate([likelihood for _, likelihood in found])

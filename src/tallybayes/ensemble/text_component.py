"""The texts of an ensemble: how they are smoothed and how far they are believed, each beside all else that is known."""

from __future__ import annotations

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

ALPHAS = (1.0, 0.3, 0.1, 0.03)
JUDGES = 4000  # rows that are left out, in spans that lie apart
SPANS = 20
TURNS = 4  # of the two weights
WORTH = 5e-4  # of log-loss
PULL = 1.0  # towards a weight of 1: a few rows without a mistake would want it to be infinite


def weighed(fitted: Fitted, rows: Rows, priors: object, starts: Starts) -> Fitted:
    """The texts with the smoothing and the weight that tell the rows best, each without itself.

    A text is judged beside the other columns and the texts before it, so that what they say already counts once.
    """
    texts = [(t, d) for t in fitted.terms if isinstance(d := t.distribution, Words)]
    others = tuple(_trusted(t, 1.0) for t in fitted.terms if not isinstance(t.distribution, Words))
    parts = _parts(rows)
    prior, known = _leave_one_out(replace(fitted, terms=others).estimate(priors), parts, priors, starts)
    joint = prior + known
    y = np.concatenate([part.classes_of_rows for part in parts])
    w = np.concatenate([np.ones(part.n) if part.w is None else part.w for part in parts])
    w, y = np.where(y < 0, 0.0, w), np.maximum(y, 0)
    chosen: list[Term] = []
    for term, words in texts:
        best, loss, joined = term, np.inf, joint
        for alpha in ALPHAS:
            plain = replace(words, alpha=alpha, weight=1.0)
            tried = replace(term, distribution=plain)
            _, says = _leave_one_out(replace(fitted, terms=(tried,)).estimate(priors), parts, priors, starts)
            beta = temperature.best_temperature(joint, says, y, w, PULL)
            found = -temperature.score(temperature.posterior(joint, says, beta), y, w)
            if found < loss:
                best, loss = replace(term, distribution=replace(plain, weight=beta)), found
                joined = joint + beta * says
        chosen.append(best)
        joint = joined
    if others:
        trust, belief = _balance(prior, known, joint - prior - known, y, w)
        others = tuple(_trusted(t, trust) for t in others)
        chosen = [_believed(t, belief) for t in chosen]
    by_columns = {t.columns: t for t in (*others, *chosen)}
    return replace(fitted, terms=tuple(by_columns[t.columns] for t in fitted.terms))


def _balance(prior: Floats, known: Floats, says: Floats, y: Array, w: Floats) -> tuple[float, float]:
    """How many times the other columns count, and the texts: both together tell the rows best, each without itself.

    The weights of the other columns were chosen without the texts. Where these tell the class, the others have less to
    add, and their noise harms more; there is no reason to believe them more than that. Who adds less than WORTH to the
    other does not count at all.
    """

    def loss(trust: float, belief: float) -> float:
        return -temperature.score(temperature.posterior(prior + trust * known, says, belief), y, w)

    trust, belief = 1.0, 1.0
    for _ in range(TURNS):
        trust = min(1.0, temperature.best_temperature(prior + belief * says, known, y, w, PULL))
        belief = temperature.best_temperature(prior + trust * known, says, y, w, PULL)
    both = loss(trust, belief)
    alone = temperature.best_temperature(prior, says, y, w, PULL)
    if loss(0.0, alone) < min(both + WORTH, loss(1.0, 0.0)):
        return 0.0, alone
    return (1.0, 0.0) if loss(1.0, 0.0) < both + WORTH else (trust, belief)


def _trusted(term: Term, trust: float) -> Term:
    assert isinstance(term.distribution, Ensemble)
    return replace(term, distribution=replace(term.distribution, trust=trust))


def _believed(term: Term, belief: float) -> Term:
    words = term.distribution
    assert isinstance(words, Words)
    return replace(term, distribution=replace(words, weight=belief * words.weight))


def _parts(rows: Rows) -> list[Rows]:
    """Spans of rows, evenly over the table; all rows if they are few."""
    step = max(1, JUDGES // SPANS)
    starts = range(0, rows.n, max(step, -(-rows.n // SPANS)))
    out = []
    for first in starts:
        span = slice(first, min(first + step, rows.n))
        data = {column: rows_of(found, span) for column, found in rows.data.items()}
        table = replace(rows.table, n=span.stop - span.start)
        w = None if rows.w is None else rows.w[span]
        out.append(Rows(table, rows.schema, data, rows.classes_of_rows[span], w, rows.who))
    return out


def _leave_one_out(fitted: Fitted, parts: list[Rows], priors: object, starts: Starts) -> tuple[Floats, Floats]:
    found = [fitted.leave_one_out(part, priors, starts) for part in parts]
    return np.concatenate([prior for prior, _ in found]), np.concatenate([likelihood for _, likelihood in found])

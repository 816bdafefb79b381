"""Distribution: the contract and its sides, and where each default is.

contract.py            add, estimate, score, sample, describe: what a distribution must write
sides/reading.py       learn_cuts, encode, tally
sides/adding.py        layout, combine, scale, reclass, levels of two models, sums from files
sides/leaving_out.py   estimate_again, leave_one_out, penalty
sides/answering.py     compile, answer, look, and doors for few rows and for one
sides/telling.py       columns one at a time, linear and other forms, features, export
"""

from __future__ import annotations

from collections.abc import Sequence

from tallybayes.data.encoding import Data
from tallybayes.distributions.column_terms import split as split_terms
from tallybayes.distributions.context import P, S
from tallybayes.distributions.sides.answering import Answers
from tallybayes.distributions.sides.leaving_out import LeavesOut
from tallybayes.distributions.sides.reading import Reads
from tallybayes.distributions.sides.telling import Tells
from tallybayes.utils.array_types import Array


def stands_by(d: object, says: str, behind: Sequence[str]) -> bool:
    """Whether what its class says by one method is said of these too: a subclass that has its own of one of them has
    not said it."""
    home = {name: next(i for i, c in enumerate(type(d).__mro__) if name in c.__dict__) for name in (says, *behind)}
    return all(home[name] >= home[says] for name in behind)


class Distribution(Reads[S, P], LeavesOut[S, P], Answers[S, P], Tells[S, P]):
    """One kind of factor P(x_j | class), for a group of columns: how it adds, scores and samples.

    Its tally holds sums only, in arrays whose first axis is the class: smoothing, floors and shrinkage enter in
    `estimate`, so that adding and subtracting stay exact. A subclass is a frozen dataclass whose fields are its
    options; it writes `add`, `estimate`, `score`, `sample` and `describe`, and of the others those whose default is not
    right for it. For one column of numbers SimpleDistribution asks for less.

    Attributes
    ----------
    name : str
        What it is called in ``distributions=`` and in files.
    kinds : tuple of str
        The kinds of column that it can take.
    needs : {'numbers', 'levels', 'cuts', 'codes', 'texts'}
        What it reads: numbers, codes of labels, codes of intervals, codes of either, or the words of texts.
    one_column : bool
        Whether it takes one column only: then each of its columns has a term of its own.
    cells : tuple of str
        Arrays of the tally that merge by plain addition.
    sums : type
        The record that holds its sums; dict by default.
    waits : bool
        Whether `estimate` refuses no tally, so that after more rows it may wait until parameters are asked for.

    Examples
    --------
    >>> from tallybayes import GaussianNB
    >>> from tallybayes.distributions import Distribution
    >>> (term,) = GaussianNB().fit([[1.0], [2.0], [7.0], [8.0]], ["low", "low", "high", "high"]).fitted_.terms
    >>> isinstance(term.distribution, Distribution), term.distribution.name, term.distribution.kinds
    (True, 'gaussian', ('real', 'count', 'binary'))
    """

    def terms(self, data: Data, p: P, K: int) -> Array:
        """Tell what each column adds to log P(x | class), and what belongs to none. They sum to what `score` adds.

        log P(x_j | class) if `column` gives the parameters of one column; else log P(x_j | x_1 … x_(j−1), class) in
        the order of the columns, with those that follow taken as missing.

        Parameters
        ----------
        data : Numbers, Coded, Codes or Sparse
            Its columns.
        p : params
            Parameters.
        K : int
            How many classes there are.

        Returns
        -------
        ndarray of shape (n, columns, K) or (n, columns + 1, K)
            The terms; the one more, where there is one, belongs to no column.
        """
        return split_terms(self, data, p, K)

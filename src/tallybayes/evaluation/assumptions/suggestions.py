"""Which classifiers the findings point to, and why."""

from __future__ import annotations

from tallybayes.evaluation.assumptions.columns_by_class import Data
from tallybayes.evaluation.assumptions.findings import Finding


def suggestions(
    data: Data, independence: Finding, normality: Finding, covariances: Finding
) -> tuple[dict[str, str], ...]:
    """The best first; each with its reason."""
    dependent, odd = independence.verdict == "fails", normality.verdict == "fails"
    unequal = covariances.verdict == "fails"
    found = _simplest(data, dependent, odd, unequal)
    best = _say("BayesClassifier()", "assumes none of this: a stacked ensemble of networks and other models")
    return (*found, best)


def _simplest(data: Data, dependent: bool, odd: bool, unequal: bool) -> tuple[dict[str, str], ...]:
    """The simplest models whose assumptions hold."""
    if data.codes.shape[1] or not data.real.all():
        return _mixed(dependent, odd)
    if dependent:
        return _together(data, odd, unequal)
    if odd:
        return (
            _say("NaiveBayes()", "columns are independent in each class, but not normal: it chooses what each one is"),
            _say("KernelNB()", "the same by kernel densities alone"),
        )
    if unequal:
        return (_say("GaussianNB()", "columns are independent and normal in each class, with spreads of their own"),)
    return (
        _say("GaussianNB(variance='shared')", "columns are independent and normal, with one spread for all classes"),
        _say("LinearDiscriminantAnalysis()", "assumes less, and costs little if there are many more rows than columns"),
    )


def _together(data: Data, odd: bool, unequal: bool) -> tuple[dict[str, str], ...]:
    """Real columns that depend on each other."""
    d, least = data.numeric.shape[1], min(len(r) for r in data.rows)
    few = least < 5 * d
    if unequal and not few:
        first = _say("QuadraticDiscriminantAnalysis()", "columns go together, in each class in its own way")
    elif unequal or few:
        why = "columns go together, in each class in its own way, but a class has few rows for its own covariance"
        first = _say("RegularizedDiscriminantAnalysis()", why if unequal else "columns go together, and rows are few")
    else:
        first = _say("LinearDiscriminantAnalysis()", "columns go together in the same way in all classes")
    if not odd:
        return (first,)
    network = _say(
        "AODE()", "cuts the columns, which are not normal, into intervals, and lets them depend on each other"
    )
    why = "a logistic regression; assumes no shape of the columns, some of which are not normal (see learning_curves)"
    return first, network, _say(f"discriminative_counterpart({first['model']})", why)


def _mixed(dependent: bool, odd: bool) -> tuple[dict[str, str], ...]:
    model = "NaiveBayes()"
    shape = "chooses how each number is distributed, as some are not normal" if odd else "columns of several kinds"
    if not dependent:
        return (_say(model, f"{shape}; nothing speaks against independence given the class"),)
    return (
        _say(
            "AODE()", "columns depend on each other: averages over what each of them may depend on; nothing to choose"
        ),
        _say("KDB()", "the same for larger tables: finds out how many parents of a column the rows can bear"),
        _say(
            model,
            f"{shape}. Columns depend on each other: its answers may be good, its probabilities too sure. Where they "
            "matter turn on tempered=True",
        ),
        _say(
            f"discriminative_counterpart({model})",
            "a logistic regression; shares the weight among redundant columns, and needs more rows",
        ),
    )


def _say(model: str, why: str) -> dict[str, str]:
    return {"model": model, "why": why}

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
    best = _say("BayesClassifier()", "makes none of these assumptions: a stacked ensemble of networks and other models")
    return (*found, best)


def _simplest(data: Data, dependent: bool, odd: bool, unequal: bool) -> tuple[dict[str, str], ...]:
    """The simplest models whose assumptions hold."""
    if data.codes.shape[1] or not data.real.all():
        return _mixed(dependent, odd)
    if dependent:
        return _together(data, odd, unequal)
    if odd:
        return (
            _say(
                "NaiveBayes()",
                "columns are independent in each class, but not normal: it selects a distribution for each",
            ),
            _say("KernelNB()", "the same, with kernel densities only"),
        )
    if unequal:
        return (_say("GaussianNB()", "columns are independent and normal in each class, with unequal variances"),)
    return (
        _say(
            "GaussianNB(variance='shared')", "columns are independent and normal, with equal variances in all classes"
        ),
        _say(
            "LinearDiscriminantAnalysis()",
            "needs no independence, and costs little if there are many more rows than columns",
        ),
    )


def _together(data: Data, odd: bool, unequal: bool) -> tuple[dict[str, str], ...]:
    """Real columns that depend on each other."""
    d, least = data.numeric.shape[1], min(len(r) for r in data.rows)
    few = least < 5 * d
    if unequal and not few:
        first = _say("QuadraticDiscriminantAnalysis()", "columns are correlated, differently in each class")
    elif unequal or few:
        why = "columns are correlated, differently in each class, and a class has few rows for a covariance of its own"
        first = _say(
            "RegularizedDiscriminantAnalysis()", why if unequal else "columns are correlated, and rows are few"
        )
    else:
        first = _say("LinearDiscriminantAnalysis()", "columns are correlated, alike in all classes")
    if not odd:
        return (first,)
    network = _say("AODE()", "discretises the columns, some of which are not normal, and models their dependence")
    why = "a logistic regression of the same form; assumes no normality (compare the two with learning_curves)"
    return first, network, _say(f"discriminative_counterpart({first['model']})", why)


def _mixed(dependent: bool, odd: bool) -> tuple[dict[str, str], ...]:
    model = "NaiveBayes()"
    shape = "selects a distribution for each number, as some are not normal" if odd else "columns of several kinds"
    if not dependent:
        return (_say(model, f"{shape}; independence given the class is not rejected"),)
    return (
        _say("AODE()", "columns are dependent: an average of one-dependence estimators; nothing to choose"),
        _say("KDB()", "the same for larger tables: chooses the number of parents of a column"),
        _say(
            model,
            f"{shape}. Columns are dependent: predictions may be good, but probabilities are overconfident; "
            "tempered=True corrects them",
        ),
        _say(
            f"discriminative_counterpart({model})",
            "a logistic regression; shares the weight among redundant columns, and needs more rows",
        ),
    )


def _say(model: str, why: str) -> dict[str, str]:
    return {"model": model, "why": why}

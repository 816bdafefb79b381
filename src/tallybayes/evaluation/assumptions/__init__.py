"""Are the assumptions true of my data? Independence given the class, normal columns, equal covariances: measured."""

from __future__ import annotations

from tallybayes.errors import OptionError, brief, is_number
from tallybayes.evaluation.assumptions.columns_by_class import read_columns
from tallybayes.evaluation.assumptions.covariances import equal_covariances
from tallybayes.evaluation.assumptions.findings import AssumptionReport, Finding
from tallybayes.evaluation.assumptions.normality import normal_columns
from tallybayes.evaluation.assumptions.pairs import independent_pairs
from tallybayes.evaluation.assumptions.suggestions import suggestions

__all__ = ["AssumptionReport", "Finding", "check_assumptions"]


def check_assumptions(
    X: object, y: object, *, schema: object = None, significance: float = 0.05, random_state: int = 0
) -> AssumptionReport:
    """Test independence, normality and equal covariances on a table, with effect sizes and corrected p-values.

    * independence: each pair of columns, given the class (what naive Bayes assumes);
    * normality: each real column in each class (what Gaussians assume);
    * equal covariances: the real columns over the classes, by Box's M (what LDA assumes).

    With many rows everything is significant, so an assumption fails only where a deviation is both significant and of
    at least medium size; with significant but small ones it nearly holds. Within each assumption p-values are
    corrected by Holm's rule: if it is true, the chance that anything at all is found is at most significance.

    Parameters
    ----------
    X : table of shape (n_rows, n_columns)
        pandas, polars, pyarrow, NumPy, scipy sparse, or a list of dicts. Missing values are left out pair by pair;
        equal covariances look at complete rows.
    y : array-like of shape (n_rows,)
        The class label of each row.
    schema : None, str, dict or Schema, default=None
        Kinds of columns where the type does not tell: a kind for all of them, or ``{"zip": "categorical"}``. The kinds
        are 'real', 'categorical', 'binary' and 'count'.
    significance : float between 0 and 1, default=0.05
        Below it a corrected p-value is significant.
    random_state : int, default=0
        Of the sample that is taken from more than 200 columns or 100,000 rows.

    Returns
    -------
    AssumptionReport
        A verdict on each assumption, its tests, and which classifiers they point to.

    See Also
    --------
    tallybayes.compare_models : Cross-validates the models that suit a table.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tallybayes.evaluation import check_assumptions
    >>> found = check_assumptions(*load_iris(return_X_y=True))
    >>> found.independence.verdict, found.normality.verdict, found.covariances.verdict
    ('fails', 'fails', 'fails')
    """
    if not is_number(significance) or not 0 < significance < 1:
        raise OptionError(f"significance must be between 0 and 1; got {brief(significance)}.")
    data = read_columns(X, y, schema, random_state)
    independence = independent_pairs(data, significance)
    normality = normal_columns(data, significance)
    covariances = equal_covariances(data, significance)
    advice = suggestions(data, independence, normality, covariances)
    return AssumptionReport(
        independence, normality, covariances, advice, tuple(data.notes), significance, data.container
    )

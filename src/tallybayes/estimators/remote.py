"""Rows that are somewhere else: files, databases, engines. The work is done by the package above, engines/."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from tallybayes.estimators.model import Model

if TYPE_CHECKING:
    from tallybayes.model.fitted import Fitted


class Far(Model):
    """plan, learn_from and predict_to."""

    if TYPE_CHECKING:

        def _again(self) -> Fitted: ...
        def _require_adding(self) -> None: ...
        def _require_no_order(self) -> None: ...
        def _take_over(self, twin: Self, fitted: Fitted) -> None: ...

    def plan(
        self,
        source: object,
        target: str | Sequence[str],
        *,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        rows: int = 100_000,
        pieces: int | None = None,
    ) -> Self:
        """Settle what must be agreed on before rows are counted in many places: a model with no rows.

        One pass over the source finds the labels of text columns and of the target, and draws a random sample of the
        rows, each as likely as the other. Kinds, cuts, distributions, structure and a temperature are chosen on the
        sample, as fit chooses them; on all rows while there are no more. Whoever counts with the plan counts the same
        things, so that the parts add. A level that the plan does not know is kept all the same, as when rows are
        learned here.

        Parameters
        ----------
        source : path, pattern, list of paths, data frame, lazy frame, dataset, relation or (connection, table)
            Where the rows are.
        target : str, or list of str
            The column of the class; several for a network of several targets.
        weight : str, default=None
            The column that says how many times a row counts.
        columns : list of str, default=None
            The features; None takes all other columns.
        rows : int, default=100_000
            How many rows the sample has at most.
        pieces : int, default=None
            None reads all rows. A number reads so many parts of the source, evenly spread over it, where it has parts
            (row groups of Parquet).

        Returns
        -------
        estimator
            Of the same parameters. ``plan.count(X, y)`` counts rows with it, ``to_bytes(plan)`` sends it,
            ``merge_all`` adds what was counted, and ``learn_from(…, plan=plan)`` uses it here.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from tallybayes import TAN
        >>> days = pa.table({"sky": ["grey", "clear", "red"], "wind": [2.0, 9.5, 3.0], "go": ["yes", "no", "yes"]})
        >>> plan = TAN().plan(days, "go")
        >>> plan.class_count_.tolist(), plan.schema_.levels[0].labels
        ([0.0, 0.0], ('grey', 'clear', 'red'))
        """
        from tallybayes.engines import learn_and_predict

        self._require_no_order()
        return learn_and_predict.plan(self, source, target, weight, columns, rows, pieces)

    def learn_from(
        self,
        source: Any,
        target: str | Sequence[str],
        *,
        weight: str | None = None,
        columns: Sequence[str] | None = None,
        plan: Any = None,
    ) -> Self:
        """Add all rows of a source that need not fit into memory.

        All of them or none. A model that has learned nothing yet, and that chooses cuts, distributions or a structure
        on rows, first makes a plan on a random sample of at most 100,000 rows, and then counts every row.

        Parameters
        ----------
        source : path, pattern, list of paths, data frame, lazy frame, dataset, relation or (connection, table)
            Where the rows are: CSV, Parquet, Arrow or JSON lines; pandas, polars, pyarrow; a relation of DuckDB; a
            table of a database.
        target : str, or list of str
            The column of the class; several for a network of several targets.
        weight : str, default=None
            The column that says how many times a row counts.
        columns : list of str, default=None
            The features; None takes those that the model knows, or all other columns.
        plan : estimator, default=None
            What ``model.plan(source, target)`` gave, for a model that has learned nothing yet.

        Returns
        -------
        self : estimator
            The same model, which has learned the rows.

        Raises
        ------
        TableError
            If there are no rows, or a column is not there.
        OptionError
            If the source is of no kind that is known.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from tallybayes import NaiveBayes
        >>> days = pa.table({"wind": [2.0, 9.5, 3.0], "go": ["yes", "no", "yes"]})
        >>> NaiveBayes().learn_from(days, "go").predict(days.select(["wind"])).tolist()
        ['yes', 'no', 'yes']
        """
        from tallybayes.engines import learn_and_predict

        with self._learning():
            self._check_options()
            self._require_adding()
            self._require_no_order()
            found = learn_and_predict.learn(self, source, target, weight, columns, plan)
            twin = found.copy()
            self._take_over(twin, self._again().merge(found.fitted_) if self._fitted() else found.fitted_)
        return self

    def predict_to(self, source: object, to: str | os.PathLike[str] | None = None, *, keep: Sequence[str] = ()) -> Any:
        """Answer for all rows of a source that need not fit into memory.

        Parameters
        ----------
        source : path, pattern, list of paths, data frame, lazy frame, dataset, relation or (connection, table)
            Where the rows are, with the columns that the model knows.
        to : str or path, default=None
            A file to write the answers into, by its ending: .parquet, .csv or .arrow. It is there when all of them are.
        keep : list of str, default=()
            Columns of the source to hand on beside the answers.

        Returns
        -------
        int or pyarrow.RecordBatchReader
            How many rows were written. Without `to`: the answers, made as they are read: a column ``prediction`` and
            one ``proba_…`` for each class.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from tallybayes import NaiveBayes
        >>> days = pa.table({"day": [1, 2, 3], "wind": [2.0, 9.5, 3.0], "go": ["yes", "no", "yes"]})
        >>> model = NaiveBayes().learn_from(days, "go", columns=["wind"])
        >>> model.predict_to(days, keep=["day"]).read_all().select(["day", "prediction"]).to_pylist()[0]
        {'day': 1, 'prediction': 'yes'}
        """
        from tallybayes.engines import learn_and_predict

        return learn_and_predict.predict(self, source, to, keep)

"""LazyBayes: nothing is trained. What a question needs is counted in the database at the moment it is asked."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tallybayes.data.raw_column import is_missing
from tallybayes.data.table import read_table
from tallybayes.engines.frames import checked
from tallybayes.engines.learn_and_predict import choose_on_sample, resolve_columns
from tallybayes.engines.source import ColumnRoles
from tallybayes.engines.sql.database import DatabaseSource, DatabaseTable, too_many
from tallybayes.engines.sql.sql_counts import StatisticsQuery, counted_as
from tallybayes.errors import OptionError, brief
from tallybayes.estimators.base import GenerativeClassifier
from tallybayes.estimators.learning import schema_of
from tallybayes.explain import Explanation

Model = TypeVar("Model", bound=GenerativeClassifier)


class LazyBayes(Generic[Model]):
    """A lazy classifier: each prediction counts the rows that are in a database table at that moment.

    Rows that were inserted, changed or deleted a moment ago count at once, those of an open transaction of the same
    connection too. The prediction is that of ``model.fit`` on the current rows, to 1e-12. One statement answers a batch
    of questions; a naive Bayes counts only the columns that have a value in one of them. Questions that need more than
    64 tables of counts or 256 moments read these columns of the rows instead, which costs less; in SQLite every
    question does. ``choice`` says which was done. Nothing is kept but what the columns are, which is checked again with
    each question.

    Parameters
    ----------
    model : NaiveBayes, GaussianNB, CategoricalNB, SPODE, AODE, BayesNetwork, or a fitted model
        The model. If it chooses cut points or a structure on rows, pass it fitted (such as a TAN), or pass the result
        of ``model.plan(source, target)``.
    connection : connection of duckdb, sqlite3 or psycopg, or None
        The database; None for a data frame, which DuckDB counts in memory.
    table : str, (schema, table) or data frame
        Name of the table (it is quoted), or a data frame.
    target : str
        The column of the class.
    columns : list of str, default=None
        The features; None takes all other columns.

    See Also
    --------
    NaiveBayes : ``learn_from`` learns from a database once.

    Examples
    --------
    >>> import duckdb
    >>> from tallybayes import LazyBayes, NaiveBayes
    >>> db = duckdb.connect()
    >>> _ = db.execute("CREATE TABLE days (sky VARCHAR, wind DOUBLE, go VARCHAR)")
    >>> _ = db.execute("INSERT INTO days VALUES ('clear', 2, 'yes'), ('grey', 9, 'no'), ('grey', 8, 'no')")
    >>> lazy = LazyBayes(NaiveBayes("gaussian"), db, "days", "go")
    >>> lazy.predict({"sky": "grey", "wind": 8.5}).tolist()
    ['no']
    >>> _ = db.execute("UPDATE days SET go = 'yes' WHERE wind > 8; INSERT INTO days VALUES ('clear', 3, 'no')")
    >>> lazy.predict({"sky": "grey", "wind": 9.0}).tolist()
    ['yes']
    """

    def __init__(
        self,
        model: Model,
        connection: object,
        table: Any,
        target: str,
        *,
        columns: Sequence[str] | None = None,
    ) -> None:
        if not isinstance(model, GenerativeClassifier):
            raise OptionError(f"LazyBayes takes a classifier of this library; got {brief(model)}.")
        if connection is None:
            connection, table = _in_duckdb(table), "tb frame"
        self.model, self.connection, self.table = model, connection, table
        self.target, self.columns = target, columns
        self._plan: Model | None = None
        self._kinds: dict[str, str] = {}
        self._source: DatabaseSource | None = None
        self._version: object = None
        self.choice = "nothing was asked yet"
        self._current()  # says at once what is wrong

    def _current(self, X: Any = None) -> tuple[DatabaseSource, ColumnRoles, Model, set[int] | None]:
        """The table as it is now, how the model reads it, and the columns that some questions need."""
        source = self._source
        if source is None or self._version is None or self._version != source.connection.version():
            source = DatabaseTable(self.connection, self.table)
            self._source, self._version = source, source.connection.version()
        fresh = not self.model.__sklearn_is_fitted__()
        settled = None if self._plan is None else self._plan.fitted_.schema.input_names
        if settled is not None and not set(settled) <= set(source.names):
            settled = self._plan = None  # a column is gone
        columns = self.columns if settled is None else settled
        _, roles = resolve_columns(self.model, source, self.target, None, columns, fresh)
        only = None if self._plan is None or X is None else _asked(self._plan, X)
        if self._plan is None or self._changed(source, roles, self._plan, only):
            self._plan, self._kinds = self._settle(source, roles), source.first_kinds(roles.columns)
        return source, roles, self._plan, only

    def _changed(self, source: DatabaseSource, roles: ColumnRoles, plan: Model, only: set[int] | None) -> bool:
        """Whether a column that is asked for is of another kind than it was."""
        schema = plan.fitted_.schema
        names = roles.columns if only is None else [*(schema.name(j) for j in sorted(only)), *roles.target]
        return any(kind != self._kinds.get(name) for name, kind in source.first_kinds(names).items())

    def _settle(self, source: DatabaseSource, roles: ColumnRoles) -> Model:
        source.check(roles.columns)
        if self.model.__sklearn_is_fitted__():
            plan = self.model.empty()
        else:
            first = source.head(roles)
            if self.model._chooses_on_rows(schema_of(self.model, roles.split(first.sample)[0])):
                raise OptionError(
                    f"This {type(self.model).__name__} chooses cuts, distributions or a structure on rows, and lazily "
                    "there are none before a question comes. Say what it is to be, as in NaiveBayes('gaussian'); or "
                    "give it fitted, or model.plan(source, target): what was chosen then stays, and all counts are "
                    "those of the moment."
                )
            plan = choose_on_sample(self.model, first, roles)
        why_not = StatisticsQuery(source, plan, roles).refusal()
        if why_not is not None:
            raise OptionError(
                f"This {type(self.model).__name__} cannot be asked lazily: {why_not}. learn_from learns such rows; or "
                "say which columns to ask: columns=[…]."
            )
        return plan

    def model_for(self, X: Any) -> Model:
        """Count what some questions need.

        Parameters
        ----------
        X : table, list of dicts, or one dict
            The questions.

        Returns
        -------
        estimator
            A model of the rows that are in the table now. It knows nothing of columns that are missing in all of the
            questions, unless it is a network.
        """
        source, roles, plan, only = self._current(_rows(X))
        query = StatisticsQuery(source, plan, roles, only, anew=True)
        why_rows = too_many(query)
        if why_rows is None:
            self.choice = query.choice
            return query.count()
        self.choice = f"rows: {why_rows}"
        needed = None if only is None else {plan.fitted_.schema.name(j) for j in only}
        return source.count_rows(query.empty(), roles, needed)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : table, list of dicts, or one dict
            The questions.

        Returns
        -------
        labels : ndarray of shape (n_rows,)
            By the rows that are in the table now.
        """
        return self.model_for(X).predict(_rows(X))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return P(class | x) of each row.

        Parameters
        ----------
        X : table, list of dicts, or one dict
            The questions.

        Returns
        -------
        probabilities : ndarray of shape (n_rows, n_classes)
            Columns in the sorted order of the classes that are in the table now.
        """
        return self.model_for(X).predict_proba(_rows(X))

    def explain(self, X: Any, against: object = None) -> Explanation:
        """Return the evidence of each column of each row for each class.

        Parameters
        ----------
        X : table, list of dicts, or one dict
            The questions.
        against : label, default=None
            None: each class against the rest; or the class that the others are compared with.

        Returns
        -------
        Explanation
            By the rows that are in the table now.
        """
        found = self.model_for(X).explain(_rows(X), against=against)
        assert isinstance(found, Explanation)
        return found


def _rows(X: Any) -> Any:
    return [X] if isinstance(X, Mapping) else X


def _asked(plan: GenerativeClassifier, X: Any) -> set[int] | None:
    """The columns that have a value in one of the questions; None where a model needs all."""
    fitted = plan.fitted_
    if any(counted_as(t.distribution) == "sets" for t in fitted.terms):
        return None
    table = read_table(X)
    if table.names is None:
        return None
    schema = fitted.schema
    at = {name: j for j, name in enumerate(schema.names or ())}
    known = [(at[name], i) for i, name in enumerate(table.names) if name in at]
    return {j for j, i in known if not all(is_missing(v) for v in table.values(i))}


def _in_duckdb(frame: Any) -> Any:
    """A connection in which a data frame is a table."""
    try:
        import duckdb
    except ImportError as e:
        raise OptionError(f"A table in memory is counted by DuckDB: pip install 'tallybayes[sql]' ({e}).") from e
    connection = duckdb.connect()
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is not None and isinstance(frame, pyarrow.Table):
        checked(frame)  # DuckDB follows offsets that point outside
    try:
        connection.register("tb frame", frame)
    except Exception as e:
        raise OptionError(f"DuckDB cannot count a {type(frame).__name__}: {e}. Give a data frame.") from e
    return connection

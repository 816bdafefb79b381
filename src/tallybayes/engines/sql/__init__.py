"""Databases: rows read from them, counted in them, scored in them, and asked lazily. DuckDB, SQLite and PostgreSQL."""

from __future__ import annotations

from tallybayes.engines.sql.database import DatabaseQuery, DatabaseTable, database
from tallybayes.engines.sql.lazy_bayes import LazyBayes
from tallybayes.engines.sql.sql_scores import to_sql

__all__ = ["DatabaseQuery", "DatabaseTable", "LazyBayes", "database", "to_sql"]

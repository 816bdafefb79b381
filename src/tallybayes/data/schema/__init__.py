"""Schema and a table in its order (columns.py), and its inference (inference.py)."""

from tallybayes.data.schema.columns import KINDS, Cuts, DistributionChoice, Kind, Levels, Schema, align
from tallybayes.data.schema.inference import DECLARABLE, infer_schema

__all__ = ["DECLARABLE", "KINDS", "Cuts", "DistributionChoice", "Kind", "Levels", "Schema", "align", "infer_schema"]

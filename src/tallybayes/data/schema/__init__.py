"""Schema (columns.py), its inference (inference.py), and a table in its order (alignment.py)."""

from tallybayes.data.schema.alignment import align
from tallybayes.data.schema.columns import KINDS, Cuts, DistributionChoice, Kind, Levels, Schema
from tallybayes.data.schema.inference import DECLARABLE, infer_schema

__all__ = ["DECLARABLE", "KINDS", "Cuts", "DistributionChoice", "Kind", "Levels", "Schema", "align", "infer_schema"]

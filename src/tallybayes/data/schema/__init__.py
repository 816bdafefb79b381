"""Schema (columns.py, levels.py), its inference (inference.py), and a table in its order (alignment.py)."""

from tallybayes.data.schema.alignment import align
from tallybayes.data.schema.columns import KINDS, Choice, Cuts, Kind, Schema
from tallybayes.data.schema.inference import DECLARABLE, infer_schema
from tallybayes.data.schema.levels import Levels

__all__ = ["DECLARABLE", "KINDS", "Choice", "Cuts", "Kind", "Levels", "Schema", "align", "infer_schema"]

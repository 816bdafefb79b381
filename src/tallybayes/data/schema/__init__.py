"""What each column is (columns.py, levels.py), how that is found out (infer.py), a table in its order (align.py)."""

from tallybayes.data.schema.alignment import align
from tallybayes.data.schema.columns import KINDS, Choice, Cuts, Kind, Schema
from tallybayes.data.schema.inference import SAID, infer_schema
from tallybayes.data.schema.levels import Levels

__all__ = ["KINDS", "SAID", "Choice", "Cuts", "Kind", "Levels", "Schema", "align", "infer_schema"]

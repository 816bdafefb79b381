"""What each column is (columns.py, levels.py), how that is found out (infer.py), a table in its order (align.py)."""

from tallybayes.schema.align import align
from tallybayes.schema.columns import KINDS, Choice, Cuts, Kind, Schema
from tallybayes.schema.infer import SAID, infer_schema
from tallybayes.schema.levels import Levels

__all__ = ["KINDS", "SAID", "Choice", "Cuts", "Kind", "Levels", "Schema", "align", "infer_schema"]

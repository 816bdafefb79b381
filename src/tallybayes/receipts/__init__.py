"""Deletion receipts: what `forget` removed, what the model was before and after, and which guarantee holds."""

from tallybayes.receipts.receipt import Receipt, RecordedForgetting, load_key, make
from tallybayes.receipts.removed_rows import RemovedRows
from tallybayes.receipts.residue import fingerprint

__all__ = ["Receipt", "RecordedForgetting", "RemovedRows", "fingerprint", "load_key", "make"]

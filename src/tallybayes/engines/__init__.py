"""Learning where the data lives: files, lazy frames, databases, and engines that sum.

The verbs are methods of every classifier: ``model.plan(source, target)``, ``model.learn_from(source, target)`` and
``model.predict_to(source, to)``. What they can read is open: an *adapter* makes a `RowSource` of something. To add one,

1. subclass `RowSource` (source.py). It must say its `names` and give `batches` of columns as pyarrow tables; the rest
   has defaults that read these batches here, one after the other. An engine with workers of its own replaces `survey`
   (the pass before counting: parts of it add) and `count` (``plan.copy().partial_fit(X, y)`` on each part, the plan
   sent there by ``to_bytes``, the parts merged by ``merge_all``), and `answers`, if rows are to be scored there;
2. write a function from the thing to that source, and name it in `ADAPTERS`, by the package and the class of the thing:
   nothing is imported to recognise it. Another package calls `adapter` in place of the last step.
"""

from __future__ import annotations

from tallybayes.engines.recognise import ADAPTERS, adapter, open_source
from tallybayes.engines.source import ColumnRoles, RowSource
from tallybayes.engines.survey import Survey, survey_of

__all__ = ["ADAPTERS", "ColumnRoles", "RowSource", "Survey", "adapter", "open_source", "survey_of"]

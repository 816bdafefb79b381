"""A fitted model for other programs: as data (JSON) and as one file of JavaScript. Stands on `predictor_` alone."""

from tallybayes.export.description import FORMAT, VERSION, description, to_json
from tallybayes.export.javascript import scorer_source, to_js

__all__ = ["FORMAT", "VERSION", "description", "scorer_source", "to_js", "to_json"]

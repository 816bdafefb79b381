"""A fitted model for other programs: JSON, JavaScript, ONNX, SQL, MLflow."""

from typing import TYPE_CHECKING

from tallybayes.utils.lazy_imports import lazy_exports

if TYPE_CHECKING:
    from tallybayes.engines.sql.sql_scores import to_sql
    from tallybayes.export.compact_json import compact
    from tallybayes.export.javascript import scorer_source, to_js
    from tallybayes.export.model_json import description, to_json
    from tallybayes.export.onnx import to_onnx

__all__ = ["compact", "description", "scorer_source", "to_js", "to_json", "to_onnx", "to_sql"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "engines.sql.sql_scores": ("to_sql",),
        "export.compact_json": ("compact",),
        "export.model_json": (
            "description",
            "to_json",
        ),
        "export.javascript": (
            "scorer_source",
            "to_js",
        ),
        "export.onnx": ("to_onnx",),
    },
)

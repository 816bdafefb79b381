"""The OpenAPI document of a service: every path, every body, every status that can come back, for the model served."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tallybayes
from tallybayes.data.schema import Kind
from tallybayes.serve.http_errors import TITLES
from tallybayes.serve.live import Known
from tallybayes.serve.request_bodies import JSON
from tallybayes.serve.request_tables import ARROW, CSV
from tallybayes.serve.service_settings import Settings

Json = dict[str, Any]  # a JSON object
MOST_COLUMNS = 1000  # that are described one by one
NUMBER: Json = {"type": "number"}
TEXT: Json = {"type": "string"}
SHARE: Json = {"type": "number", "minimum": 0, "maximum": 1}
LABEL: Json = {"type": ["string", "number", "boolean"]}
CELL: Json = {"type": ["string", "number", "boolean", "null"]}
UNBOUNDED: Json = {"anyOf": [NUMBER, {"enum": ["Infinity", "-Infinity"]}]}  # a finite number, or the name of another


def many(of: Json, **more: object) -> Json:
    """An array."""
    return {"type": "array", "items": of, **more}


def record(required: Json, optional: Json | None = None) -> Json:
    """An object with these keys and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def ref(name: str) -> Json:
    """What stands among the components."""
    return {"$ref": f"#/components/schemas/{name}"}


def document(known: Known, settings: Settings) -> Json:
    """The whole document."""
    paths = _asking() | _about()
    schemas = _questions(known, settings) | _answers(known) | {"Problem": _problem()}
    if settings.learn:
        from tallybayes.serve.openapi_learning import learning_paths, learning_schemas

        paths, schemas = paths | learning_paths(), schemas | learning_schemas(settings)
    secured = settings.token_file is not None
    for path in paths.values():
        for operation in path.values():
            own = operation["responses"]
            usual = (["401", "403"] if secured and operation.get("security") != [] else []) + [
                "405", "421", "500", "503"
            ]  # fmt: skip
            own |= {status: refused(int(status)) for status in usual if status not in own}
    found: Json = {
        "openapi": "3.1.0",
        "info": {
            "title": f"{type(known.model).__name__}" + (f" of {known.target}" if known.target else ""),
            "version": tallybayes.__version__,
            "description": "A generative Bayes classifier, served by tallybayes.",
        },
        "paths": paths,
        "components": {"schemas": schemas},
    }
    if secured:
        found["security"] = [{"token": []}]
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return found


def refused(status: int) -> Json:
    """A response that is a problem."""
    return {"description": TITLES[status], "content": {"application/problem+json": {"schema": ref("Problem")}}}


def answered(about: str, content: Json) -> Json:
    """A response that is an answer."""
    return {"description": about, "content": content}


def as_json(schema: Json) -> Json:
    """Content in JSON alone."""
    return {JSON.decode(): {"schema": schema}}


def operation(name: str, about: str, ok: Json, refusals: Sequence[int], body: Json | None = None) -> Json:
    """What a path does."""
    found: Json = {"operationId": name, "summary": about}
    if body is not None:
        found["requestBody"] = {"required": True, "content": body}
    found["responses"] = {"200": ok, **{str(status): refused(status) for status in refusals}}
    return found


BODY = (400, 408, 413, 415, 422)


def _asking() -> Json:
    tables = {form.decode(): {"schema": {"type": "string", "contentMediaType": form.decode()}} for form in (CSV, ARROW)}
    predicted = answered("The class of each row", {**as_json(ref("Prediction")), **tables})
    question = {**as_json(ref("Question")), **tables}
    explained = answered("What each column says", as_json(ref("Explanation")))
    decided = answered("The answer that is expected to cost least", as_json(ref("Decision")))
    return {
        "/predict": {"post": operation("predict", "Tell the class of rows", predicted, (*BODY, 406), question)},
        "/explain": {"post": operation("explain", "Tell why", explained, BODY, as_json(ref("Explain")))},
        "/decide": {
            "post": operation("decide", "Tell the answer of least cost", decided, BODY, as_json(ref("Decide")))
        },
    }


def _about() -> Json:
    status = as_json(record({"status": TEXT}))
    text = {"text/plain; version=0.0.4; charset=utf-8": {"schema": TEXT}}
    page = {"text/html; charset=utf-8": {"schema": TEXT}}
    gets = {
        "/": ("page", "A page for people", page),
        "/description": ("description", "The model as to_json writes it", as_json({"type": "object"})),
        "/model": ("model", "What is served", as_json(ref("Model"))),
        "/openapi.json": ("openapi", "This document", as_json({"type": "object"})),
        "/metrics": ("metrics", "Counts and times, for Prometheus", text),
        "/healthz": ("healthz", "Whether the process is alive", status),
        "/readyz": ("readyz", "Whether it answers for the model", status),
    }
    found = {path: {"get": operation(name, about, answered(about, c), ())} for path, (name, about, c) in gets.items()}
    found["/description"]["get"]["responses"]["422"] = refused(422)  # a model without such a form
    for path in ("/healthz", "/readyz"):
        found[path]["get"]["security"] = []
    return found


# --- bodies ------------------------------------------------------------------------------------------------------


def cell_of(kind: Kind, labels: bool) -> Json:
    """What a column takes: numbers, or labels too."""
    return CELL if labels or kind in ("categorical", "binary") else {"type": ["number", "boolean", "null"]}


def row_schema(known: Known) -> Json:
    """A row, column by column; of very many columns in general."""
    columns = known.columns
    if len(columns.names) > MOST_COLUMNS:
        return {"type": "object", "additionalProperties": CELL}
    schema = columns.schema
    cells = dict.fromkeys(columns.names, CELL)  # dates, and names of rows, besides what is read
    cells |= {schema.name(j): cell_of(kind, j in schema.levels) for j, kind in enumerate(schema.kinds)}
    return {"type": "object", "properties": cells, "additionalProperties": False}


def _questions(known: Known, settings: Settings) -> Json:
    row = row_schema(known)
    rows = many(ref("Row"), maxItems=settings.limits.rows)
    cells = {name: many(cell) for name, cell in row.get("properties", {}).items()}
    columns: Json = {"type": "object", "properties": cells, "additionalProperties": False if cells else many(CELL)}
    prior: Json = {
        "description": "Other shares of the classes, for this question",
        "anyOf": [
            {"enum": ["uniform", "laplace"]},
            {"type": "object", "additionalProperties": {"type": "number", "minimum": 0}},
            many({"type": "number", "minimum": 0}),
        ],
    }
    loss: Json = {
        "description": "What each answer costs under each truth; the truth '*' stands for those that are not named",
        "type": "object",
        "additionalProperties": {"type": "object", "additionalProperties": NUMBER},
    }

    def question(required: Json, optional: Json) -> Json:
        forms = ({"row": ref("Row")}, {"rows": rows}, {"columns": columns})
        return {"oneOf": [record({**form, **required}, {"prior": prior, **optional}) for form in forms]}

    return {
        "Row": row,
        "Question": question({}, {}),
        "Explain": question({}, {"against": {**LABEL, "description": "The class that the others are compared with"}}),
        "Decide": question({"loss": loss}, {"reject": NUMBER})
        if known.decision is None
        else question({}, {"loss": loss, "reject": NUMBER}),
    }


def _answers(known: Known) -> Json:
    classes, notes = many(LABEL), {"notes": many(TEXT)}
    shares = many(SHARE, minItems=1)
    evidence = record({"column": TEXT, "value": CELL, "contribution": many(UNBOUNDED)})
    row = record(
        {
            "prediction": LABEL,
            "probability": shares,
            "prior": many(UNBOUNDED),
            "log_odds": many(UNBOUNDED),
            "evidence": many(evidence),
            "text": TEXT,
        }
    )
    answer: Json = {"type": [*LABEL["type"], "null"], "description": "null: rejected"}
    column = record({"name": TEXT, "kind": TEXT}, {"n_levels": {"type": "integer"}, "levels": many(CELL)})
    model = {
        "estimator": TEXT,
        "target": {"type": ["string", "null"]},
        "classes": classes,
        "class_count": many(NUMBER),
        "columns": many(column, minItems=known.columns.schema.d),
        "one_row": {**TEXT, "description": "'compiled', or why one row takes longer"},
        "generation": {"type": "integer", "description": "How many models were served, with this one"},
        "learn": {"type": "boolean"},
        "version": TEXT,
    }
    return {
        "Prediction": {
            "oneOf": [
                record({"classes": classes, "prediction": LABEL, "probability": shares}, notes),
                record({"classes": classes, "predictions": many(LABEL), "probabilities": many(shares)}, notes),
            ]
        },
        "Explanation": record({"classes": classes, "rows": many(row)}, notes),
        "Decision": {
            "oneOf": [
                record({"answers": classes, "decision": answer, "risk": many(UNBOUNDED)}, notes),
                record({"answers": classes, "decisions": many(answer), "risks": many(many(UNBOUNDED))}, notes),
            ]
        },
        "Model": record(model),
    }


def _problem() -> Json:
    return record(
        {"title": TEXT, "status": {"type": "integer"}, "detail": TEXT},
        {"column": TEXT, "row": {"type": "integer"}, "value": TEXT},
    )

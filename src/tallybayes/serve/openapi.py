"""The OpenAPI document, from the types that requests are read into and responses are written from."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import msgspec

import tallybayes
from tallybayes.serve import learning_routes as learning
from tallybayes.serve import responses as a
from tallybayes.serve.http_errors import TYPE, Problem
from tallybayes.serve.live import Known
from tallybayes.serve.request_bodies import JSON, Cell, Decide, Explain, Question
from tallybayes.serve.request_tables import ARROW, CSV
from tallybayes.serve.service_settings import Settings

Json = dict[str, Any]
TEXT: Json = {"type": "string"}
MOST_COLUMNS = 1000  # that are described one by one
ANY = (405, 421, 500, 503)
BODY = (400, 408, 413, 415, 422)
ASKED = (Question, Explain, Decide)
ANSWERED = (a.Prediction, a.Predictions, a.Explanation, a.Decision, a.Decisions, a.Model, a.Status, Problem)
LEARN = (learning.Learn, learning.Learned, learning.Forget, learning.Forgotten, learning.Examples)


def document(known: Known, settings: Settings) -> Json:
    """The whole document."""
    types = (*ASKED, *ANSWERED, *(LEARN if settings.learn else ()))
    _, schemas = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    _of_model(schemas, known, settings)
    paths = _reading() | (_learning() if settings.learn else {})
    secured = settings.token_file is not None
    for path, methods in paths.items():
        for operation in methods.values():
            open_ = path in ("/healthz", "/readyz")
            if open_:
                operation["security"] = []
            usual = (*ANY, *((401, 403) if secured and not open_ else ()))
            problem = {TYPE: {"schema": _ref("Problem")}}
            for status in (*usual, *operation.pop("refusals")):
                operation["responses"][str(status)] = {"description": HTTPStatus(status).phrase, "content": problem}
    found: Json = {
        "openapi": "3.1.0",
        "info": {
            "title": type(known.model).__name__ + (f" of {known.target}" if known.target else ""),
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


def _of_model(schemas: Json, known: Known, settings: Settings) -> None:
    """What the types do not say: the columns of this model, and which fields go together."""
    row, cell = _row(known), _one(Cell)
    schemas["Row"] = row
    cells = {name: {"type": "array", "items": of} for name, of in row.get("properties", {}).items()}
    rows = {"type": "array", "items": _ref("Row"), "maxItems": settings.limits.rows}
    for name in ("Question", "Explain", "Decide", "Learn"):
        fields = schemas.get(name, {}).get("properties", {})
        fields |= {field: of for field, of in (("row", _ref("Row")), ("rows", rows)) if field in fields}
        if "columns" in fields:
            fields["columns"] = {"type": "object", "properties": cells, "additionalProperties": False}
            if not cells:
                fields["columns"]["additionalProperties"] = {"type": "array", "items": cell}
        if "prior" in fields:
            shares = [{"enum": ["uniform", "laplace"]}, {"type": "object", "additionalProperties": {"type": "number"}}]
            fields["prior"] = {"anyOf": [*shares, {"type": "array", "items": {"type": "number"}}]}
    forms = [["row"], ["rows"], ["columns"]]
    loss = [] if known.decision is not None else ["loss"]
    _either(schemas["Question"], forms)
    _either(schemas["Explain"], forms)
    _either(schemas["Decide"], [[*form, *loss] for form in forms])
    if settings.learn:
        _either(schemas["Learn"], [["row", "label"], ["rows", "labels"]])
        _either(schemas["Forget"], [["ids"], ["subject"]])


def _either(schema: Json, forms: list[list[str]]) -> None:
    """Exactly one of these groups of required fields; "ids" goes with the plural one, "id" with the other."""
    fields: Json = schema.pop("properties")
    required = {field for form in forms for field in form}
    for key in ("type", "required", "additionalProperties"):
        schema.pop(key, None)
    schema["oneOf"] = []
    for form in forms:
        never = (required - set(form)) | {"ids" if form[0] == "row" else "id"} - set(form)
        own = {name: of for name, of in fields.items() if name not in never}
        schema["oneOf"].append({"type": "object", "properties": own, "required": form, "additionalProperties": False})


def _row(known: Known) -> Json:
    """A row, column by column; of very many columns in general."""
    columns, cell = known.columns, _one(Cell)
    if len(columns.names) > MOST_COLUMNS:
        return {"type": "object", "additionalProperties": cell}
    schema, number = columns.schema, {"type": ["number", "boolean", "null"]}
    cells = dict.fromkeys(columns.names, cell)  # dates, and names of rows, besides what is read
    for j, kind in enumerate(schema.kinds):
        cells[schema.name(j)] = cell if j in schema.levels or kind in ("categorical", "binary") else number
    return {"type": "object", "properties": cells, "additionalProperties": False}


def _one(kind: Any) -> Json:
    return dict(msgspec.json.schema(kind))


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(*names: str) -> Json:
    return {JSON: {"schema": _ref(names[0]) if len(names) == 1 else {"anyOf": [_ref(name) for name in names]}}}


def _operation(name: str, about: str, content: Json, refusals: tuple[int, ...] = (), body: Json | None = None) -> Json:
    found: Json = {
        "operationId": name,
        "summary": about,
        "responses": {"200": {"description": about, "content": content}},
        "refusals": refusals,
    }
    return found | ({"requestBody": {"required": True, "content": body}} if body else {})


def _reading() -> Json:
    tables: Json = {CSV: {"schema": TEXT}, ARROW: {"schema": {**TEXT, "contentEncoding": "binary"}}}
    predicted = {**_json("Prediction", "Predictions"), **tables}
    found: Json = {
        "/predict": {
            "post": _operation(
                "predict", "The class of rows", predicted, (*BODY, 406), {**_json("Question"), **tables}
            )
        },
        "/explain": {
            "post": _operation("explain", "The evidence of each column", _json("Explanation"), BODY, _json("Explain"))
        },
        "/decide": {
            "post": _operation(
                "decide", "The decision with the smallest expected loss", _json("Decision", "Decisions"), BODY,
                _json("Decide"),
            )
        },
    }  # fmt: skip
    text, html = {"text/plain": {"schema": TEXT}}, {"text/html": {"schema": TEXT}}
    anything = {JSON: {"schema": {"type": "object"}}}
    for path, about, content in (
        ("/", "A page for people", html),
        ("/model", "What is served", _json("Model")),
        ("/openapi.json", "This document", anything),
        ("/description", "The model as to_json writes it", anything),
        ("/metrics", "Counts and times, for Prometheus", text),
        ("/healthz", "Whether the process is alive", _json("Status")),
        ("/readyz", "Whether it predicts, and learns if it should", _json("Status")),
    ):
        refusals = (422,) if path == "/description" else ()  # a model without such a form
        found[path] = {"get": _operation(path.strip("/.") or "page", about, content, refusals)}
    return found


def _learning() -> Json:
    learn = _operation("learn", "Learn rows", _json("Learned"), (*BODY, 409), _json("Learn"))
    key = {"type": "string", "pattern": f"^{learning.KEY}$"}
    learn["parameters"] = [{"name": "Idempotency-Key", "in": "header", "required": False, "schema": key}]
    examples = _operation("examples", "List what was learned", _json("Examples"), (404, 422))
    _, asked = msgspec.json.schema_components((learning.Listing,))
    examples["parameters"] = [
        {"name": name, "in": "query", "required": False, "schema": of}
        for name, of in asked["Listing"]["properties"].items()
    ]
    forget = _operation("forget", "Forget examples", _json("Forgotten"), (*BODY, 409), _json("Forget"))
    return {"/learn": {"post": learn}, "/forget": {"post": forget}, "/examples": {"get": examples}}

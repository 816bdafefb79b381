"""The part of the OpenAPI document that a service has which learns."""

from __future__ import annotations

from tallybayes.serve.learning_routes import KEY, LONGEST_ID, MOST_LISTED
from tallybayes.serve.ledger import Example
from tallybayes.serve.openapi import (
    BODY,
    CELL,
    LABEL,
    NUMBER,
    TEXT,
    Json,
    answered,
    as_json,
    many,
    operation,
    record,
    ref,
)
from tallybayes.serve.service_settings import Settings

NAME: Json = {"type": "string", "minLength": 1, "maxLength": LONGEST_ID}
COUNT: Json = {"type": "integer", "minimum": 0}


def learning_paths() -> Json:
    """learn, forget and examples."""
    learned = answered("What became of the examples, once they are on disk", as_json(ref("Learned")))
    forgotten = answered("What became of them, once they are gone", as_json(ref("Forgotten")))
    listed = answered("The examples, in their order", as_json(ref("Examples")))
    learn = operation("learn", "Learn rows", learned, (*BODY, 409), as_json(ref("Learn")))
    learn["parameters"] = [
        {
            "name": "Idempotency-Key",
            "in": "header",
            "required": False,
            "description": "Names the examples of this request: sent again with it, they are counted once",
            "schema": {"type": "string", "pattern": f"^{KEY}$"},
        }
    ]
    examples = operation("examples", "List what was learned", listed, (404, 422))
    examples["parameters"] = [
        {"name": "after", "in": "query", "required": False, "schema": TEXT},
        {"name": "limit", "in": "query", "required": False, "schema": {**COUNT, "minimum": 1, "maximum": MOST_LISTED}},
        {"name": "subject", "in": "query", "required": False, "schema": TEXT},
    ]
    forget = operation("forget", "Forget examples", forgotten, (*BODY, 409), as_json(ref("Forget")))
    return {"/learn": {"post": learn}, "/forget": {"post": forget}, "/examples": {"get": examples}}


def learning_schemas(settings: Settings) -> Json:
    """The bodies of these."""
    rows = many(ref("Row"), maxItems=settings.limits.rows)
    subject = {"subject": {**NAME, "description": "Whom the rows are about"}}
    one = record({"row": ref("Row"), "label": LABEL}, {"id": NAME, **subject})
    more = record({"rows": rows, "labels": many(LABEL)}, {"ids": many(NAME), **subject})
    cells: Json = {"type": "object", "additionalProperties": CELL}
    told = {"id": TEXT, "row": cells, "label": LABEL, "time": NUMBER, "subject": {"type": ["string", "null"]}}
    assert set(told) == set(Example.__struct_fields__)
    return {
        "Learn": {"oneOf": [one, more]},
        "Learned": record({"learned": COUNT, "again": COUNT, "ids": many(TEXT)}),
        "Forget": {"oneOf": [record({"ids": many(TEXT)}), record({"subject": TEXT})]},
        "Forgotten": record({"forgotten": COUNT, "already": COUNT, "unknown": many(TEXT)}),
        "Examples": record({"examples": many(record(told)), "count": COUNT, "next": {"type": ["string", "null"]}}),
    }

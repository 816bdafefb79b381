"""The OpenAPI document is true: schemathesis asks whatever it allows, and what it does not, and gets what it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    negative_data_rejection,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from tests.quick import examples

from .service import melons, serving

CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    unsupported_method,
]


@pytest.fixture(scope="module", params=[(), ("--learn", "--new-classes")], ids=["reading", "online learning"])
def document(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Any]:
    with serving(melons(tmp_path_factory.mktemp("openapi")), *request.param) as running:
        yield schemathesis.openapi.from_url(f"http://127.0.0.1:{running.port}/openapi.json")


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["allowed", "not allowed"])
def test_no_answer_that_the_document_does_not_know(document: Any, mode: GenerationMode) -> None:
    """Each operation is asked; allowed questions are answered or refused for a reason, others are refused."""
    asked = []
    for found in document.get_all_operations():
        operation = found.ok()

        @given(case=operation.as_strategy(generation_mode=mode))
        @settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
        def ask(case: Any) -> None:
            rejects = [negative_data_rejection] if case.media_type in (None, "application/json") else []
            case.call_and_validate(checks=[*CHECKS, *rejects])

        try:
            ask()
        except Unsatisfiable:  # there is nothing that such an operation would not allow
            continue
        asked.append(operation.label)
    assert len(asked) >= (9 if mode == GenerationMode.POSITIVE else 3), asked

"""JSON Schema is a projection of the types that decode."""

import json

import pytest

from conftest import RunWayproof
from wayproof.schemas import SCHEMAS, json_schema


@pytest.mark.parametrize("name", list(SCHEMAS))
def test_every_schema_describes_its_fields(name: str) -> None:
    """A schema names its record, its fields, and what is required."""
    schema = json_schema(name)
    record = schema["$defs"][schema["$ref"].rpartition("/")[2]]
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert record["description"]
    assert len(record["properties"]) >= 2


def test_bounds_are_in_the_schema() -> None:
    """What the decoder refuses, the schema says."""
    task = json_schema("task")["$defs"]["TaskLine"]["properties"]["latency_budget_ms"]
    assert {"type": "integer", "minimum": 1, "maximum": 2**53 - 1} in task["anyOf"]


def test_the_command_prints_the_schema_alone(wayproof: RunWayproof) -> None:
    """stdout carries data only."""
    ran = wayproof("schema", "task")
    assert ran.status == 0
    assert json.loads(ran.out) == json_schema("task")
    assert wayproof("schema", "nothing").status == 2

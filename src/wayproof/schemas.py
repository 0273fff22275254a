"""JSON Schema of what goes in and comes out, made from the types that do the decoding."""

from importlib import import_module
from typing import Any

__all__ = ["SCHEMAS", "json_schema"]

SCHEMAS: dict[str, tuple[str, str]] = {
    "task": ("wayproof.fitness.task", "TaskLine"),
    "packet": ("wayproof.fitness.packet", "PacketLine"),
    "case": ("wayproof.fitness.cases", "CaseFile"),
    "benchmark": ("wayproof.fitness.suite", "Benchmark"),
    "result": ("wayproof.fitness.result", "TaskResult"),
    "sufficiency-debt": ("wayproof.fitness.result", "SufficiencyDebt"),
    "latency-debt": ("wayproof.fitness.result", "LatencyDebt"),
    "manifest": ("wayproof.bundle", "Manifest"),
}
"""Name on the command line -> where its type is defined."""


def json_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a record; KeyError for an unknown name."""
    import msgspec

    module, type_name = SCHEMAS[name]
    schema = msgspec.json.schema(getattr(import_module(module), type_name))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}

"""JSON Schema of what goes in and comes out, made from the types that do the decoding.

The words come from the same place: a record's docstring says what it is, its
``Attributes`` section (or a string below a field) what each field means.
"""

import ast
import inspect
import re
import textwrap
from importlib import import_module
from typing import Any

import msgspec

__all__ = ["SCHEMAS", "description_of", "json_schema", "meanings_of", "record_type"]

SCHEMAS: dict[str, tuple[str, str]] = {
    "task": ("wayproof.fitness.task", "TaskLine"),
    "packet": ("wayproof.fitness.packet", "PacketLine"),
    "case": ("wayproof.fitness.cases", "CaseFile"),
    "benchmark": ("wayproof.fitness.benchmark", "Benchmark"),
    "result": ("wayproof.evidence.fitness_records", "TaskResult"),
    "sufficiency-debt": ("wayproof.evidence.fitness_records", "SufficiencyDebt"),
    "latency-debt": ("wayproof.evidence.fitness_records", "LatencyDebt"),
    "suite-header": ("wayproof.evidence.recovery_records", "SuiteHeader"),
    "grid": ("wayproof.evidence.recovery_records", "GridRecord"),
    "trace": ("wayproof.evidence.recovery_records", "Trace"),
    "trial-result": ("wayproof.evidence.recovery_records", "Result"),
    "recovery-summary": ("wayproof.recovery.summary", "Summary"),
    "suite-summary": ("wayproof.evidence.fitness_summary", "SuiteRecord"),
    "rejection-episode": ("wayproof.evidence.rejection_records", "Episode"),
    "rejection-session": ("wayproof.evidence.rejection_records", "SessionRecord"),
    "rejection-summary": ("wayproof.evidence.rejection_records", "Summary"),
    "agent-protocol": ("wayproof.recovery.agents.messages", "AgentProtocol"),
    "manifest": ("wayproof.bundles.manifest", "Manifest"),
}
"""Name on the command line -> where its type is defined."""


def record_type(name: str) -> Any:
    """Return the type behind a schema's name; KeyError for an unknown one."""
    module, type_name = SCHEMAS[name]
    return getattr(import_module(module), type_name)


def json_schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a record, with what each field means."""
    record = record_type(name)
    schema = msgspec.json.schema(record)
    for title, definition in schema.get("$defs", {}).items():
        _put_words(definition, _record_titled(title, record))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _put_words(definition: dict[str, Any], record: type[msgspec.Struct] | None) -> None:
    if record is None:
        return
    definition["description"] = description_of(record)
    for field, meaning in meanings_of(record).items():
        if field in definition.get("properties", {}):
            definition["properties"][field]["description"] = meaning


def _record_titled(title: str, root: Any) -> type[msgspec.Struct] | None:
    """Find the record that a definition describes, in the modules its root knows."""
    module = inspect.getmodule(root)
    found = root if root.__name__ == title else getattr(module, title, None)
    return found if isinstance(found, type) and issubclass(found, msgspec.Struct) else None


def _own_docstring(record: Any) -> str:
    return inspect.cleandoc(vars(record).get("__doc__") or "") if isinstance(record, type) else ""


def description_of(record: Any) -> str:
    """Return what a record is: its docstring, without the fields."""
    text, _, _ = _own_docstring(record).partition("\nAttributes\n")
    return _plain(text.strip())


def meanings_of(record: type[msgspec.Struct]) -> dict[str, str]:
    """Return what each field means, by its name.

    The words stand in the ``Attributes`` section of the class's docstring, in a string
    below the field, or in ``msgspec.Meta(description=…)``; a base class speaks for the
    fields that it brings.
    """
    found: dict[str, str] = {}
    for one in reversed(record.__mro__):
        if issubclass(one, msgspec.Struct) and one is not msgspec.Struct:
            found |= _attributes_section(_own_docstring(one)) | _strings_below_fields(one)
    info = msgspec.inspect.type_info(record)
    if isinstance(info, msgspec.inspect.StructType):
        for field in info.fields:
            extra = getattr(field.type, "extra_json_schema", None) or {}
            if field.name not in found and "description" in extra:
                found[field.name] = str(extra["description"])
    return {name: _plain(text) for name, text in found.items()}


def _attributes_section(docstring: str) -> dict[str, str]:
    _, _, section = docstring.partition("\nAttributes\n")
    found: dict[str, str] = {}
    names: list[str] = []
    for line in section.split("\n")[1:]:
        if line and not line[0].isspace():
            if not re.fullmatch(r"\w+(?:, \w+)*", line):
                break  # the next section
            names = line.split(", ")
        for name in names if line[:1].isspace() else []:
            found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    return found


def _strings_below_fields(record: type) -> dict[str, str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(record)))
    except (OSError, TypeError):
        return {}
    (definition,) = tree.body
    if not isinstance(definition, ast.ClassDef):
        return {}
    found: dict[str, str] = {}
    for field, below in zip(definition.body, definition.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=text)):
                found[name] = inspect.cleandoc(str(text))
    return found


def _plain(text: str) -> str:
    """Bring a docstring's markup into Markdown's."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)
    return text.replace("``", "`")

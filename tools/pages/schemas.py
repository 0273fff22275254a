"""The page of records, from the types that decode them and from their docstrings."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect as types
from tools.pages.markdown import anchor, sentence, table

from wayproof.canonical import MAX_SAFE_INTEGER
from wayproof.fitness.task import DEFAULTS, TaskLine
from wayproof.schemas import SCHEMAS, description_of, meanings_of, record_type

_INTRO = """\
# Records

What goes in and what comes out. `wayproof schema NAME` prints the JSON Schema (2020-12) of a
record, made from the same types that decode it:

```sh
wayproof schema task > task.schema.json
```

"Default" is what a missing field degrades to; *required* means that there is none. In records
that go in, null counts as missing."""

_SIMPLE: dict[type[types.Type], str] = {
    types.AnyType: "any JSON value",
    types.NoneType: "null",
    types.BoolType: "true or false",
    types.IntType: "integer",
    types.FloatType: "number",
    types.StrType: "text",
    types.BytesType: "base64 text",
    types.RawType: "any JSON value",
}
_DEGRADES_TO: dict[Any, object] = {TaskLine: DEFAULTS}
"""Records whose null fields take a value that stands elsewhere."""


def body() -> str:
    """Return the page."""
    named = {name: record_type(name) for name in SCHEMAS}
    parts = [_INTRO, table(["name", "what it is"], _overview(named))]
    told: set[Any] = set()
    for name, kind in named.items():
        parts += _record(name, kind, told)
    return "\n\n".join(parts)


def records_within(name: str) -> list[Any]:
    """List a named record and the records inside it."""
    waiting, found = [record_type(name)], []
    while waiting:
        kind = waiting.pop()
        info = types.type_info(kind)
        if isinstance(info, types.StructType):
            found.append(kind)
        waiting += [inner for inner in _structs_within(info) if inner not in found]
    return found


def _overview(named: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, kind in named.items():
        yield f"[`{name}`](#{anchor(name)})", description_of(kind).partition("\n")[0]


def _record(name: str, kind: Any, told: set[Any]) -> Iterator[str]:
    """Yield a record's section, then those of the records inside it that are not told yet."""
    told.add(kind)
    yield f"## {name}"
    if description := description_of(kind):
        yield description
    info = types.type_info(kind)
    if not isinstance(info, types.StructType):
        yield f"One of: {_shown(info)}."
    else:
        yield table(["field", "type", "default", "meaning"], _rows(info))
        yield f"Other keys are {'refused' if info.forbid_unknown_fields else 'ignored'}."
    for inner in _structs_within(info):
        if inner not in told and inner not in map(record_type, SCHEMAS):
            yield from _record(inner.__name__, inner, told)


def _rows(info: types.StructType) -> Iterator[tuple[str, str, str, str]]:
    meanings = meanings_of(info.cls)
    if info.tag is not None:
        yield f"`{info.tag_field}`", f'always `"{info.tag}"`', "*required*", "Which record this is."
    for field in info.fields:
        yield (
            f"`{field.encode_name}`",
            _shown(field.type),
            _default(info.cls, field),
            sentence(meanings.get(field.name, "")),
        )


def _default(record: Any, field: types.Field) -> str:
    if field.required:
        return "*required*"
    value = field.default
    if value is msgspec.NODEFAULT and field.default_factory is not msgspec.NODEFAULT:
        value = field.default_factory()
    if value is None:
        value = getattr(_DEGRADES_TO.get(record), field.name, None)
    if value is msgspec.NODEFAULT or value is msgspec.UNSET:
        return "absent"
    return f"`{msgspec.json.encode(value).decode()}`"


# -- types in words -------------------------------------------------------------------


def _shown(kind: types.Type) -> str:
    """Say a type, its bounds included."""
    match kind:
        case types.Metadata():
            text = _shown(kind.type)
        case types.UnionType():
            words = [_shown(one) for one in kind.types]
            if {"integer", "number"} <= set(words):
                words.remove("integer")
            text = " or ".join(words)
        case types.LiteralType():
            text = " or ".join(f"`{msgspec.json.encode(value).decode()}`" for value in kind.values)
        case types.TupleType():
            text = f"list of exactly: {', '.join(map(_shown, kind.item_types))}"
        case types.CollectionType():
            text = f"list of {_shown(kind.item_type)}{_bounds(kind)}"
        case types.DictType():
            text = f"object of {_shown(kind.value_type)}{_bounds(kind)}"
        case types.StructType():
            name = _section_name(kind.cls)
            text = f"[{name}](#{anchor(name)})"
        case _:
            unknown = type(kind).__name__.removesuffix("Type").lower()
            text = _SIMPLE.get(type(kind), unknown) + _bounds(kind)
    return text


def _section_name(kind: type[msgspec.Struct]) -> str:
    return next((name for name in SCHEMAS if record_type(name) is kind), kind.__name__)


def _bounds(kind: types.Type) -> str:
    signs = {"ge": "≥ ", "gt": "> ", "le": "≤ ", "lt": "< "}
    signs |= {"min_length": "length ≥ ", "max_length": "length ≤ ", "pattern": "matching "}
    found = [
        f"{sign}{_bound(value)}"
        for name, sign in signs.items()
        if (value := getattr(kind, name, None)) is not None
    ]
    return f" ({', '.join(found)})" if found else ""


def _bound(value: Any) -> str:
    if isinstance(value, str):
        return f"`{value}`"
    return "2^53-1" if value == MAX_SAFE_INTEGER else f"{value:g}"


def _structs_within(info: types.Type) -> Iterator[Any]:
    """Yield the record types that stand in the fields of ``info``, in their order."""
    if isinstance(info, types.StructType):
        for field in info.fields:
            yield from _structs_at(field.type)
    else:
        yield from _structs_at(info)


def _structs_at(kind: types.Type) -> Iterator[Any]:
    if isinstance(kind, types.StructType):
        yield kind.cls
    inner = [getattr(kind, name, None) for name in ("type", "item_type", "value_type")]
    inner += [*getattr(kind, "types", ()), *getattr(kind, "item_types", ())]
    for one in inner:
        if isinstance(one, types.Type):
            yield from _structs_at(one)

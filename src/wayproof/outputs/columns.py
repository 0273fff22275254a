"""A bundle's records as typed columns, for exports.

Types come from the records' own: a reader that guesses them from the lines takes a column that
begins with nulls for one of nulls. An export is never the evidence: the JSON Lines are.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from wayproof.bundles.kinds import load
from wayproof.bundles.reader import Bundle
from wayproof.canonical import canonical_bytes
from wayproof.errors import InputError

__all__ = ["Column", "Table", "tables_of"]

_TRACES: Final = "traces.jsonl"


class Column(NamedTuple):
    """A column: its name, and its type.

    Attributes
    ----------
    kind
        ``integer``, ``number``, ``boolean``, ``text``, ``texts``, ``integers``, or ``json``: the
        canonical JSON text of a value that has no type of its own.
    """

    name: str
    kind: str


class Table(NamedTuple):
    """A table of an export.

    Attributes
    ----------
    name
        What its file is called.
    columns
        Its columns, in order.
    source, source_sha256
        The evidence file that it was made from, and its digest.
    rows
        Makes its rows anew each time: a mapping each; a key that is missing is null.
    """

    name: str
    columns: tuple[Column, ...]
    source: str
    source_sha256: str
    rows: Callable[[], Iterator[Mapping[str, Any]]]


def tables_of(bundle: Bundle) -> list[Table]:
    """Return the tables of a bundle whose digests were checked.

    Raises
    ------
    InputError
        For a kind of bundle that holds no records.
    """
    tables = []
    for file in bundle.kind.files:
        if file.record is None or not file.name.endswith(".jsonl") or not bundle.has(file.name):
            continue
        path, digest = bundle.folder / file.name, bundle.digest(file.name)
        if file.name == _TRACES:
            tables.append(Table("steps", _STEPS, file.name, digest, _Steps(path)))
        else:
            columns = tuple(_columns(load(file.record)))
            name = file.name.removesuffix(".jsonl")
            tables.append(Table(name, columns, file.name, digest, _Lines(path, columns)))
    if not tables:
        raise InputError(
            "holds no records to export", file=str(bundle.folder), found=f"a {bundle.kind.name}"
        )
    return tables


# -- types --------------------------------------------------------------------------------


def _columns(record: Any) -> Iterator[Column]:
    """Yield the columns of a record's type; of a union, those of all its members."""
    info = msgspec.inspect.type_info(record)
    members = info.types if isinstance(info, msgspec.inspect.UnionType) else (info,)
    kinds: dict[str, set[str]] = {}
    for member in members:
        if not isinstance(member, msgspec.inspect.StructType):
            raise TypeError(f"not a record: {member}")
        if member.tag is not None and member.tag_field is not None:
            kinds.setdefault(member.tag_field, set()).add("text")
        for field in member.fields:
            kinds.setdefault(field.encode_name, set()).add(_kind(field.type))
    for name in sorted(kinds):
        yield Column(name, kinds[name].pop() if len(kinds[name]) == 1 else "json")


def _kind(kind: msgspec.inspect.Type) -> str:
    known = {_one(member) for member in _members(kind)}
    known.discard("null")
    if known == {"integer", "number"}:
        return "number"
    return known.pop() if len(known) == 1 else "json"


def _members(kind: msgspec.inspect.Type) -> tuple[msgspec.inspect.Type, ...]:
    return kind.types if isinstance(kind, msgspec.inspect.UnionType) else (kind,)


def _one(kind: msgspec.inspect.Type) -> str:  # noqa: PLR0911 - one return a type
    if isinstance(kind, msgspec.inspect.Metadata):
        return _one(kind.type)
    if isinstance(kind, msgspec.inspect.NoneType):
        return "null"
    if isinstance(kind, msgspec.inspect.BoolType):
        return "boolean"
    if isinstance(kind, msgspec.inspect.IntType):
        return "integer"
    if isinstance(kind, msgspec.inspect.FloatType):
        return "number"
    if isinstance(kind, msgspec.inspect.StrType):
        return "text"
    if isinstance(kind, msgspec.inspect.LiteralType):
        return "text" if all(isinstance(value, str) for value in kind.values) else "json"
    if isinstance(kind, (msgspec.inspect.ListType, msgspec.inspect.VarTupleType)):
        return _LISTS.get(_kind(kind.item_type), "json")
    if isinstance(kind, msgspec.inspect.TupleType):
        items = {_kind(item) for item in kind.item_types}
        return _LISTS.get(items.pop(), "json") if len(items) == 1 else "json"
    return "json"


_LISTS: Final = {"text": "texts", "integer": "integers"}


# -- rows ---------------------------------------------------------------------------------


class _Lines:
    """The lines of a file as rows; what has no type of its own becomes JSON."""

    def __init__(self, path: Path, columns: tuple[Column, ...]) -> None:
        self._path = path
        self._as_json = [column.name for column in columns if column.kind == "json"]

    def __call__(self) -> Iterator[Mapping[str, Any]]:
        decode = msgspec.json.Decoder().decode
        with self._path.open("rb") as file:
            for line in file:
                row = decode(line)
                for name in self._as_json:
                    if row.get(name) is not None:
                        row[name] = _json_text(row[name])
                yield row


def _json_text(value: Any) -> str:
    return canonical_bytes(value).decode("utf-8")


_STEPS: Final = (
    Column("policy", "text"),
    Column("scenario_id", "text"),
    Column("policy_seed", "integer"),
    Column("step", "integer"),
    Column("phase", "text"),
    Column("action", "text"),
    Column("move", "integers"),
    Column("accepted", "boolean"),
    Column("rejection", "text"),
    Column("position", "integers"),
    Column("spent", "integer"),
)


class _Steps:
    """The steps of all traces: a row each, numbered from 0 within its trial."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __call__(self) -> Iterator[Mapping[str, Any]]:
        with self._path.open("rb") as file:
            for line in file:
                trace = json.loads(line)
                trial = {name: trace[name] for name in ("policy", "policy_seed", "scenario_id")}
                for number, step in enumerate(trace["steps"]):
                    move = step["action"].get("move")
                    yield {
                        **trial,
                        **step,
                        "action": "finish" if move is None else "move",
                        "move": move,
                        "step": number,
                    }

"""A bundle's records as typed columns, for exports.

Types come from the records' own: a reader that guesses them from the lines takes a column that
begins with nulls for one of nulls. An export is never the evidence: the JSON Lines are.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from wayproof.bundles.kinds import load
from wayproof.bundles.reader import Bundle
from wayproof.errors import InputError

__all__ = ["Column", "Row", "Table", "tables_of"]

_TRACES: Final = "traces.jsonl"

Row = Sequence[Any]


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
        Makes its rows anew each time: the values of its columns; a key that is missing is null.
    """

    name: str
    columns: tuple[Column, ...]
    source: str
    source_sha256: str
    rows: Callable[[], Iterator[Row]]


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


_TYPES: Final[Mapping[str, Any]] = {
    "boolean": bool | None,
    "integer": int | None,
    "integers": list[int] | None,
    "json": msgspec.Raw,
    "number": float | int | None,
    "text": str | None,
    "texts": list[str] | None,
}
_NULL: Final = msgspec.Raw(b"null")


class _Lines:
    """The lines of a file as rows. What has no type of its own is its text, canonical already."""

    def __init__(self, path: Path, columns: tuple[Column, ...]) -> None:
        self._path = path
        self._as_json = [at for at, column in enumerate(columns) if column.kind == "json"]
        # A tag field is a column like any other here, so names that are no identifiers may come.
        fields = [
            (f"f{at}", _TYPES[column.kind], _NULL if column.kind == "json" else None)
            for at, column in enumerate(columns)
        ]
        names = {f"f{at}": column.name for at, column in enumerate(columns)}
        self._row = msgspec.defstruct("Row", fields, rename=names)
        self._cells = attrgetter(*names)

    def __call__(self) -> Iterator[Row]:
        decode, cells = msgspec.json.Decoder(self._row).decode, self._cells
        with self._path.open("rb") as file:
            for line in file:
                row = list(cells(decode(line)))
                for at in self._as_json:
                    text = bytes(row[at])
                    row[at] = None if text == b"null" else text.decode("utf-8")
                yield row


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

    def __call__(self) -> Iterator[Row]:
        decode = msgspec.json.Decoder().decode
        with self._path.open("rb") as file:
            for line in file:
                trace = decode(line)
                for number, step in enumerate(trace["steps"]):
                    move = step["action"].get("move")
                    yield (
                        trace["policy"],
                        trace["scenario_id"],
                        trace["policy_seed"],
                        number,
                        step["phase"],
                        "finish" if move is None else "move",
                        move,
                        step["accepted"],
                        step["rejection"],
                        step["position"],
                        step["spent"],
                    )

"""The packet: what a navigation surface returned, captured earlier, never run here."""

from operator import is_
from typing import Annotated, Any

import msgspec

from wayproof.canonical import MAX_SAFE_INTEGER
from wayproof.evidence.fitness_records import PositiveInt
from wayproof.fitness.plain import plain_object
from wayproof.fitness.task import refuse_unencodable
from wayproof.strict_json import convert_typed, refuse_unsafe_numbers

__all__ = ["NO_PACKET", "Packet", "PacketLine", "Row", "packet_of"]

NonNegative = Annotated[float, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)]


class Row(msgspec.Struct, frozen=True, gc=False):
    """One selected row: its identity, and the text an agent saw beside it.

    Attributes
    ----------
    kind_id, row_id
        Together the row's id, ``kind_id:row_id``; a row with only one of them has none.
    artifact_ids
        Further ids that the row points at.
    title, summary, reason
        Text that carries scent.
    """

    kind_id: str | None = None
    row_id: str | None = None
    artifact_ids: list[str] | None = None
    title: str | None = None
    summary: str | None = None
    reason: str | None = None


class Packet(msgspec.Struct, frozen=True, gc=False):
    """A captured route packet. Unknown keys are kept out of scoring.

    Attributes
    ----------
    first_contact_command
        The agent's first navigation command, as typed.
    command_used
        The command that made this packet; the first contact when not given.
    wall_ms
        Milliseconds the route took; missing means not measured, never 0.
    timed_out
        Whether the route was cut off.
    error
        Null, text or object; a non-empty one is an error.
    selected_artifacts
        Ids the packet pointed at.
    selected_rows
        Rows it pointed at.
    summary, title, route_hint
        Text that carries scent.
    attempt
        Which try of the task this is, from 1; needed where a task has several packets.
    """

    first_contact_command: str | None = None
    command_used: str | None = None
    wall_ms: NonNegative | None = None
    timed_out: bool | None = None
    error: str | dict[str, Any] | msgspec.UnsetType | None = msgspec.UNSET
    selected_artifacts: list[str] | None = None
    selected_rows: list[Row] | None = None
    summary: str | None = None
    title: str | None = None
    route_hint: str | None = None
    attempt: PositiveInt | None = None


class PacketLine(Packet, frozen=True, gc=False):
    """A packet as a line of a packets file: joined to its task by ``task_id``.

    Attributes
    ----------
    task_id
        The task that it was captured for.
    """

    task_id: str | None = None


NO_PACKET = Packet(error="no packet captured")
"""What a task is judged by when nothing was captured for it."""

PACKET_FIELDS = tuple(name for name in Packet.__struct_fields__ if name != "attempt")
_SHOWN = tuple(f"packet.{name}" for name in PACKET_FIELDS)
_ERROR_AT = PACKET_FIELDS.index("error")
_values = msgspec.structs.astuple


def defaulted_packet_fields(packet: Packet) -> list[str]:
    """List the packet fields that were missing or null (a null ``error`` is a value)."""
    values = _values(packet)
    key = bytes(map(is_, values, _NONES)), values[_ERROR_AT] is msgspec.UNSET
    names = _DEFAULTED.get(key)
    if names is None:
        is_missing, error_is_missing = key
        names = _DEFAULTED[key] = [
            name
            for at, name in enumerate(_SHOWN)
            if (error_is_missing if at == _ERROR_AT else is_missing[at])
        ]
    return names


_NONES = (None,) * len(Packet.__struct_fields__)
_DEFAULTED: dict[tuple[bytes, bool], list[str]] = {}
"""The names by which fields are missing: at most two thousand, and few in any one file."""


def packet_of(mapping: Any, *, prefix: str = "") -> Packet:
    """Read a mapping as a packet, strictly.

    Raises
    ------
    InputError
        For a field of the wrong type or out of range.
    """
    packet = convert_typed(plain_object(mapping, prefix or "packet"), Packet, prefix=prefix)
    refuse_unencodable(packet, prefix or "packet")
    if isinstance(packet.error, dict):
        refuse_unsafe_numbers(packet.error, f"{prefix}.error".lstrip("."))
    return packet

"""What scoring keeps of each packet while it sorts: a fixed number of bytes, by name.

Records sort as bytes: by the rank of the task, then by attempt, then by where the packet
stands in its file.
"""

import struct
from typing import Final, NamedTuple

from wayproof.fitness.aggregate import Shape

__all__ = [
    "ATTEMPT_KEY",
    "RANK_KEY",
    "SHAPE_BYTES",
    "PackedRecord",
    "pack",
    "rank_key",
    "unpack",
    "unpack_shape",
]

_KEY: Final = ">QQQ"
_SHAPE: Final = "BBBIIIIIIIB"
_LAYOUT: Final = struct.Struct(f"{_KEY}{_SHAPE}dHQII")
_PACKED_SHAPE: Final = struct.Struct(f">{_SHAPE}")
_RANK: Final = struct.Struct(">Q")
_UNMEASURED_MS: Final = -1.0

RANK_KEY: Final = slice(0, 8)
"""The bytes of a record that are equal for packets of one task."""
ATTEMPT_KEY: Final = slice(0, 16)
"""The bytes of a record that are equal for packets of one task and attempt."""
SHAPE_BYTES: Final = slice(struct.calcsize(_KEY), struct.calcsize(f"{_KEY}{_SHAPE}"))
"""The bytes of a record that hold its shape; equal shapes have equal bytes."""


class PackedRecord(NamedTuple):
    """One scored packet.

    ``offset`` says where the packet's line starts in its file. The result's line and the
    lines of its debts stand one after the other in the store of the chunk
    ``chunk_number``, from ``stored_at``; ``result_bytes`` is 0 where none was written.
    """

    rank: int
    attempt: int
    offset: int
    fact_mask: int
    latency_code: int
    first_contact_known: int
    route_code: int
    found_count: int
    expected_count: int
    relevant_count: int
    selected_count: int
    found_term_count: int
    term_count: int
    vacuous: int
    packed_wall_ms: float
    chunk_number: int
    stored_at: int
    result_bytes: int
    debts_bytes: int

    @property
    def wall_ms(self) -> float | None:
        """The wall time; None when nobody measured it."""
        return None if self.packed_wall_ms == _UNMEASURED_MS else self.packed_wall_ms


def pack(  # noqa: PLR0913 - the parts of one record, all named
    shape: Shape,
    wall_ms: float | None,
    *,
    rank: int,
    attempt: int,
    offset: int,
    chunk_number: int,
    stored_at: int,
    result_bytes: int,
    debts_bytes: int,
) -> bytes:
    """Write a record."""
    return _LAYOUT.pack(
        rank,
        attempt,
        offset,
        *shape,
        _UNMEASURED_MS if wall_ms is None else wall_ms,
        chunk_number,
        stored_at,
        result_bytes,
        debts_bytes,
    )


def unpack(record: bytes) -> PackedRecord:
    """Read a record."""
    return _new_record(PackedRecord, _LAYOUT.unpack(record))


_new_record = tuple.__new__


def unpack_shape(packed: bytes) -> Shape:
    """Read the shape that the :data:`SHAPE_BYTES` of a record hold."""
    return Shape._make(_PACKED_SHAPE.unpack(packed))


def rank_key(rank: int) -> bytes:
    """Return what the records of a task begin with."""
    return _RANK.pack(rank)

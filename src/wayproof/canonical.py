"""Values to RFC 8785 bytes to SHA-256.

Two writers give the same bytes. :func:`canonical_bytes` takes any JSON value and uses
the ``rfc8785`` package. :func:`record_bytes` takes a :class:`Record` and uses msgspec's
encoder, which is far faster; it agrees because every record declares its fields in
sorted order and carries whole numbers as integers (a property test holds the two
against each other).
"""

import hashlib
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from wayproof.decoder_errors import NOWHERE, fault_in, value_at
from wayproof.errors import InputError
from wayproof.text import quoted

__all__ = [
    "MAX_SAFE_INTEGER",
    "Record",
    "canonical_bytes",
    "canonical_number",
    "decode_record_line",
    "record_bytes",
    "record_lines",
    "sha256_hex",
]

MAX_SAFE_INTEGER = 2**53 - 1
"""Largest integer that every JSON reader keeps exactly (RFC 8785, section 3.2.2.3)."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every record that is written to a hashed file.

    Subclasses declare their fields in the order of their wire names (ASCII, so code
    units and bytes sort alike), which makes the plain encoding canonical.
    """

    def as_dict(self) -> dict[str, Any]:
        """Return the record as plain JSON values: what a reader of its bytes would get."""
        return dict(msgspec.json.decode(_encode(self)))


_encode = msgspec.json.Encoder().encode
_encode_lines = msgspec.json.Encoder().encode_lines
_R = TypeVar("_R", bound=Record)


def canonical_bytes(value: Any) -> bytes:
    """Encode a JSON value as RFC 8785 bytes.

    Raises
    ------
    InputError
        For what canonical JSON can't carry: NaN, infinities, integers beyond
        ±(2^53-1), lone surrogates, keys that are not strings, bottomless nesting.
    """
    import rfc8785

    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise InputError(
            "value has no canonical JSON form",
            expected="valid Unicode text and numbers within ±(2^53-1)",
            found=str(error),
        ) from None
    except RecursionError:
        raise InputError("value is nested too deeply for canonical JSON") from None


def record_bytes(record: Record) -> bytes:
    """Encode a record as RFC 8785 bytes (see the module's docstring for why it may)."""
    return _encode(record)


def record_lines(records: Sequence[Record]) -> bytes:
    """Encode records as canonical JSON Lines, each ended by LF."""
    return _encode_lines(records)


def canonical_number(value: float) -> int | float:
    """Write whole numbers without ``.0``, as RFC 8785 (ECMAScript) does; -0 becomes 0."""
    whole = int(value)
    return whole if whole == value else value


def decode_record_line(line: bytes, decoder: "msgspec.json.Decoder[_R]") -> _R:
    """Decode one line (without its LF) and refuse it unless it is its own canonical bytes.

    Raises
    ------
    InputError
        When the line doesn't decode or its bytes are not canonical.
    """
    try:
        record = decoder.decode(line)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _not_a_record(line, str(error)) from None
    if _encode(record) != line:
        raise InputError(
            "line is not in canonical form",
            expected="RFC 8785 bytes: sorted keys, no spaces, shortest numbers",
            mend="evidence files are never edited or re-formatted",
        )
    return record


def _not_a_record(line: bytes, message: str) -> InputError:
    fault = fault_in(message)
    if fault.missing is not None or fault.unknown is not None:
        is_missing = fault.missing is not None
        return InputError(
            "required field is missing" if is_missing else "unknown field", field=fault.field
        )
    # The decoder's words may repeat data: they stand where nothing is read into them.
    is_word = fault.problem.startswith("Invalid enum value")
    return InputError(
        "not a valid record",
        field=fault.path or None,
        expected=fault.expected or ("one of the field's words" if is_word else fault.problem),
        found=_shown_at(line, fault.path),
    )


def _shown_at(line: bytes, path: str) -> str:
    """Show the value at a path of a JSON text; what isn't JSON is said to be none."""
    try:
        value = value_at(msgspec.json.decode(line), path)
    except (msgspec.MsgspecError, RecursionError, ValueError):
        value = NOWHERE
    return quoted(line[:60].decode("utf-8", "replace") if value is NOWHERE else value)


def sha256_hex(data: bytes) -> str:
    """SHA-256 of ``data`` as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()

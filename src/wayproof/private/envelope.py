"""DSSE envelopes around in-toto statements: detached signatures of files.

An envelope carries the statement that was signed; the statement names files by SHA-256.
Sources: the DSSE protocol, version 1 (what is signed is its *pre-authentication encoding*),
and in-toto Statement v1. Other tools read both. Ours are written in one way only, RFC 8785,
and what isn't its own canonical bytes is refused, so that no edit goes unseen.
"""

import base64
import binascii
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from wayproof.canonical import canonical_bytes, sha256_hex
from wayproof.errors import IntegrityError
from wayproof.private.files import read_input
from wayproof.private.keys import PublicKey, SigningKey
from wayproof.text import quoted

__all__ = [
    "PAYLOAD_TYPE",
    "STATEMENT_TYPE",
    "Statement",
    "Subject",
    "encoded_for_signing",
    "open_envelope",
    "read_envelope",
    "signed_envelope",
    "statement_about",
]

_T = TypeVar("_T")

PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"


class _Signature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    keyid: str
    sig: str


class _Envelope(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    payload: str
    payload_type: str = msgspec.field(name="payloadType")
    signatures: tuple[_Signature, ...]


class Subject(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file that a statement is about.

    Attributes
    ----------
    name
        Its name; what counts is the digest.
    digest
        ``sha256``: SHA-256 of its bytes.
    """

    name: str
    digest: dict[str, str]


class Statement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An in-toto Statement v1.

    Attributes
    ----------
    type
        Always ``https://in-toto.io/Statement/v1``.
    subject
        The files that are signed.
    predicate_type, predicate
        What is said of them.
    """

    type: str = msgspec.field(name="_type")
    subject: tuple[Subject, ...]
    predicate_type: str = msgspec.field(name="predicateType")
    predicate: dict[str, Any]


def statement_about(
    files: Mapping[str, bytes], predicate_type: str, predicate: Mapping[str, Any]
) -> Statement:
    """Return the statement that says ``predicate`` of some files."""
    return Statement(
        type=STATEMENT_TYPE,
        subject=tuple(
            Subject(name=name, digest={"sha256": sha256_hex(data)})
            for name, data in sorted(files.items())
        ),
        predicate_type=predicate_type,
        predicate=dict(predicate),
    )


def encoded_for_signing(payload_type: str, payload: bytes) -> bytes:
    """Return DSSE's pre-authentication encoding: what is signed, and nothing else."""
    kind = payload_type.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def signed_envelope(statement: Statement, key: SigningKey) -> bytes:
    """Sign a statement; return the envelope's bytes."""
    payload = canonical_bytes(msgspec.to_builtins(statement))
    signature = key.sign(encoded_for_signing(PAYLOAD_TYPE, payload))
    envelope = _Envelope(
        payload=_to_base64(payload),
        payload_type=PAYLOAD_TYPE,
        signatures=(_Signature(keyid=key.public.key_id, sig=_to_base64(signature)),),
    )
    return canonical_bytes(msgspec.to_builtins(envelope)) + b"\n"


def read_envelope(path: Path, key: PublicKey) -> Statement:
    """Return the statement that ``key`` signed in the envelope at ``path``.

    Raises
    ------
    InputError
        When the file can't be read.
    IntegrityError
        When it isn't an envelope, or not of this key.
    """
    try:
        return open_envelope(read_input(path), key)
    except IntegrityError as error:
        raise error.at(file=str(path)) from None


def open_envelope(data: bytes, key: PublicKey) -> Statement:
    """Return the statement that ``key`` signed.

    Raises
    ------
    IntegrityError
        When the bytes are no envelope in canonical form, hold another number of signatures
        than one, or the signature is not this key's.
    """
    envelope = _decoded(data, _Envelope, "envelope")
    if canonical_bytes(msgspec.to_builtins(envelope)) + b"\n" != data:
        raise IntegrityError(
            "envelope is not in canonical form", expected="RFC 8785 bytes and a line feed"
        )
    if envelope.payload_type != PAYLOAD_TYPE:
        raise IntegrityError(
            "envelope of another type",
            field="payloadType",
            expected=PAYLOAD_TYPE,
            found=quoted(envelope.payload_type),
        )
    if len(envelope.signatures) != 1:
        raise IntegrityError(
            "not one signature", field="signatures", found=str(len(envelope.signatures))
        )
    signature = envelope.signatures[0]
    if signature.keyid != key.key_id:
        raise IntegrityError(
            "signed by another key",
            field="signatures[0].keyid",
            expected=key.key_id,
            found=quoted(signature.keyid),
        )
    payload = _from_base64(envelope.payload, "payload")
    raw = _from_base64(signature.sig, "signatures[0].sig")
    if not key.has_signed(encoded_for_signing(PAYLOAD_TYPE, payload), raw):
        raise IntegrityError("the signature doesn't match what is signed", field="signatures[0]")
    statement = _decoded(payload, Statement, "statement")
    if statement.type != STATEMENT_TYPE:
        raise IntegrityError(
            "statement of another type",
            field="_type",
            expected=STATEMENT_TYPE,
            found=quoted(statement.type),
        )
    return statement


def _decoded(data: bytes, kind: type[_T], what: str) -> _T:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise IntegrityError(f"not a signed {what}", found=str(error)) from None


def _to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _from_base64(text: str, field: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    # Bits that base64 leaves unused must be zero, or two texts would be one signature.
    if not data or _to_base64(data) != text:
        raise IntegrityError("not base64", field=field)
    return data

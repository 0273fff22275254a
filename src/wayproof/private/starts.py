"""Starts: the client's signed words that a run may begin, and the chain that they form.

Each start names the one before and the result of the run before, or says that there is
none. So nobody can leave out a start later, and a run can't be published twice.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from wayproof.canonical import decode_record_line, record_bytes, sha256_hex
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.private_names import ABANDONED, signature_name, start_name
from wayproof.evidence.private_records import START_SCHEMA, Agreement, Start
from wayproof.private.agreement import instant, refused
from wayproof.private.files import read_input
from wayproof.private.keys import PublicKey, public_key
from wayproof.private.signing import Trust, check_start

__all__ = [
    "SignedStart",
    "check_chain",
    "moment_of",
    "next_start",
    "read_chain",
    "start_line",
]

_decoder: Final = msgspec.json.Decoder(Start)


class SignedStart(NamedTuple):
    """A start, its bytes, and its signature's.

    Attributes
    ----------
    is_known
        Whether the signer is the client that is trusted.
    """

    start: Start
    data: bytes
    envelope: bytes
    is_known: bool

    @property
    def sha256(self) -> str:
        """SHA-256 of the start's bytes."""
        return sha256_hex(self.data)


def start_line(start: Start) -> bytes:
    """Return a start as its file holds it."""
    return record_bytes(start) + b"\n"


def moment_of(text: str) -> datetime:
    """Return the moment that a record spells.

    Raises
    ------
    ValueError
        When there is no such day or time.
    """
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


def next_start(
    agreement_sha256: str,
    chain: Sequence[SignedStart],
    previous_result: str | None,
    client_nonce: str,
    not_after: datetime,
) -> Start:
    """Return the start after those of a chain.

    Parameters
    ----------
    agreement_sha256
        SHA-256 of the agreement's bytes.
    chain
        All starts so far, in order.
    previous_result
        SHA-256 of the result of the last run; None: it is given up.
    client_nonce
        64 hex digits that nobody could foresee.
    not_after
        The run begins by then, or not at all.
    """
    return Start(
        agreement_sha256=agreement_sha256,
        client_nonce=client_nonce,
        not_after=instant(not_after),
        previous_result=(previous_result or ABANDONED) if chain else None,
        previous_start=chain[-1].sha256 if chain else None,
        run=len(chain) + 1,
        schema_version=START_SCHEMA,
    )


def read_chain(
    folder: Path, last: int, agreement: Agreement, agreement_sha256: str, trust: Trust
) -> tuple[SignedStart, ...]:
    """Read the starts 1 … ``last`` of a folder, and check signatures and chain.

    Raises
    ------
    InputError
        When one is missing or is no start.
    IntegrityError
        When a signature or a link doesn't hold.
    """
    client = public_key(agreement.keys.client)
    chain = [_read(folder / start_name(run), client, trust) for run in range(1, last + 1)]
    check_chain(chain, agreement, agreement_sha256)
    return tuple(chain)


def _read(path: Path, client: PublicKey, trust: Trust) -> SignedStart:
    data = read_input(path)
    place = path.with_name(signature_name(path.name, "client"))
    is_known = check_start(path, data, place, client, trust)
    try:
        if data[-1:] != b"\n":
            raise InputError("not a start", expected="one line")
        start = decode_record_line(data[:-1], _decoder)
        moment_of(start.not_after)
    except ValueError as error:  # InputError is one
        raise IntegrityError("not a start", file=str(path), found=str(error)[:300]) from None
    return SignedStart(start, data, read_input(place), is_known)


def check_chain(chain: Sequence[SignedStart], agreement: Agreement, agreement_sha256: str) -> None:
    """Check that starts belong to an agreement and to one another.

    Raises
    ------
    IntegrityError
        Naming the start and the field that doesn't fit.
    """
    nonces: set[str] = set()
    for at, signed in enumerate(chain):
        start = signed.start
        before = chain[at - 1].sha256 if at else None
        facts: tuple[tuple[str, object, object], ...] = (
            ("agreement_sha256", agreement_sha256, start.agreement_sha256),
            ("run", at + 1, start.run),
            ("previous_start", before, start.previous_start),
            ("previous_result", at == 0, start.previous_result is None),
            ("client_nonce", True, start.client_nonce not in nonces),
        )
        for field, expected, found in facts:
            if expected != found:
                raise IntegrityError(
                    "the start doesn't fit into the chain",
                    index=f"start {at + 1}",
                    field=field,
                    expected=str(expected),
                    found=str(found),
                )
        nonces.add(start.client_nonce)
    if len(chain) > agreement.runs:
        raise refused(
            "runs", "no run is left", expected=f"at most {agreement.runs}", found=str(len(chain))
        )

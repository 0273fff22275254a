"""What each role signs, and how a signature is held against the file beside it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from wayproof.canonical import sha256_hex
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.private_names import AGREEMENT_NAME, ROLES, Role, signature_name
from wayproof.private.agreement import clause_digests, read_agreement, refused
from wayproof.private.envelope import (
    Statement,
    open_envelope,
    signed_envelope,
    statement_about,
)
from wayproof.private.files import read_input
from wayproof.private.keys import PublicKey, SigningKey, public_key, read_public_key
from wayproof.text import quoted

__all__ = [
    "Trust",
    "check_agreement",
    "check_result",
    "check_start",
    "read_trust",
    "sign_agreement",
    "sign_result",
    "sign_start",
]

_AGREEMENT: Final = "urn:wayproof:private-agreement:1"
_START: Final = "urn:wayproof:private-start:1"
_RESULT: Final = "urn:wayproof:private-result:1"


class Trust(NamedTuple):
    """The public keys that somebody trusts by role; None: no key for that role.

    Attributes
    ----------
    client, evaluator
        The keys.
    """

    client: PublicKey | None = None
    evaluator: PublicKey | None = None

    def of(self, role: Role) -> PublicKey | None:
        """Return the key of a role."""
        return self.client if role == "client" else self.evaluator

    @property
    def is_whole(self) -> bool:
        """Whether there is a key for both roles."""
        return self.client is not None and self.evaluator is not None


def read_trust(words: Mapping[str, str]) -> Trust:
    """Return the trusted keys, from ``{"client": KEY, "evaluator": KEY}``.

    Raises
    ------
    InputError
        For another role, an unusable key, or one key in both roles.
    """
    for role in words:
        if role not in ROLES:
            raise InputError(
                "no such role", setting="trust", expected=" or ".join(ROLES), found=quoted(role)
            )
    keys = {role: read_public_key(named) for role, named in words.items()}
    if len(set(keys.values())) < len(keys):
        raise InputError(
            "one key in both roles", setting="trust", expected="two keys, held by two parties"
        )
    return Trust(**keys)


# -- signing ----------------------------------------------------------------------------


def sign_agreement(data: bytes, role: Role, key: SigningKey) -> bytes:
    """Sign an agreement in one role; return the envelope.

    Raises
    ------
    InputError
        When it is no agreement, or names another key for the role.
    """
    agreement = read_agreement(data)
    named = getattr(agreement.keys, role)
    if named != key.public.hex:
        raise refused(
            f"keys.{role}",
            "names another key than the one that is to sign",
            expected=named,
            found=key.public.hex,
        )
    return _signed({AGREEMENT_NAME: data}, _AGREEMENT, _agreement_says(data, role), key)


def _agreement_says(data: bytes, role: Role) -> dict[str, Any]:
    return {"clauses": clause_digests(data), "role": role}


def sign_start(name: str, data: bytes, key: SigningKey) -> bytes:
    """Sign a start as the client; return the envelope."""
    return _signed({name: data}, _START, {"role": "client"}, key)


def sign_result(name: str, data: bytes, key: SigningKey) -> bytes:
    """Sign a result as the evaluator; return the envelope."""
    return _signed({name: data}, _RESULT, {"role": "evaluator"}, key)


def _signed(
    files: Mapping[str, bytes], kind: str, says: Mapping[str, Any], key: SigningKey
) -> bytes:
    return signed_envelope(statement_about(files, kind, says), key)


# -- checking ---------------------------------------------------------------------------


def check_agreement(path: Path, data: bytes, trust: Trust) -> tuple[Role, ...]:
    """Check both signatures of an agreement; return the roles whose signer is known.

    The signatures are checked before the agreement is read, so that an altered one is
    called altered, and its clause is named.

    Raises
    ------
    InputError
        When a signature is missing or can't be read.
    IntegrityError
        When a signature doesn't hold, naming the clause that was altered.
    """
    known = []
    for role in ROLES:
        place = path.with_name(signature_name(path.name, role))
        try:
            envelope = read_input(place)
        except InputError as error:
            raise refused(
                "keys",
                f"the agreement is not signed by the {role}",
                expected=str(place),
                found=error.found,
                mend="both sides sign it",
            ) from None

        def own(role: Role = role) -> PublicKey:
            return public_key(getattr(read_agreement(data).keys, role))

        statement, is_known = _opened(place, envelope, trust.of(role), own)
        _check_says(place, statement, _AGREEMENT, None)
        if _digest_of(place, statement, AGREEMENT_NAME) != sha256_hex(data):
            raise _altered(path, data, statement, role)
        _check_says(place, statement, _AGREEMENT, _agreement_says(data, role))
        if is_known and own() != trust.of(role):
            raise IntegrityError(
                f"the agreement names another key for the {role} than the one that signed it",
                file=str(path),
                field=f"clause keys.{role}",
            )
        known += [role] if is_known else []
    return tuple(known)


def _altered(path: Path, data: bytes, statement: Statement, role: Role) -> IntegrityError:
    """Name the clauses that aren't what was signed."""
    signed = statement.predicate.get("clauses")
    where = "clause unknown: the bytes are no TOML any more"
    if isinstance(signed, dict):
        try:
            now: dict[str, str] | None = clause_digests(data)
        except InputError:
            now = None
        if now is not None:
            names = [name for name in sorted({*signed, *now}) if signed.get(name) != now.get(name)]
            shown = ", ".join(quoted(name, 80)[1:-1] for name in names[:5])
            where = f"clause {shown}" if names else "no clause: comments or spacing"
    return IntegrityError(
        f"the agreement was altered after the {role} signed it",
        file=str(path),
        field=where,
        mend="sign again, both, or go back to the bytes that were signed",
    )


def check_start(path: Path, data: bytes, envelope: Path, own: PublicKey, trust: Trust) -> bool:
    """Check a start's signature; tell whether its signer is known as the client."""
    return _check_simple(path, data, envelope, own, trust.client, _START, "client")


def check_result(path: Path, data: bytes, envelope: Path, own: PublicKey, trust: Trust) -> bool:
    """Check a result's signature; tell whether its signer is known as the evaluator."""
    return _check_simple(path, data, envelope, own, trust.evaluator, _RESULT, "evaluator")


def _check_simple(
    path: Path,
    data: bytes,
    place: Path,
    own: PublicKey,
    trusted: PublicKey | None,
    kind: str,
    role: Role,
) -> bool:
    statement, is_known = _opened(place, read_input(place), trusted, lambda: own)
    _check_says(place, statement, kind, {"role": role})
    if _digest_of(place, statement, path.name) != sha256_hex(data):
        raise IntegrityError(f"was altered after the {role} signed it", file=str(path))
    return is_known


def _opened(
    place: Path, envelope: bytes, trusted: PublicKey | None, own: Callable[[], PublicKey]
) -> tuple[Statement, bool]:
    """Open an envelope with the trusted key, else with the one that the agreement names."""
    if trusted is not None:
        try:
            return open_envelope(envelope, trusted), True
        except IntegrityError as error:
            if error.field != "signatures[0].keyid":
                raise error.at(file=str(place)) from None
    try:
        return open_envelope(envelope, own()), False
    except IntegrityError as error:
        raise error.at(file=str(place)) from None


def _check_says(
    place: Path, statement: Statement, kind: str, says: Mapping[str, Any] | None
) -> None:
    if statement.predicate_type != kind:
        raise IntegrityError(
            "signed for something else",
            file=str(place),
            field="predicateType",
            expected=kind,
            found=quoted(statement.predicate_type),
        )
    if says is not None and statement.predicate != says:
        raise IntegrityError(
            "says something else of the file than a signature in this role does",
            file=str(place),
            field="predicate",
        )


def _digest_of(place: Path, statement: Statement, name: str) -> str:
    subjects = statement.subject
    if len(subjects) != 1 or subjects[0].name != name or set(subjects[0].digest) != {"sha256"}:
        raise IntegrityError(
            "is not the signature of this file alone",
            file=str(place),
            field="subject",
            expected=name,
            found=quoted(", ".join(subject.name for subject in subjects)),
        )
    return subjects[0].digest["sha256"]

"""Ed25519 keys: made, read and named. The arithmetic is that of ``cryptography``."""

import os
import re
import stat
from pathlib import Path
from typing import Final, NamedTuple

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from wayproof.canonical import canonical_bytes, sha256_hex
from wayproof.errors import InputError
from wayproof.private.files import read_input
from wayproof.private.secrets import random_bytes
from wayproof.text import quoted

__all__ = [
    "PublicKey",
    "SigningKey",
    "new_key",
    "public_key",
    "read_public_key",
    "read_signing_key",
]

_KEY_FILE_BYTES: Final = 1 << 14
_HEX: Final = re.compile(r"[0-9a-f]{64}")


class PublicKey(NamedTuple):
    """A public key.

    Attributes
    ----------
    hex
        Its 32 bytes (RFC 8032) as 64 lower-case hex digits.
    """

    hex: str

    @property
    def key_id(self) -> str:
        """SHA-256 of the key as other tools spell it; what an envelope names a signer by.

        The id that ``securesystemslib`` gives the same key, so that its envelopes and
        ours name one signer alike.
        """
        spelled = {"keytype": "ed25519", "keyval": {"public": self.hex}, "scheme": "ed25519"}
        return sha256_hex(canonical_bytes(spelled))

    @property
    def pem(self) -> bytes:
        """The key as a PEM file (SubjectPublicKeyInfo)."""
        return _loaded(self).public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    def has_signed(self, message: bytes, signature: bytes) -> bool:
        """Tell whether ``signature`` is this key's of ``message``."""
        try:
            _loaded(self).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


class SigningKey(NamedTuple):
    """A private key, and the public key that belongs to it."""

    private: Ed25519PrivateKey
    public: PublicKey

    def sign(self, message: bytes) -> bytes:
        """Return the signature of ``message``, 64 bytes."""
        return self.private.sign(message)

    @property
    def pem(self) -> bytes:
        """The key as a PEM file (PKCS #8, not encrypted)."""
        return self.private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )


def _loaded(key: PublicKey) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(bytes.fromhex(key.hex))


def new_key() -> SigningKey:
    """Draw a key."""
    return _signing_key(Ed25519PrivateKey.from_private_bytes(random_bytes(32)))


def _signing_key(private: Ed25519PrivateKey) -> SigningKey:
    return SigningKey(private, _public(private.public_key()))


def _public(key: Ed25519PublicKey) -> PublicKey:
    raw = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return PublicKey(raw.hex())


def public_key(text: str) -> PublicKey:
    """Return a key by its 64 hex digits.

    Raises
    ------
    InputError
        When it is none.
    """
    if _HEX.fullmatch(text) is None:
        raise InputError(
            "not a public key", expected="64 lower-case hex digits", found=quoted(text, 80)
        )
    key = PublicKey(text)
    try:
        _loaded(key)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise InputError("not a public key", found=str(error)) from None
    return key


def read_public_key(named: str) -> PublicKey:
    """Return a public key by its hex digits, or by the PEM file that it stands in.

    Raises
    ------
    InputError
        When it is no Ed25519 key; a private key is refused, too.
    """
    if _HEX.fullmatch(named) is not None:
        return public_key(named)
    path = Path(named)
    data = read_input(path, most_bytes=_KEY_FILE_BYTES)
    if b"PRIVATE KEY" in data:
        raise InputError(
            "is a private key where a public one is asked for",
            file=named,
            mend="name the .pub file, and keep the private key to yourself",
        )
    try:
        key = serialization.load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm):
        raise _no_key(path, "a public key in PEM form") from None
    if not isinstance(key, Ed25519PublicKey):
        raise _no_key(path, "an Ed25519 key")
    return _public(key)


def read_signing_key(path: Path) -> SigningKey:
    """Read a private key that nobody else may read.

    Raises
    ------
    InputError
        When it is no Ed25519 key, is encrypted, or others may read its file.
    """
    data = read_input(path, most_bytes=_KEY_FILE_BYTES)
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise InputError(
            "others may read this private key",
            file=str(path),
            mend=f"chmod 600 {path}",
        )
    try:
        key = serialization.load_pem_private_key(data, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise _no_key(path, "a private key in PEM form, not encrypted") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise _no_key(path, "an Ed25519 key")
    return _signing_key(key)


def _no_key(path: Path, expected: str) -> InputError:
    return InputError("not a usable key", file=str(path), expected=expected)

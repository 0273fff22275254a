"""Signatures: what another implementation reads, and what no edit gets past."""

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import CryptoSigner, SSlibKey

from wayproof.canonical import canonical_bytes
from wayproof.errors import InputError, IntegrityError
from wayproof.private import keys
from wayproof.private.envelope import (
    PAYLOAD_TYPE,
    Statement,
    encoded_for_signing,
    open_envelope,
    signed_envelope,
    statement_about,
)
from wayproof.private.keys import (
    PublicKey,
    new_key,
    public_key,
    read_public_key,
    read_signing_key,
)

KEY, OTHER = (
    keys._signing_key(Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32))
    for number in (1, 2)
)
STATEMENT = statement_about({"b.txt": b"two", "a.txt": b"one"}, "urn:example:1", {"role": "client"})


def _rival_key(key: PublicKey) -> SSlibKey:
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    loaded: Any = load_pem_public_key(key.pem)
    return SSlibKey.from_crypto(loaded)


def test_the_encoding_is_the_published_one() -> None:
    """DSSE's own example of its pre-authentication encoding, byte for byte."""
    said = encoded_for_signing("http://example.com/HelloWorld", b"hello world")
    assert said == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"


def test_the_signature_of_rfc_8032() -> None:
    """The first published vector of Ed25519: an empty message."""
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    public = PublicKey("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    signature = bytes.fromhex(
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bac"
        "c61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
    )
    assert Ed25519PrivateKey.from_private_bytes(seed).sign(b"") == signature
    assert public.has_signed(b"", signature)
    assert not public.has_signed(b"x", signature)


def test_another_implementation_reads_ours() -> None:
    """`securesystemslib` finds our key by its id and accepts the signature, of that key only."""
    envelope = Envelope.from_dict(json.loads(signed_envelope(STATEMENT, KEY)))
    assert envelope.payload_type == PAYLOAD_TYPE
    assert set(envelope.verify([_rival_key(KEY.public)], 1)) == {KEY.public.key_id}
    with pytest.raises(VerificationError):
        envelope.verify([_rival_key(OTHER.public)], 1)
    statement = json.loads(envelope.payload)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert statement["predicateType"] == "urn:example:1"
    assert [each["name"] for each in statement["subject"]] == ["a.txt", "b.txt"]
    assert all(len(each["digest"]["sha256"]) == 64 for each in statement["subject"])


def test_we_read_another_implementation() -> None:
    """An envelope that `securesystemslib` signed is ours to read, once in canonical form."""
    payload = canonical_bytes(
        {
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": "a.txt", "digest": {"sha256": "0" * 64}}],
            "predicateType": "urn:example:1",
            "predicate": {},
        }
    )
    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    envelope.sign(CryptoSigner(KEY.private))
    data = canonical_bytes(envelope.to_dict()) + b"\n"
    assert open_envelope(data, KEY.public).subject[0].digest == {"sha256": "0" * 64}


def test_a_statement_comes_back_as_it_was_signed() -> None:
    """What is read is what was signed."""
    found = open_envelope(signed_envelope(STATEMENT, KEY), KEY.public)
    assert isinstance(found, Statement)
    assert found == STATEMENT


def test_the_same_statement_gives_the_same_bytes() -> None:
    """Ed25519 draws nothing: signing twice can't tell anybody anything."""
    assert signed_envelope(STATEMENT, KEY) == signed_envelope(STATEMENT, KEY)


def test_no_byte_can_be_changed() -> None:
    """Every byte of an envelope counts: flipping any bit of any of them is seen."""
    data = signed_envelope(STATEMENT, KEY)
    for place in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[place] ^= 1 << bit
            with pytest.raises(IntegrityError):
                open_envelope(bytes(changed), KEY.public)


def _envelope(**changes: object) -> bytes:
    return canonical_bytes(json.loads(signed_envelope(STATEMENT, KEY)) | changes) + b"\n"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null\n",
        b"[]\n",
        b"\xff\xfe\n",
        b"[" * 100_000,
        signed_envelope(STATEMENT, KEY) + b"\n",
        signed_envelope(STATEMENT, KEY)[:-1],
        signed_envelope(STATEMENT, KEY).replace(b'","', b'", "', 1),
        _envelope(payloadType="text/plain"),
        _envelope(signatures=[]),
        _envelope(signatures=json.loads(signed_envelope(STATEMENT, KEY))["signatures"] * 2),
        _envelope(payload=base64.b64encode(b"{}").decode()),
        _envelope(payload=""),
        _envelope(more=1),
        _envelope(payload=7),
    ],
)
def test_what_is_no_envelope_is_refused(data: bytes) -> None:
    """Anything but one signature over one statement, in one spelling, is an integrity error."""
    with pytest.raises(IntegrityError):
        open_envelope(data, KEY.public)


def test_a_signed_thing_that_is_no_statement_is_refused() -> None:
    """A valid signature over something else is not taken for a statement."""
    statement = Statement(
        type="https://in-toto.io/Statement/v0.1", subject=(), predicate_type="x", predicate={}
    )
    with pytest.raises(IntegrityError, match="another type"):
        open_envelope(signed_envelope(statement, KEY), KEY.public)


def test_another_key_is_named() -> None:
    """Who signed instead is said by the key's id."""
    with pytest.raises(IntegrityError, match=OTHER.public.key_id):
        open_envelope(signed_envelope(STATEMENT, OTHER), KEY.public)


# -- key files ------------------------------------------------------------------------


def test_a_key_is_drawn_afresh() -> None:
    """No two keys are the same, and what one signs only its public half accepts."""
    first, second = new_key(), new_key()
    assert first.public != second.public
    assert first.public.has_signed(b"x", first.sign(b"x"))
    assert not second.public.has_signed(b"x", first.sign(b"x"))


def test_keys_come_back_from_their_files(tmp_path: Path) -> None:
    """PEM files, which `openssl` reads and makes too, hold the same key."""
    private = tmp_path / "a.key"
    private.touch(0o600)
    private.write_bytes(KEY.pem)
    public = tmp_path / "a.pub"
    public.write_bytes(KEY.public.pem)
    assert read_signing_key(private).public == KEY.public
    assert read_public_key(str(public)) == KEY.public
    assert read_public_key(KEY.public.hex) == KEY.public


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    """A private key that anybody on the machine may read proves nothing."""
    private = tmp_path / "a.key"
    private.write_bytes(KEY.pem)
    private.chmod(0o640)
    with pytest.raises(InputError, match="others may read"):
        read_signing_key(private)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"x" * 100,
        KEY.pem,
        KEY.public.pem[:-30],
        b"\0" * (1 << 15),
        b"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VuAyEA"
        + b"A" * 43
        + b"=\n-----END PUBLIC KEY-----\n",
    ],
)
def test_what_is_no_public_key_is_refused(tmp_path: Path, data: bytes) -> None:
    """Rubbish, a private key, and a key of another kind are each refused with words."""
    path = tmp_path / "key"
    path.write_bytes(data)
    with pytest.raises(InputError):
        read_public_key(str(path))


def test_a_pipe_is_never_waited_for(tmp_path: Path) -> None:
    """A named pipe in a key's place is refused at once."""
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="regular file"):
        read_public_key(str(tmp_path / "pipe"))
    with pytest.raises(InputError):
        read_signing_key(tmp_path / "missing")
    with pytest.raises(InputError):
        public_key("z" * 64)

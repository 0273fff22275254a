"""Trees are hashed as RFC 9162 says, and a proof shows one leaf and no other."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayproof.private.merkle import holds_inclusion, inclusion_proof, leaf_hash, tree_root

# The published reference vectors of Certificate Transparency: eight leaves, and the root over
# the first n of them (RFC 9162 hashes as RFC 6962 did).
LEAVES = [
    leaf_hash(bytes.fromhex(text))
    for text in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = (
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
)
PROOFS = {
    (0, 8): (
        "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
        "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
        "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ),
    (5, 8): (
        "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
        "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ),
    (2, 3): ("fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",),
}


@pytest.mark.parametrize("size", range(9))
def test_roots_are_the_published_ones(size: int) -> None:
    """Anybody's reader of RFC 9162 finds our roots."""
    assert tree_root(LEAVES[:size]).hex() == ROOTS[size]


@pytest.mark.parametrize("place", PROOFS)
def test_proofs_are_the_published_ones(place: tuple[int, int]) -> None:
    """Anybody's reader of RFC 9162 takes our proofs."""
    index, size = place
    proof = inclusion_proof(LEAVES[:size], index)
    assert [part.hex() for part in proof] == list(PROOFS[place])
    assert holds_inclusion(LEAVES[index], index, size, proof, bytes.fromhex(ROOTS[size]))


def _split_root(leaves: list[bytes]) -> bytes:
    """Return MTH as section 2.1.1 writes it down: by splitting, not by pairing."""
    if len(leaves) < 2:
        return leaves[0] if leaves else hashlib.sha256(b"").digest()
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(
        b"\x01" + _split_root(leaves[:half]) + _split_root(leaves[half:])
    ).digest()


@pytest.mark.parametrize("size", range(1, 68))
def test_every_leaf_is_shown_and_nothing_else(size: int) -> None:
    """A proof holds for its leaf, place, size and root, and for no other of them."""
    leaves = [leaf_hash(bytes([number])) for number in range(size)]
    root = tree_root(leaves)
    assert root == _split_root(leaves)
    for index, leaf in enumerate(leaves):
        proof = inclusion_proof(leaves, index)
        assert holds_inclusion(leaf, index, size, proof, root)
        others = [other for other in range(-1, size + 2) if other != index]
        assert not any(holds_inclusion(leaf, other, size, proof, root) for other in others)
        assert not holds_inclusion(leaf, index, size, (*proof, root), root)
        assert not holds_inclusion(leaf, index, size, proof[:-1], root) or not proof
        assert not holds_inclusion(leaves[index - 1], index, size, proof, root) or size == 1


def test_no_leaf_beyond_the_tree() -> None:
    """There is no proof of what isn't there."""
    with pytest.raises(IndexError):
        inclusion_proof(LEAVES, 8)
    with pytest.raises(IndexError):
        inclusion_proof(LEAVES, -1)


def test_a_node_is_no_leaf() -> None:
    """Two leaves' node can't pass for a leaf of a smaller tree: the prefixes differ."""
    pair = LEAVES[0] + LEAVES[1]
    assert leaf_hash(pair) != tree_root(LEAVES[:2])


@given(st.integers(0, 7), st.integers(0, 95), st.integers(1, 255))
def test_a_changed_proof_shows_nothing(index: int, place: int, flip: int) -> None:
    """One changed bit anywhere in a proof, and it holds no more."""
    proof = b"".join(inclusion_proof(LEAVES, index))
    changed = bytearray(proof)
    changed[place] ^= flip
    parts = [bytes(changed[at : at + 32]) for at in range(0, 96, 32)]
    assert not holds_inclusion(LEAVES[index], index, 8, parts, bytes.fromhex(ROOTS[8]))


def test_hashes_of_another_length_are_refused() -> None:
    """A proof's parts are whole hashes, however they add up."""
    whole = b"".join(inclusion_proof(LEAVES, 0))
    assert not holds_inclusion(LEAVES[0], 0, 8, [whole], bytes.fromhex(ROOTS[8]))

"""Merkle trees as RFC 9162 hashes them (section 2.1), with inclusion proofs.

A leaf's hash is SHA-256(0x00 ‖ data), a node's SHA-256(0x01 ‖ left ‖ right), and a tree of
n leaves is split at the largest power of two below n. The two prefixes keep a node from
passing for a leaf.
"""

import hashlib
from collections.abc import Sequence
from typing import Final

__all__ = ["HASH_BYTES", "holds_inclusion", "inclusion_proof", "leaf_hash", "tree_root"]

HASH_BYTES: Final = 32
_MOST_LEVELS: Final = 64


def leaf_hash(data: bytes) -> bytes:
    """Hash one leaf's data."""
    return hashlib.sha256(b"\x00" + data).digest()


def _node_hash(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def tree_root(leaves: Sequence[bytes]) -> bytes:
    """Return the root over leaf hashes, MTH of section 2.1.1; of none, SHA-256 of nothing."""
    if not leaves:
        return hashlib.sha256(b"").digest()
    return _levels(leaves)[-1][0]


def _levels(leaves: Sequence[bytes]) -> list[list[bytes]]:
    """Return the tree level by level; a node without a sibling moves up as it is.

    Pairing from the left gives the same tree as splitting at the largest power of two.
    """
    levels = [list(leaves)]
    while len(levels[-1]) > 1:
        below = levels[-1]
        above = [
            _node_hash(below[at], below[at + 1]) if at + 1 < len(below) else below[at]
            for at in range(0, len(below), 2)
        ]
        levels.append(above)
    return levels


def inclusion_proof(leaves: Sequence[bytes], index: int) -> tuple[bytes, ...]:
    """Return the proof that leaf ``index`` is in the tree, PATH of section 2.1.3.1.

    Parameters
    ----------
    leaves
        All leaf hashes.
    index
        Which leaf, from 0.

    Raises
    ------
    IndexError
        When there is no such leaf.
    """
    if not 0 <= index < len(leaves):
        msg = f"no leaf {index} of {len(leaves)}"
        raise IndexError(msg)
    proof = []
    for level in _levels(leaves)[:-1]:
        beside = index ^ 1
        if beside < len(level):
            proof.append(level[beside])
        index >>= 1
    return tuple(proof)


def holds_inclusion(
    leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes
) -> bool:
    """Tell whether a proof shows that a leaf is in a tree, as section 2.1.3.2 verifies it.

    Parameters
    ----------
    leaf
        The leaf's hash.
    index, size
        Which leaf, from 0, and how many there are.
    proof
        Hashes beside the way up, the lowest first.
    root
        The tree's root.
    """
    if not 0 <= index < size or len(proof) > _MOST_LEVELS:
        return False
    if any(len(part) != HASH_BYTES for part in (leaf, root, *proof)):
        return False
    at, last, found = index, size - 1, leaf
    for beside in proof:
        if last == 0:
            return False
        if at & 1 or at == last:
            found = _node_hash(beside, found)
            while not at & 1 and at:
                at >>= 1
                last >>= 1
        else:
            found = _node_hash(found, beside)
        at >>= 1
        last >>= 1
    return last == 0 and found == root

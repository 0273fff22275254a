"""Commitments: salted leaves and their trees, for the hidden suite and for a run's trials.

Whoever knows a root can later be shown one leaf, and learns of the others no more than
hashes: each leaf has a salt of its own, so that nobody can try out what stands behind it.

Salts are HMAC-SHA-256(secret, purpose ‖ nonce of the agreement ‖ run ‖ index), of fixed
widths 16, 32, 8 and 8 bytes: none is used twice, in no tree, run or agreement.
"""

import hmac
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from wayproof.canonical import record_bytes, sha256_hex
from wayproof.errors import InputError
from wayproof.evidence.private_records import Leaf, ScenarioLeaf
from wayproof.private.merkle import inclusion_proof, leaf_hash, tree_root
from wayproof.recovery.suite import SuiteReader
from wayproof.recovery.tracks.v0 import LoadedGrid

__all__ = [
    "SECRET_BYTES",
    "Salts",
    "SuiteTree",
    "leaf_bytes",
    "policy_seeds",
    "result_leaf_hash",
    "scenario_leaf_hash",
    "scenario_leaves",
    "suite_tree",
]

SECRET_BYTES: Final = 32
_SUITE: Final = b"suite leaf"
_RESULT: Final = b"result leaf"
_SEED_PURPOSE: Final = b"wayproof.private.policy-seed/1"


class Salts(NamedTuple):
    """All salts of an agreement, from the evaluator's secret.

    Attributes
    ----------
    secret
        32 random bytes; whoever has them can make every salt again.
    nonce
        The agreement's nonce, 32 bytes.
    """

    secret: bytes
    nonce: bytes

    def of_scenario(self, index: int) -> bytes:
        """Salt of a leaf of the suite's tree."""
        return self._salt(_SUITE, 0, index)

    def of_trial(self, run: int, index: int) -> bytes:
        """Salt of a leaf of one run's result tree."""
        return self._salt(_RESULT, run, index)

    def _salt(self, purpose: bytes, run: int, index: int) -> bytes:
        message = purpose.ljust(16, b"\0") + self.nonce + _eight(run) + _eight(index)
        return hmac.digest(self.secret, message, "sha256")


def _eight(number: int) -> bytes:
    return number.to_bytes(8, "big")


# -- the suite ------------------------------------------------------------------------


class SuiteTree(NamedTuple):
    """The tree over a hidden suite.

    Attributes
    ----------
    hashes
        The leaves' hashes, in the order of the suite.
    ids
        The scenarios' ids, in the same order.
    most_budget
        The largest budget of any scenario, in proposals.
    """

    hashes: tuple[bytes, ...]
    ids: tuple[str, ...]
    most_budget: int

    @property
    def root(self) -> str:
        """The root, in hex."""
        return tree_root(self.hashes).hex()

    def proof(self, index: int) -> tuple[str, ...]:
        """Return the proof of one scenario, in hex."""
        return tuple(part.hex() for part in inclusion_proof(self.hashes, index))


def scenario_leaves(suite: Path) -> Iterator[ScenarioLeaf]:
    """Yield what each leaf of a suite's tree stands for, in order.

    Raises
    ------
    InputError
        When the suite can't be used, or is of a track without this kind of grids.
    """
    with SuiteReader(suite) as reader:
        for _, grid in reader.grids():
            if not isinstance(grid, LoadedGrid):
                raise InputError(
                    "suite of another track", file=str(suite), expected="grids of track v0"
                )
            for scenario in grid.record.scenarios:
                yield ScenarioLeaf(grid=grid.record, scenario_id=scenario.scenario_id)


def scenario_leaf_hash(leaf: ScenarioLeaf, salt: bytes) -> bytes:
    """Hash a scenario's leaf: its data are the salt and the leaf's canonical bytes."""
    return leaf_hash(salt + record_bytes(leaf))


def suite_tree(suite: Path, salts: Salts) -> SuiteTree:
    """Return the tree over a suite."""
    hashes, ids, most = [], [], 0
    for index, leaf in enumerate(scenario_leaves(suite)):
        hashes.append(scenario_leaf_hash(leaf, salts.of_scenario(index)))
        ids.append(leaf.scenario_id)
        most = max(most, *(scenario.budget for scenario in leaf.grid.scenarios))
    return SuiteTree(tuple(hashes), tuple(ids), most)


# -- a run's trials ---------------------------------------------------------------------


def leaf_bytes(leaf: Leaf) -> bytes:
    """Return a trial's leaf as hashed: 136 bytes, each part of a fixed width.

    index (8) ‖ salt (32) ‖ SHA-256 of the record (32) ‖ SHA-256 of the trace (32) ‖
    scenario's leaf hash (32).
    """
    parts = (leaf.salt, leaf.record_sha256, leaf.trace_sha256, leaf.scenario_leaf)
    return _eight(leaf.index) + b"".join(map(bytes.fromhex, parts))


def result_leaf_hash(leaf: Leaf) -> bytes:
    """Hash a trial's leaf."""
    return leaf_hash(leaf_bytes(leaf))


def policy_seeds(agreement_sha256: str, run: int, client_nonce: str, count: int) -> tuple[int, ...]:
    """Return the seeds of a run, rising: the evaluator can't choose or foresee them.

    Each is the first 53 bits of SHA-256(purpose ‖ agreement's digest ‖ run ‖ client's nonce ‖
    number), with the first numbers that give different seeds.
    """
    seeds: set[int] = set()
    number = 0
    key = (
        _SEED_PURPOSE + bytes.fromhex(agreement_sha256) + _eight(run) + bytes.fromhex(client_nonce)
    )
    while len(seeds) < count:
        seeds.add(int(sha256_hex(key + _eight(number))[:16], 16) >> 11)
        number += 1
    return tuple(sorted(seeds))

"""``plan``: draw the hidden suite and write the agreement that commits to it."""

import os
import shutil
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple, Self

import msgspec

from wayproof.bundles.places import (
    check_place,
    partial_prefix,
    refuse_inside_bundle,
    sweep,
    turn,
)
from wayproof.errors import InputError, OutputError
from wayproof.evidence.private_records import (
    AGREEMENT_SCHEMA,
    AgentTerms,
    Agreement,
    Keys,
    Limit,
    Limits,
    Receives,
    SuiteTerms,
    Validity,
)
from wayproof.evidence.recovery_names import CheckName
from wayproof.private.agent_files import hash_files
from wayproof.private.agreement import agreement_text, read_agreement, refused
from wayproof.private.commitment import SECRET_BYTES, Salts, suite_tree
from wayproof.private.files import read_input, write_private, write_public
from wayproof.private.keys import PublicKey
from wayproof.private.secrets import random_bytes
from wayproof.recovery.generate import Parameters, Recipe, custom_suite_id, suite_lines

__all__ = ["HIDDEN_SECRET", "HIDDEN_SUITE", "PlanRequest", "plan", "read_secret"]

HIDDEN_SUITE: Final = "suite.jsonl"
HIDDEN_SECRET: Final = "secret.hex"  # noqa: S105 - the name of a file
SEED_BYTES: Final = 32
"""256 bits: twice what it takes that nobody finds a suite by trying seeds."""


class PlanRequest(NamedTuple):
    """What both sides have talked about, before it is written down.

    Attributes
    ----------
    agent
        Folder with the agent's files.
    limits
        The limits; a bound of ``moves`` of 0 becomes the largest budget of the suite.
    parameters
        Of the suite's generator.
    """

    authorised_by: str
    client: PublicKey
    evaluator: PublicKey
    agent: Path
    agent_name: str
    command: tuple[str, ...]
    runtime: tuple[str, ...]
    runs: int
    seeds: int
    checks: tuple[CheckName, ...]
    keep: str
    not_before: datetime
    not_after: datetime
    limits: Limits
    receives: Receives
    parameters: Parameters


def plan(request: PlanRequest, out: Path, hidden: Path) -> Agreement:
    """Write the agreement ``out``, and the folder ``hidden`` with suite and secret.

    Raises
    ------
    InputError
        For terms that can't stand in an agreement. Nothing is written.
    """
    check_place(out, overwrite=False)
    request.parameters.check()
    nonce, secret = random_bytes(32), random_bytes(SECRET_BYTES)
    recipe = Recipe("private", random_bytes(SEED_BYTES).hex(), request.parameters)
    suite_id = custom_suite_id(recipe).replace("custom-", "private-")
    files = hash_files(request.agent)
    with _NewFolder(hidden) as folder:
        lines = suite_lines(msgspec.structs.replace(recipe, suite_id=suite_id))
        write_private(folder.place / HIDDEN_SUITE, b"".join(lines))
        write_private(folder.place / HIDDEN_SECRET, secret.hex().encode("ascii") + b"\n")
        tree = suite_tree(folder.place / HIDDEN_SUITE, Salts(secret, nonce))
        limits = request.limits
        if limits.moves.at_most < tree.most_budget:
            if limits.moves.at_most > 1:
                raise refused(
                    "limits.moves",
                    "a scenario allows more proposals",
                    expected=f"at least {tree.most_budget}",
                    found=str(limits.moves.at_most),
                )
            moves = Limit(at_most=tree.most_budget, enforce=limits.moves.enforce)
            limits = msgspec.structs.replace(limits, moves=moves)
        terms = Agreement(
            schema_version=AGREEMENT_SCHEMA,
            authorised_by=request.authorised_by,
            nonce=nonce.hex(),
            runs=request.runs,
            checks=request.checks,
            keep="traces" if request.keep == "traces" else "records",
            validity=Validity(not_before=request.not_before, not_after=request.not_after),
            keys=Keys(client=request.client.hex, evaluator=request.evaluator.hex),
            agent=AgentTerms(
                command=request.command,
                files=files,
                name=request.agent_name,
                runtime=request.runtime,
            ),
            suite=SuiteTerms(root=tree.root, scenarios=len(tree.ids), seeds=request.seeds),
            limits=limits,
            receives=request.receives,
        )
        text = agreement_text(terms)
        agreement = read_agreement(text)  # what is written is what can be read
        folder.keep()
        write_public(out, text)
    return agreement


class _NewFolder:
    """A folder that only its owner may look into, made beside its place and moved there."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Self:
        parent = self._path.parent
        refuse_inside_bundle(parent, str(self._path))
        try:
            with turn(parent):
                sweep(parent, self._path.name)
                self._refuse_taken()
                self.place = Path(
                    tempfile.mkdtemp(prefix=partial_prefix(self._path.name), dir=parent)
                )
        except OSError as error:
            raise OutputError(
                "can't be written to", file=str(parent), found=error.strerror
            ) from None
        return self

    def _refuse_taken(self) -> None:
        if os.path.lexists(self._path):
            raise OutputError(
                "already exists; nothing was written",
                file=str(self._path),
                mend="choose another {hidden}",
            )

    def keep(self) -> None:
        """Put the folder in its place."""
        with turn(self._path.parent):
            self._refuse_taken()
            self.place.rename(self._path)

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.place, ignore_errors=True)


def read_secret(hidden: Path) -> bytes:
    """Read the evaluator's secret.

    Raises
    ------
    InputError
        When the folder isn't one that ``plan`` made.
    """
    path = hidden / HIDDEN_SECRET
    data = read_input(path)
    try:
        secret = bytes.fromhex(data.decode("ascii"))
    except ValueError:
        secret = b""
    if len(secret) != SECRET_BYTES or data != secret.hex().encode("ascii") + b"\n":
        raise InputError("not a secret", file=str(path), expected="64 hex digits")
    return secret

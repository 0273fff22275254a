"""What every folder of private evidence holds: agreement, starts, result, and who signed."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from wayproof.canonical import decode_record_line, sha256_hex
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.private_names import (
    ABANDONED,
    AGREEMENT_NAME,
    RESULT_NAME,
    ROLES,
    signature_name,
    start_name,
)
from wayproof.evidence.private_records import Agreement, Limit, PrivateResult
from wayproof.private.agreement import read_agreement
from wayproof.private.files import read_input
from wayproof.private.keys import public_key
from wayproof.private.signing import Trust, check_agreement, check_result
from wayproof.private.starts import SignedStart, read_chain
from wayproof.text import quoted

__all__ = [
    "Signed",
    "findings",
    "one_line",
    "read_result",
    "read_signed",
    "require",
    "signature_files",
]

_decoder: Final = msgspec.json.Decoder(PrivateResult)


class Signed(NamedTuple):
    """A run's signed papers, each held against the others.

    Attributes
    ----------
    agreement, agreement_sha256
        The agreement, and SHA-256 of its bytes.
    chain
        All starts, the run's own last.
    result, result_sha256
        The result, and SHA-256 of its bytes.
    known
        Whether every signer is trusted in its role.
    """

    agreement: Agreement
    agreement_sha256: str
    chain: tuple[SignedStart, ...]
    result: PrivateResult
    result_sha256: str
    known: bool


def one_line(data: bytes) -> bytes:
    """Return a file's only line without its line feed.

    Raises
    ------
    InputError
        When it doesn't end with one.
    """
    if data[-1:] != b"\n":
        raise InputError("not one line", expected="a line feed at the end")
    return data[:-1]


def read_result(path: Path) -> tuple[PrivateResult, bytes]:
    """Read a result, and its bytes.

    Raises
    ------
    IntegrityError
        When the file holds something else.
    """
    data = read_input(path)
    try:
        return decode_record_line(one_line(data), _decoder), data
    except InputError as error:
        raise IntegrityError(
            "not a result", file=str(path), field=error.field, found=error.problem
        ) from None


def read_signed(folder: Path, trust: Trust) -> Signed:
    """Read and check all that is signed in a folder.

    Raises
    ------
    InputError, IntegrityError
        Naming the first signature, link or field that doesn't hold.
    """
    path = folder / AGREEMENT_NAME
    data = read_input(path)
    roles = check_agreement(path, data, trust)
    agreement = read_agreement(data)
    agreement_sha256 = sha256_hex(data)
    result, result_data = read_result(folder / RESULT_NAME)
    chain = read_chain(folder, result.run, agreement, agreement_sha256, trust)
    place = folder / signature_name(RESULT_NAME, "evaluator")
    evaluator = public_key(agreement.keys.evaluator)
    is_known = check_result(folder / RESULT_NAME, result_data, place, evaluator, trust)
    _check_names(folder, result.run)
    signed = Signed(
        agreement,
        agreement_sha256,
        chain,
        result,
        sha256_hex(result_data),
        set(roles) == set(ROLES) and is_known and all(start.is_known for start in chain),
    )
    _check_result(folder / RESULT_NAME, signed)
    return signed


def signature_files(run: int) -> list[str]:
    """List the signatures of a run's papers, by name."""
    return sorted(
        [
            *(signature_name(AGREEMENT_NAME, role) for role in ROLES),
            *(signature_name(start_name(number), "client") for number in range(1, run + 1)),
            signature_name(RESULT_NAME, "evaluator"),
        ]
    )


def _check_names(folder: Path, run: int) -> None:
    """Refuse signatures and starts that belong to nothing here."""
    known = {*signature_files(run), *(start_name(number) for number in range(1, run + 1))}
    for path in sorted(folder.iterdir()):
        is_paper = path.name.endswith(".sig.json") or path.name.startswith("start-")
        if is_paper and path.name not in known:
            raise IntegrityError("belongs to nothing in this folder", file=str(path))


def require(
    facts: Iterable[tuple[str, object, object]],
    path: Path,
    index: str | None = None,
    *,
    problem: str = "doesn't hold",
) -> None:
    """Refuse evidence of which a field isn't what follows from the rest.

    Parameters
    ----------
    facts
        Field, what follows, what stands there.
    path, index
        Where it stands.
    problem
        What is said of the first that differs.
    """
    for field, expected, found in facts:
        if expected != found:
            raise IntegrityError(
                problem,
                file=str(path),
                index=index,
                field=field,
                expected=quoted(str(expected)),
                found=quoted(str(found)),
            )


def _check_result(path: Path, signed: Signed) -> None:
    """Check that a result speaks of this agreement and start, and of what was agreed."""
    agreement, result = signed.agreement, signed.result
    limits = agreement.limits
    agreed = tuple(
        (
            name,
            getattr(limits, name).enforce,
            limit.at_most if isinstance(limit := getattr(limits, name), Limit) else None,
        )
        for name in limits.__struct_fields__
    )
    said = tuple((each.clause, each.agreed, each.at_most) for each in result.enforced)
    count = agreement.suite.scenarios * agreement.suite.seeds
    facts: tuple[tuple[str, object, object], ...] = (
        ("agreement_sha256", signed.agreement_sha256, result.agreement_sha256),
        ("start_sha256", signed.chain[-1].sha256, result.start_sha256),
        ("suite_root", agreement.suite.root, result.suite_root),
        ("leaf_count", count, result.leaf_count),
        ("trials", count, result.trials),
        ("keep", agreement.keep, result.keep),
        ("enforced", agreed, said),
    )
    require(facts, path, problem="the result doesn't say what a run under this agreement would")
    for clause in result.enforced:
        if clause.agreed == "required" and not clause.enforced:
            raise IntegrityError(
                "a required limit was not enforced",
                file=str(path),
                field=f"clause limits.{clause.clause}",
                found=clause.means,
            )
    if max(result.completed, result.verified, result.passed) > result.trials:
        raise IntegrityError("counts that can't be", file=str(path), field="completed")


def findings(signed: Signed) -> tuple[str, ...]:
    """Say in sentences what the signed papers show."""
    agreement, result = signed.agreement, signed.result
    said = "by the keys that are trusted" if signed.known else "valid, signer unknown"
    given_up = [
        str(each.start.run - 1) for each in signed.chain if each.start.previous_result == ABANDONED
    ]
    missed = [each for each in result.enforced if not each.enforced]
    lines = [
        f"agreement SHA-256 {signed.agreement_sha256}, authorised by {agreement.authorised_by}",
        f"signatures of agreement, {len(signed.chain)} starts and result: {said}",
        f"client key {public_key(agreement.keys.client).key_id}",
        f"evaluator key {public_key(agreement.keys.evaluator).key_id}",
        f"run {result.run} of at most {agreement.runs}; result SHA-256 {signed.result_sha256}",
    ]
    if given_up:
        lines.append(f"started and given up before it: run {', '.join(given_up)}")
    counts = f"{result.trials} trials, {result.completed} completed, {result.verified} verified"
    lines.append(f"signed: {counts}, {result.passed} pass the agreed checks")
    lines += [f"best effort, not enforced: {each.clause} ({each.means})" for each in missed] or [
        "every limit of the agreement was enforced, as the evaluator signed"
    ]
    lines += [f"no hash covers: {what}" for what in result.not_hashed]
    return tuple(lines)

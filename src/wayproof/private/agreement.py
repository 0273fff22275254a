"""The agreement: read from its exact bytes, checked as a whole, and written by ``plan``."""

import json
import tomllib
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from pathlib import PurePosixPath
from typing import Any, Final

import msgspec

from wayproof.canonical import canonical_bytes, sha256_hex
from wayproof.decoder_errors import fault_in
from wayproof.errors import InputError
from wayproof.evidence.private_names import CLAUSES
from wayproof.evidence.private_records import Agreement
from wayproof.private.keys import public_key
from wayproof.text import harmless, quoted

__all__ = [
    "agreement_text",
    "clause_digests",
    "instant",
    "is_file_path",
    "read_agreement",
    "refused",
]

_MOST_PATH_CHARS: Final = 1024


def refused(
    clause: str,
    problem: str,
    *,
    expected: str | None = None,
    found: str | None = None,
    mend: str | None = None,
) -> InputError:
    """Return the error of an agreement, or of a run under it, that names its clause."""
    field = f"clause {clause}"
    return InputError(problem, field=field, expected=expected, found=found, mend=mend)


def instant(moment: datetime) -> str:
    """Write a moment in UTC, to the second: ``2026-01-31T12:00:00Z``."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# -- reading --------------------------------------------------------------------------


def _tables(data: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise InputError("not an agreement", expected="UTF-8 text") from None
    except (ValueError, RecursionError) as error:  # TOMLDecodeError is a ValueError
        raise InputError("not an agreement: not TOML", found=str(error)[:200]) from None


def read_agreement(data: bytes) -> Agreement:
    """Return the agreement in these bytes.

    Raises
    ------
    InputError
        Naming the clause that is missing, of a wrong type, out of range, or at odds with
        another.
    """
    tables = _tables(data)
    try:
        agreement = msgspec.convert(tables, Agreement)
    except msgspec.ValidationError as error:
        fault = fault_in(str(error))
        missing = f"required clause {fault.missing} is missing" if fault.missing else None
        unknown = f"unknown clause {quoted(fault.unknown, 60)}" if fault.unknown else None
        raise refused(
            fault.path or fault.missing or fault.unknown or "schema_version",
            missing or unknown or "not what this clause may say",
            expected=None if missing or unknown else fault.expected or fault.problem,
        ) from None
    except (RecursionError, OverflowError):
        raise InputError("not an agreement: nested too deeply, or too large a number") from None
    _check_whole(agreement)
    return agreement


def _check_whole(agreement: Agreement) -> None:
    """Check what holds between the parts of an agreement."""
    for role in ("client", "evaluator"):
        try:
            public_key(getattr(agreement.keys, role))
        except InputError as error:
            raise refused(f"keys.{role}", error.problem, found=error.found) from None
    if agreement.keys.client == agreement.keys.evaluator:
        raise refused(
            "keys",
            "one key in both roles",
            expected="two keys, held by two parties",
            found=agreement.keys.client,
        )
    if agreement.validity.not_after < agreement.validity.not_before:
        raise refused("validity", "ends before it begins")
    for name in ("results", "stderr", "traces"):
        _check_distinct(f"receives.{name}", getattr(agreement.receives, name))
    _check_distinct("checks", agreement.checks)
    if (agreement.keep == "traces") is not bool(agreement.receives.traces):
        raise refused(
            "receives.traces",
            "at odds with clause keep",
            expected="somebody, where traces are kept; nobody, where records only are",
        )
    if harmless(agreement.authorised_by) != agreement.authorised_by:
        raise refused("authorised_by", "holds characters that nobody sees")
    _check_agent(agreement)


def _check_distinct(clause: str, words: tuple[str, ...]) -> None:
    if len(set(words)) != len(words):
        raise refused(clause, "a word stands twice", found=", ".join(words))


def _check_agent(agreement: Agreement) -> None:
    agent = agreement.agent
    folders: set[str] = set()
    for path in agent.files:
        if not is_file_path(path):
            raise refused(
                "agent.files",
                "not a path below the agent's folder",
                expected="names joined by /, none of them . or ..",
                found=quoted(path),
            )
        folders.update(str(parent) for parent in PurePosixPath(path).parents)
    for path in agent.files:
        if path in folders:
            raise refused("agent.files", "a file and a folder of one name", found=quoted(path))
    for folder in agent.runtime:
        if not folder.startswith("/") or not is_file_path(folder[1:]):
            raise refused(
                "agent.runtime",
                "not a folder that can be shown to an agent",
                expected="an absolute path without . or .., and not the whole machine",
                found=quoted(folder),
            )
    if any("\0" in word for word in agent.command):
        raise refused("agent.command", "holds a zero byte")


def is_file_path(path: str) -> bool:
    """Tell whether a path stays below its folder, in one spelling, without hidden characters."""
    parts = path.split("/")
    return (
        len(path) <= _MOST_PATH_CHARS
        and harmless(path) == path
        and "\\" not in path
        and all(part not in {"", ".", ".."} and len(part.encode()) <= 255 for part in parts)
    )


# -- what a signature says clause by clause -----------------------------------------------


def clause_digests(data: bytes) -> dict[str, str]:
    """Return a digest of each clause of an agreement, by its name.

    Signed beside the digest of the whole, they tell later which clause was altered. The
    parts of a table are clauses of their own: ``limits.seconds``.

    Raises
    ------
    InputError
        When the bytes aren't TOML.
    """
    return {
        name: sha256_hex(canonical_bytes(_plain(value)))
        for name, value in _clauses(_tables(data)).items()
    }


def _clauses(tables: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in tables.items():
        if isinstance(value, dict):
            found |= {f"{name}.{part}": inner for part, inner in value.items()}
        else:
            found[name] = value
    return found


def _plain(value: Any) -> Any:
    """Spell a TOML value so that two values are spelled alike only when they are equal."""
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, datetime | date | time):
        return [type(value).__name__, value.isoformat()]
    if isinstance(value, bool | str):
        return value
    return [type(value).__name__, str(value)]


# -- writing --------------------------------------------------------------------------

_HEAD: Final = """\
# Agreement on a private evaluation. Client and evaluator read it, and each signs its exact
# bytes with 'wayproof private sign'. A change of any byte after that, a comment's too, makes
# both signatures void.
"""


def agreement_text(agreement: Agreement) -> bytes:
    """Write an agreement as TOML, with comments for whoever is to sign it."""
    meanings: dict[str, str] = {clause.name: clause.meaning for clause in CLAUSES}
    lines = [
        _HEAD,
        f"schema_version = {_toml(agreement.schema_version)}",
        f"authorised_by = {_toml(agreement.authorised_by)}",
        f"nonce = {_toml(agreement.nonce)}",
        f"runs = {agreement.runs}",
        "# A trial passes when all of these checks of the referee hold.",
        f"checks = {_toml(agreement.checks)}",
        "# records, or traces too; from records alone nothing can be derived again.",
        f"keep = {_toml(agreement.keep)}",
        "\n[validity]",
        f"not_before = {instant(agreement.validity.not_before)}",
        f"not_after = {instant(agreement.validity.not_after)}",
        "\n[keys] # Ed25519, two parties",
        f"client = {_toml(agreement.keys.client)}",
        f"evaluator = {_toml(agreement.keys.evaluator)}",
        "\n[agent]",
        f"name = {_toml(agreement.agent.name)}",
        f"command = {_toml(agreement.agent.command)}",
        "# Folders of the machine that the agent may read; no hash covers them.",
        f"runtime = {_toml(agreement.agent.runtime)}",
        "\n[agent.files] # SHA-256; a copy with these digests is what runs",
        *(f"{_toml(path)} = {_toml(digest)}" for path, digest in agreement.agent.files.items()),
        "\n[suite] # hidden; this commits the evaluator to it",
        f"root = {_toml(agreement.suite.root)}",
        f"scenarios = {agreement.suite.scenarios}",
        f"seeds = {agreement.suite.seeds}",
        "\n[limits] # required: no run without it; best_effort: the result says when it failed",
    ]
    for name, limit in msgspec.structs.asdict(agreement.limits).items():
        bound = "" if not hasattr(limit, "at_most") else f"at_most = {limit.at_most}, "
        lines.append(f"# {meanings[name]}")
        lines.append(f"{name} = {{ {bound}enforce = {_toml(limit.enforce)} }}")
    lines += [
        "\n[receives] # client, evaluator, public; what nobody receives is not kept",
        f"results = {_toml(agreement.receives.results)}",
        f"stderr = {_toml(agreement.receives.stderr)}",
        f"traces = {_toml(agreement.receives.traces)}",
    ]
    return ("\n".join(lines) + "\n").encode("utf-8")


def _toml(value: str | tuple[str, ...]) -> str:
    """Spell text, or a list of texts, as TOML: JSON's spelling, with DEL spelled out."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

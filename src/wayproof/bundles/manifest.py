"""A bundle's manifest, and reading a bundle back with its digests.

A *bundle* is a folder of evidence files and a ``manifest.json`` that names each of them
with its SHA-256. :mod:`wayproof.bundles.writer` makes one, whole or not at all.
"""

import hashlib
import re
import stat
from pathlib import Path
from typing import Annotated, Any

import msgspec

from wayproof.canonical import MAX_SAFE_INTEGER, canonical_bytes
from wayproof.errors import InputError, IntegrityError
from wayproof.strict_json import convert_typed, strict_value

__all__ = [
    "MANIFEST_NAME",
    "PARTIAL_MARK",
    "SCHEMA_VERSION",
    "SIGNATURE_NAME",
    "FileDigest",
    "Manifest",
    "Varies",
    "check_listing",
    "digest_file",
    "is_evidence_name",
    "read_manifest",
    "read_small_file",
    "signature_names",
    "verify_digests",
]

MANIFEST_NAME = "manifest.json"
SCHEMA_VERSION = "wayproof.bundle/1"
PARTIAL_MARK = ".wayproof-partial-"
"""In the name of a folder that is still being written; no reader accepts one."""
_DIGEST_BLOCK_BYTES = 8 << 20
_SMALL_FILE_BYTES = 64 << 20
_SIGNATURE_BYTES = 1 << 20
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
SIGNATURE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,117}\.sig\.json")
"""Names that are kept for detached signatures: evidence never bears one."""


def is_evidence_name(name: str) -> bool:
    """Tell whether a file of evidence may be called ``name``."""
    return (
        _SAFE_NAME.fullmatch(name) is not None
        and name != MANIFEST_NAME
        and SIGNATURE_NAME.fullmatch(name) is None
    )


_Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)]
_Instant = Annotated[
    str,
    msgspec.Meta(
        pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}\+00:00$(?!\n)"
    ),
]


class FileDigest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file's identity.

    Attributes
    ----------
    bytes
        Its size.
    sha256
        SHA-256 of its content, 64 lower-case hex digits.
    """

    bytes: _Count
    sha256: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]


class Varies(msgspec.Struct, frozen=True, kw_only=True):
    """What a manifest says of the run alone; nobody can check more than the types.

    Attributes
    ----------
    started_at, finished_at
        ISO 8601, in UTC.
    duration_ms
        Whole milliseconds.
    wayproof, python, platform, host
        Versions, and where it ran.
    argv
        The command line.
    processes
        How many shared the work.
    """

    started_at: _Instant | msgspec.UnsetType = msgspec.UNSET
    finished_at: _Instant | msgspec.UnsetType = msgspec.UNSET
    duration_ms: _Count | msgspec.UnsetType = msgspec.UNSET
    wayproof: str | msgspec.UnsetType = msgspec.UNSET
    python: str | msgspec.UnsetType = msgspec.UNSET
    platform: str | msgspec.UnsetType = msgspec.UNSET
    host: str | msgspec.UnsetType = msgspec.UNSET
    argv: list[str] | msgspec.UnsetType = msgspec.UNSET
    processes: Annotated[int, msgspec.Meta(ge=1, le=MAX_SAFE_INTEGER)] | msgspec.UnsetType = (
        msgspec.UNSET
    )


class Manifest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a bundle says of itself.

    Attributes
    ----------
    schema_version
        Version of this record's form.
    kind
        What it is, which says who can verify it: a row of ``wayproof.bundles.kinds``.
    files
        Every other file of the folder, by name.
    inputs
        Files the results were made from, by role (``tasks``, ``packets``, ``suite``).
    settings
        What was asked for; enough to make the same bytes again.
    limits
        What the results mean and don't, in whole sentences.
    varies
        Times, host, versions, arguments: true of this run only, never hashed. What is there
        of :class:`Varies` has its types; a kind may say more.
    """

    schema_version: str
    kind: str
    files: dict[str, FileDigest]
    inputs: dict[str, FileDigest]
    settings: dict[str, Any]
    limits: list[str]
    varies: dict[str, Any]


# -- reading --------------------------------------------------------------------------


def digest_file(path: Path) -> FileDigest:
    """Size and SHA-256 of a file, read in blocks.

    The blocks are large because a digest often runs beside other work: each block is
    one turn of the interpreter lock.
    """
    digest = hashlib.sha256()
    size_bytes = 0
    with path.open("rb", buffering=0) as file:
        block = memoryview(bytearray(min(_DIGEST_BLOCK_BYTES, path.stat().st_size + 1)))
        while count := file.readinto(block):
            digest.update(block[:count])
            size_bytes += count
    return FileDigest(bytes=size_bytes, sha256=digest.hexdigest())


def read_manifest(folder: Path) -> Manifest:
    """Read a bundle's manifest.

    Raises
    ------
    InputError
        When ``folder`` is not a whole bundle: missing, still being written, left behind
        by a killed run, or without a readable manifest.
    IntegrityError
        When it calls itself a manifest of this version and is none: fields that don't fit,
        or other bytes than its canonical form.
    """
    if not folder.is_dir():
        raise InputError("not a folder", file=str(folder), expected="a bundle's folder")
    if PARTIAL_MARK in folder.resolve().name:
        raise InputError("an unfinished run, not a result", file=str(folder), mend="run it again")
    path = folder / MANIFEST_NAME
    if path.is_symlink() or (path.exists() and not path.is_file()):
        _check_regular(path)
    data = read_small_file(path, "no manifest: not a bundle, or an interrupted one")
    _check_version(data, path)
    try:
        if canonical_bytes(strict_value(data)) + b"\n" != data:
            raise IntegrityError(
                "manifest is not in canonical form",
                file=str(path),
                mend="evidence files are never edited or re-formatted",
            )
        manifest = _typed(msgspec.json.decode(data))
    except InputError as error:
        raise IntegrityError.of(error, file=str(path)) from None
    for name in manifest.files:
        if not is_evidence_name(name):
            raise IntegrityError("names a file outside the bundle", file=str(path), found=name)
    return manifest


def _typed(record: Any) -> Manifest:
    manifest = convert_typed(record, Manifest)
    convert_typed(manifest.varies, Varies, prefix="varies")
    return manifest


class _Version(msgspec.Struct):
    schema_version: str


def _check_version(data: bytes, path: Path) -> None:
    """Refuse what doesn't call itself a manifest of ours; what does is evidence from there on."""
    try:
        version = msgspec.json.decode(data, type=_Version).schema_version
    except RecursionError:
        raise IntegrityError("manifest is nested too deeply", file=str(path)) from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError("not a manifest", file=str(path), found=str(error)) from None
    if version != SCHEMA_VERSION:
        raise InputError(
            "manifest of another version",
            file=str(path),
            field="schema_version",
            expected=SCHEMA_VERSION,
            found=version,
        )


def read_small_file(path: Path, problem: str) -> bytes:
    """Read a regular file of a bundle that is small by its nature.

    Raises
    ------
    InputError
        With ``problem``, for what is missing, a link, a pipe, a device or too large: a
        stranger's folder must not make its reader wait or run out of memory.
    """
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise InputError(problem, file=str(path), found="not a regular file")
        if status.st_size > _SMALL_FILE_BYTES:
            raise InputError(problem, file=str(path), found=f"{status.st_size} bytes")
        return path.read_bytes()
    except OSError as error:
        raise InputError(problem, file=str(path), found=error.strerror) from None


def signature_names(folder: Path) -> list[str]:
    """List the detached signatures in a bundle's folder, by name.

    A signature is made after the bundle, so the manifest can't name it. Names that match
    :data:`SIGNATURE_NAME` are kept for them.
    """
    return [name for name in _listed(folder) if SIGNATURE_NAME.fullmatch(name)]


def _listed(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def check_listing(folder: Path, manifest: Manifest) -> None:
    """Check that the folder holds the manifest's files and no others, opening none of them.

    Detached signatures may stand beside them.

    Raises
    ------
    IntegrityError
        Naming the first file that is missing, surplus or not a regular file.
    """
    expected = {MANIFEST_NAME, *manifest.files}
    signatures = signature_names(folder)
    for name in _listed(folder):
        if name not in expected and name not in signatures:
            raise IntegrityError(
                "file is not named by the manifest",
                file=str(folder / name),
                mend="a bundle holds its evidence and nothing else",
            )
    for name in (*sorted(expected), *signatures):
        _check_regular(folder / name)
    for name in signatures:
        size_bytes = (folder / name).lstat().st_size
        if size_bytes > _SIGNATURE_BYTES:
            raise IntegrityError(
                "too large for a signature",
                file=str(folder / name),
                expected=f"at most {_SIGNATURE_BYTES} bytes",
                found=f"{size_bytes} bytes",
            )


def _check_regular(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        raise IntegrityError("file is missing", file=str(path)) from None
    except OSError as error:
        raise IntegrityError("can't be read", file=str(path), found=error.strerror) from None
    if not stat.S_ISREG(mode):
        raise IntegrityError(
            "is not a regular file", file=str(path), expected="a regular file", found=_named(mode)
        )


def _named(mode: int) -> str:
    names = {
        stat.S_IFLNK: "a link",
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a pipe",
        stat.S_IFSOCK: "a socket",
    }
    return names.get(stat.S_IFMT(mode), "a device")


def verify_digests(folder: Path, manifest: Manifest) -> None:
    """Check that the folder holds exactly the manifest's files, byte for byte.

    Raises
    ------
    IntegrityError
        Naming the first file that is missing, surplus, no regular file or different.
    """
    check_listing(folder, manifest)
    for name, digest in sorted(manifest.files.items()):
        path = folder / name
        try:
            found = digest_file(path)
        except OSError as error:
            raise IntegrityError("can't be read", file=str(path), found=error.strerror) from None
        if found != digest:
            raise IntegrityError(
                "digest doesn't match the manifest",
                file=str(path),
                expected=f"{digest.bytes} bytes, SHA-256 {digest.sha256}",
                found=f"{found.bytes} bytes, SHA-256 {found.sha256}",
            )

"""Reading a bundle: its files checked against the manifest, their lines as records."""

import mmap
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self, TypeVar

import msgspec

from wayproof.bundles.kinds import BundleKind, kind_of
from wayproof.bundles.manifest import Manifest, check_listing, read_manifest, verify_digests
from wayproof.errors import InputError, IntegrityError
from wayproof.lines import MAX_LINE_BYTES, line_too_long

__all__ = [
    "Bundle",
    "FileIdentity",
    "LineFile",
    "check_files",
    "decoded_line",
    "decoded_lines",
    "identities",
    "open_bundle",
    "read_lines",
    "read_record",
]

T = TypeVar("T")


class Bundle(NamedTuple):
    """A folder whose files are what its manifest says."""

    folder: Path
    manifest: Manifest
    kind: BundleKind

    @property
    def name(self) -> str:
        """The folder's own name."""
        return self.folder.resolve().name

    def has(self, name: str) -> bool:
        """Whether the manifest names this file."""
        return name in self.manifest.files

    def digest(self, name: str) -> str:
        """SHA-256 of one of its files, in hex."""
        return self.manifest.files[name].sha256


def open_bundle(folder: Path, *, kind: str | None = None) -> Bundle:
    """Check a bundle's files and digests and return it.

    Parameters
    ----------
    folder
        The bundle.
    kind
        The only kind that is accepted; any when None.

    Raises
    ------
    InputError
        When the folder is no bundle, or of another kind.
    IntegrityError
        When a file isn't what the manifest says.
    """
    manifest = read_manifest(folder)
    if kind is not None and manifest.kind != kind:
        raise InputError(
            f"not a {kind} bundle", file=str(folder), expected=kind, found=manifest.kind
        )
    row = kind_of(manifest, folder)
    check_files(folder, manifest, row)
    verify_digests(folder, manifest)
    return Bundle(folder, manifest, row)


def check_files(folder: Path, manifest: Manifest, kind: BundleKind) -> None:
    """Check that a bundle's files are those of its kind and stand there, opening none.

    Raises
    ------
    IntegrityError
        Naming the first file that the kind doesn't have, that is missing, that nothing
        names, or that is no regular file.
    """
    files = [file for file in kind.files if file.is_in(manifest.settings)]
    for name in manifest.files:
        if kind.file(name) not in files:
            raise IntegrityError(
                "not a file of this kind of bundle",
                file=str(folder / name),
                expected=", ".join(file.name for file in files),
                mend=f"a {kind.name} bundle holds nothing else",
            )
    held = {kind.file(name) for name in manifest.files}
    for file in files:
        if file not in held:
            raise _lacks(folder, manifest, kind, file.name)
    check_listing(folder, manifest)


def _lacks(folder: Path, manifest: Manifest, kind: BundleKind, name: str) -> IntegrityError:
    return IntegrityError(
        "the bundle lacks a file of its kind",
        file=str(folder / name),
        expected=", ".join(file.name for file in kind.files),
        found=", ".join(sorted(manifest.files)) or "no files",
    )


def read_record(bundle: Bundle, name: str, record_type: type[T]) -> T:
    """Read a file that holds one JSON value."""
    path = bundle.folder / name
    if not bundle.has(name):
        raise _lacks(bundle.folder, bundle.manifest, bundle.kind, name)
    try:
        return msgspec.json.decode(path.read_bytes(), type=record_type)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            "not what this file should hold", file=str(path), found=str(error)
        ) from None


class LineFile:
    """A file of LF-ended lines, mapped into memory: any line by its number.

    Use it in a ``with`` block.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("rb")
        size_bytes = path.stat().st_size
        self._map: mmap.mmap | bytes = (
            mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) if size_bytes else b""
        )
        self._ends: array[int] = array("Q")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if isinstance(self._map, mmap.mmap):
            self._map.close()
        self._file.close()

    def __len__(self) -> int:
        """Lines seen so far; all of them once iterated."""
        return len(self._ends)

    def __iter__(self) -> Iterator[bytes]:
        self._ends = array("Q")
        at, find = 0, self._map.find
        while (end := find(b"\n", at)) >= 0:
            if end - at > MAX_LINE_BYTES:
                raise line_too_long(at).at(file=str(self.path), line=len(self._ends) + 1)
            self._ends.append(end)
            yield self._map[at:end]
            at = end + 1
        if at != len(self._map):
            raise InputError("last line is cut off", file=str(self.path), line=len(self._ends) + 1)

    def line(self, number: int) -> bytes:
        """Line ``number``, from 0, without its line feed; after an iteration."""
        start = self._ends[number - 1] + 1 if number else 0
        return self._map[start : self._ends[number]]

    def size_bytes(self, number: int) -> int:
        """Size of a line without its line feed."""
        start = self._ends[number - 1] + 1 if number else 0
        return self._ends[number] - start


def read_lines(path: Path, record_type: type[T]) -> Iterator[T]:
    """Open a file of LF-ended lines and decode each.

    Raises
    ------
    InputError
        Naming file and line of what isn't such a record, or is cut off.
    """
    with LineFile(path) as lines:
        yield from decoded_lines(lines, record_type)


def decoded_lines(lines: LineFile, record_type: type[T]) -> Iterator[T]:
    """Decode each line.

    Raises
    ------
    InputError
        Naming file and line of what isn't such a record.
    """
    decoder = msgspec.json.Decoder(record_type)
    for number, line in enumerate(lines):
        yield decoded_line(lines, number, line, decoder)


def decoded_line(
    lines: LineFile, number: int, line: bytes, decoder: "msgspec.json.Decoder[T]"
) -> T:
    """Decode line ``number`` (from 0), or say where it is wrong."""
    try:
        return decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            "not a record of this file",
            file=str(lines.path),
            line=number + 1,
            found=str(error),
        ) from None


class FileIdentity(msgspec.Struct, frozen=True):
    """A digest to show: role or name, size, SHA-256."""

    name: str
    bytes: int
    sha256: str


def identities(bundle: Bundle) -> dict[str, list[FileIdentity]]:
    """List the digests of a bundle's files and of what it was made from."""
    manifest = bundle.manifest
    return {
        "files": [
            FileIdentity(name, digest.bytes, digest.sha256)
            for name, digest in sorted(manifest.files.items())
        ],
        "inputs": [
            FileIdentity(role, digest.bytes, digest.sha256)
            for role, digest in sorted(manifest.inputs.items())
        ],
    }

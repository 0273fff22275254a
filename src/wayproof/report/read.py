"""A bundle's files as records: only what a report shows, nothing that it must trust.

Digests are checked before anything is read. Unknown fields are ignored: a later version
may add some.
"""

import mmap
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self, TypeVar

import msgspec

from wayproof.bundles.manifest import Manifest, read_manifest, verify_digests
from wayproof.errors import InputError, IntegrityError

__all__ = [
    "Bundle",
    "LineFile",
    "decoded_line",
    "decoded_lines",
    "identities",
    "open_bundle",
    "read_record",
]

T = TypeVar("T")
_FILES: Final[dict[str, tuple[str, ...]]] = {
    "fitness": ("results.jsonl", "summary.json"),
    "recovery": ("results.jsonl", "suite.jsonl", "summary.json", "traces.jsonl"),
}
"""What a report reads of each kind; a fitness run may have been asked for its summary only."""


class Bundle(NamedTuple):
    """A folder whose files are what its manifest says."""

    folder: Path
    manifest: Manifest

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


def open_bundle(folder: Path) -> Bundle:
    """Check a bundle's digests and return it.

    Raises
    ------
    InputError
        When the folder is no bundle.
    IntegrityError
        When a file isn't what the manifest says.
    """
    manifest = read_manifest(folder)
    verify_digests(folder, manifest)
    bundle = Bundle(folder, manifest)
    is_brief = manifest.settings.get("summary_only") is True
    for name in _FILES.get(manifest.kind, ()):
        if not bundle.has(name) and not (is_brief and name == "results.jsonl"):
            raise _lacks(bundle, name)
    return bundle


def _lacks(bundle: Bundle, name: str) -> IntegrityError:
    return IntegrityError(
        "the bundle lacks a file of its kind",
        file=str(bundle.folder / name),
        expected=", ".join(_FILES.get(bundle.manifest.kind, (name,))),
        found=", ".join(sorted(bundle.manifest.files)) or "no files",
    )


def read_record(bundle: Bundle, name: str, kind: type[T]) -> T:
    """Read a file that holds one JSON value."""
    path = bundle.folder / name
    if not bundle.has(name):
        raise _lacks(bundle, name)
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
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


def decoded_lines(lines: LineFile, kind: type[T]) -> Iterator[T]:
    """Decode each line.

    Raises
    ------
    InputError
        Naming file and line of what isn't a record of this kind.
    """
    decoder = msgspec.json.Decoder(kind)
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

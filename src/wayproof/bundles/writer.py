"""A result folder, written whole or not at all.

A *bundle* is a folder of evidence files and a ``manifest.json`` that names each of them
with its SHA-256. It is built in a temporary sibling and renamed when it is whole, so
that an interrupted run leaves nothing that looks like a result:

* ``.NAME.wayproof-partial-XXXX``: being written, or left behind by a killed run. No reader accepts
  it, and the next run to the same place sweeps it away once nobody holds its lock.
* ``.NAME.wayproof-previous``: the folder that was there before. It is put back if the run
  dies between the two renames.

The manifest is the only file that may hold times, host and versions. Files are not
forced to disk one by one: after a power cut the digests tell what is whole.
"""

import contextlib
import hashlib
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec

from wayproof._version import __version__
from wayproof.bundles.kinds import KINDS
from wayproof.bundles.manifest import (
    MANIFEST_NAME,
    PARTIAL_MARK,
    SCHEMA_VERSION,
    FileDigest,
    Manifest,
    is_evidence_name,
    read_manifest,
)
from wayproof.bundles.places import (
    hold,
    partial_prefix,
    permissions,
    refuse_inside_bundle,
    sweep,
    turn,
)
from wayproof.bundles.written import note_written
from wayproof.canonical import canonical_bytes
from wayproof.errors import InputError, IntegrityError, OutputError
from wayproof.text import quoted

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

__all__ = ["BundleWriter", "DigestWriter"]

_PREVIOUS_MARK = ".wayproof-previous"
_WRITE_BLOCK_BYTES = 1 << 20


class DigestWriter:
    """A binary file that knows its own size and SHA-256 once closed.

    What is written is gathered into blocks. From the second block on they are hashed by
    a thread of their own, beside the caller's next work.
    """

    def __init__(self, path: Path) -> None:
        self._file: FileIO = path.open("xb", buffering=0)
        self._hash = hashlib.sha256()
        self._size_bytes = 0
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._hashing: Future[None] | None = None
        self._thread: ThreadPoolExecutor | None = None

    def write(self, data: bytes) -> None:
        """Append ``data``."""
        self._held.append(data)
        self._held_bytes += len(data)
        if self._held_bytes >= _WRITE_BLOCK_BYTES:
            self._flush()

    def _flush(self) -> None:
        block = b"".join(self._held)
        self._held, self._held_bytes = [], 0
        if self._hashing is not None:
            self._hashing.result()
        if self._size_bytes and self._thread is None:
            from concurrent.futures import ThreadPoolExecutor

            self._thread = ThreadPoolExecutor(1)
        self._size_bytes += len(block)
        if self._thread is None:
            self._hash.update(block)
        else:
            self._hashing = self._thread.submit(self._hash.update, block)
        rest = memoryview(block)
        while rest:
            rest = rest[self._file.write(rest) :]

    def close(self) -> FileDigest:
        """Finish the file and return the digest of all that was written."""
        self._flush()
        if self._thread is not None:
            self._thread.shutdown()
        self._file.close()
        return FileDigest(bytes=self._size_bytes, sha256=self._hash.hexdigest())

    def abandon(self) -> None:
        """Close without a digest: the folder is going away."""
        if self._thread is not None:
            self._thread.shutdown()
        with contextlib.suppress(OSError):
            self._file.close()


class BundleWriter:
    """Write a bundle: ``with BundleWriter(out, kind="fitness") as bundle: …; bundle.commit(…)``.

    Leaving the block without :meth:`commit` removes everything that was written.

    Parameters
    ----------
    out
        The folder to make. Its parent must exist.
    kind
        Name of its row in :data:`~wayproof.bundles.kinds.KINDS`.
    overwrite
        Replace an existing folder. Without it an existing one is refused.

    Raises
    ------
    OutputError
        When ``out`` exists (and ``overwrite`` is off), its parent doesn't, or the
        place can't be written to.
    """

    def __init__(self, out: Path, *, kind: str, overwrite: bool = False) -> None:
        # `..` and links on the way are settled now, while the way still exists.
        self._out = out.parent.resolve() / out.name if out.name not in {"", ".."} else out
        self._shown = str(out)
        self._kind = KINDS[kind]
        self._overwrite = overwrite
        self._started = datetime.now(tz=UTC)
        self._started_s = time.perf_counter()
        self._files: dict[str, FileDigest] = {}
        self._open: dict[str, DigestWriter] = {}
        self._committed = False
        self._held: int | None = None
        self._partial = self._make_partial()

    # -- lifetime ---------------------------------------------------------------------

    def _make_partial(self) -> Path:
        out = self._out
        parent = out.parent
        if not parent.is_dir():
            raise OutputError(
                "the folder to write into doesn't exist",
                file=str(Path(self._shown).parent),
                mend="make it first, or choose another {out}",
            )
        if not _is_result_name(out.name):
            raise OutputError(
                "not a name for a result", file=self._shown, mend="choose another {out}"
            )
        refuse_inside_bundle(parent, self._shown)
        with turn(parent):
            if self._previous.exists() and not os.path.lexists(out):
                self._previous.rename(out)  # a run died between its two renames
            sweep(parent, out.name)
            if os.path.lexists(out):
                self._refuse_unless_replaceable()
            try:
                partial = Path(tempfile.mkdtemp(prefix=partial_prefix(out.name), dir=parent))
            except OSError as error:
                raise OutputError(
                    "can't be written to", file=str(parent), found=error.strerror
                ) from None
            self._held = hold(partial)
        (partial / "scratch").mkdir()
        return partial

    def _refuse_unless_replaceable(self) -> None:
        """Replace bundles and empty folders, when asked to, and nothing else ever."""
        if not self._overwrite:
            raise OutputError(
                "already exists; nothing was written",
                file=self._shown,
                mend="choose another {out}, or set {overwrite}",
            )
        surplus = _surplus(self._out, self._kind.name)
        if surplus is not None:
            raise OutputError(
                "exists and is not a wayproof bundle of this kind, so it is not overwritten",
                file=self._shown,
                expected=f"a {self._kind.name} bundle with its own files alone, or an empty folder",
                found=surplus,
                mend="choose another {out}",
            )

    @property
    def _previous(self) -> Path:
        return self._out.with_name(f".{self._out.name}{_PREVIOUS_MARK}")

    @property
    def scratch(self) -> Path:
        """A folder for temporary files, on the same disk; gone when the bundle is done."""
        return self._partial / "scratch"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self._committed:
            for writer in self._open.values():
                writer.abandon()
            shutil.rmtree(self._partial, ignore_errors=True)
        if self._held is not None:
            os.close(self._held)
            self._held = None
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise OutputError(
                "could not be written", file=self._shown, found=error.strerror or str(error)
            ) from error

    # -- files ------------------------------------------------------------------------

    def open(self, name: str) -> DigestWriter:
        """Start the evidence file ``name``; it is closed by :meth:`close` or :meth:`commit`."""
        if not is_evidence_name(name) or self._kind.file(name) is None:
            msg = f"not a name for an evidence file of a {self._kind.name} bundle: {name!r}"
            raise ValueError(msg)
        writer = DigestWriter(self._partial / name)
        self._open[name] = writer
        return writer

    def close(self, name: str) -> FileDigest:
        """Finish one file and return its digest."""
        digest = self._open.pop(name).close()
        self._files[name] = digest
        return digest

    def write(self, name: str, data: bytes) -> FileDigest:
        """Write a whole file at once."""
        self.open(name).write(data)
        return self.close(name)

    def path(self, name: str) -> Path:
        """Where a finished file stands until :meth:`commit`, for reading it back."""
        return self._partial / name

    def commit(
        self,
        *,
        inputs: Mapping[str, FileDigest],
        settings: Mapping[str, Any],
        limits: Sequence[str],
        varies: Mapping[str, Any] | None = None,
    ) -> Manifest:
        """Write the manifest, put the folder in its place, and return the manifest.

        Other files than those of its kind are a programming error: ValueError.
        """
        for name in list(self._open):
            self.close(name)
        made = {self._kind.file(name) for name in self._files}
        if made != {file for file in self._kind.files if file.is_in(settings)}:
            msg = f"not the files of a {self._kind.name} bundle: {', '.join(self._files)}"
            raise ValueError(msg)
        shutil.rmtree(self.scratch)
        manifest = Manifest(
            schema_version=SCHEMA_VERSION,
            kind=self._kind.name,
            files=dict(sorted(self._files.items())),
            inputs=dict(sorted(inputs.items())),
            settings=dict(settings),
            limits=list(limits),
            varies={
                "started_at": self._started.isoformat(timespec="milliseconds"),
                "finished_at": datetime.now(tz=UTC).isoformat(timespec="milliseconds"),
                "duration_ms": round((time.perf_counter() - self._started_s) * 1000),
                "wayproof": __version__,
                "python": platform.python_version(),
                "platform": platform.platform(),
                "host": platform.node(),
                "argv": [_storable(argument) for argument in sys.argv],
                **(varies or {}),
            },
        )
        manifest_writer = DigestWriter(self._partial / MANIFEST_NAME)
        manifest_writer.write(canonical_bytes(msgspec.to_builtins(manifest)) + b"\n")
        manifest_writer.close()
        # mkdtemp makes private folders; a result is as readable as its neighbours.
        self._partial.chmod(permissions(0o777))
        self._swap_in()
        self._committed = True
        note_written(Path(self._shown))
        return manifest

    def _swap_in(self) -> None:
        out, previous = self._out, self._previous
        with turn(out.parent):
            if not os.path.lexists(out):
                self._partial.rename(out)
                return
            if not self._overwrite:  # made by somebody else while we were working
                raise OutputError("was made by another run meanwhile", file=self._shown)
            self._refuse_unless_replaceable()
            shutil.rmtree(previous, ignore_errors=True)
            out.rename(previous)
            try:
                self._partial.rename(out)
            except OSError:
                previous.rename(out)
                raise
            shutil.rmtree(previous, ignore_errors=True)


def _storable(argument: str) -> str:
    return argument.encode("utf-8", "backslashreplace").decode("utf-8")


def _is_result_name(name: str) -> bool:
    """Tell whether a folder's name may be that of a result."""
    return (
        name not in {"", ".", ".."}
        and PARTIAL_MARK not in name
        and not name.endswith(_PREVIOUS_MARK)
    )


def _surplus(folder: Path, kind: str) -> str | None:
    """Say what keeps a place from being replaced; None for such a bundle or an empty folder."""
    if folder.is_symlink():
        return "a link"
    if not folder.is_dir():
        return "a file"
    names = {entry.name for entry in folder.iterdir()}
    if not names:
        return None
    try:
        manifest = read_manifest(folder)
    except (InputError, IntegrityError) as error:
        return error.problem
    if manifest.kind != kind:
        return f"a bundle of kind {quoted(manifest.kind)}"
    others = sorted(names - {MANIFEST_NAME, *manifest.files})
    return f"also {quoted(others[0])}" if others else None

"""The two inputs of scoring: plain files on disk, read line by line, with exact places."""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from wayproof.errors import InputError
from wayproof.lines import (
    BLOCK_BYTES,
    MAX_LINE_BYTES,
    STDIN_NAME,
    blocks,
    is_compressed,
    line_too_long,
    open_input,
    read_lines,
    shown_name,
)
from wayproof.parallel.backend import MAX_PROCESSES
from wayproof.strict_json import explain_line

__all__ = [
    "PlainFile",
    "decode_line",
    "default_processes",
    "each_line",
    "is_small",
    "line_number_at",
    "plain_file",
]

_LARGE_BYTES = 64 << 20


def is_small(packets: Path) -> bool:
    """Tell whether packets are scored before a process would have started."""
    return not packets.is_file() or packets.stat().st_size < _LARGE_BYTES


def default_processes(packets: Path) -> int:
    """Use every processor for a large file; a small one is scored before a process starts."""
    if is_small(packets):
        return 1
    has_affinity = hasattr(os, "sched_getaffinity")
    processors = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return min(processors, MAX_PROCESSES)


class PlainFile(NamedTuple):
    """An input as a plain file on disk; ``given`` is what its digest is taken of."""

    path: Path
    given: Path
    shown: str
    stamp: tuple[int, int]

    def refuse_change(self) -> None:
        """Refuse to give results for a file that changed while it was read."""
        if _stamp(self.path) != self.stamp:
            raise InputError(
                "file changed while it was read", file=self.shown, mend="score it again"
            )


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def plain_file(path: Path, copy: Path) -> PlainFile:
    """Make an input seekable: pipes and compressed files are unpacked into ``copy``.

    A digest is that of the file as given, or of the text itself for a pipe.
    """
    shown = shown_name(path)
    given = plain = path
    with open_input(path) as stream:
        is_regular = str(path) != STDIN_NAME and stat.S_ISREG(path.stat().st_mode)
        if not is_regular or is_compressed(stream):
            plain = copy
            _copy_lines(stream, copy, shown)
    if not is_regular:
        given = copy
    return PlainFile(plain, given, shown, _stamp(plain))


def _copy_lines(stream: BinaryIO, copy: Path, shown: str) -> None:
    """Copy a stream, but no further than a line may be long: a device never ends."""
    size = line_start = 0
    with copy.open("xb") as file:
        for block in blocks(stream):
            newline = block.rfind(b"\n")
            if newline >= 0:
                line_start = size + newline + 1
            size += file.write(block)
            if size - line_start > MAX_LINE_BYTES + BLOCK_BYTES:
                raise line_too_long(line_start).at(file=shown)


def each_line(
    path: Path,
    shown: str,
    take: Callable[[bytes, int], None],
    start: int = 0,
    end: int | None = None,
) -> None:
    """Hand each line (and its offset) of a part of a file to ``take``.

    An :class:`InputError` from ``take`` gets the file's name and the line's number.
    """
    offset = start
    with path.open("rb", buffering=BLOCK_BYTES) as file:
        file.seek(start)
        try:
            for offset, line in read_lines(file, start, end):
                take(line, offset)
        except InputError as error:
            number = line_number_at(path, offset) if error.index is None else None
            raise error.at(file=shown, line=number) from None


def line_number_at(path: Path, offset: int) -> int:
    """Count the lines of a plain file up to a byte offset."""
    with path.open("rb") as file:
        return 1 + sum(block.count(b"\n") for block in blocks(file, offset))


def decode_line(line: bytes, decode: Callable[[bytes], Any], kind: type[Any]) -> Any:
    """Decode one line; what the fast decoder refuses or can't vouch for gets a second look."""
    try:
        record = decode(line)
        if not line.isascii():
            line.decode("utf-8")  # the decoder doesn't look into values that it skips
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise explain_line(line, kind) from None
    return record

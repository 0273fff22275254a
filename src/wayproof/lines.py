"""Files to lines: opened plain or compressed, read within one limit, in constant memory.

Every line that wayproof reads comes through :func:`raw_lines`. One limit holds for inputs and
evidence, which refuse a line that is longer or cut off. Logs are others' files: they may have
longer lines, and reading goes on behind one that is longer still.
"""

import contextlib
import functools
import gzip
import math
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from wayproof.errors import InputError

__all__ = [
    "BLOCK_BYTES",
    "BOM",
    "MAX_LINE_BYTES",
    "MAX_LOG_LINE_BYTES",
    "STDIN_NAME",
    "blocks",
    "evidence_lines",
    "is_compressed",
    "is_too_long",
    "line_too_long",
    "open_input",
    "raw_lines",
    "read_lines",
    "shown_name",
]

MAX_LINE_BYTES: Final = 64 << 20
"""The longest line of an input or of evidence, after decompression, without what ends it."""
MAX_LOG_LINE_BYTES: Final = 256 << 20
"""The longest line of a log: agents write whole tool outputs into one record."""

BLOCK_BYTES: Final = 1 << 20
STDIN_NAME: Final = "-"
BOM: Final = b"\xef\xbb\xbf"
"""UTF-8's byte-order mark."""
_GZIP_MAGIC: Final = b"\x1f\x8b"


def shown_name(path: Path) -> str:
    """Return the name that messages use for an input: ``<stdin>`` for ``-``."""
    return "<stdin>" if str(path) == STDIN_NAME else str(path)


@contextlib.contextmanager
def open_input(path: Path) -> Iterator[BinaryIO]:
    """Open a plain or gzip-compressed file, or standard input for ``-``.

    Compression is told from the first two bytes, not from the name.

    Raises
    ------
    InputError
        When the file can't be read, or its gzip stream is damaged or cut short.
    """
    name = shown_name(path)
    try:
        with contextlib.ExitStack() as stack:
            raw: Any
            if str(path) != STDIN_NAME:
                raw = stack.enter_context(path.open("rb"))
            elif sys.stdin is None:
                raise InputError("standard input is closed", file=name)
            else:
                raw = sys.stdin.buffer
            if raw.peek(2)[:2] == _GZIP_MAGIC:
                yield stack.enter_context(gzip.GzipFile(fileobj=raw))  # type: ignore[misc]
            else:
                yield raw
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError("damaged gzip data", file=name, found=str(error)) from None
    except OSError as error:
        raise InputError("can't be read", file=name, found=error.strerror or str(error)) from None


def is_compressed(stream: BinaryIO) -> bool:
    """Tell whether :func:`open_input` found a gzip file and decompresses it."""
    return isinstance(stream, gzip.GzipFile)


def blocks(stream: BinaryIO, limit_bytes: int | None = None) -> Iterator[bytes]:
    """Read ``stream`` in blocks of 1 MiB, at most ``limit_bytes`` in all."""
    left = math.inf if limit_bytes is None else limit_bytes
    while left > 0 and (block := stream.read(int(min(BLOCK_BYTES, left)))):
        left -= len(block)
        yield block


def raw_lines(stream: BinaryIO, limit_bytes: int | None = None) -> Iterator[bytes]:
    """Yield lines with their line feeds, the last one with or without.

    Of a line over the limit (:data:`MAX_LINE_BYTES` when None) only the beginning is read:
    enough for :func:`is_too_long` to tell. What is left of it comes as the next line.
    """
    limit_bytes = MAX_LINE_BYTES if limit_bytes is None else limit_bytes
    return iter(functools.partial(stream.readline, limit_bytes + 3), b"")


def is_too_long(line: bytes, limit_bytes: int | None = None) -> bool:
    """Tell whether a line of :func:`raw_lines` is over the limit."""
    limit_bytes = MAX_LINE_BYTES if limit_bytes is None else limit_bytes
    return len(line) > limit_bytes and len(line.rstrip(b"\r\n")) > limit_bytes


def read_lines(
    stream: BinaryIO, start: int = 0, end: int | None = None
) -> Iterator[tuple[int, bytes]]:
    """Yield (offset in bytes, line without its LF or CR LF) of an input up to ``end``.

    ``stream`` stands at the offset ``start``, which is the beginning of a line. Blank
    lines are passed over, and so is a byte-order mark at the start of the file.

    Raises
    ------
    InputError
        For a line over :data:`MAX_LINE_BYTES`; its ``index`` names the byte offset.
    """
    offset = start
    for line in raw_lines(stream):
        at = offset
        offset += len(line)
        if at == 0 and line.startswith(BOM):
            line = line[len(BOM) :]  # noqa: PLW2901 - the line without its mark
            at = len(BOM)
        content = line.rstrip(b"\r\n")
        if len(content) > MAX_LINE_BYTES:
            raise line_too_long(at)
        if content and not content.isspace():
            yield at, content
        if end is not None and offset >= end:
            return


def evidence_lines(stream: BinaryIO, name: str) -> Iterator[tuple[int, bytes]]:
    """Yield line numbers, from 1, and lines of evidence without their line feed.

    Raises
    ------
    InputError
        Naming the file ``name`` and the line that is over the limit or doesn't end in a
        line feed (a truncated file).
    """
    for number, line in enumerate(raw_lines(stream), 1):
        if is_too_long(line):
            raise line_too_long(None).at(file=name, line=number)
        if not line.endswith(b"\n"):
            raise InputError(
                "last line is cut off",
                file=name,
                line=number,
                expected="a line feed at the end of every line",
            )
        yield number, line[:-1]


def line_too_long(offset: int | None) -> InputError:
    """Say that a line is over the limit, and at which offset it starts, where that is known."""
    return InputError(
        "line is too long",
        index=None if offset is None else f"byte {offset}",
        expected=f"at most {MAX_LINE_BYTES} bytes",
        mend="is this a JSON Lines file, with one record a line?",
    )

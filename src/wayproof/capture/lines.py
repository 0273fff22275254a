"""Bytes of a log to records: any encoding, any damage, constant memory.

A log is evidence, so damage never stops the reading and never goes unseen: each line that
is not a clean record is kept as a :class:`Problem` with its place. Lines that can be mended
without guessing (two records run together, NaN, lone surrogates, NUL bytes) are read and
still named.
"""

import codecs
import contextlib
import gzip
import io
import json
import math
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

import msgspec

from wayproof.errors import InputError
from wayproof.lines import BLOCK_BYTES, MAX_LOG_LINE_BYTES, is_too_long, raw_lines

__all__ = [
    "Problem",
    "Problems",
    "Source",
    "clean_json",
]

_GZIP_MAGIC = b"\x1f\x8b"
_SMALL_BYTES = 1 << 20
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_T = TypeVar("_T")


class Problem(msgspec.Struct, frozen=True):
    """A place in a log that is not as it should be.

    ``mended`` says that the record was read all the same.
    """

    file: str
    line: int
    text: str
    mended: bool = False

    def __str__(self) -> str:
        """Return ``file:line: text``."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.text}"


class Problems:
    """All problems counted, the first ones kept by name.

    Parameters
    ----------
    keep
        How many to keep; the rest is only counted, so that a broken 5 GB file
        doesn't fill the memory.
    """

    def __init__(self, keep: int = 1000) -> None:
        self._keep = keep
        self.count = 0
        self.named: list[Problem] = []

    def add(self, file: str, line: int, text: str, *, mended: bool = False) -> None:
        """Count a problem."""
        self.count += 1
        if len(self.named) < self._keep:
            self.named.append(Problem(file, line, text, mended))


class Source:
    """One log file: its name for messages, and its bytes as lines or as one document.

    Parameters
    ----------
    path
        Where it lies.
    name
        What to call it in packets and messages; the path as the user gave it.
    problems
        Where damage is counted.
    """

    def __init__(self, path: Path, *, name: str | None = None, problems: Problems) -> None:
        self.path = path
        self.name = str(path) if name is None else name
        self.problems = problems
        self._kept: bytes | None = None

    def quiet(self) -> "Source":
        """Return the same file with problems of its own, for looking into it beforehand."""
        again = Source(self.path, name=self.name, problems=Problems())
        again._kept = self._kept
        return again

    def bad(self, line: int, text: str, *, mended: bool = False) -> None:
        """Count a problem of this file."""
        self.problems.add(self.name, line, text, mended=mended)

    @contextlib.contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the file as UTF-8 bytes: decompressed, byte order mark gone, UTF-16 recoded.

        A small file is read from the disk once, however often it is opened.

        Raises
        ------
        InputError
            When the file can't be read, or needs a library that isn't installed.
        """
        if self._kept is not None:
            yield io.BytesIO(self._kept)
            return
        try:
            with (
                self.path.open("rb", buffering=BLOCK_BYTES) as file,
                _decompressed(file, self.name) as plain,
            ):
                data = _as_utf8(plain)
                if plain is file and os.fstat(file.fileno()).st_size <= _SMALL_BYTES:
                    self._kept = data.read()
                    data = io.BytesIO(self._kept)
                yield data
        except (OSError, EOFError) as error:
            text = getattr(error, "strerror", None) or str(error)
            raise InputError("can't be read", file=self.name, found=text) from None

    def whole(self) -> bytes:
        """Return the whole file, and keep it for whoever reads it next."""
        if self._kept is None:
            with self.open() as file:
                self._kept = file.read()
        return self._kept

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield (line number, bytes) of each line that isn't blank.

        Lines over :data:`~wayproof.lines.MAX_LOG_LINE_BYTES` are skipped and counted.
        """
        with self.open() as file:
            for number, line in enumerate(raw_lines(file, MAX_LOG_LINE_BYTES), 1):
                if len(line) > MAX_LOG_LINE_BYTES and is_too_long(line, MAX_LOG_LINE_BYTES):
                    self.bad(number, f"line is longer than {MAX_LOG_LINE_BYTES >> 20} MiB; skipped")
                    if not line.endswith(b"\n"):
                        _skip_line(file)
                    continue
                if not line.isspace():
                    yield number, line

    def records(
        self,
        decoder: "msgspec.json.Decoder[_T]",
        *,
        expected: str = "an object",
        otherwise: "msgspec.json.Decoder[_T] | None" = None,
    ) -> Iterator[tuple[int, _T]]:
        """Yield (line number, record) for each line, mending what can be mended.

        ``otherwise`` decodes what ``decoder`` finds to have a member of another type.
        """
        decode = decoder.decode
        careful = decode if otherwise is None else _either(decode, otherwise.decode)
        for number, line in self.lines():
            try:
                record = decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                yield from self._mended(number, line, careful, error, expected)
                continue
            # Members that are decoded later, or never, have not been looked into.
            if not line.isascii() and not _is_utf8(line):
                self.bad(number, "not quite JSON (invalid UTF-8); mended and read", mended=True)
            yield number, record

    def _mended(
        self,
        number: int,
        line: bytes,
        decode: Callable[[bytes], _T],
        error: Exception,
        expected: str,
    ) -> Iterator[tuple[int, _T]]:
        if isinstance(error, msgspec.ValidationError):
            try:
                yield number, decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as again:
                self.bad(number, _not_expected(line, again, expected))
            return
        documents, complete, what = clean_json(line)
        broken = 0
        if not complete:
            documents, broken = _salvaged(line)
        if not documents:
            self.bad(number, f"not JSON ({what})")
            return
        for document in documents:
            try:
                record = decode(document)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as again:
                self.bad(number, _not_expected(document, again, expected))
                continue
            yield number, record
        if broken:
            self.bad(
                number,
                f"{broken} broken record(s) beside {len(documents)} whole, not JSON ({what})",
            )
        elif len(documents) > 1:
            self.bad(number, f"{len(documents)} records run together; all were read", mended=True)
        else:
            self.bad(number, f"not quite JSON ({what}); mended and read", mended=True)

    def document(self, decoder: "msgspec.json.Decoder[_T]") -> _T | None:
        """Decode the whole file as one JSON document; None (and a problem) if it isn't one."""
        data = self.whole()
        self._kept = None  # what it holds is decoded below, and may be large
        try:
            return decoder.decode(data)
        except msgspec.ValidationError as error:
            self.bad(1, f"not the expected document ({error})")
            return None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            documents, complete, what = clean_json(data)
        if not documents or not complete:
            self.bad(1, f"not a JSON document ({what})")
            return None
        try:
            document = decoder.decode(documents[0])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            self.bad(1, f"not the expected document ({error})")
            return None
        if len(documents) > 1:
            self.bad(1, f"{len(documents)} JSON documents; only the first was read")
        else:
            self.bad(1, f"not quite JSON ({what}); mended and read", mended=True)
        return document


def _either(first: Callable[[bytes], _T], second: Callable[[bytes], _T]) -> Callable[[bytes], _T]:
    def decode(data: bytes) -> _T:
        try:
            return first(data)
        except msgspec.ValidationError:
            return second(data)

    return decode


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _not_expected(document: bytes, error: Exception, expected: str) -> str:
    start = document.lstrip()[:1]
    if start not in {b"{", b"["} or (start == b"[" and "got `array`" in str(error)):
        return f"not {expected}"
    return f"not {expected} of this format ({error})"


# -- damage ---------------------------------------------------------------------------


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


_lenient = json.JSONDecoder(strict=False, parse_float=_finite, parse_constant=lambda _: None)


def clean_json(data: bytes) -> tuple[list[bytes], bool, str]:
    """Read JSON leniently and write it clean.

    NaN and infinities become null, lone surrogates and invalid UTF-8 become replacement
    characters, NUL bytes and stray byte order marks go, raw control characters inside
    strings are kept as text, and several documents in a row are all read.

    Returns
    -------
    tuple
        The clean documents, whether the whole of ``data`` was read, and what was wrong.
    """
    text = data.decode("utf-8", "replace")
    what = _visible_damage(data, text)
    text = text.replace("\x00", "").replace("\ufeff", "").strip()
    documents: list[bytes] = []
    position = 0
    while position < len(text):
        try:
            value, position = _lenient.raw_decode(text, position)
            documents.append(
                json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
            )
        except json.JSONDecodeError as error:
            return documents, False, what or f"{error.msg.lower()} at character {error.pos}"
        except (RecursionError, ValueError):
            return documents, False, "nested too deeply, or a number too long"
        while position < len(text) and text[position].isspace():
            position += 1
    return documents, True, what or "a lone surrogate, NaN or Infinity"


_RECORD_START = re.compile(r'\{\s*"(?:[^"\\]|\\.){0,80}"\s*:')
_MAX_STARTS = 200


def _salvaged(data: bytes) -> tuple[list[bytes], int]:
    """Return the whole records of a broken line, and how many broken ones lie between.

    A cut record runs into the next one, so reading goes on at the next place that begins
    like the line itself: with a brace and the same first member. An object inside the
    broken record that begins otherwise is none of the line's records.
    """
    text = data.decode("utf-8", "replace").replace("\x00", "").replace("\ufeff", "").strip()
    begins = _RECORD_START.match(text)
    if begins is None:
        return clean_json(data)[0], 1
    documents: list[bytes] = []
    position, broken, searching = 0, 0, False
    for _ in range(_MAX_STARTS):
        whole, end = _one_record(text, position)
        clean = end == len(text) or text.startswith("{", end)
        if whole is not None and (clean or not searching):
            documents.append(whole)
            position, searching = end, False
            if end == len(text):
                return documents, broken
            if clean:
                continue
        broken += not searching
        searching = True
        position = text.find(begins[0], position + 1)
        if position < 0:
            break
    return documents, broken


def _one_record(text: str, position: int) -> tuple[bytes | None, int]:
    try:
        value, end = _lenient.raw_decode(text, position)
        written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (RecursionError, ValueError):
        return None, position
    while end < len(text) and text[end].isspace():
        end += 1
    return written.encode("utf-8", "replace"), end


def _visible_damage(data: bytes, text: str) -> str:
    if b"\x00" in data:
        return "NUL bytes"
    if "\ufffd" in text and b"\xef\xbf\xbd" not in data:
        return "invalid UTF-8"
    return ""


def _skip_line(file: BinaryIO) -> None:
    while block := file.readline(BLOCK_BYTES):
        if block.endswith(b"\n"):
            return


# -- encodings ------------------------------------------------------------------------


@contextlib.contextmanager
def _decompressed(file: BinaryIO, name: str) -> Iterator[BinaryIO]:
    magic = file.read(4)
    file.seek(0)
    if magic.startswith(_GZIP_MAGIC):
        with gzip.open(file, "rb") as plain:
            yield cast("BinaryIO", plain)
    elif magic == _ZSTD_MAGIC:
        with _zstd_reader(file, name) as reader:
            yield reader
    else:
        yield file


def _zstd_reader(file: BinaryIO, name: str) -> BinaryIO:
    try:
        import zstandard
    except ImportError:
        raise InputError(
            "is compressed with zstd, and the library that reads it is not installed",
            file=name,
            mend="pip install 'wayproof[zstd]', or decompress it first: zstd -d FILE",
        ) from None
    try:
        raw = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
    except zstandard.ZstdError as error:
        raise InputError("is not readable zstd", file=name, found=str(error)) from None
    return cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", _Zstd(raw, name))))


class _Zstd(io.RawIOBase):
    """A zstd stream whose damage is an OSError like any other file's."""

    def __init__(self, raw: Any, name: str) -> None:
        self._raw = raw
        self._name = name

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        import zstandard

        try:
            return int(self._raw.readinto(buffer))
        except zstandard.ZstdError as error:
            raise OSError(str(error)) from None


def _as_utf8(file: BinaryIO) -> BinaryIO:
    """Drop a UTF-8 byte order mark; recode UTF-16 and UTF-32 as it is read."""
    buffered = (
        file
        if isinstance(file, io.BufferedReader)
        else io.BufferedReader(cast("io.RawIOBase", file))
    )
    start = buffered.peek(4)[:4]
    encoding = _wide_encoding(start)
    if encoding is not None:
        return cast("BinaryIO", io.BufferedReader(_Recoded(buffered, encoding)))
    if start.startswith(codecs.BOM_UTF8):
        buffered.read(len(codecs.BOM_UTF8))
    return buffered


def _wide_encoding(start: bytes) -> str | None:
    if start.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)) and start != b"\xff\xfe\x00":
        return "utf-32"
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if len(start) == 4 and start[0] and not start[1] and start[2] and not start[3]:
        return "utf-16-le"
    if len(start) == 4 and not start[0] and start[1] and not start[2] and start[3]:
        return "utf-16-be"
    return None


class _Recoded(io.RawIOBase):
    """Bytes of one encoding read as UTF-8, block by block."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            block = self._file.read(BLOCK_BYTES)
            text = self._decoder.decode(block, final=not block)
            self._ready = text.encode("utf-8", "replace")
            if not block:
                break
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

"""Finding logs: files, folders of them, logs split over many files, and streams.

A folder is searched for what may be a log by its name; what it is, its content says. A
compressed file whose plain sibling lies beside it is left to the sibling, and a folder of
single events (``event-0001.json`` …) is one log.
"""

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import msgspec

__all__ = ["FoundLog", "count_logs", "find_logs", "is_agents_own"]

_SUFFIXES = (".jsonl", ".json", ".traj", ".eval", ".jsonl.zst", ".jsonl.gz", ".run", ".trec")
_EVENT = re.compile(r"event-\d+.*\.json")
_BLOCK_BYTES = 1 << 20


class FoundLog(msgspec.Struct, frozen=True, kw_only=True):
    """A log to read.

    Attributes
    ----------
    path
        Where its bytes lie; for a stream or a split log a temporary file, which is gone
        when the next log is asked for.
    name
        What to call it in packets and messages.
    named
        The user named it; else a search found it, and it may be no log at all.
    """

    path: Path
    name: str
    named: bool


def find_logs(places: Sequence[str | Path], *, stdin: BinaryIO | None = None) -> Iterator[FoundLog]:
    """Yield the logs in some places, in the order of the places and of names within a folder.

    Parameters
    ----------
    places
        Files, folders, named pipes; the text ``-`` is ``stdin``.
    stdin
        The stream that ``-`` stands for; without one it is a file of that name.
    """
    named = {str(place) for place in places}
    for place in places:
        path = Path(place)
        if place == "-" and stdin is not None:
            with _spooled(_blocks(stdin), "<stdin>", named=True) as log:
                yield log
        elif path.is_dir():
            yield from _in_folder(path)
        elif path.suffix == ".zst" and path.with_suffix("").is_file():
            if str(path.with_suffix("")) not in named:  # the plain sibling is preferred
                yield FoundLog(
                    path=path.with_suffix(""), name=str(path.with_suffix("")), named=True
                )
        elif path.is_fifo() or path.is_char_device():
            # It can be read once, and telling its format is once already.
            with path.open("rb") as file, _spooled(_blocks(file), str(place), named=True) as log:
                yield log
        else:
            yield FoundLog(path=path, name=str(place), named=True)


def is_agents_own(path: Path) -> bool:
    """Whether a file is named like a sub-agent's log beside that of its session."""
    return path.name.startswith("agent-") and path.suffix == ".jsonl"


def count_logs(places: Sequence[str | Path]) -> int:
    """Count the files that :func:`find_logs` will name, by their names; none is opened."""
    return sum(
        sum(1 for _ in _candidates(Path(place))) if Path(place).is_dir() else 1 for place in places
    )


def _candidates(folder: Path) -> Iterator[Path]:
    """Yield what may be a log in a folder; a log's single events are one."""
    joined: set[Path] = set()
    for one in sorted(folder.rglob("*")):
        if not one.is_file() or not _may_be_log(one):
            continue
        if _EVENT.fullmatch(one.name) is not None:
            if one.parent in joined:
                continue
            joined.add(one.parent)
        yield one


def _in_folder(folder: Path) -> Iterator[FoundLog]:
    for one in _candidates(folder):
        if _EVENT.fullmatch(one.name) is None:
            yield FoundLog(path=one, name=str(one), named=False)
        else:
            with _spooled(_joined(one.parent), str(one.parent), named=False) as log:
                yield log


def _may_be_log(path: Path) -> bool:
    if path.name.endswith(".meta.json"):
        return False
    plain = path.with_suffix("") if path.suffix == ".zst" else None
    if plain is not None and plain.exists():
        return False  # the plain sibling is preferred
    return path.name.endswith(_SUFFIXES)


def _joined(folder: Path) -> Iterator[bytes]:
    """OpenHands keeps each event in a file of its own: put them on lines, in order of name."""
    for event in sorted(folder.glob("event-*.json")):
        yield b" ".join(event.read_bytes().splitlines()) + b"\n"


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(_BLOCK_BYTES):
        yield block


@contextmanager
def _spooled(blocks: Iterable[bytes], name: str, *, named: bool) -> Iterator[FoundLog]:
    with tempfile.NamedTemporaryFile(prefix="wayproof-log-", suffix=".jsonl") as spool:
        spool.writelines(blocks)
        spool.flush()
        yield FoundLog(path=Path(spool.name), name=name, named=named)

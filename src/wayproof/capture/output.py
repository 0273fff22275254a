"""JSON Lines written whole or not at all."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from wayproof.bundles.whole_file import whole_file
from wayproof.errors import OutputError

__all__ = ["json_line", "storable", "write_whole"]


def json_line(record: Any) -> bytes:
    """Encode one record as a line of JSON, keys in the record's own order."""
    try:
        return msgspec.json.encode(record) + b"\n"
    except UnicodeEncodeError:  # a file name that is no valid Unicode, say
        return msgspec.json.encode(storable(record)) + b"\n"


def storable(value: Any) -> Any:
    """Spell lone surrogates out, which JSON can't carry."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, (list, tuple)):
        return [storable(one) for one in value]
    if isinstance(value, dict):
        return {storable(key): storable(one) for key, one in value.items()}
    return value


def write_whole(path: Path, lines: Iterable[bytes]) -> None:
    """Write ``lines`` to a temporary sibling and rename it, so that no reader sees a part.

    Raises
    ------
    OutputError
        When the place can't be written to; then ``path`` is as it was.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        _write_through(path, lines)  # a device or a named pipe: there is nothing to replace
        return
    with whole_file(path, overwrite=True) as file:
        file.writelines(lines)


def _write_through(path: Path, lines: Iterable[bytes]) -> None:
    try:
        with path.open("wb") as file:
            file.writelines(lines)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError("could not be written", file=str(path), found=error.strerror) from None

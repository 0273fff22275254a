"""Where results may go: never over an input or over each other, and all told before any is written.

Every output's place is looked at before the first one is written, so that a refused place
leaves nothing half-written.
"""

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from wayproof.bundles.places import check_place
from wayproof.errors import InputError, OutputError

__all__ = ["check_places", "for_option", "refuse_replacing"]

_STANDARD_INPUT = 0


def check_places(inputs: Iterable[tuple[str, str]], outputs: Mapping[str, str | None]) -> None:
    """Refuse outputs that would replace an input or another output, or can't be written.

    Parameters
    ----------
    inputs
        What is read, as (option or ``LOG``, path); ``-`` is stdin. A folder stands for
        every file in it.
    outputs
        Where results go, path by option; None and ``-`` write no file.

    Raises
    ------
    InputError
        When two names mean one file.
    OutputError
        When a place is taken by something else than a file, or its folder can't be written to.
    """
    for option, path in refuse_replacing(inputs, outputs).items():
        try:
            _refuse_unwritable(path)
        except OutputError as error:
            raise for_option(error, option) from None


def refuse_replacing(
    inputs: Iterable[tuple[str, str]], outputs: Mapping[str, str | None]
) -> dict[str, Path]:
    """Refuse outputs that would replace an input or another output; return files by option.

    Raises
    ------
    InputError
        When two names mean one file.
    """
    places = {
        option: Path(text) for option, text in outputs.items() if text is not None and text != "-"
    }
    files = {option: path for option, path in places.items() if not _is_stream(path)}
    read = list(inputs)
    for option, path in files.items():
        for source, text in read:
            if _reads(text, path):
                raise InputError(
                    "would replace what is read",
                    file=str(path),
                    field=option,
                    found=f"it is read as {source}",
                    mend=f"choose another {option}",
                )
    _refuse_twice(list(files.items()))
    return files


def for_option(error: OutputError, option: str) -> OutputError:
    """Return a place's error with the option that named the place, in the advice as well."""
    return OutputError(
        error.problem,
        file=error.file,
        field=option,
        expected=error.expected,
        found=error.found,
        mend=None if error.mend is None else f"choose another {option}",
    )


def _refuse_twice(files: Sequence[tuple[str, Path]]) -> None:
    for place, (option, path) in enumerate(files):
        for earlier, other in files[:place]:
            if _same(path, other):
                raise InputError(
                    "is the place of another result, too",
                    file=str(path),
                    field=option,
                    found=f"it is the place of {earlier}",
                    mend="give each result a file of its own",
                )


def _refuse_unwritable(path: Path) -> None:
    check_place(path, overwrite=True)
    try:
        mode = path.parent.stat().st_mode
    except OSError as error:
        raise OutputError("can't be written to", file=str(path), found=error.strerror) from None
    if not stat.S_ISDIR(mode) or not os.access(path.parent, os.W_OK | os.X_OK):
        raise OutputError(
            "can't be written to", file=str(path), expected="a folder that can be written to"
        )


def _is_stream(path: Path) -> bool:
    """Whether nothing can be replaced here: a device or a named pipe."""
    try:
        return path.exists() and not path.is_file() and not path.is_dir()
    except OSError:
        return False


def _reads(text: str, path: Path) -> bool:
    if text == "-":
        return _is_standard_input(path)
    source = Path(text)
    if _same(source, path):
        return True
    # Beside the file named, its plain sibling and its sub-agents' folder are read.
    beside = source.with_suffix("") if source.name else source
    if source.suffix == ".zst" and _same(beside, path):
        return True
    return path.exists() and any(
        folder.is_dir() and path.resolve().is_relative_to(folder.resolve())
        for folder in (source, beside)
    )


def _is_standard_input(path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(_STANDARD_INPUT), path.stat())
    except OSError:
        return False


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:  # one of them isn't there yet
        return one.resolve() == other.resolve()

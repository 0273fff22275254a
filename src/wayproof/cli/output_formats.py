"""``--format X=FILE``: the same result in several forms at once."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from wayproof.evidence.comparison_records import (
        Comparison,
        RecoveryComparison,
        RejectionComparison,
    )

__all__ = ["FORMATS", "Format", "add_format_option", "read_formats", "write_formats"]

FORMATS: Final = ("csv", "json", "junit", "markdown")


class Format(NamedTuple):
    """A form, and the file it goes to; None is stdout."""

    name: str
    place: Path | None


def add_format_option(parser: argparse.ArgumentParser) -> None:
    """Declare ``--format``."""
    parser.add_argument(
        "--format",
        metavar="X[=FILE]",
        action="append",
        default=[],
        help=f"{', '.join(FORMATS)}: to a file, or to stdout in place of the tables; may be "
        "repeated",
    )


def read_formats(
    given: Sequence[str],
    inputs: Iterable[tuple[str, str]] = (),
    folders: Iterable[tuple[str, Path | None]] = (),
) -> list[Format]:
    """Read what was asked for, and look at every place before anything is written.

    One form at most may go to stdout (``json`` or ``json=-``), none over what is read.

    Parameters
    ----------
    given
        The option's values.
    inputs
        The files that the command reads, as (option, path).
    folders
        The folders that the command writes, likewise; None where there is none.

    Raises
    ------
    InputError
        For what is no form, a place that is taken, or one that can't be written to.
    """
    from wayproof.errors import InputError

    formats = []
    for text in given:
        name, equals, place = text.partition("=")
        if name not in FORMATS or (equals and not place):
            raise InputError(
                "not a format", setting="format", expected=f"{', '.join(FORMATS)}", found=text
            )
        formats.append(Format(name, Path(place) if equals and place != "-" else None))
    if sum(one.place is None for one in formats) > 1:
        raise InputError(
            "two formats can't both go to stdout",
            setting="format",
            expected="a file for all but one",
            found=", ".join(given),
        )
    places = [one.place.resolve() for one in formats if one.place is not None]
    if len(set(places)) < len(places):
        raise InputError(
            "two formats can't both go to one file",
            setting="format",
            expected="a file for each",
            found=", ".join(given),
        )
    if places:
        _check_places(formats, list(inputs), list(folders))
    return formats


def _check_places(
    formats: Sequence[Format],
    inputs: list[tuple[str, str]],
    folders: list[tuple[str, Path | None]],
) -> None:
    from wayproof.cli.capture_places import check_places
    from wayproof.errors import OutputError

    for one in formats:
        if one.place is None:
            continue
        for option, folder in folders:
            if folder is not None and one.place.resolve() == folder.resolve():
                raise OutputError(
                    "is the place of another result, too",
                    file=str(one.place),
                    field=f"--format {one.name}",
                    found=f"it is the place of {option}",
                    mend="give each result a place of its own",
                )
        check_places(inputs, {f"--format {one.name}": str(one.place)})


def write_formats(
    formats: Sequence[Format],
    document: "Comparison | RecoveryComparison | RejectionComparison | dict[str, Any]",
    **more: Any,
) -> bool:
    """Write every form; tell whether one of them went to stdout.

    Files are replaced whole: a reader sees the old one or the new one.
    """
    from wayproof.bundles.whole_file import whole_file

    for one in sorted(formats, key=lambda form: form.place is None):
        text = _lines(one.name, document, **more)
        if one.place is None:
            _to_stdout(text)
        else:
            with whole_file(one.place, overwrite=True) as file:
                for line in text:
                    file.write(line.encode("utf-8"))
    return any(one.place is None for one in formats)


def _to_stdout(lines: Iterable[str]) -> None:
    import sys

    sys.stdout.flush()
    for line in lines:
        sys.stdout.buffer.write(line.encode("utf-8"))


def _lines(name: str, document: Any, **more: Any) -> Iterator[str]:
    if name == "json":
        yield _json(document)
    elif isinstance(document, dict):
        yield from _suite_lines(name, document, **more)
    else:
        yield from _comparison_lines(name, document)


def _json(document: Any) -> str:
    import json

    import msgspec

    value = msgspec.json.decode(msgspec.json.encode(document))
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _comparison_lines(name: str, document: Any) -> Iterator[str]:
    if name == "markdown":
        from wayproof.outputs.markdown import comparison_markdown

        yield comparison_markdown(document)
    elif name == "junit":
        from wayproof.outputs.junit import comparison_junit, junit_lines

        yield from junit_lines(comparison_junit(document))
    else:
        from wayproof.outputs.comparison_csv import comparison_csv

        yield from comparison_csv(document)


def _suite_lines(
    name: str, document: dict[str, Any], *, results: Path | None = None, gates: Sequence[str] = ()
) -> Iterator[str]:
    from wayproof.outputs.csv_rows import RESULT_COLUMNS, csv_lines
    from wayproof.outputs.junit import fixtures_junit, junit_lines, results_junit
    from wayproof.outputs.markdown import fixtures_markdown, scored_markdown
    from wayproof.outputs.rows import read_rows

    is_cases = "cases" in document
    if name == "markdown":
        rows = () if results is None else read_rows(results)
        yield fixtures_markdown(document) if is_cases else scored_markdown(document, rows, gates)
    elif name == "junit":
        rows = () if results is None else read_rows(results)
        yield from junit_lines(
            fixtures_junit(document) if is_cases else results_junit(document["suite"], rows)
        )
    else:
        rows = _case_results(document) if results is None else read_rows(results)
        yield from csv_lines(RESULT_COLUMNS, rows)


def _case_results(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for case in document.get("cases", ()):
        yield from case["result"]["task_results"]

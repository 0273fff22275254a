"""Which files a call selected, by its input and its result; and how it ended."""

import re
from collections.abc import Iterator

from wayproof.capture import results
from wayproof.capture.route.call import ReadCall
from wayproof.capture.route.records import TIERS, Selection
from wayproof.capture.session import Named, Outcome, Result
from wayproof.capture.shell import Reading, Segment, read_command
from wayproof.capture.shell.commands import SEARCHERS, git_words, unwrapped
from wayproof.capture.tools import named_files

__all__ = ["selected", "settled"]

_Folders = tuple[str | None, ...]


def selected(call: ReadCall, event: Result, *, wanted: int) -> Iterator[Selection]:
    """Yield the selections of a call that didn't fail, up to the tier ``wanted``."""
    seen: set[tuple[str, str]] = set()
    for named, folders in _named(call, event, wanted):
        key = (named.tier, named.path)
        if TIERS[named.tier] <= wanted and key not in seen:
            seen.add(key)
            yield Selection(named.tier, named.path, folders, named.lines, call.step.line)


def _named(call: ReadCall, event: Result, wanted: int) -> Iterator[tuple[Named, _Folders]]:
    tool, folders = call.tool, call.folders
    if event.files is not None and tool.purpose != "shell":
        for named in event.files:
            yield named, folders
    elif tool.purpose == "read":
        tier = "listed" if _is_listing(event) else "read"
        for named in named_files(call.arguments):
            yield Named(tier, named.path, named.lines), folders
    elif tool.purpose in {"matched", "listed"} and wanted >= TIERS[tool.purpose]:
        text = results.body_text(event.body)
        for named in (
            results.matched_paths(text, call.arguments)
            if tool.purpose == "matched"
            else _listing(text)
        ):
            yield named, folders
    elif call.reading is not None:
        yield from _from_shell(call, call.reading, event, wanted)


def _from_shell(
    call: ReadCall, reading: Reading, event: Result, wanted: int
) -> Iterator[tuple[Named, _Folders]]:
    folders = call.folders
    unread: set[str] = set()
    if reading.reads and results.body_has(event.body, results.UNREAD_WORDS):
        unread = results.unread_paths(results.body_text(event.body))
    for read in reading.reads:
        if read.path not in unread:
            yield Named("read", read.path, read.lines), (*folders, read.folder)
    if wanted == 0 or reading.unparsed or reading.mutates or len(reading.segments) != 1:
        return
    printed = results.search_or_list(reading.segments[0].commands)
    if printed is None or TIERS[printed[0]] > wanted:
        return
    known, inner = _folder_of(call.typed, reading.segments[0])
    if known:
        text = results.body_text(event.body)
        for named in results.printed_paths(*printed, text):
            yield named, (*folders, *inner)


_PROBE = "wayproof-probe"
_MOVES = re.compile(r"\b(?:cd|pushd|popd|chdir|sl|set-location|push-location)\b", re.IGNORECASE)


def _folder_of(typed: str | None, segment: Segment) -> tuple[bool, _Folders]:
    """Return whether a segment's folder is known, and what it is relative to the call's.

    A file that was read in the segment's place would lie in the same folder, and reads
    carry theirs; so the command is read again with a read put there.
    """
    first = unwrapped(segment.commands[0])
    inner = git_words(first.words)[2] if first.name == "git" else None
    if typed is not None and _MOVES.search(typed) is None:
        return True, (inner,)
    if typed is None or typed.count(segment.text) != 1:
        return False, ()
    probed = read_command(typed.replace(segment.text, f"cat {_PROBE}"))
    found = next((read for read in probed.reads if read.path == _PROBE), None)
    if found is None:
        return False, ()
    return True, (found.folder, inner)


def _listing(text: str) -> Iterator[Named]:
    if "\n- " in f"\n{text.lstrip()}":
        yield from results.listed_paths(text)
        return
    for line in text.splitlines()[:20_000]:
        if line.strip() and " " not in line.strip():
            yield Named("listed", line.strip())


def _is_listing(event: Result) -> bool:
    words = ("files and directories up to 2 levels deep",)
    return results.body_has(event.body, words)


_NEVER_FAIL = frozenset({"echo", "printf", "true", ":"})
"""Behind ``grep … &&`` these can't be what failed."""


def settled(outcome: Outcome, reading: Reading | None) -> Outcome:
    """Exit status 1 of a search says "no match", which is an answer and no failure."""
    if outcome.ok is not False or outcome.exit_code != 1 or outcome.timed_out or reading is None:
        return outcome
    for segment in reversed(reading.segments):
        if not segment.commands:
            continue
        last = unwrapped(segment.commands[-1])
        name = f"git {git_words(last.words)[0]}" if last.name == "git" else last.name
        if name in SEARCHERS:
            break
        if name not in _NEVER_FAIL:
            return outcome
    else:
        return outcome
    return Outcome(ok=True, exit_code=1, duration_ms=outcome.duration_ms)

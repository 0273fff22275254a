"""Which files a call selected, by its input and its result; and how it ended."""

import re
from collections.abc import Iterator

from wayproof.capture import results
from wayproof.capture.route.call import ReadCall
from wayproof.capture.route.records import TIERS, Selection
from wayproof.capture.session import Named, Outcome, Result
from wayproof.capture.shell import Reading
from wayproof.capture.shell.commands import LISTERS, SEARCHERS, git_words, unwrapped
from wayproof.capture.tools import folder_asked, named_files

__all__ = ["may_list", "operands", "selected", "settled"]

_Folders = tuple[str | None, ...]


def selected(call: ReadCall, event: Result, *, wanted: int) -> tuple[Selection, ...]:
    """Return the selections of a call that didn't fail, up to the tier ``wanted``."""
    files = event.files
    if files is not None and call.tool.purpose != "shell" and len(files) < 2:
        return tuple(
            Selection(one.tier, one.path, call.folders, one.lines, call.step.line)
            for one in files
            if TIERS[one.tier] <= wanted
        )
    return tuple(_selected(call, event, wanted))


def _selected(call: ReadCall, event: Result, wanted: int) -> Iterator[Selection]:
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
        for named in _read(call, event):
            yield named, folders
    elif tool.purpose in {"matched", "listed"} and wanted >= TIERS[tool.purpose]:
        yield from _found(call, results.body_text(event.body))
    elif call.reading is not None:
        yield from _from_shell(call, call.reading, event, wanted)


def _read(call: ReadCall, event: Result) -> Iterator[Named]:
    """Yield what a reading tool was asked for; of several files, those that it printed."""
    asked = list(named_files(call.arguments))
    if call.tool.name == "readmanyfiles":
        for path in results.shown_files(results.body_text(event.body)):
            # A name as it was asked for is relative to a folder that the log may not name.
            same = (one.path for one in asked if _ends_with(path, one.path))
            yield Named("read", next(same, path))
        if results.body_has(event.body, ("--- ",)):
            return
    tier = "listed" if _is_listing(event) else "read"
    for named in asked:
        yield Named(tier, named.path, named.lines)


def _found(call: ReadCall, text: str) -> Iterator[tuple[Named, _Folders]]:
    """Yield what a search or a listing names, relative to the folder that it was asked about."""
    folders = call.folders
    if call.tool.purpose == "matched":
        for named in results.matched_paths(text, call.arguments):
            yield named, folders
        return
    asked = folder_asked(call.arguments)
    for named in _listing(text):
        inside = asked is not None and not _is_below(named.path, asked)
        yield named, (*folders, asked) if inside else folders


def _from_shell(
    call: ReadCall, reading: Reading, event: Result, wanted: int
) -> Iterator[tuple[Named, _Folders]]:
    folders = call.folders
    unread: set[str] = set()
    segments = () if reading.unparsed else reading.segments[: call.until]
    reads = [read for segment in segments for read in segment.reads]
    if reads and results.body_has(event.body, results.UNREAD_WORDS):
        unread = results.unread_paths(results.body_text(event.body))
    for read in reads:
        if read.path not in unread:
            yield Named("read", read.path, read.lines), (*folders, read.folder)
    if wanted == 0 or reading.unparsed or len(reading.segments) != 1:
        return
    if call.step.kind == "edit" or any(act.writes for act in reading.segments[0].acts):
        return
    printed = results.search_or_list(reading.segments[0].commands)
    if printed is None or TIERS[printed[0]] > wanted:
        return
    first = unwrapped(reading.segments[0].commands[0])
    if first.lost:
        return
    inner = git_words(first.words)[2] if first.name == "git" else None
    text = results.body_text(event.body)
    for named in results.printed_paths(*printed, text):
        yield named, (*folders, first.folder, inner)


def _ends_with(path: str, name: str) -> bool:
    plain = path.replace("\\", "/")
    return plain == name or plain.endswith("/" + name.replace("\\", "/").removeprefix("./"))


def _is_below(path: str, folder: str) -> bool:
    """Whether a listed name begins with the folder that was asked about."""
    start = folder.replace("\\", "/").removeprefix("./").rstrip("/")
    plain = path.replace("\\", "/").removeprefix("./")
    return start in {"", "."} or plain == start or plain.startswith(f"{start}/")


_SIZED = re.compile(r"^(.+?)\s+\([\d.,]+ ?(?:bytes?|[KMG]i?B?|B)\)$")
_FOLDER_LINE = re.compile(
    r"^\[?DIR\]? |^\[DIR\]|^Directory listing for |^d[rwx-]{9}", re.IGNORECASE
)


def _listing(text: str) -> Iterator[Named]:
    if "\n- " in f"\n{text.lstrip()}":
        yield from results.listed_paths(text)
        return
    for line in text.splitlines()[:20_000]:
        name = line.strip().removeprefix("[FILE] ")
        sized = _SIZED.match(name)
        name = sized[1] if sized else name
        if name and " " not in name and not name.endswith("/") and not _FOLDER_LINE.match(line):
            yield Named("listed", name)


def _is_listing(event: Result) -> bool:
    words = ("files and directories up to 2 levels deep",)
    return results.body_has(event.body, words)


def may_list(call: ReadCall) -> bool:
    """Whether a call's result may name files that its input doesn't."""
    if call.reading is None:
        return call.tool.purpose in {"matched", "listed", "search"}
    segments = call.reading.segments
    return (
        len(segments) == 1
        and bool(segments[0].commands)
        and (unwrapped(segments[0].commands[0]).name in _LISTING)
    )


_LISTING = frozenset({*SEARCHERS, *LISTERS, "git", "rg"})


def operands(call: ReadCall) -> Iterator[tuple[tuple[str, ...], _Folders]]:
    """Yield the words of a call that may be files, with their folders."""
    if call.reading is None:
        if call.tool.purpose not in {"read", "plan"}:  # which gives its files as selections
            named = tuple(one.path for one in named_files(call.arguments))
            if named:
                yield named, call.folders
        return
    for segment in call.reading.segments:
        for command in segment.commands:
            words = tuple(word for word in command.words if word and _may_be_path(word))
            if words:
                yield words, (*call.folders, command.folder)


def _may_be_path(word: str | None) -> bool:
    return word is not None and word[:1] != "-" and ("." in word or "/" in word) and len(word) < 500


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

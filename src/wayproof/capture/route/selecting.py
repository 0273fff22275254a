"""Which files a call selected, by its input and its result; and how it ended."""

from collections.abc import Iterator

from wayproof.capture import results
from wayproof.capture.route.call import ReadCall
from wayproof.capture.route.records import TIERS, Selection
from wayproof.capture.session import Named, Outcome, Result
from wayproof.capture.shell import Reading
from wayproof.capture.shell.commands import LISTERS, SEARCHERS, git_words, unwrapped
from wayproof.capture.tools import named_files

__all__ = ["may_list", "operands", "selected", "settled"]

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

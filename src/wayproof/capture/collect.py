"""Logs to packets: the room's one entrance for the command line and for Python."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from wayproof.capture.discover import FoundLog, count_logs, find_logs, is_agents_own
from wayproof.capture.edited import EditedFiles
from wayproof.capture.ids import EXTERNAL, Roots, stable_id
from wayproof.capture.lines import Problems, Source
from wayproof.capture.packet import PacketOptions, make_packet, roots_of
from wayproof.capture.registry import adapter_of, detect, known_format, read_log
from wayproof.capture.route import Route, RouteCutter, Tier, Until
from wayproof.capture.session import SessionInfo, Sink
from wayproof.capture.sessions import Sessions
from wayproof.errors import InputError

__all__ = [
    "Capture",
    "Captured",
    "Watch",
    "capture_file",
    "capture_logs",
    "captured_by",
    "originals",
]


Watch = Callable[[SessionInfo, str], Sink]
"""Makes one more sink of a session that begins, told the log's format."""


class Captured(msgspec.Struct, kw_only=True):
    """A session that was read: its route, and the packet made of it.

    ``edited`` are the ids of the files that it edited, to its end, where that was asked for;
    ``watcher`` is the sink that took all its events, where one was asked for.
    """

    file: str
    format: str
    route: Route
    packet: dict[str, Any]
    size_bytes: int = 0
    edited: tuple[str, ...] = ()
    watcher: Sink | None = None

    @property
    def session_id(self) -> str | None:
        """The log's own name of the session."""
        return self.route.info.session_id


class Capture(msgspec.Struct, kw_only=True):
    """What some logs gave.

    Attributes
    ----------
    sessions
        In the order of the logs; copies of other sessions are left out.
    left_out
        A sentence on each log or session that was found and not captured.
    problems
        Places in the logs that are not as they should be.
    """

    sessions: list[Captured]
    left_out: list[str]
    problems: Problems

    @property
    def packets(self) -> list[dict[str, Any]]:
        """One packet a session; :func:`wayproof.capture.matching.match` gives them tasks."""
        return [one.packet for one in self.sessions]


def capture_file(  # noqa: PLR0913 - each is a setting of its own
    path: Path,
    *,
    problems: Problems,
    name: str | None = None,
    format_name: str | None = None,
    tier: Tier = "read",
    until: Until | None = None,
    edits: bool = False,
    options: PacketOptions | None = None,
    watch: Watch | None = None,
) -> Iterator[Captured]:
    """Yield the sessions of one log.

    Raises
    ------
    InputError
        When the log can't be read or its format isn't known.
    """
    source = Source(path, name=name, problems=problems)

    known_name = format_name or (detect(source) if watch is not None else None)

    def read(sessions: Sessions) -> str | None:
        return read_log(source, sessions, format_name=known_name)

    yield from captured_by(
        read,
        source,
        tier=tier,
        until=until,
        edits=edits,
        options=options,
        watch=partial(_told, watch, known_name) if watch is not None and known_name else None,
    )


def _told(watch: Watch, format_name: str, info: SessionInfo) -> Sink:
    return watch(info, format_name)


def captured_by(  # noqa: PLR0913 - each is a setting of its own
    read: Callable[[Sessions], str | None],
    source: Source,
    *,
    tier: Tier = "read",
    until: Until | None = None,
    edits: bool = False,
    options: PacketOptions | None = None,
    known: frozenset[int] = frozenset(),
    watch: Callable[[SessionInfo], Sink] | None = None,
) -> Iterator[Captured]:
    """Yield the sessions that ``read`` hands over; it returns their format's name."""
    cutters: dict[str, RouteCutter] = {}
    editing: dict[str, EditedFiles] = {}
    watchers: dict[str, Sink] = {}

    def sinks_of(info: SessionInfo) -> tuple[Sink, ...]:
        cutters[info.key] = RouteCutter(info, tier=tier, until=until)
        sinks: list[Sink] = [cutters[info.key]]
        if edits:
            editing[info.key] = EditedFiles(info)
            sinks.append(editing[info.key])
        if watch is not None:
            watchers[info.key] = watch(info)
            sinks.append(watchers[info.key])
        return tuple(sinks)

    found = read(Sessions(sinks_of, known=known))
    if found is None:
        return
    wanted = options or PacketOptions()
    for key, cutter in cutters.items():
        route = cutter.finish()
        packet = make_packet(route, format_name=found, file=source.name, options=wanted)
        yield Captured(
            file=source.name,
            format=found,
            route=route,
            packet=packet,
            size_bytes=source.path.stat().st_size,
            edited=_ids(editing[key].paths, roots_of(route, wanted)) if edits else (),
            watcher=watchers.get(key),
        )


def _ids(paths: Iterable[str], roots: Roots) -> tuple[str, ...]:
    """Return the ids of some paths in the repository, each once."""
    ids = (stable_id(path, roots=roots) for path in paths)
    return tuple(
        dict.fromkeys(one for one in ids if one is not None and not one.startswith(EXTERNAL))
    )


def capture_logs(  # noqa: PLR0913 - each is a setting of its own
    places: Sequence[str | Path],
    *,
    format_name: str | None = None,
    tier: Tier = "read",
    until: Until | None = None,
    edits: bool = False,
    options: PacketOptions | None = None,
    problems: Problems | None = None,
    stdin: BinaryIO | None = None,
    progress: Callable[[int, int], None] | None = None,
    watch: Watch | None = None,
) -> Capture:
    """Capture the sessions of some logs, in their order.

    A resumed session's copy (same first prompt, same route) and a sub-agent's own file
    beside its parent's are not sessions of their own.

    Parameters
    ----------
    places
        Log files and folders of them; ``"-"`` is ``stdin``, where that is given.
    format_name
        The logs' format; None: told from their content.
    tier
        Which selections count; see :mod:`wayproof.capture.route`.
    until
        Where routes end at the latest; None: at the first edit.
    edits
        Note which files each session edited, to its end; that takes reading all of it.
    options
        How packets are made.
    problems
        Where bad lines are counted; None: in a new count of its own.
    stdin
        The stream that ``"-"`` stands for.
    progress
        Called after each log with (logs read, logs in all).
    watch
        Makes one more sink for each session, which takes all its events.

    Raises
    ------
    InputError
        When a log that was named can't be read or its format isn't known. Of what lies in
        a folder, such a file is left out and named.
    """
    counted = problems if problems is not None else Problems()
    known_format(format_name)
    read = partial(
        capture_file,
        problems=counted,
        format_name=format_name,
        tier=tier,
        until=until,
        edits=edits,
        options=options,
        watch=watch,
    )
    found, left_out = _read_all(places, read, stdin, progress)
    found, parts = _without_parts(found)
    found, agents = _without_agents(found)
    again_with = partial(captured_by, tier=tier, until=until, edits=edits, options=options)
    found, resumed = _resumed(found, again_with, watch)
    kept, copies = originals(found)
    kept, idle = _asking(kept)
    return Capture(
        sessions=kept,
        left_out=left_out + parts + agents + resumed + copies + idle,
        problems=counted,
    )


def _read_all(
    places: Sequence[str | Path],
    read: Callable[..., Iterator[Captured]],
    stdin: BinaryIO | None,
    progress: Callable[[int, int], None] | None,
) -> tuple[list[Captured], list[str]]:
    """Read the logs in some places; what may be a sub-agent's file waits for its parent's.

    The parent's reader opens the files of its agents by itself: none is read twice. The
    sessions stand in the order of the logs, whenever they were read.
    """
    found: dict[int, list[Captured]] = {}
    left_out: dict[int, str] = {}
    waiting: list[tuple[int, FoundLog]] = []
    parents: dict[str, str] = {}
    total = count_logs(places) if progress is not None else 0
    done = 0

    def take(place: int, log: FoundLog) -> None:
        nonlocal done
        parent = parents.get(str(log.path))
        if parent is not None:
            left_out[place] = f"{log.name}: a sub-agent of session {parent}"
        else:
            try:
                found[place] = list(read(log.path, name=log.name))
            except InputError as error:
                if log.named:
                    raise
                left_out[place] = f"{log.name}: {error.problem}"
            for one in found.get(place, ()):
                info = one.route.info
                whose = info.parent_session or info.session_id
                parents.update(dict.fromkeys(info.agents, str(whose)))
        done += 1
        if progress is not None:
            progress(done, max(done, total))

    for place, log in enumerate(find_logs(places, stdin=stdin)):
        if is_agents_own(log.path):
            waiting.append((place, log))
        else:
            take(place, log)
    for place, log in waiting:
        take(place, log)
    sessions = [one for place in sorted(found) for one in found[place]]
    return sessions, [left_out[place] for place in sorted(left_out)]


def _without_agents(found: Sequence[Captured]) -> tuple[list[Captured], list[str]]:
    """Leave out sub-agents' own files beside the log of the session that they belong to."""
    known = {one.session_id for one in found if one.session_id is not None}
    kept: list[Captured] = []
    left_out: list[str] = []
    for one in found:
        parent = one.route.info.parent_session
        if parent is not None and parent in known:
            left_out.append(f"{one.file}: a sub-agent of session {parent}")
        else:
            kept.append(one)
    return kept, left_out


def _without_parts(found: Sequence[Captured]) -> tuple[list[Captured], list[str]]:
    """Leave out files that another log goes on with: they were read with it."""
    parts = {name: one.file for one in found for name in one.route.info.parts}
    kept = [one for one in found if one.file not in parts]
    return kept, [f"{name}: goes on with {file}" for name, file in parts.items()]


def _asking(found: Sequence[Captured]) -> tuple[list[Captured], list[str]]:
    """Leave out sessions in which nobody asked for anything and nothing was called."""
    kept = [one for one in found if not _is_idle(one)]
    left_out = [f"{one.file}: asks nothing and calls nothing" for one in found if _is_idle(one)]
    return kept, left_out


def _is_idle(one: Captured) -> bool:
    info = one.route.info
    if info.ranked is not None or not info.prompts_logged:
        return False
    return one.route.prompt is None and not one.route.steps


def _resumed(
    found: Sequence[Captured],
    again_with: Callable[..., Iterator[Captured]],
    watch: Watch | None,
) -> tuple[list[Captured], list[str]]:
    """Read resumed sessions again without the history that belongs to an earlier one.

    A resumed session's file repeats the records of the session that it goes on from, under
    their own ids: they belong to where they first happened.
    """
    families: dict[tuple[str, str], list[Captured]] = {}
    named: dict[tuple[str, str | None], Captured] = {
        (one.format, one.session_id): one for one in found if one.session_id is not None
    }
    forks = {id(one): _forks(one, named) for one in found}
    for one in found:
        ancestor = forks[id(one)][-1]
        origin = ancestor.route.info.origin or ancestor.session_id
        if origin is not None and Path(one.file).is_file():
            families.setdefault((one.format, origin), []).append(one)
    again: dict[int, list[Captured]] = {}
    left_out: list[str] = []
    for (name, _), family in families.items():
        record_ids = getattr(adapter_of(name), "record_ids", None)
        if record_ids is None or len({one.file for one in family}) < 2:
            continue
        known: set[int] = set()
        first, *later = sorted(family, key=lambda one: (len(forks[id(one)]), _age(one)))
        for one in (first, *later):
            quiet = Source(Path(one.file), problems=Problems())
            if one is not first:
                again_by = again_with
                if watch is not None:
                    again_by = partial(again_with, watch=partial(_told, watch, name))
                own = list(_own(quiet, name, frozenset(known), again_by))
                again[id(one)] = own
                if not own:
                    left_out.append(f"{one.file}: repeats the route of {first.file}")
            known |= record_ids(quiet)
    return [new for one in found for new in again.get(id(one), [one])], left_out


def _forks(one: Captured, named: Mapping[tuple[str, str | None], Captured]) -> tuple[Captured, ...]:
    """Return a session, the one that it was forked from, and so on."""
    line = [one]
    while (parent := named.get((one.format, line[-1].route.info.forked_from))) is not None:
        if any(parent is known for known in line):
            break
        line.append(parent)
    return tuple(line)


def _own(
    source: Source, name: str, known: frozenset[int], again: Callable[..., Iterator[Captured]]
) -> Iterator[Captured]:
    """Yield what a log holds beside known records, if anything was called or answered in it."""

    def read(sessions: Sessions) -> str:
        adapter_of(name).read(source, sessions)
        return name

    for one in again(read, source, known=known):
        if one.route.steps or one.route.answer is not None:
            yield one


def originals(found: Sequence[Captured]) -> tuple[list[Captured], list[str]]:
    """Return the sessions that are no copies, and a word on each that was left out."""
    copies: dict[tuple[str, str, tuple[str, ...]], list[Captured]] = {}
    for one in found:
        identity = _identity(one)
        if identity is not None:
            copies.setdefault(identity, []).append(one)
    first = {identity: min(same, key=_age) for identity, same in copies.items()}
    kept: list[Captured] = []
    left_out: list[str] = []
    for one in found:
        identity = _identity(one)
        if identity is not None and first[identity] is not one:
            left_out.append(f"{one.file}: repeats the route of {first[identity].file}")
            continue
        kept.append(one)
    return kept, left_out


def _identity(one: Captured) -> tuple[str, str, tuple[str, ...]] | None:
    """Return what a session and its copies share; None where the format names no origin."""
    origin = one.route.info.origin
    if origin is None:
        return None
    return one.format, origin, tuple(step.call_id for step in one.route.steps)


def _age(one: Captured) -> tuple[bool, bool, int, str, str]:
    """Order copies, the original first, whatever the order of the files.

    A resumed session's file repeats the original's records and goes on: the original is
    the file that carries its own session's name, else the shorter one.
    """
    info, session_id = one.route.info, one.session_id
    named = session_id is not None and session_id in one.file.replace("\\", "/").rsplit("/", 1)[-1]
    return (info.replays, not named, one.size_bytes, session_id or "", one.file)

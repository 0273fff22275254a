"""A route to a packet: the line that scoring reads, and the evidence beside it."""

import re
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from wayproof.capture.ids import PathMap, Roots, stable_id
from wayproof.capture.output import storable
from wayproof.capture.route import Route, Selection, Step

__all__ = ["PacketOptions", "files_in_text", "make_packet", "roots_of"]

Wall = Literal["native", "elapsed"]
_MAX_EVIDENCE_LINES = 200


class PacketOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the user asked for.

    Attributes
    ----------
    repo_root
        The repository root as the log spells it; None: what the log says.
    maps
        Prefixes mapped before ids are made.
    wall
        ``native``: the log's own measurements; ``elapsed``: timestamps from start to cut.
    """

    repo_root: str | None = None
    maps: tuple[PathMap, ...] = ()
    wall: Wall = "native"


def roots_of(route: Route, options: PacketOptions) -> Roots:
    """Return what the route's ids are relative to: the flag, else the log's root, else cwd."""
    root = options.repo_root or route.info.root or route.info.cwd
    return Roots(root=root, maps=options.maps)


def make_packet(
    route: Route, *, format_name: str, file: str, options: PacketOptions
) -> dict[str, Any]:
    """Return the packet as a JSON object, without ``task_id`` and ``attempt``.

    Scoring reads ``first_contact_command``, ``command_used``, ``wall_ms``, ``timed_out``,
    ``error`` and ``selected_artifacts``; the other keys are for people.
    """
    if route.info.ranked is not None:
        return _ranked_packet(route, format_name, file)
    roots = roots_of(route, options)
    created = _created(route, roots)
    selections = [
        one for one in _selections(route.steps, roots) if not _is_own(one["artifact"], created)
    ]
    first = route.first
    packet: dict[str, Any] = {
        "first_contact_command": first.first if first is not None else None,
    }
    if packet["first_contact_command"] is None:
        packet["first_contact_reason"] = route.first_reason
    elif first is not None and first.unparsed:
        packet["first_contact_unparsed"] = True
    if first is not None and (first.raw or first.first):
        packet["command_used"] = first.raw or first.first
    packet |= _times(route, options)
    packet["timed_out"] = route.timed_out
    packet["error"] = route.error
    packet["selected_artifacts"] = list(dict.fromkeys(one["artifact"] for one in selections))
    packet["selections"] = selections
    answered = list(_answered(route, roots))
    if answered:
        packet["answer_artifacts"] = answered
    packet["cut_reason"] = route.cut.reason
    packet["until"] = str(route.until)
    packet["start_reason"] = "prompt" if route.started_at_prompt else "start_of_log"
    if route.via_subagent:
        packet["via"] = "subagent"
    packet["navigation_calls"] = sum(step.looks for step in route.steps)
    packet["execution_calls"] = sum(step.kind == "execution" for step in route.steps)
    if created:
        packet["created_files"] = created
    if any(step.assumed for step in route.steps):
        packet["edit_assumed"] = True
    if route.failed_calls:
        packet["failed_calls"] = route.failed_calls
    packet["source"] = _source(route, format_name, file)
    return packet


def _ranked_packet(route: Route, format_name: str, file: str) -> dict[str, Any]:
    """Return a ranked list's packet: ids and nothing else that was measured."""
    info = route.info
    source = {"format": format_name, "file": storable(file), "session_id": info.session_id}
    lines: dict[str, Any] = {
        "first_contact": None,
        "navigation": [],
        "cut": info.ranked_line,
    }
    return {
        "first_contact_command": None,
        "first_contact_reason": "ranked_list",
        "timed_out": False,
        "error": None,
        "selected_artifacts": list(info.ranked or ()),
        "cut_reason": "ranked_list",
        "source": source | {"part": info.part, "lines": lines},
    }


def _times(route: Route, options: PacketOptions) -> dict[str, Any]:
    times: dict[str, Any] = {}
    if options.wall == "elapsed":
        if route.elapsed_ms is not None:
            times = {"wall_ms": _number(route.elapsed_ms), "includes_wait": True}
    elif route.wall_ms is not None:
        times["wall_ms"] = _number(route.wall_ms)
    elif route.unmeasured_calls and route.measured_ms:
        times["wall_measured_ms"] = _number(route.measured_ms)
    if route.unmeasured_calls:
        times["wall_unmeasured_calls"] = route.unmeasured_calls
    if route.elapsed_ms is not None:
        times["elapsed_ms"] = _number(route.elapsed_ms)
    return times


def _number(value: float) -> int | float:
    rounded = round(value, 3)
    return int(rounded) if rounded == int(rounded) else rounded


def _selections(steps: list[Step], roots: Roots) -> Iterator[dict[str, Any]]:
    """One record per selected id, tier and line range, in order of first selection."""
    seen: set[tuple[str, str, tuple[int, int] | None]] = set()
    ids: dict[tuple[str, tuple[str | None, ...]], str | None] = {}
    for step in steps:
        for one in step.selections:
            place = one.path, one.folders
            if place not in ids:
                ids[place] = stable_id(one.path, folders=one.folders, roots=roots)
            artifact = ids[place]
            if artifact is None or (artifact, one.tier, one.lines) in seen:
                continue
            seen.add((artifact, one.tier, one.lines))
            yield _selection(artifact, one, step.file)


def _selection(artifact: str, one: Selection, file: str | None) -> dict[str, Any]:
    record: dict[str, Any] = {"artifact": artifact, "tier": one.tier}
    if one.lines is not None:
        record["lines"] = list(one.lines)
    if one.line:
        record["line"] = one.line
    if file is not None:
        record["file"] = storable(file)
    return record


def _created(route: Route, roots: Roots) -> list[str]:
    """Return the ids of what the session made: it is not what the task is about."""
    made = (stable_id(path, folders=(route.info.cwd,), roots=roots) for path in route.created)
    return list(dict.fromkeys(one for one in made if one is not None))


def _is_own(artifact: str, created: list[str]) -> bool:
    return any(artifact == one or artifact.startswith(f"{one}/") for one in created)


def _answered(route: Route, roots: Roots) -> Iterator[str]:
    if route.answer is None:
        return
    seen: set[str] = set()
    for path in files_in_text(route.answer):
        artifact = stable_id(path, folders=(route.info.cwd,), roots=roots)
        if artifact is not None and artifact not in seen:
            seen.add(artifact)
            yield artifact


_QUOTED = re.compile(r"`([^`\s]{1,300})`|\]\(([^)\s]{1,300})\)")
_BARE = re.compile(
    r"(?<![\w/.:])((?:[\w.\-]+/)+[\w.\-]+\.\w{1,8}|[\w\-]+\.(?:py|js|ts|md|c|h|rs|go|java|cs|toml|json|ya?ml))\b"
)
_FILE = re.compile(
    r"(?:[^\s/\\:*?\"<>|()]+[/\\])*[^\s/\\:*?\"<>|()]+\.[A-Za-z0-9]{1,8}(?::\d+(?:[-:]\d+)*)?"
)


def files_in_text(text: str) -> Iterator[str]:
    """Yield what looks like a file's name in an answer: in backticks, links, or with a folder."""
    spans: list[tuple[int, str]] = []
    for found in _QUOTED.finditer(text):
        name = found[1] or found[2]
        if "://" not in name and _FILE.fullmatch(name.lstrip("/")):
            spans.append((found.start(), re.sub(r"(?::\d+(?:[-:]\d+)*)$", "", name)))
    spans += [(found.start(), found[1]) for found in _BARE.finditer(text)]
    for _, name in sorted(spans):
        yield name


def _source(route: Route, format_name: str, file: str) -> dict[str, Any]:
    info = route.info
    source: dict[str, Any] = {"format": format_name, "file": storable(file)}
    if info.session_id is not None:
        source["session_id"] = info.session_id
    if info.part is not None:
        source["part"] = info.part
    if info.agent_version is not None:
        source["agent_version"] = info.agent_version
    files = [route.first.file if route.first is not None else None, route.cut.file]
    for key, name in zip(("first_contact_file", "cut_file"), files, strict=True):
        if name is not None:
            source[key] = storable(name)
    lines = [step.line for step in route.steps if step.looks]
    source["lines"] = {
        "first_contact": route.first.line if route.first is not None else None,
        "navigation": lines[:_MAX_EVIDENCE_LINES],
        "cut": route.cut.line,
    }
    return source

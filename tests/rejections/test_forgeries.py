"""2,000 sealed forgeries: refused with the logs at hand, and what is caught without them."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rejections.test_bundle import bundle_of
from wayproof.bundles.check import check_bundle
from wayproof.bundles.kinds import CheckRequest
from wayproof.canonical import canonical_bytes
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.rejection_records import Episode, SessionRecord
from wayproof.rejections import check_bundle as checker
from wayproof.rejections.run import RejectionSettings, watched
from wayproof.rejections.summary import brief_of, session_of, summarize
from wayproof.stats.seeded import SplitMix64, stream

_FORGERIES = 2000
_NAMES = ("episodes.jsonl", "sessions.jsonl", "summary.json", "manifest.json")

# What nobody can know without the logs: each a field whose other values agree with the rest.
_UNSEEN = frozenset({
    "episodes.blind_repeats", "episodes.closed_by", "episodes.evidence", "episodes.extra_calls",
    "episodes.in_parallel", "episodes.kind", "episodes.lane.line", "episodes.lane.match",
    "episodes.lane.result", "episodes.lane.tool", "episodes.lane.call", "episodes.lane",
    "episodes.same_tool_success", "episodes.source.call_id", "episodes.source.lines.rejection",
    "episodes.source.lines.result", "episodes.source.thread", "episodes.target", "episodes.tool",
    "episodes.episode_id", "episodes.source.lines.closing", "episodes.source.lines.attempts",
    "sessions.calls", "sessions.strata.cancelled", "sessions.strata.failed",
    "sessions.strata.invalid", "sessions.strata.malformed", "sessions.strata.refused",
    "sessions.strata.verdict", "sessions.task_id", "sessions.unknown", "sessions.format",
    "manifest.inputs.bytes", "manifest.inputs.sha256", "manifest.inputs", "manifest.varies",
    "manifest.settings.maps", "manifest.settings.task_id_from", "manifest.settings.window",
    "manifest.settings.format", "sessions.session_id",
})  # fmt: skip
_WORDS = (
    "recovered", "recovered_detour", "not_reached", "undecided", "blind_repeat", "accepted",
    "invalid", "failed", "unknown", "exact", "same", "near", "file", "goal", "turn_end", "log_end",
    "window", "prompt", "refused", "edit_no_match", "no_such_file", "by_person", "exit_0",
    "accepted_edit", "pursued", "at_floor", "codex", "mini-swe-agent", "x",
)  # fmt: skip


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _leaves(one, (*path, key))
    elif isinstance(value, list):
        yield path
        for place, one in enumerate(value):
            yield from _leaves(one, (*path, place))
    else:
        yield path


def _changed(value: Any, draw: SplitMix64) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return (value + 1, max(0, value - 1), value + 7, 0)[draw.below(4)]
    if isinstance(value, list):
        return [value[:-1], [*value, *value[-1:]], value[::-1]][draw.below(3)]
    return _WORDS[draw.below(len(_WORDS))] if draw.below(4) else None


def _put(record: Any, path: tuple[Any, ...], draw: SplitMix64) -> None:
    for key in path[:-1]:
        record = record[key]
    record[path[-1]] = _changed(record[path[-1]], draw)


def _named(file: str, path: tuple[Any, ...]) -> str:
    parts = [str(one) for one in path if isinstance(one, str)]
    if file == "manifest" and parts[:1] in (["inputs"], ["files"]):
        parts = [parts[0], *parts[2:]]
    if file == "manifest" and parts[:1] == ["varies"]:
        parts = parts[:1]
    return ".".join([file, *parts])


def _forged(files: dict[str, Any], number: int) -> tuple[dict[str, Any], str]:
    """Return a bundle's values with one of them changed, and which."""
    draw = stream("rejections.forgery", number)
    forged = msgspec.json.decode(msgspec.json.encode(files))
    kind = draw.below(10)
    if kind < 6:
        rows = forged["episodes"]
        row = rows[draw.below(len(rows))]
        paths = list(_leaves(row))
        path = paths[draw.below(len(paths))]
        _put(row, path, draw)
        return forged, _named("episodes", path)
    if kind < 8:
        rows = forged["sessions"]
        row = rows[draw.below(len(rows))]
        paths = list(_leaves(row))
        path = paths[draw.below(len(paths))]
        _put(row, path, draw)
        return forged, _named("sessions", path)
    if kind == 8:
        rows = forged[("episodes", "sessions")[draw.below(2)]]
        at = draw.below(len(rows))
        [lambda: rows.pop(at), lambda: rows.insert(at, rows[at]), rows.reverse][draw.below(3)]()
        return forged, "lines"
    name = ("summary", "manifest")[draw.below(2)]
    paths = [path for path in _leaves(forged[name]) if path[:1] != ("files",)]
    path = paths[draw.below(len(paths))]
    _put(forged[name], path, draw)
    return forged, _named(name, path)


def _sealed(folder: Path, files: dict[str, Any], *, sums: bool) -> None:
    """Write a forged bundle with digests that fit; ``sums``: and with a summary that does."""
    data = {
        f"{name}.jsonl": b"".join(canonical_bytes(row) + b"\n" for row in files[name])
        for name in ("episodes", "sessions")
    }
    digests = [hashlib.sha256(one).hexdigest() for one in data.values()]
    digests_of = dict(zip(("episodes_sha256", "sessions_sha256"), digests, strict=True))
    if not sums:
        digests_of = {}
    summary = files["summary"] | digests_of
    data["summary.json"] = canonical_bytes(summary) + b"\n"
    if sums:
        try:
            made = _resummed(files, digests)
        except (msgspec.MsgspecError, KeyError, ValueError):
            made = None
        data["summary.json"] = made or data["summary.json"]
    manifest = files["manifest"] | {
        "files": {
            name: {"bytes": len(one), "sha256": hashlib.sha256(one).hexdigest()}
            for name, one in data.items()
        }
    }
    data["manifest.json"] = canonical_bytes(manifest) + b"\n"
    for name, one in data.items():
        (folder / name).write_bytes(one)


def _resummed(files: dict[str, Any], digests: list[str]) -> bytes:
    sessions = msgspec.convert(files["sessions"], list[SessionRecord])
    episodes = msgspec.convert(files["episodes"], list[Episode])
    places = {one.session: place for place, one in enumerate(sessions)}
    briefs = [brief_of(one, places[session_of(one.episode_id)]) for one in episodes]
    window = files["manifest"]["settings"]["window"]
    record = summarize(sessions, briefs, window_calls=window, digests=(digests[0], digests[1]))
    return msgspec.json.encode(record) + b"\n"


def _holds(bundle: Path, request: CheckRequest) -> bool:
    try:
        check_bundle(bundle, request)
    except (IntegrityError, InputError):
        return False
    return True


@pytest.mark.slow
def test_sealed_forgeries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No forgery passes beside the logs; without them only what is listed does."""
    logs, bundle = bundle_of(tmp_path)
    made = {window: watched([logs], RejectionSettings(window=window)) for window in (20,)}

    def again(places: Any, settings: RejectionSettings, **_: Any) -> Any:
        if settings == RejectionSettings():
            return made[20]
        return watched(places, settings)  # other settings: read them anew

    monkeypatch.setattr(checker, "watched", again)
    files: dict[str, Any] = {
        "episodes": [json.loads(one) for one in (bundle / _NAMES[0]).read_bytes().splitlines()],
        "sessions": [json.loads(one) for one in (bundle / _NAMES[1]).read_bytes().splitlines()],
        "summary": json.loads((bundle / _NAMES[2]).read_bytes()),
        "manifest": json.loads((bundle / _NAMES[3]).read_bytes()),
    }
    _sealed(bundle, files, sums=True)
    assert _holds(bundle, CheckRequest(logs=(logs,)))  # the forger itself changes nothing
    passed: dict[str, int] = {}
    tried = 0
    number = 0
    while tried < _FORGERIES:
        forged, field = _forged(files, number)
        number += 1
        if forged == files or field.startswith("manifest.varies"):
            continue  # nothing was changed, or only times and the host
        tried += 1
        _sealed(bundle, forged, sums=not field.startswith("summary") and tried % 4 != 0)
        beside_logs = _holds(bundle, CheckRequest(logs=(logs,)))
        if beside_logs and field.startswith("manifest.settings"):
            continue  # true all the same: with these settings the logs give the same
        assert not beside_logs, (number - 1, field)
        if _holds(bundle, CheckRequest()):
            passed[field] = passed.get(field, 0) + 1
    unlisted = {field for field in passed if field not in _UNSEEN and field != "lines"}
    assert not unlisted, passed
    assert "lines" not in passed
    assert sum(passed.values()) < tried / 2, passed

"""Check a bundle of rejected calls: its numbers follow from its episodes, these from the logs.

Without the logs: every record is canonical and in order; each episode agrees with itself
(:mod:`~wayproof.rejections.check_episode`); sessions have at least the rejections that their
episodes say; the summary is theirs, byte for byte; the manifest says what a run would say.
With the logs everything is made again and compared, and the first difference is named.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from wayproof.bundles.kinds import CheckReport, CheckRequest
from wayproof.bundles.manifest import MANIFEST_NAME, Manifest, read_small_file
from wayproof.canonical import Record, decode_record_line, record_bytes
from wayproof.capture.ids import parse_map
from wayproof.capture.matching import parse_task_key
from wayproof.capture.registry import FORMATS
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.rejection_names import (
    EPISODES_NAME,
    LIMITS,
    NO_OUTCOME_FORMATS,
    NOT_DETECTABLE,
    SESSIONS_NAME,
    STRATA,
    SUMMARY_NAME,
)
from wayproof.evidence.rejection_records import Episode, SessionRecord, Summary
from wayproof.lines import evidence_lines
from wayproof.rejections.check_episode import fault_in
from wayproof.rejections.phrases import PHRASES_VERSION
from wayproof.rejections.run import RejectionSettings, evidence_files, inputs_of, watched
from wayproof.rejections.summary import Brief, brief_of, session_of, summarize
from wayproof.strict_json import convert_typed
from wayproof.text import quoted

__all__ = ["check"]

_LOG_ROLE: Final = "log:"
_R = TypeVar("_R", bound=Record)


def check(folder: Path, manifest: Manifest, request: CheckRequest) -> CheckReport:
    """Check the bundle, and make it again where the logs are given.

    Raises
    ------
    IntegrityError
        Naming file, line, episode and field of the first thing that doesn't follow.
    """
    place = str(folder / MANIFEST_NAME)
    settings = _settings(place, manifest)
    if tuple(manifest.limits) != LIMITS:
        raise IntegrityError("limits were changed", file=place, field="limits")
    sessions = _sessions(folder / SESSIONS_NAME)
    _check_inputs(place, manifest, sessions)
    briefs = list(_episodes(folder / EPISODES_NAME, sessions, settings))
    _check_summary(folder, manifest, sessions, briefs, settings)
    counted = f"{len(sessions)} sessions and {len(briefs)} episodes"
    findings = [
        f"{counted} agree with themselves and with each other; the summary follows from them",
        *_rules(sessions),
    ]
    if request.logs:
        _check_made_again(folder, manifest, settings, request)
        findings.append("logs: read again, byte for byte the same")
    else:
        findings.append(f"logs: not given. {NOT_DETECTABLE}")
    return CheckReport(tuple(findings), "verified")


def _rules(sessions: list[SessionRecord]) -> Iterator[str]:
    formats = sorted({one.format for one in sessions} & NO_OUTCOME_FORMATS)
    for name in formats:
        yield f"{name}: the format doesn't log how a call ended, so there are no episodes"


def _settings(place: str, manifest: Manifest) -> RejectionSettings:
    if set(manifest.settings) != set(RejectionSettings.__struct_fields__):
        raise IntegrityError(
            "not the settings of such a bundle",
            file=place,
            field="settings",
            expected=", ".join(RejectionSettings.__struct_fields__),
            found=quoted(", ".join(sorted(manifest.settings))),
        )
    try:
        settings = convert_typed(manifest.settings, RejectionSettings, prefix="settings")
        for text in settings.maps:
            parse_map(text)
        parse_task_key(settings.task_id_from)
    except InputError as error:
        raise IntegrityError.of(error, file=place, field="settings") from None
    if settings.format is not None and settings.format not in FORMATS:
        raise IntegrityError(
            "no such format",
            file=place,
            field="settings.format",
            expected=f"one of {', '.join(FORMATS)}",
            found=quoted(settings.format),
        )
    if settings.phrases != PHRASES_VERSION:
        raise InputError(
            "made with another version of the phrases",
            file=place,
            field="settings.phrases",
            expected=PHRASES_VERSION,
            found=quoted(settings.phrases),
            mend="check it with the version of wayproof that made it",
        )
    return settings


# -- sessions and inputs --------------------------------------------------------------


def _records(path: Path, record: type[_R]) -> Iterator[tuple[int, _R]]:
    decoder = msgspec.json.Decoder(record)
    number = 0
    with path.open("rb") as file:
        try:
            for number, line in evidence_lines(file, str(path)):
                yield number, decode_record_line(line, decoder)
        except InputError as error:
            raise IntegrityError.of(error, file=str(path), line=error.line or number) from None


def _sessions(path: Path) -> list[SessionRecord]:
    found: list[SessionRecord] = []
    in_file: dict[str, tuple[int, str]] = {}
    for number, session in _records(path, SessionRecord):
        place, format_name = in_file.get(session.file, (0, session.format))
        in_file[session.file] = (place + 1, session.format)
        before = found[-1].file if found else ""
        for fits, field, expected in (
            (session.session == f"{session.file}#{place + 1}", "session", "FILE#N, N from 1"),
            (session.file >= before, "file", "files in order"),
            (session.format in FORMATS, "format", "a known format"),
            (session.format == format_name, "format", "one format a file"),
            (_rejected(session) + session.unknown <= session.calls, "calls", "at least as many"),
            (
                session.format not in NO_OUTCOME_FORMATS or not session.episodes,
                "episodes",
                "0: the format doesn't log how a call ended",
            ),
        ):
            if not fits:
                raise IntegrityError(
                    "session doesn't agree with itself",
                    file=str(path),
                    line=number,
                    index=quoted(session.session),
                    field=field,
                    expected=expected,
                    found=quoted(str(getattr(session, field))),
                )
        found.append(session)
    return found


def _rejected(session: SessionRecord) -> int:
    return sum(getattr(session.strata, word.name) for word in STRATA)


def _check_inputs(place: str, manifest: Manifest, sessions: list[SessionRecord]) -> None:
    """Each log that is a file is named, and no other one."""
    files = {one.file for one in sessions}
    for role in manifest.inputs:
        if not role.startswith(_LOG_ROLE) or role.removeprefix(_LOG_ROLE) not in files:
            raise IntegrityError(
                "names an input that no session comes from",
                file=place,
                field=f"inputs.{role}",
                found=quoted(role),
            )


# -- episodes ---------------------------------------------------------------------------


def _episodes(
    path: Path, sessions: list[SessionRecord], settings: RejectionSettings
) -> Iterator[Brief]:
    places = {one.session: place for place, one in enumerate(sessions)}
    counts: dict[int, dict[str, int]] = {}
    last = (0, 0)
    for number, episode in _records(path, Episode):
        name = session_of(episode.episode_id)
        digits = episode.episode_id[len(name) + 1 :]
        place = places.get(name)

        def wrong(
            field: str,
            expected: str,
            found: str,
            *,
            line: int = number,
            index: str = episode.episode_id,
        ) -> IntegrityError:
            return IntegrityError(
                "episode doesn't agree with itself",
                file=str(path),
                line=line,
                index=quoted(index),
                field=field,
                expected=expected,
                found=quoted(found),
            )

        is_number = digits.isascii() and digits.isdecimal() and digits == str(int(digits))
        if place is None or not is_number:
            raise wrong("episode_id", "SESSION:N of a session that is there", episode.episode_id)
        here = (place, int(digits))
        if here <= last and number > 1:
            raise wrong("episode_id", "episodes in order, each once", episode.episode_id)
        last = here
        session = sessions[place]
        source = episode.source
        if source.format != session.format:
            raise wrong("source.format", session.format, source.format)
        if source.session_id != session.session_id:
            raise wrong("source.session_id", str(session.session_id), str(source.session_id))
        if source.file != session.file and not source.thread:
            raise wrong("source.file", session.file, source.file)
        fault = fault_in(episode, window_calls=settings.window, with_text=settings.with_text)
        if fault is not None:
            raise wrong(*fault)
        of_session = counts.setdefault(place, {})
        of_session[episode.stratum] = of_session.get(episode.stratum, 0) + 1
        of_session["calls"] = max(of_session.get("calls", 0), episode.extra_calls + 1)
        yield brief_of(episode, place)
    _check_counts(path, sessions, counts)


def _check_counts(
    path: Path, sessions: list[SessionRecord], counts: dict[int, dict[str, int]]
) -> None:
    for place, session in enumerate(sessions):
        found = counts.get(place, {})
        episodes = sum(found.get(one, 0) for one in ("invalid", "malformed", "refused"))
        at_least: list[tuple[str, Any, int]] = [
            (f"strata.{name}", getattr(session.strata, name), found.get(name, 0))
            for name in ("invalid", "malformed", "refused")
        ]
        at_least.append(("calls", session.calls, found.get("calls", 0)))
        for field, stored, least in at_least:
            if stored < least:
                raise _miscounted(path, place, session, field, f"at least {least}", stored)
        if session.episodes != episodes:
            raise _miscounted(path, place, session, "episodes", str(episodes), session.episodes)
        rejected = sum(
            getattr(session.strata, name) for name in ("invalid", "malformed", "refused")
        )
        if rejected and not episodes:
            raise _miscounted(path, place, session, "episodes", "at least 1", 0)


def _miscounted(
    path: Path, place: int, session: SessionRecord, field: str, expected: str, found: int
) -> IntegrityError:
    return IntegrityError(
        "session doesn't fit its episodes",
        file=str(path.with_name(SESSIONS_NAME)),
        line=place + 1,
        index=quoted(session.session),
        field=field,
        expected=expected,
        found=str(found),
    )


# -- the summary ------------------------------------------------------------------------


def _check_summary(
    folder: Path,
    manifest: Manifest,
    sessions: list[SessionRecord],
    briefs: list[Brief],
    settings: RejectionSettings,
) -> None:
    path = folder / SUMMARY_NAME
    expected = summarize(
        sessions,
        briefs,
        window_calls=settings.window,
        digests=(manifest.files[EPISODES_NAME].sha256, manifest.files[SESSIONS_NAME].sha256),
    )
    data = read_small_file(path, "no summary")
    if data == record_bytes(expected) + b"\n":
        return
    try:
        found = msgspec.json.decode(data, type=Summary)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise IntegrityError("not a summary", file=str(path), found=str(error)) from None
    for field in Summary.__struct_fields__:
        ours, theirs = getattr(expected, field), getattr(found, field)
        if ours != theirs:
            raise IntegrityError(
                "summary doesn't follow from the episodes",
                file=str(path),
                field=field,
                expected=quoted(_plain(ours)),
                found=quoted(_plain(theirs)),
            )
    raise IntegrityError("summary is not in canonical form", file=str(path))


def _plain(value: Any) -> str:
    return msgspec.json.encode(value).decode()[:300]


# -- with the logs ------------------------------------------------------------------------


def _check_made_again(
    folder: Path, manifest: Manifest, settings: RejectionSettings, request: CheckRequest
) -> None:
    logs = watched(request.logs, settings, progress=request.progress)
    inputs = inputs_of(logs)
    for role, digest in manifest.inputs.items():
        if inputs.get(role) not in {digest, None}:
            raise IntegrityError(
                "the log isn't the one that was measured",
                file=role.removeprefix(_LOG_ROLE),
                expected=f"SHA-256 {digest.sha256}",
                found=f"SHA-256 {inputs[role].sha256}",
            )
    files, _ = evidence_files(logs, settings.window)
    for name in (SESSIONS_NAME, EPISODES_NAME, SUMMARY_NAME):
        data = (folder / name).read_bytes()
        if data != files[name]:
            raise _first_difference(folder / name, data, files[name])
    if dict(manifest.inputs) != inputs:
        missing = sorted(set(inputs) ^ set(manifest.inputs))
        raise IntegrityError(
            "not the logs that the bundle was made from",
            file=str(folder / MANIFEST_NAME),
            field="inputs",
            expected=quoted(missing[0]) if missing else "the same digests",
        )


def _first_difference(path: Path, data: bytes, made: bytes) -> IntegrityError:
    stored, again = data.split(b"\n"), made.split(b"\n")
    for number, line in enumerate(stored, 1):
        other = again[number - 1] if number <= len(again) else b""
        if line != other:
            return IntegrityError(
                "differs from what the logs give",
                file=str(path),
                line=number,
                index=_named(line or other),
                field=_field(line, other),
                expected=quoted(other[:200].decode("utf-8", "replace")),
                found=quoted(line[:200].decode("utf-8", "replace")),
            )
    return IntegrityError("lines are missing that the logs give", file=str(path), line=len(stored))


def _named(line: bytes) -> str | None:
    try:
        record = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    name = record.get("episode_id") or record.get("session")
    return quoted(name) if isinstance(name, str) else None


def _field(line: bytes, other: bytes) -> str | None:
    """Return the first field in which two records differ."""
    try:
        stored, again = msgspec.json.decode(line), msgspec.json.decode(other)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(stored, dict) or not isinstance(again, dict):
        return None
    return next((str(key) for key in stored if stored[key] != again.get(key)), None)

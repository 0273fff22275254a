"""Which session belongs to which task."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from wayproof.capture.collect import Captured
from wayproof.capture.lines import Problems, Source
from wayproof.errors import InputError

__all__ = ["Matched", "TaskKey", "match", "parse_task_key", "read_sidecar", "read_task_ids"]


class TaskKey(msgspec.Struct, frozen=True):
    """Where a session's task id is read: ``session``, ``file``, or a pattern over the prompt."""

    kind: str
    pattern: str | None = None


class Matched(msgspec.Struct, kw_only=True):
    """The packets in order, and what found no partner."""

    packets: list[dict[str, Any]]
    unmatched_sessions: list[str]
    unmatched_tasks: list[str]


_KINDS = {
    "session": "session",
    "session_id": "session",
    "session-id": "session",
    "file": "file",
    "file_stem": "file",
    "file-stem": "file",
    "stem": "file",
}
_ONLY_A_PATTERN = re.compile(r"[\\\[\](){}*+?|^$]")


def parse_task_key(text: str) -> TaskKey:
    """Parse ``session``, ``file`` or ``prompt:REGEX``; a text that can only be a pattern is one.

    Raises
    ------
    InputError
        For anything else, or a pattern that is none.
    """
    if text in _KINDS:
        return TaskKey(_KINDS[text])
    kind, _, pattern = text.partition(":")
    if kind not in {"prompt", "regex"}:
        pattern = text if _ONLY_A_PATTERN.search(text) else ""
    if not pattern:
        raise InputError(
            "not a source of task ids",
            setting="task_id_from",
            expected="session, file or prompt:REGEX",
            found=text,
        )
    try:
        re.compile(pattern)
    except re.error as error:
        raise InputError(
            "not a regular expression", setting="task_id_from", found=f"{pattern}: {error}"
        ) from None
    return TaskKey("prompt", pattern)


def read_task_ids(path: Path) -> list[str]:
    """Return the task ids of a task file: JSON Lines, a list, or a benchmark's cases.

    Raises
    ------
    InputError
        When the file can't be read, isn't JSON, or a task has no id.
    """
    source = Source(path, problems=Problems())
    with source.open() as file:
        data = file.read()
    try:
        whole: Any = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        whole = None
    if isinstance(whole, list):
        tasks = whole
    elif isinstance(whole, dict) and isinstance(whole.get("cases"), list):
        tasks = [one.get("task") if isinstance(one, dict) else one for one in whole["cases"]]
    else:
        tasks = _lines(data, str(path))
    return [_task_id(task, str(path), index) for index, task in enumerate(tasks)]


def _lines(data: bytes, file: str) -> list[Any]:
    tasks: list[Any] = []
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            tasks.append(msgspec.json.decode(line))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise InputError("not a task", file=file, line=number, found=str(error)) from None
    return tasks


def _task_id(task: Any, file: str, index: int) -> str:
    found = task.get("task_id") if isinstance(task, dict) else None
    if not isinstance(found, str) or not found:
        raise InputError(
            "a task without an id can't be matched",
            file=file,
            index=f"task {index}",
            field="task_id",
            expected="non-empty text",
            mend="give each task its task_id",
        )
    return found


def read_sidecar(path: Path) -> dict[str, str]:
    """Read ``{session_id: task_id}``.

    Raises
    ------
    InputError
        When the file is anything else.
    """
    source = Source(path, problems=Problems())
    with source.open() as file:
        data = file.read()
    try:
        return msgspec.json.decode(data, type=dict[str, str])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(
            "not a sidecar file",
            file=str(path),
            expected="one JSON object of session_id: task_id",
            found=str(error),
        ) from None


def _proposed(one: Captured, key: TaskKey, sidecar: Mapping[str, str]) -> str | None:
    session_id = one.session_id
    if session_id is not None and session_id in sidecar:
        return sidecar[session_id]
    if key.kind == "prompt" and key.pattern is not None:
        found = re.search(key.pattern, one.route.prompt or "")
        return (found[1] if found.re.groups and found[1] else found[0]) if found else None
    if key.kind == "session" and session_id:
        return session_id
    return _stem(one.file)


def _stem(file: str) -> str:
    name = file.replace("\\", "/").rsplit("/", 1)[-1]
    return (
        re.sub(
            r"(?:\.traj)?(?:\.jsonl?|\.eval|\.traj|\.trec|\.run|\.txt)?(?:\.zst|\.gz)?$", "", name
        )
        or name
    )


def match(
    captured: Sequence[Captured],
    *,
    task_ids: Sequence[str] | None = None,
    key: TaskKey | None = None,
    sidecar: Mapping[str, str] | None = None,
) -> Matched:
    """Give each session its task.

    One task and one session are a pair. Otherwise the sidecar decides, then ``key``
    (default: the session's id). With ``task_ids``, sessions that name none of them are
    left out and listed. Several sessions of one task are attempts 1, 2, … in order.
    """
    key = key or TaskKey("session")
    paired = task_ids is not None and len(task_ids) == 1 and len(captured) == 1
    known = set(task_ids) if task_ids is not None else None
    attempts: dict[str, int] = {}
    unmatched: list[str] = []
    chosen: list[tuple[str, int, Captured]] = []
    for one in captured:
        task_id = _proposed(one, key, sidecar or {})
        if paired and task_ids is not None:
            task_id = task_ids[0]
        if task_id is None or (known is not None and task_id not in known):
            unmatched.append(one.session_id or one.file)
            continue
        attempts[task_id] = attempts.get(task_id, 0) + 1
        chosen.append((task_id, attempts[task_id], one))
    packets = [
        _numbered(one.packet, task_id, number, several=attempts[task_id] > 1)
        for task_id, number, one in chosen
    ]
    missing = [task_id for task_id in task_ids or () if task_id not in attempts]
    return Matched(packets=packets, unmatched_sessions=unmatched, unmatched_tasks=missing)


def _numbered(
    packet: dict[str, Any], task_id: str, attempt: int, *, several: bool
) -> dict[str, Any]:
    head: dict[str, Any] = {"task_id": task_id}
    if several:
        head["attempt"] = attempt
    return head | packet

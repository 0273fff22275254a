"""Logs of the project's own, made step by step for one rule each."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from wayproof.evidence.rejection_records import Episode, SessionRecord
from wayproof.rejections.collect import Watched, watch_logs

_HEAD: dict[str, Any] = {"sessionId": "s-1", "cwd": "/w", "version": "2.1.0"}


class ClaudeLog:
    """A session of Claude Code, built call by call; lines are numbered from 1."""

    def __init__(self, session_id: str = "s-1", version: str = "2.1.0") -> None:
        self._head = _HEAD | {"sessionId": session_id, "version": version}
        self._rows: list[dict[str, Any]] = []
        self._messages = 0
        self._calls = 0
        self.prompt("do it")

    def _add(self, kind: str, role: str, content: Any, **more: Any) -> None:
        message = {"role": role, "content": content} | more
        row = self._head | {"type": kind, "uuid": f"{self._head['sessionId']}-{len(self._rows)}"}
        if self._rows:
            row["parentUuid"] = self._rows[-1]["uuid"]
        self._rows.append(row | {"message": message})

    @property
    def line(self) -> int:
        """The last line's number."""
        return len(self._rows)

    def prompt(self, text: str) -> "ClaudeLog":
        """A person asks."""
        self._add("user", "user", text)
        return self

    def say(self, text: str = "Done.") -> "ClaudeLog":
        """The agent answers."""
        self._messages += 1
        block = [{"type": "text", "text": text}]
        self._add("assistant", "assistant", block, id=f"m{self._messages}")
        return self

    def issue(self, tool: str, *, same_message: bool = False, **arguments: Any) -> str:
        """The agent calls a tool; its id."""
        self._calls += 1
        if not same_message:
            self._messages += 1
        call_id = f"t{self._calls}"
        use = {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}
        self._add("assistant", "assistant", [use], id=f"m{self._messages}")
        return call_id

    def result(self, call_id: str, said: str, *, error: bool) -> "ClaudeLog":
        """The tool answers."""
        block = {"type": "tool_result", "tool_use_id": call_id, "content": said}
        self._add("user", "user", [block | ({"is_error": True} if error else {})])
        return self

    def ok(self, tool: str, said: str = "fine", **arguments: Any) -> "ClaudeLog":
        """A call that the tool accepts."""
        return self.result(self.issue(tool, **arguments), said, error=False)

    def no(self, tool: str, said: str, **arguments: Any) -> "ClaudeLog":
        """A call that the tool rejects."""
        return self.result(self.issue(tool, **arguments), said, error=True)

    def write(self, path: Path) -> Path:
        """Write the log."""
        path.write_text("".join(json.dumps(row) + "\n" for row in self._rows))
        return path


def edit(path: str, old: str, new: str) -> dict[str, Any]:
    """Return the input of an edit."""
    return {"file_path": path, "old_string": old, "new_string": new}


NO_MATCH = "<tool_use_error>String to replace not found in file.</tool_use_error>"
NO_FILE = "<tool_use_error>File does not exist.</tool_use_error>"
NOT_READ = (
    "<tool_use_error>File has not been read yet. Read it first before writing to it."
    "</tool_use_error>"
)
REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it "
    "was a file edit, the new_string was NOT written to the file). STOP what you are doing."
)


def mini(folder: Path, steps: Iterable[tuple[str, int | None, str]], *, submitted: bool) -> Path:
    """Write a trajectory of mini-swe-agent: (command, status or None for malformed, output)."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "a"},
        {"role": "user", "content": "mend it"},
    ]
    for command, status, said in steps:
        text = f"THOUGHT\n\n```bash\n{command}\n```"
        messages.append({
            "role": "assistant", "content": text, "extra": {"actions": [{"command": command}]},
        })  # fmt: skip
        if status is None:
            messages.append({"role": "user", "content": said, "extra": {}})
        else:
            extra = {"returncode": status, "raw_output": said}
            messages.append({"role": "user", "content": said, "extra": extra})
    if submitted:
        done = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
        messages.append({
            "role": "assistant", "content": done, "extra": {"actions": [{"command": done}]},
        })  # fmt: skip
    ended = "Submitted" if submitted else "LimitsExceeded"
    info = {"exit_status": ended, "mini_version": "2.0.0"}
    log = {"trajectory_format": "mini-swe-agent-1.1", "messages": messages, "info": info}
    path = folder / "run.traj.json"
    path.write_text(json.dumps(log))
    return path


def swe(folder: Path, *steps: tuple[str, str]) -> Path:
    """Write a trajectory of SWE-agent: (action, observation)."""
    rows = [{"action": action, "observation": said, "state": "{}"} for action, said in steps]
    path = folder / "run.traj"
    path.write_text(json.dumps({"trajectory": rows, "history": [], "info": {}}))
    return path


def watched(path: Path, **settings: Any) -> Watched:
    """Return the one session of a log."""
    (session,) = watch_logs([path], **settings).sessions
    return session


def episodes_of(path: Path, **settings: Any) -> tuple[Episode, ...]:
    """Return the episodes of the one session of a log."""
    return watched(path, **settings).episodes


def episode_of(path: Path, **settings: Any) -> Episode:
    """Return the one episode of the one session of a log."""
    (episode,) = episodes_of(path, **settings)
    return episode


def record_of(path: Path, **settings: Any) -> SessionRecord:
    """Return what is counted of the one session of a log."""
    return watched(path, **settings).record

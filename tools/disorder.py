"""A folder of sessions with the disorder that real ones have: to try, and to test tutorials with.

    python tools/disorder.py FOLDER

Two projects' sessions, warm-ups, an empty file, a command-only session, a resumed session, a
sub-agent's file, another tool's log, an SQLite file, JSON that is no log, a cut last line.
"""

import json
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["write_folder"]

Line = dict[str, Any]
Step = tuple[str, Mapping[str, Any], str]


def _line(session: str, number: int, kind: str, content: Any, **more: Any) -> Line:
    return {
        "type": kind,
        "uuid": f"{session}-{number}",
        "parentUuid": f"{session}-{number - 1}" if number else None,
        "sessionId": session,
        "cwd": "/home/kim/shelf",
        "version": "2.1.0",
        "timestamp": f"2026-02-03T09:{number:02}:00Z",
        "message": {"role": kind, "content": content},
        **more,
    }


def _session(
    session: str, prompt: str, steps: Sequence[Step] = (), answer: str = "Done.", **more: Any
) -> list[Line]:
    lines = [_line(session, 0, "user", prompt, **more)]
    for tool, given, result in steps:
        call = f"{session}-call-{len(lines)}"
        use = {"type": "tool_use", "id": call, "name": tool, "input": dict(given)}
        lines.append(_line(session, len(lines), "assistant", [use], **more))
        back = {"type": "tool_result", "tool_use_id": call, "content": result}
        lines.append(_line(session, len(lines), "user", [back], **more))
    text = [{"type": "text", "text": answer}]
    lines.append(_line(session, len(lines), "assistant", text, **more))
    return lines


def _read(path: str) -> Step:
    return "Read", {"file_path": path}, "1\tdef f(): ..."


def _edit(path: str) -> Step:
    given = {"file_path": path, "old_string": "a", "new_string": "b"}
    return "Edit", given, f"The file {path} has been updated."


def _text(lines: Sequence[Line]) -> str:
    return "".join(json.dumps(line) + "\n" for line in lines)


def write_folder(folder: Path) -> None:
    """Write the sessions of two projects, and what lies beside them.

    Parameters
    ----------
    folder
        Made where it isn't there.
    """
    shelf, crate = folder / "-home-kim-shelf", folder / "-home-kim-crate"
    for one in (shelf, crate):
        one.mkdir(parents=True, exist_ok=True)
    label = _session(
        "label-fix",
        "The label is printed twice. Print it once.",
        [
            ("Bash", {"command": "rg -n label src"}, "src/label.py:3:def label(): ..."),
            _read("/home/kim/shelf/src/label.py"),
            _edit("/home/kim/shelf/src/label.py"),
        ],
    )
    (shelf / "label-fix.jsonl").write_text(_text(label), "utf-8")
    again = [line | {"sessionId": "label-again"} for line in label]
    (shelf / "label-again.jsonl").write_text(_text(again), "utf-8")
    total = _session(
        "total-fix",
        "The total leaves the last row out.",
        [_read("/home/kim/shelf/src/table.py"), _edit("/home/kim/shelf/src/total.py")],
    )
    # The machine went off while it wrote.
    (shelf / "total-fix.jsonl").write_text(_text(total) + '{"type":"assistant","mess', "utf-8")
    crates = _session(
        "crate-names",
        "Crates have no names.",
        [
            ("Task", {"prompt": "find the crate"}, "It is src/crate.py."),
            _read("/home/kim/crate/src/crate.py"),
            _edit("/home/kim/crate/src/crate.py"),
        ],
        cwd="/home/kim/crate",
    )
    (crate / "crate-names.jsonl").write_text(_text(crates), "utf-8")
    child = _session(
        "crate-names",
        "find the crate",
        [("Grep", {"pattern": "crate"}, "src/crate.py")],
        cwd="/home/kim/crate",
        isSidechain=True,
        agentId="a1",
    )
    beside = crate / "crate-names" / "subagents"
    beside.mkdir(parents=True, exist_ok=True)
    child = [line | {"uuid": f"child-{line['uuid']}"} for line in child]
    child = [line | {"parentUuid": f"child-{line['parentUuid']}"} for line in child]
    (beside / "agent-a1.jsonl").write_text(_text(child), "utf-8")
    (beside / "agent-a1.meta.json").write_text('{"agentType":"explore"}', "utf-8")
    for number in range(6):
        warm = _session(f"warm-{number}", "Warmup", answer="Ready.")
        (shelf / f"warm-{number}.jsonl").write_text(_text(warm), "utf-8")
    command = "<command-name>/clear</command-name>\n<command-args></command-args>"
    only = [_line("cleared", 0, "user", command)]
    (shelf / "cleared.jsonl").write_text(_text(only), "utf-8")
    (shelf / "nothing.jsonl").write_text("", "utf-8")
    _beside(folder)


def _beside(folder: Path) -> None:
    """Write what is no session of this tool."""
    other = {
        "created": 1770109200,
        "role": "assistant",
        "content": [{"type": "toolRequest", "id": "r1", "toolCall": {"value": {"name": "shell"}}}],
    }
    (folder / "goose.jsonl").write_text(json.dumps(other) + "\n", "utf-8")
    (folder / "settings.json").write_text('{"theme": "dark"}\n', "utf-8")
    (folder / "list.json").write_text("[1, 2, 3]\n", "utf-8")
    (folder / "broken.json").write_text('{"a": [1,', "utf-8")
    (folder / "notes.md").write_text("# To do\n", "utf-8")
    for name in ("store.db", "history.json"):  # one by its name no log, one by its content
        (folder / name).unlink(missing_ok=True)
        with sqlite3.connect(folder / name) as base:
            base.execute("create table sessions (id text)")
        base.close()


if __name__ == "__main__":
    write_folder(Path(sys.argv[1]))

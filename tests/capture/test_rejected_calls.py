"""Rejected calls as capture sees them: what the tools say, and what can't be told."""

import json
from pathlib import Path
from typing import Any

import pytest

from wayproof.capture.lines import Problems, Source
from wayproof.capture.registry import read_log
from wayproof.capture.session import Call, Event, Outcome, Result
from wayproof.capture.sessions import Sessions


class _Keep:
    def __init__(self, events: list[Event]) -> None:
        self._events = events

    def take(self, event: Event) -> bool:
        self._events.append(event)
        return True


def _events(path: Path) -> list[Event]:
    events: list[Event] = []
    read_log(Source(path, problems=Problems()), Sessions(lambda _: (_Keep(events),)))
    return events


def _outcomes(path: Path) -> list[Outcome]:
    return [one.outcome for one in _events(path) if isinstance(one, Result)]


def _trajectory(folder: Path, *steps: tuple[str, str]) -> Path:
    path = folder / "run.traj"
    rows = [{"action": action, "observation": said, "state": "{}"} for action, said in steps]
    path.write_text(json.dumps({"trajectory": rows, "history": [], "info": {}}))
    return path


@pytest.mark.parametrize(
    "said",
    [
        "No file open. Use the `open` command first.",
        "No file opened. Either `open` or `create` a file first.",
        "Your edit was not applied (file not modified): Text 'a' not found in displayed lines.",
        "Your search and replace strings are the same. No changes were made.",
        "No replacement was performed, old_str `a` did not appear verbatim in /b.",
        "Parameter `old_str` is required for command: str_replace",
    ],
)
def test_swe_agent_says_that_nothing_was_edited(said: str, tmp_path: Path) -> None:
    """What SWE-agent's own commands say when they did nothing is a failure."""
    (outcome,) = _outcomes(_trajectory(tmp_path, ("edit 1:1\nx\nend_of_edit", said)))
    assert outcome.ok is False
    assert outcome.error is not None
    assert outcome.error.startswith(said[:20])


def test_swe_agent_goto_keeps_its_line(tmp_path: Path) -> None:
    """``goto 41`` and ``goto 42`` are two calls; a word that is no number is no line."""
    log = _trajectory(tmp_path, ("goto 41", "a"), ("goto 042", "b"), ("goto ²", "c"))
    calls = [one for one in _events(log) if isinstance(one, Call)]
    assert [one.arguments for one in calls] == [{"line_number": 41}, {"line_number": 42}, {}]


def test_openhands_several_commands_at_once(tmp_path: Path) -> None:
    """Nothing ran: the observation has no exit status, and is a failure all the same."""
    said = "ERROR: Cannot execute multiple commands at once.\nPlease run each separately"
    running = "ERROR: the server says no"  # a command that still runs may print anything
    path = tmp_path / "events.jsonl"
    rows: list[dict[str, Any]] = []
    for number, text in enumerate((said, running)):
        call = {"kind": "ActionEvent", "id": f"a{number}", "tool_call_id": f"c{number}"}
        rows.append(call | {"tool_name": "execute_bash", "action": {"command": "a\nb"}})
        result = {"kind": "ObservationEvent", "id": f"o{number}", "tool_call_id": f"c{number}"}
        rows.append(result | {"observation": {"content": text}})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    first, second = _outcomes(path)
    assert first.ok is False
    assert second.ok is None


def _claude(folder: Path, version: str, *results: tuple[str, str]) -> Path:
    path = folder / "session.jsonl"
    rows: list[dict[str, Any]] = []
    head = {"sessionId": "s1", "version": version}
    for number, (tool, said) in enumerate(results):
        use = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": {"command": "make"}}
        asked = {"role": "assistant", "content": [use]}
        rows.append(head | {"type": "assistant", "message": asked})
        block = {"type": "tool_result", "tool_use_id": f"t{number}", "is_error": True}
        content = [block | {"content": said}]
        rows.append(head | {"type": "user", "message": {"role": "user", "content": content}})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_claude_words_of_a_person_are_no_tool_error(tmp_path: Path) -> None:
    """An old log has a person's answer where a command's error stands: a refusal."""
    outcomes = _outcomes(
        _claude(
            tmp_path,
            "2.0.5",
            ("Bash", "please add the licence file too first"),
            ("Bash", "make: *** No rule to make target 'all'.  Stop."),
            ("Bash", "Traceback (most recent call last):\n  File 'a'\nValueError: b"),
            ("Edit", "please add the licence file too first"),
        )
    )
    assert [one.ok for one in outcomes] == [None, False, False, False]
    assert [one.refused for one in outcomes] == [True, False, False, False]


def test_claude_error_without_its_exit_code(tmp_path: Path) -> None:
    """Where other commands' errors say ``Exit code``, one that doesn't is nobody knows what."""
    unclear = ("Bash", "ValueError: use the other file")
    log = _claude(tmp_path, "1.0.51", unclear, ("Bash", "Exit code 2\nbad"), unclear)
    assert [one.ok for one in _outcomes(log)] == [False, False, None]
    assert [one.ok for one in _outcomes(_claude(tmp_path, "2.1.3", unclear))] == [None]
    named = ("Bash", "<tool_use_error>InputValidationError: Bash failed</tool_use_error>")
    assert [one.ok for one in _outcomes(_claude(tmp_path, "2.1.3", named))] == [False]


def test_claude_part_of_a_command_needs_approval(tmp_path: Path) -> None:
    """A refusal that names the part of a command it is about is a refusal."""
    said = "This Bash command contains multiple operations. The following part requires approval: a"
    (outcome,) = _outcomes(_claude(tmp_path, "2.1.3", ("Bash", said)))
    assert outcome.refused
    assert outcome.ok is None

"""An agent that misbehaves as its first argument says, in trials after a collision.

In other trials it asks to finish until its budget is spent. Standard library only; it is
run as a program, never imported.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

MODE = sys.argv[1]
LEFT_BY = os.environ["WAYPROOF_AGENT_PROCESS"]
SLEEPER = [sys.executable, "-S", "-c", "import time; time.sleep(600)", "left by", LEFT_BY]


def say(message: Any) -> None:
    text = message if isinstance(message, str) else json.dumps(message)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def action(trial: str, step: int, changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    whole = {"type": "action", "trial": trial, "step": step, "finish": True} | dict(changes or {})
    return {key: value for key, value in whole.items() if value is not None}


def pause() -> None:
    time.sleep(600)


def write_for_ever(stream: Any, text: str) -> None:
    while True:
        stream.write(text)
        stream.flush()


MESSAGES: dict[str, Any] = {
    "no_json": "left, please",
    "empty_line": "",
    "a_list": "[1, 2]",
    "unknown_type": {"type": "thought", "text": "hm"},
    "unknown_field": {"mood": "fine"},
    "float_cell": {"finish": None, "move": [1.0, 2]},
    "text_cell": {"finish": None, "move": ["1", "2"]},
    "bool_cell": {"finish": None, "move": [True, 2]},
    "huge_cell": {"finish": None, "move": [2**60, 2]},
    "three_cells": {"finish": None, "move": [1, 2, 3]},
    "both_keys": {"move": [1, 2]},
    "no_key": {"finish": None},
    "false_finish": {"finish": False},
    "deep": "[" * 50_000,
    "wrong_step": {"step": 7},
    "wrong_trial": {"trial": "another"},
    "hello_again": {"type": "hello", "name": "x", "version": "1"},
}


def break_down(_trial: str, _step: int) -> None:
    raise RuntimeError("it broke")


def break_down_later(trial: str, step: int) -> None:
    if step == 3:
        raise RuntimeError("it broke")
    say(action(trial, step))


def leave_half_a_line(_trial: str, _step: int) -> None:
    sys.stdout.write('{"type":"action"')
    sys.stdout.flush()
    os._exit(0)


def speak_late(trial: str, step: int) -> None:
    time.sleep(2.0)
    say(action(trial, step))


def speak_twice(trial: str, step: int) -> None:
    say(action(trial, step))
    say(action(trial, step))


def speak_without_end(_trial: str, _step: int) -> None:
    for _ in range(1024):
        sys.stdout.write("x" * (1 << 20))
    say("")


def log_much(trial: str, step: int) -> None:
    for _ in range(32):
        sys.stderr.write("e" * (1 << 20))
    sys.stderr.flush()
    say(action(trial, step))


def close_stdout(_trial: str, _step: int) -> None:
    os.close(1)
    pause()


def close_stdin(trial: str, step: int) -> None:
    os.close(0)
    say(action(trial, step))
    pause()


def leave_stdout_to_an_orphan(_trial: str, _step: int) -> None:
    subprocess.Popen(SLEEPER, start_new_session=True)
    os._exit(1)


def leave_children(trial: str, step: int) -> None:
    if step == 0:
        subprocess.Popen(SLEEPER)
        subprocess.Popen(SLEEPER, start_new_session=True)
        leave_a_daemon()
    say(action(trial, step))


def leave_children_without_a_word(trial: str, step: int) -> None:
    """Children with an empty environment, which nothing but their birth ties to us."""
    if step == 0:
        subprocess.Popen(SLEEPER, env={}, start_new_session=True)
        subprocess.Popen(SLEEPER, env={}, process_group=0)
        if os.fork() == 0:
            os.setsid()
            subprocess.Popen(SLEEPER, env={}, start_new_session=True)
            os._exit(0)
    say(action(trial, step))


def stop_for_good(_trial: str, _step: int) -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def say_a_field_twice(trial: str, step: int) -> None:
    say(json.dumps(action(trial, step)).replace("{", '{"step": 7, "s\\u0074ep": 7, ', 1))


def leave_a_daemon() -> None:
    """Fork twice, so that nothing in our group is its parent."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv(SLEEPER[0], SLEEPER)  # noqa: S606 - no shell is wanted
        os._exit(0)


def say_no_text(_trial: str, _step: int) -> None:
    sys.stdout.buffer.write(b"\xff\xfe\n")
    sys.stdout.buffer.flush()


def misspeak(trial: str, step: int) -> None:
    found = MESSAGES[MODE]
    if isinstance(found, dict) and "type" not in found:
        found = action(trial, step, found)
    say(found)


def flood(trial: str, step: int) -> None:
    write_for_ever(sys.stdout, json.dumps(action(trial, step)) + "\n")


ACTS: dict[str, Callable[[str, int], None]] = {
    "children": leave_children,
    "children_without_a_word": leave_children_without_a_word,
    "close_stdin": close_stdin,
    "close_stdout": close_stdout,
    "crash": break_down,
    "crash_later": break_down_later,
    "exit": lambda _trial, _step: os._exit(0),
    "field_twice": say_a_field_twice,
    "flood_actions": flood,
    "flood_stderr": log_much,
    "flood_stderr_for_ever": lambda _trial, _step: write_for_ever(sys.stderr, "noise\n"),
    "flood_stdout": lambda _trial, _step: write_for_ever(sys.stdout, "word word\n"),
    "half_a_line": leave_half_a_line,
    "hang": lambda _trial, _step: pause(),
    "late": speak_late,
    "long_line": speak_without_end,
    "not_utf8": say_no_text,
    "orphan_holds_stdout": leave_stdout_to_an_orphan,
    "stops": stop_for_good,
    "twice": speak_twice,
} | dict.fromkeys(MESSAGES, misspeak)


def behave(trial: str, step: int) -> None:
    say(action(trial, step))


def greet() -> None:
    if MODE == "garbage_at_start":
        say("Welcome to my agent!")
    if MODE == "action_at_start":
        say(action("x", 0))
    say({"type": "hello", "name": "bad", "version": "0"})


def main() -> None:
    if MODE == "crash_at_start":
        raise RuntimeError("no start")
    if MODE == "silent_at_start":
        pause()
    if MODE == "ignore_everything":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    act: Callable[[str, int], None] = behave
    trial = ""
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            greet()
        elif message["type"] == "trial":
            trial = message["trial"]
            is_bad = message["rejection"]["kind"] == "collision"
            act = ACTS.get(MODE, behave) if is_bad else behave
            act(trial, 0)
        elif message["type"] == "outcome" and message["proposals_left"]:
            act(trial, message["step"] + 1)
        elif message["type"] == "outcome" and MODE == "talks_after_the_end":
            say("and another thing")
    if MODE == "ignore_everything":
        pause()


main()

"""Become an agent's sandbox: a program of its own, started once a trial, before the agent.

It joins the trial's control groups, sets the limits that a process sets for itself, gives
up its user, and turns into the command that its plan names. It imports nothing of wayproof,
so that starting it costs little more than Python itself. Called as
``python -I -S launch.py PLAN.json``.
"""

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

__all__: list[str] = []


def _launch(plan: dict[str, Any]) -> None:
    for group in plan["groups"]:
        _join(Path(group["folder"]) / f"trial-{os.getpid()}", group["limits"])
    if not plan["keeps_stderr"]:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    for name, value in plan["rlimits"].items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (bound, bound))
    words = [_filled(word, plan) for word in plan["words"]]
    kept = {name: os.environ[name] for name in plan["keeps_variables"] if name in os.environ}
    if plan["folder"] is not None:
        os.chdir(plan["folder"])
    if plan["user"] is not None:
        os.setgroups([])
        os.setgid(plan["user"][1])
        os.setuid(plan["user"][0])
    os.umask(0o077)
    os.execvpe(words[0], words, plan["environment"] | kept)  # noqa: S606 - a fixed list of words


def _join(folder: Path, limits: dict[str, str]) -> None:
    folder.mkdir()
    for name, value in limits.items():
        (folder / name).write_text(value, "ascii")
    (folder / "cgroup.procs").write_text(str(os.getpid()), "ascii")


def _filled(word: str, plan: dict[str, Any]) -> str:
    """Put the number of a readable file in the place of the filter's name."""
    if word != plan["filter_word"]:
        return word
    fd = os.memfd_create("filter", 0)
    os.write(fd, bytes.fromhex(plan["filter"]))
    os.lseek(fd, 0, os.SEEK_SET)
    return str(fd)


if __name__ == "__main__":
    _launch(json.loads(Path(sys.argv[1]).read_bytes()))

"""init, explain, and the top level."""

from pathlib import Path

import pytest

from conftest import RunWayproof
from wayproof.cli import COMMANDS
from wayproof.evidence.fitness_names import FAILURE_KINDS


def test_init_writes_files_that_score_as_they_are(tmp_path: Path, wayproof: RunWayproof) -> None:
    """A new user's first run: one of each, and the slow one is only slow."""
    ran = wayproof("init", tmp_path / "start")
    assert ran.status == 0
    assert "wayproof fitness score" in ran.out
    tasks, packets = tmp_path / "start" / "tasks.jsonl", tmp_path / "start" / "packets.jsonl"
    ran = wayproof(
        "fitness", "score", "--tasks", tasks, "--packets", packets, "--max-debts", "latency=1"
    )
    assert ran.status == 0
    assert "sufficient 2 of 3 results" in ran.out


def test_init_never_touches_what_is_there(tmp_path: Path, wayproof: RunWayproof) -> None:
    """An existing file is refused, and nothing else is written either."""
    (tmp_path / "packets.jsonl").write_text("mine")
    ran = wayproof("init", tmp_path)
    assert ran.status == 2
    assert [path.name for path in tmp_path.iterdir()] == ["packets.jsonl"]
    assert (tmp_path / "packets.jsonl").read_text() == "mine"


@pytest.mark.parametrize("kind", FAILURE_KINDS)
def test_explain_answers_for_every_kind(kind: str, wayproof: RunWayproof) -> None:
    """Meaning, place in the ladder, and how to mend it."""
    ran = wayproof("explain", kind)
    assert ran.status == 0
    for title in ("rung", "What it means", "Why it stands here", "How one mends it"):
        assert title in ran.out


def test_explain_lists_and_refuses(wayproof: RunWayproof) -> None:
    """Without a kind, all of them; an unknown one is an error that names the known."""
    listed = wayproof("explain")
    assert all(kind in listed.out for kind in FAILURE_KINDS)
    ran = wayproof("explain", "other")
    assert ran.status == 2
    assert "missing_id" in ran.err


def test_every_command_has_help(wayproof: RunWayproof) -> None:
    """`--help` works everywhere and exits 0."""
    for name in COMMANDS:
        ran = wayproof(name, "--help")
        assert (ran.status, ran.err) == (0, "")
        assert f"wayproof {name}" in ran.out


@pytest.mark.parametrize("arguments", [[], ["no-such-command"], ["--fitness"], ["fitness"]])
def test_no_command_exits_2(arguments: list[str], wayproof: RunWayproof) -> None:
    """One line that says where help is."""
    ran = wayproof(*arguments)
    assert (ran.status, ran.out) == (2, "")
    assert "--help" in ran.err
    assert len(ran.err.splitlines()) == 1

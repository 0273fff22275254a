"""init, explain, and the top level."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.pages.commands import leaves, parser_of

from conftest import RunWayproof
from wayproof.cli import COMMANDS, OLD_SPELLINGS
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
    assert "passed over" not in ran.out  # _comment is what the starter says to its reader


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


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["fitnes"], "'fitness'"),
        (["recovery", "ru"], "'run'"),
        (["explain", "missing_ids"], "'missing_id'"),
        (["schema", "packets"], "'packet'"),
        (["capture", "--repo-rot", "x", "a"], "'--repo-root'"),
        (["capture", "a", "--repo-rot=x", "b"], "'--repo-root'"),
        (["fitness", "score", "--packet", "p", "--tasks", "t"], "'--packets'"),
    ],
    ids=" ".join,
)
def test_a_misspelt_word_is_answered_with_the_nearest(
    arguments: list[str], meant: str, wayproof: RunWayproof
) -> None:
    """Commands, options, failure kinds and names of records: one line, with a suggestion."""
    ran = wayproof(*arguments)
    assert (ran.status, ran.out) == (2, "")
    assert f"did you mean {meant}" in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_word_that_resembles_nothing_gets_no_suggestion(wayproof: RunWayproof) -> None:
    """No guess is better than a wild one."""
    ran = wayproof("capture", "--xyzzy", "a")
    assert ran.status == 2
    assert "did you mean" not in ran.err


def _leaves() -> Iterator[argparse.ArgumentParser]:
    for name in COMMANDS:
        yield from leaves(parser_of(name))


@pytest.mark.parametrize("parser", list(_leaves()), ids=lambda parser: parser.prog)
def test_every_help_fits_80_columns_and_is_its_own(
    parser: argparse.ArgumentParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A help names its own command, and fits 80 columns on a wider or narrower terminal too."""
    monkeypatch.setenv("NO_COLOR", "1")
    for columns in ("30", "300", "80"):
        monkeypatch.setenv("COLUMNS", columns)
        text = parser.format_help()
        assert [line for line in text.splitlines() if len(line) > 80] == []
    assert text.startswith(f"usage: {parser.prog} ")
    assert parser.description


@pytest.mark.parametrize("old", sorted(OLD_SPELLINGS), ids=" ".join)
def test_an_old_spelling_still_works_and_says_so(
    old: tuple[str, str], wayproof: RunWayproof
) -> None:
    """For one release: the same help, the same status, and a line on stderr."""
    new = OLD_SPELLINGS[old]
    before, after = wayproof(*old, "--help"), wayproof(*new, "--help")
    assert (before.status, before.out) == (0, after.out)
    assert before.err == (
        f"wayproof: '{' '.join(old)}' is now '{' '.join(new)}'; "
        "the old spelling goes with release 0.3\n"
    )
    assert after.err == ""

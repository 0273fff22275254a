"""What the terminal shows: it fits, it speaks the pages' words, and colour says nothing alone."""

import json
import re
from pathlib import Path

import pytest
from tools import samples

import wayproof
from conftest import RunWayproof
from wayproof.evidence.fitness_names import LATENCY_WORDS

WEB = Path(wayproof.__file__).parent
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("terminal")
    samples.fitness_bundle(folder, 80)
    tasks = [json.loads(line) for line in (folder / "tasks.jsonl").read_text().splitlines()]
    packets = [json.loads(line) for line in (folder / "packets.jsonl").read_text().splitlines()]
    tasks[0]["task_id"] = packets[0]["task_id"] = "module/" + "x" * 90
    packets[0]["selected_artifacts"] = []
    for place, packet in enumerate(packets):
        packet["first_contact_command"] = f"{'abcdefg'[place % 7] * (1 + place % 40)} x"
    for name, rows in (("tasks", tasks), ("packets", packets)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text)
    return [f"--{name}={folder / name}.jsonl" for name in ("tasks", "packets")]


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(
    inputs: list[str], wayproof: RunWayproof, tmp_path: Path, columns: int
) -> None:
    """Long ids and programs included; only a path or a digest, to copy, stays whole."""
    env = {"COLUMNS": str(columns)}
    scored = wayproof("fitness", "score", *inputs, env=env)
    suite = tmp_path / "suite.jsonl"
    generate = ("--suite", "wfrb-v0", "--grids", "2", "--seed", "4", "--out", str(suite))
    assert wayproof("recovery", "generate", *generate).status == 0
    out = str(tmp_path / "out")
    ran = wayproof("recovery", "run", "--suite", str(suite), "--out", out, env=env)
    for text in (scored.out, ran.out):
        lines = [line for line in text.splitlines() if not re.search(r"[0-9a-f]{64}", line)]
        assert len(lines) > 10
        assert max(map(len, lines)) <= columns


def test_a_pipe_gets_whole_lines_and_no_escapes(inputs: list[str], wayproof: RunWayproof) -> None:
    """Without a width nothing folds; colour is neither needed nor sent, and can be forbidden."""
    plain = wayproof("fitness", "score", *inputs, env={"COLUMNS": ""})
    assert "\x1b" not in plain.out
    assert re.search(r"^limits: .*unblocks no owner$", plain.out, re.MULTILINE)
    forced = wayproof("fitness", "score", *inputs, env={"COLUMNS": "", "FORCE_COLOR": "1"})
    assert "\x1b[" in forced.out
    assert ESCAPE.sub("", forced.out) == plain.out
    without = wayproof(
        *("fitness", "score", *inputs), env={"COLUMNS": "", "FORCE_COLOR": "1", "NO_COLOR": "1"}
    )
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", without.out), "no colour, weight at most"


def test_the_top_five_first_contacts_are_shown(inputs: list[str], wayproof: RunWayproof) -> None:
    """By program, the most frequent first, as the page counts them; how many more there are."""
    ran = wayproof("fitness", "score", *inputs, env={"COLUMNS": "120"})
    _, _, part = ran.out.partition("first contacts, by program or tool\n")
    lines = part.partition("\n\n")[0].splitlines()
    assert lines[0].split()[:3] == ["program", "came", "first"]
    counts = [int(re.split(r" {2,}", line)[1]) for line in lines[1:6]]
    assert counts == sorted(counts, reverse=True)
    assert re.fullmatch(r" +… and \d+ more", lines[6])


def test_pages_and_terminal_speak_one_set_of_words() -> None:
    """In time, late, timed out, no time: the same in the page's English."""
    messages = json.loads((WEB / "report/static/messages.json").read_text("utf-8"))
    for status, word in LATENCY_WORDS.items():
        assert messages[f"latency.{status}"]["en"] == word

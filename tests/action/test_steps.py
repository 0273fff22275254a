"""The GitHub Action's steps, run as the scripts that they are."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from compare_bundles import packets_of, tasks_of
from conftest import ROOT, write_lines
from wayproof.fitness.score import ScoreRequest, score

STEPS = ["gates.sh", "score.sh", "compare.sh", "summary.sh", "verdict.sh"]
GATES = '[gates]\nmin-sufficient = "90%"\nfail-on = ["new-sufficiency-debt"]\n'


class Run(NamedTuple):
    """What the steps left behind."""

    status: int
    outputs: dict[str, str]
    summary: str
    said: str
    folder: Path


class Project:
    """A repository with a base revision and a pull request on it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "repository"
        self.temp = folder / "temp"
        self.folder.mkdir()
        self.temp.mkdir()
        self._git("init", "-q")
        self.tasks = tasks_of(20)
        self.packets = packets_of(self.tasks)
        self.write(GATES)
        inputs = (self.folder / "tasks.jsonl", self.folder / "packets.jsonl")
        score(ScoreRequest(tasks=inputs[0], packets=inputs[1]), self.folder / "base")
        self.base = self.commit()

    def _git(self, *arguments: str) -> str:
        author = ("-c", "user.name=kim", "-c", "user.email=kim@example.org")
        done = subprocess.run(
            ["git", *author, *arguments],
            cwd=self.folder,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.strip()

    def write(self, gates: str) -> None:
        """Write what the revision holds."""
        write_lines(self.folder / "tasks.jsonl", self.tasks)
        write_lines(self.folder / "packets.jsonl", self.packets)
        (self.folder / "wayproof.toml").write_text(gates, "utf-8")

    def commit(self) -> str:
        """Commit everything; return the revision."""
        self._git("add", "-A")
        self._git("commit", "-q", "-m", "change")
        return self._git("rev-parse", "HEAD")

    def run(self, **more: str) -> Run:
        """Run every step of the action, in order."""
        outputs, summary = self.temp / "outputs", self.temp / "summary"
        outputs.touch()
        summary.touch()
        programs = self.temp / "bin"
        programs.mkdir(exist_ok=True)
        python = programs / "python"
        if not python.exists():
            python.symlink_to(sys.executable)
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_OUTPUT": str(outputs),
            "GITHUB_STEP_SUMMARY": str(summary),
            "ACTION_PATH": str(ROOT),
            "TASKS": "tasks.jsonl",
            "PACKETS": "packets.jsonl",
            "BASE_BUNDLE": "base",
            "BASE_REF": self.base,
            **more,
        }
        status, said = 0, ""
        for step in STEPS:
            done = subprocess.run(
                ["bash", str(ROOT / "action" / step)],
                cwd=self.folder,
                check=False,
                capture_output=True,
                text=True,
                env=environment,
            )
            status, said = done.returncode, said + done.stdout + done.stderr
            if status and step != STEPS[-1]:
                break
        pairs = [line.partition("=") for line in outputs.read_text("utf-8").splitlines()]
        return Run(
            status,
            {name: value for name, _, value in pairs},
            summary.read_text("utf-8"),
            said,
            self.temp / "wayproof",
        )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """The repository."""
    return Project(tmp_path)


def test_the_steps_are_those_of_the_action() -> None:
    """action.yml runs these scripts in this order, and puts no input into their text."""
    text = (ROOT / "action.yml").read_text("utf-8")
    runs = re.findall(r"^ +run: (.*)$", text, re.MULTILINE)
    assert re.findall(r"action/(\w+\.sh)", "\n".join(runs)) == STEPS
    assert not any("${{" in run for run in runs)


def test_a_pull_request_that_passes(project: Project) -> None:
    """Nothing changed: outputs, summary, JUnit, report and bundle are there."""
    ran = project.run(MEASURES="RR")
    assert ran.status == 0, ran.said
    assert ran.outputs["passed"] == "true"
    assert ran.outputs["new-debts"] == "0"
    assert "20 of 20 sufficient" in ran.summary
    names = {path.name for path in ran.folder.iterdir()}
    assert {"new", "report", "junit.xml", "compare.json", "compare.md"} <= names
    assert "::error" not in ran.said


def test_a_pull_request_that_fails(project: Project) -> None:
    """One task got worse: status 1, an annotation, the debt in the summary."""
    project.packets[3]["selected_artifacts"] = []
    project.write(GATES)
    project.commit()
    ran = project.run()
    assert ran.status == 1
    assert (ran.outputs["passed"], ran.outputs["new-debts"]) == ("false", "1")
    assert "::error title=fail-on new-sufficiency-debt::gate FAIL" in ran.said
    assert "t003" in ran.summary


def test_a_pull_request_that_edits_its_own_gates(project: Project) -> None:
    """The gates are the base's: lowering or removing them changes nothing."""
    project.packets[3]["selected_artifacts"] = []
    project.write('[gates]\nmin-sufficient = "1%"\n')
    project.commit()
    assert project.run().status == 1
    (project.folder / "wayproof.toml").unlink()
    project.commit()
    assert project.run().status == 1


def test_without_a_base(project: Project) -> None:
    """No base bundle: scored, gated by this revision's file, not compared."""
    ran = project.run(BASE_BUNDLE="", BASE_REF="")
    assert ran.status == 0, ran.said
    assert "new-debts" not in ran.outputs
    assert "gates: wayproof.toml of this revision" in ran.said


def test_unusable_input_stops_the_steps(project: Project) -> None:
    """Status 2 is no verdict of a gate."""
    assert project.run(PACKETS="nowhere.jsonl").status == 2


def test_annotations_escape() -> None:
    """No id starts a command of its own."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("annotate", ROOT / "action" / "annotate.py")
    assert spec is not None
    assert spec.loader is not None
    annotate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(annotate)
    hostile = "a%0A\r\n::error::x:,y"
    comparison: dict[str, Any] = {
        "gates": [{"state": "fail", "name": hostile, "line": hostile}],
        "queues": [
            {"new": 1, "debts": [{"change": "new", "debt_id": hostile, "after": "missing_id"}]}
        ],
    }
    lines = annotate.annotations(json.loads(json.dumps(comparison)))
    assert len(lines) == 2
    assert lines[0] == (
        "::error title=a%250A%0D%0A%3A%3Aerror%3A%3Ax%3A%2Cy::a%250A%0D%0A::error::x:,y"
    )
    assert not any("\n" in line or "\r" in line for line in lines)


def test_a_pull_request_cannot_empty_the_list_of_tasks_that_must_pass(tmp_path: Path) -> None:
    """Neither its own list nor a file with a pattern's name counts: the base's list does."""
    project = Project(tmp_path)
    ids = project.folder / "ids.txt"
    ids.write_text("t003\n", "utf-8")
    project.write('[gates]\nmust-pass = ["ids.txt", "t00[34]"]\n')
    project.base = project.commit()
    assert project.run().status == 0
    project.packets[3]["selected_artifacts"] = []
    ids.write_text("t001\n", "utf-8")
    (project.folder / "t00[34]").write_text("t001\n", "utf-8")
    project.write("")
    project.commit()
    ran = project.run()
    assert ran.status == 1
    assert ran.said.count("gate FAIL: must-pass") >= 2


def test_a_pull_request_cannot_bring_its_own_program(project: Project) -> None:
    """Modules in the revision's folder stay out: neither ours nor Python's is replaced."""
    project.packets[3]["selected_artifacts"] = []
    project.write(GATES)
    for name in ("wayproof/__init__.py", "wayproof/__main__.py", "json.py", "argparse.py"):
        path = project.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("import os\nos._exit(0)\n", "utf-8")
    project.commit()
    ran = project.run()
    assert ran.status == 1
    assert "::error title=fail-on new-sufficiency-debt::gate FAIL" in ran.said
    text = (ROOT / "action.yml").read_text("utf-8")
    assert not re.findall(r"python (?!-P )-m", text)


def test_the_action_twice_in_a_job(project: Project) -> None:
    """The second one's annotations are its own."""
    project.packets[3]["selected_artifacts"] = []
    project.write(GATES)
    project.commit()
    assert project.run().said.count("::error title=fail-on") == 1
    assert project.run().said.count("::error title=fail-on") == 1
    assert "::error" not in project.run(BASE_BUNDLE="").said

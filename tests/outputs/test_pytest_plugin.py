"""The pytest plugin, in a project made for the test and a pytest of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CASE = {
    "expected_status": "pass",
    "expected_summary": {"sufficiency_pass_count": 1},
    "expected_task_statuses": {"a": {"sufficiency_status": "pass"}},
    "benchmark": {
        "suite": "s",
        "cases": [
            {
                "task": {"task_id": "a", "expected_artifacts": ["x"]},
                "packet": {"selected_artifacts": ["x"]},
            }
        ],
    },
}


def _project(folder: Path, settings: str, cases: dict[str, Any]) -> Path:
    (folder / "cases").mkdir()
    (folder / "pytest.ini").write_text(f"[pytest]\n{settings}", "utf-8")
    for name, case in cases.items():
        (folder / "cases" / f"{name}.json").write_text(json.dumps(case), "utf-8")
    return folder


def _run(folder: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "wayproof.pytest_plugin"),
            *("-p", "no:cacheprovider", "-rA", *arguments),
        ],
        cwd=folder,
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""},
    )
    return done.returncode, done.stdout + done.stderr


def _failing() -> dict[str, Any]:
    return {**CASE, "expected_summary": {"sufficiency_pass_count": 2}}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Two cases, one of which fails, and a JSON file that is none."""
    (tmp_path / "other.json").write_text("[", "utf-8")
    return _project(tmp_path, "wayproof_cases = cases/*.json\n", {"good": CASE, "bad": _failing()})


def test_cases_are_items_and_fail_readably(project: Path) -> None:
    """One item a file; the failing one says expected and observed."""
    status, out = _run(project)
    assert status == 1
    assert "1 failed, 1 passed" in out
    assert "sufficiency_pass_count\n    - 2 (expected)\n    + 1 (observed)" in out
    assert "Traceback" not in out


def test_xdist_keywords_and_marks_work(project: Path) -> None:
    """-n, -k and -m choose as they do for any test."""
    assert "1 failed, 1 passed" in _run(project, "-p", "xdist", "-n", "2")[1]
    assert _run(project, "-k", "good")[0] == 0
    assert "2 deselected" in _run(project, "-m", "not wayproof")[1]
    assert "1 failed, 1 passed" in _run(project, "-m", "wayproof", "--strict-markers")[1]


def test_off_unless_configured(tmp_path: Path) -> None:
    """Without the setting no file is looked at."""
    status, out = _run(_project(tmp_path, "", {"bad": _failing()}))
    assert status == 5, out


def test_what_is_no_case_says_why(tmp_path: Path) -> None:
    """A broken file is one failing item with one sentence."""
    folder = _project(tmp_path, "wayproof_cases = cases/*.json\n", {"odd": {"benchmark": 3}})
    status, out = _run(folder)
    assert status == 1
    assert "odd.json: benchmark" in out


def test_the_fixture_scores(tmp_path: Path) -> None:
    """Rows or files in, summary, results and debts out."""
    (tmp_path / "test_one.py").write_text(
        "def test_one(wayproof_score):\n"
        "    tasks = [{'task_id': 'a', 'expected_artifacts': ['x']}]\n"
        "    scored = wayproof_score(tasks, [{'task_id': 'a', 'selected_artifacts': []}])\n"
        "    assert scored.summary['sufficiency_fail_count'] == 1\n"
        "    assert scored.results[0]['missing_expected_artifacts'] == ['x']\n"
        "    assert scored.debts[0]['debt_id'] == 'sufficiency:a'\n",
        "utf-8",
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\n", "utf-8")
    status, out = _run(tmp_path)
    assert status == 0, out

"""What is installed is what is here: the cases travel in the wheel."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

pytestmark = pytest.mark.slow


def test_an_installed_user_can_run_the_public_cases(tmp_path: Path) -> None:
    """`--builtin` works from a wheel, away from the source tree."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", tmp_path, ROOT],
        check=True,
    )
    (wheel,) = tmp_path.glob("wayproof-*.whl")
    target = tmp_path / "installed"
    subprocess.run(
        [*pip, "install", "--quiet", "--no-deps", "--no-compile", "--target", target, wheel],
        check=True,
    )
    assert (target / "wayproof" / "py.typed").is_file()
    script = (
        "import sys, wayproof\n"
        f"assert wayproof.__file__.startswith({str(target)!r}), wayproof.__file__\n"
        "from wayproof.cli import main\n"
        "sys.exit(main(['fitness', 'evaluate-fixtures', '--builtin', '--json']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(target)},
    )
    assert json.loads(done.stdout)["passed_case_count"] == 4

"""Shared fixtures: where the real data lies, and how to run the command line."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parents[1]

settings.register_profile(
    "repeatable",
    derandomize=True,  # the same examples on every machine: a red test is red for everybody
    deadline=None,  # a loaded machine is no defect of the code
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("repeatable")


class Ran(NamedTuple):
    """A finished command."""

    status: int
    out: str
    err: str


RunWayproof = Callable[..., Ran]


def run_wayproof(
    *arguments: str | Path,
    stdin: bytes | None = None,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
) -> Ran:
    """Run ``python -m wayproof`` as a user would, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "wayproof", *map(str, arguments)],
        check=False,
        capture_output=True,
        input=stdin,
        env={**os.environ, **(env or {})},
        cwd=cwd,
    )
    return Ran(
        done.returncode,
        done.stdout.decode("utf-8", "replace"),
        done.stderr.decode("utf-8", "replace"),
    )


@pytest.fixture
def wayproof() -> RunWayproof:
    """The command line."""
    return run_wayproof


@pytest.fixture
def wayproof_command() -> RunWayproof:
    """The command line, for tests that import the package under its own name."""
    return run_wayproof


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The real data beside the checkout; tests that need it say so where it is missing."""
    place = Path(os.environ.get("WAYPROOF_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not place.is_dir():
        pytest.skip(f"no real data at {place} (set WAYPROOF_SHARED_DATA)")
    return place


def write_lines(path: Path, rows: Sequence[Any]) -> Path:
    """Write JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path

"""Shared material: a 4 x 4 grid worked out by hand, and one official run."""

from pathlib import Path

import pytest

from recovery.material import WORKED
from wayproof.recovery.run import RunRequest, run_suite
from wayproof.recovery.suite import suite_path
from wayproof.recovery.tracks.v0 import LoadedGrid, load_grid


@pytest.fixture(scope="session")
def worked() -> LoadedGrid:
    """The grid that docs/recovery/certificate.md works out by hand."""
    return load_grid(WORKED)


@pytest.fixture(scope="session")
def official_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One reference run: 900 trials. Never written to by a test."""
    out = tmp_path_factory.mktemp("official") / "bundle"
    run_suite(RunRequest(suite_path("wfrb-v0")), out)
    return out

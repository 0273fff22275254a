"""Two fresh invocations, compared byte by byte.

Each is a new Python process with its own hash seed, locale and time zone, so that what
must not matter is made to differ.
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from wayproof.bundles.manifest import MANIFEST_NAME, digest_file, read_manifest
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.recovery_names import RESULTS_NAME

__all__ = ["Invocation", "first_different_file", "invoke"]

_CIRCUMSTANCES = (
    {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "UTC"},
    {"PYTHONHASHSEED": "2", "LC_ALL": "C.UTF-8", "TZ": "Pacific/Kiritimati"},
)


class Invocation(NamedTuple):
    """One run in a process of its own."""

    out: Path
    results_sha256: str
    duration_ms: int


def invoke(number: int, out: Path, command: Sequence[str]) -> Invocation:
    """Run a suite in a fresh process; ``number`` 0 or 1 picks what varies.

    Parameters
    ----------
    out
        The bundle that the run writes.
    command
        The program and its arguments.

    Raises
    ------
    InputError, IntegrityError
        When the run fails, with what it said and its own exit status.
    """
    done = subprocess.run(
        command,
        env=os.environ | _CIRCUMSTANCES[number],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode not in {0, 1}:
        error = IntegrityError if done.returncode == IntegrityError.exit_status else InputError
        raise error(f"invocation {number + 1} failed", found=done.stderr.strip()[-2000:])
    manifest = read_manifest(out)
    return Invocation(out, manifest.files[RESULTS_NAME].sha256, int(manifest.varies["duration_ms"]))


def first_different_file(first: Path, second: Path) -> str | None:
    """Name of the first evidence file whose bytes differ; the manifest may and does differ."""
    names = sorted({entry.name for folder in (first, second) for entry in folder.iterdir()})
    for name in names:
        if name == MANIFEST_NAME:
            continue
        pair = (first / name, second / name)
        if not all(path.is_file() for path in pair) or digest_file(pair[0]) != digest_file(pair[1]):
            return name
    return None

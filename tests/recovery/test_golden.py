"""Known answers: canonical bytes and digests that another implementation must give."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

from wayproof.canonical import canonical_bytes

GOLDEN = Path(__file__).parents[1] / "golden"
NAMES = (
    "digests.json",
    "results.jsonl",
    "streams.json",
    "suite.jsonl",
    "traces.jsonl",
    "verdicts.jsonl",
)


@pytest.fixture(scope="module")
def remake() -> ModuleType:
    spec = importlib.util.spec_from_file_location("remake", GOLDEN / "remake_recovery.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_known_answers_are_made_again(name: str, remake: ModuleType) -> None:
    """Byte for byte; `python tests/golden/remake_recovery.py` shows a difference."""
    assert remake.made()[name] == (GOLDEN / "recovery" / name).read_bytes()


def test_every_known_answer_is_compared(remake: ModuleType) -> None:
    """No file is kept that is not made, and none made that is not kept."""
    assert sorted(remake.made()) == list(NAMES)
    assert sorted(path.name for path in (GOLDEN / "recovery").iterdir()) == list(NAMES)


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(".jsonl")])
def test_kept_lines_are_canonical(name: str) -> None:
    """Each line is its own RFC 8785 form."""
    for line in (GOLDEN / "recovery" / name).read_bytes().splitlines():
        assert canonical_bytes(json.loads(line)) == line


def test_the_verdicts_cover_the_checks() -> None:
    """The vectors fail at six different checks and pass once."""
    lines = (GOLDEN / "recovery" / "verdicts.jsonl").read_bytes().splitlines()
    failed = {json.loads(line)["first_failed_check"] for line in lines}
    assert failed >= {
        None,
        "prefix_valid",
        "injection_rejected",
        "state_unchanged",
        "transitions_valid",
        "finished_at_target",
        "cost_exact",
    }

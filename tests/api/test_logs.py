"""Packets from logs, from Python."""

from pathlib import Path
from typing import Any

import pytest

import wayproof

FIXTURES = Path(__file__).parents[1] / "capture" / "fixtures"
LOG = FIXTURES / "claude_code" / "listing_tiers.jsonl"


def test_captured_packets_are_scored() -> None:
    """From a log to a score in two calls."""
    found = wayproof.capture_logs(LOG)
    assert len(found.packets) == 1
    (packet,) = found.to_dicts()
    scored = wayproof.score(
        [{"task_id": packet["task_id"], "expected_artifacts": ["src/pack.py"]}], found.packets
    )
    assert scored.summary.task_count == 1
    assert scored.results[0].selected_artifacts == sorted(packet["selected_artifacts"])
    assert "<td>" in getattr(found, "_repr_html_")()  # noqa: B009


def test_a_folder_is_searched_and_what_is_left_out_is_said() -> None:
    """Folders give all their sessions; tasks without a session are named."""
    found = wayproof.capture_logs([FIXTURES / "codex", str(LOG)], tasks=["nobody"])
    assert found.packets == ()
    assert found.unmatched_tasks == ("nobody",)
    assert len(found.unmatched_sessions) > 3


def test_sessions_find_their_tasks_by_a_sidecar() -> None:
    """A dict of session ids goes before everything else."""
    (packet,) = wayproof.capture_logs(LOG).packets
    session = packet["source"]["session_id"]
    found = wayproof.capture_logs(LOG, tasks=["x", "y"], sidecar={session: "y"})
    assert [one["task_id"] for one in found.packets] == ["y"]


def test_settings_change_what_is_selected() -> None:
    """``select`` and ``maps`` mean what the flags mean."""
    read = wayproof.capture_logs(LOG, select="read").packets[0]["selected_artifacts"]
    listed = wayproof.capture_logs(LOG, select="listed").packets[0]["selected_artifacts"]
    assert set(read) < set(listed)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"paths": 3}, "`paths`"),
        ({"paths": [3]}, "`paths`"),
        ({"paths": "/no/such/log"}, "/no/such/log"),
        ({"format": "nonsense"}, "`format`"),
        ({"select": "all"}, "`select`"),
        ({"wall": "clock"}, "`wall`"),
        ({"tasks": "one"}, "`tasks`"),
        ({"tasks": [1]}, "`tasks`"),
        ({"task_id_from": "prompt:("}, "`task_id_from`"),
        ({"sidecar": [1]}, "`sidecar`"),
        ({"maps": {"a": 1}}, "`maps`"),
        ({"repo_root": 3}, "`repo_root`"),
    ],
)
def test_what_cannot_be_used_is_named(settings: dict[str, Any], said: str) -> None:
    """Always an ``InputError`` with the argument's name."""
    with pytest.raises(wayproof.InputError) as raised:
        wayproof.capture_logs(**{"paths": LOG, **settings})
    assert str(raised.value).startswith(said)

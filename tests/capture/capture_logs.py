"""Helpers of the capture room's tests."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from wayproof.capture import PacketOptions, Problems, capture_logs
from wayproof.capture.ids import parse_map
from wayproof.capture.route.records import parse_until

FIXTURES = Path(__file__).parent / "fixtures"
REPOSITORY = Path(__file__).parents[2]


def shared_logs() -> Path:
    """Real logs lie beside the checkout, or where WAYPROOF_SHARED_DATA says."""
    given = os.environ.get("WAYPROOF_SHARED_DATA")
    return (Path(given) if given else REPOSITORY.parent / "shared" / "data") / "agent-logs"


@pytest.fixture
def real_logs() -> Path:
    """Skip, clearly, where the real logs are not at hand."""
    folder = shared_logs()
    if not folder.is_dir():
        pytest.skip(f"no real logs at {folder}; set WAYPROOF_SHARED_DATA")
    return folder


def packets_of(
    *names: str | Path,
    select: Any = "read",
    wall: Any = "native",
    root: str | None = None,
    maps: Sequence[str] = (),
    format_name: str | None = None,
    until: str = "edit",
    problems: Problems | None = None,
) -> list[dict[str, Any]]:
    """Capture fixtures (by name) or files (by path) and return their packets."""
    paths = [name if isinstance(name, Path) else FIXTURES / name for name in names]
    options = PacketOptions(repo_root=root, maps=tuple(parse_map(one) for one in maps), wall=wall)
    counted = problems if problems is not None else Problems()
    found = capture_logs(
        paths,
        problems=counted,
        format_name=format_name,
        tier=select,
        until=parse_until(until),
        options=options,
    )
    if problems is None:
        assert [str(one) for one in counted.named] == []
    return found.packets


def packet_of(name: str | Path, **options: Any) -> dict[str, Any]:
    """Capture a log of one session."""
    (packet,) = packets_of(name, **options)
    return packet


WriteLog = Callable[..., Path]


@pytest.fixture
def write_log(tmp_path: Path) -> WriteLog:
    """Write records (or raw lines) as JSON Lines and return the path."""

    def write(*records: Any, name: str = "log.jsonl", end: str = "\n") -> Path:
        path = tmp_path / name
        lines = [one if isinstance(one, str) else json.dumps(one) for one in records]
        path.write_text("".join(line + end for line in lines), encoding="utf-8")
        return path

    return write


def claude_line(kind: str, content: Any, number: int, **more: Any) -> dict[str, Any]:
    """One line of a Claude Code session."""
    return {
        "type": kind,
        "uuid": f"u-{number}",
        "sessionId": "s-1",
        "cwd": "/repo",
        "version": "2.0.0",
        "timestamp": f"2026-02-03T10:00:{number:02}.000Z",
        "message": {"role": kind, "content": content},
        **more,
    }


def claude_call(number: int, tool: str, arguments: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One tool call of a Claude Code session, named ``t<number>``."""
    block = {"type": "tool_use", "id": f"t{number}", "name": tool, "input": arguments}
    return claude_line("assistant", [block], number, **more)


def claude_result(number: int, call: int, content: Any = "ok", **more: Any) -> dict[str, Any]:
    """The result of call ``t<call>``."""
    block = {"type": "tool_result", "tool_use_id": f"t{call}", "content": content}
    if "is_error" in more:
        block["is_error"] = more.pop("is_error")
    return claude_line("user", [block], number, **more)

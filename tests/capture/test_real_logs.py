"""What the packets of real logs must say; every value was read off the logs by hand."""

from pathlib import Path

import pytest

from capture.capture_logs import packet_of, packets_of
from conftest import RunWayproof
from wayproof.capture import Problems
from wayproof.cli import main
from wayproof.errors import InputError


def test_three_globs(real_logs: Path) -> None:
    """First in call order, though its result came second; one batch, its longest 361 ms."""
    packet = packet_of(real_logs / "claude-code/v2.0.28_three_globs.jsonl")
    assert packet["first_contact_command"] == 'Glob {"pattern":"**/.markdownlint*"}'
    assert packet["wall_ms"] == 361
    assert packet["source"]["lines"]["first_contact"] == 3
    assert packet["source"]["lines"]["navigation"] == [3, 4, 5]
    # the file that it writes is new, so the route goes on to the answer
    assert packet["created_files"] == [".markdownlintrc.json"]
    assert (packet["cut_reason"], packet["elapsed_ms"]) == ("answer", 20796)
    written = packet_of(real_logs / "claude-code/v2.0.28_three_globs.jsonl", until="write")
    assert (written["elapsed_ms"], written["source"]["lines"]["cut"]) == (9225, 10)


def test_summaries_first(real_logs: Path) -> None:
    """Fifteen summaries, a TodoWrite that is no navigation, LS, then mkdir, and on to an edit."""
    log = real_logs / "claude-code/v1.0.24_summaries_first.jsonl"
    packet = packet_of(log)
    assert packet["first_contact_command"] == 'LS {"path":"/Users/dev/workspace/claude-code-log"}'
    lines = {"first_contact": 20, "navigation": [20, 28, 30], "cut": 33}
    assert packet["source"]["lines"] == lines
    assert packet["selected_artifacts"] == []
    listed = packet_of(log, select="listed")["selected_artifacts"]
    assert {"CHANGELOG.md", "CLAUDE.md"} <= set(listed)


def test_task_sub_agent(real_logs: Path) -> None:
    """All navigation is in the sub-agent's file, outside the session's cwd."""
    log = next((real_logs / "claude-code/v2.1.17_task_subagent").glob("*.jsonl"))
    packet = packet_of(log)
    assert packet["first_contact_command"] == (
        'find /workspace/claude-code-log -type f -name "*.md" | head -20'
    )
    assert packet["via"] == "subagent"
    assert packet["navigation_calls"] == 24
    expected = [
        "README.md", "CLAUDE.md", "pyproject.toml", "claude_code_log/models.py",
        "claude_code_log/cli.py", "claude_code_log/converter.py", "claude_code_log/renderer.py",
        "claude_code_log/html/renderer.py", "claude_code_log/cache.py",
        "dev-docs/rendering-architecture.md", "CONTRIBUTING.md",
        "claude_code_log/migrations/001_initial_schema.sql", "claude_code_log/tui.py",
    ]  # fmt: skip
    outside = [f"external:/workspace/claude-code-log/{name}" for name in expected]
    assert packet["selected_artifacts"] == outside
    rooted = packet_of(log, root="/workspace/claude-code-log")
    assert rooted["selected_artifacts"] == expected
    mapped = packet_of(log, maps=["/workspace/claude-code-log="])
    assert mapped["selected_artifacts"] == expected


def test_codex_exec(real_logs: Path) -> None:
    """No times in the log: absent, not 0."""
    packet = packet_of(real_logs / "codex/exec_json_v0.139_golden.jsonl")
    assert packet["first_contact_command"] == "sed -n '1,220p' README.md"
    assert packet["selected_artifacts"] == ["README.md", "hello.py"]
    assert packet["answer_artifacts"] == ["README.md", "hello.py"]
    assert "wall_ms" not in packet
    assert packet["cut_reason"] == "answer"


def test_codex_rollouts(real_logs: Path) -> None:
    """Times only inside payloads; a nested turn_context; a namespaced tool name."""
    packet = packet_of(real_logs / "codex/rollout_interleaved_compacted.jsonl")
    assert packet["first_contact_command"] == "git status"
    assert packet["selected_artifacts"] == ["README.md"]
    assert packet["elapsed_ms"] == 11_000
    modern = packet_of(real_logs / "codex/rollout_modern_synthetic.jsonl")
    assert modern["first_contact_command"] == "echo hi"


def test_mini_swe_agent(real_logs: Path) -> None:
    """The first cat fails; the first mutation is the sed -i before the heredoc."""
    log = real_logs / "mini-swe-agent/github_issue_bare_list.traj.json"
    packet = packet_of(log)
    assert packet["first_contact_command"] == (
        "cat /Users/dev/Documents/24/git_sync/swe-agent-test-repo/tests/./missing_colon.py"
    )
    assert packet["selected_artifacts"] == ["tests/missing_colon.py"]
    assert packet["cut_reason"] == "mutation"
    assert packet["source"]["lines"]["cut"] == 11


def test_swe_agent(real_logs: Path) -> None:
    """One run creates a file before it looks; the other finds, opens and edits."""
    first = packet_of(real_logs / "swe-agent/marshmallow-1867_function_calling.traj")
    assert first["first_contact_command"] is None
    assert first["first_contact_reason"] == "mutated_first"
    second = packet_of(real_logs / "swe-agent/test-repo-i1_old_state_string.traj")
    assert second["first_contact_command"] == 'find_file "missing_colon.py"'
    assert second["selected_artifacts"] == ["tests/missing_colon.py"]


def test_otlp(real_logs: Path) -> None:
    """get_file selects; both samples name one conversation, in two files."""
    first = packet_of(real_logs / "otlp/vs_copilot_sample-1.jsonl")
    assert first["selected_artifacts"] == ["src/App.cs"]
    assert first["wall_ms"] == 1000
    assert first["elapsed_ms"] == 3000
    assert first["cut_reason"] == "mutation"
    second = packet_of(real_logs / "otlp/vs_copilot_sample-2.jsonl")
    assert second["first_contact_command"] == 'code_search {"query":"class App"}'
    assert second["selected_artifacts"] == []
    with pytest.raises(InputError, match="1 spans passed over"):
        packets_of(real_logs / "otlp/otlp_envelope_example.json")


def test_inspect(real_logs: Path) -> None:
    """Tool results without their calls; four samples that call no tool."""
    errors = packet_of(real_logs / "inspect/tool_call_error_types.json")
    assert errors["first_contact_reason"] == "arguments_not_logged"
    assert errors["failed_calls"] == 10  # eleven results, one of them refused by approval
    assert errors["error"].startswith("output_limit: ")
    four = packets_of(real_logs / "inspect/log_streaming.eval")
    assert [one["source"]["session_id"] for one in four] == ["1", "1", "2", "2"]
    assert {one["first_contact_reason"] for one in four} == {"no_navigation"}


def test_openhands_and_gemini(real_logs: Path) -> None:
    """A leading assignment is dropped; an orphan observation is nobody's."""
    events = packet_of(real_logs / "openhands/v1_events.jsonl")
    assert events["first_contact_command"] == 'echo "SESSION_URL=${SESSION_URL}"'
    assert events["navigation_calls"] == 2
    chat = packet_of(real_logs / "gemini/session_tool_calls.json")
    assert chat["first_contact_command"] == 'read_file {"file_path":".planning/ONE-PAGER.md"}'
    assert chat["selected_artifacts"] == [".planning/ONE-PAGER.md"]


def test_trec(real_logs: Path) -> None:
    """The run's own order."""
    first, second = packets_of(real_logs / "trec/run.trec")
    assert first["selected_artifacts"] == ["d3", "d2", "d1"]
    assert second["selected_artifacts"] == ["d2", "d1"]


def test_adversarial_lines(real_logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Bad lines are counted and named; status 0, and 2 with --strict."""
    log = real_logs / "claude-code/adversarial_edge_cases.jsonl"
    problems = Problems()
    packets_of(log, problems=problems)
    assert [one.line for one in problems.named] == [10, 11, 13, 14, 15, 16, 18]
    assert main(["capture", str(log)]) == 0
    assert f"{log}:15: not an object" in capsys.readouterr().err
    assert main(["capture", str(log), "--strict"]) == 2


def test_from_logs_to_scores(wayproof: RunWayproof, real_logs: Path, tmp_path: Path) -> None:
    """Capture, draft, fill in, score: every number worked out by hand."""
    import json

    logs = [
        real_logs / "claude-code/v2.0.28_three_globs.jsonl",
        real_logs / "codex/exec_json_v0.139_golden.jsonl",
        real_logs / "otlp/vs_copilot_sample-1.jsonl",
    ]
    drafts, packets = tmp_path / "drafts.jsonl", tmp_path / "packets.jsonl"
    ran = wayproof("capture", *logs, "--draft-tasks", drafts, "--out", packets)
    assert ran.status == 0
    tasks = [json.loads(line) for line in drafts.read_text().splitlines()]
    globs, codex, copilot = tasks
    globs |= {"expected_artifacts": [".markdownlintrc.json"], "latency_budget_ms": 500}
    codex |= {"expected_artifacts": ["README.md"], "forbidden_first_routes": ["find "]}
    copilot |= {"expected_artifacts": ["src/App.cs", "src/*"], "scent_terms": ["app", "service"]}
    for task in tasks:
        del task["draft"]
    filled = tmp_path / "tasks.jsonl"
    filled.write_text("".join(json.dumps(task) + "\n" for task in tasks))
    scored = wayproof("fitness", "score", "--tasks", filled, "--packets", packets, "--json")
    assert scored.status == 0, scored.err
    summary = json.loads(scored.out)["summary"]
    # globs: 0 of 1 found, nothing selected (precision is vacuous), 361 ms of 500
    # codex: 1 of 1 found, 1 of 2 selected needed, unmeasured
    # copilot: 2 of 2 found, 1 of 1 selected needed, "service" is missing, 1000 ms of 1500
    assert summary["task_count"] == 3
    assert summary["mean_recall_at_packet"] == round((0 + 1 + 1) / 3, 6)
    assert summary["mean_precision_at_packet"] == round((0.5 + 1) / 2, 6)
    assert summary["mean_precision_at_packet_denominator"] == 2
    assert summary["mean_scent_coverage"] == 0.5
    assert summary["sufficiency_pass_count"] == 1
    assert summary["failure_kind_counts"]["missing_id"] == 1
    assert summary["failure_kind_counts"]["weak_scent"] == 1
    assert summary["latency_pass_count"] == 2
    assert summary["latency_unmeasured_count"] == 1
    assert summary["p50_wall_ms"] == 361
    assert summary["p95_wall_ms"] == 1000
    assert summary["first_contact_unknown_count"] == 0

"""Claude Code logs: each pitfall of the format has a log of its own."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from wayproof.capture import Problems, capture_logs

from capture.capture_logs import (  # isort: skip
    FIXTURES, WriteLog, claude_call, claude_line, claude_result, packet_of, packets_of,
)  # fmt: skip


def test_parallel_calls_pair_by_id_and_count_once() -> None:
    """Results come in completion order; a batch takes as long as its longest call."""
    packet = packet_of("claude_code/parallel_out_of_order.jsonl")
    assert packet["first_contact_command"] == 'Glob {"pattern":"**/config*"}'
    assert packet["wall_ms"] == 75 + 5
    assert packet["elapsed_ms"] == 7000
    assert packet["cut_reason"] == "answer"
    assert packet["source"]["lines"] == {"first_contact": 2, "navigation": [2, 3, 6], "cut": 8}


def test_answer_files_are_kept_apart() -> None:
    """What the answer names was not selected by looking."""
    packet = packet_of("claude_code/parallel_out_of_order.jsonl")
    assert packet["selected_artifacts"] == []
    assert packet["answer_artifacts"] == ["src/size.py", "config.toml"]


def test_tiers_are_cumulative() -> None:
    """Structured file lists come before text, and each tier adds to the one before."""
    name = "claude_code/parallel_out_of_order.jsonl"
    assert packet_of(name, select="matched")["selected_artifacts"] == ["src/size.py"]
    assert packet_of(name, select="listed")["selected_artifacts"] == ["config.toml", "src/size.py"]


def test_tiers_from_text() -> None:
    """Where a result has no structured fields, what the tools print is read."""
    name = "claude_code/listing_tiers.jsonl"
    read = ["src/pack.py"]
    matched = ["src/pack.py", "src/use.py"]
    listed = ["a.py", "src/b.py", "src/pack.py", "src/use.py", "docs/a.md", "docs/b.md"]
    assert packet_of(name)["selected_artifacts"] == read
    assert packet_of(name, select="matched")["selected_artifacts"] == matched
    assert packet_of(name, select="listed")["selected_artifacts"] == listed


def test_grep_content_mode_names_files_only_in_its_text() -> None:
    """In content mode the list of file names is empty although files matched."""
    packet = packet_of("claude_code/resumed_copy.jsonl", select="matched")
    assert packet["selected_artifacts"] == ["src/pack.py", "src/use.py"]


def test_injected_text_is_no_prompt() -> None:
    """The route starts at the first words a person typed; what came before is not in it."""
    packet = packet_of("claude_code/injected_prompts.jsonl")
    assert packet["first_contact_command"] == 'mcp__indexer__lookup {"k":3,"q":"shelves"}'
    assert packet["selected_artifacts"] == ["tests/test_shelf.py"]
    assert packet["selections"] == [
        {"artifact": "tests/test_shelf.py", "tier": "read", "lines": [11, 30], "line": 14}
    ]
    assert packet["source"]["lines"]["first_contact"] == 12
    assert packet["start_reason"] == "prompt"


def test_without_a_genuine_prompt_the_route_starts_with_the_log(write_log: WriteLog) -> None:
    """A session of slash commands only still has a route."""
    path = write_log(
        claude_line("user", "<command-name>/review</command-name>", 1),
        claude_call(2, "Read", {"file_path": "/repo/a.py"}),
        claude_result(3, 2),
    )
    packet = packet_of(path)
    assert packet["start_reason"] == "start_of_log"
    assert packet["selected_artifacts"] == ["a.py"]


def test_a_failed_call_is_first_contact_and_selects_nothing() -> None:
    """Failure doesn't move the first contact, and what failed selected nothing."""
    packet = packet_of("claude_code/failed_and_refused.jsonl")
    assert packet["first_contact_command"] == 'Read {"file_path":"/home/kim/shelf/lable.py"}'
    assert packet["selected_artifacts"] == []
    assert packet["failed_calls"] == 1


def test_no_match_is_no_failure() -> None:
    """grep's exit status 1 is an answer: the route went on and is no error."""
    packet = packet_of("claude_code/failed_and_refused.jsonl")
    assert packet["error"] is None
    assert packet["failed_calls"] == 1  # the Read alone


def test_a_refusal_is_no_error() -> None:
    """A person's no says nothing about the tool."""
    packet = packet_of("claude_code/refusal_is_no_error.jsonl")
    assert packet["error"] is None
    assert packet["timed_out"] is False
    assert "failed_calls" not in packet


def test_a_time_out_is_told_by_the_tools_phrase() -> None:
    """A route that ends in a time-out timed out."""
    packet = packet_of("claude_code/timed_out.jsonl")
    assert (packet["timed_out"], packet["error"]) == (True, None)


def test_a_call_without_a_result_is_unknown() -> None:
    """Neither failed nor measured nor a selection."""
    packet = packet_of("claude_code/no_result.jsonl")
    assert packet["error"] is None
    assert packet["selected_artifacts"] == []
    assert "wall_ms" not in packet
    assert packet["cut_reason"] == "end_of_log"


def test_mutating_first_leaves_no_first_contact() -> None:
    """An edit before any look: null, with the reason."""
    packet = packet_of("claude_code/mutated_first.jsonl")
    assert packet["first_contact_command"] is None
    assert packet["first_contact_reason"] == "mutated_first"
    assert packet["selected_artifacts"] == []


def test_a_resumed_log_repeats_its_history() -> None:
    """A line is told by its uuid, a call by its id; a copy adds nothing."""
    packet = packet_of("claude_code/resumed_copy.jsonl")
    assert packet["navigation_calls"] == 2
    assert packet["source"]["lines"]["navigation"] == [2, 7]


def test_a_copy_in_another_file_is_left_out(tmp_path: Path) -> None:
    """Two files of one history are one session."""
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    shutil.copy(FIXTURES / "claude_code/resumed_copy.jsonl", first)
    text = first.read_text().replace('"sessionId":"88888888-aaaa"', '"sessionId":"other"')
    second.write_text(text)
    assert len(packets_of(first, second)) == 1


def test_blocks_of_one_message_are_no_duplicates() -> None:
    """Several lines share a message id: each holds another block."""
    packet = packet_of("claude_code/parallel_out_of_order.jsonl")
    assert packet["navigation_calls"] == 3


def test_a_session_continued_under_a_new_id_is_one_session() -> None:
    """The first line of the new id hangs on a line of the old one."""
    packet = packet_of("claude_code/continued_under_new_id.jsonl")
    assert packet["source"]["session_id"] == "88888888-bbbb"
    assert packet["navigation_calls"] == 2
    assert packet["cut_reason"] == "mutation"


def test_two_sessions_in_one_file() -> None:
    """Interleaved sessions are told apart by their id."""
    first, second = packets_of("claude_code/two_sessions.jsonl")
    assert first["selected_artifacts"] == ["a.py"]
    assert second["selected_artifacts"] == ["b.py"]


def test_inline_sidechain() -> None:
    """Old logs hold the sub-agent's lines between the call and its result."""
    packet = packet_of("claude_code/inline_sidechain.jsonl")
    assert packet["first_contact_command"] == "ls *.py"
    assert packet["command_used"] == "cd src && ls *.py"
    assert packet["via"] == "subagent"
    assert packet["selected_artifacts"] == ["src/a.py"]
    assert packet["cut_reason"] == "mutation"


def test_sub_agents_in_files_of_their_own() -> None:
    """Each call stands for its own agent's calls, in call order, not in the order of results."""
    packet = packet_of("claude_code/with_agents/bbbbbbbb-aaaa.jsonl")
    assert packet["first_contact_command"] == 'Read {"file_path":"/home/kim/shelf/docs/guide.md"}'
    assert packet["selected_artifacts"] == ["docs/guide.md", "tests/test_a.py"]
    assert packet["via"] == "subagent"
    assert packet["source"]["first_contact_file"].endswith("subagents/agent-b1.jsonl")


def test_a_sub_agents_file_beside_its_parent_is_no_session() -> None:
    """A shell's ``**/*.jsonl`` gives both; the child is part of the parent."""
    folder = FIXTURES / "claude_code/with_agents"
    files = sorted(folder.rglob("*.jsonl"))
    assert len(files) == 3
    assert len(packets_of(*files)) == 1


def test_a_sub_agents_file_alone_is_a_session() -> None:
    """Without its parent it is read for itself."""
    packet = packet_of("claude_code/with_agents/bbbbbbbb-aaaa/subagents/agent-b2.jsonl")
    assert packet["source"]["session_id"] == "bbbbbbbb-aaaa/b2"
    assert packet["selected_artifacts"] == ["tests/test_a.py"]
    assert "via" not in packet


def test_a_sub_agent_that_is_not_logged_leaves_null() -> None:
    """Never a guess: the next call is not taken for the first."""
    packet = packet_of("claude_code/agent_not_logged.jsonl")
    assert packet["first_contact_command"] is None
    assert packet["first_contact_reason"] == "subagent_not_logged"
    assert packet["selected_artifacts"] == ["a.py"]
    assert "wall_ms" not in packet


def test_stream_json() -> None:
    """``claude -p`` has no prompt; children are named by the call; the result line can fail."""
    packet = packet_of("claude_code/stream_json.jsonl")
    assert packet["first_contact_command"] == "rg -n shelf"
    assert packet["command_used"] == "bash -lc 'rg -n shelf'"
    assert packet["selected_artifacts"] == ["src/a.py"]
    assert packet["error"] == "error_max_turns"
    assert packet["start_reason"] == "start_of_log"
    assert packet["source"]["agent_version"] == "2.1.3"


def test_an_api_error_ends_the_route_as_an_error() -> None:
    """The agent's last words were not its own."""
    packet = packet_of("claude_code/api_error.jsonl")
    assert packet["error"] == "API Error: 529 Overloaded"
    assert packet["cut_reason"] == "end_of_log"


def test_shell_folders() -> None:
    """cd inside a command, the line's own cwd and git -C resolve paths; errors unselect."""
    packet = packet_of("claude_code/shell_folders.jsonl")
    assert packet["first_contact_command"] == "sed -n '5,9p' a.py | head -3"
    assert packet["selected_artifacts"] == [
        "src/a.py", "README.md", "docs/old.md", "b.py", "deep/lib/x.py", "deep/lib/y.py",
    ]  # fmt: skip
    assert packet["selections"][0]["lines"] == [5, 9]
    assert packet["cut_reason"] == "end_of_log"  # the last call makes a new file
    assert packet["created_files"] == ["new.py"]


def test_windows_paths() -> None:
    """Backslashes are slashes; another drive is outside."""
    packet = packet_of("claude_code/windows_paths.jsonl")
    assert packet["selected_artifacts"] == ["src/App.cs", "external:D:/other/B.cs"]


def test_repo_root_and_map_move_the_root() -> None:
    """The flag goes before the log's cwd; a map before both."""
    name = "claude_code/shell_folders.jsonl"
    rooted = packet_of(name, root="/home/kim/shelf/src")["selected_artifacts"]
    assert rooted[:2] == ["a.py", "external:/home/kim/shelf/README.md"]
    mapped = packet_of(name, maps=["/home/kim/shelf/src=lib"])["selected_artifacts"]
    assert mapped[:2] == ["lib/a.py", "README.md"]


def test_odd_times() -> None:
    """Seconds, milliseconds, naive or missing: file order rules, elapsed is their difference."""
    packet = packet_of("claude_code/odd_times.jsonl")
    assert packet["elapsed_ms"] == 5250
    assert packet["selected_artifacts"] == ["a.py"]


def test_times_never_reorder(write_log: WriteLog) -> None:
    """A call that claims to be earlier is still the second."""
    path = write_log(
        claude_line("user", "go", 30),
        claude_call(40, "Read", {"file_path": "/repo/first.py"}),
        claude_call(35, "Read", {"file_path": "/repo/second.py"}),
        claude_result(42, 35),
        claude_result(41, 40),
    )
    packet = packet_of(path)
    assert packet["first_contact_command"] == 'Read {"file_path":"/repo/first.py"}'
    assert packet["selected_artifacts"] == ["first.py", "second.py"]


def test_wall_is_absent_unless_every_call_was_measured(write_log: WriteLog) -> None:
    """Unmeasured time never passes for fast: what was measured is said, and no more."""
    path = write_log(
        claude_line("user", "go", 1),
        claude_call(2, "Glob", {"pattern": "*"}),
        claude_result(3, 2, toolUseResult={"filenames": [], "durationMs": 12}),
        claude_call(4, "Read", {"file_path": "/repo/a.py"}),
        claude_result(5, 4),
    )
    packet = packet_of(path)
    assert "wall_ms" not in packet
    assert packet["wall_measured_ms"] == 12
    assert packet["wall_unmeasured_calls"] == 1


def test_wall_elapsed_is_marked(write_log: WriteLog) -> None:
    """Timestamps include the model's and people's time, and the packet says so."""
    path = write_log(
        claude_line("user", "go", 1),
        claude_call(4, "Read", {"file_path": "/repo/a.py"}),
        claude_result(5, 4),
        claude_call(9, "Edit", {"file_path": "/repo/a.py"}),
    )
    packet = packet_of(path, wall="elapsed")
    assert packet["wall_ms"] == packet["elapsed_ms"] == 8000
    assert packet["includes_wait"] is True


def test_lines_that_say_nothing_are_skipped() -> None:
    """Summaries, snapshots, progress and their like are no events and no bad lines."""
    problems = Problems()
    (packet,) = packets_of("claude_code/injected_prompts.jsonl", problems=problems)
    assert problems.count == 0
    assert packet["cut_reason"] == "answer"


def test_results_of_every_shape(write_log: WriteLog) -> None:
    """Text, blocks, a string beside it, no is_error: all of them are results."""
    path = write_log(
        claude_line("user", [{"type": "text", "text": "go"}], 1),
        claude_call(2, "Read", {"file_path": "/repo/a.py"}),
        claude_result(3, 2, [{"type": "text", "text": "x"}], toolUseResult="x"),
        claude_call(4, "Read", {"file_path": "/repo/b.py"}),
        claude_result(5, 4, [], toolUseResult={"type": "image", "file": {"base64": "AA"}}),
        claude_call(6, "Read", {"file_path": "/repo/c.py"}),
        claude_result(7, 6, "boom", is_error=True, toolUseResult="Error: boom"),
    )
    packet = packet_of(path)
    assert packet["selected_artifacts"] == ["a.py", "b.py"]
    assert packet["error"] == "boom"


def test_a_side_chain_in_fragments() -> None:
    """No prompt, no agent id on the lines that matter: there is only one it can be."""
    packet = packet_of("claude_code/sidechain_fragments.jsonl")
    assert packet["first_contact_command"] == 'Grep {"pattern":"colour"}'
    assert packet["via"] == "subagent"
    assert packet["start_reason"] == "start_of_log"


def test_agents_named_in_text_and_workflows() -> None:
    """An id only in the result's text; a workflow that ran two agents."""
    packet = packet_of("claude_code/agent_in_text/17171717-aaaa.jsonl")
    assert packet["selected_artifacts"] == ["web.py", "flow_a.py", "flow_b.py"]
    assert packet["first_contact_command"] == 'Read {"file_path":"/home/kim/shelf/web.py"}'


@pytest.mark.parametrize("rewritten", [True, False])
def test_the_original_is_kept_and_not_its_resumed_copy(
    write_log: WriteLog, *, rewritten: bool
) -> None:
    """Whatever the order of files: the one whose name its records carry, else the shorter."""
    lines = [
        claude_line("user", "mend it", 1, sessionId="old"),
        claude_call(2, "Bash", {"command": "rg foo"}, sessionId="old"),
        claude_call(3, "Edit", {"file_path": "/repo/a.py"}, sessionId="old"),
    ]
    copied = [line | {"sessionId": "new"} for line in lines] if rewritten else lines
    old = write_log(*lines, name="old.jsonl")
    new = write_log(
        *copied,
        claude_line("user", "go on", 4, sessionId="new", parentUuid="u-3"),
        name="new.jsonl",
    )
    for files in ((old, new), (new, old)):
        (packet,) = packets_of(*files)
        assert packet["source"]["file"] == str(old)
        assert packet["source"]["session_id"] == "old"


@pytest.mark.parametrize(
    "odd", [7, True, [{"type": "text", "text": "x"}], "text", None, {"filenames": "a.py"},
            {"durationMs": "5"}, {"file": "a.py"}]
)  # fmt: skip
def test_a_result_of_no_known_shape_spoils_nothing(write_log: WriteLog, odd: object) -> None:
    """The line is read without it, and nothing is said to be wrong with the log."""
    result = claude_result(2, 1, "text") | {"toolUseResult": odd}
    log = write_log(
        claude_line("user", "look", 0), claude_call(1, "Read", {"file_path": "/repo/a.py"}), result
    )
    packet = packet_of(log)
    assert packet["selected_artifacts"] == ["a.py"]
    assert packet["cut_reason"] == "end_of_log"
    assert packet["source"]["lines"]["cut"] == 3


def test_a_line_that_is_wrong_elsewhere_is_named(write_log: WriteLog) -> None:
    """The second look at a line is for results only."""
    problems = Problems()
    wrong = claude_result(2, 1, "text") | {"uuid": 5, "toolUseResult": 7}
    (packet,) = packets_of(write_log(claude_line("user", "look", 0), wrong), problems=problems)
    assert packet["source"]["lines"]["cut"] == 1
    assert [one.line for one in problems.named] == [2]


def test_a_sub_agents_file_is_read_with_its_parent_and_not_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its reason is that it belongs to a session, whichever of the two comes first."""
    opened: list[str] = []
    plain_open = Path.open

    def counting(self: Path, *args: Any, **more: Any) -> Any:
        opened.append(self.name)
        return plain_open(self, *args, **more)

    monkeypatch.setattr(Path, "open", counting)
    found = capture_logs([FIXTURES / "claude_code/with_agents"])
    agents = [name for name in opened if name.startswith("agent-") and name.endswith(".jsonl")]
    assert agents
    assert len(set(agents)) == len(agents)
    said = [text for text in found.left_out if "subagents/agent-" in text]
    assert len(said) == len(agents)
    assert all("a sub-agent of session bbbbbbbb-aaaa" in text for text in said)

"""Tasks without typing: suggestions from what sessions edited and from what commits changed."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from capture.capture_logs import WriteLog, claude_call, claude_line, claude_result
from conftest import RunWayproof
from wayproof.capture import capture_logs
from wayproof.capture.advice import better_root, only_elapsed
from wayproof.capture.from_git import commits_of, drafts_from_git, prompt_of
from wayproof.cli import main
from wayproof.errors import InputError


def step(number: int, tool: str, arguments: dict[str, Any], **more: Any) -> list[dict[str, Any]]:
    return [claude_call(number, tool, arguments), claude_result(number + 1, number, **more)]


def session(write_log: WriteLog) -> Path:
    """It looks, makes a scratch file, edits two files and fails to edit a third."""
    edit = {"old_string": "a", "new_string": "b"}
    return write_log(
        claude_line("user", "mend it", 0),
        *step(1, "Read", {"file_path": "/repo/src/a.py"}),
        *step(3, "Bash", {"command": "echo x > try.py"}),
        *step(5, "Edit", {"file_path": "/repo/src/a.py", **edit}),
        *step(7, "Edit", {"file_path": "/repo/try.py", **edit}),
        *step(9, "Bash", {"command": "sed -i s/a/b/ docs/b.md && rm /tmp/x"}),
        *step(11, "Edit", {"file_path": "/repo/src/c.py", **edit}, is_error=True),
        *step(13, "Edit", {"file_path": "/elsewhere/d.py", **edit}),
        *step(15, "Edit", {"file_path": "/repo/src/a.py", **edit}),
    )


def test_what_a_session_edited_is_noted_to_its_end(write_log: WriteLog) -> None:
    """Accepted edits in order, once each; its own files, failures and other trees are left out."""
    (one,) = capture_logs([session(write_log)], edits=True).sessions
    assert one.edited == ("src/a.py", "docs/b.md")
    (plain,) = capture_logs([session(write_log)]).sessions
    assert plain.edited == ()
    assert plain.packet == one.packet


def drafts(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_draft_suggests_and_a_person_confirms(
    write_log: WriteLog, wayproof: RunWayproof, tmp_path: Path
) -> None:
    """Suggested, it stays a draft; accepted, it is a task that says where its ids are from."""
    log, tasks, packets = session(write_log), tmp_path / "t.jsonl", tmp_path / "p.jsonl"
    assert wayproof("capture", log, "--draft-tasks", tasks, "--out", packets).status == 0
    (draft,) = drafts(tasks)
    assert draft["draft"] is True
    assert draft["suggested_artifacts"] == ["src/a.py", "docs/b.md"]
    assert draft["expected_artifacts"] == []
    assert "may be more than it must" in draft["_comment"]
    assert "latency_budget_ms" not in draft  # nothing was measured
    asked = ("capture", log, "--draft-tasks", tasks, "--accept-suggestions", "--out", packets)
    assert wayproof(*asked).status == 0
    (task,) = drafts(tasks)
    assert (task["expected_artifacts"], task["expected_from"]) == (
        ["src/a.py", "docs/b.md"],
        "session_edits",
    )
    assert "draft" not in task
    scored = wayproof("fitness", "score", "--tasks", tasks, "--packets", packets, "--json")
    assert scored.status == 0, scored.err
    document = json.loads(scored.out)
    assert document["summary"]["mean_recall_at_packet"] == 0.5
    assert document["expected_from"] == {"session_edits": 1}
    shown = wayproof("fitness", "score", "--tasks", tasks, "--packets", packets).out
    assert "expected_from session_edits: 1 task; not by a person" in shown
    assert "passed over" not in shown
    tasks.write_text(tasks.read_text("utf-8").replace("session_edits", ""))
    shown = wayproof("fitness", "score", "--tasks", tasks, "--packets", packets).out
    assert "expected_from" not in shown


def test_only_sessions_that_ask_something_are_drafted(
    write_log: WriteLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Warm-ups are counted by reason, not one by one, and no draft is made of them."""
    session(write_log)
    for number in range(7):
        write_log(claude_line("user", "Warmup", 0, sessionId=f"w{number}"), name=f"w{number}.jsonl")
    tasks = tmp_path.parent / f"{tmp_path.name}-tasks.jsonl"
    assert main(["capture", str(tmp_path), "--draft-tasks", str(tasks), "--out", "/dev/null"]) == 0
    assert [one["task_id"] for one in drafts(tasks)] == ["s-1"]
    assert "left out: 7 × asks nothing and calls nothing" in capsys.readouterr().err


def test_what_would_make_packets_better_is_said(
    write_log: WriteLog, capsys: pytest.CaptureFixture[str]
) -> None:
    """A root that holds nearly all ids, and the clock where no log measured time."""
    names = ["a.py", "src/b.py", "src/c.py"]
    reads = [
        step(1 + 2 * at, "Read", {"file_path": f"/w/app/{one}"}) for at, one in enumerate(names)
    ]
    log = write_log(claude_line("user", "look", 0), *(line for pair in reads for line in pair))
    assert main(["capture", str(log), "--out", "/dev/null"]) == 0
    said = capsys.readouterr().err
    assert "--repo-root /w/app would hold them" in said
    assert "--wall elapsed" in said
    assert main(["capture", str(log), "--repo-root", "/w/app", "--out", "/dev/null"]) == 0
    assert "--repo-root" not in capsys.readouterr().err


def test_advice_needs_a_reason() -> None:
    """Some ids inside, few ids, or no common folder: nothing is said."""

    def packet(*ids: str, **more: Any) -> dict[str, Any]:
        return {"selected_artifacts": list(ids), **more}

    outside = [f"external:/w/app/{name}.py" for name in "abcd"]
    assert better_root([packet(*outside)]) == "/w/app"
    assert better_root([packet(*outside, "x.py")]) == "/w/app"
    assert better_root([packet(*outside[:3], "x.py", "y.py")]) is None
    assert better_root([packet(*outside[:2])]) is None
    assert better_root([packet("external:/a/x", "external:/b/y", "external:/c/z")]) is None
    assert only_elapsed([packet(elapsed_ms=5)])
    assert not only_elapsed([packet(elapsed_ms=5), packet(wall_ms=5)])
    assert not only_elapsed([packet(elapsed_ms=5, wall_measured_ms=5)])
    assert not only_elapsed([packet()])


# -- tasks from a repository's history ------------------------------------------------------


def git(repo: Path, *arguments: str) -> str:
    named = (
        "-c",
        "user.name=Kim",
        "-c",
        "user.email=kim@example.com",
        "-c",
        "commit.gpgsign=false",
    )
    done = subprocess.run(
        ["git", "-C", str(repo), *named, *arguments], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A repository with a rename, a test, a lock file, a revert, a merge and a wide change."""
    repo = tmp_path / "shelf"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")

    def commit(message: str, **files: str) -> None:
        for name, text in files.items():
            path = repo / name.replace("__", "/").replace("_DOT_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        git(repo, "add", "-A")
        git(repo, "commit", "-q", "--allow-empty", "-m", message)

    body = "".join(f"line {number}\n" for number in range(30))
    commit("Begin", src__a_DOT_py=body, tests__test_a_DOT_py="x", uv_DOT_lock="1")
    commit("Only new files", src__n_DOT_py="n")
    commit(
        "Count lines once (#12)\n\nFixes #12\n\nSigned-off-by: Kim <kim@example.com>",
        src__a_DOT_py=body + "more\n", tests__test_a_DOT_py="y", uv_DOT_lock="2",
    )  # fmt: skip
    git(repo, "mv", "src/a.py", "src/lines.py")
    git(repo, "commit", "-q", "-m", "Name the module by what it does")
    commit('Revert "Count lines once"', src__lines_DOT_py=body)
    git(repo, "checkout", "-q", "-b", "side")
    commit("On the side", src__n_DOT_py="side")
    git(repo, "checkout", "-q", "main")
    git(repo, "merge", "-q", "--no-ff", "-m", "Merge side", "side")
    commit("Wide", **{f"src__w{number}_DOT_py": "1" for number in range(7)})
    commit("Wide again", **{f"src__w{number}_DOT_py": "2" for number in range(7)})
    return repo


def test_drafts_from_a_history(history: Path) -> None:
    """One a commit: prompt, suggestions, tests apart, and the parent to stand on."""
    found = drafts_from_git(history)
    said = [(one["task_prompt"], one["suggested_artifacts"]) for one in found]
    assert said == [
        ("Count lines once", ["src/a.py"]),
        ("Name the module by what it does", ["src/a.py"]),
        ("On the side", ["src/n.py"]),
    ]
    first = found[0]
    assert first["suggested_tests"] == ["tests/test_a.py"]
    assert first["family"] == "shelf"
    assert first["draft"] is True
    assert first["expected_artifacts"] == []
    assert git(history, "show", f"{first['repo_revision']}:src/a.py").endswith("line 29")
    assert drafts_from_git(history) == found
    wide = drafts_from_git(history, max_files=7)
    assert wide[-1]["task_prompt"] == "Wide again"
    since = git(history, "rev-parse", "HEAD~2")
    assert drafts_from_git(history, since=since, max_files=7)[-1]["task_prompt"] == "Wide again"


def test_the_command_writes_drafts(history: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On stdout, one a line."""
    assert main(["tasks", "from-git", "--repo", str(history)]) == 0
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 3
    assert captured.err.startswith("3 drafts;")


def test_a_history_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """No repository, no such revision, and no option in the place of one."""
    with pytest.raises(InputError, match="git can't read this history"):
        drafts_from_git(tmp_path)
    with pytest.raises(InputError, match="not a revision"):
        list(commits_of(tmp_path, since="--output=x"))


def test_a_repository_runs_nothing_of_its_own(history: Path, tmp_path: Path) -> None:
    """Its configuration may name programs; none is started."""
    victim = tmp_path / "ran"
    program = tmp_path / "program.sh"
    program.write_text(f"#!/bin/sh\ntouch {victim}\n")
    program.chmod(0o755)
    for key in ("diff.external", "core.fsmonitor", "core.pager", "diff.x.textconv"):
        git(history, "config", key, str(program))
    (history / ".git/info/attributes").write_text("*.py diff=x\n")
    assert len(drafts_from_git(history)) == 3
    assert not victim.exists()


PROMPTS = [
    ("Mend it (#12)", "Mend it"),
    ("Mend it\n\nCloses #3, #4", "Mend it"),
    ("Mend it\n\nCo-authored-by: A <a@example.com>\nSigned-off-by: B <b@example.com>", "Mend it"),
    ("fixes #9: a total", "a total"),
    ("[ABC-12] Mend it", "Mend it"),
    ("Mend it\n\nBecause of rounding.\n\nReviewed-by: C", "Mend it\n\nBecause of rounding."),
    ("Use C# and item #3 of the list", "Use C# and item of the list"),
    ("Signed-off-by: only", ""),
    ("Bug: the total is lost", "Bug: the total is lost"),
    ("Mend it\n\nSee: the manual, page 3", "Mend it\n\nSee: the manual, page 3"),
    ("Mend it\n\nBug: 1234\nFixes: 0123abcd (a total)\nCc: A <a@example.com>", "Mend it"),
    ("Mend it\n\nIt was off. Follow-up to #7.", "Mend it\n\nIt was off."),
    ("Mend it (#5)\n\n* Mend it\n\n* And test it\n\n---------\n\nCo-authored-by: A <a@b.c>",
     "Mend it\n\n* And test it"),
    ("Mend it\n\n\N{ROBOT FACE} Generated with [A Tool](https://example.com)", "Mend it"),
    ("Mend it\n\nAgent-Logs-Url: https://example.com/1", "Mend it"),
    ("Raise it\n\n<details>\n<ul>all of it</ul>\n</details>\n<br />\n\n![badge](https://x.io/b)",
     "Raise it"),
    ("Raise it\n\n---\nupdated-dependencies:\n- dependency-name: a\n...", "Raise it"),
    ("Mend it\n\nIt was lost in #7. Found by PR #8.", "Mend it\n\nIt was lost. Found."),
    ("Mend it\n\nTool-Session: 0f\n  Signed-off-by: A <a@example.com>", "Mend it"),
    ("Table\n\na\n---\nb", "Table\n\na\n---\nb"),
]  # fmt: skip


@pytest.mark.parametrize(("message", "prompt"), PROMPTS)
def test_a_prompt_is_the_message_without_its_machinery(message: str, prompt: str) -> None:
    """Trailers, issue numbers and signatures say nothing of the task."""
    assert prompt_of(message) == prompt


@pytest.mark.parametrize(
    "message",
    ['revert "A"', "revert(cli): a", "Back out the total", "Reapply a", "Merge branch 'x' into y",
     "Merge pull request #3 from a/b", "Undo\n\nThis reverts commit 0123456."],
)  # fmt: skip
def test_reverts_and_rebased_merges_make_no_draft(history: Path, message: str) -> None:
    """However they are spelt; a merge that was rebased has one parent like any commit."""
    known = drafts_from_git(history)
    (history / "src/n.py").write_text("again")
    git(history, "commit", "-q", "-a", "-m", message)
    assert drafts_from_git(history) == known
    git(history, "commit", "-q", "--amend", "-m", "Merge rows of the table, revert nothing")
    assert len(drafts_from_git(history)) == len(known) + 1


@pytest.mark.parametrize(
    ("path", "where"),
    [("web/dist/a.js", None), ("a/generated/rpc.py", None), ("bun.lockb", None), ("a_pb2.py", None),
     ("npm-shrinkwrap.json", None), ("go/e2e/a.go", "suggested_tests"),
     ("src/generate.py", "suggested_artifacts"), ("src/contest.py", "suggested_artifacts")],
)  # fmt: skip
def test_what_is_left_out_and_what_is_a_test(history: Path, path: str, where: str | None) -> None:
    """Vendored, generated and lock files are no suggestion; tests stand apart."""
    file = history / path
    file.parent.mkdir(parents=True, exist_ok=True)
    for text in ("1", "2"):
        file.write_text(text)
        (history / "src/n.py").write_text(text)
        git(history, "add", "-A")
        git(history, "commit", "-q", "-m", "Change")
    last = drafts_from_git(history)[-1]
    found = [key for key in ("suggested_artifacts", "suggested_tests") if path in last[key]]
    assert found == ([] if where is None else [where])


def test_the_name_is_the_origins(history: Path, tmp_path: Path) -> None:
    """A clone's folder, a bare clone and a working tree beside it give the same family."""
    clone, bare, beside = tmp_path / "elsewhere", tmp_path / "repo", tmp_path / "beside"
    git(history, "clone", "-q", str(history), str(clone))
    git(history, "clone", "-q", "--bare", str(history), str(bare))
    git(history, "worktree", "add", "-q", "--detach", str(beside))
    expected = drafts_from_git(history)
    assert [drafts_from_git(one) for one in (clone, bare, beside)] == [expected] * 3
    git(clone, "remote", "set-url", "origin", "git@example.com:kim/rack.git")
    assert {one["family"] for one in drafts_from_git(clone)} == {"rack"}


def test_a_users_configuration_changes_no_draft(history: Path, tmp_path: Path) -> None:
    """Order, renames, encoding: what git's settings could change is given with the call."""
    expected = drafts_from_git(history, max_files=9)
    order = tmp_path / "order"
    order.write_text("*w6*\n*w5*\n")
    for key, value in {
        "diff.orderFile": str(order), "diff.renames": "false", "diff.renameLimit": "1",
        "diff.relative": "true", "i18n.logOutputEncoding": "UTF-16",
    }.items():  # fmt: skip
        git(history, "config", key, value)
    assert drafts_from_git(history, max_files=9) == expected
    assert drafts_from_git(history / "src", max_files=9) == expected

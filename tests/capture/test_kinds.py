"""Every call is exactly one of six kinds, and what ends a route is an edit of what existed."""

from typing import Any

import pytest

from wayproof.capture import PacketOptions
from wayproof.capture.packet import make_packet
from wayproof.capture.route import Until
from wayproof.capture.route.call import read_call
from wayproof.capture.route.cutter import RouteCutter
from wayproof.capture.route.files import Files
from wayproof.capture.route.kinds import Verdict, judged
from wayproof.capture.session import (
    Answer,
    Call,
    Event,
    Named,
    Outcome,
    Prompt,
    Result,
    SessionInfo,
)
from wayproof.capture.sessions import Session


def verdict_of(command: str, *, tool: str = "bash", cwd: str = "/repo") -> Verdict:
    """What a command is at the beginning of a session."""
    info = SessionInfo(key="k", cwd=cwd)
    call = Call(call_id="c", tool=tool, arguments={"command": command}, line=1)
    return judged(read_call(call, cwd), Files(info))


EDITS = [
    "sed -i s/a/b/ f", "sed -i.bak -e s/a/b/ f", "perl -pi -e 's/a/b/' f", "rm -rf build", "mv a b",
    "git apply p.diff", "sudo rm f", "find . -name x -delete", "find . -exec rm {} \\;",
    "apply_patch <<'EOF'\nx\nEOF", "echo $(rm f)", "(unclosed; rm f", "gawk -i inplace 1 f",
    "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch\nEOF",
    # a shell's script counts wherever the shell stands
    "timeout 30 bash -lc 'sed -i s/a/b/ x.py'", "sudo bash -c 'rm x'", "bash -lc 'rm x' | tail -1",
    "sudo -u kim -- bash -c 'rm x'", "if true; then bash -c 'rm x'; fi", "env A=1 sh -c 'rm x'",
    "bash -euo pipefail -c 'rm x'", "env A=$B sh -c 'rm x'", "nice -n 5 bash -c 'rm x'",
    "nohup bash -c 'rm x' &", "ls | xargs -I{} sh -c 'rm {}'", "bash -c 'bash -c \"rm x\"'",
    "find . -exec sh -c 'rm \"$1\"' _ {} \\;", "echo $(bash -c 'rm x')", "! bash -c 'rm x'",
    "docker exec -it box bash -lc 'rm x'", 'bash -lc "cd $DIR && rm x"', "bash -c -e 'rm x'",
    "cd x && timeout 5 bash -c 'rm x' || true", "for f in a; do bash -c 'rm x'; done",
    "perl -i.bak -pe s/a/b/ f", "perl -0777 -pi -e s/a/b/ f", "perl -pe s/a/b/ -i f",
    "ruby -pi -e 'x' f", "sed -nEi s/a/b/ f", "rm -rf -- --help", "patch -p1 < x.diff",
    "bash -c -- 'rm x'", "cd sub || rm x", "ls | xargs rm", "ls | xargs sed -i s/a/b/",
    # git, where it changes the working tree
    "git am < p", "git restore f", "git checkout -- f", "git checkout HEAD~1 f",
    "git checkout f.py",
    "git reset --hard", "git stash pop", "git stash apply", "git merge main", "git pull",
    "git clean -fd", "git rm f", "git mv a b", "git revert HEAD", "git cherry-pick abc",
    "git rebase main", "git -C /repo checkout .",
    # inline scripts that write what they read
    "python3 - <<'EOF'\np = 'a.py'\ns = open(p).read()\nopen(p, 'w').write(s)\nEOF",
    "python -c \"from pathlib import Path; p = Path('a'); p.write_text(p.read_text())\"",
    "python - <<'EOF'\nimport os\nos.remove('a.py')\nEOF",
    "python - <<'EOF'\nimport fileinput\nfor l in fileinput.input('a', inplace=True): pass\nEOF",
    "node -e \"const fs=require('fs');fs.writeFileSync('a.js',fs.readFileSync('a.js'))\"",
    "ruby -e \"File.write('a', File.read('a'))\"", "python - <<'E'\nopen('a', 'r+')\nE",
    # PowerShell
    "Remove-Item src\\a.py", "Move-Item a b",
]  # fmt: skip
ASSUMED = [
    "black .", "isort .", "cargo fmt", "ruff format .", "ruff check --fix .", "prettier --write .",
    "cargo +nightly fmt --all", "cargo clippy --fix", "gofmt -l -w .", "clang-format -i f",
    "ruff check --fix-only .", "black --check . && black .", "eslint --fix src", "npm run format",
    "uv run black .", "python -m black src", "npx prettier --write .", "autopep8 -i f",
    "python - <<'EOF'\nimport sys\nopen(sys.argv[1], 'w').write('x')\nEOF", "echo x > $OUT",
]  # fmt: skip
CREATIONS = [
    "cat > f <<'EOF'\nx\nEOF", "cat <<'EOF' > f\nx\nEOF", "echo x >> f", "tee f < g",
    "cd x && mkdir y",
    "bash -lc 'echo x > f'", "if true; then touch f; fi", "bash -lc 'echo hi > x.py' 2>&1",
    "bash -c 'cat a' > b", "rsync -av a b", "black --check . > f", "cd sub > f", "cp a.py b.py",
    "cat > r.py <<'EOF'\nx\nEOF\npython r.py", "touch new.py && echo done", "mkdir -p a/b",
    "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: n.py\n+x\n*** End Patch\nEOF",
    "python -c \"open('new.txt', 'w').write('x')\"", "New-Item x.py", "Set-Content n.txt hi",
    "mkdir build && cd build && cmake ..", "printf x | tee out.txt", "pytest > log.txt 2>&1",
]  # fmt: skip
OUTSIDE = [
    "printf x > /tmp/repro.py", "tee /tmp/x", "cat > /var/tmp/a <<E\nx\nE", "sed -i s/a/b/ /tmp/x",
    "rm -rf /tmp/build", "cp a.py /tmp/", "mkdir /tmp/x", "echo x > ~/.claude/notes.md",
    "echo x >> /home/kim/.codex/memory.md", "python -c \"open('/tmp/x', 'w').write('1')\"",
]  # fmt: skip
EXECUTIONS = [
    "ruff check .", "black --check .", "black --diff src", "isort --check-only .",
    "cargo fmt --check",
    "cargo fmt -- --check", "cargo test fmt", "prettier --check .", "ruff format --check",
    "make test",
    "ruff check --fix --diff .", "gofmt -l .", "bash -c 'black --check .'", "pytest -q", "make",
    "python -m pytest tests/test_a.py -x", "python -m unittest", "npm test", "npm run build",
    "npm i",
    "pip install -e .", "uv pip install x", "uv run pytest", "poetry run pytest -q", "npx jest",
    "go test ./...", "cargo build", "mvn -q test", "./gradlew test", "tox -e py311", "gcc a.c -o a",
    "pytest 2>&1 | tail -20", "cd sub && pytest; echo $?", "source venv/bin/activate && pytest",
    "python tests/runtests.py admin", "python setup.py build_ext", "bin/test sympy/core",
    "python manage.py test app", "sudo apt-get install -y git", "git clone https://x.example/y",
    "timeout 60 pytest", "bundle exec rspec", "python tests/test_a.py", "yarn",
    "conda run -n e pytest",
]  # fmt: skip
BOOKKEEPING = [
    "git add .", "git commit -m y", "git -C /x commit -m y", "git stash", "git fetch origin",
    "git checkout -b fix", "git checkout main", "git switch main", "git push",
    "git add -A && git commit -m x",
    "git commit -m --dry-run", "git branch new", "git tag v1", "git config user.name k",
    "git reset f",
]  # fmt: skip
NAVIGATION = [
    "cat f", "rg x 2>/dev/null", "rg x > /dev/null 2>&1", "sed -n 1,5p f", "git diff HEAD~1",
    "git stash list", "python - <<'EOF'\nprint()\nEOF", "cat <<'EOF' | wc -l\nx\nEOF",
    "pytest -q > /tmp/out.txt 2>&1; tail /tmp/out.txt", "ls -la | sort", "git apply --check p.diff",
    "git apply --stat p.diff", "git clean -n", "git commit --dry-run", "git add -n .",
    "rsync -avn a b",
    "perl -MFile::Find -e 'find(1)'", "perl -Ilib -ne print f", "perl tool.pl -i f",
    "sed -fscript f",
    "patch --dry-run < p", "black --version", "rm --help", "Remove-Item x -WhatIf",
    "sudo git clean -n",
    "echo bash -c 'rm x'", "rg bash -c 'rm x'", "bash run.sh -c 'rm x'", "bash -lc 'cat x' 2>&1",
    "bash -c 'cat x' 2>/dev/null | tail -1", "cd sub 2>/dev/null", "echo 'rm -rf /'",
    "which python",
    "git log --oneline | head", "pytest; cat a.py", "make && ls build", "rg x > /tmp/out",
    "pip list",
    "python scripts/report.py", "echo start; cat a.py", "git branch -a", "git remote -v", "npm ls",
    "git config --get user.name", "claude --version", "pytest --version", "mkdir x; cat a.py",
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "command"),
    [
        (kind, command)
        for kind, commands in (
            ("edit", EDITS), ("creation", CREATIONS), ("outside_write", OUTSIDE),
            ("execution", EXECUTIONS), ("bookkeeping", BOOKKEEPING), ("navigation", NAVIGATION),
        )
        for command in commands
    ],
)  # fmt: skip
def test_kind_of_a_command(kind: str, command: str) -> None:
    """At the beginning of a session, when nothing has been seen or made."""
    verdict = verdict_of(command)
    assert (verdict.kind, verdict.assumed) == (kind, False)


@pytest.mark.parametrize("command", ASSUMED)
def test_an_edit_is_assumed(command: str) -> None:
    """A formatter may rewrite anything; of an unknown place nobody knows what was there."""
    verdict = verdict_of(command)
    assert (verdict.kind, verdict.assumed) == ("edit", True)


# -- whole sessions -----------------------------------------------------------------------


SCRATCH = "/tmp"  # noqa: S108 - a text in a log


class Play:
    """A session of shell and tool calls, each with its result, and its packet."""

    def __init__(
        self, *, cwd: str = "/repo", prompt: str = "fix it", until: Until | None = None
    ) -> None:
        self.info = SessionInfo(key="k", cwd=cwd)
        self.cutter = RouteCutter(self.info, until=until)
        self.session = Session(self.info, [self.cutter])
        self.line = 1
        self.feed(Prompt(text=prompt, line=1))

    def feed(self, *events: Event) -> "Play":
        for event in events:
            self.session.feed(event)
        return self

    def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        *,
        ok: bool | None = True,
        body: str = "",
        made: bool | None = None,
        files: tuple[Named, ...] | None = None,
    ) -> "Play":
        self.line += 1
        name = f"c{self.line}"
        self.feed(
            Call(call_id=name, tool=tool, arguments=arguments, line=self.line),
            Result(call_id=name, line=self.line, outcome=Outcome(ok=ok), body=body, made=made,
                   files=files),
        )  # fmt: skip
        return self

    def sh(self, command: str, *, ok: bool = True, body: str = "") -> "Play":
        return self.call("bash", {"command": command}, ok=ok, body=body)

    def packet(self) -> dict[str, Any]:
        self.feed(Answer(text="done", line=self.line + 1))
        route = self.cutter.finish()
        return make_packet(route, format_name="f", file="x", options=PacketOptions())


def cut_of(play: Play) -> tuple[str, int]:
    """Why the route ended, and at which line."""
    packet = play.packet()
    return packet["cut_reason"], packet["source"]["lines"]["cut"]


def test_a_scratch_file_does_not_end_the_route() -> None:
    """Made, run, read, rewritten, moved and deleted: what the session made is its own."""
    play = Play().sh("ls src").sh("cat > repro.py <<'E'\nimport a\nE").sh("python repro.py")
    play.sh("cat repro.py").sh("sed -i s/a/b/ repro.py").sh("black repro.py").sh(
        "chmod +x repro.py"
    )
    play.call("Edit", {"file_path": "/repo/repro.py", "old_string": "a", "new_string": "b"})
    play.sh("mv repro.py repro2.py").sh("python repro2.py").sh("rm repro2.py").sh("cat src/a.py")
    packet = play.sh("sed -i s/x/y/ src/a.py").sh("cat src/b.py").packet()
    assert packet["cut_reason"] == "mutation"
    assert packet["source"]["lines"]["cut"] == 14
    assert packet["selected_artifacts"] == ["src/a.py"]
    assert packet["created_files"] == ["repro.py", "repro2.py"]
    assert packet["execution_calls"] == 2
    assert "edit_assumed" not in packet


SEEN: list[tuple[str, Play]] = [
    ("read", Play().sh("cat src/a.py")),
    ("read by a tool", Play().call("Read", {"file_path": "/repo/src/a.py"})),
    ("listed", Play().sh("ls src", body="a.py\nb.py")),
    ("found", Play().sh("find . -name '*.py'", body="./src/a.py\n")),
    ("matched", Play().sh("rg -n foo", body="src/a.py:3:foo\n")),
    ("an operand", Play().sh("wc -l src/a.py; date")),
    ("named by a tool", Play().call("outline", {"path": "src/a.py"})),
    ("from its folder", Play().sh("cd src && head a.py")),
    ("absolute", Play().sh("nl /repo/src/a.py")),
]


@pytest.mark.parametrize(("how", "play"), SEEN, ids=[how for how, _ in SEEN])
def test_overwriting_what_was_seen_is_an_edit(how: str, play: Play) -> None:
    """However it was seen: the file existed before the session."""
    assert how
    assert cut_of(play.sh("cat > src/a.py <<'E'\ny\nE").sh("cat src/b.py")) == ("mutation", 3)


def test_what_failed_was_not_seen_and_made_nothing() -> None:
    """A failed look says nothing about a file, and a failed creation makes none."""
    play = Play().sh("cat src/a.py", ok=False).sh("cat > src/a.py <<'E'\ny\nE", ok=False)
    packet = play.sh("ls").packet()
    assert packet["cut_reason"] == "answer"
    assert "created_files" not in packet
    ended = Play().sh("echo x > n.py", ok=False).sh("sed -i s/x/y/ n.py").sh("ls")
    assert cut_of(ended) == ("mutation", 3)


def test_a_file_that_only_the_prompt_names_is_assumed_to_exist() -> None:
    """Neither can be told: edit, and the packet says so."""
    packet = Play(prompt="fix src/a.py please").sh("ls").sh("echo x > src/a.py").packet()
    assert (packet["cut_reason"], packet["edit_assumed"]) == ("mutation", True)
    other = Play(prompt="fix src/data.py please").sh("ls").sh("echo x > src/a.py").packet()
    assert other["cut_reason"] == "answer"


@pytest.mark.parametrize(
    "make", ["mkdir try && cd try && echo x > a.py", "mkdir try\necho x > try/a.py"]
)
def test_what_lies_in_a_folder_made_by_the_same_command_is_new(make: str) -> None:
    """The prompt's file of that name lies elsewhere; a folder that was seen proves nothing."""
    packet = Play(prompt="fix src/a.py please").sh("ls").sh(make).packet()
    assert packet["cut_reason"] == "answer"
    assert "try/a.py" in packet["created_files"]
    seen = Play(prompt="fix try/a.py please").sh("cat try/b.py")
    packet = seen.sh("mkdir -p try && echo x > try/a.py").packet()
    assert packet["edit_assumed"] is True


WRITES: list[tuple[str, dict[str, Any], str]] = [
    ("the log says create", {"made": True}, "creation"),
    ("the log says update", {"made": False}, "edit"),
    ("text of old logs", {"body": "File created successfully at: /repo/n.py"}, "creation"),
    ("text of an update", {"body": "The file /repo/n.py has been updated."}, "edit"),
    ("Gemini's text", {"body": "Successfully created and wrote to new file: n.py"}, "creation"),
    ("Gemini's overwrite", {"body": "Successfully overwrote file: n.py"}, "edit"),
    ("nothing is said", {}, "assumed"),
    ("it was not read before", {"ok": False, "body": "File has not been read yet."}, "edit"),
]


@pytest.mark.parametrize(("said", "result", "kind"), WRITES, ids=[one[0] for one in WRITES])
def test_a_writing_tool_is_told_by_its_result(said: str, result: dict[str, Any], kind: str) -> None:
    """The log's own word comes first; without one, an edit is assumed."""
    assert said
    packet = Play().call("Write", {"file_path": "/repo/n.py", "content": "x"}, **result).packet()
    assert packet["cut_reason"] == ("answer" if kind == "creation" else "mutation")
    assert packet.get("edit_assumed", False) is (kind == "assumed")
    assert packet.get("created_files") == (["n.py"] if kind == "creation" else None)


def test_calls_after_an_undecided_write_leave_with_it() -> None:
    """A batch's later calls are no part of a route that the write is found to have ended."""
    play = Play().sh("ls")
    write = Call(call_id="w", tool="Write", arguments={"file_path": "/repo/a.py"}, line=3)
    read = Call(call_id="r", tool="Read", arguments={"file_path": "/repo/b.py"}, line=4)
    play.feed(write, read, Result(call_id="r", line=5, outcome=Outcome(ok=True)))
    play.feed(Result(call_id="w", line=6, outcome=Outcome(ok=True), made=False))
    packet = play.packet()
    assert (packet["cut_reason"], packet["source"]["lines"]["cut"]) == ("mutation", 3)
    assert packet["selected_artifacts"] == []
    assert packet["navigation_calls"] == 1


def test_running_a_script_that_rewrites_a_seen_file_is_an_edit() -> None:
    """The session wrote the script, so its text is known: what it changes existed."""
    script = "cat > fix.py <<'E'\ns = open('src/a.py').read()\nopen('src/a.py', 'w').write(s)\nE"
    play = Play().sh("cat src/a.py").sh(script).sh("python fix.py").sh("ls")
    assert cut_of(play) == ("mutation", 4)
    both = Play().sh("cat src/a.py").sh(script + "\npython fix.py").sh("ls")
    assert cut_of(both) == ("mutation", 3)
    harmless = Play().sh("cat > r.py <<'E'\nopen('out.txt', 'w')\nE").sh("python r.py").sh("ls")
    assert cut_of(harmless)[0] == "answer"


def test_what_lies_below_a_folder_that_the_session_made_is_its_own() -> None:
    """A made folder holds nothing that existed."""
    play = Play().sh("mkdir demo").sh("cd demo && make").sh("sed -i s/a/b/ demo/out.c").sh("ls")
    assert cut_of(play)[0] == "answer"


def test_a_seen_file_stays_seen_when_it_is_touched() -> None:
    """touch and mkdir are creations, but what was there is not the session's own."""
    play = Play().sh("cat a.py").sh("touch a.py").sh("sed -i s/a/b/ a.py").sh("ls")
    assert cut_of(play) == ("mutation", 4)


def test_a_folder_below_tmp_may_be_the_repository() -> None:
    """What lies in the session's own folder is inside, wherever that folder is."""
    play = Play(cwd=f"{SCRATCH}/home/ann/repo").sh("cat a.py").sh("sed -i s/a/b/ a.py").sh("ls")
    assert cut_of(play) == ("mutation", 3)
    assert (
        cut_of(Play(cwd=f"{SCRATCH}/work").sh("ls").sh("echo x > /tmp/y").sh("ls"))[0] == "answer"
    )


# -- first contact ------------------------------------------------------------------------


def test_first_contact_of_a_route_without_navigation() -> None:
    """Nothing is guessed: an edit first, only creations, or nothing at all."""
    edited = Play().sh("rm a.py").packet()
    assert (edited["first_contact_command"], edited["first_contact_reason"]) == (
        None,
        "mutated_first",
    )
    created = Play().sh("echo x > n.py").sh("python n.py").packet()
    assert created["first_contact_reason"] == "created_only"
    assert Play().sh("git add .").packet()["first_contact_reason"] == "no_navigation"
    both = Play().sh("echo x > n.py").sh("rm a.py").packet()
    assert both["first_contact_reason"] == "mutated_first"


def test_an_execution_is_the_first_contact_only_if_nothing_precedes_it() -> None:
    """Tests run first are where the agent looked first; a scratch file's run is not."""
    ran = Play().sh("pytest -q").sh("cat a.py").packet()
    assert ran["first_contact_command"] == "pytest -q"
    assert (ran["navigation_calls"], ran["execution_calls"]) == (1, 1)
    made = Play().sh("echo x > n.py").sh("python n.py").sh("cat a.py").packet()
    assert made["first_contact_command"] == "cat a.py"


def test_a_call_that_looks_and_then_edits_does_both() -> None:
    """Its first segment is a first contact, and its edit still ends the route."""
    packet = Play().sh("cat a.py && sed -i s/x/y/ a.py").packet()
    assert packet["first_contact_command"] == "cat a.py"
    assert (packet["cut_reason"], packet["selected_artifacts"]) == ("mutation", ["a.py"])


# -- --until -------------------------------------------------------------------------------


def _play(until: Until) -> dict[str, Any]:
    play = (
        Play(until=until).sh("ls").sh("echo x > n.py").sh("cat a.py").sh("rm a.py").sh("cat b.py")
    )
    return play.packet()


UNTIL: list[tuple[Until, str, int, list[str]]] = [
    (Until("edit"), "mutation", 5, ["a.py"]),
    (Until("write"), "mutation", 3, []),
    (Until("answer"), "answer", 7, ["a.py", "b.py"]),
    (Until("first-contact"), "first_contact", 2, []),
    (Until("calls", 2), "calls", 4, ["a.py"]),
    (Until("calls", 9), "mutation", 5, ["a.py"]),
]


@pytest.mark.parametrize(("until", "reason", "line", "selected"), UNTIL)
def test_until_moves_the_end(until: Until, reason: str, line: int, selected: list[str]) -> None:
    """The end stands in the packet, and so does what was asked for."""
    packet = _play(until)
    assert (packet["cut_reason"], packet["source"]["lines"]["cut"]) == (reason, line)
    assert packet["selected_artifacts"] == selected
    assert packet["until"] == str(until)


def test_until_calls_leaves_later_siblings_out() -> None:
    """Calls of a batch behind the N-th are no part of the route, nor is their time."""
    play = Play(until=Until("calls", 1))
    for name in ("r1", "r2"):
        play.feed(
            Call(call_id=name, tool="Read", arguments={"path": f"{name}.py"}, line=2, batch="b")
        )
    for name, took in (("r2", 500.0), ("r1", 20.0)):
        play.feed(Result(call_id=name, line=3, outcome=Outcome(ok=True, duration_ms=took)))
    packet = play.packet()
    assert (packet["wall_ms"], packet["selected_artifacts"]) == (20, ["r1.py"])


def test_the_answer_ends_the_route_before_a_follow_up() -> None:
    """What a second question leads to is no part of the first one's route."""
    play = Play().sh("cat a.py").feed(Answer(text="In a.py.", line=3))
    play.feed(Prompt(text="And bar?", line=4))
    play.line = 4
    packet = play.sh("cat bar.py").packet()
    assert (packet["cut_reason"], packet["source"]["lines"]["cut"]) == ("answer", 3)
    assert packet["selected_artifacts"] == ["a.py"]
    steered = Play().sh("cat a.py").feed(Prompt(text="hurry", line=3)).sh("cat b.py").packet()
    assert steered["selected_artifacts"] == ["a.py", "b.py"]

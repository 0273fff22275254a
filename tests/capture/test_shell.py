"""Shell commands are read by bash's grammar, and nothing in them is ever run."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayproof.capture.shell import read_command, typed_text

FIRST = [
    # a leading cd, export or assignment is no first contact, and wrappers are opened
    ("/bin/zsh -lc \"sed -n '1,220p' README.md\"", "sed -n '1,220p' README.md"),
    ("bash -lc 'cd src && rg -n foo | head'", "rg -n foo | head"),
    ("cd /x && export A=1; FOO=2 cat a.py | head -5 && ls", "cat a.py | head -5"),
    ("A=1\nB=2\nrg foo", "rg foo"),
    ("# look first\nls -la", "ls -la"),
    # the first segment ends at &&, || and ;, with its whole pipeline and redirections
    ("tree -L 3 /w 2>/dev/null || find /w | head -50", "tree -L 3 /w 2>/dev/null"),
    ("find . -name '*.md' | head -20; ls", "find . -name '*.md' | head -20"),
    ("(cd sub && cat a) ; ls", "cat a"),
    # quoted operators don't split
    ("rg 'a && b; c | d' src && ls", "rg 'a && b; c | d' src"),
    ("for f in a b; do cat $f; done && ls", "for f in a b; do cat $f; done"),
    # redirections and guards of a leading cd go with it
    ("cd sub || exit 1; cat a.py", "cat a.py"),
    ("cd sub 2>/dev/null && cat q.py", "cat q.py"),
    ("cd sub >/dev/null 2>&1 || return; cat q.py | head", "cat q.py | head"),
    ("pushd sub > /dev/null || true; ls", "ls"),
    ("cd sub || { echo none >&2; exit 1; }\nrg x", "rg x"),
    ("cd a && cd b 2>/dev/null || exit 1; ls", "ls"),
    ("cd sub || ls", "ls"),
    # a shell that stands alone is its script, whoever starts it
    ("bash -lc 'cat a; ls' 2>&1", "cat a"),
    ("timeout 30 bash -lc 'cd s && cat a'", "cat a"),
    ("bash -euo pipefail -c 'cat x.py'", "cat x.py"),
    ("bash -lc 'cat a' | tail -1", "bash -lc 'cat a' | tail -1"),
    ("find . -exec sh -c 'cat a' \\;", "find . -exec sh -c 'cat a' \\;"),
    ("bash script.sh -c 'cat a'", "bash script.sh -c 'cat a'"),
    # nothing but setup: the text as typed
    ("cd /repo", "cd /repo"),
    # what the grammar can't parse is kept whole
    ("rg foo && (cat bar", "rg foo && (cat bar"),
]


@pytest.mark.parametrize(("command", "first"), FIRST)
def test_first_segment(command: str, first: str) -> None:
    """The first contact is the first segment that does something, as it was typed."""
    assert read_command(command).first == first


MUTATING = [
    "cat > f <<'EOF'\nx\nEOF", "cat <<'EOF' > f\nx\nEOF", "echo x >> f", "sed -i s/a/b/ f",
    "sed -i.bak -e s/a/b/ f", "perl -pi -e 's/a/b/' f", "tee f < g", "rm -rf build", "mv a b",
    "git apply p.diff", "git -C /x commit -m y", "git stash", "cd x && mkdir -p y",
    "sudo rm f", "find . -name x -delete", "find . -exec rm {} \\;", "ls | xargs rm",
    "bash -lc 'echo x > f'", "if true; then touch f; fi", "apply_patch <<'EOF'\nx\nEOF",
    "python x.py && echo done > log.txt", "printf x > /tmp/repro.py", "ruff check --fix .",
    "echo $(rm f)", "(unclosed; rm f",
    # a shell's script counts wherever the shell stands
    "timeout 30 bash -lc 'sed -i s/a/b/ x.py'", "bash -lc 'echo hi > x.py' 2>&1",
    "sudo bash -c 'rm x'", "sudo -u kim -- bash -c 'rm x'", "bash -lc 'rm x' | tail -1",
    "if true; then bash -c 'rm x'; fi", "bash -euo pipefail -c 'rm x'", "env A=1 sh -c 'rm x'",
    "env A=$B sh -c 'rm x'", "nice -n 5 bash -c 'rm x'", "nohup bash -c 'rm x' &",
    "ls | xargs -I{} sh -c 'rm {}'", "find . -exec sh -c 'rm \"$1\"' _ {} \\;",
    "bash -c 'bash -c \"rm x\"'", "echo $(bash -c 'rm x')", "! bash -c 'rm x'",
    "docker exec -it box bash -lc 'rm x'", 'bash -lc "cd $DIR && rm x"', "bash -c 'cat a' > b",
    "cd x && timeout 5 bash -c 'rm x' || true", "for f in a; do bash -c 'rm x'; done",
    "perl -i.bak -pe s/a/b/ f", "perl -0777 -pi -e s/a/b/ f", "perl -pe s/a/b/ -i f",
    "ruby -pi -e 'x' f", "sed -nEi s/a/b/ f", "black .", "isort .", "cargo fmt", "ruff format .",
    "cargo +nightly fmt --all", "cargo clippy --fix", "git apply p.diff", "git clean -fd",
    "git commit -n -m y", "git commit -m --dry-run", "rsync -av a b", "prettier --write .",
    "gofmt -l -w .", "rm -rf -- --help", "patch -p1 < x.diff", "black --check . > f",
    "clang-format -i f", "ruff check --fix-only .", "black --check . && black .",
    "bash -c -e 'rm x'", "bash -c -- 'rm x'", "cd sub || rm x", "cd sub > f",
]  # fmt: skip


@pytest.mark.parametrize("command", MUTATING)
def test_what_writes_files_is_a_mutation(command: str) -> None:
    """Redirections, heredocs into files, in-place edits and file commands end a route."""
    assert read_command(command).mutates


NAVIGATING = [
    "cat f", "rg x 2>/dev/null", "rg x > /dev/null 2>&1", "sed -n 1,5p f", "git diff HEAD~1",
    "git stash list", "python - <<'EOF'\nprint()\nEOF", "cat <<'EOF' | wc -l\nx\nEOF",
    "pytest -q > /tmp/out.txt 2>&1; tail /tmp/out.txt", "ls -la | sort", "ruff check .",
    "black --check .", "black --diff src", "black -q --check .", "isort --check-only .",
    "isort -c .", "isort --check --diff .", "cargo fmt --check", "cargo fmt -- --check",
    "cargo fmt --all -- --check", "cargo test fmt", "git apply --check p.diff",
    "git apply --stat p.diff", "git clean -n", "git clean -ndx", "git clean --dry-run",
    "git commit --dry-run", "git add -n .", "git -C x rm --dry-run y", "rsync -n a b",
    "rsync -avn a b", "rsync --dry-run a b", "prettier --check .", "ruff format --check",
    "ruff format --diff .", "ruff check --fix --diff .", "ruff check format", "gofmt -l .",
    "perl -MFile::Find -e 'find(1)'", "perl -Ilib -ne print f", "perl tool.pl -i f",
    "perl -e print -- -i", "ruby -rminitest -e x", "sed -fscript.sed f", "patch --dry-run < p",
    "black --version", "rm --help", "clang-format -n f", "Remove-Item x -WhatIf",
    "sudo git clean -n", "bash -c 'black --check .'",
    "echo bash -c 'rm x'", "rg bash -c 'rm x'", "bash run.sh -c 'rm x'", "sudo bash -c 'cat x'",
    "bash -lc 'cat x' 2>&1", "bash -c 'cat x' 2>/dev/null | tail -1", "cd sub 2>/dev/null",
    "echo 'rm -rf /'", "rg 'sed -i' docs", "make test", "git log --oneline | head",
]  # fmt: skip


@pytest.mark.parametrize("command", NAVIGATING)
def test_what_only_looks_is_no_mutation(command: str) -> None:
    """Reading, searching, listing and unknown commands navigate; words in quotes don't write."""
    assert not read_command(command).mutates


READS: list[tuple[str, list[tuple[str | None, str, tuple[int, int] | None]]]] = [
    ("cat a.py 'b c.py' d\\ e", [(None, "a.py", None), (None, "b c.py", None),
                                 (None, "d e", None)]),
    ("head -n 20 a; head -5 b; tail -n 3 c", [(None, "a", (1, 20)), (None, "b", (1, 5)),
                                              (None, "c", None)]),
    # a count from the end, or of bytes, gives no known range
    ("head -n -5 a; head --lines=-5 b", [(None, "a", None), (None, "b", None)]),
    ("head -c 20 a; head -q -7 b", [(None, "a", None), (None, "b", (1, 7))]),
    ("head -n5 a-3", [(None, "a-3", (1, 5))]),
    ("jq --arg a b .x x.json", [(None, "x.json", None)]),
    ("jq -r --argjson a 1 --arg b c .x x.json y.json", [(None, "x.json", None),
                                                        (None, "y.json", None)]),
    ("sed -n '5,9p' a.py", [(None, "a.py", (5, 9))]),
    ("sed -n -e 3p a.py b.py", [(None, "a.py", (3, 3)), (None, "b.py", (3, 3))]),
    ("nl -ba src/x.py | sed -n '1,9p'", [(None, "src/x.py", None)]),
    ("cd /r/src && cat a; cd ..; cat b", [("/r/src", "a", None), ("/r", "b", None)]),
    ("(cd sub && cat a); cat b", [("sub", "a", None), (None, "b", None)]),
    ("git -C /r show HEAD:src/a.py", [(None, "/r/src/a.py", None)]),
    ("cat src/{a,b}.py", [(None, "src/a.py", None), (None, "src/b.py", None)]),
    ("for f in a b; do cat lib/$f; done", [(None, "lib/a", None), (None, "lib/b", None)]),
    ('F=x.py; cat "$F"', [(None, "x.py", None)]),
    ("sudo timeout 5 cat /etc/hosts", [(None, "/etc/hosts", None)]),
    ("cat < in.txt", [(None, "in.txt", None)]),
    ("awk 'NR<5' a.txt; jq .x b.json", [(None, "a.txt", None), (None, "b.json", None)]),
    ("echo $(cat q.txt)", [(None, "q.txt", None)]),
    ("bash -c 'cd s && cat a'", [("s", "a", None)]),
    ("timeout 9 bash -lc 'cat a; cat b' | tail", [(None, "a", None), (None, "b", None)]),
    ("cd r && sudo bash -c 'cd s; cat a' 2>&1", [("r/s", "a", None)]),
    ("bash -c 'cat' < in.txt", [(None, "in.txt", None)]),
    ("bash -c 'cat a; rm b; cat c' 2>&1", [(None, "a", None)]),
    ('bash -c "cat a $X"', [(None, "a", None)]),
    ("cd sub || exit 1; cat a", [("sub", "a", None)]),
    # only a running shell would know these
    ("ls | xargs -I{} cat {}; ls | xargs -I{} sh -c 'cat {}'", []),
    ("cd $X; bash -c 'cat a; cat /b'", [(None, "/b", None)]),
    ("cd a || cd b; cat x", []),
    ("ls || bash -c 'cat a'", []),
    ("cat *.py $UNSET `ls` $(ls)", []),
    ("cd $SOMEWHERE && cat a", []),
    ("cat a || cat b", [(None, "a", None)]),
    ("if [ -f a ]; then cat a; fi", []),
    # what comes after the first mutating segment is outside the route
    ("cat a; sed -i s/x/y/ b; cat c", [(None, "a", None)]),
    ("cat -n - < a", [(None, "a", None)]),
    ("cat (broken", []),
]  # fmt: skip


@pytest.mark.parametrize(("command", "expected"), READS)
def test_files_that_a_command_reads(
    command: str, expected: list[tuple[str | None, str, tuple[int, int] | None]]
) -> None:
    """Files are taken from the words that the shell would pass, never guessed."""
    found = [(one.folder, one.path, one.lines) for one in read_command(command).reads]
    assert found == expected


def test_a_command_that_reads_and_then_writes_does_both() -> None:
    """Its first segment is a first contact, and its mutation still ends the route."""
    reading = read_command("cat a.py && sed -i s/x/y/ a.py")
    assert (reading.first, reading.mutates, reading.mutates_first) == ("cat a.py", True, False)


def test_argument_lists_become_text() -> None:
    """A list is joined as a shell would need it; a shell's own script is taken as it is."""
    assert typed_text(["bash", "-lc", "rg 'a b'"]) == "rg 'a b'"
    assert typed_text(["cat", "a b"]) == "cat 'a b'"
    assert typed_text(["powershell.exe", "-NoProfile", "-Command", "Get-Content", "a"]) == (
        "Get-Content a"
    )


def test_powershell_paths_keep_their_backslashes() -> None:
    """A backslash is a separator there, not an escape."""
    reading = read_command("Get-Content C:\\w\\a.cs -TotalCount 5", powershell=True)
    assert [one.path for one in reading.reads] == ["C:\\w\\a.cs"]


def test_nothing_is_ever_run(tmp_path: Path) -> None:
    """Reading a command has no effect whatever it says."""
    victim = tmp_path / "victim"
    victim.write_text("here")
    for command in (f"rm {victim}", f"$(rm {victim})", f"`rm {victim}`", f"eval 'rm {victim}'"):
        read_command(command)
    assert victim.read_text() == "here"


def test_hostile_nesting_is_kept_whole() -> None:
    """Bottomless nesting is unparsed text, not a crash."""
    deep = "(" * 5000 + "ls" + ")" * 5000
    reading = read_command(deep)
    assert reading.unparsed
    assert reading.first == deep
    nested = "echo " + "$(echo " * 300 + "x" + ")" * 300
    assert read_command(nested).unparsed


def test_a_huge_command_is_bounded() -> None:
    """Beyond a megabyte only the beginning is parsed, and the reading says so."""
    reading = read_command("cat > f <<'EOF'\n" + "x" * (2 << 20) + "\nEOF")
    assert reading.unparsed
    assert reading.mutates


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=60)
    | st.lists(
        st.sampled_from(
            ["cat", "a", "&&", "||", ";", "|", "(", ")", "$(", "`", "'", '"', ">", "<<EOF", "\n",
             "EOF", "cd", "for", "in", "do", "done", "$x", "{a,b}", "\\", "sed", "-i", "bash",
             "-c", "\x00", "if", "then", "fi", "*", "#", "git", "-C", "show", "xargs", "head"]
        ), max_size=25,
    ).map(" ".join)
)  # fmt: skip
def test_any_text_gives_a_reading(command: str) -> None:
    """No text makes the reading fail, and the first segment comes from the text."""
    reading = read_command(command)
    assert isinstance(reading.first, str)
    assert all(read.path for read in reading.reads)


def test_no_character_ends_the_process() -> None:
    """The grammar's scanner reads outside a table for high characters; ours never lets it."""
    script = (
        "from wayproof.capture.shell import read_command\n"
        "for code in range(0x100, 0x110000, 257):\n"
        "    if not 0xD800 <= code < 0xE000:\n"
        "        read_command('cat a{' + chr(code) + '}' + chr(code))\n"
        "print(read_command('cat héé.py 数.txt').reads[1].path.encode())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == repr("数.txt".encode())


def test_nested_substitutions_are_visited_once() -> None:
    """Each command counts once however deep it stands: twice at each level would never end."""
    depth = 10
    reading = read_command("echo " + "$(cat f$(echo " * depth + "x" + "))" * depth)
    assert sum(len(segment.commands) for segment in reading.segments) == 2 * depth + 1

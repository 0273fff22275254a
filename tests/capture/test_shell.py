"""Shell commands are read by bash's grammar, and nothing in them is ever run."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayproof.capture.shell import FileRead, read_command, typed_text

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


def reads_of(command: str) -> list[FileRead]:
    """The files that a command reads, up to what it edits."""
    reading = read_command(command)
    found: list[FileRead] = []
    for segment in reading.segments:
        if reading.unparsed or any(one.how == "edit" for act in segment.acts for one in act.writes):
            break
        found += segment.reads
    return found


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
    found = [(one.folder, one.path, one.lines) for one in reads_of(command)]
    assert found == expected


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
    assert [read.path for one in reading.segments for read in one.reads] == ["C:\\w\\a.cs"]


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
    assert [write.path for act in reading.segments[0].acts for write in act.writes] == ["f"]


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
    assert all(read.path for one in reading.segments for read in one.reads)


def test_no_character_ends_the_process() -> None:
    """The grammar's scanner reads outside a table for high characters; ours never lets it."""
    script = (
        "from wayproof.capture.shell import read_command\n"
        "for code in range(0x100, 0x110000, 257):\n"
        "    if not 0xD800 <= code < 0xE000:\n"
        "        read_command('cat a{' + chr(code) + '}' + chr(code))\n"
        "print(read_command('cat héé.py 数.txt').segments[0].reads[1].path.encode())\n"
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

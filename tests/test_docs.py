"""The documentation tells the truth: generated pages are fresh, examples run, links lead on."""

import argparse
import ast
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tools import docs, examples
from tools.pages import commands, schemas
from tools.pages.markdown import anchor

from wayproof.cli import COMMANDS, flag_of
from wayproof.evidence.explanations import EXPLANATIONS
from wayproof.private.cgroups import run_groups
from wayproof.schemas import SCHEMAS, meanings_of

ROOT = Path(__file__).parents[1]
PAGES = examples.pages(ROOT)
WITH_SESSIONS = [path for path in PAGES if examples.sessions_in(path.read_text("utf-8"))]

# Rooms whose messages docs/errors.md explains.
EXPLAINED_ROOMS = ("fitness", "bundles/", "strict_json.py", "lines.py", "parallel/pool.py")


def _named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("docs", "packaging"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


# -- generated pages ------------------------------------------------------------------


def test_generated_pages_are_fresh() -> None:
    """Every generated page is what the code says now."""
    assert docs.faults(ROOT) == []


def test_every_command_record_and_kind_has_its_place() -> None:
    """Whatever is registered is documented, without being listed a second time."""
    pages = docs.pages(ROOT)
    assert {f"docs/reference/commands/{name}.md" for name in COMMANDS} <= pages.keys()
    for name in SCHEMAS:
        assert f"\n## {name}\n" in pages["docs/reference/schemas.md"]
    for kind in EXPLANATIONS:
        assert f"\n## `{kind}`\n" in pages["docs/reference/failure-kinds.md"]


def test_generated_pages_say_so() -> None:
    """A reader sees at the top that a page is generated, and by which command."""
    for text in docs.pages(ROOT).values():
        head = "\n".join(text.splitlines()[:2])
        assert "Generated" in head
        assert docs.COMMAND in head


def test_check_passes_on_what_write_wrote(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Writing mends everything that the check complains of."""
    shutil.rmtree(project / "docs/reference")
    assert docs.main(["--root", str(project)]) == 0
    assert docs.main(["--check", "--root", str(project)]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda page: page.write_text(page.read_text() + "\nmore\n"), "stale: {page}"),
        (
            lambda page: page.write_text(page.read_text().replace("fitness", "fitnes")),
            "stale: {page}",
        ),
        (lambda page: page.write_bytes(b"\xff\xfe"), "stale: {page}"),
        (lambda page: page.unlink(), "missing: {page}"),
        (lambda page: page.with_name("gone.md").write_text(docs.MARK), "surplus: {folder}/gone.md"),
    ],
)
def test_check_names_each_page_that_is_off(
    project: Path, capsys: pytest.CaptureFixture[str], damage: object, said: str
) -> None:
    """A stale, missing or surplus page fails the check, by name, with the command that mends it."""
    page = project / "docs/reference/commands/fitness.md"
    assert callable(damage)
    damage(page)
    assert docs.main(["--check", "--root", str(project)]) == 1
    name = page.relative_to(project).as_posix()
    expected = said.format(page=name, folder=Path(name).parent.as_posix())
    assert capsys.readouterr().out.splitlines() == [expected, f"mend with: {docs.COMMAND}"]
    docs.main(["--root", str(project)])
    assert docs.faults(project) == []


def test_hand_written_pages_are_left_alone(project: Path) -> None:
    """A page without the mark is nobody's but its author's."""
    page = project / "docs/reference/notes.md"
    page.write_text("# Notes\n")
    assert docs.faults(project) == []
    docs.main(["--root", str(project)])
    assert page.read_text() == "# Notes\n"


@pytest.mark.parametrize("columns", ["20", "300"])
def test_pages_do_not_depend_on_the_terminal(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same page on any terminal."""
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert docs.faults(ROOT) == []


# -- the command reference against argparse -------------------------------------------


def _parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for name in COMMANDS:
        for parser in commands.leaves(commands.parser_of(name)):
            yield name, parser


@pytest.mark.parametrize(("name", "parser"), [pytest.param(n, p, id=p.prog) for n, p in _parsers()])
def test_reference_says_what_help_says(
    name: str, parser: argparse.ArgumentParser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Usage is argparse's own, word for word, and no word of ``--help`` is left out."""
    monkeypatch.setenv("COLUMNS", "1000")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    page = docs.pages(ROOT)[f"docs/reference/commands/{name}.md"]
    assert commands.usage(parser).split() == parser.format_usage().split()
    assert commands.usage(parser) in page
    shown = set(_words(page))
    for word in _words(parser.format_help()):
        # A sentence's first letter and its full stop are the page's own.
        assert {word, word.capitalize(), f"{word}."} & shown, word


def _words(text: str) -> list[str]:
    """Split text without regard to markup; short options repeat their value before 3.13."""
    return re.sub(r"[`|*#\\,:]", " ", text).split()


def test_arguments_of_every_shape_are_worded_as_argparse_does() -> None:
    """What no command uses yet is worded right when one does."""
    parser = argparse.ArgumentParser(prog="x")
    parser.add_argument("-o", "--out", metavar="DIR")
    parser.add_argument("--pair", nargs=2, metavar=("A", "B"))
    parser.add_argument("--two", nargs=2)
    parser.add_argument("--many", nargs="+", choices=["p", "q"])
    parser.add_argument("--hidden", help=argparse.SUPPRESS)
    parser.add_argument("--must", required=True)
    some = parser.add_mutually_exclusive_group()
    some.add_argument("--quiet", action="store_true")
    some.add_argument("--loud", action="store_true")
    parser.add_argument("first")
    parser.add_argument("rest", nargs="*")
    assert " ".join(commands.usage(parser).split()) == (
        "usage: x [-h] [-o DIR] [--pair A B] [--two TWO TWO] [--many {p,q} [{p,q} ...]] "
        "--must MUST [--quiet | --loud] first [rest ...]"
    )


# -- records --------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_every_field_has_a_meaning(name: str) -> None:
    """No field of a record is left to guessing; describe it in its class's ``Attributes``."""
    for kind in schemas.records_within(name):
        meanings = meanings_of(kind)
        silent = [
            field.name for field in msgspec.structs.fields(kind) if field.name not in meanings
        ]
        assert silent == [], kind


def test_fields_may_be_described_below_themselves_and_by_a_base() -> None:
    """Words are found in the docstring, below the field, and in the base that brought it."""
    assert meanings_of(_Child) == {
        "one": "said above",
        "two": "said above",
        "three": "Said `below`.",
        "four": "Said here.",
    }


class _Base(msgspec.Struct):
    """A base.

    Attributes
    ----------
    one, two
        said
        above

    Notes
    -----
    not a field
        nor this
    """

    one: int
    two: int


class _Child(_Base):
    three: int
    """Said ``below``."""
    four: int
    """Said here."""


# -- examples -------------------------------------------------------------------------


@pytest.mark.parametrize("path", WITH_SESSIONS, ids=_named)
def test_examples_print_what_the_page_says(path: Path) -> None:
    """Every console session in the documentation was run, and this is its output."""
    text = path.read_text("utf-8")
    if "$ wayproof private run" in text:
        _require_sandbox()
    assert examples.faults_in(text) == []


def _require_sandbox() -> None:
    """Skip, saying why, where this machine can't enforce what the page's agreement requires."""
    command = [
        "bwrap",
        "--unshare-user",
        "--unshare-net",
        "--disable-userns",
        "--ro-bind",
        "/",
        "/",
        "true",
    ]
    user = 65_534 if os.geteuid() == 0 else None
    try:
        done = subprocess.run(command, user=user, capture_output=True, check=False, cwd="/")
    except OSError:
        pytest.skip("bubblewrap (bwrap) is not installed: no private run here")
    with run_groups() as groups:
        if done.returncode or groups.memory is None:
            pytest.skip(f"no sandbox or control group for a private run: {done.stderr!r}")


def test_the_main_pages_have_examples() -> None:
    """README and tutorial show real output; if they showed none, nothing would be checked."""
    assert {ROOT / "README.md", ROOT / "docs/tutorial.md"} <= set(WITH_SESSIONS)


def test_first_screen_of_the_readme() -> None:
    """One sentence, one command, its real output, before anything else."""
    text = (ROOT / "README.md").read_text("utf-8")
    first = examples.sessions_in(text)[0]
    before = text[: first.start].splitlines()
    assert before[0] == "# wayproof"
    assert " ".join(before[2:-2]).count(". ") == 0
    assert len(before) < 8
    (step,) = first.steps
    assert step.command.startswith("wayproof ")
    assert "4 of 4 cases met: pass" in step.output


def _session(*lines: str) -> str:
    return "\n".join(["text", "", "```console", *lines, "```", "", "more text", ""])


def test_a_lie_is_found_and_mended() -> None:
    """Output that isn't real is named, and replaced by what is."""
    page = _session("$ echo one", "two", "$ echo two >&2", "two")
    (fault,) = examples.faults_in(page)
    assert fault.startswith("line 4: $ echo one")
    assert examples.renewed(page) == _session("$ echo one", "one", "$ echo two >&2", "two")


@pytest.mark.parametrize("said", [(), ("one", "two"), ("One",), ("one ",)])
def test_output_is_compared_as_it_stands(said: tuple[str, ...]) -> None:
    """Nothing is normalised: a missing or surplus line, case and spaces count."""
    assert not examples.agrees(said, ("one",))


def test_only_what_is_marked_may_vary() -> None:
    """``{varies}`` matches within its line, and renewing keeps it."""
    page = _session("$ echo at 12:03 all is well", "at {varies} all is well")
    assert examples.faults_in(page) == []
    assert examples.renewed(page) == page
    assert examples.faults_in(page.replace("is well\n```", "is bad\n```"))


def test_sessions_share_a_folder_and_show_statuses() -> None:
    """Sessions of a page follow on each other; ``$?`` is that of the command before."""
    page = _session("$ mkdir a", "$ ls", "a") + _session(
        "$ ls", "a", "$ python3 -c 'raise SystemExit(2)'", "$ echo $?", "2"
    )
    assert examples.faults_in(page) == []


def test_commands_may_span_lines() -> None:
    """Lines that continue a command are no output."""
    page = _session("$ cat <<'END'", "> one", "> END", "one", "$ echo \\", ">   two", "two")
    assert examples.faults_in(page) == []
    assert examples.renewed(page) == page


@pytest.mark.parametrize("command", ["curl x", "wayproof --version | ssh x", "true && rm -r x"])
def test_sessions_start_nothing_else(command: str) -> None:
    """What could need a network, or do harm, is refused before it starts."""
    with pytest.raises(ValueError, match="sessions don't start"):
        examples.faults_in(_session(f"$ {command}"))


def test_a_session_begins_with_a_command() -> None:
    """A block that only looks like a session is refused, not passed over."""
    with pytest.raises(ValueError, match="begins with a command"):
        examples.sessions_in(_session("wayproof --version"))


def test_check_of_examples_names_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The check fails by page and line, and writing mends it."""
    page = tmp_path / "README.md"
    page.write_text(_session("$ echo one", "two"))
    assert examples.main(["--check", "--root", str(tmp_path)]) == 1
    assert capsys.readouterr().out.startswith("README.md: line 4: $ echo one")
    assert examples.main(["--root", str(tmp_path)]) == 0
    assert examples.main(["--check", "--root", str(tmp_path)]) == 0


# -- links ----------------------------------------------------------------------------


def _text_without_code(path: Path) -> str:
    return re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


def _anchors(path: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", _text_without_code(path), re.MULTILINE)
    return {anchor(title) for title in titles}


@pytest.mark.parametrize("path", PAGES, ids=_named)
def test_links_lead_somewhere(path: Path) -> None:
    """Every relative link names a file that is there, and a heading in it."""
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", _text_without_code(path)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, heading = target.partition("#")
        file = (path.parent / name).resolve() if name else path
        if not file.exists() or (heading and heading not in _anchors(file)):
            broken.append(target)
    assert broken == []


def test_every_page_is_reached_from_the_readme() -> None:
    """No page is written for nobody: links lead to each."""
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        path = waiting.pop()
        if path in seen or path.suffix != ".md" or not path.is_file():
            continue
        seen.add(path)
        targets = re.findall(r"\]\(([^)\s#]+)[^)\s]*\)", _text_without_code(path))
        waiting += [(path.parent / target).resolve() for target in targets]
    unreached = [_named(path) for path in PAGES if path.resolve() not in seen]
    assert unreached == []


# -- errors ---------------------------------------------------------------------------


def _problems() -> set[str]:
    """Collect the first words of every error that the explained rooms raise."""
    found = set()
    source = ROOT / "src/wayproof"
    for path in sorted(source.rglob("*.py")):
        if not path.relative_to(source).as_posix().startswith(EXPLAINED_ROOMS):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(text)), *_]):
                    if name in {"InputError", "OutputError", "IntegrityError", "WayproofError"}:
                        found.add(re.sub(r"\{(\w+)\}", lambda match: flag_of(match[1]), text))
    return found


def test_every_problem_is_explained() -> None:
    """Whoever meets a message finds it in docs/errors.md, in the same words."""
    page = " ".join((ROOT / "docs/errors.md").read_text("utf-8").split())
    missing = sorted(text for text in _problems() if re.split("[;,(]", text)[0].strip() not in page)
    assert missing == []

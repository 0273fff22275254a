"""Stable ids are paths below the repository root, whatever the machine was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayproof.capture.ids import Roots, parse_map, stable_id
from wayproof.errors import InputError

CASES = [
    # path, working directories, root, maps, id
    ("src/a.py", [], None, [], "src/a.py"),
    ("./src//a.py", [], "/repo", [], "src/a.py"),
    ("/repo/src/a.py", [], "/repo", [], "src/a.py"),
    ("/repo/src/a.py", [], "/repo/", [], "src/a.py"),
    ("../b.py", ["/repo/src"], "/repo", [], "b.py"),
    ("b.py", ["/repo", "src"], "/repo", [], "src/b.py"),
    ("b.py", ["/elsewhere", "/repo/x"], "/repo", [], "x/b.py"),
    ("/repository/a.py", [], "/repo", [], "external:/repository/a.py"),
    ("/etc/hosts", [], "/repo", [], "external:/etc/hosts"),
    ("../../etc/hosts", ["/repo/src"], "/repo", [], "external:/etc/hosts"),
    ("../up.py", [], None, [], "external:../up.py"),
    ("/abs/a.py", [], None, [], "external:/abs/a.py"),
    ("~/notes.md", ["/repo"], "/repo", [], "external:~/notes.md"),
    ("/repo", [], "/repo", [], "."),
    # letter case is kept, backslashes are slashes, drives are roots
    ("SRC/A.py", [], "/repo", [], "SRC/A.py"),
    ("src\\App.cs", [], None, [], "src/App.cs"),
    ("C:\\w\\src\\App.cs", [], "C:\\w", [], "src/App.cs"),
    ("D:\\x\\B.cs", ["C:\\w"], "C:\\w", [], "external:D:/x/B.cs"),
    ("B.cs", ["C:\\w\\src"], "C:\\w", [], "src/B.cs"),
    # container prefixes
    ("/testbed/src/a.py", [], None, ["/testbed="], "src/a.py"),
    ("/testbed2/src/a.py", [], None, ["/testbed="], "external:/testbed2/src/a.py"),
    ("/workspace/app/a.py", [], "/home/me/app", ["/workspace/app=/home/me/app"], "a.py"),
    ("a.py", ["/testbed"], "/testbed", ["/testbed="], "a.py"),
    ("/testbed", [], None, ["/testbed="], "."),
    ("file:///repo/a%20b.py", [], "/repo", [], "a b.py"),
    ("file:///C:/w/a.cs", [], "C:/w", [], "a.cs"),
    ("//repo/a.py", [], "/repo", [], "a.py"),
    ("   ", [], "/repo", [], None),
    ("a\nb", [], "/repo", [], None),
]


@pytest.mark.parametrize(("path", "folders", "root", "maps", "expected"), CASES)
def test_stable_ids(
    path: str, folders: list[str], root: str | None, maps: list[str], expected: str | None
) -> None:
    """Resolve, map, strip the root; outside it the path is kept and marked."""
    roots = Roots(root=root, maps=tuple(parse_map(one) for one in maps))
    assert stable_id(path, folders=folders, roots=roots) == expected


@given(st.text(max_size=40), st.lists(st.text(max_size=20), max_size=3), st.text(max_size=20))
def test_any_path_gives_an_id_or_none(path: str, folders: list[str], root: str) -> None:
    """Whatever a log calls a path, the id is text without a line break, or nothing."""
    found = stable_id(path, folders=folders, roots=Roots(root=root or None))
    assert found is None or (found and "\\" not in found)


@given(st.lists(st.sampled_from(["a", "b", "C", "d.py"]), min_size=1, max_size=5))
def test_the_id_does_not_depend_on_the_folder_it_was_read_from(parts: list[str]) -> None:
    """Absolute or relative to any folder inside: one file, one id."""
    roots = Roots(root="/r")
    wanted = "/".join(parts)
    for depth in range(len(parts)):
        folder = "/r/" + "/".join(parts[:depth])
        rest = "/".join(parts[depth:])
        assert stable_id(rest, folders=[folder], roots=roots) == wanted


@pytest.mark.parametrize("text", ["nothing", "=x", ""])
def test_a_map_needs_both_sides(text: str) -> None:
    """A mapping that says nothing is refused by name."""
    with pytest.raises(InputError, match="FROM=TO"):
        parse_map(text)

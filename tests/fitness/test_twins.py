"""Near twins: ids stay literal, and a difference of spelling is pointed out."""

import pytest

from wayproof.fitness.twins import near_twins


@pytest.mark.parametrize(
    ("wanted", "chosen", "differ_by"),
    [
        ("src/a.py", "./src/a.py", "a leading ./"),
        ("./src/a.py", "src/a.py", "a leading ./"),
        ("src/a.py", "src/./a.py", "a leading ./"),
        ("src/a.py", "src\\a.py", "backslashes"),
        ("src/a.py", "SRC/A.py", "upper and lower case"),
        ("src/my file.py", "src/my%20file.py", "percent-encoding"),
        ("src/caf\u00e9.py", "src/cafe\u0301.py", "Unicode composition"),
        ("src/a.py", "src/a.py ", "white space at an end"),
        ("src/a.py", "src/a.py:12", "a line number"),
        ("src/a.py", "src/a.py:12:5", "a line number"),
        ("src/a.py", "src/a.py:12-20", "a line number"),
        ("src/a.py", "src/a.py#L12-L20", "a line number"),
        ("src/a.py", "src//a.py", "repeated slashes"),
        (
            "src/a.py",
            ".\\SRC\\a.py:3",
            "backslashes, a leading ./, a line number, upper and lower case",
        ),
    ],
)
def test_a_difference_of_spelling_is_named(wanted: str, chosen: str, differ_by: str) -> None:
    """Whoever wrote the surface finds in the name what to change."""
    (twin,) = near_twins([wanted], ["other", chosen])
    assert (twin.missing, twin.selected, ", ".join(twin.differ_by)) == (wanted, chosen, differ_by)


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ("src/a.py", "src/b.py"),
        ("a.py", "src/a.py"),
        ("a:b", "a:c"),
        ("a.py:x", "a.py"),
        ("a", "a"),
    ],
)
def test_other_ids_are_no_twins(wanted: str, chosen: str) -> None:
    """Only spelling makes a twin: no prefix, no name alone, and an id is none of its own."""
    assert list(near_twins([wanted], [chosen])) == []

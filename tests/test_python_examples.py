"""Every Python example of the documentation runs and prints what the page says."""

import re
import tomllib
from pathlib import Path

import pytest
from tools import python_examples
from tools.pages.wheel import description

ROOT = Path(__file__).parents[1]
PAGES = python_examples.pages(ROOT)
OF_OTHERS = {"agentpile"}
"""Packages that an example needs and that are no part of the project's development."""


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_examples_do_what_the_page_says(path: Path) -> None:
    """Sessions print what stands there; programs run."""
    assert python_examples.faults_in(path.read_text("utf-8"), path.name) == []


def test_an_example_is_passed_over_only_for_a_package_of_others() -> None:
    """Whatever can run does; what can't is compiled, and is named here."""
    missing = {
        name
        for path in PAGES
        for example in python_examples.examples_in(path.read_text("utf-8"))
        for name in python_examples.missing_packages(example)
    }
    assert missing <= OF_OTHERS


def test_a_lie_is_found() -> None:
    """Wrong output, an exception and a syntax error are each told with their place."""
    page = "text\n```pycon\n>>> 1 + 1\n3\n```\n```python\nx = 1 / 0\n```\n"
    told = python_examples.faults_in(page, "page.md")
    assert len(told) == 2
    assert "page.md:3" in told[0]
    assert told[1] == "page.md:7: ZeroDivisionError: division by zero"
    with pytest.raises(SyntaxError):
        python_examples.faults_in("```python\nx = = 1\n```\n", "page.md")


def test_blocks_of_a_page_share_a_namespace_and_a_folder() -> None:
    """What one block defines and writes, the next one finds; other pages don't."""
    page = (
        "```python\nopen('f', 'w').close()\nx = 1\n```\n"
        "```pycon\n>>> x\n1\n>>> import os; os.listdir()\n['f']\n```\n"
    )
    assert python_examples.faults_in(page, "page.md") == []
    assert python_examples.faults_in("```python\nx\n```\n", "page.md") != []


def test_first_screen_of_the_readme_has_python() -> None:
    """Right below the command: three lines of Python with their real output."""
    text = (ROOT / "README.md").read_text("utf-8")
    first = python_examples.examples_in(text)[0]
    assert first.kind == "pycon"
    assert first.line < 30
    assert sum(line.startswith(">>> ") for line in first.text.splitlines()) == 3


def test_the_wheels_description_has_no_relative_link() -> None:
    """A package index shows the description alone: nothing leads nowhere."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    text = (ROOT / project["readme"]).read_text("utf-8")
    assert text == description(ROOT / "README.md")
    outside_code = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"\]\((?!https?:)", outside_code) == []
    assert "<!--" not in outside_code
    assert ">>> import wayproof" in text

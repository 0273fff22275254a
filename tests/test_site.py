"""The site: every page has its place, and Sphinx builds it without a warning."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools.pages import site

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DECISIONS = sorted((DOCS / "decisions").glob("[0-9]*.md"))


def test_every_page_has_one_place() -> None:
    """Tutorials, how-to guides, reference and explanation are apart: a page is in one of them."""
    placed = [path for _, paths in site.pages_of(DOCS) for path in paths]
    there = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    assert len(placed) == len(set(placed))
    assert set(placed) == there - {"index"}


def test_a_page_that_is_listed_nowhere_is_an_explanation(tmp_path: Path) -> None:
    """A new page is reached from the overview at once."""
    (tmp_path / "decisions").mkdir()
    (tmp_path / "decisions/0001-x.md").write_text("# 1. X\n")
    (tmp_path / "news.md").write_text("# News\n")
    explanation, paths = site.pages_of(tmp_path)[-1]
    assert explanation.title == "Explanation"
    assert paths[-2:] == ["decisions/0001-x", "news"]


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_decisions_are_headed_alike(path: Path) -> None:
    """A number, a title, the release: one style."""
    title, _, release, *_ = path.read_text("utf-8").splitlines()
    assert re.match(rf"# {int(path.stem[:4])}\. \S", title)
    assert re.match(r"\*Release \d+\.\d+\.\d+\*", release)


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """Links, headings and code blocks hold on the site as they do in the repository."""
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
    done = subprocess.run(
        [*command, "-c", "docs/site", "-b", "html", ".", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "site/index.html").is_file()
    assert (tmp_path / "site/docs/reference/commands/fitness.html").is_file()

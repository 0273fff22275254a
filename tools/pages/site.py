"""The order of the pages: tutorials, how-to guides, reference and explanation, apart.

One table makes both `docs/index.md` and the navigation of the site.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tools.pages.markdown import table

__all__ = ["OUTSIDE", "SECTIONS", "Page", "Section", "body", "pages_of", "toctrees"]

OUTSIDE = ("README", "CONTRIBUTING", "CHANGELOG")
"""Pages of the site that don't lie under ``docs/``."""

_INTRO = """\
# wayproof's documentation

Evidence about two moments of an agent: [its first move](semantics.md), and
[its recovery after a refused action](recovery/semantics.md)."""

_OUTRO = """\
Examples marked as console sessions are run again by the tests, and their output is compared
with what stands here. Pages under `reference/` are made from the code; the tests refuse stale
ones."""


class Page(NamedTuple):
    """A page below ``docs/``, without its suffix, and the question that it answers."""

    path: str
    question: str


class Section(NamedTuple):
    """One of the four kinds of pages.

    Attributes
    ----------
    title
        Its name.
    purpose
        What a reader comes for.
    pages
        The pages, in order.
    folders
        Folders all of whose pages belong here, too.
    """

    title: str
    purpose: str
    pages: tuple[Page, ...]
    folders: tuple[str, ...] = ()


SECTIONS = (
    Section(
        "Tutorials",
        "Learn by doing, from the first command on.",
        (
            Page("tutorial", "How do I score the shipped cases, and then my own?"),
            Page(
                "private/tutorial",
                "How do two parties evaluate an agent that nobody may look into?",
            ),
            Page("python", "How do I score, run and verify from a script or a notebook?"),
            Page(
                "capture/from-logs-to-scores",
                "How do I make packets from the sessions I have?",
            ),
        ),
    ),
    Section(
        "How-to guides",
        "Reach one goal.",
        (
            Page("report/report", "How do I look at a result, and at one task or trial?"),
            Page(
                "report/explorer",
                "How do I watch a recovery, or check a bundle without installing anything?",
            ),
            Page(
                "capture/five-minutes", "How does an untidy folder of my own become a scored table?"
            ),
            Page("capture/tasks-without-typing", "How do I get tasks without typing ids?"),
            Page("capture/adding-a-format", "How do I have another agent's logs read?"),
            Page("capture/data-sets", "How do I score the runs of a public data set?"),
            Page("capture/trec", "How do I score a ranked list, or hand tasks to trec_eval?"),
            Page("compare/gate-in-ci", "May this change land?"),
            Page("compare/gitlab", "How do I gate a merge request on GitLab?"),
            Page("recovery/agents", "How do I put my own agent in the controls' place?"),
            Page("recovery/reproducibility", "How do I get the published bytes again?"),
            Page("errors", "What does this message mean, and how do I mend its cause?"),
        ),
    ),
    Section(
        "Reference",
        "Look something up. Made from the code.",
        (
            Page("reference/index", "Commands, Python, records, failure kinds, rooms."),
            Page("capture/formats", "Which log formats are read, and what can't each know?"),
            Page("recovery/bundle", "What stands in the files of a run?"),
        ),
        ("reference",),
    ),
    Section(
        "Explanation",
        "Understand what the numbers mean, and why it is so.",
        (
            Page("semantics", "What exactly does each number of a score mean?"),
            Page("verify", "What does `wayproof verify` believe, and what can't it see?"),
            Page("compare/statistics", "How is it told that something got better or worse?"),
            Page("recovery/semantics", "What happens in a trial?"),
            Page(
                "rejections/semantics",
                "What did agents do after rejected calls in their logs, and how do we know?",
            ),
            Page("recovery/taxonomy", "Which actions are rejected, and why these three kinds?"),
            Page("recovery/exact-cost", "Why is arriving not enough?"),
            Page("recovery/certificate", "How is an optimum checked without a search?"),
            Page("recovery/calibration", "Where do the suite's parameters come from?"),
            Page("recovery/limits", "What does a result not show?"),
            Page("private/threat-model", "What does a private result show, and to whom?"),
            Page("recovery/performance", "How fast are runs and checks?"),
            Page("capture/semantics", "How is a log cut into a packet?"),
            Page("capture/study", "What had 500 public runs read before their first edit?"),
            Page("prior-art", "Where do the ideas come from?"),
            Page("benchmarks", "How fast is it, and how was that measured?"),
            Page("scale", "How is a scoring shared between machines, and merged?"),
            Page("architecture", "How is the code laid out, and what holds it so?"),
            Page("decisions/README", "Why is it built so? One note a choice."),
        ),
        ("decisions",),
    ),
)


def pages_of(docs: Path) -> list[tuple[Section, list[str]]]:
    """Return each section with all its pages; one that is listed nowhere is an explanation."""
    found = {path.relative_to(docs).with_suffix("").as_posix() for path in docs.rglob("*.md")}
    found.discard("index")
    listed = {page.path for section in SECTIONS for page in section.pages}
    left = found - listed
    sections = []
    for section in SECTIONS:
        prefixes = tuple(f"{folder}/" for folder in section.folders)
        more = sorted(path for path in left if prefixes and path.startswith(prefixes))
        left -= set(more)
        sections.append((section, [*(page.path for page in section.pages), *more]))
    sections[-1][1].extend(sorted(left))
    return sections


def body(docs: Path, made: Mapping[str, str]) -> str:
    """Return the overview: a table a section; ``made`` has the generated pages by path."""
    parts = [_INTRO]
    for section, paths in pages_of(docs):
        questions = {page.path: page.question for page in section.pages}
        rows = [
            [f"[{_title(docs, path, made)}]({path}.md)", questions.get(path, "")]
            for path in paths
            if path in questions or not path.startswith(tuple(section.folders) or ("/",))
        ]
        parts += [f"## {section.title}", section.purpose, table(["page", "question"], rows)]
    return "\n\n".join([*parts, _OUTRO])


def _title(docs: Path, path: str, made: Mapping[str, str]) -> str:
    text = made.get(f"{path}.md") or (docs / f"{path}.md").read_text("utf-8")
    return next((line[2:].strip() for line in text.splitlines() if line.startswith("# ")), path)


def toctrees(root: Path) -> str:
    """Return the site's navigation in MyST, hidden: the overview's tables show the same."""
    return "\n" + "\n".join(_trees(root))


def _trees(root: Path) -> Iterator[str]:
    for section, paths in pages_of(root / "docs"):
        entries = "\n".join(f"/docs/{path}" for path in paths)
        yield f"```{{toctree}}\n:hidden:\n:caption: {section.title}\n\n{entries}\n```\n"
    entries = "\n".join(f"/{name}" for name in OUTSIDE)
    yield f"```{{toctree}}\n:hidden:\n:caption: Project\n\n{entries}\n```\n"

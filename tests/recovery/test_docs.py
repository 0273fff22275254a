"""The recovery pages say what the code does: numbers, tables and commands are held to it."""

import re
import shlex
from pathlib import Path

import msgspec
import pytest

from wayproof.canonical import Record
from wayproof.cli import build_parser
from wayproof.evidence.recovery_names import (
    AGENT_OUTCOMES,
    CHECKS,
    LIMITS,
    SUITE_RULES,
    UNDETECTABLE,
)
from wayproof.evidence.recovery_records import (
    GridRecord,
    Result,
    ScenarioRecord,
    Step,
    SuiteHeader,
    Trace,
)
from wayproof.recovery.display import summary_table
from wayproof.recovery.suite import PINNED_SUITES, REFERENCE_RESULTS_SHA256
from wayproof.recovery.summary import IntervalRecord, PolicySummary, Stratum, Summary

DOCS = Path(__file__).parents[2] / "docs" / "recovery"
PAGES = sorted(DOCS.glob("*.md"))


def flat(name: str) -> str:
    return " ".join((DOCS / name).read_text("utf-8").split())


def test_the_limits_page_holds_every_limit() -> None:
    """Word for word, as they travel in manifest and summary."""
    for limit in LIMITS:
        assert f"- {limit}" in flat("limits.md")


def test_the_semantics_page_holds_every_check_in_order() -> None:
    """The table of checks is the verifier's own list."""
    page = flat("semantics.md")
    places = [page.index(f"| `{check.name}` | {check.meaning} |") for check in CHECKS]
    assert places == sorted(places)


def test_rules_and_outcomes_are_told_in_their_own_words() -> None:
    """Rules of suites, outcomes of agents and what can't be detected are one list each."""
    page = flat("taxonomy.md")
    for row in (*SUITE_RULES, *AGENT_OUTCOMES):
        assert f"| `{row.name}` | {row.meaning} |" in page
    for kind in UNDETECTABLE:
        assert f"- {kind.meaning}" in flat("agents.md")


def test_digests_are_the_pinned_ones() -> None:
    """Every SHA-256 on these pages is a pin, and every pin is on them."""
    found = {
        digest
        for page in PAGES
        for digest in re.findall(r"\b[0-9a-f]{64}\b", page.read_text("utf-8"))
    }
    assert found == {REFERENCE_RESULTS_SHA256, *PINNED_SUITES.values()}


def test_the_table_of_results_is_the_summary(official_bundle: Path) -> None:
    """Ours beside the published numbers, as the reference run gives them."""
    summary = msgspec.json.decode((official_bundle / "summary.json").read_bytes(), type=Summary)
    readme = " ".join((DOCS.parents[1] / "README.md").read_text("utf-8").split())
    page = flat("limits.md")
    for policy, completed, verified, published in summary_table(summary)[1:]:
        row = f"| {policy} | {published} | {completed} | {verified} |"
        assert row in page
        assert row in readme
    assert readme.count(f"`{REFERENCE_RESULTS_SHA256}`") == 1


@pytest.mark.parametrize(
    "record",
    [
        GridRecord,
        IntervalRecord,
        PolicySummary,
        Result,
        ScenarioRecord,
        Step,
        Stratum,
        SuiteHeader,
        Summary,
        Trace,
    ],
)
def test_the_bundle_page_names_every_key(record: type[Record]) -> None:
    """An independent reader finds each key of each file there."""
    page = flat("bundle.md")
    assert [key for key in record.__struct_fields__ if f"`{key}`" not in page] == []


def test_the_worked_grid_is_the_tested_one() -> None:
    """The certificate page's potentials are those that the tests certify."""
    golden = (Path(__file__).parents[1] / "golden" / "recovery" / "suite.jsonl").read_text("utf-8")
    assert '"potentials":[[8,9,4,1],[7,null,1,0],[6,3,2,1],[5,4,3,2]]' in golden
    page = (DOCS / "certificate.md").read_text("utf-8")
    for row in ("8  9  4  1", "7  -  1  0", "6  3  2  1", "5  4  3  2"):
        assert row in page


COMMANDS = [
    line.strip()
    for page in PAGES
    for line in page.read_text("utf-8").splitlines()
    if line.strip().startswith("wayproof ")
]


@pytest.mark.parametrize("line", sorted(set(COMMANDS)))
def test_documented_commands_parse(line: str) -> None:
    """Every command on these pages is one that the program takes."""
    words = shlex.split(line)[1:]
    assert build_parser(words[0]).parse_args(words).command == words[0]

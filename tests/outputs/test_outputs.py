"""Markdown, JUnit and CSV: valid, bounded, and hostile text stays text."""

import csv
import io
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import RunWayproof, write_lines
from wayproof.outputs.csv_rows import RESULT_COLUMNS, csv_lines, safe_cell
from wayproof.outputs.junit import JUnitCase, junit_lines, results_junit, xml_text
from wayproof.outputs.markdown import MOST_CHARS, safe_markdown, scored_markdown

HOSTILE = [
    "<script>alert(1)</script>",
    "a]]>b&c\"d'e",
    "\x00\x1b[31mred\x07",
    "\ufffe\uffff\x85\x9f",
    "=HYPERLINK(1)",
    "+1|2",
    "-@cmd",
    "\ttab",
    "\rcr",
    "@everyone #1 [x](http://y)",
    "| cell | `code` | *b*",
    "line\nbreak",
    "é 漢字 🙂",
]


def _rows(ids: list[str]) -> list[dict[str, Any]]:
    kinds = [None, "route_timeout", "route_error", "missing_id", "weak_scent", "forbidden_route"]
    statuses = ["pass", "fail", "timeout", "unmeasured"]
    return [
        {
            "task_id": one,
            "family": one,
            "route_type": "search",
            "sufficiency_failure_kind": kinds[at % 6],
            "sufficiency_status": "fail" if kinds[at % 6] else "pass",
            "latency_status": statuses[at % 4],
            "latency_budget_ms": 100,
            "wall_ms": 120.5 if at % 4 < 2 else None,
            "missing_expected_artifacts": [one],
            "error": one,
        }
        for at, one in enumerate(ids)
    ]


def _document(rows: list[dict[str, Any]]) -> str:
    return "".join(junit_lines(results_junit("suite <&>", rows)))


def test_junit_is_valid_against_the_schema() -> None:
    """The xunit schema of Jenkins' plugin, written out in the tests."""
    xmlschema = pytest.importorskip("xmlschema")
    schema = xmlschema.XMLSchema(str(Path(__file__).with_name("junit.xsd")))
    schema.validate(_document(_rows(HOSTILE)))


def test_junit_shows_hostile_ids_as_text() -> None:
    """Each id reads back as itself, what XML forbids spelled out."""
    root = ET.fromstring(_document(_rows(HOSTILE)))
    names = [case.get("name") for case in root.iter("testcase")]
    assert names[: len(HOSTILE)] == [
        "<script>alert(1)</script>",
        "a]]>b&c\"d'e",
        "\\x00\\x1b[31mred\\x07",
        "\\ufffe\\uffff\x85\\x9f",
        *HOSTILE[4:],
    ]
    assert root.find("testsuite/testcase/script") is None


def test_junit_tells_errors_from_failures() -> None:
    """Timeouts and route errors are errors; latency has a suite of its own."""
    sufficiency, latency = ET.fromstring(_document(_rows([f"t{n}" for n in range(6)])))
    outcomes = [[child.tag for child in case] for case in sufficiency]
    assert outcomes == [[], ["error"], ["error"], ["failure"], ["failure"], ["failure"]]
    assert (sufficiency.get("errors"), sufficiency.get("failures")) == ("2", "3")
    assert [[child.tag for child in case] for case in latency] == [
        [],
        ["failure"],
        ["error"],
        ["skipped"],
        [],
        ["failure"],
    ]


@given(st.text())
def test_any_text_makes_well_formed_xml(text: str) -> None:
    """Lone surrogates and noncharacters too."""
    case = JUnitCase(text, text, "failure", "kind", text)
    lines = "".join(junit_lines({text: [case]}))
    root = ET.fromstring(lines.encode("utf-8"))
    found = root.find("testsuite/testcase")
    assert found is not None
    assert len(found) == 1


def test_lone_surrogates_are_spelled_out() -> None:
    """They have no UTF-8 form."""
    assert xml_text("a\ud800b") == "a\\ud800b"


def test_csv_cells_are_no_formulas() -> None:
    """A leading = + - @ TAB CR gets an apostrophe; numbers stay numbers."""
    assert [safe_cell(one) for one in HOSTILE[4:9]] == [f"'{one}" for one in HOSTILE[4:9]]
    assert [safe_cell(one) for one in (-1.5, None, True, ["=x"], "a=b")] == [
        "-1.5",
        "",
        "true",
        '["=x"]',
        "a=b",
    ]


def test_csv_reads_back() -> None:
    """One row a result, quotes and line breaks included."""
    text = "".join(csv_lines(RESULT_COLUMNS, _rows(HOSTILE)))
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["task_id"].removeprefix("'") for row in rows] == HOSTILE


def _record(count: int) -> dict[str, Any]:
    return {
        "suite": "s",
        "summary": {
            "task_count": count,
            "sufficiency_pass_count": 0,
            "failure_kind_counts": {"missing_id": count},
            "latency_pass_count": 0,
            "latency_fail_count": 0,
            "latency_unmeasured_count": count,
            "mean_recall_at_packet": 0.5,
            "mean_precision_at_packet": None,
            "mean_scent_coverage": None,
        },
    }


def test_markdown_is_bounded_and_folded() -> None:
    """Under 65,000 characters with 20,000 failing tasks of long ids; the rest is counted."""
    rows = [
        {"task_id": f"{number}-{'<x>' * 60}", "sufficiency_failure_kind": "missing_id"}
        for number in range(20_000)
    ]
    text = scored_markdown(_record(20_000), rows, ["gate FAIL: x"])
    assert len(text) < MOST_CHARS
    assert text.count("<details>") == text.count("</details>") == 1
    assert re.search(r"… and \d+ more", text)


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_escapes(text: str) -> None:
    """No id opens a tag, a cell, a link, a mention, code or emphasis."""
    shown = safe_markdown(text)
    assert not re.search(r"[<>|`*\[\]@\n\r\t]|(?<!&)#", shown)


def test_fixtures_take_every_format(wayproof: RunWayproof, tmp_path: Path) -> None:
    """The shipped cases, in all forms at once."""
    ran = wayproof(
        *("fitness", "evaluate-fixtures", "--builtin", "--format", "junit=cases.xml"),
        *("--format", "csv=cases.csv", "--format", "json=cases.json", "--format", "markdown"),
        cwd=tmp_path,
    )
    assert ran.status == 0
    assert ran.out.startswith("## 4 of 4 cases met")
    assert ET.parse(tmp_path / "cases.xml").getroot()[0].get("tests") == "4"
    assert len((tmp_path / "cases.csv").read_text("utf-8").splitlines()) == 6  # one has two tasks


@pytest.mark.parametrize("formats", [["yaml"], ["json="], ["json", "csv"]])
def test_formats_are_read_strictly(
    wayproof: RunWayproof, tmp_path: Path, formats: list[str]
) -> None:
    """An unknown form, no file, or two for stdout."""
    tasks = write_lines(tmp_path / "t.jsonl", [{"task_id": "a", "expected_artifacts": ["x"]}])
    packets = write_lines(tmp_path / "p.jsonl", [{"task_id": "a"}])
    asked = [part for one in formats for part in ("--format", one)]
    ran = wayproof("fitness", "score", "--tasks", tasks, "--packets", packets, *asked)
    assert (ran.status, ran.out) == (2, "")

"""A pytest plugin: case files as test items, and scoring as a fixture.

Off unless configured. In the project's pytest configuration::

    [tool.pytest.ini_options]
    wayproof_cases = ["cases/*.json"]

Each case file that a pattern covers is then an item with the mark ``wayproof``; it fails with
what was expected and observed. Patterns are relative to the root folder; ``*`` also covers
folders. The fixture ``wayproof_score`` scores tasks and packets in a test of one's own.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import pytest

__all__ = ["CaseFile", "CaseItem", "ScoreInTest", "wayproof_score"]

_SETTING = "wayproof_cases"
_MARK = "wayproof"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the setting that turns the plugin on."""
    parser.addini(_SETTING, "wayproof case files, as patterns below the root folder", type="args")


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark that case files carry."""
    config.addinivalue_line("markers", f"{_MARK}: a case file of wayproof")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "CaseFile | None":
    """Collect a file that a configured pattern covers."""
    patterns = parent.config.getini(_SETTING)
    if not patterns or not file_path.is_relative_to(parent.config.rootpath):
        return None
    place = file_path.relative_to(parent.config.rootpath).as_posix()
    if not any(fnmatchcase(place, pattern) for pattern in patterns):
        return None
    collected: CaseFile = CaseFile.from_parent(parent, path=file_path)
    return collected


class CaseFile(pytest.File):
    """One case file; it holds one item."""

    def collect(self) -> Iterator["CaseItem"]:
        """Yield the case."""
        item: CaseItem = CaseItem.from_parent(self, name=self.path.stem)
        item.add_marker(_MARK)
        yield item


class CaseUnmetError(Exception):
    """A case's expectation is not met."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        super().__init__(case["case_id"])
        self.case = case


class CaseItem(pytest.Item):
    """One case: it passes when its expectation is met."""

    def runtest(self) -> None:
        """Judge the case's packets and hold the result against what it expects."""
        from wayproof.fitness import evaluate_case
        from wayproof.strict_json import read_document

        case = evaluate_case(
            read_document(self.path), path=self.path.name, default_case_id=self.path.stem
        )
        if not case["expectation_met"]:
            raise CaseUnmetError(case)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Say what was expected and what was observed, a line each."""
        from wayproof.errors import InputError

        if isinstance(excinfo.value, CaseUnmetError):
            return "\n".join(_differences(excinfo.value.case))
        if isinstance(excinfo.value, InputError):
            return f"{self.path}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return where the case stands, and its name."""
        return self.path, None, f"case {self.name}"


def _differences(case: Mapping[str, Any]) -> Iterator[str]:
    from wayproof.text import clip, harmless

    yield f"case {harmless(clip(case['case_id'], 200))}: the expectation is not met"
    if case["expected_status"] != case["observed_status"]:
        yield from _difference("status", case["expected_status"], case["observed_status"])
    named = [(name, check) for name, check in case["summary_checks"].items()]
    named += [
        (f"{task_id}.{name}", check)
        for task_id, fields in case["task_checks"].items()
        for name, check in fields.items()
    ]
    for name, check in named:
        if not check["ok"]:
            yield from _difference(name, check["expected"], check["observed"])
            if "why" in check:
                yield f"      {check['why']}"
    if (
        all(check["ok"] for _, check in named)
        and case["expected_status"] == case["observed_status"]
    ):
        yield "  the case states no expectation, so it could not fail"


def _difference(name: str, expected: Any, observed: Any) -> Iterator[str]:
    from wayproof.text import clip, harmless

    yield f"  {harmless(clip(name, 200))}"
    for sign, value in (("-", expected), ("+", observed)):
        shown = harmless(clip(json.dumps(value, ensure_ascii=False), 1000))
        yield f"    {sign} {shown} {'(expected)' if sign == '-' else '(observed)'}"


class ScoreInTest(NamedTuple):
    """What scoring in a test gives: the suite's summary, its results and its debts."""

    summary: dict[str, Any]
    results: list[dict[str, Any]]
    debts: list[dict[str, Any]]


Rows = Iterable[Mapping[str, Any]] | Path | str


@pytest.fixture
def wayproof_score(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Rows, Rows], ScoreInTest]:
    """Score packets against tasks, each a file's path or rows.

    Returns
    -------
    callable
        ``wayproof_score(tasks, packets)``; it gives a :class:`ScoreInTest`.
    """

    def score_rows(tasks: Rows, packets: Rows) -> ScoreInTest:
        from wayproof.evidence.fitness_names import DEBTS_NAME, RESULTS_NAME
        from wayproof.fitness.score import ScoreRequest, score

        folder = tmp_path_factory.mktemp("wayproof")
        request = ScoreRequest(
            tasks=_file(tasks, folder / "tasks.jsonl"),
            packets=_file(packets, folder / "packets.jsonl"),
        )
        record = score(request, folder / "bundle")
        results, debts = (
            [json.loads(line) for line in (folder / "bundle" / name).read_bytes().splitlines()]
            for name in (RESULTS_NAME, DEBTS_NAME)
        )
        return ScoreInTest(record["summary"], results, debts)

    return score_rows


def _file(rows: Rows, place: Path) -> Path:
    if isinstance(rows, (str, Path)):
        return Path(rows)
    place.write_text("".join(f"{json.dumps(dict(row))}\n" for row in rows), "utf-8")
    return place

"""Gates on a comparison, tasks that must pass, and where their defaults come from."""

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from compare_bundles import MakeBundle, packets_of, tasks_of
from conftest import RunWayproof, write_lines
from wayproof.compare import CompareRequest, compare_bundles
from wayproof.errors import InputError
from wayproof.evidence.comparison_records import Comparison
from wayproof.fitness.score import ScoreRequest, score
from wayproof.gates.comparison import ComparisonGates, comparison_gates, parse_drop
from wayproof.gates.must_pass import must_pass_gates, read_passed, read_wanted
from wayproof.measures.means import sufficiency_figures

_NOTHING = {"expected_artifacts": ["x"]}


@pytest.fixture
def comparison(make_bundle: MakeBundle) -> Comparison:
    """Twenty tasks, of which one got worse."""
    tasks = tasks_of(20, families=20)
    packets = packets_of(tasks)
    base = make_bundle("base", tasks, packets)
    packets[7]["selected_artifacts"] = ["a7"]
    found = compare_bundles(base, make_bundle("new", tasks, packets), CompareRequest())
    assert isinstance(found, Comparison)
    return found


def _states(comparison: Comparison, *drops: str, fail_on: tuple[str, ...] = ()) -> list[str]:
    gates = ComparisonGates(fail_on=fail_on, max_drop=tuple(map(parse_drop, drops)))
    return [line.state for line in comparison_gates(comparison, gates)]


def _with_interval(comparison: Comparison, low: float, high: float) -> Comparison:
    rows = [
        msgspec.structs.replace(row, low=low, high=high) if row.name == "recall" else row
        for row in comparison.measures
    ]
    return msgspec.structs.replace(comparison, measures=rows)


def test_new_debts_fail(comparison: Comparison) -> None:
    """One new sufficiency debt fails; no new latency debt passes; how much is measured is told."""
    gates = ComparisonGates(fail_on=("new-sufficiency-debt", "new-latency-debt"))
    first, second = comparison_gates(comparison, gates)
    assert (first.state, first.value) == ("fail", 1)
    assert first.line == (
        "gate FAIL: fail-on new-sufficiency-debt: 1 new, 20 measured, 0 not (bound: no new debt)"
    )
    assert second.state == "pass"


@pytest.mark.parametrize(
    ("low", "high", "state"),
    [
        (-0.05, -0.0201, "fail"),
        (-0.05, -0.02, "undecided"),
        (-0.0201, 0.1, "undecided"),
        (-0.02, 0.1, "pass"),
        (0.01, 0.1, "pass"),
    ],
)
def test_three_states_of_a_drop(
    comparison: Comparison, low: float, high: float, state: str
) -> None:
    """Wholly beyond the bound fails, wholly within passes, anything else is undecided."""
    assert _states(_with_interval(comparison, low, high), "recall=0.02") == [state]


def test_an_undecided_gate_says_what_it_could_have_shown(comparison: Comparison) -> None:
    """Its line names the detectable difference, and what it counts as."""
    gates = ComparisonGates(max_drop=(parse_drop("recall=0.001"),), undecided="fail")
    (line,) = comparison_gates(comparison, gates)
    assert line.state == "undecided"
    assert line.line.startswith("gate undecided (counts as fail): max-drop recall: -0.0250 [")
    assert "would have shown" in line.line


def test_a_drop_without_pairs_fails(comparison: Comparison) -> None:
    """No usable pair is no pass; a measure that wasn't compared is refused by name."""
    (line,) = comparison_gates(comparison, ComparisonGates(max_drop=(parse_drop("scent=0.1"),)))
    assert line.state == "fail"
    with pytest.raises(InputError, match="not compared"):
        _states(comparison, "nDCG@10=0.1")


def test_lost_measurements_leave_latency_undecided(make_bundle: MakeBundle) -> None:
    """Times that only the base has: neither the quantile nor new debts can be told."""
    tasks = tasks_of(12, families=12)
    packets = packets_of(tasks)
    base = make_bundle("base", tasks, packets)
    for packet in packets[:2]:
        del packet["wall_ms"]
    found = compare_bundles(base, make_bundle("new", tasks, packets))
    assert isinstance(found, Comparison)
    names = ("new-latency-debt",)
    assert _states(found, "censored_p95=10", fail_on=names) == ["undecided", "undecided"]
    found = compare_bundles(base, make_bundle("none", tasks, packets_of(tasks, wall_ms=None)))
    assert isinstance(found, Comparison)
    assert _states(found, "censored_p95=10", fail_on=names) == ["fail", "fail"]


@pytest.mark.parametrize(
    "text", ["recall", "=0.1", "recall=", "recall=-1", "recall=x", "recall=1/0"]
)
def test_bounds_are_read_strictly(text: str) -> None:
    """A measure, an equals sign, and a number from 0."""
    with pytest.raises(InputError):
        parse_drop(text)


def test_must_pass(make_bundle: MakeBundle, tmp_path: Path) -> None:
    """By pattern or by a file of ids; absent and vacuous ones are no pass."""
    tasks = [*tasks_of(12), {"task_id": "nothing", "expected_artifacts": []}]
    packets = packets_of(tasks[:12])
    packets[3]["selected_artifacts"] = []
    packets.append({"task_id": "nothing", "selected_artifacts": ["x"]})
    results = make_bundle("one", tasks, packets) / "results.jsonl"
    ids = tmp_path / "ids.txt"
    ids.write_text("t001\nt002\n\n", "utf-8")
    bad = tmp_path / "bad.txt"
    bad.write_text("t001\ngone\n", "utf-8")
    wanted = ["t00[0-2]", "t0*", str(ids), str(bad), "noth*", "zzz*"]
    lines = must_pass_gates(read_wanted(wanted), read_passed(results))
    assert [line.state for line in lines] == ["pass", "fail", "pass", "fail", "fail", "fail"]
    assert "t003 (missing_id)" in lines[1].line
    assert "gone (no result)" in lines[3].line
    assert "nothing (vacuous)" in lines[4].line
    assert "covers no task" in lines[5].line


def _files(make_bundle: MakeBundle, worse: int) -> tuple[Path, Path]:
    tasks = tasks_of(20, families=20)
    packets = packets_of(tasks)
    base = make_bundle("base", tasks, packets)
    for packet in packets[:worse]:
        packet["selected_artifacts"] = []
    return base, make_bundle("new", tasks, packets)


def test_the_command_gates(make_bundle: MakeBundle, wayproof: RunWayproof) -> None:
    """Identical bundles pass every gate; one task worse leaves with 1, one line a gate."""
    base, new = _files(make_bundle, 1)
    gates = [
        *("--fail-on", "new-sufficiency-debt,new-latency-debt", "--max-drop", "recall=0.02"),
        *("--max-drop", "censored_p95=0", "--min-sufficient", "90%", "--must-pass", "t01*"),
        *("--max-debts", "latency=0", "--undecided", "fail"),
    ]
    same = wayproof("compare", base, base, *gates)
    assert (same.status, same.out.count("gate pass: ")) == (0, 7)
    ran = wayproof("compare", base, new, "--fail-on", "new-sufficiency-debt")
    assert ran.status == 1
    assert "+1 new −0 paid" in ran.out
    assert "gate FAIL: fail-on new-sufficiency-debt: 1 new" in ran.out
    undecided = wayproof("compare", base, new, "--max-drop", "recall=0.01")
    assert undecided.status == 0
    assert "gate undecided (counts as pass)" in undecided.out
    assert wayproof("compare", base, new, "--max-drop", "recall=0.01", *gates[-2:]).status == 1


def test_settings_are_found_upward_and_the_command_line_wins(
    make_bundle: MakeBundle, wayproof: RunWayproof, tmp_path: Path
) -> None:
    """Defaults with their origin said; an option on the command line replaces them."""
    base, new = _files(make_bundle, 3)
    (tmp_path / "wayproof.toml").write_text(
        '[gates]\nmin-sufficient = "100%"\nmax-drop = {recall = 0.5}\nundecided = "fail"\n'
        '[measures]\nnames = ["recall", "RR"]\ncluster = "task"\n',
        "utf-8",
    )
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    ran = wayproof("compare", base, new, cwd=deep)
    assert ran.status == 1
    assert f"from {tmp_path / 'wayproof.toml'}" in ran.err
    assert "gate FAIL: min-sufficient" in ran.out
    assert "gate pass: max-drop recall" in ran.out
    assert "RR" in ran.out
    assert wayproof("compare", base, new, "--min-sufficient", "50%", cwd=deep).status == 0
    assert "gate" not in wayproof("compare", base, new, "--no-config", cwd=deep).out
    other = tmp_path / "other.toml"
    other.write_text('[gates]\nmust-pass = "t01*"\n', "utf-8")
    ran = wayproof("compare", base, new, "--config", other, cwd=deep)
    assert ran.out.rstrip().splitlines()[-1].startswith("gate pass: must-pass t01*")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[gate]\n", "not a table of settings"),
        ("[gates]\nmin-suficient = '1'\n", "not a setting"),
        ("[gates]\nmin-sufficient = 1\n", "not a value"),
        ("[gates]\nmax-drop = ['x']\n", "not a value"),
        ("[gates]\nundecided = 'maybe'\n", "not an outcome"),
        ("gates = 3\n", "not a table"),
        ("[gates\n", "not TOML"),
    ],
)
def test_settings_are_read_strictly(
    make_bundle: MakeBundle, wayproof: RunWayproof, tmp_path: Path, text: str, said: str
) -> None:
    """A misspelt key or a wrong type never leaves a gate out silently."""
    tasks = tasks_of(6)
    base = make_bundle("base", tasks, packets_of(tasks))
    (tmp_path / "wayproof.toml").write_text(text, "utf-8")
    ran = wayproof("compare", base, base, cwd=tmp_path)
    assert (ran.status, ran.out) == (2, "")
    assert said in ran.err


def test_score_takes_measures_gates_and_formats(
    wayproof: RunWayproof, make_bundle: MakeBundle, tmp_path: Path
) -> None:
    """Without a bundle of its own, several forms at once, and the gate's status."""
    tasks = tasks_of(6)
    packets = packets_of(tasks)
    packets[0]["selected_artifacts"] = []
    make_bundle("one", tasks, packets)
    inputs = tmp_path / "one-inputs"
    ran = wayproof(
        *("fitness", "score", "--tasks", inputs / "tasks.jsonl"),
        *("--packets", inputs / "packets.jsonl", "--measures", "RR R@2", "--must-pass", "t*"),
        *("--format", "json", "--format", "csv=rows.csv", "--format", "markdown=page.md"),
        cwd=tmp_path,
    )
    assert ran.status == 1
    document = json.loads(ran.out)
    assert [one["name"] for one in document["measures"]] == ["RR", "R@2"]
    assert document["measures"][0]["mean"] == pytest.approx(5 * 0.5 / 6)
    assert "gate FAIL: must-pass t*: 5 of 6 tasks" in ran.err
    assert len((tmp_path / "rows.csv").read_text("utf-8").splitlines()) == 7
    assert "5 of 6 sufficient" in (tmp_path / "page.md").read_text("utf-8")


def test_capture_takes_its_table(wayproof: RunWayproof, tmp_path: Path) -> None:
    """Defaults of capture's own; an option that is given wins, also one that is the default."""
    log = tmp_path / "run.jsonl"
    calls = [{"id": "1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]
    log.write_text(json.dumps([{"role": "assistant", "tool_calls": calls}]), "utf-8")
    (tmp_path / "wayproof.toml").write_text(
        '[capture]\nselect = "listed"\nrepo-root = "/app"\n', "utf-8"
    )
    said = wayproof("capture", log, cwd=tmp_path).err
    assert f"settings: capture.select, capture.repo-root from {tmp_path}" in said
    said = wayproof("capture", log, "--select", "read", cwd=tmp_path).err
    assert "settings: capture.repo-root from" in said
    (tmp_path / "wayproof.toml").write_text('[capture]\nselect = "all"\n', "utf-8")
    assert wayproof("capture", log, cwd=tmp_path).status == 2


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_tables_fit_the_terminal(
    make_bundle: MakeBundle, wayproof: RunWayproof, columns: int
) -> None:
    """No line but a gate's is wider than the terminal, with long ids and every measure."""
    tasks = [
        {**task, "task_id": f"{task['task_id']}-{'long' * 40}", "family": f"f{at}" * 30}
        for at, task in enumerate(tasks_of(12))
    ]
    packets = packets_of(tasks)
    base = make_bundle("base", tasks, packets)
    for packet in packets[::2]:
        packet["selected_artifacts"] = []
        packet["timed_out"] = True
    new = make_bundle("new", tasks, packets)
    ran = wayproof(
        *("compare", base, new, base, "--needed", "0.1", "--measures"),
        "recall precision censored_p50 censored_p95 R@20 nDCG@10 Success@1 Judged@10",
        env={"COLUMNS": str(columns)},
    )
    assert ran.status == 0
    assert max(map(len, ran.out.splitlines())) <= columns


@pytest.mark.parametrize("bound", ["1e999", "1e1000000000", "9" * 5000, "1/0", "1_0", ""])
def test_a_bound_that_no_double_holds_is_refused(bound: str) -> None:
    """A typing slip is unusable input: no crash, which would look like a failed gate, no wait."""
    with pytest.raises(InputError, match="not a bound on a drop"):
        parse_drop(f"recall={bound}")


def test_a_percentage_is_a_hundredth() -> None:
    """``2%`` and ``0.02`` are one bound."""
    assert parse_drop("R@20=2%").bound == parse_drop("R@20=0.02").bound
    assert parse_drop("recall=1/3").bound * 3 == 1


@pytest.mark.parametrize("option", ["--fail-on", "--measures"])
def test_an_empty_list_is_refused(
    make_bundle: MakeBundle, wayproof: RunWayproof, option: str
) -> None:
    """A variable that CI left empty never drops a gate without a word."""
    tasks = tasks_of(6)
    base = make_bundle("base", tasks, packets_of(tasks))
    ran = wayproof("compare", base, base, option, " , ")
    assert (ran.status, ran.out) == (2, "")
    assert f"{option}: names nothing" in ran.err


def test_settings_name_files_beside_them(
    make_bundle: MakeBundle, wayproof: RunWayproof, tmp_path: Path
) -> None:
    """A list of ids is found from any folder; a file there can't stand in for a pattern."""
    tasks = tasks_of(6)
    base = make_bundle("base", tasks, packets_of(tasks))
    (tmp_path / "wayproof.toml").write_text('[gates]\nmust-pass = ["ids.txt", "t*"]\n', "utf-8")
    (tmp_path / "ids.txt").write_text(f"{tasks[0]['task_id']}\n", "utf-8")
    deep = tmp_path / "a"
    deep.mkdir()
    (deep / "ids.txt").write_text("nobody\n", "utf-8")
    (deep / "t*").write_text(f"{tasks[0]['task_id']}\n", "utf-8")
    ran = wayproof("compare", base, base, cwd=deep)
    assert ran.status == 0
    assert ran.out.rstrip().splitlines()[-2:] == [
        "gate pass: must-pass ../ids.txt: 1 of 1 tasks (bound: all)",
        "gate pass: must-pass t*: 6 of 6 tasks (bound: all)",
    ]


def test_two_formats_to_one_file_are_refused(
    make_bundle: MakeBundle, wayproof: RunWayproof, tmp_path: Path
) -> None:
    """One would replace the other without a word."""
    tasks = tasks_of(6)
    base = make_bundle("base", tasks, packets_of(tasks))
    place = tmp_path / "told"
    ran = wayproof("compare", base, base, "--format", f"json={place}", "--format", f"csv={place}")
    assert (ran.status, ran.out) == (2, "")
    assert "two formats can't both go to one file" in ran.err
    assert not place.exists()


def test_the_bundle_that_lacks_the_order_is_named(make_bundle: MakeBundle, tmp_path: Path) -> None:
    """Ranked measures of a bundle of the first form: it is told which of the two to score again."""
    tasks = tasks_of(6)
    new = make_bundle("new", tasks, packets_of(tasks))
    inputs = tmp_path / "new-inputs"
    request = ScoreRequest(tasks=inputs / "tasks.jsonl", packets=inputs / "packets.jsonl")
    old = tmp_path / "old"
    score(request, old, first_form=True)
    for pair in ((old, new), (new, old)):
        with pytest.raises(InputError, match="doesn't hold the packet's order") as raised:
            compare_bundles(*pair, CompareRequest(measures=("R@5",)))
        assert raised.value.file == str(old)


@pytest.mark.parametrize("attempts", [1, 3])
def test_gates_of_new_hold_a_bundle_of_the_first_form(
    tmp_path: Path, wayproof: RunWayproof, attempts: int
) -> None:
    """Its summary lacks three figures; they follow from its results, and the lines are the same."""
    tasks = [*tasks_of(5), {"task_id": "v"}, {"task_id": "w"}]
    packets = [
        {**packet, "attempt": number, **({} if number * at % 3 else {"error": "x"})}
        for at, packet in enumerate(packets_of([*tasks_of(5), {**tasks[5], **_NOTHING}]))
        for number in range(1, attempts + 1)
    ]
    request = ScoreRequest(
        tasks=write_lines(tmp_path / "tasks.jsonl", tasks),
        packets=write_lines(tmp_path / "packets.jsonl", packets),
    )
    lines, figures = [], []
    for form in (True, False):
        place = tmp_path / f"first-{form}"
        record = score(request, place, first_form=form)
        figures.append(sufficiency_figures(place / "results.jsonl"))
        ran = wayproof(
            *("compare", place, place, "--min-sufficient", "50%", "--min-sufficient-tasks", "50%"),
            *("--max-debts", "sufficiency=9", "--max-p95-ms", "60", "--max-unmeasured", "0"),
        )
        assert ran.status == 1
        lines.append([line for line in ran.out.splitlines() if line.startswith("gate ")])
    assert len(lines[0]) == 5
    assert lines[0] == lines[1]
    assert figures[0] == figures[1]
    assert figures[0] == {name: record["summary"][name] for name in figures[0]}
    assert figures[0]["vacuous_count"]


def _time(comparison: Comparison, **changes: Any) -> list[str]:
    """States of a bound of 10 ms on the rise of the median, with this row's fields changed."""
    base: dict[str, Any] = {"better": 1, "worse": 2, "left_out": {}}
    rows = [
        msgspec.structs.replace(row, **{**base, **changes}) if row.name == "censored_p50" else row
        for row in comparison.measures
    ]
    return _states(msgspec.structs.replace(comparison, measures=rows), "censored_p50=10")


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({"low": -1.0, "high": 10.0}, "pass"),
        ({"low": -1.0, "high": 10.001}, "undecided"),
        ({"low": 10.0, "high": 11.0}, "undecided"),
        ({"low": 10.001, "high": 11.0}, "fail"),
        ({"low": 10.001, "high": 11.0, "left_out": {"lost in NEW": 3}}, "fail"),
        ({"low": -1.0, "high": 1.0, "left_out": {"lost in NEW": 1}}, "undecided"),
        ({"low": None, "low_censored": "above", "high": None, "high_censored": "above"}, "fail"),
        ({"low": None, "low_censored": "below", "high": None, "high_censored": "below"}, "pass"),
        ({"low": None, "high": None}, "undecided"),
        ({"low": 50.0, "high": 60.0, "better": 0, "worse": 0}, "pass"),
        ({"low": 50.0, "high": 60.0, "better": 1, "worse": 0}, "fail"),
        ({"low": 50.0, "high": 60.0, "better": 0, "worse": 1}, "fail"),
    ],
)
def test_three_states_of_a_rise_of_time(
    comparison: Comparison, changes: dict[str, Any], state: str
) -> None:
    """Slower is worse; what NEW no longer measures makes no gate pass and saves none."""
    assert _time(comparison, **changes) == [state]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            'min-sufficient = "60%"\nmin_sufficient = "1%"\n',
            "min_sufficient: setting is given twice",
        ),
        ("must-pass = []\n", "must-pass: not a value of this setting"),
        ("max-drop = {}\n", "max-drop: not a value of this setting"),
        ("max-debts = {}\n", "max-debts: not a value of this setting"),
        ("fail-on = []\n", "fail-on: not a value of this setting"),
        ("max-p95-ms = nan\n", "not a time"),
        ("max-unmeasured = 1.0\n", "not a count"),
    ],
)
def test_settings_that_would_drop_a_gate_are_refused(
    make_bundle: MakeBundle, wayproof: RunWayproof, tmp_path: Path, text: str, words: str
) -> None:
    """An empty list, or two values for one bound: none is taken in silence."""
    tasks = tasks_of(6)
    base = make_bundle("base", tasks, packets_of(tasks))
    (tmp_path / "wayproof.toml").write_text(f"[gates]\n{text}", "utf-8")
    ran = wayproof("compare", base, base, cwd=tmp_path)
    assert (ran.status, ran.out) == (2, "")
    assert words in ran.err


@pytest.mark.timeout(60)
def test_settings_that_are_no_file_are_not_passed_over(
    make_bundle: MakeBundle, wayproof: RunWayproof, tmp_path: Path
) -> None:
    """A dangling link, a pipe or a folder of that name: the gates that it hid are asked for."""
    tasks = tasks_of(6)
    base = make_bundle("base", tasks, packets_of(tasks))
    place = tmp_path / "wayproof.toml"
    inner = tmp_path / "inner"
    inner.mkdir()
    for kind in ("link", "pipe", "folder"):
        if kind == "link":
            place.symlink_to("nowhere")
        elif kind == "pipe":
            os.mkfifo(place)
        else:
            place.mkdir()
        ran = wayproof("compare", base, base, cwd=inner)
        assert (ran.status, ran.out) == (2, "")
        assert "wayproof.toml: can't be read; expected a regular file" in ran.err
        assert wayproof("compare", base, base, "--no-config", cwd=inner).status == 0
        if kind == "folder":
            place.rmdir()
        else:
            place.unlink()
    (tmp_path / "real.toml").write_text('[gates]\nmin-sufficient = "101%"\n', "utf-8")
    place.symlink_to("real.toml")
    assert "not a rate" in wayproof("compare", base, base, cwd=inner).err

"""Bundles of client agents: what is refused, and what no bundle can betray.

The forger here has this very package. After each edit it derives records, summary and
digests anew, so that only what the check can know by itself stands in its way. What is
accepted is then judged by rules that are written out in this file once more.
"""

import hashlib
import json
import random
import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from recovery.material import shipped_cases
from wayproof.bundles.check import check_bundle
from wayproof.canonical import record_bytes
from wayproof.cli import main
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.recovery_names import AGENT_OUTCOMES, CONTROLS, UNDETECTABLE
from wayproof.evidence.recovery_records import FINISH, Action, AgentRecord, Result, Step, Trace
from wayproof.recovery.agents.controls import CONTROL_SOURCES, RandomWalk
from wayproof.recovery.agents.policy import Observation, Policy, PolicySource, client_agent
from wayproof.recovery.agents.python import policy_source
from wayproof.recovery.generate import Parameters, Recipe, suite_lines
from wayproof.recovery.run import RunRequest, run_suite
from wayproof.recovery.suite import suite_path
from wayproof.recovery.summary import summarize
from wayproof.recovery.track import Agent, WrittenTrace
from wayproof.recovery.tracks.v0 import LoadedGrid, V0Case
from wayproof.recovery.trial import run_trial
from wayproof.stats.seeded import SplitMix64

DOCS = Path(__file__).parents[2] / "docs" / "recovery"
FILES = ("results.jsonl", "suite.jsonl", "summary.json", "traces.jsonl")
SUITE = "explorer-sample"
NAME = "erratic"
Document = dict[str, Any]


class Erratic:
    """Walks at random, heads for the target now and then, and sometimes breaks down."""

    name = NAME

    def __init__(self, stream: SplitMix64) -> None:
        self._stream = stream
        self._walk = RandomWalk(stream)

    def propose(self, observation: Observation) -> Action:
        if self._stream.below(20) == 0:
            raise RuntimeError("lost")
        row, column = observation.position
        toward = (observation.target[0] > row) - (observation.target[0] < row)
        if toward and self._stream.below(2):
            return Action(move=(row + toward, column))
        return self._walk.propose(observation)


# -- a policy of one's own ------------------------------------------------------------


def test_ten_lines_of_python_are_an_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The documentation's example, run as it stands: its bundle verifies with status 0."""
    page = (DOCS / "agents.md").read_text("utf-8")
    example = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)[0]
    policy = example[example.index("class ") : example.index("agent = ")]
    assert len([line for line in policy.splitlines() if line.strip()]) <= 10
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "agents.md", "exec"), {"__name__": "example"})  # noqa: S102 - our page
    assert main(["verify", "greedy-result"]) == 0
    said = capsys.readouterr().out
    assert "300 trials of client agents: every step is lawful" in said
    assert "reference controls run again" not in said
    assert "the bundle says of itself, unchecked" in said
    assert said.endswith("verified\n")
    summary = json.loads((tmp_path / "greedy-result" / "summary.json").read_bytes())
    (row,) = summary["policies"]
    assert row["evidence_class"] == "client_agent"
    assert row["total"]["cells"] == 300
    assert 0 < row["total"]["verified"] < row["total"]["completed"] < 300


def test_one_that_walks_at_random_gives_the_controls_records(tmp_path: Path) -> None:
    """An agent's draws don't depend on its name: policy, class and trace aside, all is equal."""
    source = client_agent("my-walk", RandomWalk)
    controls = (CONTROL_SOURCES["random-walk"],)
    run_suite(RunRequest(suite_path(SUITE), policies=(source,)), tmp_path / "mine")
    run_suite(RunRequest(suite_path(SUITE), policies=controls), tmp_path / "theirs")
    pair = []
    for name in ("mine", "theirs"):
        rows = [json.loads(line) for line in read(tmp_path / name, "results.jsonl")]
        for row in rows:
            for key in ("policy", "evidence_class", "trace_sha256"):
                del row[key]
        pair.append(rows)
    assert pair[0] == pair[1]


def test_worker_processes_give_the_same_bytes(tmp_path: Path) -> None:
    """A factory that can be imported runs anywhere; one that can't is refused before it starts."""
    source = client_agent("my-walk", RandomWalk)
    for name, processes in (("one", 1), ("two", 2)):
        request = RunRequest(suite_path(SUITE), policies=(source,), processes=processes)
        run_suite(request, tmp_path / name)
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    closure = client_agent("closure", lambda stream: RandomWalk(stream))  # noqa: PLW0108
    request = RunRequest(suite_path(SUITE), policies=(closure,), processes=2)
    with pytest.raises(InputError, match="can't be sent to another process"):
        run_suite(request, tmp_path / "three")
    assert not (tmp_path / "three").exists()


@pytest.mark.parametrize("name", [control.name for control in CONTROLS])
def test_no_agent_bears_a_controls_name(name: str, tmp_path: Path) -> None:
    """Neither through the front door nor with a source made by hand."""
    with pytest.raises(InputError, match="is the name of a reference control"):
        client_agent(name, Erratic)
    identity = AgentRecord(details={}, kind="python", policy=name)
    for evidence_class in ("client_agent", "reference_control"):
        source = PolicySource(name, evidence_class, Erratic, name, identity)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="can't be run as a control"):
            run_suite(RunRequest(suite_path(SUITE), policies=(source,)), tmp_path / "out")


@pytest.mark.parametrize("name", ["", "a b", "a/b", "ü", "a\n", "-a", "a" * 129])
def test_a_name_is_an_identifier(name: str) -> None:
    """It goes into records and file names."""
    with pytest.raises(InputError, match="not a name for a policy"):
        client_agent(name, Erratic)


def test_agents_and_controls_are_not_mixed(tmp_path: Path) -> None:
    """The reference result stays what it is; agents have bundles of their own."""
    policies = (CONTROL_SOURCES["planner"], client_agent("mine", Erratic))
    with pytest.raises(InputError, match="not run beside reference controls"):
        run_suite(RunRequest(suite_path(SUITE), policies=policies), tmp_path / "out")


class _Ends:
    """Finishes well, and breaks down when told of it and when closed."""

    name = "ends"

    def __init__(self, case: V0Case) -> None:
        self._path = list(case.loaded.record.reference_path)
        self.told_steps: list[tuple[Step, int]] = []

    def propose(self, observation: Observation) -> Action:
        if observation.position == observation.target:
            return FINISH
        return Action(move=self._path[self._path.index(observation.position) + 1])

    def told(self, step: Step, proposals_left: int) -> None:
        self.told_steps.append((step, proposals_left))
        if step.action.finish:
            raise RuntimeError("too late")

    def close(self) -> None:
        raise SystemExit(7)


def test_what_happens_after_the_end_changes_nothing(worked: LoadedGrid) -> None:
    """A policy hears of every outcome; what it raises after an accepted finish is only logged."""
    case = worked.cases()[0]
    policy = _Ends(case)
    ran = run_trial("worked", case, client_agent("ends", lambda _: policy), 0)
    assert ran.agent_outcome == "ok"
    assert ran.trace.steps[-1].action == FINISH
    assert ran.log.count("Traceback") == 2
    assert [step for step, _ in policy.told_steps] == list(ran.trace.steps[2:])
    assert [left for _, left in policy.told_steps] == list(range(27, 19, -1))


def test_an_agent_that_exits_has_crashed(worked: LoadedGrid) -> None:
    """`sys.exit()` in a policy ends its trial, not the run."""

    def leave(_: SplitMix64) -> Policy:
        raise SystemExit(0)

    ran = run_trial("worked", worked.cases()[0], client_agent("leaves", leave), 0)
    assert ran.agent_outcome == "crashed"


class _Odd:
    """Finishes at once, unless a subclass does something odd."""

    name = "odd"

    def propose(self, observation: Observation) -> Any:
        del observation
        return FINISH


def _raises(error: BaseException) -> Any:
    def raising(*_: object) -> Any:
        raise error

    return raising


class _Subclass(Action, frozen=True):
    """An action of another type; the referee compares actions."""


class _Unspeakable:
    __repr__ = _raises(SystemExit(9))


ODD: dict[str, tuple[dict[str, Any], str]] = {
    "raises GeneratorExit": ({"propose": _raises(GeneratorExit())}, "crashed"),
    "raises SystemExit": ({"propose": _raises(SystemExit(0))}, "crashed"),
    "raises told when asked for": ({"told": property(_raises(KeyError("told")))}, "crashed"),
    "raises close when asked for": ({"close": property(_raises(KeyError("close")))}, "ok"),
    "raises its log when asked for": ({"agent_log": property(_raises(KeyError("log")))}, "ok"),
    "leaves no text": ({"agent_log": 7}, "ok"),
    "proposes what can't be said": ({"propose": lambda *_: _Unspeakable()}, "malformed"),
    "proposes a subclass": ({"propose": lambda *_: _Subclass(finish=True)}, "malformed"),
    "proposes a move and 0": ({"propose": lambda *_: Action(move=(0, 1), finish=0)}, "malformed"),  # type: ignore[arg-type]
    "proposes to finish by 1": ({"propose": lambda *_: Action(finish=1)}, "malformed"),  # type: ignore[arg-type]
    "proposes a list": ({"propose": lambda *_: Action(move=[0, 1])}, "malformed"),  # type: ignore[arg-type]
    "proposes booleans": ({"propose": lambda *_: Action(move=(True, False))}, "malformed"),
    "proposes beyond JSON": ({"propose": lambda *_: Action(move=(1 << 53, 0))}, "malformed"),
}


@pytest.mark.parametrize("what", ODD)
def test_an_odd_policy_ends_its_own_trials(what: str, tmp_path: Path) -> None:
    """Whatever it raises or says, wherever it is asked: its outcome, and a bundle that holds."""
    members, outcome = ODD[what]
    policy = type("Policy", (_Odd,), members)
    source = client_agent("odd", lambda _: policy())
    report = run_suite(RunRequest(suite_path(SUITE), policies=(source,)), tmp_path / "out")
    assert report.summary.policies[0].agent_outcomes == {outcome: 72}
    assert main(["verify", str(tmp_path / "out")]) == 0


def test_an_interrupt_inside_a_policy_ends_the_run(tmp_path: Path) -> None:
    """It is no failure of the agent; nothing is written."""
    policy = type("Policy", (_Odd,), {"propose": _raises(KeyboardInterrupt())})
    request = RunRequest(suite_path(SUITE), policies=(client_agent("odd", lambda _: policy()),))
    with pytest.raises(KeyboardInterrupt):
        run_suite(request, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("spelled", "message"),
    [
        (":", "not the name of a policy"),
        ("a:", "not the name of a policy"),
        ("a:b:c", "not the name of a policy"),
        ("a:b [extra]", "not the name of a policy"),
        ("nowhere:x", "can't be imported"),
        ("leaves:x", "can't be imported"),
        ("leaves", "unknown policy"),
    ],
)
def test_a_policy_that_is_not_there(
    spelled: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One refusal, also when its module leaves by ``sys.exit``."""
    (tmp_path / "leaves.py").write_text("raise SystemExit(0)\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(InputError, match=message):
        policy_source(spelled)


# -- forgeries ------------------------------------------------------------------------


class Bundle(NamedTuple):
    """A bundle's documents, to be edited and sealed again."""

    manifest: Document
    traces: list[Document]
    results: list[Document]
    summary: Document
    suite: list[bytes]


def read(folder: Path, name: str) -> list[bytes]:
    return (folder / name).read_bytes().splitlines()


def dumps(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def load(folder: Path) -> Bundle:
    return Bundle(
        json.loads((folder / "manifest.json").read_bytes()),
        [json.loads(line) for line in read(folder, "traces.jsonl")],
        [json.loads(line) for line in read(folder, "results.jsonl")],
        json.loads((folder / "summary.json").read_bytes()),
        read(folder, "suite.jsonl"),
    )


def derive(bundle: Bundle, cases: dict[str, V0Case]) -> None:
    """Make every record anew from its trace and its stated outcome."""
    for at, document in enumerate(bundle.traces):
        line, result = dumps(document), bundle.results[at]
        try:
            trace = msgspec.json.decode(line, type=Trace)
            agent = Agent("client_agent", result["agent_outcome"])
            written = WrittenTrace(trace, line)
            finding = cases[trace.scenario_id].find(result["suite_id"], written, agent)
        except (msgspec.ValidationError, IntegrityError, KeyError, InputError):
            continue  # what is no trace has no record
        bundle.results[at] = json.loads(finding.line)
    resummarize(bundle)


def resummarize(bundle: Bundle) -> None:
    lines = [dumps(result) for result in bundle.results]
    digest = hashlib.sha256(b"".join(line + b"\n" for line in lines)).hexdigest()
    try:
        results = [msgspec.json.decode(line, type=Result) for line in lines]
        summary = record_bytes(summarize(results, digest))
    except (msgspec.ValidationError, IndexError, ValueError):
        return
    bundle.summary.clear()
    bundle.summary.update(json.loads(summary))


def seal(bundle: Bundle, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    content = {
        "traces.jsonl": b"".join(dumps(one) + b"\n" for one in bundle.traces),
        "results.jsonl": b"".join(dumps(one) + b"\n" for one in bundle.results),
        "summary.json": dumps(bundle.summary) + b"\n",
        "suite.jsonl": b"".join(line + b"\n" for line in bundle.suite),
    }
    for name, data in content.items():
        (folder / name).write_bytes(data)
        digest = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        bundle.manifest["files"][name] = digest
    bundle.manifest["inputs"] = {"suite": bundle.manifest["files"]["suite.jsonl"]}
    (folder / "manifest.json").write_bytes(dumps(bundle.manifest) + b"\n")


# -- the edits ------------------------------------------------------------------------


def replayed(case: V0Case, actions: list[Document], injected: int) -> list[Document]:
    """Return the steps that a fresh world makes of some actions."""
    episode = case.begin()
    steps: list[Document] = []
    for number, action in enumerate(actions):
        if episode.finished:
            break
        phase = "prefix" if number < injected else "injected" if number == injected else "policy"
        step = episode.act(phase, msgspec.convert(action, Action))  # type: ignore[arg-type]
        steps.append(json.loads(record_bytes(step)))
    return steps


def other_action(draw: random.Random, step: Document) -> Document:
    row, column = step["position"]
    near = [(row - 1, column), (row, column - 1), (row, column + 1), (row + 1, column)]
    return draw.choice([{"finish": True}, {"move": list(draw.choice(near))}, {"move": [0, 0]}])


def rewrite(draw: random.Random, bundle: Bundle, cases: dict[str, V0Case]) -> None:
    """Put other proposals into a trace, by all the rules."""
    trace = draw.choice(bundle.traces)
    case = cases[trace["scenario_id"]]
    injected, steps = len(case.prefix), trace["steps"]
    actions = [step["action"] for step in steps]
    if len(actions) > injected + 1:
        at = draw.randrange(injected + 1, len(actions))
        actions[at] = other_action(draw, steps[at - 1])
    trace["steps"] = replayed(case, actions, injected)


def cut(draw: random.Random, bundle: Bundle, cases: dict[str, V0Case]) -> None:
    """Take proposals away from a trace's end, and maybe call the agent crashed."""
    at = draw.randrange(len(bundle.traces))
    trace = bundle.traces[at]
    injected = len(cases[trace["scenario_id"]].prefix)
    del trace["steps"][draw.randrange(injected, len(trace["steps"]) + 1) :]
    if draw.random() < 0.5:
        bundle.results[at]["agent_outcome"] = "crashed"


def lengthen(draw: random.Random, bundle: Bundle, cases: dict[str, V0Case]) -> None:
    """Add proposals to a trace, up to and beyond its budget."""
    at = draw.randrange(len(bundle.traces))
    trace = bundle.traces[at]
    case = cases[trace["scenario_id"]]
    injected = len(case.prefix)
    actions = [step["action"] for step in trace["steps"]]
    for _ in range(draw.choice((1, 2, case.budget))):
        actions.append(draw.choice(actions))
    trace["steps"] = replayed(case, actions, injected)
    if draw.random() < 0.5:
        bundle.results[at]["agent_outcome"] = "ok"


def edit_step(draw: random.Random, bundle: Bundle, _: dict[str, V0Case]) -> None:
    step = draw.choice(draw.choice(bundle.traces)["steps"])
    edits: list[tuple[str, Any]] = [
        ("accepted", not step["accepted"]),
        ("phase", draw.choice(("prefix", "injected", "policy"))),
        ("spent", step["spent"] + draw.choice((-1, 1))),
        ("position", [step["position"][0] + 1, step["position"][1]]),
        ("rejection", draw.choice((None, "collision", "invalid_path", "premature_end"))),
        ("action", other_action(draw, step)),
    ]
    key, value = draw.choice(edits)
    step[key] = value


def drop_steps(draw: random.Random, bundle: Bundle, _: dict[str, V0Case]) -> None:
    steps = draw.choice(bundle.traces)["steps"]
    del steps[draw.randrange(len(steps))]


def edit_outcome(draw: random.Random, bundle: Bundle, _: dict[str, V0Case]) -> None:
    names = [outcome.name for outcome in AGENT_OUTCOMES] + ["fine"]
    draw.choice(bundle.results)["agent_outcome"] = draw.choice(names)


def edit_result(draw: random.Random, bundle: Bundle, _: dict[str, V0Case]) -> None:
    result = draw.choice(bundle.results)
    key = draw.choice(sorted(result))
    value = result[key]
    others: list[Any] = [None, True, False, 0, 1, "planner", "ok", "reference_control", [0, 0]]
    result[key] = value + 1 if type(value) is int else draw.choice(others)


def edit_summary(draw: random.Random, bundle: Bundle, _: dict[str, V0Case]) -> None:
    total = bundle.summary["policies"][0]["total"]
    total[draw.choice(("completed", "verified", "cells", "grids"))] += 1


def edit_settings(draw: random.Random, bundle: Bundle, _: dict[str, V0Case]) -> None:
    settings = bundle.manifest["settings"]
    edits: list[Callable[[], object]] = [
        lambda: settings["agents"][0]["details"].update(factory="another:one"),
        lambda: settings["agents"][0].update(kind=draw.choice(("stdio", "inspect", "magic"))),
        lambda: settings["agents"][0].update(policy="another"),
        lambda: settings.update(agents=[]),
        lambda: settings.pop("agents"),
        lambda: settings["agents"].append(dict(settings["agents"][0])),
        lambda: settings.update(policies=["planner"]),
        lambda: settings.update(policy_seeds=draw.choice(([0], [1], [0, 1, 2], [1, 0]))),
        lambda: settings.update(suite_id="another"),
    ]
    draw.choice(edits)()


def edit_varies(draw: random.Random, bundle: Bundle, _: dict[str, V0Case]) -> None:
    bundle.manifest["varies"]["duration_ms"] = draw.randrange(1 << 20)


def rename(draw: random.Random, bundle: Bundle, _: dict[str, V0Case]) -> None:
    """Give the agent another name everywhere; also that of a control."""
    name = draw.choice(("another", "planner", "random-walk", "a b"))
    settings = bundle.manifest["settings"]
    settings["policies"] = [name]
    settings["agents"][0]["policy"] = name
    if draw.random() < 0.3:
        del settings["agents"]
    for record in (*bundle.traces, *bundle.results):
        record["policy"] = name


def drop_trials(draw: random.Random, bundle: Bundle, _: dict[str, V0Case]) -> None:
    """Leave out a whole seed, or single trials."""
    if draw.random() < 0.4:
        seed = draw.randrange(2)
        bundle.manifest["settings"]["policy_seeds"] = [1 - seed]
        kept = [at for at, one in enumerate(bundle.traces) if one["policy_seed"] != seed]
    else:
        kept = list(range(len(bundle.traces)))
        del kept[draw.randrange(len(kept)) :: 40]
    for lines in (bundle.traces, bundle.results):
        lines[:] = [lines[at] for at in kept]


def call_reference(draw: random.Random, bundle: Bundle, _: dict[str, V0Case]) -> None:
    for result in bundle.results if draw.random() < 0.5 else [draw.choice(bundle.results)]:
        result["evidence_class"] = "reference_control"


def edit_suite(draw: random.Random, bundle: Bundle, _: dict[str, V0Case]) -> None:
    at = draw.randrange(1, len(bundle.suite))
    grid = json.loads(bundle.suite[at])
    draw.choice(grid["scenarios"])["budget"] += 1
    bundle.suite[at] = dumps(grid)


EDITS = (
    rewrite,
    rewrite,
    cut,
    lengthen,
    edit_step,
    drop_steps,
    edit_outcome,
    edit_result,
    edit_summary,
    edit_settings,
    edit_varies,
    rename,
    drop_trials,
    call_reference,
    edit_suite,
)


# -- the rules once more, for what is accepted ------------------------------------------


def lawful(case: V0Case, steps: list[Document]) -> tuple[bool, bool, bool]:
    """Return whether steps follow the rules, whether they complete, and at the optimum."""
    record, scenario = case.loaded.record, case.scenario
    rows, at, spent, finished = record.rows, record.start, 0, False
    free = {(r, c) for r, cells in enumerate(rows) for c, cell in enumerate(cells) if cell != "#"}
    prefix = [{"move": list(cell)} for cell in record.reference_path[1:]][: scenario.prefix_length]
    injected = json.loads(record_bytes(scenario.injected_action))
    opening = [*prefix, injected]
    if [step["action"] for step in steps[: len(opening)]] != opening:
        return False, False, False
    for number, step in enumerate(steps):
        reason = None
        if finished:
            return False, False, False
        if "finish" in step["action"]:
            finished = at == record.target
            reason = None if finished else "premature_end"
        else:
            row, column = step["action"]["move"]
            if abs(row - at[0]) + abs(column - at[1]) != 1:
                reason = "invalid_path"
            elif (row, column) not in free:
                reason = "collision"
            else:
                at, spent = (row, column), spent + int(rows[row][column])
        phase = "prefix" if number < len(prefix) else "policy"
        if number == len(prefix):
            phase = "injected"
        found = {**step, "action": None}
        if found != {
            "accepted": reason is None,
            "action": None,
            "phase": phase,
            "position": list(at),
            "rejection": reason,
            "spent": spent,
        }:
            return False, False, False
    if len(steps) - len(opening) > scenario.budget:
        return False, False, False
    optimum = record.potentials[record.start[0]][record.start[1]]
    return True, finished, finished and spent == optimum


def kinds_of(before: Bundle, after: Bundle, cases: dict[str, V0Case]) -> set[str]:
    """Return which listed kinds an accepted forgery is of; anything else is not accepted."""
    kinds = set()
    if before.manifest["varies"] != after.manifest["varies"]:
        kinds.add("varies")
    was, now = before.manifest["settings"], after.manifest["settings"]
    if was["agents"] != now["agents"]:
        kinds.add("agent_identity")
    name = now["policies"][0]
    assert name not in CONTROL_SOURCES
    seeds = now["policy_seeds"]
    if seeds != was["policy_seeds"]:
        assert set(seeds) < set(was["policy_seeds"])
        kinds.add("left_out")
    old = {(one["scenario_id"], one["policy_seed"]): at for at, one in enumerate(before.traces)}
    assert [(one["scenario_id"], one["policy_seed"]) for one in after.traces] == [
        key for key in old if key[1] in seeds
    ]
    for trace, result in zip(after.traces, after.results, strict=True):
        at = old[trace["scenario_id"], trace["policy_seed"]]
        case = cases[trace["scenario_id"]]
        is_lawful, completed, exact = lawful(case, trace["steps"])
        assert is_lawful
        assert (result["completed"], result["verified_recovery"]) == (completed, exact)
        assert result["evidence_class"] == "client_agent"
        proposals = len(trace["steps"]) - len(case.prefix) - 1
        assert (result["agent_outcome"] == "ok") is (completed or proposals == case.budget)
        if trace["steps"] != before.traces[at]["steps"]:
            kinds.add("invented_trace")
        elif result["agent_outcome"] != before.results[at]["agent_outcome"]:
            kinds.add("outcome_word")
    total = after.summary["policies"][0]["total"]
    assert total["cells"] == len(after.results)
    assert total["completed"] == sum(one["completed"] for one in after.results)
    assert total["verified"] == sum(one["verified_recovery"] for one in after.results)
    assert before.suite == after.suite
    return kinds


@pytest.fixture(scope="module")
def cases() -> dict[str, V0Case]:
    return shipped_cases(SUITE)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One client agent on an official suite, two seeds: 72 trials with all kinds of ends."""
    out = tmp_path_factory.mktemp("client") / "bundle"
    run_suite(RunRequest(suite_path(SUITE), policies=(client_agent(NAME, Erratic),)), out)
    outcomes = Counter(one["agent_outcome"] for one in load(out).results)
    assert min(outcomes["ok"], outcomes["crashed"]) > 10
    return out


def is_accepted(folder: Path) -> bool:
    try:
        check_bundle(folder)
    except (InputError, IntegrityError):
        return False
    return True


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.slow) for part in (1, 2, 3))]
)
def test_five_hundred_sealed_forgeries(
    part: int, honest: Path, cases: dict[str, V0Case], tmp_path: Path
) -> None:
    """Each is refused, or changes nothing but what is listed as undetectable: 2,000 in all."""
    draw = random.Random(f"client forgeries {part}")
    folder, before = tmp_path / "bundle", load(honest)
    refused: Counter[str] = Counter()
    accepted: Counter[str] = Counter()
    for number in range(500):
        bundle, edit = load(honest), draw.choice(EDITS)
        edit(draw, bundle, cases)
        if edit not in {edit_result, edit_summary, call_reference} and draw.random() < 0.9:
            derive(bundle, cases)
        elif edit is not edit_summary:
            resummarize(bundle)
        seal(bundle, folder)
        if bundle[1:] == before[1:] and bundle.manifest == before.manifest:
            continue  # the edit changed nothing
        if is_accepted(folder):
            kinds = kinds_of(before, bundle, cases)
            assert kinds, (number, edit.__name__)
            assert kinds <= {kind.name for kind in UNDETECTABLE}
            accepted.update(kinds)
        else:
            refused[edit.__name__] += 1
    assert sum(refused.values()) > 250
    assert set(refused) == {edit.__name__ for edit in EDITS} - {"edit_varies"}
    assert set(accepted) == {kind.name for kind in UNDETECTABLE} - {"custom_suite"}


def test_a_forged_custom_suite(tmp_path: Path) -> None:
    """A suite certified anew, under an id of its own, with another generator: undetectable."""
    suite = tmp_path / "suite.jsonl"
    lines = list(suite_lines(Recipe("mine", 5, Parameters(grids=2))))
    header = json.loads(lines[0])
    header["generator"]["seed"] = 6
    suite.write_bytes(dumps(header) + b"\n" + b"".join(lines[1:]))
    run_suite(RunRequest(suite, policies=(client_agent(NAME, Erratic),)), tmp_path / "bundle")
    assert is_accepted(tmp_path / "bundle")


@pytest.mark.parametrize("kind", UNDETECTABLE, ids=lambda kind: kind.name)
def test_verify_says_what_it_cannot_tell(
    kind: Any, honest: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every listed kind is printed; that each is undetectable, the tests above show."""
    assert main(["verify", str(honest)]) == 0
    assert kind.meaning in capsys.readouterr().out


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda b: b.manifest["settings"].pop("agents"), "settings.agents: the client agents"),
        (
            lambda b: b.manifest["settings"].update(policies=["erratic", "planner"]),
            "settings.policies: client agents stand beside reference controls",
        ),
        (
            lambda b: next(o for o in b.results if o["agent_outcome"] == "ok").update(
                agent_outcome="timed_out"
            ),
            'agent_outcome: agent_outcome doesn\'t follow from the trace; expected "ok"',
        ),
        (
            lambda b: next(o for o in b.results if o["agent_outcome"] != "ok").update(
                agent_outcome="ok"
            ),
            "agent_outcome: agent_outcome doesn't follow from the trace; expected what went wrong",
        ),
        (lambda b: b.results[3].update(evidence_class="reference_control"), "evidence_class"),
        (lambda b: b.results[3].update(agent_outcome="fine"), "agent_outcome: not a valid record"),
    ],
)
def test_a_client_bundle_says_what_its_traces_say(
    edit: Callable[[Bundle], object],
    message: str,
    honest: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The field is named, with what was expected, status 3."""
    bundle = load(honest)
    edit(bundle)
    resummarize(bundle)
    seal(bundle, tmp_path / "bundle")
    assert main(["verify", str(tmp_path / "bundle")]) == 3
    assert message in capsys.readouterr().err

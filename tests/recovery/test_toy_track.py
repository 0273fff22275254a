"""A track of one's own: one module and one row, and nothing else is touched.

The toy hides and changes what v0 shows and keeps: a policy is shown a plain map of ones,
the true costs are doubled on every second entry, and the referee has a check of its own.
It is a module (this one) and a row, put into the table by a fixture. Running, processes,
replaying, drawing, verifying and refusing forgeries work through the seam.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from recovery.material import WORKED
from wayproof.canonical import Record, decode_record_line, record_bytes, sha256_hex
from wayproof.cli import main
from wayproof.errors import InputError
from wayproof.evidence.recovery_names import AgentOutcome, EvidenceClass, Kind, Phase
from wayproof.evidence.recovery_records import Action, Cell, GridRecord, Step, Trace
from wayproof.recovery.agents.controls import CONTROL_SOURCES
from wayproof.recovery.agents.policy import Observation, client_agent
from wayproof.recovery.grid import Grid
from wayproof.recovery.run import RunRequest, run_suite
from wayproof.recovery.summary import Tally
from wayproof.recovery.track import Agent, Finding, WrittenTrace
from wayproof.recovery.tracks.registry import TRACKS

SCHEMA = "toy.suite/1"


class ToyHeader(Record, frozen=True):
    schema_version: str
    suite_id: str
    track: str


class ToyTrace(Trace, frozen=True):
    """v0's keys, and a digest of what was shown."""

    observations_sha256: str
    policy: str
    policy_seed: int
    scenario_id: str
    steps: tuple[Step, ...]


class ToyResult(Record, frozen=True):
    agent_outcome: AgentOutcome
    completed: bool
    evidence_class: EvidenceClass
    failure_kind: Kind
    final_cost: int
    first_failed_check: str | None
    grid_id: str
    optimal_cost: int
    policy: str
    policy_seed: int
    proposals: int
    scenario_id: str
    suite_id: str
    trace_sha256: str
    verified_recovery: bool


class ToyFailure(NamedTuple):
    check: str
    step: int | None
    expected: str
    found: str


class ToyEpisode:
    def __init__(self, case: "ToyCase") -> None:
        self._case, self._steps, self._shown = case, list[Step](), hashlib.sha256()
        self._at, self._spent, self._entries = case.record.start, 0, 0
        self._rejected: tuple[Action, Kind] = (case.injected_action, case.failure_kind)
        self.finished = False

    def _ruling(self, action: Action) -> Kind | None:
        if action.move is None:
            return None if self._at == self._case.record.target else "premature_end"
        (row, column), rows = action.move, self._case.record.rows
        if abs(row - self._at[0]) + abs(column - self._at[1]) != 1:
            return "invalid_path"
        inside = 0 <= row < len(rows) and 0 <= column < len(rows[0])
        return None if inside and rows[row][column] != "#" else "collision"

    def act(self, phase: Phase, action: Action) -> Step:
        reason = self._ruling(action)
        if reason is not None:
            self._rejected = (action, reason)
        elif action.move is None:
            self.finished = True
        else:
            self._entries += 1
            cost = int(self._case.record.rows[action.move[0]][action.move[1]])
            self._at = action.move
            self._spent += cost * (1 + (self._entries % 2 == 0))
        self._steps.append(
            Step(
                accepted=reason is None,
                action=action,
                phase=phase,
                position=self._at,
                rejection=reason,
                spent=self._spent,
            )
        )
        return self._steps[-1]

    def observation(self, proposals_left: int) -> Observation:
        plain = tuple("1" * len(row) for row in self._case.record.rows)
        shown = Grid.parse(plain, self._case.record.start, self._case.record.target)
        seen = Observation(shown, self._at, 0, *self._rejected, proposals_left)
        self._shown.update(repr(seen).encode())
        return seen

    def trace(self, policy: str, policy_seed: int) -> ToyTrace:
        return ToyTrace(
            observations_sha256=self._shown.hexdigest(),
            policy=policy,
            policy_seed=policy_seed,
            scenario_id=self._case.scenario_id,
            steps=tuple(self._steps),
        )


class ToyCase(NamedTuple):
    record: GridRecord
    number: int

    @property
    def scenario_id(self) -> str:
        return self.record.scenarios[self.number].scenario_id

    @property
    def stream_id(self) -> str:
        return self.record.grid_id  # one family: its scenarios share their draws

    @property
    def prefix(self) -> tuple[Action, ...]:
        return (Action(move=(1, 0)),)

    @property
    def injected_action(self) -> Action:
        return Action(move=(1, 1))

    @property
    def failure_kind(self) -> Kind:
        return "collision"

    @property
    def budget(self) -> int:
        return 12

    def begin(self) -> ToyEpisode:
        return ToyEpisode(self)

    def find(self, suite_id: str, written: WrittenTrace, agent: Agent) -> Finding:
        trace = written.trace
        assert isinstance(trace, ToyTrace)
        fresh, failure = self.begin(), None
        for number, step in enumerate(trace.steps):
            if number > len(self.prefix):
                fresh.observation(self.budget - number + len(self.prefix) + 1)
            if failure is None and (fresh.finished or fresh.act(step.phase, step.action) != step):
                failure = ToyFailure("steps_made_again", number, "the world's step", repr(step))
        shown = fresh.trace(trace.policy, trace.policy_seed).observations_sha256
        if failure is None and shown != trace.observations_sha256:
            failure = ToyFailure("observations_public", None, shown, trace.observations_sha256)
        if failure is None and not fresh.finished:
            failure = ToyFailure("arrived", None, "a finish", "none")
        result = ToyResult(
            agent_outcome=agent.outcome,
            completed=failure is None,
            evidence_class=agent.evidence_class,
            failure_kind=self.failure_kind,
            final_cost=trace.steps[-1].spent,
            first_failed_check=None if failure is None else failure.check,
            grid_id=self.record.grid_id,
            optimal_cost=0,
            policy=trace.policy,
            policy_seed=trace.policy_seed,
            proposals=len(trace.steps) - 2,
            scenario_id=self.scenario_id,
            suite_id=suite_id,
            trace_sha256=sha256_hex(written.line),
            verified_recovery=failure is None,
        )
        return Finding(result, record_bytes(result), failure)

    def drawing(self, steps: Sequence[Step]) -> Iterator[str]:
        yield from (f"toy step at {step.position}" for step in steps)


class ToyGrid(NamedTuple):
    record: GridRecord

    @property
    def grid_id(self) -> str:
        return self.record.grid_id

    @property
    def fingerprint(self) -> bytes:
        return self.record.grid_id.encode()

    def cases(self) -> tuple[ToyCase, ...]:
        return tuple(ToyCase(self.record, number) for number in range(2))


class ToyTrack:
    name = "toy"
    suite_schema = SCHEMA
    measured = frozenset({"arrived"})
    trace_type = ToyTrace
    result_type = ToyResult

    def read_header(self, line: bytes) -> ToyHeader:
        return decode_record_line(line, msgspec.json.Decoder(ToyHeader))

    def read_grid(self, line: bytes) -> ToyGrid:
        record = decode_record_line(line, msgspec.json.Decoder(GridRecord))
        if record.target != WORKED.target:
            raise InputError("toys have one target", field="target")
        return ToyGrid(record)

    def tally(self) -> Tally:
        return Tally()


@pytest.fixture(autouse=True)
def row(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one row."""
    monkeypatch.setitem(TRACKS, "toy", ToyTrack())


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "toy.jsonl"
    header = ToyHeader(schema_version=SCHEMA, suite_id="toy-suite", track="toy")
    path.write_bytes(record_bytes(header) + b"\n" + record_bytes(WORKED) + b"\n")
    return path


class Straight:
    """Goes by the map that it is shown."""

    name = "straight"

    def propose(self, seen: Observation) -> Action:
        assert set("".join(seen.grid.rows)) == {"1"}
        assert seen.spent == 0
        ways: tuple[Cell, ...] = ((2, 0), (2, 1), (2, 2), (2, 3), (1, 3))
        if seen.position == seen.target:
            return Action(finish=True)
        return Action(move=ways[(ways.index(seen.position) + 1) if seen.position in ways else 0])


def seal(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for name in manifest["files"]:
        data = (folder / name).read_bytes()
        manifest["files"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    manifest["inputs"]["suite"] = manifest["files"]["suite.jsonl"]
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    (folder / "manifest.json").write_bytes(text.encode() + b"\n")


@pytest.fixture
def bundle(suite: Path, tmp_path: Path) -> Path:
    run_suite(
        RunRequest(suite, policies=(client_agent("straight", lambda _: Straight()),)),
        tmp_path / "bundle",
    )
    return tmp_path / "bundle"


def test_it_runs_verifies_and_replays(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Records of its own, what is shown as it says, a changing world, a drawing of its own."""
    rows = [json.loads(line) for line in (bundle / "results.jsonl").read_bytes().splitlines()]
    assert [row["completed"] for row in rows] == [True] * 4
    assert {row["final_cost"] for row in rows} == {1 + 2 * 1 + 9 + 2 * 1 + 1 + 2 * 1}
    assert main(["verify", str(bundle)]) == 0
    assert "4 trials of client agents" in capsys.readouterr().out
    trial = f"straight/{WORKED.scenarios[0].scenario_id}/0"
    assert main(["recovery", "replay", str(bundle), "--trial", trial]) == 0
    assert "toy step at (1, 3)" in capsys.readouterr().out


def test_its_controls_are_run_again(suite: Path, tmp_path: Path) -> None:
    """Also in worker processes; the walk's draws are shared by a family of scenarios."""
    controls = (CONTROL_SOURCES["random-walk"],)
    for name, processes in (("one", 1), ("two", 2)):
        run_suite(RunRequest(suite, policies=controls, processes=processes), tmp_path / name)
        assert main(["verify", str(tmp_path / name)]) == 0
    for name in ("traces.jsonl", "results.jsonl", "summary.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    lines = (tmp_path / "one" / "traces.jsonl").read_bytes().splitlines()
    steps = [json.loads(line)["steps"] for line in lines]
    assert steps[0] == steps[2]
    assert steps[0] != steps[1]


@pytest.mark.parametrize(
    ("name", "before", "after", "message"),
    [
        ("traces.jsonl", b'"spent":17', b'"spent":18', "check steps_made_again fails"),
        ("traces.jsonl", b'"observations_sha256":"', b'"observations_sha256":"f', "check observat"),
        ("results.jsonl", b'"final_cost":17', b'"final_cost":16', "doesn't follow from the trace"),
        ("summary.json", b'"verified":4', b'"verified":5', "summary doesn't follow"),
        ("suite.jsonl", b'"target":[1,3]', b'"target":[1,2]', "toys have one target"),
        ("suite.jsonl", b'"track":"toy"', b'"track":"toj"', "suite of an unknown track"),
        ("suite.jsonl", SCHEMA.encode(), b"toy.suite/2", "suite of another version"),
    ],
)
def test_its_forgeries_are_refused(
    name: str,
    before: bytes,
    after: bytes,
    message: str,
    bundle: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By its own checks, with every digest repaired."""
    data: Any = (bundle / name).read_bytes()
    assert before in data
    (bundle / name).write_bytes(data.replace(before, after, 1))
    seal(bundle)
    assert main(["verify", str(bundle)]) == 3
    assert message in capsys.readouterr().err

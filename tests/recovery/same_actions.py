"""The actions of an erratic agent, to be proposed again in every way that an agent can come."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from recovery.material import shipped_cases
from wayproof.canonical import record_bytes
from wayproof.evidence.recovery_records import FINISH, Action, Step, Trace
from wayproof.recovery.agents.controls import Planner
from wayproof.recovery.agents.policy import (
    Observation,
    PolicySource,
    client_agent,
    client_stream_seed,
)
from wayproof.recovery.run import RunRequest, run_suite
from wayproof.recovery.suite import suite_path
from wayproof.recovery.track import Agent, WrittenTrace
from wayproof.recovery.tracks.v0 import V0Case
from wayproof.stats.seeded import SplitMix64

SUITE: Final = "explorer-sample"
NAME: Final = "mixed"


class Mixed:
    """Plans, walks off the way, names cells that are no neighbours, and asks to finish."""

    name = NAME

    def __init__(self, stream: SplitMix64) -> None:
        self._stream = stream
        self._planner = Planner(stream)

    def propose(self, observation: Observation) -> Action:
        draw = self._stream.below(8)
        if draw == 0:
            return FINISH
        if draw == 1:  # anywhere, the border included
            height, width = observation.grid.height, observation.grid.width
            row, column = self._stream.below(height + 2) - 1, self._stream.below(width + 2) - 1
            return Action(move=(row, column))
        if draw <= 3:
            row, column = observation.position
            return Action(move=(row + self._stream.below(3) - 1, column + 1 - draw % 3))
        return self._planner.propose(observation)


class Recorded(NamedTuple):
    """A bundle's trials.

    Attributes
    ----------
    results
        The bytes of ``results.jsonl``.
    actions
        What was proposed in each trial, by the seed of its stream.
    """

    results: bytes
    actions: Mapping[int, Sequence[Action]]


def recorded(folder: Path) -> Recorded:
    """Run the erratic agent once."""
    return ran(client_agent(NAME, Mixed), folder)


def ran(source: PolicySource, folder: Path) -> Recorded:
    """Run an agent on the suite, one seed."""
    run_suite(RunRequest(suite_path(SUITE), policies=(source,), policy_seeds=(0,)), folder)
    cases = shipped_cases(SUITE)
    actions = {}
    for line in (folder / "traces.jsonl").read_bytes().splitlines():
        trace = msgspec.json.decode(line, type=Trace)
        proposals = [step.action for step in trace.steps if step.phase == "policy"]
        actions[stream_of(cases[trace.scenario_id])] = proposals
    return Recorded((folder / "results.jsonl").read_bytes(), actions)


def stream_of(case: V0Case) -> int:
    """Seed of a trial's stream."""
    return client_stream_seed(SUITE, case.stream_id, 0)


def result_line(case: V0Case, seen: Sequence[Step]) -> bytes:
    """The referee's record of the steps that something showed after the injected action."""
    episode = case.begin()
    for action in case.prefix:
        episode.act("prefix", action)
    episode.act("injected", case.injected_action)
    opening = episode.trace(NAME, 0)
    trace = msgspec.structs.replace(opening, steps=(*opening.steps, *seen))
    written = WrittenTrace(trace, record_bytes(trace))
    return case.find(SUITE, written, Agent("client_agent", "ok")).line + b"\n"


def script(actions: Mapping[int, Sequence[Action]]) -> str:
    """Spell the actions for a program in any language, by the seed in hex."""
    spelled = {
        f"{seed:016x}": [json.loads(record_bytes(one)) for one in proposals]
        for seed, proposals in actions.items()
    }
    return json.dumps(spelled)

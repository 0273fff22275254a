"""The task ``wayproof/wfrb`` of Inspect: ``inspect eval wayproof/wfrb --model …``.

Inspect loads this module through the entry point ``inspect_ai``. One sample is one
scenario, and epoch n is policy seed n - 1. The world carries out the actions; the score
is the referee's, on the actions that the dialogue holds.
"""

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from inspect_ai import Epochs, Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import (
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    GenerateConfig,
    get_model,
)
from inspect_ai.scorer import Score, mean, metric, scorer, stderr
from inspect_ai.solver import solver
from inspect_ai.tool import ToolInfo, ToolParam, ToolParams

from wayproof.bundles.manifest import digest_file
from wayproof.canonical import record_bytes
from wayproof.errors import InputError
from wayproof.evidence.recovery_records import Action, AgentRecord
from wayproof.llm.dialogue import (
    MAX_NUDGES,
    PROTOCOLS,
    LoggedTrial,
    Protocol,
    message_actions,
    nudge_words,
    opening_words,
    outcome_words,
    replaying_source,
    system_words,
)
from wayproof.recovery.agents.policy import client_stream_seed
from wayproof.recovery.run import MAX_POLICY_SEEDS
from wayproof.recovery.suite import SuiteReader, suite_path
from wayproof.recovery.track import Agent, Case, Episode, WrittenTrace
from wayproof.recovery.trial import run_trial, until_failure
from wayproof.stats.intervals import MILLION, intervals_over_groups
from wayproof.text import quoted

__all__ = ["TASK_VERSION", "exact_bound", "recovery_dialogue", "recovery_verdict", "wfrb"]

TASK_VERSION: Final = 1
_TOOLS: Final = [
    ToolInfo(
        name="move",
        description="Enter a cell next to the one you stand on.",
        parameters=ToolParams(
            properties={
                "row": ToolParam(type="integer", description="Row of the cell, from 0."),
                "column": ToolParam(type="integer", description="Column of the cell, from 0."),
            },
            required=["row", "column"],
        ),
    ),
    ToolInfo(name="finish", description="End the trial; accepted on the target only."),
]


@lru_cache(maxsize=4)
def _loaded(suite: str) -> tuple[str, Mapping[str, Case], Mapping[str, str]]:
    """Return a suite's id, its cases, and the grid of each, by scenario id."""
    cases: dict[str, Case] = {}
    grids: dict[str, str] = {}
    with SuiteReader(suite_path(suite), suite) as reader:
        for _, grid in reader.grids():
            for case in grid.cases():
                cases[case.scenario_id] = case
                grids[case.scenario_id] = grid.grid_id
        return reader.header.suite_id, cases, grids


@task
def wfrb(protocol: Protocol = "tools", suite: str = "wfrb-v0", seeds: int = 2) -> Task:
    """Recovery after a rejected action, on fully visible grids.

    Parameters
    ----------
    protocol
        ``tools``: the model calls ``move(row, column)`` and ``finish()``. ``text``: one
        action a message, on a line of its own.
    suite
        An official suite, or a suite file.
    seeds
        How many policy seeds, from 0: an epoch each.

    Raises
    ------
    InputError
        For another protocol, another number of seeds, or a suite that can't be used.
    """
    if protocol not in PROTOCOLS:
        raise InputError(
            "unknown protocol",
            setting="protocol",
            expected=" or ".join(PROTOCOLS),
            found=quoted(str(protocol)),
        )
    if not 1 <= seeds <= MAX_POLICY_SEEDS:
        raise InputError(
            "can't run that many policy seeds",
            setting="seeds",
            expected=f"1 … {MAX_POLICY_SEEDS}",
            found=str(seeds),
        )
    suite_id, cases, grids = _loaded(suite)
    samples = [
        Sample(
            id=scenario_id,
            input=opening_words(until_failure(case).observation(case.budget)),
            metadata={"grid_id": grids[scenario_id], "failure_kind": case.failure_kind},
        )
        for scenario_id, case in cases.items()
    ]
    return Task(
        dataset=MemoryDataset(samples, name=suite_id),
        solver=recovery_dialogue(protocol, suite),
        scorer=recovery_verdict(protocol, suite),
        epochs=Epochs(seeds, "mean"),
        # A trial that fails is a result: it stays in the denominator.
        fail_on_error=False,
        score_on_error=True,
        version=TASK_VERSION,
        metadata={
            "protocol": protocol,
            "suite_id": suite_id,
            "suite_sha256": digest_file(suite_path(suite)).sha256,
        },
    )


# -- the dialogue -----------------------------------------------------------------------


@solver
def recovery_dialogue(protocol: Protocol, suite: str) -> Any:
    """Let the model act until it has finished, its budget is spent, or it won't act."""

    async def solve(state: Any, generate: Any) -> Any:
        del generate  # the tools are carried out here, by the world
        suite_id, cases, _ = _loaded(suite)
        case = cases[str(state.sample_id)]
        seed = client_stream_seed(suite_id, case.stream_id, state.epoch - 1)
        config = GenerateConfig(seed=seed >> 33)  # providers take 31 bits
        state.messages.insert(0, ChatMessageSystem(content=system_words(protocol)))
        trial = _Trial(case)
        idle = 0
        while not trial.has_ended:
            tools = _TOOLS if protocol == "tools" else []
            state.output = await get_model().generate(state.messages, tools=tools, config=config)
            state.messages.append(state.output.message)
            answers, has_acted = _answers(state.output.message, protocol, trial)
            idle = 0 if has_acted else idle + 1
            state.messages.extend(answers)
            if idle > MAX_NUDGES:
                break
            if not has_acted:
                state.messages.append(ChatMessageUser(content=nudge_words(protocol)))
        state.completed = True
        return state

    return solve


class _Trial:
    """The world's side."""

    def __init__(self, case: Case) -> None:
        self._episode: Episode = until_failure(case)
        self._left = case.budget
        self.has_ended = False

    def act(self, action: Action) -> str:
        if self.has_ended:
            return "The trial is over; this was not carried out."
        step = self._episode.act("policy", action)
        self._left -= 1
        self.has_ended = self._left == 0 or (step.accepted and self._episode.finished)
        return outcome_words(step, self._left)


def _answers(message: Any, protocol: Protocol, trial: _Trial) -> tuple[list[Any], bool]:
    """Carry out what a message proposes; return the answers, and whether there was an action."""
    proposed = list(message_actions(message, protocol))
    words = ["No action." if action is None else trial.act(action) for action in proposed]
    has_acted = any(action is not None for action in proposed)
    if protocol == "text":
        return ([ChatMessageUser(content=words[0])] if has_acted else []), has_acted
    calls = message.tool_calls or []
    return [
        ChatMessageTool(content=said, tool_call_id=call.id, function=call.function)
        for call, said in zip(calls, words, strict=True)
    ], has_acted


# -- the score --------------------------------------------------------------------------


@metric
def exact_bound() -> Any:
    """Where all grids agree, the exact 95 % interval; the clustered standard error is 0 there.

    Clopper and Pearson's, over grids, as in a bundle's summary. Nothing where grids differ.
    """

    def bound(scores: list[Any]) -> dict[str, float]:
        grids: dict[str, list[Fraction]] = {}
        for one in scores:
            share = Fraction(one.score.as_float()).limit_denominator(MAX_POLICY_SEEDS)
            grids.setdefault(one.sample_metadata["grid_id"], []).append(share)
        shares = {sum(values, Fraction(0)) / len(values) for values in grids.values()}
        if len(shares) != 1:
            return {}
        hit, cells = shares.pop().as_integer_ratio()
        (interval,) = intervals_over_groups([[hit] * len(grids)], [[cells] * len(grids)])
        return {
            "exact_low": interval.low_ppm / MILLION,
            "exact_high": interval.high_ppm / MILLION,
        }

    return bound


@scorer(
    metrics={
        name: [mean(), stderr(cluster="grid_id"), exact_bound()]
        for name in ("completed", "verified")
    }
)
def recovery_verdict(protocol: Protocol, suite: str) -> Any:
    """Let the referee judge the actions of the dialogue: two values, never merged."""

    async def score(state: Any, target: Any) -> Any:
        del target
        suite_id, cases, _ = _loaded(suite)
        case = cases[str(state.sample_id)]
        seed = client_stream_seed(suite_id, case.stream_id, state.epoch - 1)
        logged = LoggedTrial.of(state.messages, protocol, "malformed")
        identity = AgentRecord(details={}, kind="inspect", policy="inspect")
        source = replaying_source("inspect", {seed: logged}, identity)
        ran = run_trial(suite_id, case, source, state.epoch - 1)
        written = WrittenTrace(ran.trace, record_bytes(ran.trace))
        result = case.find(suite_id, written, Agent("client_agent", ran.agent_outcome)).result
        return Score(
            value={
                "completed": int(result.completed),
                "verified": int(result.verified_recovery is True),
            },
            explanation=f"{result.proposals} proposals, final cost {result.final_cost}",
        )

    return score

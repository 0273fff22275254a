"""The conformance kit: somebody else's policy or track passes it, or is told what it breaks.

In a test of one's own::

    from wayproof.testing import check_policy

    def test_my_policy_keeps_the_contract() -> None:
        check_policy(MyPolicy)
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from wayproof.canonical import decode_record_line, record_bytes
from wayproof.errors import InputError, IntegrityError, WayproofError
from wayproof.evidence.recovery_names import CONTROLS
from wayproof.evidence.recovery_records import FINISH, IDENTIFIER_PATTERN, Action, Step, Trace
from wayproof.recovery.agents.controls import CONTROL_SOURCES
from wayproof.recovery.agents.policy import Factory, PolicySource, SplitMix64, client_agent
from wayproof.recovery.generate import Parameters, Recipe, generate_grid
from wayproof.recovery.replay import first_difference
from wayproof.recovery.suite import SuiteReader
from wayproof.recovery.track import Agent, Case, Episode, Track, WrittenTrace
from wayproof.recovery.tracks.v0 import load_grid
from wayproof.recovery.trial import RanTrial, run_trial
from wayproof.text import quoted

__all__ = [
    "POLICY_RULES",
    "TRACK_RULES",
    "Breach",
    "ConformanceError",
    "Rule",
    "check_policy",
    "check_track",
    "policy_breaches",
    "track_breaches",
]

_SUBJECT: Final = "conformance-subject"
_TRIALS: Final = Recipe("conformance", 20, Parameters(grids=3, side_max=8))


class Rule(NamedTuple):
    """A rule of the kit, and what it asks for."""

    name: str
    meaning: str


class Breach(NamedTuple):
    """A rule that is broken, and how."""

    rule: str
    found: str


POLICY_RULES: Final = (
    Rule("is_made_from_a_stream", "the factory takes the trial's stream and returns a policy"),
    Rule("proposes", "the policy has a method propose(observation)"),
    Rule("has_a_name", "its name is an identifier, and not a reference control's"),
    Rule("returns_actions", "every proposal is FINISH or a move to a cell of two integers"),
    Rule("raises_nothing", "neither making, proposing, being told nor closing raises"),
    Rule(
        "depends_on_its_trial_alone",
        "the same trial with the same stream gives the same actions, whatever ran before",
    ),
)

TRACK_RULES: Final = (
    Rule("raises_nothing", "no lawful use of an episode or a trace raises"),
    Rule("reads_its_suite", "the suite's header and grids are read, and ids rise"),
    Rule("opens_as_it_says", "each prefix is accepted, and each injection rejected as its kind"),
    Rule("records_what_was_done", "a step bears the phase and the action that were given"),
    Rule("rejections_change_nothing", "a rejected action leaves position and cost as they were"),
    Rule("ends_by_a_finish", "an episode is finished exactly after an accepted finish"),
    Rule("observes_the_state", "an observation bears the latest position and proposals left"),
    Rule("is_deterministic", "the same actions in a fresh world give the same steps"),
    Rule("traces_are_canonical", "a trace's line reads back as the same trace"),
    Rule("honest_traces_pass", "an honest trace fails no check but those that are measured"),
    Rule("records_are_canonical", "a result's line reads back as the track's record"),
    Rule("false_costs_are_found", "a trace with a wrong cost fails a check that isn't measured"),
)


class ConformanceError(WayproofError, AssertionError):
    """A policy or track breaks rules of its contract.

    Attributes
    ----------
    breaches
        Each broken rule once.
    """

    def __init__(self, what: str, breaches: Sequence[Breach]) -> None:
        self.breaches = tuple(breaches)
        rules = "; ".join(f"{breach.rule}: {breach.found}" for breach in breaches)
        super().__init__(f"the {what} breaks its contract: {rules}")


# -- policies -------------------------------------------------------------------------


def check_policy(factory: Factory) -> None:
    """Try a policy on a few trials.

    Raises
    ------
    ConformanceError
        Naming each rule that it breaks.
    """
    breaches = policy_breaches(factory)
    if breaches:
        raise ConformanceError("policy", breaches)


def policy_breaches(factory: Factory) -> list[Breach]:
    """Return each of :data:`POLICY_RULES` that a policy breaks, with the first example."""
    return _first_of_each(_policy_breaches(factory))


def _first_of_each(breaches: Iterator[Breach]) -> list[Breach]:
    found: dict[str, Breach] = {}
    for breach in breaches:
        found.setdefault(breach.rule, breach)
    return list(found.values())


def _name_of(policy: object) -> object:
    try:
        return getattr(policy, "name", None)
    except Exception as error:  # noqa: BLE001 - somebody else's property
        return f"{type(error).__name__}: {error}"


def _policy_breaches(factory: Factory) -> Iterator[Breach]:
    try:
        policy: object = factory(SplitMix64(0))
    except Exception as error:  # noqa: BLE001 - whatever somebody else's factory raises
        yield Breach("is_made_from_a_stream", f"{type(error).__name__}: {error}")
        return
    if not callable(getattr(policy, "propose", None)):
        yield Breach("proposes", f"{type(policy).__name__} has no method propose")
        return
    name = _name_of(policy)
    if not isinstance(name, str) or IDENTIFIER_PATTERN.fullmatch(name) is None:
        yield Breach("has_a_name", f"name {quoted(name)}")
    elif name in {control.name for control in CONTROLS}:
        yield Breach("has_a_name", f"{name} is a reference control")
    source = client_agent(_SUBJECT, factory)
    cases = list(_cases())
    forwards = [run_trial(_TRIALS.suite_id, case, source, 0) for case in cases]
    for case, ran in zip(cases, forwards, strict=True):
        yield from _failures(case, ran)
    yield from _dependences(cases, forwards, source)


def _cases() -> Iterator[Case]:
    for number in range(_TRIALS.parameters.grids):
        yield from load_grid(generate_grid(_TRIALS, number)).cases()


def _failures(case: Case, ran: RanTrial) -> Iterator[Breach]:
    said = ran.log.strip().rpartition("\n")[2]
    if ran.agent_outcome == "malformed":
        yield Breach("returns_actions", f"{said} (trial {case.scenario_id})")
    elif ran.agent_outcome != "ok" or ran.log:
        yield Breach("raises_nothing", f"{ran.agent_outcome}, {said} (trial {case.scenario_id})")


def _dependences(
    cases: list[Case], forwards: list[RanTrial], source: PolicySource
) -> Iterator[Breach]:
    for case, before in zip(reversed(cases), reversed(forwards), strict=True):
        after = run_trial(_TRIALS.suite_id, case, source, 0)
        if after.trace != before.trace:
            at = next(
                number
                for number, pair in enumerate(_longest(before.trace.steps, after.trace.steps))
                if pair[0] != pair[1]
            )
            yield Breach(
                "depends_on_its_trial_alone",
                f"trial {case.scenario_id}, run again, differs at steps[{at}]",
            )


def _longest(
    left: Sequence[Step], right: Sequence[Step]
) -> Iterator[tuple[Step | None, Step | None]]:
    for at in range(max(len(left), len(right))):
        yield left[at] if at < len(left) else None, right[at] if at < len(right) else None


# -- tracks ---------------------------------------------------------------------------


def check_track(track: Track, suite: Path) -> None:
    """Try a track on a suite of its own, which its row in the table has to find.

    Raises
    ------
    ConformanceError
        Naming each rule that it breaks.
    """
    breaches = track_breaches(track, suite)
    if breaches:
        raise ConformanceError("track", breaches)


def track_breaches(track: Track, suite: Path) -> list[Breach]:
    """Return each of :data:`TRACK_RULES` that a track breaks, with the first example."""
    return _first_of_each(_track_breaches(track, suite))


def _track_breaches(track: Track, suite: Path) -> Iterator[Breach]:
    try:
        with SuiteReader(suite) as reader:
            if reader.track is not track:
                yield Breach("reads_its_suite", f"the header leads to track {reader.track.name}")
                return
            suite_id = reader.header.suite_id
            cases = [case for _, grid in reader.grids() for case in grid.cases()]
    except InputError as error:
        yield Breach("reads_its_suite", str(error))
        return
    for case in cases:
        try:
            yield from _odd_breaches(case)
            for name in CONTROL_SOURCES:
                yield from _control_breaches(track, suite_id, case, name)
        except Exception as error:  # noqa: BLE001 - whatever somebody else's track raises
            raised = f"{type(error).__name__}: {error}"
            yield Breach("raises_nothing", f"trial {case.scenario_id}: {raised}")


def _control_breaches(track: Track, suite_id: str, case: Case, control: str) -> Iterator[Breach]:
    try:
        trace = run_trial(suite_id, case, CONTROL_SOURCES[control], 0).trace
    except IntegrityError as error:
        yield Breach("opens_as_it_says", str(error))
        return
    yield from _episode_breaches(case, trace)
    yield from _evidence_breaches(track, suite_id, case, trace)


def _episode_breaches(case: Case, trace: Trace) -> Iterator[Breach]:
    place = f"trial {case.scenario_id}"
    different = first_difference(case.begin(), trace.steps)
    if different is not None:
        yield Breach("is_deterministic", f"{place}, steps[{different}]")
    fresh = case.begin()
    for number, step in enumerate(trace.steps):
        yield from _step_breaches(fresh, step, f"{place}, steps[{number}]")


def _step_breaches(fresh: Episode, step: Step, place: str) -> Iterator[Breach]:
    before = fresh.observation(7)
    made = fresh.act(step.phase, step.action)
    after = fresh.observation(6)
    if not made.accepted and (made.position != before.position or made.spent != step.spent):
        yield Breach("rejections_change_nothing", place)
    if fresh.finished is not (made.accepted and made.action.finish):
        yield Breach("ends_by_a_finish", place)
    if after.position != made.position or (before.proposals_left, after.proposals_left) != (7, 6):
        yield Breach("observes_the_state", place)


def _odd_breaches(case: Case) -> Iterator[Breach]:
    """Propose what no control does: far cells, the own one, a finish at once."""
    fresh, spent = case.begin(), 0
    odd = [FINISH, Action(move=(-1, 10**6)), Action(move=fresh.observation(1).position)]
    for number, action in enumerate(odd):
        if fresh.finished:
            return
        step = fresh.act("policy", action)
        place = f"trial {case.scenario_id}, odd proposal {number}"
        if (step.phase, step.action) != ("policy", action):
            yield Breach("records_what_was_done", place)
        if not step.accepted and step.spent != spent:
            yield Breach("rejections_change_nothing", place)
        spent = step.spent


def _evidence_breaches(track: Track, suite_id: str, case: Case, trace: Trace) -> Iterator[Breach]:
    place = f"trial {case.scenario_id}"
    line = record_bytes(trace)
    try:
        again = decode_record_line(line, msgspec.json.Decoder(track.trace_type))
    except InputError as error:
        yield Breach("traces_are_canonical", f"{place}: {error}")
        return
    if again != trace:
        yield Breach("traces_are_canonical", place)
    agent = Agent("reference_control", "ok")
    finding = case.find(suite_id, WrittenTrace(trace, line), agent)
    if finding.failure is not None and finding.failure.check not in track.measured:
        yield Breach("honest_traces_pass", f"{place}: {finding.failure.check}")
    try:
        decoder: msgspec.json.Decoder[object] = msgspec.json.Decoder(track.result_type)
        if msgspec.json.encode(decoder.decode(finding.line)) != finding.line:
            yield Breach("records_are_canonical", place)
    except msgspec.MsgspecError as error:
        yield Breach("records_are_canonical", f"{place}: {error}")
    false = msgspec.structs.replace(trace.steps[-1], spent=trace.steps[-1].spent + 1)
    forged = msgspec.structs.replace(trace, steps=(*trace.steps[:-1], false))
    try:
        finding = case.find(suite_id, WrittenTrace(forged, record_bytes(forged)), agent)
    except IntegrityError:
        return
    if finding.failure is None or finding.failure.check in track.measured:
        yield Breach("false_costs_are_found", place)

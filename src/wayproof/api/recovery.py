"""Running the recovery benchmark from Python, with the controls or a policy of one's own."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from wayproof.api.bundle import RecoveryBundle, read_bundle
from wayproof.api.given import path_of, processes_of
from wayproof.api.lines import Lines
from wayproof.api.scratch import Scratch
from wayproof.errors import InputError
from wayproof.evidence.recovery_names import RESULTS_NAME, TRACES_NAME
from wayproof.evidence.recovery_records import Result, Trace
from wayproof.recovery.agents.controls import CONTROL_SOURCES, controls_named
from wayproof.recovery.agents.policy import Policy, PolicySource, client_agent
from wayproof.recovery.run import RunRequest, run_suite
from wayproof.recovery.suite import suite_path
from wayproof.stats.seeded import SplitMix64
from wayproof.strict_json import plain_value
from wayproof.text import quoted

__all__ = ["AnyPolicy", "run"]

AnyPolicy = str | PolicySource | Callable[[SplitMix64], Policy]
"""A control's name, a source, or what makes the policy of a trial from its random stream."""


def run(
    policy: AnyPolicy | Iterable[AnyPolicy] | None = None,
    *,
    name: str | None = None,
    suite: str | Path = "wfrb-v0",
    seeds: Iterable[int] = (0, 1),
    out: str | Path | None = None,
    overwrite: bool = False,
    processes: int = 1,
) -> RecoveryBundle:
    """Run a policy on every scenario of a suite, and judge each trial.

    Parameters
    ----------
    policy
        What to run: the name of a reference control (``planner``, ``random-walk``,
        ``blind-repeat``), or a class or function that makes a policy: it is called once a
        trial with a stream of random numbers of its own, and what it returns has
        ``propose(observation)``. A list of several; None: the three controls.
    name
        What the records call a policy of one's own; its ``name`` when omitted.
    suite
        An official suite's name, or a suite file.
    seeds
        Policy seeds: each scenario is run once with each.
    out
        Folder for the bundle; None keeps it for as long as the result is held.
    overwrite
        Replace an existing bundle.
    processes
        How many processes share the work. Results don't depend on it.

    Returns
    -------
    RecoveryBundle
        Completed and verified by policy and failure kind; results and traces of all trials.

    Raises
    ------
    InputError
        For a policy, suite or seeds that can't be used. Nothing is written then.
    """
    scratch = Scratch() if out is None else None
    folder = scratch.path / "bundle" if scratch is not None else path_of(out, "out")
    if not isinstance(suite, str | Path):
        raise InputError("not a suite", setting="suite", expected="a name or a path")
    request = RunRequest(
        suite=suite_path(str(suite)),
        suite_name=str(suite),
        policies=_sources(policy, name),
        policy_seeds=_seeds(seeds),
        processes=processes_of(processes),
    )
    run_suite(request, folder, overwrite=overwrite)
    bundle = read_bundle(folder, kind="recovery")
    return RecoveryBundle(
        folder=bundle.folder,
        manifest=bundle.manifest,
        summary=bundle.summary,
        results=Lines(folder / RESULTS_NAME, Result, scratch),
        traces=Lines(folder / TRACES_NAME, Trace, scratch),
    )


def _sources(policy: Any, name: str | None) -> tuple[PolicySource, ...]:
    if policy is None:
        return tuple(CONTROL_SOURCES.values())
    several = isinstance(policy, Iterable) and not isinstance(policy, str | PolicySource | type)
    policies = list(policy) if several else [policy]
    if name is not None and len(policies) != 1:
        raise InputError("one name for several policies", setting="name", found=quoted(name))
    return tuple(_source(one, name) for one in policies)


def _source(policy: Any, name: str | None) -> PolicySource:
    if isinstance(policy, PolicySource):
        return policy
    if isinstance(policy, str):
        return controls_named([policy])[0]
    if not callable(policy):
        raise InputError(
            "not a policy",
            setting="policy",
            expected="a control's name, or a class or function that makes a policy",
            found=quoted(policy),
            mend="give the class itself: it is called once a trial",
        )
    chosen = name if name is not None else getattr(policy, "name", None)
    if not isinstance(chosen, str):
        chosen = str(getattr(policy, "__name__", "policy"))
    return client_agent(chosen, policy)


def _seeds(seeds: Any) -> tuple[int, ...]:
    numbers = [plain_value(seed) for seed in seeds] if isinstance(seeds, Iterable) else [seeds]
    for seed in numbers:
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise InputError(
                "not policy seeds",
                setting="seeds",
                expected="a list of whole numbers",
                found=quoted(seed),
            )
    return tuple(numbers)

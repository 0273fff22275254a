"""The conformance kit: good policies and tracks pass, and each way of being bad is named."""

import random
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from wayproof.cli import main
from wayproof.evidence.recovery_records import FINISH, Action, Step, Trace
from wayproof.recovery.agents.controls import BlindRepeat, Planner, RandomWalk
from wayproof.recovery.agents.policy import Observation
from wayproof.recovery.generate import Parameters, Recipe, suite_lines
from wayproof.recovery.tracks import registry, v0
from wayproof.stats.seeded import SplitMix64
from wayproof.testing import (
    POLICY_RULES,
    TRACK_RULES,
    ConformanceError,
    check_policy,
    check_track,
    policy_breaches,
    track_breaches,
)


class Base:
    name = "sample"

    def __init__(self, stream: SplitMix64) -> None:
        self.stream = stream

    def propose(self, seen: Observation) -> Any:
        row, column = seen.position
        return Action(move=(row, column + 1 - 2 * self.stream.below(2)))


class Nameless(Base):
    name = "two words"


class Impostor(Base):
    name = "planner"


class Mute:
    name = "mute"

    def __init__(self, stream: SplitMix64) -> None:
        self.stream = stream


class SaysText(Base):
    def propose(self, seen: Observation) -> Any:  # noqa: ARG002
        return "up"


class SaysFloats(Base):
    def propose(self, seen: Observation) -> Any:
        return Action(move=(1.5, seen.position[1]))  # type: ignore[arg-type]


class Raises(Base):
    def propose(self, seen: Observation) -> Any:
        raise KeyError(seen.position)


class ClosesBadly(Base):
    def close(self) -> None:
        raise OSError("gone")


class HearsBadly(Base):
    def told(self, step: Step, proposals_left: int) -> None:
        raise ValueError(step, proposals_left)


class Moody(Base):
    def propose(self, seen: Observation) -> Any:
        return Action(move=(seen.position[0], random.randrange(5)))


class Remembers(Base):
    trials = 0

    def __init__(self, stream: SplitMix64) -> None:
        super().__init__(stream)
        Remembers.trials += 1

    def propose(self, seen: Observation) -> Any:
        return Action(move=(Remembers.trials, seen.position[1]))


def shared() -> Callable[[SplitMix64], Base]:
    one = Base(SplitMix64(1))
    return lambda _: one


BAD_POLICIES: dict[str, tuple[Any, str]] = {
    "takes nothing": (lambda: Base(SplitMix64(0)), "is_made_from_a_stream"),
    "raises when made": (lambda _: 1 // 0, "is_made_from_a_stream"),
    "no propose": (Mute, "proposes"),
    "no name": (Nameless, "has_a_name"),
    "a control's name": (Impostor, "has_a_name"),
    "says text": (SaysText, "returns_actions"),
    "says floats": (SaysFloats, "returns_actions"),
    "raises": (Raises, "raises_nothing"),
    "closes badly": (ClosesBadly, "raises_nothing"),
    "hears badly": (HearsBadly, "raises_nothing"),
    "own randomness": (Moody, "depends_on_its_trial_alone"),
    "remembers trials": (Remembers, "depends_on_its_trial_alone"),
    "one for all": (shared(), "depends_on_its_trial_alone"),
}


@pytest.mark.parametrize("name", BAD_POLICIES)
def test_a_bad_policy_is_told_what_it_breaks(name: str) -> None:
    """Each rule by its name, once."""
    factory, rule = BAD_POLICIES[name]
    assert [breach.rule for breach in policy_breaches(factory)] == [rule]
    with pytest.raises(ConformanceError, match=f"the policy breaks its contract: {rule}: "):
        check_policy(factory)


def test_a_good_policy_passes() -> None:
    """A sample passes whole; the controls break nothing but the rule about their names."""
    check_policy(Base)
    for control in (Planner, RandomWalk, BlindRepeat):
        assert [breach.rule for breach in policy_breaches(control)] == ["has_a_name"]


def test_every_rule_of_policies_has_its_sinner() -> None:
    """No rule is only words."""
    assert {rule for _, rule in BAD_POLICIES.values()} == {rule.name for rule in POLICY_RULES}


# -- tracks -------------------------------------------------------------------------------


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "suite.jsonl"
    path.write_bytes(b"".join(suite_lines(Recipe("kit", 3, Parameters(grids=2, side_max=7)))))
    return path


def test_v0_passes(suite: Path) -> None:
    """The track that there is keeps the contract."""
    check_track(v0.V0, suite)


def change_steps(edit: Callable[[Step, int], Step]) -> Callable[[pytest.MonkeyPatch], None]:
    """Have v0's episodes report other steps than they make."""

    def patch(patched: pytest.MonkeyPatch) -> None:
        honest = v0.V0Episode.act
        numbers: Iterator[int] = iter(range(10**9))

        def act(self: v0.V0Episode, phase: Any, action: Action) -> Step:
            step = edit(honest(self, phase, action), next(numbers))
            self._steps[-1] = step
            return step

        patched.setattr(v0.V0Episode, "act", act)

    return patch


def replace(**fields: Any) -> Callable[[Step], Step]:
    return lambda step: msgspec.structs.replace(step, **fields)


def costly_rejection(step: Step, _: int) -> Step:
    return step if step.accepted else msgspec.structs.replace(step, spent=step.spent + 1)


def moody(step: Step, number: int) -> Step:
    if step.phase != "policy" or not step.accepted:
        return step
    return msgspec.structs.replace(step, spent=step.spent + number)


def relabelled(step: Step, _: int) -> Step:
    return msgspec.structs.replace(step, action=FINISH) if step.phase == "policy" else step


def gullible(patched: pytest.MonkeyPatch) -> None:
    """A track whose referee passes everything."""
    honest = v0.V0Case.find

    def find(self: v0.V0Case, *given: Any) -> Any:
        return honest(self, *given)._replace(failure=None)

    patched.setattr(v0.V0Case, "find", find)


def strict(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(v0.V0Track, "measured", frozenset())


def wrong_line(patched: pytest.MonkeyPatch) -> None:
    honest = v0.V0Case.find
    patched.setattr(
        v0.V0Case, "find", lambda self, *given: honest(self, *given)._replace(line=b'{"a":1}')
    )


def another_opening(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(v0.V0Case, "injected_action", property(lambda _: Action(move=(0, 10**6))))


def stale_observation(patched: pytest.MonkeyPatch) -> None:
    honest = v0.V0Episode.observation
    patched.setattr(v0.V0Episode, "observation", lambda self, _left: honest(self, 3))


def ends_early(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(v0.V0Episode, "finished", property(lambda self: len(self._steps) > 3))


def never_ends(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(v0.V0Episode, "finished", property(lambda _: False))


def odd_traces(patched: pytest.MonkeyPatch) -> None:
    class Odd(Trace, frozen=True):
        another: int

    patched.setattr(v0.V0Track, "trace_type", Odd)


def nowhere(patched: pytest.MonkeyPatch) -> None:
    patched.setitem(registry.TRACKS, "v0", v0.V0Track())


BAD_TRACKS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "raises_nothing": never_ends,
    "reads_its_suite": nowhere,
    "opens_as_it_says": another_opening,
    "records_what_was_done": change_steps(relabelled),
    "rejections_change_nothing": change_steps(costly_rejection),
    "ends_by_a_finish": ends_early,
    "observes_the_state": stale_observation,
    "is_deterministic": change_steps(moody),
    "traces_are_canonical": odd_traces,
    "honest_traces_pass": strict,
    "records_are_canonical": wrong_line,
    "false_costs_are_found": gullible,
}


@pytest.mark.parametrize("rule", [rule.name for rule in TRACK_RULES])
def test_a_bad_track_is_told_what_it_breaks(
    rule: str, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fault put into v0 is named by its rule."""
    BAD_TRACKS[rule](monkeypatch)
    assert rule in [breach.rule for breach in track_breaches(v0.V0, suite)]
    with pytest.raises(ConformanceError, match="the track breaks its contract"):
        check_track(v0.V0, suite)


# -- packages of others -----------------------------------------------------------------------

GREEDY = """
from wayproof.recovery.agents.policy import FINISH, Action

class Greedy:
    name = "greedy"

    def __init__(self, stream):
        self.stream = stream

    def propose(self, seen):
        if seen.position == seen.target:
            return FINISH
        row, column = seen.position
        return Action(move=(row, column + 1))

broken = 7

def explodes(stream):
    raise ValueError("no")
"""


@pytest.fixture
def _package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's package, as an installer lays it out: a module and its entry points."""
    site = tmp_path / "site"
    info = site / "other_agents-1.5.dist-info"
    info.mkdir(parents=True)
    (site / "other_agents.py").write_text(GREEDY)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other-agents\nVersion: 1.5\n")
    (info / "entry_points.txt").write_text(
        "[wayproof.policies]\nleft-hand = other_agents:Greedy\nbad = other_agents:broken\n"
        "gone = other_agents:missing\nboom = other_agents:explodes\n"
    )
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_package")
@pytest.mark.parametrize("spelled", ["left-hand", "other_agents:Greedy"])
def test_a_package_of_others_is_found(
    spelled: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its entry point, or as module:factory; the manifest says where it came from."""
    arguments = ["recovery", "run", "--suite", "explorer-sample", "--policy", spelled]
    assert main([*arguments, "--out", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    assert main(["verify", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "agent greedy, python: factory other_agents:Greedy" in said
    assert ("package other-agents 1.5" in said) is (spelled == "left-hand")
    assert main([*arguments, "--name", "mine", "--out", str(tmp_path / "named")]) == 0
    assert b'"policy":"mine"' in (tmp_path / "named" / "results.jsonl").read_bytes()


@pytest.mark.usefixtures("_package")
@pytest.mark.parametrize(
    ("spelled", "message"),
    [
        ("unheard-of", "--policy: unknown policy; expected blind-repeat, planner, random-walk, "),
        ("bad", "--policy: the policy's factory can't be called; expected a class or function"),
        ("gone", "--policy: the policy can't be imported; expected module:factory; found"),
        ("no_such_module:X", "the policy can't be imported"),
        ("other_agents:Greedy.missing", "the policy can't be imported"),
        (":", "not the name of a policy"),
        ("other_agents:", "not the name of a policy"),
    ],
)
def test_a_broken_package_is_told(
    spelled: str,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One line, status 2, nothing written."""
    out = tmp_path / "out"
    assert main(["recovery", "run", "--policy", spelled, "--out", str(out)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()


@pytest.mark.usefixtures("_package")
def test_the_kit_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A policy that passes leaves with 0; one that doesn't with 1, each broken rule named."""
    assert main(["recovery", "check-policy", "left-hand"]) == 0
    assert "left-hand keeps the contract of policies: 6 rules" in capsys.readouterr().out
    assert main(["recovery", "check-policy", "boom"]) == 1
    assert "is_made_from_a_stream: ValueError: no" in capsys.readouterr().out


@pytest.mark.slow
def test_a_package_that_is_installed_in_a_venv(tmp_path: Path) -> None:
    """Made, installed by pip without an index, found by its entry point."""
    source = tmp_path / "package"
    source.mkdir()
    (source / "other_agents.py").write_text(GREEDY)
    (source / "pyproject.toml").write_text(
        textwrap.dedent("""
            [build-system]
            requires = ["hatchling"]
            build-backend = "hatchling.build"
            [project]
            name = "other-agents"
            version = "1.5"
            [project.entry-points."wayproof.policies"]
            left-hand = "other_agents:Greedy"
            [tool.hatch.build.targets.wheel]
            include = ["other_agents.py"]
        """)
    )
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    site = subprocess.run(
        [venv / "bin" / "python", "-c", "import site; print(site.getsitepackages()[0])"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    ours = [path for path in sys.path if path.endswith("site-packages")]
    root = Path(__file__).parents[2] / "src"
    Path(site, "outside.pth").write_text("\n".join([str(root), *ours]) + "\n")
    install = ["-m", "pip", "install", "-q", "--no-index", "--no-build-isolation", "--no-deps"]
    subprocess.run(
        [sys.executable, *install, "--target", site, str(source)], check=True, capture_output=True
    )
    run = ["-m", "wayproof", "recovery", "run", "--suite", "explorer-sample"]
    done = subprocess.run(
        [venv / "bin" / "python", *run, "--policy", "left-hand", "--out", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"package" in (tmp_path / "out" / "manifest.json").read_bytes()

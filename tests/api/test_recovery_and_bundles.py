"""Running, verifying and reading bundles from Python."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

import wayproof
from wayproof.recovery.suite import REFERENCE_RESULTS_SHA256
from wayproof.stats.seeded import SplitMix64


class Straight:
    """Goes straight for the target: rows first."""

    name = "straight"

    def __init__(self, stream: SplitMix64) -> None:
        del stream

    def propose(self, seen: wayproof.Observation) -> wayproof.Action:
        (row, column), (to_row, to_column) = seen.position, seen.target
        if seen.position == seen.target:
            return wayproof.FINISH
        if row != to_row:
            return wayproof.Action(move=(row + (1 if to_row > row else -1), column))
        return wayproof.Action(move=(row, column + (1 if to_column > column else -1)))


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of a policy of one's own."""
    folder = tmp_path_factory.mktemp("api") / "straight"
    wayproof.run(Straight, seeds=[0], out=folder)
    return folder


def test_a_policy_of_ones_own_runs_and_its_bundle_verifies(straight: Path) -> None:
    """Ten lines of Python are measured, and evidence of it holds."""
    bundle = wayproof.read_bundle(straight, kind="recovery")
    (row,) = bundle.summary.policies
    assert (row.policy, row.evidence_class, row.total.cells) == ("straight", "client_agent", 150)
    assert row.total.completed == sum(result.completed for result in bundle.results)
    assert row.total.verified == sum(bool(result.verified_recovery) for result in bundle.results)
    assert len(bundle.traces) == len(bundle.results) == 150
    checked = wayproof.verify(straight)
    assert (checked.kind, checked.verdict) == ("recovery", "verified")
    assert any("client agents" in finding for finding in checked.findings)


def test_the_controls_give_the_published_digest() -> None:
    """From Python, too, the reference experiment gives the published bytes."""
    bundle = wayproof.run()
    assert bundle.summary.results_sha256 == REFERENCE_RESULTS_SHA256
    assert bundle.summary.trials == len(bundle.results) == 900
    assert bundle.to_dicts()[0] == msgspec.to_builtins(bundle.results[0])
    assert "planner 300 completed and 300 verified of 300" in repr(bundle)
    assert "<td>planner</td><td>all</td><td>300</td>" in getattr(bundle, "_repr_html_")()  # noqa: B009


def test_a_factory_is_as_good_as_a_class_and_several_may_be_run() -> None:
    """What makes a policy may be a function; a name may be given for the records."""

    def make(stream: SplitMix64) -> Straight:
        return Straight(stream)

    named = wayproof.run(make, name="from-a-function", seeds=[0])
    assert [row.policy for row in named.summary.policies] == ["from-a-function"]
    controls = wayproof.run(["planner", "blind-repeat"], seeds=(0,))
    assert [row.policy for row in controls.summary.policies] == ["blind-repeat", "planner"]


@pytest.mark.parametrize(
    ("arguments", "settings", "said"),
    [
        ((3,), {}, "`policy`: not a policy"),
        ((Straight.__new__(Straight),), {}, "`policy`: not a policy"),
        (("planer",), {}, "`policies`: unknown policy"),
        ((Straight,), {"name": "two words"}, "`policies`: not a name for a policy"),
        ((Straight,), {"name": "planner"}, "`policies`: is the name of a reference control"),
        (([Straight, "planner"],), {}, "`policies`: client agents are not run beside"),
        (([Straight, Straight],), {"name": "x"}, "`name`: one name for several policies"),
        ((Straight,), {"suite": 3}, "`suite`: not a suite"),
        ((Straight,), {"suite": "nowhere.jsonl"}, "nowhere.jsonl"),
        ((Straight,), {"seeds": "x"}, "`seeds`: not policy seeds"),
        ((Straight,), {"seeds": 3.5}, "`seeds`: not policy seeds"),
        ((Straight,), {"seeds": []}, "`policy_seeds`: nothing named"),
        ((Straight,), {"processes": "2"}, "`processes`"),
        ((Straight,), {"out": 3}, "`out`"),
    ],
)
def test_what_cannot_be_run_is_named(
    arguments: tuple[Any, ...],
    settings: dict[str, Any],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Always an ``InputError``, and nothing is written."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(wayproof.InputError) as raised:
        wayproof.run(*arguments, **{"out": tmp_path / "out", **settings})
    assert str(raised.value).startswith(said) or said in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_verify_needs_both_sources_or_none(tmp_path: Path) -> None:
    """With its inputs a fitness bundle is scored again; one alone proves nothing."""
    tasks, packets = tmp_path / "t.jsonl", tmp_path / "p.jsonl"
    tasks.write_text('{"task_id": "a", "expected_artifacts": ["x"]}\n')
    packets.write_text('{"task_id": "a", "selected_artifacts": ["x"]}\n')
    wayproof.score(tasks, packets, out=tmp_path / "out")
    assert wayproof.verify(tmp_path / "out").kind == "fitness"
    checked = wayproof.verify(tmp_path / "out", tasks=tasks, packets=packets)
    assert any("byte for byte" in finding for finding in checked.findings)
    with pytest.raises(wayproof.InputError, match="`tasks` and `packets` go together"):
        wayproof.verify(tmp_path / "out", tasks=tasks)


def test_a_changed_bundle_is_no_bundle(straight: Path, tmp_path: Path) -> None:
    """Neither reader nor check lets a changed byte through."""
    for path in straight.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    results = tmp_path / "results.jsonl"
    results.write_bytes(results.read_bytes().replace(b'"completed":false', b'"completed":true', 1))
    with pytest.raises(wayproof.IntegrityError):
        wayproof.read_bundle(tmp_path)
    with pytest.raises(wayproof.IntegrityError):
        wayproof.verify(tmp_path)


def test_a_read_bundle_is_of_its_kind(straight: Path, tmp_path: Path) -> None:
    """The kind that is asked for is the kind that comes back, or an error."""
    scored = wayproof.score([{"task_id": "a", "scent_terms": ["x"]}], [], out=tmp_path / "out")
    bundle = wayproof.read_bundle(tmp_path / "out")
    assert isinstance(bundle, wayproof.FitnessBundle)
    assert bundle.summary == scored.summary
    assert list(bundle.results) == list(scored.results)
    assert bundle.to_dicts() == scored.to_dicts()
    assert isinstance(wayproof.read_bundle(straight), wayproof.RecoveryBundle)
    with pytest.raises(wayproof.InputError, match="not a fitness bundle"):
        wayproof.read_bundle(straight, kind="fitness")
    for bad in (3, tmp_path):
        with pytest.raises(wayproof.InputError):
            wayproof.read_bundle(bad)  # type: ignore[arg-type]


def test_two_bundles_are_compared(tmp_path: Path) -> None:
    """A debt that was paid is seen; wrong types are named."""
    task = [{"task_id": "a", "expected_artifacts": ["x"]}]
    wayproof.score(task, [], out=tmp_path / "base")
    wayproof.score(task, [{"task_id": "a", "selected_artifacts": ["x"]}], out=tmp_path / "new")
    compared = wayproof.compare_bundles(tmp_path / "base", str(tmp_path / "new"))
    assert isinstance(compared, wayproof.Comparison)
    for settings in ({"measures": "AP"}, {"cluster": 3}, {"needed": "x"}):
        (name,) = settings
        with pytest.raises(wayproof.InputError, match=f"`{name}`"):
            wayproof.compare_bundles(tmp_path / "base", tmp_path / "new", **settings)
    with pytest.raises(wayproof.InputError, match="`base`"):
        wayproof.compare_bundles(3, tmp_path / "new")  # type: ignore[arg-type]

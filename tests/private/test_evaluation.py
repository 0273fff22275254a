"""A whole private evaluation: what is run, what is refused and by which clause, what is caught."""

import json
import random
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from wayproof.bundles.check import check_bundle
from wayproof.bundles.kinds import CheckRequest
from wayproof.canonical import canonical_bytes, sha256_hex
from wayproof.errors import InputError, IntegrityError, WayproofError
from wayproof.private.cgroups import Groups
from wayproof.private.disclose import disclose
from wayproof.private.keys import new_key
from wayproof.private.run import run_private
from wayproof.private.sandbox import Machine
from wayproof.private.signing import (
    Trust,
    check_agreement,
    read_trust,
    sign_agreement,
    sign_result,
    sign_start,
)

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)
Repair = Callable[[Path], None]
BARE = Machine(None, "bubblewrap (bwrap) is not installed", Groups(), None, None, None)


def _check(setting: Any, name: str) -> Any:
    return check_bundle(setting.folder / name, CheckRequest(trust=setting.trust_words))


# -- the honest way -----------------------------------------------------------------------


def test_an_honest_evaluation_is_verified(finished: Any) -> None:
    """Run and disclosed trial hold, for whoever trusts both keys, to the last signature."""
    for name in ("result", "trial"):
        checked = _check(finished, name)
        assert checked.report.verdict == "verified"
        assert checked.report.is_whole
        assert checked.unchecked_signatures == ()


def test_without_trusted_keys_the_signer_is_unknown(finished: Any) -> None:
    """Signatures that hold say nothing to somebody who trusts no key, and that is said."""
    for name in ("result", "trial"):
        report = check_bundle(finished.folder / name).report
        assert not report.is_whole
        assert "signature valid, signer unknown" in report.verdict


def test_other_trusted_keys_are_an_error(finished: Any) -> None:
    """Evidence by other signers than those that are trusted is refused."""
    words = {"client": new_key().public.hex, "evaluator": new_key().public.hex}
    with pytest.raises(IntegrityError, match="signer unknown"):
        check_bundle(finished.folder / "trial", CheckRequest(trust=words))
    swapped = {"client": finished.evaluator.public.hex, "evaluator": finished.client.public.hex}
    with pytest.raises(WayproofError):
        check_bundle(finished.folder / "trial", CheckRequest(trust=swapped))


def test_the_result_says_what_was_not_enforced(agreed: Any) -> None:
    """A best-effort limit that this machine couldn't enforce stands in the signed result."""
    result = run_private(agreed.request(), agreed.folder / "result", looks=lambda *_: BARE).result
    missed = {each.clause for each in result.enforced if not each.enforced}
    assert {"memory_bytes", "processes", "network", "isolation", "file_bytes"} == missed
    findings = _check(agreed, "result").report.findings
    assert any("best effort, not enforced: network" in line for line in findings)
    assert "no sandbox" in result.not_hashed[0]


def test_results_name_nobody_who_gets_none(setting: Any) -> None:
    """Without traces a result is attested and says so; stderr that nobody receives is gone."""
    from wayproof.evidence.private_records import Receives

    setting.plan(
        keep="records", receives=Receives(results=("client", "evaluator"), stderr=(), traces=())
    )
    setting.sign()
    setting.start()
    assert setting.run().agent_log is None
    assert not (setting.folder / "result" / "traces.jsonl").exists()
    assert not list(setting.hidden.rglob("traces.jsonl"))
    assert not list(setting.folder.rglob("*.log"))
    name = json.loads((setting.folder / "result/results.jsonl").read_text().splitlines()[0])
    trial = f"acme/{name['scenario_id']}/{name['policy_seed']}"
    disclose(setting.folder / "result", trial, setting.hidden, setting.folder / "trial")
    for bundle in ("result", "trial"):
        findings = _check(setting, bundle).report.findings
        assert any("attested, not re-derived" in line for line in findings)


def test_a_run_that_was_given_up_stays_in_the_chain(agreed: Any) -> None:
    """A start without a result is seen in the next result, which can't leave it out."""
    agreed.start(last=1)
    agreed.run(run=2)
    findings = _check(agreed, "result").report.findings
    assert "started and given up before it: run 1" in findings
    for path in (agreed.folder / "result").glob("start-0001*"):
        path.unlink()
    with pytest.raises(WayproofError):
        _check(agreed, "result")


def test_two_runs_follow_each_other(finished: Any) -> None:
    """The second start names the first result; the seeds of the two runs differ."""
    finished.start(finished.folder / "result", last=1)
    finished.run("second", run=2)
    assert _check(finished, "second").report.verdict == "verified"
    seeds = [
        {json.loads(line)["policy_seed"] for line in (finished.folder / name).read_text().split()}
        for name in ("result/results.jsonl", "second/results.jsonl")
    ]
    assert not seeds[0] & seeds[1]


# -- what run refuses -----------------------------------------------------------------------


def _refused(setting: Any, clause: str, **changes: Any) -> str:
    before = sorted(path.name for path in setting.folder.iterdir())
    with pytest.raises(WayproofError) as caught:
        setting.run(**changes)
    assert clause in str(caught.value)
    assert sorted(path.name for path in setting.folder.iterdir()) == before
    assert not (setting.hidden / "runs").exists()
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "clause"),
    [
        (b"Jane", b"Jape", "clause authorised_by"),
        (b"runs = 3", b"runs = 9", "clause runs"),
        (b"walk", b"plan", "clause agent.command"),
        (b'"/usr"', b'"/etc"', "clause agent.runtime"),
        (b'name = "acme"', b'name = "acne"', "clause agent.name"),
        (b"2026-03-31", b"2027-03-31", "clause validity.not_after"),
        (b"2026-02-28", b"2026-02-27", "clause validity.not_before"),
        (b"seeds = 1", b"seeds = 2", "clause suite.seeds"),
        (b"scenarios = 6", b"scenarios = 5", "clause suite.scenarios"),
        (b"seconds = { at_most = 20", b"seconds = { at_most = 90", "clause limits.seconds"),
        (b'network = { enforce = "best', b'network = { enforce = "west', "clause limits.network"),
        (b'keep = "traces"', b'keep = "tracts"', "clause keep"),
        (b'"cost_exact"', b'"cost_exalt"', "clause checks"),
        (b"stderr = []", b'stderr = ["client"]', "clause receives.stderr"),
        (b"# Ed25519", b"# ed25519", "no clause: comments or spacing"),
        (b"[keys]", b"[kegs]", "clause kegs.client"),
        (b"runs = 3", b"runs = ", "clause unknown"),
        (b"schema_version", b"schema-version", "clause schema-version"),
    ],
)
def test_an_altered_agreement_is_refused_by_its_clause(
    agreed: Any, old: bytes, new: bytes, clause: str
) -> None:
    """Whatever part of the signed bytes is changed, the refusal names the clause."""
    data = agreed.agreement.read_bytes()
    assert old in data
    agreed.agreement.write_bytes(data.replace(old, new, 1))
    said = _refused(agreed, clause)
    assert "altered after the client signed" in said


@pytest.mark.parametrize("part", range(4))
def test_no_byte_of_an_agreement_can_be_changed(agreed: Any, part: int) -> None:
    """Each byte is covered by both signatures, and every refusal speaks of a clause."""
    data = agreed.agreement.read_bytes()
    for place in range(part, len(data), 4):
        changed = bytearray(data)
        changed[place] ^= 1 << place % 7
        with pytest.raises(WayproofError, match="clause"):
            check_agreement(agreed.agreement, bytes(changed), agreed.trust)


def test_dates_and_signers_are_held_to(agreed: Any) -> None:
    """Too early, too late, an expired start, an unknown or missing signer: each by its clause."""
    _refused(agreed, "clause validity.not_before", moment=NOW - timedelta(days=9))
    _refused(agreed, "clause validity.not_after", moment=NOW + timedelta(days=31))
    _refused(agreed, "clause start.not_after", moment=NOW + timedelta(hours=3))
    stranger = new_key()
    for role in ("client", "evaluator"):
        said = _refused(
            agreed, f"clause keys.{role}", trust=agreed.trust._replace(**{role: stranger.public})
        )
        assert "signature valid, signer unknown" in said
    _refused(agreed, "clause keys.evaluator", key=stranger)
    _refused(agreed, "trusted key for each role", trust=Trust(agreed.client.public))
    (agreed.folder / "agreement.client.sig.json").unlink()
    _refused(agreed, "clause keys")


def test_one_key_can_not_hold_both_roles(setting: Any, agreed: Any) -> None:
    """One key in both roles is refused where it is planned, signed and trusted."""
    alone = setting._replace(evaluator=setting.client)
    with pytest.raises(InputError, match="one key in both roles"):
        alone.plan()
    assert not alone.agreement.exists()
    assert not alone.hidden.exists()
    text = agreed.agreement.read_bytes()
    forged = text.replace(agreed.evaluator.public.hex.encode(), agreed.client.public.hex.encode())
    with pytest.raises(InputError, match="one key in both roles"):
        sign_agreement(forged, "client", agreed.client)
    with pytest.raises(InputError, match="one key in both roles"):
        read_trust(dict.fromkeys(("client", "evaluator"), agreed.client.public.hex))


def test_a_signature_counts_in_its_own_role_alone(agreed: Any) -> None:
    """The client's signature in the evaluator's place is refused."""
    client = agreed.folder / "agreement.client.sig.json"
    (agreed.folder / "agreement.evaluator.sig.json").write_bytes(client.read_bytes())
    _refused(agreed, "signed by another key")


def test_another_agent_or_suite_is_refused(agreed: Any) -> None:
    """A changed, missing or linked agent file, a changed suite, another secret: no run."""
    agent = agreed.agent / "agent.py"
    data = agent.read_bytes()
    agent.write_bytes(data + b"\n")
    _refused(agreed, "clause agent.files")
    agent.unlink()
    _refused(agreed, "clause agent.files")
    (agreed.folder / "elsewhere.py").write_bytes(data)
    agent.symlink_to(agreed.folder / "elsewhere.py")
    _refused(agreed, "clause agent.files")
    agent.unlink()
    agent.write_bytes(data)
    (agreed.agent / "more.py").write_text("files that weren't agreed on are not copied")
    suite = agreed.hidden / "suite.jsonl"
    lines = suite.read_bytes().splitlines(keepends=True)
    suite.write_bytes(b"".join(lines[:-1]))
    _refused(agreed, "clause suite.root")
    suite.write_bytes(b"not a suite")
    _refused(agreed, "clause suite.root")
    suite.write_bytes(b"".join(lines))
    secret = agreed.hidden / "secret.hex"
    secret.write_text("0" * 64 + "\n")
    _refused(agreed, "clause suite.root")


def test_a_start_is_used_once(finished: Any) -> None:
    """A spent start, a second start of the same run, and one past the last are refused."""
    for name in ("again", "once more"):
        with pytest.raises(InputError, match=r"clause start.*spent"):
            finished.run(name)
    finished.start()
    with pytest.raises(InputError, match=r"clause start.*spent"):
        finished.run("forked")
    with pytest.raises(InputError, match="clause runs"):
        finished.run("fourth", run=4)
    assert not (finished.folder / "again").exists()


def test_a_start_tells_the_truth_about_the_run_before(finished: Any) -> None:
    """A run with a result isn't called abandoned, and no other result is named for it."""
    finished.start(last=1)
    with pytest.raises(InputError, match=r"clause start\.previous_result"):
        finished.run("second", run=2)


def test_a_start_is_spent_before_the_first_trial(agreed: Any) -> None:
    """Whatever ends a run, its start can't be used to try again."""

    def broken(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_private(agreed.request(), agreed.folder / "result", progress=broken)
    assert not (agreed.folder / "result").exists()
    with pytest.raises(InputError, match=r"clause start.*spent"):
        agreed.run()


def test_a_required_limit_that_can_not_be_enforced_is_refused(
    setting: Any, make_limits: Callable[..., Any]
) -> None:
    """Each required limit that a machine lacks the means for stops the run, by its name."""
    import msgspec

    for clause in ("memory_bytes", "processes", "file_bytes", "network", "isolation"):
        limits = make_limits("best_effort")
        strict = msgspec.structs.replace(getattr(limits, clause), enforce="required")
        shutil.rmtree(setting.hidden, ignore_errors=True)
        for path in setting.folder.glob("agreement*"):
            path.unlink()
        setting.plan(limits=msgspec.structs.replace(limits, **{clause: strict}))
        setting.sign()
        setting.start()
        with pytest.raises(InputError, match=rf"clause limits\.{clause}"):
            run_private(setting.request(), setting.folder / "out", looks=lambda *_: BARE)
        assert not (setting.hidden / "runs").exists()


def test_a_suite_that_the_agent_could_read_is_refused(agreed: Any) -> None:
    """The hidden folder may not lie among the agent's own files."""
    shutil.move(agreed.hidden, agreed.agent / "hidden")
    request = agreed.request(hidden=agreed.agent / "hidden")
    with pytest.raises(InputError, match="clause agent"):
        run_private(request, agreed.folder / "out")


# -- what verify catches ------------------------------------------------------------------------


@pytest.mark.slow
def test_a_thousand_random_edits_are_caught(finished: Any, repair: Repair) -> None:
    """No edit of anything signed or disclosed goes unseen, though the manifest is repaired."""
    folder = finished.folder / "trial"
    names = sorted(path.name for path in folder.iterdir() if path.name != "manifest.json")
    kept = {name: (folder / name).read_bytes() for name in names}
    draw = random.Random(9162)
    for _ in range(1000):
        name = draw.choice(names)
        data = bytearray(kept[name])
        place = draw.randrange(len(data))
        kind = draw.randrange(4)
        if kind == 0:
            data[place] ^= 1 << draw.randrange(8)
        elif kind == 1:
            del data[place]
        elif kind == 2:
            data.insert(place, draw.randrange(32, 127))
        else:
            other = draw.randrange(len(data))
            data[place : place + 1] = b"%x" % ((data[other] + draw.randrange(1, 15)) % 16)
        if bytes(data) == kept[name]:
            continue
        (folder / name).write_bytes(data)
        repair(folder)
        with pytest.raises(WayproofError):
            _check(finished, "trial")
        (folder / name).write_bytes(kept[name])
    repair(folder)
    assert _check(finished, "trial").report.verdict == "verified"


def _change(path: list[Any], value: Any) -> Callable[[dict[str, Any]], None]:
    def change(trial: dict[str, Any]) -> None:
        here: Any = trial
        for part in path[:-1]:
            here = here[part]
        here[path[-1]] = value

    return change


def _flip(field: str) -> Callable[[dict[str, Any]], None]:
    def change(trial: dict[str, Any]) -> None:
        trial["record"][field] = not trial["record"][field]

    return change


@pytest.mark.parametrize(
    "change",
    [
        _change(["leaf", "salt"], "0" * 64),
        _change(["leaf", "index"], 0),
        _change(["scenario_index"], 0),
        _change(["scenario_salt"], "0" * 64),
        _change(["result_proof"], []),
        _change(["scenario_proof"], []),
        _flip("verified_recovery"),
        _flip("completed"),
        _change(["trace"], None),
        _change(["trace", "steps"], []),
        lambda trial: trial["scenario"]["grid"].update(target=trial["scenario"]["grid"]["start"]),
    ],
)
def test_a_forged_trial_is_caught(
    finished: Any, repair: Repair, change: Callable[[dict[str, Any]], None]
) -> None:
    """A well-formed trial that isn't the one that was run is refused, its hashes repaired."""
    path = finished.folder / "trial" / "trial.json"
    trial = json.loads(path.read_bytes())
    change(trial)
    for part in ("record", "trace"):
        trial["leaf"][f"{part}_sha256"] = sha256_hex(canonical_bytes(trial[part]))
    path.write_bytes(canonical_bytes(trial) + b"\n")
    repair(path.parent)
    with pytest.raises(IntegrityError):
        _check(finished, "trial")


def test_a_changed_run_is_caught(finished: Any, repair: Repair) -> None:
    """Every file of a run's bundle is bound to what was signed."""
    folder = finished.folder / "result"
    for path in sorted(folder.iterdir()):
        if path.name == "manifest.json":
            continue
        kept = path.read_bytes()
        for changed in (kept[:-2] + b"\n", kept.replace(b"1", b"2", 1), kept + b"x\n", b""):
            path.write_bytes(changed)
            repair(folder)
            with pytest.raises(WayproofError):
                _check(finished, "result")
        path.write_bytes(kept)
    repair(folder)
    assert _check(finished, "result").report.verdict == "verified"


def test_papers_of_another_evaluation_are_caught(
    finished: Any, setting: Any, repair: Repair
) -> None:
    """A start or result of the same parties from elsewhere doesn't fit in."""
    other = setting._replace(client=finished.client, evaluator=finished.evaluator)
    other.plan()
    other.sign()
    other.start()
    folder = finished.folder / "result"
    for name in ("start-0001.json", "start-0001.client.sig.json"):
        shutil.copy(other.folder / name, folder / name)
    repair(folder)
    with pytest.raises(IntegrityError, match="agreement_sha256"):
        _check(finished, "result")


# -- what stays hidden ------------------------------------------------------------------------


def test_a_disclosed_trial_shows_nothing_of_other_grids(finished: Any) -> None:
    """Of another grid no row, id, potential or record stands in a disclosure: hashes only."""
    folder = finished.folder / "trial"
    shown = b"".join(path.read_bytes() for path in folder.iterdir())
    header, *grids = (finished.hidden / "suite.jsonl").read_bytes().splitlines()
    disclosed = json.loads((folder / "trial.json").read_bytes())["scenario"]["grid"]["grid_id"]
    hidden = [grid for grid in map(json.loads, grids) if grid["grid_id"] != disclosed]
    assert hidden
    for grid in hidden:
        assert grid["grid_id"].encode() not in shown
        assert json.dumps(grid["rows"], separators=(",", ":")).encode() not in shown
        assert json.dumps(grid["potentials"], separators=(",", ":")).encode() not in shown
    seed = json.loads(header)["generator"]["seed"]
    assert seed.encode() not in shown
    assert b"generator" not in shown
    assert (finished.hidden / "secret.hex").read_bytes().strip() not in shown


def test_a_suite_is_not_found_again_from_one_grid(finished: Any) -> None:
    """The seed has 256 bits, and each grid's stream is a hash of it: one leads to no other."""
    header, *_ = (finished.hidden / "suite.jsonl").read_bytes().splitlines()
    seed = json.loads(header)["generator"]["seed"]
    assert len(bytes.fromhex(seed)) * 8 >= 128
    assert finished.hidden.stat().st_mode & 0o077 == 0
    for path in finished.hidden.iterdir():
        assert path.stat().st_mode & 0o077 == 0


def test_no_salt_is_used_twice() -> None:
    """Salts of scenarios, of trials and of different runs are all different."""
    from wayproof.private.commitment import Salts

    salts = Salts(b"s" * 32, b"n" * 32)
    drawn = [salts.of_scenario(index) for index in range(50)]
    drawn += [salts.of_trial(run, index) for run in range(1, 5) for index in range(50)]
    drawn += [
        Salts(b"s" * 32, b"m" * 32).of_scenario(0),
        Salts(b"t" * 32, b"n" * 32).of_scenario(0),
    ]
    assert len(set(drawn)) == len(drawn)


# -- parties that lie with their own keys -------------------------------------------------------


def _signed_again(setting: Any, change: Callable[[dict[str, Any]], None], name: str) -> None:
    """Let the evaluator sign another result in a bundle."""
    folder = setting.folder / name
    result = json.loads((folder / "result.json").read_bytes())
    change(result)
    data = canonical_bytes(result) + b"\n"
    (folder / "result.json").write_bytes(data)
    envelope = sign_result("result.json", data, setting.evaluator)
    (folder / "result.evaluator.sig.json").write_bytes(envelope)


@pytest.mark.parametrize("name", ["result", "trial"])
def test_an_evaluator_can_not_sign_what_was_not_agreed(
    setting: Any, repair: Repair, make_limits: Callable[..., Any], name: str
) -> None:
    """A required limit that wasn't enforced, other bounds or counts: refused, though signed."""
    import msgspec

    limits = make_limits("best_effort")
    limits = msgspec.structs.replace(limits, seconds=make_limits("required").seconds)
    setting.plan(limits=limits)
    setting.sign()
    setting.start()
    setting.run()
    disclose(setting.folder / "result", "1", setting.hidden, setting.folder / "trial")
    path = setting.folder / name / "result.json"
    signature = path.with_name("result.evaluator.sig.json")
    kept, kept_signature = path.read_bytes(), signature.read_bytes()

    def unenforced(result: dict[str, Any]) -> None:
        result["enforced"][1]["enforced"] = False

    def longer(result: dict[str, Any]) -> None:
        result["enforced"][1]["at_most"] = 90

    def fewer(result: dict[str, Any]) -> None:
        result["trials"] = result["leaf_count"] = result["trials"] - 1

    def more(result: dict[str, Any]) -> None:
        result["verified"] = result["trials"] + 1

    for change, said in (
        (unenforced, "required limit was not enforced"),
        (longer, "enforced"),
        (fewer, "leaf_count"),
        (more, "counts that can't be"),
    ):
        _signed_again(setting, change, name)
        repair(path.parent)
        with pytest.raises(IntegrityError, match=said):
            _check(setting, name)
        path.write_bytes(kept)
        signature.write_bytes(kept_signature)


def test_a_leaf_can_not_speak_of_another_trace(finished: Any, repair: Repair) -> None:
    """A leaf whose trace isn't its record's is refused, also when the evaluator signs its root."""
    from wayproof.evidence.private_records import Leaf
    from wayproof.private.commitment import result_leaf_hash
    from wayproof.private.merkle import tree_root

    path = finished.folder / "result" / "leaves.jsonl"
    leaves = [json.loads(line) for line in path.read_bytes().splitlines()]
    leaves[0]["trace_sha256"] = "0" * 64
    path.write_bytes(b"".join(canonical_bytes(leaf) + b"\n" for leaf in leaves))
    root = tree_root([result_leaf_hash(Leaf(**leaf)) for leaf in leaves]).hex()
    _signed_again(finished, lambda result: result.update(result_root=root), "result")
    repair(path.parent)
    with pytest.raises(IntegrityError, match="trace_sha256"):
        _check(finished, "result")


def test_a_kept_trace_is_not_held_back(finished: Any, repair: Repair) -> None:
    """Where traces were agreed to be kept, a disclosure without one is refused."""
    path = finished.folder / "trial" / "trial.json"
    trial = json.loads(path.read_bytes())
    trial["trace"] = None
    path.write_bytes(canonical_bytes(trial) + b"\n")
    repair(path.parent)
    with pytest.raises(IntegrityError, match="agreed to be kept"):
        _check(finished, "trial")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("previous_start", "0" * 64),
        ("previous_start", None),
        ("previous_result", None),
        ("run", 3),
        ("agreement_sha256", "0" * 64),
        ("not_after", "2026-02-31T00:00:00Z"),
        ("client_nonce", sha256_hex(b"nonce 0")),
    ],
)
def test_a_client_can_not_bend_the_chain(agreed: Any, field: str, value: object) -> None:
    """A start that doesn't follow from the one before is refused, though the client signs it."""
    path = agreed.start(last=1)
    start = json.loads(path.read_bytes()) | {field: value}
    data = canonical_bytes(start) + b"\n"
    path.write_bytes(data)
    signature = path.with_name("start-0002.client.sig.json")
    signature.write_bytes(sign_start(path.name, data, agreed.client))
    with pytest.raises(IntegrityError):
        agreed.run(run=2)
    assert not (agreed.hidden / "runs").exists()

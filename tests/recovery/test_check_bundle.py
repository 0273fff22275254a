"""Checking a bundle: what is refused, how it is named, and what can't be detected."""

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from wayproof.bundles.check import check_bundle
from wayproof.cli import main
from wayproof.errors import InputError, IntegrityError
from wayproof.recovery import suite as suite_module
from wayproof.recovery.generate import Parameters, Recipe, suite_lines
from wayproof.recovery.run import RunRequest, run_suite

FILES = ("results.jsonl", "suite.jsonl", "summary.json", "traces.jsonl")
SMALL = Recipe("audit-sample", 5, Parameters(grids=2, side_max=7))

Document = dict[str, Any]


def dumps(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def reseal(folder: Path, change: Callable[[Document], object] = lambda _: None) -> None:
    """Repair every digest, then change the manifest as asked."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for name in FILES:
        data = (folder / name).read_bytes() if (folder / name).is_file() else b""
        manifest["files"][name] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    manifest["inputs"]["suite"] = dict(manifest["files"]["suite.jsonl"])
    change(manifest)
    (folder / "manifest.json").write_bytes(dumps(manifest) + b"\n")


def edit_line(folder: Path, name: str, number: int, edit: Callable[[Document], object]) -> None:
    lines = (folder / name).read_bytes().split(b"\n")
    document = json.loads(lines[number])
    edit(document)
    lines[number] = dumps(document)
    (folder / name).write_bytes(b"\n".join(lines))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small custom bundle: 2 grids, 36 trials."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "suite.jsonl").write_bytes(b"".join(suite_lines(SMALL)))
    run_suite(RunRequest(folder / "suite.jsonl"), folder / "bundle")
    return folder / "bundle"


@pytest.fixture
def small(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "bundle"))


def verify(folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    status = main(["verify", str(folder)])
    printed = capsys.readouterr()
    return status, printed.out + printed.err


def test_an_honest_official_bundle_holds(
    official_bundle: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says what was checked, that the suite is official, and what it can't detect."""
    status, said = verify(official_bundle, capsys)
    assert status == 0
    assert "official suite: its bytes are the pinned ones; 50 certificates checked" in said
    assert "900 trials: every transition checked and replayed" in said
    assert "900 trials of reference controls run again: the same steps" in said
    assert "Not detectable from a bundle: an invented but legal trace of a client agent" in said


def test_an_honest_custom_bundle_is_called_custom(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A certified suite of one's own is accepted, and never called official."""
    status, said = verify(small, capsys)
    assert status == 0
    assert "custom suite: certified, but no pin stands behind it; 2 certificates" in said
    assert "official" not in said


# -- suites ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda g: g["potentials"][0].__setitem__(0, 99), "potential doesn't certify"),
        (lambda g: g["reference_path"].pop(), "reference path doesn't lead from start to target"),
        (lambda g: g.update(reference_path=[g["start"], *g["reference_path"]]), "move that is rej"),
        (lambda g: g["scenarios"][0].update(failure_kind="invalid_path"), "for another reason"),
        (lambda g: g["potentials"].pop(), "not one potential a cell"),
    ],
)
def test_a_custom_suite_must_certify(
    edit: Callable[[Document], object],
    message: str,
    small: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Even with every digest repaired: file, line and field, status 3."""
    edit_line(small, "suite.jsonl", 2, edit)
    reseal(small)
    status, said = verify(small, capsys)
    assert status == 3
    assert f"{small}/suite.jsonl:3, " in said
    assert message in said


def test_a_suite_certified_anew_under_the_official_id_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A forger with all our code makes another suite, runs it, and calls it wfrb-v0: the pin.

    Under an id of its own the same suite is a custom one, and holds: this is what no
    bundle can show.
    """
    forged = tmp_path / "forged.jsonl"
    forged.write_bytes(b"".join(suite_lines(Recipe("wfrb-v0", 77, Parameters()))))
    out = tmp_path / "bundle"
    assert main(["recovery", "run", "--suite", str(forged), "--out", str(out)]) == 2
    assert "uses the id of an official suite, with other bytes" in capsys.readouterr().err
    with monkeypatch.context() as patched:
        patched.setitem(
            suite_module.PINNED_SUITES, "wfrb-v0", hashlib.sha256(forged.read_bytes()).hexdigest()
        )
        run_suite(RunRequest(forged), out)
    status, said = verify(out, capsys)
    assert status == 3
    assert "suite.jsonl:1: suite is not the official wfrb-v0: its digest is not the pinned" in said
    forged.write_bytes(b"".join(suite_lines(Recipe("wfrb-v1", 77, Parameters()))))
    run_suite(RunRequest(forged), out, overwrite=True)
    status, said = verify(out, capsys)
    assert status == 0
    assert "custom suite" in said


def test_renaming_the_official_suite_is_no_way_out(
    official_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A new id in suite, results, summary and manifest: its grids' ids are still its alone."""
    out = Path(shutil.copytree(official_bundle, tmp_path / "bundle"))
    for name in ("suite.jsonl", "results.jsonl", "summary.json"):
        data = (out / name).read_bytes()
        (out / name).write_bytes(data.replace(b'"suite_id":"wfrb-v0"', b'"suite_id":"wfrb-v9"'))
    reseal(out, lambda manifest: manifest["settings"].update(suite_id="wfrb-v9"))
    status, said = verify(out, capsys)
    assert status == 3
    assert "suite.jsonl:2, grid_id: breaks the rule official_ids" in said
    for name in ("suite.jsonl", "results.jsonl", "traces.jsonl"):
        data = (out / name).read_bytes()
        (out / name).write_bytes(data.replace(b"wfrb-v0-g", b"wfrb-v9-g"))
    traces = (out / "traces.jsonl").read_bytes().splitlines()
    results = [json.loads(line) for line in (out / "results.jsonl").read_bytes().splitlines()]
    for trace, result in zip(traces, results, strict=True):
        result["trace_sha256"] = hashlib.sha256(trace).hexdigest()
    (out / "results.jsonl").write_bytes(b"".join(dumps(one) + b"\n" for one in results))
    reseal(out, lambda manifest: manifest["settings"].update(suite_id="wfrb-v9"))
    status, said = verify(out, capsys)
    assert status == 3
    assert "the control random-walk, run again, does something else" in said


# -- missing, surplus, moved ----------------------------------------------------------


def drop_line(number: int) -> Callable[[bytes], bytes]:
    def edit(data: bytes) -> bytes:
        lines = data.split(b"\n")
        del lines[number]
        return b"\n".join(lines)

    return edit


def swap_lines(data: bytes) -> bytes:
    lines = data.split(b"\n")
    lines[3], lines[4] = lines[4], lines[3]
    return b"\n".join(lines)


@pytest.mark.parametrize("name", ["traces.jsonl", "results.jsonl"])
@pytest.mark.parametrize(
    ("edit", "traces_say", "results_say"),
    [
        (
            drop_line(5),
            ":6, trial blind-repeat/audit-sample-g000-premature_end/1: another trial's",
            ":6, trial blind-repeat/audit-sample-g000-premature_end/1, budget: record doesn't",
        ),
        (
            drop_line(35),
            "trial random-walk/audit-sample-g001-premature_end/1: trial is missing",
            "trial random-walk/audit-sample-g001-premature_end/1: trial is missing",
        ),
        (
            swap_lines,
            ":4, trial blind-repeat/audit-sample-g000-invalid_path/1: another trial's",
            ":4, trial blind-repeat/audit-sample-g000-invalid_path/1, budget: record doesn't",
        ),
        (lambda data: data[:-1], ":36: last line is cut off", ":36: last line is cut off"),
        (lambda data: data + b"{}\n", ":37: more lines than trials", ":37: more lines than trials"),
        (
            lambda data: data.replace(b":", b": ", 1),
            "line is not in canonical form",
            "line is not in canonical form",
        ),
        (lambda _: b"", "trial is missing", "trial is missing"),
        (lambda data: b"\xff" + data, ":1, trial", ":1, trial"),
    ],
    ids=["dropped", "last dropped", "swapped", "cut", "surplus", "spaced", "empty", "not utf-8"],
)
def test_moved_and_missing_lines_are_named(
    name: str,
    edit: Callable[[bytes], bytes],
    traces_say: str,
    results_say: str,
    small: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The set of trials is fixed by suite, policies and seeds; each has its place."""
    (small / name).write_bytes(edit((small / name).read_bytes()))
    reseal(small)
    status, said = verify(small, capsys)
    assert status == 3
    assert f"{small}/{name}" in said
    expected = traces_say if name == "traces.jsonl" else results_say
    assert expected in said


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_gone_or_no_file_is_named(
    name: str, small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Missing, a link, a pipe, a folder: refused without being opened."""
    path, kept = small / name, tmp_path / "kept"
    path.rename(kept)
    makers: dict[str, Callable[[], None]] = {
        "file is missing": lambda: None,
        "is not a regular file; expected a regular file; found a link": lambda: path.symlink_to(
            kept
        ),
        "is not a regular file; expected a regular file; found a pipe": lambda: os.mkfifo(path),
        "is not a regular file; expected a regular file; found a folder": path.mkdir,
    }
    for fault, make in makers.items():
        make()
        status, said = verify(small, capsys)
        assert status == 3
        assert f"{path}: {fault}" in said
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        elif os.path.lexists(path):
            path.unlink()


def test_a_surplus_file_is_named(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A bundle holds its evidence and nothing else, even when the manifest lists it."""
    (small / "notes.txt").write_text("trust me")
    assert verify(small, capsys)[0] == 3
    data = (small / "notes.txt").read_bytes()
    reseal(
        small,
        lambda manifest: manifest["files"].update(
            {"notes.txt": {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}}
        ),
    )
    status, said = verify(small, capsys)
    assert status == 3
    assert "notes.txt: not a file of this kind of bundle" in said


# -- the manifest ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["settings"].update(policies=["planner"]), "another trial's trace"),
        (lambda m: m["settings"].update(policies=[]), "settings.policies: manifest doesn't say"),
        (lambda m: m["settings"].update(policies=["planner", "blind-repeat"]), "settings.policies"),
        (lambda m: m["settings"].update(policies=["genius"]), "settings.agents: the client agents"),
        (lambda m: m["settings"].update(policy_seeds=[0]), "another trial's trace"),
        (lambda m: m["settings"].update(policy_seeds=[0, 1, 2]), "another trial's trace"),
        (lambda m: m["settings"].update(policy_seeds=[0, 0, 1]), "settings.policy_seeds"),
        (lambda m: m["settings"].update(policy_seeds="0,1"), "settings are not those of a run"),
        (lambda m: m["settings"].update(suite_id="wfrb-v0"), "is not the official wfrb-v0"),
        (lambda m: m["settings"].update(suite_id="other"), "suite is not the one that the manif"),
        (lambda m: m["settings"].update(extra=1), "settings are not those of a run"),
        (lambda m: m["settings"].clear(), "settings are not those of a run"),
        (lambda m: m["limits"].pop(), "limits: manifest doesn't say"),
        (lambda m: m["limits"].__setitem__(0, "none"), "limits: manifest doesn't say"),
        (lambda m: m["inputs"]["suite"].update(bytes=1), "inputs: manifest doesn't say"),
        (lambda m: m["inputs"].clear(), "inputs: manifest doesn't say"),
    ],
)
def test_a_manifest_says_what_a_run_would(
    change: Callable[[Document], object],
    message: str,
    small: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Settings, inputs and limits are held against the evidence; only `varies` is free."""
    reseal(small, change)
    status, said = verify(small, capsys)
    assert status == 3
    assert message in said


def test_a_manifest_claims_nothing_else(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A key of one's own makes it no manifest; spaces make it another manifest."""
    before = (small / "manifest.json").read_bytes()
    reseal(small, lambda manifest: manifest.update(claim="certified"))
    status, said = verify(small, capsys)
    assert status == 3
    assert "manifest.json" in said
    assert "claim" in said
    (small / "manifest.json").write_bytes(before.replace(b",", b", ", 1))
    status, said = verify(small, capsys)
    assert status == 3
    assert "manifest.json: manifest is not in canonical form" in said


def test_what_varies_may_vary(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Times and host prove nothing, and verify says so."""
    reseal(small, lambda manifest: manifest["varies"].update(host="elsewhere", duration_ms=1))
    status, said = verify(small, capsys)
    assert status == 0
    assert "times, host, versions and arguments in the manifest" in said


# -- never a crash --------------------------------------------------------------------


def test_a_stale_digest_is_named_with_the_place(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The digest tells the file; the deeper check tells trial and step."""
    edit_line(small, "traces.jsonl", 20, lambda trace: trace["steps"][-1].update(spent=0))
    status, said = verify(small, capsys)
    assert status == 3
    assert f"{small}/traces.jsonl: digest doesn't match the manifest" in said
    assert f"{small}/traces.jsonl:21, trial planner/audit-sample-g001-invalid_path/0" in said
    assert "steps[" in said


def damaged(
    made: Path, folder: Path, draw: random.Random, times: int
) -> Iterator[tuple[str, bytes]]:
    """Copies of a bundle with random bytes changed, every other one sealed again."""
    for number in range(times):
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(made, folder)
        name = draw.choice((*FILES, "manifest.json"))
        data = bytearray((folder / name).read_bytes())
        for _ in range(draw.choice((1, 1, 1, 5))):
            at = draw.randrange(len(data))
            how = draw.randrange(4)
            if how == 0:
                data[at] = draw.randrange(256)
            elif how == 1:
                del data[at : at + draw.choice((1, 10, 1000))]
            elif how == 2:
                data[at:at] = draw.choice(
                    (b"9" * 400, b"null", b"-1", b"[" * 3000, b"\n", b"\0", b"1e400", b'"\\ud800"')
                )
            else:
                data[at:at] = data[at : at + draw.choice((1, 50, 3000))]
            if not data:
                break
        (folder / name).write_bytes(bytes(data))
        if number % 2 and name != "manifest.json":
            reseal(folder)
        yield name, bytes(data)


def test_no_edit_of_bytes_makes_replay_crash(
    made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """150 random edits: replayed, or one line and a status."""
    folder = tmp_path / "bundle"
    for _ in damaged(made, folder, random.Random("replay"), 150):
        status = main(["recovery", "replay", str(folder)])
        assert status in {0, 2, 3}
        assert capsys.readouterr().err.count("\n") == (status != 0)


def test_replay_needs_all_its_files(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A manifest that leaves one out is no way to a traceback."""
    (small / "traces.jsonl").unlink()
    reseal(small, lambda manifest: manifest["files"].pop("traces.jsonl"))
    assert main(["recovery", "replay", str(small)]) == 3
    assert "traces.jsonl: the bundle lacks a file of its kind" in capsys.readouterr().err


def test_no_edit_of_bytes_makes_verify_crash(made: Path, tmp_path: Path) -> None:
    """1,000 random edits of any file, sealed or stale: one clear error, or nothing changed."""
    folder = tmp_path / "bundle"
    accepted, lines = [], 0
    for name, data in damaged(made, folder, random.Random("bytes"), 1000):
        try:
            check_bundle(folder)
        except (IntegrityError, InputError) as error:
            lines += str(error).count("\n")
        else:
            accepted.append((name, data.partition(b"\n")[2]))
    assert lines == 0
    # What is left: edits inside `varies`, of the header's generator, or that change nothing.
    unseen = {name: (made / name).read_bytes().partition(b"\n")[2] for name in FILES}
    assert [name for name, rest in accepted if unseen.get(name, rest) != rest] == []
    assert len(accepted) < 100


def test_hostile_text_is_shown_harmless(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An escape sequence in an edited field never reaches the terminal."""
    edit_line(small, "results.jsonl", 0, lambda result: result.update(agent_outcome="\x1b[31mok"))
    reseal(small)
    status, said = verify(small, capsys)
    assert status == 3
    assert "\x1b" not in said
    assert "\\x1b[31m" in said


# -- replay ---------------------------------------------------------------------------


def test_replay_lists_and_draws(official_bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each recorded trial, and one of them step by step on its grid."""
    assert main(["recovery", "replay", str(official_bundle)]) == 0
    assert capsys.readouterr().out.count("\n") == 900
    trial = "planner/wfrb-v0-g000-collision/0"
    assert main(["recovery", "replay", str(official_bundle), "--trial", trial]) == 0
    drawn = capsys.readouterr().out
    assert "injected  move to [0, 2]      rejected: collision" in drawn
    assert "5 7 ! 2 T 1 6" in drawn
    assert drawn.endswith("verified recovery: cost 21, optimum 21\n")


def test_replay_refuses_what_it_cannot_find(
    official_bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown trial, a folder that is no bundle."""
    assert main(["recovery", "replay", str(official_bundle), "--trial", "x/y/0"]) == 2
    assert "--trial: no such trial; found x/y/0" in capsys.readouterr().err
    assert main(["recovery", "replay", str(tmp_path)]) == 2
    assert "no manifest" in capsys.readouterr().err


def test_replay_finds_a_changed_step(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the digests repaired, a fresh world still does something else."""
    edit_line(small, "traces.jsonl", 20, lambda trace: trace["steps"][0].update(spent=0))
    reseal(small)
    assert main(["recovery", "replay", str(small)]) == 3
    assert "traces.jsonl:21, trial planner/audit-sample-g001-invalid_path/0, steps[0]: a fresh" in (
        capsys.readouterr().err
    )

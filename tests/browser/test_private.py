"""A disclosed trial of a private evaluation checks out in the Explorer, by its own code."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from wayproof.canonical import canonical_bytes, sha256_hex
from wayproof.cli import main
from wayproof.private.keys import read_public_key

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def disclosed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with keys, and the bundle ``trial`` of one disclosed trial."""
    folder = tmp_path_factory.mktemp("private")
    (folder / "agent").mkdir()
    (folder / "agent" / "agent.py").write_bytes((ROOT / "examples/stdio_agent.py").read_bytes())

    def run(*words: object) -> None:
        assert main(["private", *map(str, words)]) == 0

    for role in ("client", "evaluator"):
        run("key", "--out", folder / f"{role}.key")
    keys = {role: folder / f"{role}.key.pub" for role in ("client", "evaluator")}
    trust = [word for role, key in keys.items() for word in ("--trust", f"{role}={key}")]
    agreement = folder / "agreement.toml"
    loose = ("memory_bytes", "processes", "file_bytes", "network", "isolation")
    run(
        *("plan", "--agent", folder / "agent", "--command", "python3 agent.py plan"),
        *("--name", "acme", "--client", keys["client"], "--evaluator", keys["evaluator"]),
        *("--authorised-by", "Jane", "--grids", 2, "--side-max", 6, "--seeds", 2),
        *(word for clause in loose for word in ("--best-effort", clause)),
        *("--hidden", folder / "hidden", "--out", agreement),
    )
    for role in ("client", "evaluator"):
        run("sign", agreement, "--role", role, "--key", folder / f"{role}.key")
    run("start", agreement, "--key", folder / "client.key", *trust, "--out", folder)
    run(
        *("run", agreement, "--start", folder / "start-0001.json", "--agent", folder / "agent"),
        *("--hidden", folder / "hidden", "--key", folder / "evaluator.key", *trust),
        *("--out", folder / "result"),
    )
    hidden = ("--hidden", folder / "hidden")
    run("disclose", folder / "result", "--trial", 4, *hidden, "--out", folder / "trial")
    return folder


def _checked(page: "Page", files: list[Path]) -> str:
    page.set_input_files("#pick-files", [str(file) for file in files])
    page.wait_for_selector("#outcome, #faults")
    return page.inner_text("#check-report")


def test_a_disclosed_trial_checks_out(
    explorer: Path, visit: Callable[..., "Page"], disclosed: Path
) -> None:
    """Signatures, chain, proofs and the trial hold in the page, and it can be watched."""
    page = visit(explorer)
    said = _checked(page, sorted((disclosed / "trial").iterdir()))
    assert "Everything that was checked holds." in said
    assert "Every signature holds" in said
    for role in ("client", "evaluator"):
        assert read_public_key(str(disclosed / f"{role}.key.pub")).key_id in said
    page.click("#watch-given")
    assert not page.is_visible("#banner")


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        ("agreement.toml", b"Jane", b"Jape", "A signature doesn’t hold"),
        ("start-0001.json", b'"run":1', b'"run":2', "A signature doesn’t hold"),
        ("result.json", b'"passed":', b'"passed":1', "A signature doesn’t hold"),
        ("agreement.client.sig.json", b'"sig":"', b'"sig":"AAAA', "A signature doesn’t hold"),
        ("trial.json", b'"salt":"', b'"salt":"0', "signed root"),
        ("trial.json", b'"result_proof":["', b'"result_proof":["0', ""),
        ("manifest.json", b"leaves no trace here", b"leaves a trace here", "limits"),
        ("manifest.json", b'"settings":{}', b'"settings":{"a":1}', "settings"),
        ("trial.json", b'"spent":', b'"spent":1', ""),
        (
            "trial.json",
            b'"verified_recovery":true',
            b'"verified_recovery":false',
            "leaf stands for",
        ),
    ],
)
def test_a_forged_trial_is_caught_in_the_page(
    explorer: Path,
    visit: Callable[..., "Page"],
    disclosed: Path,
    tmp_path: Path,
    name: str,
    old: bytes,
    new: bytes,
    problem: str,
) -> None:
    """What Python refuses the page refuses, though the manifest was repaired."""
    files = {path.name: path.read_bytes() for path in (disclosed / "trial").iterdir()}
    assert old in files[name]
    files[name] = files[name].replace(old, new, 1)
    if new.endswith(b'"0'):  # keep 64 hex digits
        start = files[name].index(new) + len(new)
        files[name] = files[name][: start + 63] + files[name][start + 64 :]
    manifest = json.loads(files["manifest.json"])
    for each in manifest["files"]:
        data = files[each]
        manifest["files"][each] = {"bytes": len(data), "sha256": sha256_hex(data)}
    files["manifest.json"] = canonical_bytes(manifest) + b"\n"
    for each, data in files.items():
        (tmp_path / each).write_bytes(data)
    page = visit(explorer)
    said = _checked(page, sorted(tmp_path.iterdir()))
    assert "This bundle doesn’t hold." in said
    assert problem in said


def test_a_signature_of_nothing_is_refused_in_both(
    explorer: Path, visit: Callable[..., "Page"], disclosed: Path, tmp_path: Path
) -> None:
    """A signature that belongs to no paper of the folder is refused by Python and by the page."""
    for path in (disclosed / "trial").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "more.client.sig.json").write_bytes(
        (tmp_path / "agreement.client.sig.json").read_bytes()
    )
    assert main(["verify", str(tmp_path)]) == 3
    said = _checked(visit(explorer), sorted(tmp_path.iterdir()))
    assert "more.client.sig.json" in said
    assert "This bundle doesn’t hold." in said

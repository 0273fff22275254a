"""Places to write to: never into a bundle, never half, never over another run's work."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import RunWayproof
from wayproof.bundles.manifest import read_manifest, verify_digests
from wayproof.bundles.whole_file import whole_file
from wayproof.bundles.writer import BundleWriter
from wayproof.errors import OutputError
from wayproof.fitness.score import ScoreRequest, score
from wayproof.starter import write_starter

RUNS = 5


def write_bundle(
    out: Path, *, overwrite: bool = False, meanwhile: Callable[[], None] = lambda: None
) -> None:
    with BundleWriter(out, kind="fitness", overwrite=overwrite) as bundle:
        bundle.write("summary.json", b"{}\n")
        meanwhile()
        bundle.commit(inputs={}, settings={"summary_only": True}, limits=[])


# -- inside a bundle ------------------------------------------------------------------


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    write_bundle(tmp_path / "bundle")
    return tmp_path / "bundle"


COMMANDS: dict[str, tuple[str, ...]] = {
    "init": ("init", "{place}"),
    "init, deeper": ("init", "{place}/a/b"),
    "score": (
        *("fitness", "score", "--tasks", "{inputs}/tasks.jsonl"),
        *("--packets", "{inputs}/packets.jsonl", "--out", "{place}/scored"),
    ),
    "export-cases": ("fitness", "export-cases", "--builtin", "--out", "{place}"),
    "generate": ("recovery", "generate", "--id", "x", "--seed", "1", "--out", "{place}/s.jsonl"),
    "run": ("recovery", "run", "--suite", "explorer-sample", "--out", "{place}/run"),
    "capture": ("capture", "{log}", "--out", "{place}/packets.jsonl"),
    "capture, drafts": ("capture", "{log}", "--draft-tasks", "{place}/tasks.jsonl"),
    "explore": ("explore", "--out", "{place}/site"),
    "report, file": ("report", "{bundle}", "--out", "{place}/r.html"),
    "report, folder": ("report", "{bundle}", "--out", "{place}/r"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_writes_into_a_bundle(
    command: str, bundle: Path, tmp_path: Path, wayproof: RunWayproof
) -> None:
    """A bundle stays whole, whatever place inside it is named, and by which way."""
    inputs, source = tmp_path / "inputs", tmp_path / "scored"
    write_starter(inputs)
    score(ScoreRequest(tasks=inputs / "tasks.jsonl", packets=inputs / "packets.jsonl"), source)
    log = Path(__file__).parents[1] / "capture/fixtures/codex/rollout.jsonl"
    (tmp_path / "way").symlink_to(bundle)
    for place in (bundle, tmp_path / "way"):
        names = {"place": place, "inputs": inputs, "log": log, "bundle": source}
        ran = wayproof(*(part.format(**names) for part in COMMANDS[command]), cwd=tmp_path)
        assert (ran.status, ran.out) == (2, ""), ran
        assert "lies inside a bundle" in ran.err
    verify_digests(bundle, read_manifest(bundle))


def test_an_edited_bundle_is_still_a_bundle(bundle: Path, tmp_path: Path) -> None:
    """Whoever damaged the manifest didn't make room for other files."""
    manifest = bundle / "manifest.json"
    manifest.write_bytes(manifest.read_bytes() + b" ")
    with pytest.raises(OutputError, match="inside a bundle"):
        write_starter(bundle)
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "manifest.json").write_text('{"name": "a web app"}')
    assert len(write_starter(tmp_path / "app")) == 2


# -- several runs into one place ------------------------------------------------------

RUN = """
import sys, time
from collections.abc import Callable
from pathlib import Path
from wayproof.bundles.whole_file import whole_file
from wayproof.bundles.writer import BundleWriter
from wayproof.errors import OutputError

out, what, overwrite, start, name = Path(sys.argv[1]), *sys.argv[2:]
overwrite = overwrite == "overwrite"
time.sleep(max(0, float(start) - time.time()))
try:
    if what == "file":
        with whole_file(out, overwrite=overwrite) as file:
            file.write(name.encode() * 10_000)
    else:
        with BundleWriter(out, kind="fitness", overwrite=overwrite) as bundle:
            bundle.write("summary.json", name.encode() * 10_000)
            bundle.commit(inputs={}, settings={"summary_only": True}, limits=[])
except OutputError as error:
    sys.exit(f"refused: {error.problem}")
"""


def run_at_once(out: Path, what: str, overwrite: str) -> list[tuple[int, str]]:
    start = str(time.time() + 0.7)
    children = [
        subprocess.Popen(
            [sys.executable, "-c", RUN, out, what, overwrite, start, str(number)],
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(RUNS)
    ]
    said = [child.communicate(timeout=60)[1] for child in children]
    return [(child.returncode, text) for child, text in zip(children, said, strict=True)]


@pytest.mark.parametrize("what", ["file", "folder"])
def test_of_five_runs_at_once_one_wins(what: str, tmp_path: Path) -> None:
    """Without leave to overwrite the first stays, and the others say so cleanly."""
    for attempt in range(3):
        out = tmp_path / str(attempt)
        ended = run_at_once(out, what, "keep")
        assert sorted(status for status, _ in ended) == [0, *[1] * (RUNS - 1)], ended
        assert all("Traceback" not in said for _, said in ended)
        assert {said.split(":")[0] for status, said in ended if status} == {"refused"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "2"]


@pytest.mark.parametrize("what", ["file", "folder"])
def test_five_runs_at_once_may_take_turns(what: str, tmp_path: Path) -> None:
    """With leave to overwrite all succeed, and what stands there in the end is one's whole work."""
    for attempt in range(3):
        out = tmp_path / str(attempt)
        ended = run_at_once(out, what, "overwrite")
        assert [status for status, _ in ended] == [0] * RUNS, ended
        if what == "folder":
            verify_digests(out, read_manifest(out))
        data = (out if what == "file" else out / "summary.json").read_bytes()
        assert len(data) == 10_000
        assert len(set(data)) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0", "1", "2"]


def test_what_was_made_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    """Leave to overwrite is leave to replace a bundle, also at the end of a long run."""
    out = tmp_path / "out"

    def thesis() -> None:
        out.mkdir()
        (out / "thesis.txt").write_text("precious")

    with pytest.raises(OutputError, match="not a wayproof bundle"):
        write_bundle(out, overwrite=True, meanwhile=thesis)
    assert (out / "thesis.txt").read_text() == "precious"
    with (
        pytest.raises(OutputError, match="already exists"),
        whole_file(tmp_path / "f", overwrite=False),
    ):
        (tmp_path / "f").write_text("theirs")
    assert (tmp_path / "f").read_text() == "theirs"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f", "out"]


# -- what killed runs leave behind ----------------------------------------------------

KILLED = """
import sys, time
from collections.abc import Callable
from pathlib import Path
from wayproof.bundles.whole_file import whole_file

with whole_file(Path(sys.argv[1]), overwrite=True) as file:
    file.write(b"half")
    file.flush()
    print("begun", flush=True)
    time.sleep(60)
"""


def test_a_killed_runs_single_file_is_swept_by_the_next(tmp_path: Path) -> None:
    """Neither a half file nor its leftover stays; what another run still writes does."""
    out = tmp_path / "f"
    children = [
        subprocess.Popen([sys.executable, "-c", KILLED, out], stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == b"begun\n"
    assert len(list(tmp_path.iterdir())) == 2
    children[0].kill()
    children[0].wait()
    with whole_file(out, overwrite=True) as file:
        file.write(b"whole")
    assert out.read_bytes() == b"whole"
    assert len(list(tmp_path.iterdir())) == 2  # ours, and the one in progress
    children[1].kill()
    children[1].wait()
    with whole_file(out, overwrite=True) as file:
        file.write(b"whole")
    assert os.listdir(tmp_path) == ["f"]  # noqa: PTH208 - names are what counts
    for child in children:
        assert child.stdout is not None
        child.stdout.close()

"""The commands refuse in words what can't be done, and leave nothing half-done."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from wayproof.cli import main
from wayproof.private.keys import read_signing_key


def _said(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    assert main(["private", *map(str, words)]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "{" not in err
    return err


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A key that exists stays, and no flag that isn't there is spoken of."""
    key = tmp_path / "a.key"
    assert main(["private", "key", "--out", str(key)]) == 0
    before = key.read_bytes()
    assert key.stat().st_mode & 0o777 == 0o600
    capsys.readouterr()
    for taken in (key, tmp_path / "missing" / "a.key"):
        assert "--overwrite" not in _said(capsys, "key", "--out", taken)
    assert key.read_bytes() == before
    assert read_signing_key(key).public


def test_a_start_says_what_became_of_the_run_before(
    finished: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither, both, or of a first run: refused; a folder or nothing in a key's place, too."""
    key = finished.folder / "client.key"
    key.touch(0o600)
    key.write_bytes(finished.client.pem)
    start = ("start", finished.agreement, "--key", key, "--out", finished.folder)
    assert "what became of run 1" in _said(capsys, *start)
    result = ("--result", finished.folder / "result")
    assert "what became of run 1" in _said(capsys, *start, *result, "--abandoned")
    assert "not a span of time" in _said(capsys, *start, *result, "--hours", 0)
    assert "not a span of time" in _said(capsys, *start, *result, "--hours", 10**18)
    assert "signer unknown" in _said(capsys, *start, *result, "--trust", f"client={'ab' * 32}")
    for odd in (finished.folder, finished.folder / "none"):
        _said(capsys, *start, *result, "--trust", f"client={odd}")
    assert not (finished.folder / "start-0002.json").exists()
    assert main(["private", *map(str, (*start, *result))]) == 0


@pytest.mark.slow
def test_an_ended_run_leaves_a_spent_start_and_no_result(agreed: Any) -> None:
    """Ended in its middle, a run leaves nothing that looks like a result, and no process."""
    key = agreed.folder / "evaluator.key"
    key.touch(0o600)
    key.write_bytes(agreed.evaluator.pem)
    words = ["run", agreed.agreement, "--start", agreed.folder / "start-0001.json"]
    words += ["--agent", agreed.agent, "--hidden", agreed.hidden, "--key", key]
    words += ["--trust", f"client={agreed.client.public.hex}"]
    words += ["--trust", f"evaluator={agreed.evaluator.public.hex}"]
    words += ["--out", agreed.folder / "result"]
    code = (
        "import sys, datetime, wayproof.cli.private as p; from wayproof.cli import main\n"
        "p._now = lambda: datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)\n"
        "sys.exit(main(['private', *sys.argv[1:]]))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        env=os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0"},
        stderr=subprocess.PIPE,
    ) as running:
        place = agreed.hidden / "runs" / "0001"
        deadline = time.monotonic() + 60
        while not list(place.glob(".work*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        running.send_signal(signal.SIGTERM)
        _, err = running.communicate(timeout=60)
    assert running.returncode == 143, err
    assert b"nothing was written" in err
    assert not (agreed.folder / "result").exists()
    assert sorted(path.name for path in place.iterdir()) == ["start-0001.json"]
    assert not [path for path in agreed.folder.iterdir() if "partial" in path.name]

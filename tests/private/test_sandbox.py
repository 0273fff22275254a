"""An agent that tries every forbidden thing gets none, or the result says what wasn't enforced."""

import json
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from wayproof.evidence.private_records import Receives
from wayproof.private.agent_files import copy_files, hash_files
from wayproof.private.agreement import read_agreement
from wayproof.private.cgroups import Groups, run_groups
from wayproof.private.sandbox import Machine, agent_folder, enforced_clauses, look
from wayproof.private.syscall_filter import filter_for
from wayproof.recovery.generate import Parameters

HOSTILE = Path(__file__).with_name("hostile_agent.py")
WORD = "wayproof-outliving"


def _machine(setting: Any) -> Machine:
    """Return what this machine enforces; without a sandbox the test says so and ends."""
    agreement = read_agreement(setting.agreement.read_bytes())
    with agent_folder() as copy, run_groups() as groups:
        copy_files(setting.agent, agreement.agent.files, copy)
        machine = look(agreement, copy, groups)
    if machine.bubblewrap is None:
        pytest.skip(f"no sandbox can be made here: {machine.fault}")
    return machine


def _hostile(setting: Any, limits: Any, port: int) -> None:
    shutil.copy(HOSTILE, setting.agent / "agent.py")
    (setting.folder / "evaluator.key").write_bytes(setting.evaluator.pem)
    (setting.folder / "evaluator.key").chmod(0o600)
    after = (
        setting.hidden / "suite.jsonl",
        setting.hidden / "secret.hex",
        setting.folder / "evaluator.key",
        setting.agreement,
        Path("/etc/hostname"),
        Path("/root/.bashrc"),
    )
    setting.plan(
        command=("python3", "agent.py", WORD, str(port), *map(str, after)),
        limits=limits,
        parameters=Parameters(grids=1, side_min=5, side_max=6),
        receives=Receives(results=("client",), stderr=("evaluator",), traces=("evaluator",)),
    )
    setting.sign()
    setting.start()


def _still_running() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if WORD.encode() in words and b"-c" in words:
            found.append(str(path))
    return found


@pytest.mark.slow
def test_a_hostile_agent_gets_nothing(
    setting: Any, make_limits: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Suite, key, variables, other trials, connections, memory, processes, files: each fails."""
    monkeypatch.setenv("PARENTS_SECRET", "to be seen by nobody")
    with socket.create_server(("127.0.0.1", 0)) as server:
        limits = make_limits("best_effort", memory_bytes=128 << 20, processes=8)
        _hostile(setting, limits, server.getsockname()[1])
        _machine(setting)
        result = setting.run().result
    log = (setting.hidden / "runs" / "0001" / "agent.log").read_text()
    tries = [json.loads(line) for line in log.splitlines() if line.startswith("[")]
    enforced = {each.clause for each in result.enforced if each.enforced}
    assert len(tries) >= 12 * result.trials
    assert {"isolation", "network", "file_bytes", "processes"} <= enforced
    got = [each for each in tries if each[2] and each[0] in enforced]
    assert got == []
    assert _still_running() == []
    assert not list(setting.folder.glob("result/traces.jsonl"))


@pytest.mark.slow
def test_an_agent_that_is_too_slow_is_ended(setting: Any, make_limits: Callable[..., Any]) -> None:
    """A trial ends with its seconds, and all its processes with it."""
    _hostile(setting, make_limits("best_effort", seconds=1), 0)
    _machine(setting)
    setting.run()
    lines = (setting.folder / "result" / "results.jsonl").read_text().splitlines()
    assert {json.loads(line)["agent_outcome"] for line in lines} == {"timed_out"}
    assert _still_running() == []


def test_without_control_groups_processes_are_still_counted(
    setting: Any, make_limits: Callable[..., Any]
) -> None:
    """The user namespace of a trial bounds its processes; memory is then said not to be bounded."""
    setting.plan(limits=make_limits("required"))
    agreement = read_agreement(setting.agreement.read_bytes())
    machine = _machine(setting)._replace(groups=Groups())
    rows = {each.clause: each for each in enforced_clauses(agreement.limits, machine)}
    assert rows["processes"].enforced
    assert not rows["memory_bytes"].enforced
    assert "not their sum" in rows["memory_bytes"].means


def test_an_unknown_processor_closes_no_socket_families(
    agreed: Any, make_limits: Callable[..., Any]
) -> None:
    """Without a filter the network isn't called closed."""
    machine = _machine(agreed)._replace(filter=None)
    rows = {each.clause: each for each in enforced_clauses(make_limits("required"), machine)}
    assert not rows["network"].enforced
    assert filter_for("riscv64") is None
    assert len(filter_for("aarch64") or b"") % 8 == 0


def test_control_groups_of_version_2(tmp_path: Path) -> None:
    """Where version 2 lets a group be made and filled, it is used; where not, it is not."""
    own = tmp_path / "cgroup"
    own.write_text("0::/mine\n")
    tree = tmp_path / "tree"
    (tree / "mine").mkdir(parents=True)
    with run_groups(tree, own) as groups:
        assert groups == Groups()
    (tree / "cgroup.controllers").write_text("memory pids\n")
    with run_groups(tree, own) as groups:
        assert groups.version == 2
        assert groups.memory == groups.processes
        assert groups.memory_limits(5) == {"memory.max": "5", "memory.swap.max": "0"}


def test_links_and_devices_are_no_agents_files(tmp_path: Path) -> None:
    """Whatever isn't a plain file can't be agreed on."""
    from wayproof.errors import InputError

    with pytest.raises(InputError, match="no files"):
        hash_files(tmp_path)
    (tmp_path / "a").write_bytes(b"x")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(InputError, match="neither a file"):
        hash_files(tmp_path)
    with pytest.raises(InputError, match="can't be read"):
        hash_files(tmp_path / "missing")

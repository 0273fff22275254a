"""The sandbox of a trial: what this machine can enforce, and the command that does it.

bubblewrap, started by a user without rights, gives each trial namespaces of its own for
users, processes, mounts, the network, System V IPC and the host's name. Inside stand the
agreed folders, read-only, the agent's files, read-only, and an empty temporary folder of a
bounded size. Control groups count memory and processes where they can be made.
"""

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from wayproof.evidence.private_names import ClauseName
from wayproof.evidence.private_records import Agreement, EnforcedClause, Limits
from wayproof.private.cgroups import Groups
from wayproof.private.syscall_filter import filter_for
from wayproof.recovery.agents.processes import MARK

__all__ = ["ALWAYS_SHOWN", "Machine", "agent_command", "agent_folder", "enforced_clauses", "look"]

ALWAYS_SHOWN: Final = ("/etc/ld.so.cache", "/etc/alternatives")
"""What the loader and Debian's program names need beside the agreed folders."""
_NOBODY: Final = 65_534
_INSIDE: Final = "1000"
_REHEARSAL_S: Final = 20
_LINKS: Final = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_FILTER_WORD: Final = "{filter}"
_LAUNCH: Final = Path(__file__).with_name("launch.py")
_OWN_PROCESSES: Final = 2
"""bubblewrap's own: one outside the sandbox and one inside."""


class Machine(NamedTuple):
    """What can be enforced here.

    Attributes
    ----------
    bubblewrap
        The program; None when it can't make the sandbox.
    fault
        Why it can't.
    groups
        The run's control groups.
    prlimit
        The program that sets a limit inside the sandbox; None without it.
    filter
        The filter of system calls; None for an unknown processor.
    user
        User and group that agents run as; None: those of this process.
    """

    bubblewrap: str | None
    fault: str
    groups: Groups
    prlimit: str | None
    filter: bytes | None
    user: tuple[int, int] | None


# -- what can be enforced ----------------------------------------------------------------


def enforced_clauses(limits: Limits, machine: Machine) -> tuple[EnforcedClause, ...]:
    """Say of each limit whether this machine enforces it, and by what."""
    means = _means(machine)
    found = []
    for name in limits.__struct_fields__:
        limit = getattr(limits, name)
        is_enforced, by = means[name]  # type: ignore[index]
        found.append(
            EnforcedClause(
                agreed=limit.enforce,
                at_most=getattr(limit, "at_most", None),
                clause=name,  # type: ignore[arg-type]
                enforced=is_enforced,
                means=by,
            )
        )
    return tuple(found)


def _means(machine: Machine) -> dict[ClauseName, tuple[bool, str]]:
    has_sandbox = machine.bubblewrap is not None
    version = f"control group, version {machine.groups.version}"
    without = f"no sandbox: {machine.fault}"
    if machine.groups.processes is not None:
        processes = (True, version)
    elif has_sandbox and machine.prlimit is not None:
        processes = (True, "RLIMIT_NPROC, in a user namespace of the trial's own")
    else:
        processes = (False, "no control group, and no user namespace to count in")
    if not has_sandbox:
        network = (False, without)
    elif machine.filter is None:
        network = (
            False,
            "a network namespace; no filter for this processor closes other socket families",
        )
    else:
        network = (True, "an empty network namespace, and a filter of socket families")
    return {
        "moves": (True, "the bench: no scenario has a larger budget"),
        "seconds": (True, "the bench: it ends the trial and all its processes"),
        "memory_bytes": (True, version)
        if machine.groups.memory is not None
        else (False, "no control group: an address-space limit holds each process, not their sum"),
        "processes": processes,
        "file_bytes": (True, "RLIMIT_FSIZE, and temporary folders of that size")
        if has_sandbox
        else (False, f"RLIMIT_FSIZE holds each file, not their sum; {without}"),
        "network": network,
        "isolation": (True, "bubblewrap, as a user without rights")
        if has_sandbox
        else (False, without),
    }


def look(agreement: Agreement, copy: Path, groups: Groups) -> Machine:
    """Find out what can be enforced, by starting a sandbox as a trial would.

    Parameters
    ----------
    agreement
        Whose runtime folders and limits are tried.
    copy
        The folder with the agent's files.
    groups
        The run's control groups.
    """
    user = (_NOBODY, _NOBODY) if os.geteuid() == 0 else None
    prlimit = shutil.which("prlimit", path="/usr/bin:/bin")
    machine = Machine(
        bubblewrap=shutil.which("bwrap"),
        fault="",
        groups=groups,
        prlimit=prlimit if prlimit is not None and "/usr" in agreement.agent.runtime else None,
        filter=filter_for(os.uname().machine) if sys.platform == "linux" else None,
        user=user,
    )
    if machine.bubblewrap is None:
        return machine._replace(fault="bubblewrap (bwrap) is not installed")
    fault = _rehearsed(agreement, copy, machine)
    return machine if fault is None else machine._replace(bubblewrap=None, fault=fault)


def _rehearsed(agreement: Agreement, copy: Path, machine: Machine) -> str | None:
    """Start a sandbox that does nothing; return what went wrong."""
    command = ("/usr/bin/true",) if "/usr" in agreement.agent.runtime else None
    with tempfile.TemporaryDirectory(prefix="wayproof-rehearsal-") as folder:
        plan = Path(folder) / "plan.json"
        _write_plan(plan, agreement, copy, machine, keeps_stderr=True, command=command)
        try:
            done = subprocess.run(
                [sys.executable, "-I", "-S", str(_LAUNCH), str(plan)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=_REHEARSAL_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            # An agent of its own without /usr may well wait for its first message.
            return None if command is None else "bubblewrap didn't end"
    said = done.stderr.decode("utf-8", "replace").strip().splitlines()
    if command is None:
        return next((line[:200] for line in said if line.startswith("bwrap:")), None)
    return None if done.returncode == 0 else (said[-1][:200] if said else "bubblewrap failed")


# -- the command -------------------------------------------------------------------------


@contextlib.contextmanager
def agent_folder() -> Iterator[Path]:
    """Make a temporary folder for an agent's files: read by agents, written by nobody else."""
    with tempfile.TemporaryDirectory(prefix="wayproof-agent-") as name:
        folder = Path(name)
        if os.geteuid() == 0:  # agents run as another user then
            os.chown(folder, 0, _NOBODY)
            folder.chmod(0o750)
        yield folder


@contextlib.contextmanager
def agent_command(
    agreement: Agreement, copy: Path, machine: Machine, *, keeps_stderr: bool
) -> Iterator[str]:
    """Yield the command line that starts the agent of one trial in its sandbox."""
    with tempfile.TemporaryDirectory(prefix="wayproof-plan-") as folder:
        plan = Path(folder) / "plan.json"
        _write_plan(plan, agreement, copy, machine, keeps_stderr=keeps_stderr)
        yield shlex.join([sys.executable, "-I", "-S", str(_LAUNCH), str(plan)])


def _write_plan(
    path: Path,
    agreement: Agreement,
    copy: Path,
    machine: Machine,
    *,
    keeps_stderr: bool,
    command: Sequence[str] | None = None,
) -> None:
    limits = agreement.limits
    groups = []
    if machine.groups.memory is not None:
        bounds = machine.groups.memory_limits(limits.memory_bytes.at_most)
        groups.append({"folder": str(machine.groups.memory), "limits": bounds})
    if machine.groups.processes is not None:
        bounds = {"pids.max": str(limits.processes.at_most + _OWN_PROCESSES)}
        if groups and machine.groups.processes == machine.groups.memory:
            groups[0]["limits"] = {**groups[0]["limits"], **bounds}  # type: ignore[dict-item]
        else:
            groups.append({"folder": str(machine.groups.processes), "limits": bounds})
    rlimits = {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": limits.file_bytes.at_most}
    if machine.groups.memory is None:
        rlimits["RLIMIT_AS"] = limits.memory_bytes.at_most
    words = tuple(command or agreement.agent.command)
    plan: dict[str, Any] = {
        "environment": {"PATH": "/usr/local/bin:/usr/bin:/bin"},
        "filter": None if machine.filter is None else machine.filter.hex(),
        "filter_word": _FILTER_WORD,
        "folder": None,
        "groups": groups,
        "keeps_stderr": keeps_stderr,
        "keeps_variables": [MARK],
        "rlimits": rlimits,
        "user": machine.user,
        "words": words,
    }
    if machine.bubblewrap is None:
        plan["environment"] |= _variables("/tmp")  # noqa: S108 - where it would be in a sandbox
        plan["folder"] = str(copy)
        if machine.groups.processes is None:
            rlimits["RLIMIT_NPROC"] = limits.processes.at_most
    else:
        plan["words"] = [*_sandbox_words(agreement, copy, machine), *words]
    path.write_text(json.dumps(plan), "utf-8")


def _variables(temporary: str) -> dict[str, str]:
    return {
        "HOME": temporary,
        "LANG": "C.UTF-8",
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "TMPDIR": temporary,
    }


def _sandbox_words(agreement: Agreement, copy: Path, machine: Machine) -> Iterator[str]:
    size = str(max(4096, agreement.limits.file_bytes.at_most))
    yield str(machine.bubblewrap)
    for name in ("user", "pid", "net", "ipc", "uts", "cgroup-try"):
        yield f"--unshare-{name}"
    yield from ("--disable-userns", "--die-with-parent", "--new-session")
    yield from ("--uid", _INSIDE, "--gid", _INSIDE, "--hostname", "sandbox", "--clearenv")
    for name, value in _variables("/tmp").items():  # noqa: S108 - the sandbox's own
        yield from ("--setenv", name, value)
    for folder in agreement.agent.runtime:
        yield from ("--ro-bind", folder, folder)
    if "/usr" in agreement.agent.runtime:
        yield from _system_links()
    for path in ALWAYS_SHOWN:
        yield from ("--ro-bind-try", path, path)
    yield from ("--proc", "/proc", "--dev", "/dev")
    yield from ("--size", size, "--tmpfs", "/tmp")  # noqa: S108 - the sandbox's own
    yield from ("--size", size, "--tmpfs", "/dev/shm")  # noqa: S108 - the same
    yield from ("--ro-bind", str(copy), "/agent", "--chdir", "/agent")
    yield from ("--remount-ro", "/dev", "--remount-ro", "/")
    if machine.filter is not None:
        yield from ("--seccomp", _FILTER_WORD)
    yield "--"
    if machine.groups.processes is None and machine.prlimit is not None:
        most = agreement.limits.processes.at_most + 1  # bubblewrap's own process inside
        yield from (machine.prlimit, f"--nproc={most}:{most}", "--")


def _system_links() -> Iterator[str]:
    """Show /bin and the like as this system has them: links into /usr, or folders."""
    for name in _LINKS:
        path = Path("/") / name
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))

"""An agent that tries what an agreement forbids, and says on stderr what it got.

It says hello, takes its first trial, tries everything, writes one line a try, and leaves. Its
arguments name what it is after: paths of the machine, and a word to be found by afterwards.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

MIB = 1 << 20


def reading(path: str) -> Callable[[], object]:
    """Read the beginning of a file."""
    return lambda: Path(path).read_bytes()[:20].hex() or "empty"


def environments() -> object:
    """Find the parents' variables in any process that is to be seen."""
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if b"PARENTS_SECRET" in path.read_bytes():
                return str(path)
    raise LookupError


def connecting(family: int, place: tuple[str, int]) -> Callable[[], object]:
    """Open a connection."""

    def connect() -> object:
        with socket.socket(family, socket.SOCK_STREAM) as made:
            made.settimeout(2)
            made.connect(place)
            return "connected"

    return connect


def others_files() -> object:
    """Leave a file behind, and look for one that another trial left."""
    found = [
        str(path)
        for folder in ("/tmp", "/dev/shm", "/var/tmp", "/agent")
        for path in Path(folder).glob("left-by-*")
    ]
    for folder in ("/tmp", "/dev/shm"):
        with contextlib.suppress(OSError):
            (Path(folder) / f"left-by-{os.getpid()}-{time.time_ns()}").write_text("x")
    if not found:
        raise LookupError
    return found


def spending_memory() -> object:
    """Hold more memory than agreed, in processes that each hold less."""
    code = "import time; b = bytearray(60 << 20); print(len(b), flush=True); time.sleep(3)"
    made = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(4)
    ]
    held = [(child.stdout.readline() if child.stdout else b"", child.wait())[1] for child in made]
    if any(held):
        raise MemoryError
    return "held 240 MiB"


def many_processes() -> object:
    """Make more processes than agreed."""
    made = []
    try:
        made = [subprocess.Popen(["sleep", "30"]) for _ in range(40)]
    finally:
        for child in made:
            child.send_signal(signal.SIGKILL)
    return f"{len(made)} processes"


def large_file() -> object:
    """Write a larger file than agreed, or fill the folder with many."""
    for number in range(4):
        (Path("/tmp") / f"part-{number}").write_bytes(b"0" * (MIB - 4096))
    return "4 MiB"


def outliving(word: str) -> None:
    """Leave a process behind that has left every group."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            for fd in (0, 1, 2):
                os.close(fd)
            os.execvp(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)", word])
        os._exit(0)


def attempt(clause: str, name: str, attack: Callable[[], object]) -> None:
    """Say what came of an attack."""
    try:
        got: object = attack()
    except BaseException as error:
        sys.stderr.write(json.dumps([clause, name, False, repr(error)[:80]]) + "\n")
    else:
        sys.stderr.write(json.dumps([clause, name, True, str(got)[:80]]) + "\n")
    sys.stderr.flush()


def main() -> None:
    """Play the part."""
    word, port, *paths = sys.argv[1:]
    sys.stdin.readline()
    sys.stdout.write(json.dumps({"type": "hello", "name": "hostile", "version": "1"}) + "\n")
    sys.stdout.flush()
    sys.stdin.readline()
    if port == "0":
        time.sleep(60)
    for path in paths:
        attempt("isolation", f"read {Path(path).name}", reading(path))
    attempt("isolation", "parents' variables", environments)
    attempt("isolation", "another trial's files", others_files)
    attempt("network", "TCP", connecting(socket.AF_INET, ("127.0.0.1", int(port))))
    if hasattr(socket, "AF_VSOCK"):
        attempt("network", "VSOCK", lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM))
    attempt("memory_bytes", "memory", spending_memory)
    attempt("processes", "processes", many_processes)
    attempt("file_bytes", "files", large_file)
    outliving(word)


main()

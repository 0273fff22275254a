"""A filter of system calls for the sandbox, as the kernel's classic BPF (seccomp).

Namespaces don't cover everything: a socket of the family ``AF_VSOCK`` reaches the machine's
host from any network namespace, and io_uring makes sockets without a call of that name. The
filter leaves local, IPv4 and IPv6 sockets, whose network namespace is empty, and takes away
what looks into other processes, or reaches the kernel where no program of an agent needs to.
Numbers: Linux' ``asm/unistd.h`` of either processor.
"""

import struct
from typing import Final, NamedTuple

__all__ = ["filter_for"]

_LOAD_WORD: Final = 0x20
_JUMP_EQUAL: Final = 0x15
_JUMP_AT_LEAST: Final = 0x35
_RETURN: Final = 0x06
_ALLOW: Final = 0x7FFF0000
_KILL: Final = 0x80000000
_FAIL: Final = 0x00050000
_EPERM: Final = 1
_EAFNOSUPPORT: Final = 97
_NUMBER_AT: Final = 0
_PROCESSOR_AT: Final = 4
_FIRST_ARGUMENT_AT: Final = 16  # its low half; both processors are little-endian
_OPEN_FAMILIES: Final = (1, 2, 10)  # AF_UNIX, AF_INET, AF_INET6


class _Processor(NamedTuple):
    """How the kernel numbers calls on one processor.

    Attributes
    ----------
    audit
        ``AUDIT_ARCH_…``: a call made in another numbering is not let through.
    socket
        Number of ``socket``.
    closed
        Calls that fail: io_uring, bpf, perf, userfaultfd, keys, ptrace, other processes'
        memory, mounts, namespaces, file handles, modules.
    other_numbering_from
        Where a second numbering of the same processor begins (x32); None: there is none.
    """

    audit: int
    socket: int
    closed: tuple[int, ...]
    other_numbering_from: int | None = None


_PROCESSORS: Final = {
    "x86_64": _Processor(
        0xC000003E,
        41,
        (
            *(425, 426, 427, 321, 298, 323, 248, 249, 250, 101, 310, 311, 165, 166, 155, 272),
            *(308, 303, 304, 175, 176, 313, 246, 320, 428, 429, 430, 431, 432, 442),
        ),
        0x40000000,
    ),
    "aarch64": _Processor(
        0xC00000B7,
        198,
        (
            *(425, 426, 427, 280, 241, 282, 217, 218, 219, 117, 270, 271, 40, 39, 41, 97),
            *(268, 264, 265, 105, 106, 273, 104, 294, 428, 429, 430, 431, 432, 442),
        ),
    ),
}


def filter_for(processor: str) -> bytes | None:
    """Return the filter for a processor as ``os.uname().machine`` names it; None: none known."""
    known = _PROCESSORS.get(processor)
    if known is None:
        return None
    # Jumps count the instructions between; the end is laid out first.
    tail = [
        _instruction(_LOAD_WORD, _FIRST_ARGUMENT_AT),
        *(
            _instruction(_JUMP_EQUAL, family, yes=len(_OPEN_FAMILIES) - at)
            for at, family in enumerate(_OPEN_FAMILIES)
        ),
        _instruction(_RETURN, _FAIL | _EAFNOSUPPORT),
        _instruction(_RETURN, _ALLOW),
        _instruction(_RETURN, _FAIL | _EPERM),
    ]
    refuse = len(tail) - 1
    body = [_instruction(_JUMP_EQUAL, known.socket, no=len(tail) - 2)]
    for number in known.closed:
        body.insert(0, _instruction(_JUMP_EQUAL, number, yes=len(body) + refuse))
    if known.other_numbering_from is not None:
        distance = len(body) + refuse
        body.insert(0, _instruction(_JUMP_AT_LEAST, known.other_numbering_from, yes=distance))
    head = [
        _instruction(_LOAD_WORD, _PROCESSOR_AT),
        _instruction(_JUMP_EQUAL, known.audit, yes=1),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD_WORD, _NUMBER_AT),
    ]
    return b"".join([*head, *body, *tail])


def _instruction(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """Return one instruction; ``yes`` and ``no`` are how many to pass over."""
    return struct.pack("=HBBI", code, yes, no, value)

"""What reading a command gives: its segments, and the files that they read."""

import msgspec

from wayproof.capture.shell.commands import Simple
from wayproof.capture.shell.writes import Act

__all__ = ["FileRead", "Reading", "Segment"]


class FileRead(msgspec.Struct, frozen=True):
    """A file that a command reads: its path and the folder it is relative to.

    ``folder`` is None for the call's own working directory.
    """

    path: str
    folder: str | None = None
    lines: tuple[int, int] | None = None


class Segment(msgspec.Struct, frozen=True):
    """One pipeline, or one compound statement, with the simple commands in it.

    Attributes
    ----------
    acts
        What each of the commands does.
    setup
        It only prepares what follows: ``cd``, ``export``, an assignment.
    reads
        The files that it reads.
    """

    text: str
    commands: tuple[Simple, ...]
    acts: tuple[Act, ...] = ()
    setup: bool = False
    reads: tuple[FileRead, ...] = ()


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What a command says.

    Attributes
    ----------
    first
        The first segment with its whole pipeline: wrappers opened, leading ``cd``,
        ``export`` and assignments dropped.
    segments
        Those that do something, in order.
    unparsed
        The grammar found errors, or the command is longer than what is parsed.
    """

    first: str
    segments: tuple[Segment, ...] = ()
    unparsed: bool = False

"""Where captured records go: a file that is whole or not there, or stdout."""

import sys
from collections.abc import Iterable
from pathlib import Path

from wayproof.errors import OutputError

__all__ = ["put"]


def put(out: str, lines: Iterable[bytes]) -> None:
    """Write lines to a file, or to stdout for ``-``.

    Raises
    ------
    OutputError
        When the place can't be written to.
    """
    from wayproof.capture.output import write_whole

    if out != "-":
        write_whole(Path(out), lines)
        return
    try:
        sys.stdout.flush()
        for line in lines:
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError("could not be written", file="stdout", found=error.strerror) from None

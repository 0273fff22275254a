"""What a command does to files, before anybody knows which of them existed."""

from typing import Literal

import msgspec

__all__ = ["Act", "How", "Part", "Write"]

How = Literal["edit", "put", "new", "make", "moved", "assumed"]
"""How a file is written.

``edit``: content that must be there is changed or taken away. ``put``: content is put at a
path, whether or not there was any. ``new``: the log itself says that there was none.
``make``: an empty file or a folder is made. ``moved``: the place that something was moved to.
``assumed``: a tool that rewrites what it is given, if it finds anything to rewrite.
"""

Part = Literal["look", "run", "keep", "quiet"]
"""What a command is apart from what it writes.

``look``: it may show something. ``run``: a test runner, a build, an install, a check.
``keep``: bookkeeping, like ``git commit``. ``quiet``: it shows nothing by itself, like
``cd``, ``echo``, or a filter behind a pipe.
"""


class Write(msgspec.Struct, frozen=True):
    """A file that is written; ``path`` is None where only a running shell would know it."""

    path: str | None
    how: How


class Act(msgspec.Struct, frozen=True):
    """What one simple command does.

    Attributes
    ----------
    programs
        Files that it would run: running what a session has made is no navigation.
    """

    part: Part
    writes: tuple[Write, ...] = ()
    programs: tuple[str, ...] = ()

"""Which lines of a Claude Code session are its live branch.

A rewound session keeps the abandoned branch in its file: a later line hangs on an earlier
one. Normally a turn hangs on the turn before it, so nothing needs to be remembered but the
ends of the latest turn; only where a turn hangs on anything else the file is read again to
walk from its last line back to the first.
"""

from collections.abc import Iterable, Iterator

import msgspec

__all__ = ["Branch", "Link", "live_lines"]


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """How a line hangs together with others.

    Attributes
    ----------
    uuid, parent
        Its own name and its parent's.
    main
        It belongs to the main thread.
    message
        The message of the model that it is a part of; None for anything else.
    fresh
        It is a prompt that hangs on nothing.
    calls, answered
        The calls that it makes, and those whose results it holds.
    """

    uuid: str
    parent: str | None
    main: bool
    message: str | None = None
    fresh: bool = False
    calls: tuple[str, ...] = ()
    answered: tuple[str, ...] = ()


class Branch:
    """Notice when a turn hangs on anything but the turn before it."""

    def __init__(self) -> None:
        self._ends: set[int] = set()
        self._message: str | None = None
        self._roots: set[int | None] = set()
        self._linked = False
        self.rewound = False

    def take(
        self,
        uuid: str | None,
        parent: str | None,
        message: str | None,
        *,
        turn: bool,
        fresh: bool,
        known: set[int],
    ) -> None:
        """Take a line of the main thread.

        Parameters
        ----------
        turn
            It is a prompt, or a message of the model.
        fresh
            It is a prompt that hangs on nothing.
        known
            The lines that the route may hold.
        """
        if uuid is None:
            return
        begins = turn and (message is None or message != self._message)
        if begins:
            above = None if parent is None else hash(parent)
            if above in known:
                self._linked = True
                self.rewound = self.rewound or above not in self._ends
            elif above is not None or fresh:
                self.rewound = self.rewound or (self._linked and above in self._roots)
                if not self._linked:  # what the first turn hangs on: nothing, or a note
                    self._roots.add(above)
            self._ends = set()
            self._message = message
        self._ends.add(hash(uuid))


def live_lines(links: Iterable[Link]) -> set[int]:
    """Return the hashes of the lines that lead to the last one.

    Results belong to their calls wherever they hang, and the parts of a message to each
    other. Where a chain begins anew (after a compaction), it goes on at the line before.
    """
    lines = _Lines()
    for link in links:
        lines.add(link)
    live = set(_chain(lines.last, lines.parents, lines.before))
    for parts in lines.by_message.values():
        if any(hash(part.uuid) in live for part in parts):
            for part in parts:
                live.add(hash(part.uuid))
                for call in part.calls:
                    live.update(lines.results.get(call, ()))
    return live


class _Lines:
    """The lines of a file and what hangs together in it, by the hashes of their names."""

    def __init__(self) -> None:
        self.parents: dict[int, int | None] = {}
        self.before: dict[int, int] = {}
        self.by_message: dict[str, list[Link]] = {}
        self.results: dict[str, list[int]] = {}
        self.last: int | None = None
        self.linked = False

    def add(self, link: Link) -> None:
        name = hash(link.uuid)
        if name in self.parents:
            return
        self.parents[name] = None if link.parent is None else hash(link.parent)
        if not link.main:
            return
        if link.fresh:
            self.linked = self.last is not None and self.linked
        if self.last is not None and not (link.fresh and self.linked):
            self.before[name] = self.last
        self.linked = self.linked or self.parents[name] in self.parents
        self.last = name
        if link.message is not None:
            self.by_message.setdefault(link.message, []).append(link)
        for call in link.answered:
            self.results.setdefault(call, []).append(name)


def _chain(
    last: int | None, parents: dict[int, int | None], before: dict[int, int]
) -> Iterator[int]:
    seen: set[int] = set()
    current = last
    while current is not None and current not in seen:
        seen.add(current)
        yield current
        parent = parents.get(current)
        current = parent if parent is not None and parent in parents else before.get(current)

"""Whether two calls have the same goal."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from wayproof.evidence.rejection_names import Kind, Match
from wayproof.rejections.calls import About, Facet, FileEdit
from wayproof.rejections.programs import Program, base_name, is_read_only

__all__ = ["Goal", "Progress", "goal_of", "has_goal", "met_by"]


class Goal(NamedTuple):
    """What a rejected call was to do.

    Attributes
    ----------
    what
        ``edit``, ``read``, ``search``, ``command`` or ``other`` (only the same call again).
    key
        Equal for the same call; None: the log doesn't keep its input.
    kind
        Why it was rejected.
    edits
        What it was to edit.
    bases
        Base names of the files that it was to read.
    pattern, program
        What it was to search for, or to run.
    """

    what: str
    key: bytes | None
    kind: Kind
    edits: tuple[FileEdit, ...] = ()
    bases: frozenset[str] = frozenset()
    pattern: str | None = None
    program: Program | None = None

    @property
    def lines(self) -> frozenset[tuple[bool, str]]:
        """The lines that must be added (True), or, where it only deletes, removed (False)."""
        added = {(True, line) for one in self.edits for line in one.edit.added}
        removed = {(False, line) for one in self.edits for line in one.edit.removed}
        return frozenset(added or removed)

    @property
    def needed(self) -> int:
        """How many of the lines must be made: half where a linter wants one changed."""
        count = len(self.lines)
        return -(-count // 2) if self.kind == "edit_guarded" and count > 1 else count


def goal_of(read: About, kind: Kind, *, step: int | None, meant: str | None) -> Goal:
    """Return the goal of a rejected call.

    Parameters
    ----------
    read
        What the call is about.
    kind
        Why it was rejected.
    step
        The part of a command that did nothing; None: the whole call.
    meant
        The name that the tool proposed in place of a missing file's.
    """
    facet = _main_facet(read, step)
    if facet is None:
        return Goal("other", read.key, kind)
    if facet.edits:
        return Goal("edit", read.key, kind, edits=facet.edits)
    if facet.reads:
        bases = {base_name(path) for path in facet.reads}
        if meant is not None:
            bases.add(base_name(meant))
        return Goal("read", read.key, kind, bases=frozenset(bases), program=facet.program)
    if facet.pattern is not None:
        return Goal("search", read.key, kind, pattern=facet.pattern, program=facet.program)
    if facet.program is not None:
        return Goal("command", read.key, kind, program=facet.program)
    return Goal("other", read.key, kind)


def _main_facet(read: About, step: int | None) -> Facet | None:
    if step is not None:
        return next((one for one in read.facets if one.step == step), None)
    if read.steps is not None:
        acting = [
            one
            for one in read.facets
            if one.step is not None and not is_read_only(read.steps[one.step])
        ]
        return next(iter(acting or read.facets), None)
    return read.facets[0] if read.facets else None


_Line = tuple[bool, str]
_MIN_JOINED_CHARS: Final = 10


class Progress:
    """How far the lines of a goal were made by accepted edits, taken together."""

    def __init__(self, goal: Goal) -> None:
        self._lines = goal.lines
        self._needed = goal.needed
        self._rests = {line: rest for one in goal.edits for line, rest in one.edit.rests}
        self._joined = [one.edit.joined for one in goal.edits if one.edit.added]
        self._files = frozenset(one.file for one in goal.edits)
        self._by_base = goal.kind == "no_such_file"
        self._left = set(self._lines)

    def restart(self) -> None:
        """Forget what was made so far."""
        self._left = set(self._lines)

    def same_file(self, one: FileEdit) -> bool:
        """Whether an edit is of the goal's file."""
        if one.file in self._files:
            return True
        if not self._by_base or one.file is None:
            return False
        return base_name(one.file) in {base_name(file) for file in self._files if file}

    def take(self, edits: tuple[FileEdit, ...]) -> Match | None:
        """Take an accepted edit and say how it fits the goal."""
        here = [one for one in edits if self.same_file(one)]
        if not here:
            made = len(self._made(edits))
            return "near" if self._lines and 2 * made >= len(self._lines) else None
        made_now = self._made(here) & self._left
        self._left -= made_now
        done = len(self._lines) - len(self._left)
        if made_now and done >= self._needed:
            return "same"
        return "near" if self._lines and 2 * done >= len(self._lines) else "file"

    def asks_all(self, edits: tuple[FileEdit, ...]) -> bool:
        """Whether a call asks for everything that the goal does, accepted or not."""
        here = [one for one in edits if self.same_file(one)]
        return bool(self._lines) and len(self._made(here)) >= self._needed

    def _made(self, edits: Sequence[FileEdit]) -> set[_Line]:
        """Return which of the goal's lines some edits make."""
        added = {line for one in edits for line in one.edit.added}
        added |= {rest for one in edits for _, rest in one.edit.rests}
        removed = {line for one in edits for line in one.edit.removed}
        found: set[_Line] = set()
        for is_added, line in self._lines:
            if not is_added:
                if line in removed:
                    found.add((False, line))
            elif line in added or self._rests.get(line) in added:
                found.add((True, line))
        texts = [one.edit.joined for one in edits]
        if self._joined and all(
            len(text) >= _MIN_JOINED_CHARS and any(text in other for other in texts)
            for text in self._joined
        ):
            return set(self._lines)
        return found


def has_goal(goal: Goal, progress: Progress, read: About) -> Match | None:
    """Say how a call that wasn't accepted fits a goal: ``exact``, ``same`` or not."""
    if goal.key is not None and read.key == goal.key:
        return "exact"
    if goal.what == "edit":
        wanted = any(progress.asks_all(facet.edits) for facet in read.facets)
        return "same" if wanted else None
    return "same" if any(True for _ in _same_facets(goal, read)) else None


def met_by(goal: Goal, read: About) -> Iterator[tuple[Match, Facet]]:
    """Yield the facets of a call that fit a goal that is no edit, the best first."""
    exact = goal.key is not None and read.key == goal.key
    for facet in _same_facets(goal, read):
        yield ("exact" if exact else "same"), facet
    if goal.program is None:
        return
    for facet in read.facets:
        if facet.program is not None and _is_near(goal.program, facet.program):
            yield "near", facet


def _same_facets(goal: Goal, read: About) -> Iterator[Facet]:
    for facet in read.facets:
        if goal.what == "read":
            if goal.bases & {base_name(path) for path in facet.reads}:
                yield facet
        elif goal.what == "search":
            if facet.pattern is not None and facet.pattern == goal.pattern:
                yield facet
        elif (
            goal.what == "command"
            and goal.program is not None
            and facet.program is not None
            and _is_same(goal.program, facet.program)
        ):
            yield facet


def _is_same(one: Program, other: Program) -> bool:
    if one.operands is None or other.operands is None or one.operands != other.operands:
        return False
    if (one.name, one.sub) == (other.name, other.sub):
        return True
    return one.runs_tests and other.runs_tests and bool(one.operands)


def _is_near(one: Program, other: Program) -> bool:
    """Whether two commands have the same program and share an operand."""
    tests = one.runs_tests and other.runs_tests
    if (one.name, one.sub) != (other.name, other.sub) and not tests:
        return False
    if one.operands is None or other.operands is None:
        return True
    return bool(one.operands & other.operands)

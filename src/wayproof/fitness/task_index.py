"""Every task by its id, and where its line lies: all that scoring holds in memory of tasks.

Every line is checked once, from the first one on, before anything is scored. A task is
read back when a packet of it comes, or at the end when none did.
"""

from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from wayproof.errors import InputError
from wayproof.fitness.inputs import PlainFile, decode_line, each_line
from wayproof.fitness.task import (
    DEFAULTS,
    TaskLine,
    expected_from,
    is_stating,
    refuse_draft,
    refuse_near_miss,
    unknown_keys,
)
from wayproof.parallel.external_sort import PieceFile
from wayproof.strict_json import strict_value
from wayproof.text import quoted

__all__ = ["TaskIndex", "TaskReader", "index_tasks"]

_decode_task = msgspec.json.Decoder(TaskLine).decode
_encode = msgspec.json.Encoder().encode

COMMENT_KEY = "_comment"
"""What a task says to its readers: starter files and drafts carry it, no score uses it."""


class TaskIndex:
    """The tasks of a file.

    Tasks are numbered as they come and ranked by the UTF-8 bytes of their ids.

    Attributes
    ----------
    numbers
        Number by id.
    drafts
        Ids of unfilled drafts, which have no number; with the offsets of their lines.
    ranks, order
        Rank by number, and number by rank.
    route_codes
        A small integer for each route type.
    offsets, sizes
        By number: where the task's line starts in the file, and its length, in bytes.
    states_anything
        Whether any task states something that a packet could fail.
    unknown_keys
        How many tasks carry each key that scoring doesn't know.
    origins
        How many tasks say where their expectations are from, by what they say.
    """

    def __init__(self, path: Path, *, first_form: bool = False) -> None:
        self.numbers: dict[str, int] = {}
        self.drafts: dict[str, int] = {}
        self.ranks = array("Q")
        self.order = array("Q")
        self.route_codes: dict[str, int] = {}
        self.offsets = array("Q")
        self.sizes = array("Q")
        self.states_anything = False
        self.unknown_keys: Counter[str] = Counter()
        self.origins: Counter[str] = Counter()
        self._path = path
        self._first_form = first_form

    def __len__(self) -> int:
        return len(self.numbers)

    def add(self, line: bytes, offset: int) -> None:
        """Check one task's line, which starts at ``offset``, and take it in."""
        task: TaskLine = decode_line(line, _decode_task, TaskLine)
        if not _is_all_known(line, task):
            self._check_keys(line)
        task_id = task.task_id
        if task_id is None:
            raise InputError(
                "task has no task_id",
                field="task_id",
                expected="the id that joins it with its packets",
            )
        number = len(self.offsets)
        if task_id in self.drafts or self.numbers.setdefault(task_id, number) != number:
            raise InputError(
                "duplicate task_id",
                field="task_id",
                expected="each id once",
                found=quoted(task_id),
            )
        if task.draft:
            if self._first_form:
                refuse_draft(task)
            del self.numbers[task_id]
            self.drafts[task_id] = offset
            return
        route_type = DEFAULTS.route_type if task.route_type is None else task.route_type
        if route_type not in self.route_codes:
            self.route_codes[route_type] = len(self.route_codes)
        self.offsets.append(offset)
        self.sizes.append(len(line))
        self.states_anything = self.states_anything or is_stating(task)

    def _check_keys(self, line: bytes) -> None:
        """Refuse a key that stands twice or is nearly a known one; count the others."""
        row = strict_value(line)
        keys = unknown_keys(row)
        if not self._first_form:
            refuse_near_miss(keys)
        self.unknown_keys.update(key for key in keys if key != COMMENT_KEY)
        origin = expected_from(row)
        if origin is not None and not row.get("draft"):
            self.origins[origin] += 1

    def rank(self) -> None:
        """Put the tasks in the order of the results, once all are in."""
        ids = sorted(self.numbers)  # code points sort as their UTF-8 bytes do
        self.order = array("Q", map(self.numbers.__getitem__, ids))
        self.ranks = array("Q", bytes(8 * len(ids)))
        for rank, number in enumerate(self.order):
            self.ranks[number] = rank

    @contextmanager
    def open(self) -> Iterator["TaskReader"]:
        """Open the file, to read tasks back by their numbers."""
        lines = PieceFile(self._path)
        try:
            yield TaskReader(self, lines)
        finally:
            lines.close()


class TaskReader:
    """Reads tasks back; each unit of work has its own, the index is shared."""

    def __init__(self, index: TaskIndex, lines: PieceFile) -> None:
        self.index = index
        self._lines = lines

    def task(self, number: int) -> TaskLine:
        """Read a task's line; it was checked when it was indexed."""
        index = self.index
        task: TaskLine = _decode_task(self._lines.read(index.offsets[number], index.sizes[number]))
        return task


def index_tasks(tasks: PlainFile, *, first_form: bool = False) -> TaskIndex:
    """Check every task and note its id and place.

    ``first_form`` takes what ``wayproof.fitness/1`` took.

    Raises
    ------
    InputError
        Naming file, line and field: not a task, a missing id (a task without id can't be
        joined with a packet), an id or a key that stands twice, a key that is nearly a
        known one.
    """
    index = TaskIndex(tasks.path, first_form=first_form)
    each_line(tasks.path, tasks.shown, index.add)
    index.rank()
    return index


def _is_all_known(line: bytes, task: TaskLine) -> bool:
    """Tell whether a line holds known keys alone, each once; False may mean "perhaps not".

    Every key has a colon, and all other colons stand in strings. When the task as we write
    it has as many as the line, no key was passed over (an escaped colon could hide one).
    """
    return line.count(b":") == _encode(task).count(b":") and b"\\u003" not in line

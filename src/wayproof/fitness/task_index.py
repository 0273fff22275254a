"""Every task by its id, and where its line lies: all that scoring holds in memory of tasks.

A task's line is read back, checked and prepared when a packet of it comes, or at the end
when none did, so every line is checked by the unit of work that needs it. When something is
wrong anywhere, :func:`refuse_bad_tasks` reads the file once more from its start, so that
the first bad line is the one that is named.
"""

from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from wayproof.errors import InputError
from wayproof.fitness.inputs import PlainFile, decode_line, each_line
from wayproof.fitness.task import DEFAULTS, TaskLine, refuse_draft
from wayproof.parallel.external_sort import PieceFile
from wayproof.strict_json import explain_line, has_duplicate_key
from wayproof.text import quoted

__all__ = ["TaskIndex", "TaskReader", "index_tasks", "refuse_bad_tasks"]


class _Identity(msgspec.Struct, gc=False):
    task_id: str
    route_type: str | None = None


_decode_identity = msgspec.json.Decoder(_Identity).decode
_decode_task = msgspec.json.Decoder(TaskLine).decode
_field_values = msgspec.structs.astuple


class TaskIndex:
    """The tasks of a file.

    Tasks are numbered as they come and ranked by the UTF-8 bytes of their ids.

    Attributes
    ----------
    numbers
        Number by id.
    ranks, order
        Rank by number, and number by rank.
    route_codes
        A small integer for each route type.
    offsets, sizes
        By number: where the task's line starts in the file, and its length, in bytes.
    """

    def __init__(self, path: Path) -> None:
        self.numbers: dict[str, int] = {}
        self.ranks = array("Q")
        self.order = array("Q")
        self.route_codes: dict[str, int] = {}
        self.offsets = array("Q")
        self.sizes = array("Q")
        self._path = path

    def __len__(self) -> int:
        return len(self.numbers)

    def add(self, line: bytes, offset: int) -> None:
        """Take in one task line that starts at ``offset``."""
        try:
            identity = _decode_identity(line)
        except (msgspec.MsgspecError, RecursionError):
            checked_task(line)
            raise
        number = len(self.offsets)
        if self.numbers.setdefault(identity.task_id, number) != number:
            raise InputError(
                "duplicate task_id",
                field="task_id",
                expected="each id once",
                found=quoted(identity.task_id),
            )
        route_type = identity.route_type
        if route_type is None:
            route_type = DEFAULTS.route_type
        if route_type not in self.route_codes:
            self.route_codes[route_type] = len(self.route_codes)
        self.offsets.append(offset)
        self.sizes.append(len(line))

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
        """Read a task's line and check it."""
        index = self.index
        return checked_task(self._lines.read(index.offsets[number], index.sizes[number]))


def index_tasks(tasks: PlainFile) -> TaskIndex:
    """Note every task's id and place.

    Raises
    ------
    InputError
        Naming file, line and field: not a task, a missing id (a task without id can't be
        joined with a packet), an id that stands twice.
    """
    index = TaskIndex(tasks.path)
    each_line(tasks.path, tasks.shown, index.add)
    index.rank()
    return index


def refuse_bad_tasks(tasks: PlainFile) -> None:
    """Check every line from the first one on.

    Raises
    ------
    InputError
        Naming the first line that is no task, repeats a key, or is an unfilled draft.
    """

    def take(line: bytes, _offset: int) -> None:
        checked_task(line)

    each_line(tasks.path, tasks.shown, take)


def checked_task(line: bytes) -> TaskLine:
    """Decode a task's line and check what its types don't say."""
    task: TaskLine = decode_line(line, _decode_task, TaskLine)
    values = _field_values(task)
    if has_duplicate_key(line, len(values) - values.count(None), lambda: _joined(task)):
        raise explain_line(line, TaskLine)
    if task.task_id is None:
        raise InputError(
            "task has no task_id",
            field="task_id",
            expected="the id that joins it with its packets",
        )
    if task.draft:
        refuse_draft(task)
    return task


def _joined(task: TaskLine) -> str:
    texts = [task.task_id, task.family, task.task_prompt, task.route_type, task.route_role]
    texts += task.expected_artifacts or ()
    texts += task.forbidden_first_routes or ()
    texts += task.scent_terms or ()
    return "".join(filter(None, texts))

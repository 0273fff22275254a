"""Every task by its id, and where its line lies: all that scoring holds in memory of tasks.

A task's line is read back, checked and prepared when a packet of it comes, or at the end
when none did, so every line is checked in the process that needs it. When something is
wrong anywhere, :func:`refuse_bad_tasks` reads the file once more from its start, so that
the first bad line is the one that is named.
"""

from array import array
from pathlib import Path
from typing import Any

import msgspec

from wayproof.errors import InputError
from wayproof.fitness.inputs import PlainFile, decode_line, each_line
from wayproof.fitness.task import DEFAULTS, TaskLine, refuse_draft
from wayproof.parallel.external_sort import PieceFile
from wayproof.strict_json import explain_line, has_duplicate_key
from wayproof.text import quoted

__all__ = ["TaskIndex", "index_tasks", "refuse_bad_tasks"]


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
    """

    def __init__(self, path: Path) -> None:
        self.numbers: dict[str, int] = {}
        self.ranks = array("Q")
        self.order = array("Q")
        self.route_codes: dict[str, int] = {}
        self._path = path
        self._offsets = array("Q")
        self._lengths = array("Q")
        self._lines: PieceFile | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lines": None}

    def add(self, line: bytes, offset: int) -> None:
        """Take in one task line that starts at ``offset``."""
        try:
            identity = _decode_identity(line)
        except (msgspec.MsgspecError, RecursionError):
            checked_task(line)
            raise
        number = len(self._offsets)
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
        self._offsets.append(offset)
        self._lengths.append(len(line))

    def rank(self) -> None:
        """Put the tasks in the order of the results, once all are in."""
        ids = sorted(self.numbers)  # code points sort as their UTF-8 bytes do
        self.order = array("Q", map(self.numbers.__getitem__, ids))
        self.ranks = array("Q", bytes(8 * len(ids)))
        for rank, number in enumerate(self.order):
            self.ranks[number] = rank

    def task(self, number: int) -> TaskLine:
        """Read a task's line back and check it."""
        if self._lines is None:
            self._lines = PieceFile(self._path)
        return checked_task(self._lines.read(self._offsets[number], self._lengths[number]))

    def close(self) -> None:
        """Let go of the file."""
        if self._lines is not None:
            self._lines.close()
            self._lines = None


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

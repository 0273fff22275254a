"""Every task by its id: what judging needs in memory, the rest where it lies in the file."""

from array import array
from pathlib import Path
from typing import Any

import msgspec

from wayproof.errors import InputError
from wayproof.fitness.inputs import PlainFile, decode_line, each_line
from wayproof.fitness.task import Need, TaskLine, need_of, refuse_draft
from wayproof.jsonin import explain_line, has_duplicate_key
from wayproof.spool import MappedFile
from wayproof.text import quoted

__all__ = ["TaskIndex", "index_tasks"]

# The need of a short line with few texts stays in memory: about 1 KB with its overhead.
_KEPT_LINE_BYTES, _KEPT_TEXTS = 1024, 8

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
        self._needs: list[Need | None] = []
        self._offsets = array("Q")
        self._lengths = array("Q")
        self._lines: MappedFile | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lines": None}

    def add(self, line: bytes, offset: int) -> None:
        """Take in one task line that starts at ``offset``."""
        task = _checked_task(line)
        number = len(self._needs)
        if self.numbers.setdefault(task.task_id or "", number) != number:
            raise InputError(
                "duplicate task_id",
                field="task_id",
                expected="each id once",
                found=quoted(task.task_id),
            )
        need = need_of(task)
        if need.route_type not in self.route_codes:
            self.route_codes[need.route_type] = len(self.route_codes)
        length = len(line)
        if length > _KEPT_LINE_BYTES or len(need.expected) + len(need.terms) > _KEPT_TEXTS:
            self._needs.append(None)
        else:
            self._needs.append(need)
        self._offsets.append(offset)
        self._lengths.append(length)

    def rank(self) -> None:
        """Put the tasks in the order of the results, once all are in."""
        ids = sorted(self.numbers)  # code points sort as their UTF-8 bytes do
        self.order = array("Q", map(self.numbers.__getitem__, ids))
        self.ranks = array("Q", bytes(8 * len(ids)))
        for rank, number in enumerate(self.order):
            self.ranks[number] = rank

    def need(self, number: int) -> Need:
        """Return what judging needs of a task."""
        return self._needs[number] or need_of(self.line(number))

    def line(self, number: int) -> TaskLine:
        """Read a task's line back."""
        if self._lines is None:
            self._lines = MappedFile(self._path)
        return _decode_task(self._lines.read(self._offsets[number], self._lengths[number]))

    def close(self) -> None:
        """Let go of the file."""
        if self._lines is not None:
            self._lines.close()
            self._lines = None


def index_tasks(tasks: PlainFile) -> TaskIndex:
    """Read every task once, check it, and remember where it lies.

    Raises
    ------
    InputError
        Naming file, line and field: not a task, a duplicate key or id, a missing id (a
        task without id can't be joined with a packet), an unfilled draft.
    """
    index = TaskIndex(tasks.path)
    each_line(tasks.path, tasks.shown, index.add)
    index.rank()
    return index


def _checked_task(line: bytes) -> TaskLine:
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

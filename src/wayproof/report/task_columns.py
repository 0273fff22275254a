"""What a fitness report's lists show of each result, by column."""

from array import array
from collections.abc import Iterator
from typing import Annotated, Any, Final

import msgspec

from wayproof.bundles.reader import LineFile, decoded_lines
from wayproof.errors import IntegrityError
from wayproof.evidence.fitness_names import FAILURE_KINDS, LATENCY_STATUS_NAMES, LATENCY_STATUSES
from wayproof.first_contacts import first_contact
from wayproof.text import clip

__all__ = ["TaskColumns", "task_columns"]

_KIND_CODES: Final[dict[str | None, int]] = {
    None: 0,
    **{kind: code for code, kind in enumerate(FAILURE_KINDS, start=1)},
}
_STATUS_CODES: Final[dict[str, int]] = {
    status: code for code, status in enumerate(LATENCY_STATUS_NAMES)
}
_DEBT_STATUS_CODES: Final = frozenset(
    code for code, row in enumerate(LATENCY_STATUSES) if row.is_debt
)
_ID_CHARS: Final = 160
_MISSING_CHARS: Final = 80
_MOST_MISSING: Final = 3
_UNMEASURED: Final = -1.0


class _Task(msgspec.Struct, frozen=True, gc=False):
    task_id: str
    route_type: str
    sufficiency_failure_kind: str | None
    latency_status: str
    wall_ms: float | None
    latency_budget_ms: Annotated[int, msgspec.Meta(ge=1)]
    recall_at_packet: float
    precision_at_packet: float
    expected_artifacts: list[msgspec.Raw]
    missing_expected_artifacts: list[str]
    forbidden_first_route_hits: list[msgspec.Raw]
    scent_status: str
    forbidden_status: str
    family: str
    first_contact_command: str | None
    attempt: int | None = None


def _is_vacuous(task: _Task) -> bool:
    """Whether no rung of the ladder was examined: such a result could not fail."""
    return (
        not task.expected_artifacts
        and task.scent_status == task.forbidden_status == "unscored"
        and task.sufficiency_failure_kind is None
    )


class TaskColumns:
    """What the page's lists show of each result, by column; codes instead of names."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.routes: dict[str, int] = {}
        self.route = array("I")
        self.kind = array("B")
        self.latency = array("B")
        self.wall_ms = array("d")
        self.budget_ms = array("d")
        self.recall = array("d")
        self.precision = array("d")
        self.missing_count = array("I")
        self.vacuous = array("B")
        # Names of the first missing ids, of the results that miss any.
        self.missing: dict[int, list[str]] = {}
        self.hit_count = array("I")
        self.family = array("I")
        self.families: dict[str, int] = {}
        self.program = array("I")
        self.programs: dict[str, int] = {}
        # Ids that are too long to be shown, and attempts, where the packet had one.
        self._whole: dict[int, str] = {}
        self.attempts: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, task: _Task) -> None:
        """Take in one result."""
        index = len(self.ids)
        if len(task.task_id) > _ID_CHARS:
            self._whole[index] = task.task_id
        if task.attempt is not None:
            self.attempts[index] = task.attempt
        self.ids.append(clip(task.task_id, _ID_CHARS))
        self.family.append(self.families.setdefault(task.family, len(self.families)))
        program = first_contact(task.first_contact_command)
        self.program.append(self.programs.setdefault(program, len(self.programs)))
        self.route.append(self.routes.setdefault(task.route_type, len(self.routes)))
        self.kind.append(_KIND_CODES[task.sufficiency_failure_kind])
        self.latency.append(_STATUS_CODES[task.latency_status])
        self.wall_ms.append(_UNMEASURED if task.wall_ms is None else task.wall_ms)
        self.budget_ms.append(task.latency_budget_ms)
        self.recall.append(task.recall_at_packet)
        self.precision.append(task.precision_at_packet)
        self.missing_count.append(len(task.missing_expected_artifacts))
        self.vacuous.append(_is_vacuous(task))
        if task.missing_expected_artifacts:
            self.missing[index] = [
                clip(each, _MISSING_CHARS)
                for each in task.missing_expected_artifacts[:_MOST_MISSING]
            ]
        self.hit_count.append(len(task.forbidden_first_route_hits))

    def is_debt(self, index: int) -> bool:
        """Whether a result stands in one of the two queues."""
        return bool(self.kind[index]) or self.latency[index] in _DEBT_STATUS_CODES

    def debt_counts(self, indexes: list[int]) -> dict[str, int]:
        """Count the debts of each queue among some results."""
        return {
            "sufficiency": sum(self.kind[index] > 0 for index in indexes),
            "latency": sum(self.latency[index] in _DEBT_STATUS_CODES for index in indexes),
        }

    def missing_text(self, index: int) -> str:
        """Names of a result's first missing ids, and how many more it misses."""
        named = self.missing.get(index, [])
        rest = self.missing_count[index] - len(named)
        return ", ".join(named) + (f" (+{rest})" if rest else "")

    def key(self, index: int) -> tuple[str, int | None]:
        """Task id and attempt of one result, whole."""
        return self._whole.get(index, self.ids[index]), self.attempts.get(index)

    def shown_name(self, index: int) -> str:
        """Id of one result as lists show it, with its attempt where it has one."""
        attempt = self.attempts.get(index)
        return self.ids[index] if attempt is None else f"{self.ids[index]} #{attempt}"

    def chosen(self, indexes: list[int]) -> dict[str, Any]:
        """Return the columns of some results, ready for JSON."""
        if len(indexes) == len(self):
            columns: dict[str, Any] = {name: list(getattr(self, name)) for name in _COLUMNS}
            columns["ids"] = self.ids
        else:
            columns = {name: [getattr(self, name)[index] for index in indexes] for name in _COLUMNS}
            columns["ids"] = [self.ids[index] for index in indexes]
        columns["routes"] = list(self.routes)
        columns["families"] = list(self.families)
        columns["programs"] = list(self.programs)
        # What few results have, by its place in the columns.
        for name, sparse in (
            ("missing", self.missing),
            ("attempts", self.attempts),
            ("whole", self._whole),
        ):
            columns[name] = {
                place: sparse[index] for place, index in enumerate(indexes) if index in sparse
            }
        return columns


_COLUMNS: Final = (
    "route",
    "kind",
    "latency",
    "wall_ms",
    "budget_ms",
    "recall",
    "precision",
    "missing_count",
    "hit_count",
    "vacuous",
    "family",
    "program",
)


def _checked(tasks: Iterator[_Task], name: str) -> Iterator[_Task]:
    for number, task in enumerate(tasks, start=1):
        if task.sufficiency_failure_kind not in _KIND_CODES:
            raise IntegrityError("unknown failure kind", file=name, line=number)
        if task.latency_status not in _STATUS_CODES:
            raise IntegrityError("unknown latency status", file=name, line=number)
        yield task


def task_columns(lines: LineFile) -> TaskColumns:
    """Read every result once."""
    columns = TaskColumns()
    add = columns.add
    for task in _checked(decoded_lines(lines, _Task), str(lines.path)):
        add(task)
    return columns

"""A bundle's results, task by task, in the order in which scoring wrote them."""

import functools
from collections.abc import Iterator
from typing import Any, NamedTuple, Self, cast

import msgspec

from wayproof.bundles.reader import Bundle, read_record
from wayproof.errors import InputError
from wayproof.evidence.comparison_records import ComparedBundle
from wayproof.evidence.fitness_names import RESULTS_NAME, SUMMARY_NAME
from wayproof.evidence.fitness_records import TaskResult
from wayproof.lines import MAX_LINE_BYTES
from wayproof.measures.rows import Row, is_vacuous
from wayproof.text import quoted

__all__ = ["Side", "TaskRows", "open_side"]

_MOST_BYTES = MAX_LINE_BYTES + 1
_RECENT_LINES = 64


class TaskRows(NamedTuple):
    """All results of one task, by attempt, and where their lines start."""

    task_id: str
    rows: list[Row]
    lines: list[int]


class Side:
    """One bundle, open for reading. Use it in a ``with`` block."""

    def __init__(self, bundle: Bundle, cluster: str | None, recent: dict[bytes, Row]) -> None:
        self.bundle = bundle
        # Lines that the other side holds as well are decoded once: the row is then the same.
        self._recent = recent
        self._decoder = msgspec.json.Decoder(_row_type(cluster))
        self._path = bundle.folder / RESULTS_NAME
        # Read through once, and not mapped: a large bundle stays out of memory.
        self._file = self._path.open("rb")
        self.task_count = self.result_count = self.vacuous_count = 0
        self.missing_count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def line(self, offset: int) -> bytes:
        """Return the line that starts at ``offset``, as it stands."""
        self._file.seek(offset)
        return self._file.readline().rstrip(b"\n")

    def _rows(self) -> Iterator[tuple[int, int, Row]]:
        """Yield each result with its line number, from 1, and where its line starts."""
        decode = self._decoder.decode
        at = 0
        read, recent = functools.partial(self._file.readline, _MOST_BYTES), self._recent
        for number, line in enumerate(iter(read, b""), 1):
            if not line.endswith(b"\n"):
                raise InputError("line is cut off or too long", file=str(self._path), line=number)
            found = recent.pop(line, None)
            if found is not None:
                yield number, at, found
                at += len(line)
                continue
            try:
                row = decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
                raise InputError(
                    "not a result", file=str(self._path), line=number, found=str(error)
                ) from None
            if len(recent) >= _RECENT_LINES:
                recent.clear()
            recent[line] = row
            yield number, at, row
            at += len(line)

    def tasks(self) -> Iterator[TaskRows]:
        """Yield the tasks in order of their ids.

        Raises
        ------
        InputError
            When a line is no result, or the results are not in order.
        """
        task: TaskRows | None = None
        for number, at, row in self._rows():
            self.result_count += 1
            if not row.expected_artifacts:
                self.vacuous_count += is_vacuous(row)
            if row.error is not None:
                self.missing_count += row.lacks_packet
            if task is not None and task.task_id == row.task_id:
                if row.attempt <= task.rows[-1].attempt:
                    raise self._out_of_order(number, row)
                task.rows.append(row)
                task.lines.append(at)
                continue
            if task is not None:
                if row.task_id < task.task_id:  # by code points, as UTF-8's bytes sort
                    raise self._out_of_order(number, row)
                self.task_count += 1
                yield task
            task = TaskRows(row.task_id, [row], [at])
        if task is not None:
            self.task_count += 1
            yield task

    def _out_of_order(self, number: int, row: Row) -> InputError:
        return InputError(
            "results are not in order",
            file=str(self._path),
            line=number,
            field="task_id",
            expected="rising ids, and rising attempts within a task",
            found=f"{quoted(row.task_id)}, attempt {row.attempt}",
            mend="score the packets again; results are never edited",
        )

    def record(self) -> ComparedBundle:
        """Say which bundle this is; after its tasks were read."""
        manifest = self.bundle.manifest
        suite = read_record(self.bundle, SUMMARY_NAME, dict[str, Any]).get("suite")
        return ComparedBundle(
            inputs={role: digest.sha256 for role, digest in sorted(manifest.inputs.items())},
            name=self.bundle.name,
            result_count=self.result_count,
            results_sha256=self.bundle.digest(RESULTS_NAME),
            suite=suite if isinstance(suite, str) else "",
            task_count=self.task_count,
            vacuous_count=self.vacuous_count,
        )


@functools.lru_cache(maxsize=8)
def _row_type(cluster: str | None) -> type[Row]:
    """Return the row's type; a field that it passes over is read where it is the cluster."""
    if cluster is None or cluster in Row.__struct_fields__:
        return Row
    if cluster not in TaskResult.__struct_fields__:
        raise InputError(
            "not a field of a result",
            setting="cluster",
            expected=", ".join(sorted(TaskResult.__struct_fields__)),
            found=cluster,
        )
    kind = msgspec.defstruct("Row", [(cluster, Any, None)], bases=(Row,), frozen=True, gc=False)
    return cast("type[Row]", kind)


def open_side(bundle: Bundle, cluster: str | None, recent: dict[bytes, Row] | None = None) -> Side:
    """Open one bundle for a comparison; sides with one ``recent`` share equal rows.

    Raises
    ------
    InputError
        When it holds a summary only.
    """
    if not bundle.has(RESULTS_NAME):
        raise InputError(
            "holds no results to compare",
            file=str(bundle.folder),
            expected=RESULTS_NAME,
            found="a bundle that holds a summary only",
            mend="score again without {summary_only}",
        )
    return Side(bundle, cluster, {} if recent is None else recent)

"""Tasks as qrels and packets as a run, for other tools to read."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from wayproof.capture.trec import is_one_token
from wayproof.errors import InputError
from wayproof.text import quoted

__all__ = ["qrels_lines", "run_lines", "selected_ids"]

_MAX_GRADE = 10**9


def _token(text: str, what: str, place: str) -> str:
    if not is_one_token(text):
        raise InputError(
            f"{what} can't stand in a TREC file",
            index=place,
            expected="non-empty text without white space",
            found=quoted(text),
            mend="columns are parted by white space; rename it before exporting",
        )
    return text


def _topic(record: Mapping[str, Any], place: str) -> str:
    task_id = record.get("task_id")
    return _token(task_id if isinstance(task_id, str) else "", "a task id", place)


def qrels_lines(tasks: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Yield qrels lines: a task's ``relevance`` grades, and 1 for what it expects beside them.

    Raises
    ------
    InputError
        For ids with white space, for prefixes (``docs/*``), which qrels can't say, and for
        grades that are no whole numbers: nothing that a task needs is left out.
    """
    for task in tasks:
        topic = _topic(task, "task")
        for artifact, grade in _grades(task, topic).items():
            yield f"{topic} 0 {_token(artifact, 'an id', f'task {topic}')} {grade}\n".encode()


def _grades(task: Mapping[str, Any], topic: str) -> dict[str, int]:
    relevance = task.get("relevance")
    grades = dict(relevance) if isinstance(relevance, Mapping) else {}
    for artifact, grade in grades.items():
        if isinstance(grade, bool) or not isinstance(grade, int) or abs(grade) >= _MAX_GRADE:
            raise InputError(
                "not a grade",
                index=f"task {topic}",
                field=f"relevance.{artifact}",
                expected="a whole number",
                found=quoted(grade),
            )
    literal = set(_texts(task.get("literal_ids")))
    for artifact in _texts(task.get("expected_artifacts")):
        if artifact.endswith("*") and artifact not in literal:
            raise InputError(
                "a prefix can't be written as a relevance judgment",
                index=f"task {topic}",
                field="expected_artifacts",
                found=artifact,
                mend="list the ids it stands for; an id that ends in * goes into literal_ids, too",
            )
        if artifact.strip():
            grades.setdefault(artifact, 1)
    return grades


def run_lines(
    packets: Iterable[Mapping[str, Any]], *, tag: str = "wayproof", attempt: int = 1
) -> Iterator[bytes]:
    """Yield run lines: selected ids in order, with scores that keep it.

    Raises
    ------
    InputError
        For ids with white space, or a task with two packets of one attempt.
    """
    seen: set[str] = set()
    for packet in packets:
        number = packet.get("attempt")
        if (number if number is not None else 1) != attempt:
            continue
        topic = _topic(packet, "packet")
        if topic in seen:
            raise InputError(
                "two packets of one task and attempt can't be one ranked list",
                index=f"packet {topic}",
                mend="number them with attempt",
            )
        seen.add(topic)
        selected = selected_ids(packet)
        for rank, artifact in enumerate(selected, start=1):
            document = _token(artifact, "an id", f"packet {topic}")
            score = len(selected) - rank + 1
            yield f"{topic} Q0 {document} {rank} {score} {tag}\n".encode()


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def selected_ids(packet: Mapping[str, Any]) -> list[str]:
    """Return selected ids as scoring counts them, in order, each once."""
    found = _texts(packet.get("selected_artifacts"))
    rows = packet.get("selected_rows")
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, Mapping):
            if row.get("kind_id") and row.get("row_id"):
                found.append(f"{row['kind_id']}:{row['row_id']}")
            found += _texts(row.get("artifact_ids"))
    return [one for one in dict.fromkeys(found) if one.strip()]

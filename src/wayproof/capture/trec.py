"""TREC qrels and run files: relevance judgments and ranked lists, in and out.

Read as pytrec_eval reads them: columns are parted by white space, the rank column is
ignored, and a document is judged or retrieved once for a topic. Ranked as trec_eval ranks:
by score in single precision, highest first; equal scores by document id, the bytes of the
last one first.
"""

import math
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from wayproof.capture.lines import Source
from wayproof.errors import InputError

__all__ = [
    "Judged",
    "looks_like_qrels",
    "looks_like_run",
    "qrels_lines",
    "ranked",
    "read_qrels",
    "read_run",
    "run_lines",
    "single_precision",
    "task_from_judgments",
]

_INTEGER = re.compile(r"[+-]?\d{1,9}")


class Judged(msgspec.Struct, frozen=True):
    """A topic's judgments in file order: document id and grade."""

    topic: str
    grades: dict[str, int]


class RankedTopic(msgspec.Struct, frozen=True):
    """A topic's ranked list, the run's tag, and its first line in the file."""

    topic: str
    documents: list[str]
    tag: str
    line: int


def _columns(text: str) -> list[str]:
    return text.split()


def _is_float(text: str) -> bool:
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False


def looks_like_run(lines: Sequence[str]) -> bool:
    """Whether most of some lines have six columns with a score in the fifth."""
    rows = [_columns(line) for line in lines]
    good = sum(len(row) == 6 and _is_float(row[4]) for row in rows)
    return good > 0 and good * 2 > len(rows)


def looks_like_qrels(lines: Sequence[str]) -> bool:
    """Whether most of some lines have four columns with a grade in the last."""
    rows = [_columns(line) for line in lines]
    good = sum(len(row) == 4 and _INTEGER.fullmatch(row[3]) is not None for row in rows)
    return good > 0 and good * 2 > len(rows)


def single_precision(score: float) -> float:
    """Round to the 32-bit float in which trec_eval compares scores."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", score))[0])
    except OverflowError:
        return math.copysign(math.inf, score)


def ranked(scores: Mapping[str, float]) -> list[str]:
    """Return document ids in trec_eval's order."""
    return sorted(
        scores, key=lambda one: (single_precision(scores[one]), one.encode()), reverse=True
    )


def _text_lines(source: Source) -> Iterator[tuple[int, str]]:
    for number, line in source.lines():
        try:
            yield number, line.decode("utf-8")
        except UnicodeDecodeError:
            source.bad(number, "not UTF-8")


def read_run(source: Source) -> list[RankedTopic]:
    """Read a run file; topics in order of appearance. Bad lines are counted."""
    scores: dict[str, dict[str, float]] = {}
    first: dict[str, tuple[int, str]] = {}
    for number, text in _text_lines(source):
        row = _columns(text)
        if len(row) != 6:
            source.bad(number, f"{len(row)} columns; a run line has 6")
        elif not _is_float(row[4]):
            source.bad(number, f"the score {row[4]!r} is not a number")
        elif row[2] in scores.get(row[0], {}):
            source.bad(number, f"document {row[2]!r} is retrieved twice for topic {row[0]!r}")
        else:
            scores.setdefault(row[0], {})[row[2]] = float(row[4])
            first.setdefault(row[0], (number, row[5]))
    return [
        RankedTopic(topic, ranked(documents), first[topic][1], first[topic][0])
        for topic, documents in scores.items()
    ]


def read_qrels(source: Source) -> list[Judged]:
    """Read a qrels file; topics in order of appearance. Bad lines are counted."""
    grades: dict[str, dict[str, int]] = {}
    for number, text in _text_lines(source):
        row = _columns(text)
        if len(row) != 4:
            source.bad(number, f"{len(row)} columns; a qrels line has 4")
        elif _INTEGER.fullmatch(row[3]) is None:
            source.bad(number, f"the grade {row[3]!r} is not a whole number")
        elif row[2] in grades.get(row[0], {}):
            source.bad(number, f"document {row[2]!r} is judged twice for topic {row[0]!r}")
        else:
            grades.setdefault(row[0], {})[row[2]] = int(row[3])
    return [Judged(topic, documents) for topic, documents in grades.items()]


def task_from_judgments(judged: Judged, *, min_relevance: int = 1) -> dict[str, Any]:
    """Return the task of a topic: it expects every document of at least this grade."""
    return {
        "task_id": judged.topic,
        "family": "trec",
        "route_type": "ranked_list",
        "expected_artifacts": [
            document for document, grade in judged.grades.items() if grade >= min_relevance
        ],
        "relevance": judged.grades,
    }


# -- export ---------------------------------------------------------------------------


def _token(text: str, what: str, place: str) -> str:
    if not text or text.split() != [text]:
        raise InputError(
            f"{what} can't stand in a TREC file",
            index=place,
            expected="non-empty text without white space",
            found=text,
            mend="columns are parted by white space; rename it before exporting",
        )
    return text


def qrels_lines(tasks: Iterable[Mapping[str, Any]]) -> Iterator[bytes]:
    """Yield qrels lines: a task's ``relevance`` grades, else each expected artifact with 1.

    Raises
    ------
    InputError
        For ids with white space, and for prefixes (``docs/*``), which qrels can't say.
    """
    for task in tasks:
        topic = _token(str(task.get("task_id") or ""), "a task id", "task")
        relevance = task.get("relevance")
        grades = dict.fromkeys(_texts(task.get("expected_artifacts")), 1)
        if isinstance(relevance, Mapping):
            grades = {key: one for key, one in relevance.items() if isinstance(one, int)}
        for artifact, grade in grades.items():
            if artifact.endswith("*"):
                raise InputError(
                    "a prefix can't be written as a relevance judgment",
                    index=f"task {topic}",
                    field="expected_artifacts",
                    found=artifact,
                    mend="list the ids it stands for",
                )
            yield f"{topic} 0 {_token(artifact, 'an id', f'task {topic}')} {grade}\n".encode()


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
        topic = _token(str(packet.get("task_id") or ""), "a task id", "packet")
        if topic in seen:
            raise InputError(
                "two packets of one task and attempt can't be one ranked list",
                index=f"packet {topic}",
                mend="number them with attempt",
            )
        seen.add(topic)
        selected = _selected(packet)
        for rank, artifact in enumerate(selected, start=1):
            document = _token(artifact, "an id", f"packet {topic}")
            score = len(selected) - rank + 1
            yield f"{topic} Q0 {document} {rank} {score} {tag}\n".encode()


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _selected(packet: Mapping[str, Any]) -> list[str]:
    """Return selected ids as scoring counts them, in order, each once."""
    found = _texts(packet.get("selected_artifacts"))
    rows = packet.get("selected_rows")
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, Mapping):
            if row.get("kind_id") and row.get("row_id"):
                found.append(f"{row['kind_id']}:{row['row_id']}")
            found += _texts(row.get("artifact_ids"))
    return list(dict.fromkeys(found))

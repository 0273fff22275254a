"""TREC qrels and run files: relevance judgments and ranked lists, in and out.

Columns are parted as trec_eval parts them, by blanks and tabs; a line with other white
space is read differently by different tools and so by us not at all. The rank column is
ignored, and a document is judged or retrieved once for a topic. Ranked as trec_eval ranks:
by score in single precision, highest first; equal scores by document id, the bytes of the
last one first. Beside TREC's own columns: BEIR's judgments and MS MARCO's ranks in three
columns, and JSON of ``{topic: {document: number}}`` as ranx writes it.
"""

import math
import re
import struct
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from wayproof.capture.lines import Source
from wayproof.errors import InputError
from wayproof.strict_json import strict_value
from wayproof.text import clip, quoted

__all__ = [
    "BEIR",
    "JSON_QRELS",
    "JSON_RUN",
    "MSMARCO",
    "QRELS",
    "RUN",
    "TRIPLES",
    "Judged",
    "Layout",
    "RankedTopic",
    "columns_of",
    "json_tables",
    "looks_like_qrels",
    "looks_like_run",
    "ranked",
    "read_qrels",
    "read_run",
    "score_of",
    "single_precision",
    "task_from_judgments",
    "whole_number",
]


class Layout(NamedTuple):
    """Which column holds what, from 0; a layout without columns is JSON."""

    title: str
    columns: int = 0
    document: int = 2
    value: int = 3
    tag: int | None = None
    has_header: bool = False
    has_ranks: bool = False


QRELS = Layout("qrels", columns=4)
RUN = Layout("a run", columns=6, value=4, tag=5)
TRIPLES = Layout("three columns of judgments", columns=3, document=1, value=2)
BEIR = TRIPLES._replace(title="BEIR's judgments", has_header=True)
MSMARCO = Layout("MS MARCO's three columns", columns=3, document=1, value=2, has_ranks=True)
JSON_QRELS = Layout("JSON judgments")
JSON_RUN = Layout("a JSON run")


class Judged(msgspec.Struct, frozen=True):
    """A topic's judgments in file order: document id and grade."""

    topic: str
    grades: dict[str, int]


class RankedTopic(msgspec.Struct, frozen=True):
    """A topic's ranked list, the run's tag, and its first line in the file (JSON: 0)."""

    topic: str
    documents: list[str]
    tag: str | None
    line: int


# -- columns and numbers --------------------------------------------------------------

_GAP = re.compile(r"[ \t\v\f\r\n]+")
_ODD = re.compile(r"[^\S \t\v\f\r\n]|[\x00-\x08\x0e-\x1f\x7f-\x9f\u200b\ufeff]")
_WHOLE = re.compile(r"[+-]?[0-9]{1,9}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_INFINITY = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
_MAX_GRADE = 10**9


def columns_of(text: str) -> list[str]:
    """Split a line as trec_eval does: at blanks and tabs, and at no other white space."""
    return [part for part in _GAP.split(text) if part]


def is_one_token(text: str) -> bool:
    """Whether a text can stand in a column: something, without white space or the like."""
    return bool(text) and columns_of(text) == [text] and not _ODD.search(text)


def whole_number(text: str) -> int | None:
    """Read a grade or a rank; ``1.0`` is 1, ``0.5`` and ``x`` are none."""
    if _WHOLE.fullmatch(text):
        return int(text)
    if not _NUMBER.fullmatch(text):
        return None
    value = Decimal(text)
    if abs(value) >= _MAX_GRADE or value != value.to_integral_value():
        return None
    return int(value)


def score_of(text: str) -> float | None:
    """Read a score: a number or an infinity."""
    return float(text) if _NUMBER.fullmatch(text) or _INFINITY.fullmatch(text) else None


def looks_like_run(lines: Sequence[str]) -> bool:
    """Whether most of some lines have six columns with a score in the fifth."""
    rows = [columns_of(line) for line in lines]
    good = sum(len(row) == 6 and score_of(row[4]) is not None for row in rows)
    return good > 0 and good * 2 > len(rows)


def looks_like_qrels(lines: Sequence[str]) -> bool:
    """Whether most of some lines have four columns with a grade in the last."""
    rows = [columns_of(line) for line in lines]
    good = sum(len(row) == 4 and whole_number(row[3]) is not None for row in rows)
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


# -- import ---------------------------------------------------------------------------


def _odd(text: str) -> str | None:
    """Name a character that tools disagree about; None where there is none."""
    found = _ODD.search(text)
    if found is None:
        return None
    name = unicodedata.name(found[0], "a control character")
    return (
        f"U+{ord(found[0]):04X} ({name}) stands in the line: some tools part columns there, "
        "others read it as part of an id"
    )


def _fault(row: Sequence[str], text: str, number: int, layout: Layout) -> str | None:
    """Say why a line can't be read, as far as its columns tell."""
    odd = _odd(text)
    if odd is not None:
        return odd
    if len(row) != layout.columns:
        many = "; an id can't hold white space" if len(row) > layout.columns else ""
        return f"{len(row)} columns; {_line_of(layout)} has {layout.columns}{many}"
    value = row[layout.value]
    if number == 1 and value.isidentifier() and score_of(value) is None:
        return f"looks like a header line ({clip(' '.join(row), 80)}); remove it"
    return None


def _line_of(layout: Layout) -> str:
    return "a run line" if layout is RUN else f"a line of {layout.title}"


def _rows(source: Source, layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, columns) of each line that has its columns; count the others."""
    header = layout.has_header
    for number, line in source.lines():
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            source.bad(number, "not UTF-8")
            continue
        if header:
            header = False
            continue
        row = columns_of(text)
        fault = _fault(row, text, number, layout)
        if fault is None:
            yield number, row
        else:
            source.bad(number, fault)


def read_qrels(source: Source, layout: Layout = QRELS) -> list[Judged]:
    """Read judgments; topics in order of appearance.

    Lines that can't be read, and a second grade for a document that differs from the
    first, are counted as bad. A judgment that is merely repeated is counted as mended.
    """
    if layout is JSON_QRELS:
        return _json_qrels(source)
    grades: dict[str, dict[str, int]] = {}
    for number, row in _rows(source, layout):
        topic, document = row[0], row[layout.document]
        grade = whole_number(row[layout.value])
        documents = grades.setdefault(topic, {})
        if grade is None:
            source.bad(number, f"the grade {quoted(row[layout.value])} is not a whole number")
        elif document not in documents:
            documents[document] = grade
        elif documents[document] == grade:
            source.bad(number, f"repeats the judgment of {_pair(topic, document)}", mended=True)
        else:
            grades_said = f"{documents[document]} and {grade}"
            source.bad(number, f"{_pair(topic, document)} is judged twice, {grades_said}")
    return [Judged(topic, documents) for topic, documents in grades.items() if documents]


def read_run(source: Source, layout: Layout = RUN) -> list[RankedTopic]:
    """Read ranked lists; topics in order of appearance.

    Lines that can't be read, a document that is retrieved twice for a topic, and a rank
    that is given twice are counted as bad; the first one stands.
    """
    if layout is JSON_RUN:
        return _json_run(source)
    scores: dict[str, dict[str, float]] = {}
    ranks: dict[str, set[float]] = {}
    first: dict[str, tuple[int, str | None]] = {}
    for number, row in _rows(source, layout):
        topic, document = row[0], row[layout.document]
        score = _rank(row[layout.value]) if layout.has_ranks else score_of(row[layout.value])
        if score is None:
            what = "rank, a whole number from 1 on" if layout.has_ranks else "number"
            source.bad(number, f"the score {quoted(row[layout.value])} is not a {what}")
        elif document in scores.get(topic, {}):
            source.bad(number, f"{_pair(topic, document)} is retrieved twice")
        elif layout.has_ranks and score in ranks.setdefault(topic, set()):
            source.bad(number, f"rank {row[layout.value]} is given twice for topic {quoted(topic)}")
        else:
            scores.setdefault(topic, {})[document] = score
            if layout.has_ranks:
                ranks[topic].add(score)
            first.setdefault(topic, (number, None if layout.tag is None else row[layout.tag]))
    return [
        RankedTopic(topic, ranked(documents), first[topic][1], first[topic][0])
        for topic, documents in scores.items()
    ]


def _rank(text: str) -> float | None:
    """Return a rank as a score: a lower rank scores higher."""
    rank = whole_number(text)
    return None if rank is None or rank < 1 else float(-rank)


def _pair(topic: str, document: str) -> str:
    return f"document {quoted(document)} of topic {quoted(topic)}"


# -- JSON -----------------------------------------------------------------------------


def json_tables(source: Source) -> dict[str, dict[str, float]]:
    """Read ``{topic: {document: number}}``, strictly.

    Raises
    ------
    InputError
        For anything else; duplicate keys, NaN and texts in place of numbers included.
    """
    with source.open() as file:
        data = file.read()
    try:
        value = strict_value(data)
    except InputError as error:
        raise error.at(file=source.name) from None
    if not isinstance(value, dict):
        raise _not_tables(source, None, value)
    for topic, documents in value.items():
        if not isinstance(documents, dict):
            raise _not_tables(source, quoted(topic), documents)
        for document, number in documents.items():
            if isinstance(number, bool) or not isinstance(number, (int, float)):
                raise _not_tables(source, _pair(topic, document), number)
            _json_id(source, topic)
            _json_id(source, document)
    return value


def _not_tables(source: Source, index: str | None, found: Any) -> InputError:
    return InputError(
        "not TREC's judgments or run as JSON",
        file=source.name,
        index=index,
        expected="{topic: {document: grade or score}}",
        found=quoted(found),
    )


def _json_id(source: Source, text: str) -> None:
    """Refuse ids that TREC's columns could not hold: they would match nothing there."""
    if not is_one_token(text):
        raise InputError(
            "an id must be text without white space", file=source.name, found=quoted(text)
        )


def _json_qrels(source: Source) -> list[Judged]:
    judged: list[Judged] = []
    for topic, documents in json_tables(source).items():
        grades: dict[str, int] = {}
        for document, number in documents.items():
            if number != int(number) or abs(number) >= _MAX_GRADE:
                what = f"the grade {number} of {_pair(topic, document)} is not a whole number"
                source.bad(0, what)
            else:
                grades[document] = int(number)
        judged.append(Judged(topic, grades))
    return judged


def _json_run(source: Source) -> list[RankedTopic]:
    return [
        RankedTopic(topic, ranked(scores), None, 0) for topic, scores in json_tables(source).items()
    ]


# -- tasks ----------------------------------------------------------------------------


def task_from_judgments(judged: Judged, *, min_relevance: int = 1) -> dict[str, Any]:
    """Return the task of a topic: it expects every document of at least this grade.

    A document id that ends in ``*`` means itself: ``literal_ids`` says so, since in a task
    written by hand such an id is a prefix.
    """
    expected = [document for document, grade in judged.grades.items() if grade >= min_relevance]
    literal = [document for document in judged.grades if document.endswith("*")]
    task: dict[str, Any] = {
        "task_id": judged.topic,
        "family": "trec",
        "route_type": "ranked_list",
        "expected_artifacts": expected,
    }
    return task | ({"literal_ids": literal} if literal else {}) | {"relevance": judged.grades}

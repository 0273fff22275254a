"""Which of the files are judgments and which are ranked lists, and in which columns.

Told from the content. Three columns without a header, JSON of whole numbers and an empty
file can be either: such a file is what the others leave open, and that is said; where they
leave both open it is refused, and the user says which it is.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import msgspec

from wayproof.capture.lines import Problems, Source
from wayproof.capture.trec import (
    BEIR,
    JSON_QRELS,
    JSON_RUN,
    MSMARCO,
    QRELS,
    RUN,
    TRIPLES,
    Layout,
    columns_of,
    json_tables,
    score_of,
    whole_number,
)
from wayproof.errors import InputError
from wayproof.text import clip, quoted

__all__ = ["Placed", "Role", "place"]

Role = Literal["qrels", "run"]
_HEAD_LINES = 1000
_MEND = "say which it is with {qrels} or {run}"


class Placed(msgspec.Struct, frozen=True):
    """A file, what it is, and how that was told where its content leaves both open."""

    source: Source
    role: Role
    layout: Layout
    assumed: str | None = None


class _Open(msgspec.Struct, frozen=True):
    """What a file can be by its content, and what it is where nothing else says."""

    source: Source
    layouts: dict[Role, Layout]
    why: str = ""
    usual: Role | None = None

    @property
    def is_empty(self) -> bool:
        return self.why == _EMPTY


_EMPTY = "an empty file"


def place(files: Sequence[tuple[Source, Role | None]]) -> list[Placed]:
    """Say of each file whether it holds judgments or ranked lists.

    Parameters
    ----------
    files
        Each file, and what the user says that it is (None: not said).

    Raises
    ------
    InputError
        For a file that is neither, that can be both, or that isn't what the user says.
    """
    told = [_said(_open(source), role) for source, role in files]
    roles: set[Role] = {role for one in told if len(one.layouts) == 1 for role in one.layouts}
    unsure = [one for one in told if len(one.layouts) > 1 and not one.is_empty]
    left_open: Role | None = None
    if unsure:
        left_open = _what_is_left(unsure, roles)
        roles.add(left_open)
    if "qrels" not in roles:
        for one in told:
            if one.is_empty and len(one.layouts) > 1:
                raise _either(one)
    return [_placed(one, left_open) for one in told]


def _what_is_left(unsure: Sequence[_Open], roles: set[Role]) -> Role:
    first = unsure[0]
    if len(unsure) == 1 and len(roles) == 1:
        return "run" if "qrels" in roles else "qrels"
    if len(unsure) == 1 and not roles and first.usual is not None:
        return first.usual
    raise _either(unsure[-1])


def _either(one: _Open) -> InputError:
    return InputError(
        f"{one.why}, which can be judgments as well as a run", file=one.source.name, mend=_MEND
    )


def _placed(one: _Open, left_open: Role | None) -> Placed:
    if len(one.layouts) == 1:
        ((role, layout),) = one.layouts.items()
        return Placed(one.source, role, layout)
    if one.is_empty:
        return Placed(one.source, "run", RUN, "an empty file: read as a run that found nothing")
    role = left_open or "run"
    layout = one.layouts[role]
    return Placed(one.source, role, layout, f"{one.why}: read as {layout.title}")


def _said(one: _Open, role: Role | None) -> _Open:
    if role is None:
        return one
    if role == "run" and one.layouts.get("qrels") == TRIPLES:
        return msgspec.structs.replace(one, layouts={"run": MSMARCO})  # ranks in any order
    if role not in one.layouts:
        (other,) = one.layouts.values()
        raise InputError(
            "isn't what it is said to be",
            file=one.source.name,
            field=f"--{role}",
            found=other.title,
        )
    return msgspec.structs.replace(one, layouts={role: one.layouts[role]})


# -- one file -------------------------------------------------------------------------


def _open(source: Source) -> _Open:
    lines = _head(source)
    if not lines:
        return _Open(source, {"qrels": QRELS, "run": RUN}, _EMPTY)
    if lines[0].lstrip().startswith("{"):
        return _json(source)
    rows = [columns_of(line) for line in lines]
    widths = Counter(map(len, rows))
    width = max((QRELS.columns, RUN.columns, TRIPLES.columns), key=lambda one: widths[one])
    if widths[width] * 2 < len(rows):
        raise _neither(source, rows)
    shaped = [row for row in rows if len(row) == width]
    if width == RUN.columns:
        return _Open(source, {"run": RUN})
    return _four(source, shaped) if width == QRELS.columns else _three(source, shaped)


def _head(source: Source) -> list[str]:
    """Return the first lines; problems met here are counted when the file is read."""
    lines: list[str] = []
    for _, line in Source(source.path, name=source.name, problems=Problems()).lines():
        lines.append(line.decode("utf-8", "replace"))
        if len(lines) >= _HEAD_LINES:
            break
    return lines


def _json(source: Source) -> _Open:
    numbers = [one for row in json_tables(source).values() for one in row.values()]
    if any(one != int(one) for one in numbers):
        return _Open(source, {"run": JSON_RUN})
    both: dict[Role, Layout] = {"qrels": JSON_QRELS, "run": JSON_RUN}
    whole = all(isinstance(one, int) for one in numbers)
    return _Open(source, both, "JSON of whole numbers", "qrels" if whole else None)


def _four(source: Source, rows: Sequence[Sequence[str]]) -> _Open:
    grades = sum(whole_number(row[3]) is not None for row in rows)
    scores = sum(score_of(row[3]) is not None for row in rows) - grades
    if scores > grades:
        raise InputError(
            "four columns that end in scores are neither qrels nor a run",
            file=source.name,
            found=clip(" ".join(rows[0]), 200),
            mend="topic, document, rank and score become a run so: "
            """awk '{print $1, "Q0", $2, $3, $4, "run"}' FILE""",
        )
    return _Open(source, {"qrels": QRELS})


_GRADES = {"score", "relevance", "rel", "grade", "label", "judgment", "judgement", "qrel"}
_RANKS = {"rank", "ranking"}
_TOPICS = {"query", "queryid", "qid", "topic", "topicid"}
_DOCUMENTS = {"corpusid", "doc", "docid", "docno", "document", "documentid", "passageid", "pid"}


def _refuse_turned_columns(source: Source, header: Sequence[str]) -> None:
    """Refuse a header that puts documents first: each would be read as a topic."""
    first, second = (name.lower().replace("-", "").replace("_", "") for name in header[:2])
    if first in _DOCUMENTS or second in _TOPICS:
        raise InputError(
            "columns in another order",
            file=source.name,
            expected="the topic first, then the document",
            found=clip(" ".join(header), 200),
            mend="turn them so: awk -v OFS='\\t' '{print $2, $1, $3}' FILE",
        )


def _three(source: Source, rows: Sequence[Sequence[str]]) -> _Open:
    named = rows[0][2].lower()
    if named in _GRADES or named in _RANKS:
        _refuse_turned_columns(source, rows[0])
    if named in _GRADES:
        return _Open(source, {"qrels": BEIR})
    if named in _RANKS:
        return _Open(source, {"run": MSMARCO._replace(has_header=True)})
    values = [row[2] for row in rows]
    whole = [one for one in map(whole_number, values) if one is not None]
    scores = sum(score_of(one) is not None for one in values) - len(whole)
    if scores > len(whole):
        raise InputError(
            "three columns that end in scores are neither judgments nor MS MARCO's ranks",
            file=source.name,
            found=clip(" ".join(rows[0]), 200),
            mend="topic, document and score become a run so: "
            """awk '{print $1, "Q0", $2, 0, $3, "run"}' FILE""",
        )
    if _are_ranks(rows):
        why = "three columns without a header"
        return _Open(source, {"qrels": TRIPLES, "run": MSMARCO}, why)
    return _Open(source, {"qrels": TRIPLES})


def _are_ranks(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the last column rises within each topic, from 1 on."""
    last: dict[str, int] = {}
    for topic, _, value in rows:
        rank = whole_number(value)
        if rank is None or rank <= last.get(topic, 0):
            return False
        last[topic] = rank
    return True


def _neither(source: Source, rows: Sequence[Sequence[str]]) -> InputError:
    widths = Counter(map(len, rows))
    most = max(widths, key=lambda width: widths[width])
    return InputError(
        "neither qrels nor a run",
        file=source.name,
        expected="lines of 4 columns (topic 0 document grade) or of 6 "
        "(topic Q0 document rank score tag); BEIR's or MS MARCO's 3; "
        "JSON of {topic: {document: number}}",
        found=f"{most} columns in most lines, the first being {quoted(' '.join(rows[0]))}",
    )

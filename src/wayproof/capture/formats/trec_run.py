"""TREC run files: a ranked list is a packet without a command."""

from collections.abc import Iterable

from wayproof.capture.adapter import Format, Head
from wayproof.capture.lines import Source
from wayproof.capture.sessions import Sessions
from wayproof.capture.trec import RankedTopic, looks_like_run, read_run

__all__ = ["FORMAT", "claims", "hand_over", "read"]

FORMAT = Format(
    name="trec-run",
    title="TREC run",
    files="run files: topic Q0 document rank score tag",
    versions="six columns, as trec_eval reads them",
    sampled="undated",
    detected_by="lines of six columns with a number in the fifth",
    fields={
        "first_contact": "unknown",
        "selected": "native",
        "cwd": "unknown",
        "wall_ms": "unknown",
        "elapsed_ms": "unknown",
        "error": "unknown",
        "timed_out": "unknown",
        "prompt": "unknown",
        "subagent": "unknown",
        "version": "unknown",
    },
    limits=(
        "A ranked list has no command: first contact is null (ranked_list).",
        "MS MARCO's three columns and JSON are read by TREC import.",
    ),
)


def claims(head: Head) -> bool:
    """Text in six columns."""
    return head.kind == "text" and looks_like_run(head.text)


def read(source: Source, sessions: Sessions) -> None:
    """Hand over a session without events for each topic."""
    hand_over(read_run(source), source, sessions)


def hand_over(topics: Iterable[RankedTopic], source: Source, sessions: Sessions) -> None:
    """Hand over ranked lists, in whatever columns they stood."""
    for topic in topics:
        _session(source, sessions, topic)


def _session(source: Source, sessions: Sessions, topic: RankedTopic) -> None:
    session = sessions.of(f"{source.name}\0{topic.topic}", prompts_logged=False)
    session.info.session_id = topic.topic
    session.info.part = topic.tag
    session.info.ranked = tuple(topic.documents)
    session.info.ranked_line = topic.line

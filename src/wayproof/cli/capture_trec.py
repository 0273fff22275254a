"""What ``wayproof trec import`` and ``wayproof trec export`` do."""

import argparse
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from wayproof.capture.collect import Captured, captured_by
from wayproof.capture.formats import trec_run
from wayproof.capture.lines import Problems, Source
from wayproof.capture.matching import match
from wayproof.capture.output import json_line, write_whole
from wayproof.capture.sessions import Sessions
from wayproof.capture.trec import RUN, RankedTopic, read_qrels, read_run, task_from_judgments
from wayproof.capture.trec_export import qrels_lines, run_lines, selected_ids
from wayproof.capture.trec_layout import Placed, Role, place
from wayproof.cli.capture_places import check_places
from wayproof.errors import InputError
from wayproof.text import clip, quoted

_Put = Callable[[str, Iterable[bytes]], None]
_Say = Callable[[str], None]
_MAX_NAMED = 50
_MAX_TOPICS_NAMED = 5


# -- import ---------------------------------------------------------------------------


def run_import(args: argparse.Namespace, *, put: _Put, say: _Say) -> int:
    """Judgments become tasks, runs become packets."""
    files = _files(args)
    if not files:
        raise InputError("trec import needs a file", mend="wayproof trec import QRELS RUN")
    read = [("FILE", text) for text, _ in files]
    check_places(read, {"--out": args.out, "--tasks-out": args.tasks_out})
    problems = Problems()
    placed = place([(_source(text, problems), role) for text, role in files])
    _refuse_one_place(args, {one.role for one in placed})
    tasks, empty = _tasks([one for one in placed if one.role == "qrels"], args.min_relevance)
    packets = _packets([one for one in placed if one.role == "run"])
    refused = _tell_problems(problems, say, skip=args.skip_bad_lines)
    if refused is not None:
        raise refused
    for name in empty:
        raise InputError("no judgments", file=name, mend="without them nothing can be missed")
    _write(args, placed, tasks, packets, put)
    for text in _notes(placed, tasks, packets):
        say(text)
    say(
        f"{_counted(len(tasks), 'task')}, {_counted(len(packets), 'packet')}; "
        f"{_counted(problems.count, 'bad line')}"
    )
    return 2 if args.strict and problems.count else 0


def _files(args: argparse.Namespace) -> list[tuple[str, Role | None]]:
    files: list[tuple[str, Role | None]] = [(text, None) for text in args.logs]
    files += [(text, "qrels") for text in args.qrels]
    files += [(text, "run") for text in args.run]
    return files


def _source(text: str, problems: Problems) -> Source:
    path = Path(text)
    if path.exists() and not path.is_file():
        raise InputError(
            "not a regular file", file=text, mend="it is read more than once: save it first"
        )
    return Source(path, problems=problems)


def _refuse_one_place(args: argparse.Namespace, roles: set[Role]) -> None:
    if roles == {"qrels", "run"} and args.tasks_out is None:
        raise InputError(
            "tasks and packets go to two files",
            field="--tasks-out",
            mend="say --tasks-out TASKS beside --out PACKETS",
        )


def _tasks(placed: Sequence[Placed], min_relevance: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the tasks, and the files that judge nothing."""
    tasks: list[dict[str, Any]] = []
    empty: list[str] = []
    judged_in: dict[str, str] = {}
    for one in placed:
        judged = read_qrels(one.source, one.layout)
        if not judged:
            empty.append(one.source.name)
        for topic in judged:
            if topic.topic in judged_in:
                raise InputError(
                    "two qrels files judge one topic",
                    file=one.source.name,
                    index=f"topic {topic.topic}",
                    found=f"judged in {judged_in[topic.topic]}, too",
                    mend="put the judgments of a topic into one file",
                )
            judged_in[topic.topic] = one.source.name
            tasks.append(task_from_judgments(topic, min_relevance=min_relevance))
    return tasks, empty


def _packets(placed: Sequence[Placed]) -> list[dict[str, Any]]:
    captured: list[Captured] = []
    for one in placed:
        topics = read_run(one.source, one.layout)
        captured += captured_by(partial(_hand_over, topics, one.source), one.source)
    return match(captured).packets


def _hand_over(topics: Iterable[RankedTopic], source: Source, sessions: Sessions) -> str:
    trec_run.hand_over(topics, source, sessions)
    return trec_run.FORMAT.name


def _tell_problems(problems: Problems, say: _Say, *, skip: bool) -> InputError | None:
    """Name what is wrong with the files; return an error where it stops the import."""
    named = problems.named[:_MAX_NAMED]
    bad = [one for one in problems.named if not one.mended]
    if skip or not bad:
        for one in named:
            say(str(one))
        if problems.count > len(named):
            say(f"… and {_counted(problems.count - len(named), 'more bad line')}")
        return None
    first, *others = bad
    for one in others[:_MAX_NAMED]:
        say(str(one))
    return InputError(
        first.text,
        file=first.file,
        line=first.line or None,
        mend=f"nothing was written; {_counted(len(bad), 'line')} can't be read: mend the file, "
        "or pass --skip-bad-lines to go on without",
    )


def _write(
    args: argparse.Namespace,
    placed: Sequence[Placed],
    tasks: list[dict[str, Any]],
    packets: list[dict[str, Any]],
    put: _Put,
) -> None:
    has_run = any(one.role == "run" for one in placed)
    if args.tasks_out is None:
        put(args.out, map(json_line, packets if has_run else tasks))
        return
    write_whole(Path(args.tasks_out), map(json_line, tasks))
    if has_run:
        put(args.out, map(json_line, packets))


def _notes(
    placed: Sequence[Placed], tasks: Sequence[dict[str, Any]], packets: Sequence[dict[str, Any]]
) -> Iterable[str]:
    """Yield what a reader of the scores must know."""
    for one in placed:
        if one.assumed is not None:
            other = "run" if one.role == "qrels" else "qrels"
            or_else = "" if one.layout is RUN else f" (if it is not: --{other} FILE)"
            yield f"{one.source.name}: {one.assumed}{or_else}"
    nothing = [one["task_id"] for one in tasks if not one["expected_artifacts"]]
    if nothing:
        yield (
            f"{_topics(nothing)} without a relevant document: the task expects nothing, can't "
            "fail and counts in no share"
        )
    if not tasks or not any(one.role == "run" for one in placed):
        return
    judged = {one["task_id"] for one in tasks}
    listed = {one["task_id"]: None for one in packets}
    missed = [one["task_id"] for one in tasks if one["task_id"] not in listed]
    if missed:
        yield f"{_topics(missed)} without a ranked list: scored as missed"
    unjudged = [topic for topic in listed if topic not in judged]
    if unjudged:
        yield (
            f"{_topics(unjudged)} without judgments: trec_eval passes it over, and so does "
            "score with --ignore-unknown"
        )


def _topics(topics: Sequence[str]) -> str:
    shown = ", ".join(quoted(clip(one, 80)) for one in topics[:_MAX_TOPICS_NAMED])
    more = len(topics) - _MAX_TOPICS_NAMED
    return f"{_counted(len(topics), 'topic')} ({shown}{f' and {more} more' if more > 0 else ''})"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


# -- export ---------------------------------------------------------------------------


def run_export(args: argparse.Namespace, *, put: _Put, say: _Say) -> int:
    """Tasks become qrels, packets a run; which is which is told by their keys."""
    if len(args.logs) != 1:
        raise InputError("trec export takes one file", mend="wayproof trec export FILE")
    check_places([("FILE", text) for text in args.logs], {"--out": args.out})
    records = list(_records(Path(args.logs[0])))
    tasks = [one for one in records if "expected_artifacts" in one]
    if tasks and len(tasks) != len(records):
        raise InputError("tasks and packets in one file", file=args.logs[0])
    lines = list(qrels_lines(tasks) if tasks else run_lines(records, attempt=args.attempt))
    put(args.out, lines)
    for text in _left_out(tasks, records, lines, args.attempt):
        say(text)
    say(f"{_counted(len(lines), 'line')} of {'qrels' if tasks else 'a run'}")
    return 0


def _left_out(
    tasks: Sequence[dict[str, Any]],
    records: Sequence[dict[str, Any]],
    lines: Sequence[bytes],
    attempt: int,
) -> Iterable[str]:
    """Yield what has no line in the columns, since nobody would miss it there."""
    if tasks:
        said = {line.split(b" ", 1)[0].decode() for line in lines}
        silent = [one["task_id"] for one in tasks if one["task_id"] not in said]
        if silent:
            yield f"{_topics(silent)} that judge nothing have no line"
        return
    asked = [one for one in records if (one.get("attempt") or 1) == attempt]
    if len(asked) < len(records):
        yield f"{_counted(len(records) - len(asked), 'packet')} of other attempts left out"
    silent = [one["task_id"] for one in asked if not selected_ids(one)]
    if silent:
        yield f"{_topics(silent)} that select nothing have no line"


def _records(path: Path) -> Iterable[dict[str, Any]]:
    source = Source(path, problems=Problems())
    for number, line in source.lines():
        try:
            yield msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(
                "not a task or a packet", file=str(path), line=number, found=str(error)
            ) from None

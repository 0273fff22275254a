"""``wayproof capture trec-import`` and ``trec-export``."""

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from wayproof.capture.adapter import head_of
from wayproof.capture.collect import capture_file
from wayproof.capture.lines import Problems, Source
from wayproof.capture.matching import match
from wayproof.capture.output import json_line, write_whole
from wayproof.capture.trec import (
    looks_like_qrels,
    looks_like_run,
    qrels_lines,
    read_qrels,
    run_lines,
    task_from_judgments,
)
from wayproof.cli.capture_places import check_places
from wayproof.errors import InputError

_Put = Callable[[str, Iterable[bytes]], None]
_Say = Callable[[str], None]


def run_import(args: argparse.Namespace, *, put: _Put, say: _Say) -> int:
    """Qrels become tasks, runs become packets; which is which is told by the columns."""
    if not args.logs:
        raise InputError("trec-import needs a file", mend="wayproof capture trec-import QRELS RUN")
    check_places(_logs(args), {"--out": args.out, "--tasks-out": args.tasks_out})
    problems = Problems()
    tasks: list[dict[str, Any]] = []
    captured: list[Any] = []
    kinds: set[str] = set()
    for text in args.logs:
        source = Source(Path(text), problems=problems)
        kind = _kind(source)
        kinds.add(kind)
        if kind == "qrels":
            judged = read_qrels(source)
            tasks += [task_from_judgments(one, min_relevance=args.min_relevance) for one in judged]
        else:
            captured += capture_file(Path(text), problems=problems, format_name="trec-run")
    packets = match(captured).packets
    _once(tasks)
    if kinds == {"qrels", "run"} and args.tasks_out is None:
        raise InputError(
            "tasks and packets go to two files",
            field="--tasks-out",
            mend="say --tasks-out TASKS beside --out PACKETS",
        )
    if not args.strict or not problems.count:
        if args.tasks_out is not None:
            write_whole(Path(args.tasks_out), map(json_line, tasks))
            put(args.out, map(json_line, packets)) if "run" in kinds else None
        else:
            put(args.out, map(json_line, tasks or packets))
    for problem in problems.named[:50]:
        say(str(problem))
    say(f"{len(tasks)} tasks, {len(packets)} packets; {problems.count} bad lines")
    return 2 if args.strict and problems.count else 0


def _logs(args: argparse.Namespace) -> list[tuple[str, str]]:
    return [("FILE", text) for text in args.logs]


def _kind(source: Source) -> str:
    head = head_of(source)
    if head.kind == "text" and looks_like_qrels(head.text):
        return "qrels"
    if head.kind == "text" and looks_like_run(head.text):
        return "run"
    raise InputError(
        "neither qrels nor a run",
        file=source.name,
        expected="lines of 4 columns (topic 0 document grade) or of 6 "
        "(topic Q0 document rank score tag)",
    )


def _once(tasks: list[dict[str, Any]]) -> None:
    seen: set[str] = set()
    for task in tasks:
        if task["task_id"] in seen:
            raise InputError("two qrels files judge one topic", index=f"topic {task['task_id']}")
        seen.add(task["task_id"])


def run_export(args: argparse.Namespace, *, put: _Put, say: _Say) -> int:
    """Tasks become qrels, packets a run; which is which is told by their keys."""
    if len(args.logs) != 1:
        raise InputError("trec-export takes one file", mend="wayproof capture trec-export FILE")
    check_places(_logs(args), {"--out": args.out})
    records = list(_records(Path(args.logs[0])))
    tasks = [one for one in records if "expected_artifacts" in one]
    if tasks and len(tasks) != len(records):
        raise InputError("tasks and packets in one file", file=args.logs[0])
    lines = list(qrels_lines(tasks) if tasks else run_lines(records, attempt=args.attempt))
    put(args.out, lines)
    say(f"{len(lines)} lines of {'qrels' if tasks else 'a run'}")
    return 0


def _records(path: Path) -> Iterable[dict[str, Any]]:
    source = Source(path, problems=Problems())
    for number, line in source.lines():
        try:
            yield msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(
                "not a task or a packet", file=str(path), line=number, found=str(error)
            ) from None

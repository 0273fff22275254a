"""``wayproof fitness``: score captured packets against typed tasks."""

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wayproof.cli import CommandParser, parse, run_safely, say, write_json
from wayproof.parallel import ENGINES

if TYPE_CHECKING:
    from wayproof.fitness.gates import Gate
    from wayproof.fitness.score import ScoreRequest

__all__ = ["add_gates", "build_parser", "configure", "gates_of", "main", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands and their arguments."""
    actions = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="action", required=True
    )
    _configure_benchmark(
        actions.add_parser(
            "evaluate-benchmark",
            help="score one benchmark document",
            description="Score one benchmark document: {suite, cases: [{task, packet}]}.",
        )
    )
    _configure_fixtures(
        actions.add_parser(
            "evaluate-fixtures",
            help="hold a folder of cases against their expectations",
            description="Run every case file of a folder and hold it against what it expects. "
            "Nothing is written.",
        )
    )
    _configure_export(
        actions.add_parser(
            "export-cases",
            help="write the tasks and packets of case files as separate files",
            description="Take tasks and packets out of a folder of cases and write them as "
            "tasks.jsonl and packets.jsonl: a start for scoring, and for files of your own.",
        )
    )
    _configure_score(
        actions.add_parser(
            "score",
            help="score a packets file against a tasks file",
            description="Join tasks and packets (JSON Lines, plain or gzip) by task_id, score "
            "each pair, and write a bundle. A task without packet is scored as route_error.",
        )
    )


def _add_case_source(parser: argparse.ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--input", metavar="DIR", type=Path, help="folder of case files (*.json, subfolders too)"
    )
    source.add_argument(
        "--builtin", action="store_true", help="the four public cases that ship with wayproof"
    )


def _configure_export(parser: argparse.ArgumentParser) -> None:
    _add_case_source(parser)
    parser.add_argument(
        "--out", metavar="DIR", type=Path, required=True, help="folder for both files"
    )


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the data alone, as JSON")


def _configure_benchmark(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--benchmark", metavar="FILE", type=Path, required=True, help="the document ('-': stdin)"
    )
    _add_json(parser)


def _configure_fixtures(parser: argparse.ArgumentParser) -> None:
    from wayproof.cli.output_formats import add_format_option

    _add_case_source(parser)
    add_format_option(parser)
    _add_json(parser)


def _configure_score(parser: argparse.ArgumentParser) -> None:
    from wayproof.cli.measure_options import add_measure_options
    from wayproof.cli.output_formats import add_format_option
    from wayproof.cli.settings_file import add_settings_options

    parser.add_argument(
        "--tasks",
        metavar="T",
        type=Path,
        required=True,
        help="tasks file, a task a line ('-': stdin)",
    )
    parser.add_argument(
        "--packets",
        metavar="P",
        type=Path,
        required=True,
        help="packets file, a packet a line ('-': stdin)",
    )
    parser.add_argument(
        "--out", metavar="DIR", type=Path, help="folder for the bundle (none: nothing is written)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace an existing bundle")
    parser.add_argument(
        "--suite", metavar="NAME", help="name that the summary carries (default: the tasks file's)"
    )
    parser.add_argument(
        "--require-filled",
        action="store_true",
        help="refuse unfilled drafts among the tasks, instead of setting them aside",
    )
    parser.add_argument(
        "--ignore-unknown",
        action="store_true",
        help="set packets without task aside and count them, instead of refusing them",
    )
    parser.add_argument(
        "--summary-only", action="store_true", help="write no results.jsonl and debts.jsonl"
    )
    parser.add_argument(
        "--processes",
        metavar="N",
        type=process_count,
        help="share the work; the bytes stay the same (default: 1, or one a processor for "
        "packets of 64 MiB and more)",
    )
    parser.add_argument(
        "--backend",
        choices=ENGINES,
        help="where the work is done: processes of this machine (local, the default), Ray or Dask "
        "(extras); workers read the packets and write beside --out, so they need one disk",
    )
    parser.add_argument(
        "--shard",
        metavar="i/N",
        help="score the i-th of N shares of the packets into a part, for `wayproof merge`",
    )
    add_measure_options(parser)
    add_format_option(parser)
    add_gates(parser)
    add_settings_options(parser)
    _add_json(parser)


def add_gates(parser: argparse.ArgumentParser) -> Any:
    """Declare the gates of one result; return their group."""
    gates = parser.add_argument_group("gates", "exit 1 when one fails, each on a line of its own")
    gates.add_argument(
        "--min-sufficient",
        metavar="RATE",
        help="share of sufficient results, of those that could fail",
    )
    gates.add_argument(
        "--min-sufficient-tasks",
        metavar="RATE",
        help="the same share, averaged within each task first: each task counts once",
    )
    gates.add_argument(
        "--max-debts",
        metavar="CLASS=N",
        action="append",
        default=[],
        help="sufficiency=N or latency=N; may be repeated",
    )
    gates.add_argument("--max-p95-ms", metavar="N", help="95th percentile of the wall times")
    gates.add_argument("--max-unmeasured", metavar="N", help="results without wall time")
    gates.add_argument(
        "--must-pass",
        metavar="FILE|GLOB",
        action="append",
        default=[],
        help="tasks that must be sufficient: a file of ids, or a pattern; may be repeated",
    )
    return gates


def process_count(text: str) -> int:
    """Read ``--processes``: a whole number from 1 to the pool's maximum."""
    from wayproof.parallel.backend import MAX_PROCESSES

    is_short = text.isascii() and text.isdecimal() and len(text) <= 4
    if not is_short or not 1 <= int(text) <= MAX_PROCESSES:
        msg = f"expected a whole number from 1 to {MAX_PROCESSES}, found {text!r}"
        raise argparse.ArgumentTypeError(msg)
    return int(text)


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of ``python -m wayproof.fitness``."""
    parser = CommandParser(
        prog="wayproof fitness", description="Score captured route packets against typed tasks."
    )
    configure(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a fitness command and return its exit status."""

    def command() -> int:
        args = parse(build_parser(), sys.argv[1:] if argv is None else argv)
        return args if isinstance(args, int) else run(args)

    return run_safely(command)


def run(args: argparse.Namespace) -> int:
    """Run the chosen subcommand."""
    if args.action == "evaluate-benchmark":
        return _evaluate_benchmark(args)
    if args.action == "evaluate-fixtures":
        return _evaluate_fixtures(args)
    if args.action == "export-cases":
        return _export_cases(args)
    return _score(args)


def _status(document: dict[str, Any]) -> int:
    return 0 if document["status"] == "pass" else 1


def _evaluate_benchmark(args: argparse.Namespace) -> int:
    from wayproof.errors import InputError
    from wayproof.fitness import evaluate_benchmark
    from wayproof.lines import shown_name
    from wayproof.strict_json import read_document

    document = read_document(args.benchmark)
    try:
        result = evaluate_benchmark(document)
    except InputError as error:
        raise error.at(file=shown_name(args.benchmark)) from None
    if args.json:
        write_json(result)
    else:
        from wayproof.cli import fitness_tables as tables

        tables.print_suite(result, tables.matrix_of(result["task_results"]))
        tables.print_debts(result["debt_candidates"])
        tables.print_contacts(tables.contacts_of(result["task_results"]))
        tables.print_twins(tables.missed_of(result["task_results"]))
        tables.print_limits()
        tables.print_origins(_origins(document))
        tables.print_unknown_keys(_unknown_keys(document))
    return _status(result)


def _origins(document: dict[str, Any]) -> Counter[str]:
    """Count where a benchmark document's expectations are from, where its tasks say so."""
    from wayproof.fitness.task import expected_from

    found = (expected_from(case["task"]) for case in document["cases"])
    return Counter(origin for origin in found if origin is not None)


def _unknown_keys(document: dict[str, Any]) -> Counter[str]:
    """Count the keys of a benchmark document's tasks that scoring doesn't know."""
    from wayproof.fitness.task import unknown_keys

    return Counter(key for case in document["cases"] for key in unknown_keys(case["task"]))


def _evaluate_fixtures(args: argparse.Namespace) -> int:
    from wayproof.cli.output_formats import read_formats, write_formats
    from wayproof.fitness import evaluate_fixture_dir

    folder = _case_folder(args)
    cases = [("--input", str(path)) for path in folder.rglob("*.json")] if args.format else []
    formats = read_formats(args.format, cases)
    result = evaluate_fixture_dir(folder)
    is_document = write_formats(formats, result)
    if args.json:
        write_json(result)
    elif not is_document:
        from wayproof.cli import fitness_tables as tables

        tables.print_cases(result)
    return _status(result)


def _export_cases(args: argparse.Namespace) -> int:
    from wayproof.fitness.cases import export_cases
    from wayproof.starter import write_line_files
    from wayproof.text import harmless

    tasks, packets = export_cases(_case_folder(args))
    for path in write_line_files(args.out, {"tasks.jsonl": tasks, "packets.jsonl": packets}):
        print(harmless(str(path)))
    return 0


def _case_folder(args: argparse.Namespace) -> Path:
    from wayproof.fitness import builtin_case_dir

    return builtin_case_dir() if args.builtin else Path(args.input)


def _score(args: argparse.Namespace) -> int:
    from contextlib import ExitStack

    from wayproof.bundles.written import written_places
    from wayproof.cli.measure_options import measure_names, must_pass_lines
    from wayproof.cli.output_formats import read_formats, write_formats
    from wayproof.cli.settings_file import apply_settings
    from wayproof.evidence.fitness_names import RESULTS_NAME
    from wayproof.fitness.gates import check_gates
    from wayproof.fitness.inputs import default_processes
    from wayproof.fitness.score import ScoreRequest
    from wayproof.gates.must_pass import read_wanted

    if args.shard is not None:
        return _score_shard(args)
    apply_settings(args, "gates", "measures")
    read = [("--tasks", str(args.tasks)), ("--packets", str(args.packets))]
    formats = read_formats(args.format, read, [("--out", args.out)])
    gates = gates_of(args)
    wanted = read_wanted(args.must_pass)
    measures = measure_names(args.measures)
    if measures is not None:
        from wayproof.measures.values import asked_measures

        asked_measures(measures, all_topics=args.all_topics)  # refuses what it doesn't know
    request = ScoreRequest(
        tasks=args.tasks,
        packets=args.packets,
        suite=args.suite,
        processes=default_processes(args.packets) if args.processes is None else args.processes,
        ignore_unknown=args.ignore_unknown,
        summary_only=args.summary_only,
        require_filled=args.require_filled,
    )
    unknown_keys: Counter[str] = Counter()
    origins: Counter[str] = Counter()
    with ExitStack() as stack:
        out = _place_of_results(args, formats, stack)
        with _progress() as progress, ExitStack() as apart:
            if args.out is None:
                apart.enter_context(written_places())  # what is removed again is not told
            on_keys = {
                "on_unknown_keys": unknown_keys.update,
                "on_origins": origins.update,
            }
            record = _scored(args, request, out, progress, on_keys)
        verdicts = check_gates(record["summary"], gates)
        passed = [] if out is None else must_pass_lines(wanted, out)
        lines = [*(verdict.line() for verdict in verdicts), *(gate.line for gate in passed)]
        shown_gates = [verdict._asdict() for verdict in verdicts]
        shown_gates += [
            {"name": one.name, "value": one.value, "bound": one.bound, "ok": one.state == "pass"}
            for one in passed
        ]
        document = {**record, "gates": shown_gates}
        if origins:
            document["expected_from"] = dict(sorted(origins.items()))
        if measures is not None and out is not None:
            document["measures"] = _measures(args, measures, out)
        results = None if out is None or args.summary_only else out / RESULTS_NAME
        is_document = write_formats(formats, document, results=results, gates=lines)
        if args.json:
            write_json(document)
        elif not is_document:
            _print_score(args, document, out, unknown_keys)
    for line in lines:
        # Where stdout is one document the verdicts go to stderr.
        (say if args.json or is_document else print)(line)
    held = all(gate["ok"] for gate in shown_gates)
    return 1 if _status(record) or not held else 0


def _scored(
    args: argparse.Namespace,
    request: "ScoreRequest",
    out: Path | None,
    progress: Callable[[int, int], None],
    on_keys: Mapping[str, Any],
) -> dict[str, Any]:
    """Score where the work is to be done."""
    import msgspec

    from wayproof.fitness.score import score
    from wayproof.parallel.engines import engine

    is_local = args.backend in {None, "local"}
    with engine(args.backend, request.processes if is_local else args.processes) as place:
        return score(
            msgspec.structs.replace(request, processes=place.width),
            out,
            executor=place.executor,
            overwrite=args.overwrite,
            progress=progress,
            **on_keys,
        )


_OF_A_WHOLE = (
    "backend", "processes", "min_sufficient", "min_sufficient_tasks", "max_debts", "max_p95_ms",
    "max_unmeasured", "must_pass", "measures", "format", "json",
)  # fmt: skip
"""Options that speak of a whole result, or of how it is shared: a part is a share."""


def _score_shard(args: argparse.Namespace) -> int:
    from wayproof.errors import InputError
    from wayproof.fitness.parts import Shard, score_shard
    from wayproof.fitness.score import ScoreRequest
    from wayproof.text import harmless

    shard = Shard.parse(args.shard)
    if args.out is None:
        raise InputError("a part is written to a folder of its own", setting="out")
    for name in _OF_A_WHOLE:
        if getattr(args, name):
            raise InputError(
                "speaks of a whole result, and a shard writes a part",
                setting=name,
                mend="leave it out; what `wayproof merge` writes can be compared and gated",
            )
    request = ScoreRequest(
        tasks=args.tasks,
        packets=args.packets,
        suite=args.suite,
        ignore_unknown=args.ignore_unknown,
        summary_only=args.summary_only,
        require_filled=args.require_filled,
    )
    with _progress() as progress:
        part = score_shard(request, shard, args.out, overwrite=args.overwrite, progress=progress)
    print(f"part {shard.number} of {shard.shard_count}: bytes {part.start} to {part.end}")
    print(f"written: {harmless(str(args.out))}")
    return 0


def _place_of_results(args: argparse.Namespace, formats: Any, stack: Any) -> Path | None:
    """Return where results are written: to ``--out``, or for the while that they are read."""
    import tempfile

    from wayproof.errors import InputError
    from wayproof.fitness.inputs import is_small

    needed = (
        args.measures is not None or args.must_pass or any(one.name != "json" for one in formats)
    )
    if needed and args.summary_only:
        raise InputError(
            "measures, gates on tasks and formats need the results",
            setting="summary_only",
            expected="a bundle with its results",
            found="a summary only",
        )
    if args.out is not None:
        return Path(args.out)
    # The tables show what failed; of a large file only how much did.
    shown = not args.json and not formats and not args.summary_only and is_small(args.packets)
    if not needed and not shown:
        return None
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wayproof-"))) / "bundle"


def _print_score(
    args: argparse.Namespace,
    document: dict[str, Any],
    out: Path | None,
    unknown_keys: Counter[str],
) -> None:
    from wayproof.cli import fitness_tables as tables
    from wayproof.evidence.fitness_names import DEBTS_NAME, RESULTS_NAME

    tables.print_suite(document, document["sufficiency_latency_matrix"])
    for one in document.get("measures", ()):
        tables.print_measure(one)
    if out is not None and not args.summary_only:
        tables.print_debts(tables.debts_from(out / DEBTS_NAME))
        tables.print_contacts(tables.contacts_in(out / RESULTS_NAME))
        tables.print_twins(tables.missed_in(out / RESULTS_NAME))
    tables.print_limits()
    tables.print_set_aside(document)
    tables.print_origins(Counter(document.get("expected_from", {})))
    tables.print_unknown_keys(unknown_keys)
    tables.print_written(args.out)


def _measures(args: argparse.Namespace, names: Sequence[str], out: Path) -> list[dict[str, Any]]:
    from wayproof.evidence.fitness_names import RESULTS_NAME
    from wayproof.measures.means import measure_means

    means = measure_means(out / RESULTS_NAME, names, all_topics=args.all_topics)
    return [one.as_dict() for one in means]


def _progress() -> Any:
    from wayproof.cli.progress import byte_progress

    return byte_progress("scoring")


def gates_of(args: argparse.Namespace) -> "list[Gate]":
    """Read the gates of one result."""
    from wayproof.fitness.gates import Gate, parse_rate

    gates = []
    if args.min_sufficient is not None:
        gates.append(Gate("min-sufficient", parse_rate(args.min_sufficient), args.min_sufficient))
    if args.min_sufficient_tasks is not None:
        rate = parse_rate(args.min_sufficient_tasks, "min_sufficient_tasks")
        gates.append(Gate("min-sufficient-tasks", rate, args.min_sufficient_tasks))
    gates += [_debt_gate(text) for text in args.max_debts]
    if args.max_p95_ms is not None:
        gates.append(Gate("max-p95-ms", _bound("--max-p95-ms", args.max_p95_ms), args.max_p95_ms))
    if args.max_unmeasured is not None:
        gates.append(
            Gate(
                "max-unmeasured",
                _count("--max-unmeasured", args.max_unmeasured),
                args.max_unmeasured,
            )
        )
    return gates


def _debt_gate(text: str) -> "Gate":
    from wayproof.errors import InputError
    from wayproof.evidence.fitness_names import DEBT_CLASSES
    from wayproof.fitness.gates import Gate

    name, equals, bound = text.partition("=")
    debt_class = name if name.endswith("_debt") else f"{name}_debt"
    if not equals or debt_class not in DEBT_CLASSES:
        raise InputError(
            "not a bound on debts",
            field="--max-debts",
            expected="sufficiency=N or latency=N",
            found=text,
        )
    return Gate("max-debts", _count("--max-debts", bound), bound, debt_class)


def _count(option: str, text: str) -> Fraction:
    from wayproof.errors import InputError
    from wayproof.text import exact_number

    count = exact_number(text) if text.isascii() and text.isdecimal() else None
    if count is None:
        raise InputError(
            "not a count", field=option, expected="a whole number from 0", found=text or '""'
        )
    return count


def _bound(option: str, text: str) -> Fraction:
    from wayproof.errors import InputError
    from wayproof.text import exact_number

    bound = exact_number(text)
    if bound is None or bound < 0:
        raise InputError(
            "not a time", field=option, expected="milliseconds, 0 or more", found=text or '""'
        )
    return bound

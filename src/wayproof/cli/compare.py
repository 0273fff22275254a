"""``wayproof compare``: whether it got better, which debts are new, and gates on both."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wayproof.cli import say
from wayproof.cli.measure_options import (
    add_measure_options,
    measure_names,
    must_pass_lines,
    words_of,
)
from wayproof.cli.output_formats import add_format_option, read_formats, write_formats
from wayproof.cli.settings_file import add_settings_options, apply_settings

if TYPE_CHECKING:
    from wayproof.evidence.comparison_records import Comparison, GateLine, RecoveryComparison
    from wayproof.gates.must_pass import Wanted

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "bundles",
        metavar="BUNDLE",
        nargs="+",
        type=Path,
        help="BASE and NEW; with three or more, in order of time, a trend as well",
    )
    parser.add_argument(
        "--allow-different-suites",
        action="store_true",
        help="compare what both have and list the rest, instead of refusing",
    )
    parser.add_argument(
        "--cluster",
        metavar="FIELD",
        help="tasks that belong together: a field of the result, or 'task' (default: family, "
        "where every task gives one and there are at least 6, else task)",
    )
    parser.add_argument(
        "--needed",
        metavar="DIFFERENCE",
        help="say how many tasks and clusters such a difference would need",
    )
    parser.add_argument(
        "--report",
        metavar="DIR|FILE.html",
        type=Path,
        help="write the page of the comparison as well (as `wayproof report --compare` does)",
    )
    add_measure_options(parser)
    add_format_option(parser)
    add_compare_gates(parser)
    add_settings_options(parser)


def add_compare_gates(parser: argparse.ArgumentParser) -> None:
    """Declare the gates of NEW alone, and those of the difference."""
    from wayproof.cli.fitness import add_gates

    group = add_gates(parser)
    group.add_argument(
        "--fail-on",
        metavar="NAMES",
        help="new-sufficiency-debt, new-latency-debt; parted by commas",
    )
    group.add_argument(
        "--max-drop",
        metavar="MEASURE=N",
        action="append",
        default=[],
        help="how far a measure may get worse; may be repeated",
    )
    group.add_argument(
        "--undecided",
        choices=("pass", "fail"),
        help="what a gate counts as that can't be decided (default: pass)",
    )


def run(args: argparse.Namespace) -> int:
    """Compare, print, and hold against gates."""
    from wayproof.compare.bundles import compare_row
    from wayproof.errors import InputError
    from wayproof.evidence.comparison_records import RejectionComparison

    if len(args.bundles) < 2:
        raise InputError("one bundle", expected="BASE and NEW", found=str(args.bundles[0]))
    apply_settings(args, "gates", "measures")
    formats = read_formats(
        args.format,
        [("BUNDLE", str(folder)) for folder in args.bundles],
        [("--report", args.report)],
    )
    if args.report is not None:
        _check_report(args.report)
    gates = _gates(args)
    wanted = _wanted(args)
    request = _request(args)
    comparison = compare_row(args.bundles, request)
    if isinstance(comparison, RejectionComparison):
        from wayproof.cli.compare_rejections import show

        asked = bool(_gates_asked(args) or wanted or args.fail_on or args.max_drop)
        return show(comparison, formats, gates=asked, report=args.report is not None)
    lines = [*_gates_of_new(args, comparison, wanted), *_gates_of_difference(comparison, gates)]
    from msgspec.structs import replace

    comparison = replace(comparison, gates=lines)
    if args.report is not None:
        from wayproof.cli.report import write_comparison

        page = write_comparison(comparison, args.bundles, args.report, overwrite=False)
        say(f"written: {page}")
    if not write_formats(formats, comparison):
        from wayproof.cli.compare_tables import print_comparison

        print_comparison(comparison)
    for line in lines:
        # Where stdout is a document the verdicts go to stderr.
        (say if any(one.place is None for one in formats) else print)(line.line)
    return 1 if any(_fails(line, gates.undecided) for line in lines) else 0


def _gates_asked(args: argparse.Namespace) -> list[Any]:
    from wayproof.cli.fitness import gates_of

    return list(gates_of(args))


def _fails(line: "GateLine", undecided: str) -> bool:
    """Tell whether a gate's line makes the command fail."""
    return line.state == "fail" or (line.state == "undecided" and undecided == "fail")


def _request(args: argparse.Namespace) -> Any:
    from wayproof.compare.request import CompareRequest

    return CompareRequest(
        measures=measure_names(args.measures),
        cluster=args.cluster,
        allow_different_suites=args.allow_different_suites,
        all_topics=args.all_topics,
        needed=None if args.needed is None else _difference(args.needed),
    )


def _check_report(place: Path) -> None:
    """Refuse a place for the page before anything is written."""
    from wayproof.bundles.places import check_place
    from wayproof.cli.capture_places import for_option
    from wayproof.errors import OutputError

    try:
        check_place(place, overwrite=False)
    except OutputError as error:
        raise for_option(error, "--report") from None


def _wanted(args: argparse.Namespace) -> "list[Wanted]":
    from wayproof.gates.must_pass import read_wanted

    return read_wanted(args.must_pass)


def _difference(text: str) -> float:
    from wayproof.errors import InputError
    from wayproof.text import exact_number

    value = exact_number(text)
    if value is None or float(value) <= 0:
        raise InputError(
            "not a difference", field="--needed", expected="a number above 0", found=text or '""'
        )
    return float(value)


def _gates(args: argparse.Namespace) -> Any:
    from wayproof.errors import InputError
    from wayproof.gates.comparison import FAIL_ON, ComparisonGates, parse_drop

    names = () if args.fail_on is None else words_of("--fail-on", args.fail_on)
    for name in names:
        if name not in FAIL_ON:
            raise InputError(
                "not something to fail on",
                field="--fail-on",
                expected=", ".join(FAIL_ON),
                found=name,
            )
    undecided: Any = "pass" if args.undecided is None else args.undecided
    if undecided not in {"pass", "fail"}:
        raise InputError(
            "not an outcome", field="undecided", expected="pass or fail", found=undecided
        )
    return ComparisonGates(
        fail_on=tuple(dict.fromkeys(names)),
        max_drop=tuple(map(parse_drop, args.max_drop)),
        undecided=undecided,
    )


def _gates_of_new(
    args: argparse.Namespace,
    comparison: "Comparison | RecoveryComparison",
    wanted: "list[Wanted]",
) -> "list[GateLine]":
    """Hold NEW alone against the gates that ``score`` has too."""
    from wayproof.cli.fitness import gates_of
    from wayproof.evidence.comparison_records import GateLine, RecoveryComparison

    gates = gates_of(args)
    if not gates and not wanted:
        return []
    from wayproof.bundles.reader import open_bundle, read_record
    from wayproof.evidence.fitness_names import BUNDLE_KIND, RESULTS_NAME, SUMMARY_NAME
    from wayproof.fitness.gates import check_gates

    new = args.bundles[-1]
    if isinstance(comparison, RecoveryComparison):
        from wayproof.errors import InputError

        names = dict.fromkeys([gate.name for gate in gates] + ["must-pass"] * bool(wanted))
        raise InputError(
            "gates of navigation fitness, and bundles of verified recovery",
            field=", ".join(f"--{name}" for name in names),
            expected="--max-drop verified=BOUND alone",
            mend="leave them out; --no-config, where a settings file asks for them",
        )
    bundle = open_bundle(new, kind=BUNDLE_KIND)
    summary = read_record(bundle, SUMMARY_NAME, dict[str, Any])["summary"]
    if "vacuous_count" not in summary:  # of the first form
        from wayproof.measures.means import sufficiency_figures

        summary = {**summary, **sufficiency_figures(new / RESULTS_NAME)}
    lines = [
        GateLine(
            bound=verdict.bound,
            line=verdict.line(),
            name=verdict.name,
            state="pass" if verdict.ok else "fail",
            value=verdict.value,
        )
        for verdict in check_gates(summary, gates)
    ]
    return lines + must_pass_lines(wanted, new)


def _gates_of_difference(
    comparison: "Comparison | RecoveryComparison", gates: Any
) -> "list[GateLine]":
    from wayproof.gates.comparison import comparison_gates

    lines: list[GateLine] = comparison_gates(comparison, gates)
    return lines

"""Options that ``score`` and ``compare`` share: measures, and tasks that must pass."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wayproof.evidence.comparison_records import GateLine
    from wayproof.gates.must_pass import Wanted

__all__ = ["add_measure_options", "measure_names", "must_pass_lines", "words_of"]


def add_measure_options(parser: argparse.ArgumentParser) -> None:
    """Declare which measures are looked at."""
    parser.add_argument(
        "--measures",
        metavar="NAMES",
        help='such as "R@20 nDCG@10 RR AP Success@1 Judged@10 pass@3 pass^3"',
    )
    parser.add_argument(
        "--all-topics",
        action="store_true",
        help="count tasks that expect nothing as 0 in ranked measures, as trec_eval -c does",
    )


def measure_names(text: str | None) -> tuple[str, ...] | None:
    """Part the names of ``--measures``; None where none were asked for."""
    return None if text is None else words_of("--measures", text)


def words_of(option: str, text: str) -> tuple[str, ...]:
    """Part names at commas and spaces; an empty list would drop a gate without a word."""
    words = tuple(text.replace(",", " ").split())
    if not words:
        from wayproof.errors import InputError

        raise InputError("names nothing", field=option, expected="one name or more", found='""')
    return words


def must_pass_lines(wanted: "Sequence[Wanted]", folder: Path) -> "list[GateLine]":
    """Hold a bundle's results against ``--must-pass``."""
    if not wanted:
        return []
    from wayproof.evidence.fitness_names import RESULTS_NAME
    from wayproof.gates.must_pass import must_pass_gates, read_passed

    return must_pass_gates(wanted, read_passed(folder / RESULTS_NAME))

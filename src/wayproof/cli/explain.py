"""``wayproof explain FAILURE_KIND``: what a rung means and how one mends it."""

import argparse
import textwrap

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    from wayproof.evidence.explanations import EXPLANATIONS

    parser.add_argument(
        "kind",
        metavar="FAILURE_KIND",
        nargs="?",
        choices=list(EXPLANATIONS),
        help=f"one of: {', '.join(EXPLANATIONS)}; without it all are listed",
    )


def run(args: argparse.Namespace) -> int:
    """Print one explanation, or the list."""
    from wayproof.evidence.explanations import EXPLANATIONS

    if args.kind is None:
        for explanation in EXPLANATIONS.values():
            print(f"{explanation.kind:<18}{explanation.meaning}")
        return 0
    explanation = EXPLANATIONS[args.kind]
    print(explanation.kind)
    print(f"  {explanation.place}\n")
    for title, text in explanation.paragraphs:
        print(title)
        print(textwrap.fill(text, 88, initial_indent="  ", subsequent_indent="  "))
        print()
    return 0

"""``wayproof schema NAME``: the JSON Schema of a record, made from the types themselves."""

import argparse

from wayproof.cli import write_json

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    from wayproof.schemas import SCHEMAS

    parser.add_argument(
        "name", metavar="NAME", choices=list(SCHEMAS), help=f"one of: {', '.join(SCHEMAS)}"
    )


def run(args: argparse.Namespace) -> int:
    """Print one schema."""
    from wayproof.schemas import json_schema

    write_json(json_schema(args.name))
    return 0

"""``wayproof init DIR``: a task file and a packet file to start from."""

import argparse
from pathlib import Path

from wayproof.text import harmless

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("folder", metavar="DIR", type=Path, help="folder to write into")


def run(args: argparse.Namespace) -> int:
    """Write the starter files; existing ones are never touched."""
    from wayproof.starter import write_starter

    for path in write_starter(args.folder):
        print(harmless(str(path)))
    shown = harmless(str(args.folder))
    print(
        f"\nnext: wayproof fitness score --tasks {shown}/tasks.jsonl "
        f"--packets {shown}/packets.jsonl --out {shown}/scored"
    )
    return 0

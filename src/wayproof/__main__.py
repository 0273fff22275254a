"""``python -m wayproof``: hand the command line to :mod:`wayproof.cli`."""

import sys

from wayproof.cli import main


def run() -> None:
    """Run the command line and exit with its status."""
    sys.exit(main())


if __name__ == "__main__":
    run()

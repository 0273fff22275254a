"""``python -m wayproof``: hand the command line to :mod:`wayproof.cli`."""

import sys


def run() -> None:
    """Run the command line and exit with its status."""
    try:
        from wayproof.cli import main

        status = main()
    except KeyboardInterrupt:  # before the command line could see to it
        status = 130
    sys.exit(status)


if __name__ == "__main__":
    run()

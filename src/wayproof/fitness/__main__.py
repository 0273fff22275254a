"""``python -m wayproof.fitness``: the fitness commands without the umbrella."""

import sys

from wayproof.cli.fitness import main

if __name__ == "__main__":
    sys.exit(main())

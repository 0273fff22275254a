"""Starting up is quick because little is imported: counted here, timed in the benchmarks."""

import subprocess
import sys

import pytest

HEAVY = ("msgspec", "rfc8785", "rich", "jinja2", "scipy", "numpy", "concurrent.futures")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    """`wayproof --help` costs argparse and little more."""
    script = (
        "import sys\nfrom wayproof.cli import main\n"
        f"status = main({arguments!r})\n"
        f"print('HEAVY', status, [name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "HEAVY 0 []"


def test_importing_the_package_imports_nothing_heavy() -> None:
    """`import wayproof` is free."""
    script = f"import sys, wayproof; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"

"""Measure whether a report is written in twice the time of scoring, and usable in 3 s.

    python benchmarks/report_speed.py [TASKS]

Scores made-up tasks (100,000 unless said otherwise), writes their report as one file and as
a folder, and opens both in headless Chromium until the first list can be used. The same for the
page that compares them with a second run of the same tasks. Then it gives the 900-trial
reference bundle to the Explorer. Ratios and limits, all from this one run.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from wayproof.cli import main

if __package__ in {None, ""}:  # run as a script: its own folder is on the path, not the project
    sys.path.insert(0, str(Path(__file__).parents[1]))

from tools import samples
from tools.chromium import find_chromium, open_browser

DEFAULT_TASKS = 100_000
REPORT_RATIO_LIMIT = 2.0
OPEN_LIMIT_S = 3.0
CHECK_LIMIT_S = 10.0


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def quietly(*arguments: str) -> None:
    with redirect_stdout(StringIO()):
        assert main(arguments) == 0


def written(bundle: Path, out: Path) -> float:
    return seconds(lambda: quietly("report", str(bundle), "--out", str(out)))


def opened(path: Path) -> float:
    """Seconds from asking for the page until a row of its list can be clicked."""
    with open_browser() as browser:
        page = browser.new_page()

        def use() -> None:
            page.goto(path.as_uri(), wait_until="commit")
            page.click(".list-body .task", trial=True)

        return seconds(use)


def verified(explorer: Path, bundle: Path) -> float:
    """Seconds until the Explorer has verified a bundle."""
    with open_browser() as browser:
        page = browser.new_page()
        page.goto(explorer.as_uri())

        def check() -> None:
            page.set_input_files("#pick-files", [str(file) for file in bundle.iterdir()])
            page.wait_for_selector('#outcome[data-sound="true"]')

        return seconds(check)


def row(name: str, value: str, limit: str, *, holds: bool) -> None:
    print(f"| {name} | {value} | {limit} | {'yes' if holds else 'NO'} |")


def run(folder: Path, count: int) -> None:
    bundle = samples.fitness_bundle(folder, count)
    scoring = seconds(lambda: samples.scored(folder, "--overwrite"))
    print("| what | measured | limit | holds |\n|---|--:|--:|---|")
    print(f"| scoring {count:,} tasks | {scoring:.2f} s | | |")
    outs = {"one file": folder / "report.html", "a folder": folder / "report"}
    for form, out in outs.items():
        took = written(bundle, out)
        ratio = took / scoring
        row(
            f"report as {form}, {took:.2f} s ÷ scoring",
            f"{ratio:.2f} ×",
            f"{REPORT_RATIO_LIMIT:.0f} ×",
            holds=ratio <= REPORT_RATIO_LIMIT,
        )
    if find_chromium() is None:
        print("\nno chromium: opening was not measured", file=sys.stderr)
        return
    for form, out in outs.items():
        took = opened(out if out.suffix else out / "index.html")
        row(
            f"{form} usable in",
            f"{took:.2f} s",
            f"{OPEN_LIMIT_S:.0f} s",
            holds=took <= OPEN_LIMIT_S,
        )
    new = samples.worse_bundle(bundle)
    page = folder / "compare.html"
    took = seconds(
        lambda: quietly("report", "--compare", str(bundle), str(new), "--out", str(page))
    )
    print(f"| compare page written, the comparison included | {took:.2f} s | | |")
    took = opened(page)
    row(
        "compare page usable in",
        f"{took:.2f} s",
        f"{OPEN_LIMIT_S:.0f} s",
        holds=took <= OPEN_LIMIT_S,
    )
    quietly("explore", "--out", str(folder / "explorer"))
    page = folder / "explorer" / "index.html"
    size = page.stat().st_size
    row("Explorer's first paint", f"{size / 1000:.0f} kB", "300 kB", holds=size <= 300_000)
    took = verified(page, samples.recovery_bundle(folder))
    row(
        "900 trials verified in the page in",
        f"{took:.2f} s",
        f"{CHECK_LIMIT_S:.0f} s",
        holds=took <= CHECK_LIMIT_S,
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="wayproof-report-speed-") as name:
        run(Path(name), int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_TASKS)

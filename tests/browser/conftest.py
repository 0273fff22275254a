"""Headless Chromium for the tests, and what every page promises at all times."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest
from tools import samples
from tools.chromium import find_chromium, open_browser

from wayproof.cli import main

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Request

HERE = Path(__file__).parent
NO_CHROMIUM = "browser tests skipped: no chromium (Debian: apt-get install chromium)"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if find_chromium() is None:
        for item in items:
            if HERE in item.path.parents:
                item.add_marker(pytest.mark.skip(reason=NO_CHROMIUM))


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def context(browser: "Browser") -> "Iterator[BrowserContext]":
    opened = browser.new_context(viewport={"width": 1280, "height": 900}, locale="en-GB")
    yield opened
    opened.close()


class Opener(Protocol):
    def __call__(self, path: Path, *, query: str = "", ready: bool = True) -> "Page": ...


@pytest.fixture
def visit(context: "BrowserContext") -> Iterator[Opener]:
    """Open a file; afterwards no console message and no request may have been seen."""
    pages: list[Page] = []
    complaints: list[str] = []
    requests: list[str] = []

    def asked(request: "Request") -> None:
        if not request.is_navigation_request():
            requests.append(request.url)

    def opened(path: Path, *, query: str = "", ready: bool = True) -> "Page":
        page = context.new_page()
        pages.append(page)
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", asked)
        page.goto(path.resolve().as_uri() + query)
        if ready:
            page.wait_for_selector("html[data-ready]")
        return page

    yield opened
    for page in pages:
        page.close()
    assert complaints == []
    assert requests == [], "the page asked for something"


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("browser")


def report(bundle: Path, out: Path, *more: str) -> Path:
    assert main(["report", str(bundle), "--out", str(out), *more]) == 0
    return out if out.suffix else out / "index.html"


@pytest.fixture(scope="session")
def explorer(work: Path) -> Path:
    assert main(["explore", "--out", str(work / "explorer")]) == 0
    return work / "explorer" / "index.html"


@pytest.fixture(scope="session")
def recovery(work: Path) -> Path:
    return samples.recovery_bundle(work)


@pytest.fixture(scope="session")
def recovery_report(work: Path, recovery: Path) -> Path:
    return report(recovery, work / "recovery.html")


@pytest.fixture(scope="session")
def fitness(work: Path) -> Path:
    folder = work / "small"
    folder.mkdir()
    return samples.fitness_bundle(folder, 300)


@pytest.fixture(scope="session")
def fitness_report(work: Path, fitness: Path) -> Path:
    tasks, packets = (str(fitness.parent / name) for name in ("tasks.jsonl", "packets.jsonl"))
    return report(fitness, work / "fitness.html", "--tasks", tasks, "--packets", packets)


@pytest.fixture(scope="session")
def index_page(work: Path, fitness: Path, recovery: Path) -> Path:
    out = work / "both"
    assert main(["report", str(fitness), str(recovery), "--out", str(out)]) == 0
    return out / "index.html"


@pytest.fixture(scope="session")
def sides(work: Path, fitness: Path) -> tuple[Path, Path]:
    """Return two bundles over the same tasks; in the second, some packets got worse."""
    folder = work / "sides"
    folder.mkdir()
    tasks = fitness.parent / "tasks.jsonl"
    lines = (fitness.parent / "packets.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    for at, row in enumerate(rows):
        if at % 9 == 0:
            row["selected_artifacts"] = []
        if at % 11 == 0 and row["wall_ms"]:
            row["wall_ms"] *= 5
    packets = folder / "packets.jsonl"
    packets.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    out = folder / "new"
    inputs = ["--tasks", str(tasks), "--packets", str(packets)]
    assert main(["fitness", "score", *inputs, "--out", str(out)]) == 0
    return fitness, out


@pytest.fixture(scope="session")
def compare_report(work: Path, sides: tuple[Path, Path]) -> Path:
    out = work / "compare.html"
    assert main(["report", "--compare", *map(str, sides), "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="session")
def walkers(work: Path) -> tuple[Path, Path]:
    """Return the bundles of two versions of somebody's agent; the first one crashes at times."""
    return samples.walker_bundles(work)


@pytest.fixture(scope="session")
def walker_report(work: Path, walkers: tuple[Path, Path]) -> Path:
    out = work / "walkers.html"
    assert main(["report", "--compare", *map(str, walkers), "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="session")
def blocked(browser: "Browser") -> "Iterator[BrowserContext]":
    """A browser that runs no script."""
    opened = browser.new_context(
        viewport={"width": 1280, "height": 900}, locale="en-GB", java_script_enabled=False
    )
    yield opened
    opened.close()


@pytest.fixture
def still(blocked: "BrowserContext") -> "Iterator[Callable[[Path], Page]]":
    """Open a file where no script runs."""
    pages: list[Page] = []

    def opened(path: Path) -> "Page":
        page = blocked.new_page()
        pages.append(page)
        page.goto(path.resolve().as_uri())
        return page

    yield opened
    for page in pages:
        page.close()


@pytest.fixture(scope="session")
def hostile_report(work: Path) -> Path:
    folder = work / "hostile"
    folder.mkdir()
    bundle = samples.hostile_bundle(folder)
    inputs = ("--tasks", str(folder / "tasks.jsonl"), "--packets", str(folder / "packets.jsonl"))
    return report(bundle, work / "hostile.html", *inputs)

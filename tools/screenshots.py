"""Remake the screenshots of the docs, or look at every page in every form.

python tools/screenshots.py            remakes docs/images/*.png
python tools/screenshots.py --all DIR  every page whole, at 360, 768, 1280 and 1920 px, in light
and dark, in English and French, printed, without scripts and at 200 %, into DIR
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wayproof.cli import main

if __package__ in {None, ""}:  # run as a script: its own folder is on the path, not the project
    sys.path.insert(0, str(Path(__file__).parents[1]))

from tools import samples
from tools.chromium import open_browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

IMAGES = Path(__file__).parents[1] / "docs" / "images"
THEMES = ("light", "dark")
WIDTHS_PX = (360, 768, 1280, 1920)
LOCALES = {"en": "en-GB", "fr": "fr-FR"}
DOCS_SIZE_PX = (1280, 860)
PAPER_PX = 720
"""About the width of A4 between its margins."""
TASKS = 2_000


def make(command: str, *arguments: "str | Path") -> None:
    """Run wayproof, quietly."""
    with redirect_stdout(StringIO()):
        status = main([command, *map(str, arguments)])
    if status != 0:
        raise RuntimeError(f"wayproof {command}: status {status}")


def make_pages(folder: Path) -> dict[str, Path]:
    """Write one of each page."""
    before = folder / "before"
    before.mkdir()
    bundle = samples.fitness_bundle(before, TASKS)
    tasks, packets = before / "tasks.jsonl", before / "packets.jsonl"
    hostile = folder / "hostile-inputs"
    hostile.mkdir()
    pages = {name: folder / f"{name}.html" for name in ("fitness", "recovery", "hostile")}
    make("report", bundle, "--out", pages["fitness"], "--tasks", tasks, "--packets", packets)
    make("report", samples.recovery_bundle(folder), "--out", pages["recovery"])
    make("report", samples.hostile_bundle(hostile), "--out", pages["hostile"])
    make("explore", "--out", folder / "explorer")
    worse = samples.worse_bundle(bundle)
    make("report", "--compare", bundle, worse, "--out", folder / "compare.html")
    pages["compare"] = folder / "compare.html"
    walkers = samples.walker_bundles(folder)
    pages["compare-recovery"] = folder / "compare-recovery.html"
    make("report", "--compare", *walkers, "--out", pages["compare-recovery"])
    make("report", bundle, worse, folder / "wfrb-v0", walkers[1], "--out", folder / "index")
    pages["index"] = folder / "index" / "index.html"
    return {**pages, "explorer": folder / "explorer" / "index.html"}


def show_panel(page: "Page") -> None:
    """Open a result whose first command has forbidden text."""
    page.locator('.matrix a[data-kind="forbidden_route"]').first.click()
    page.click(".sort >> nth=0")
    page.locator(".list-body .task").first.click()


def show_trial(page: "Page") -> None:
    """Put a random walk on the stage, half way."""
    page.select_option("#filter-policy", label="random-walk")
    page.locator(".list-body .task").nth(2).click()
    half(page)
    page.evaluate("document.getElementById('trial').scrollIntoView()")


def half(page: "Page") -> None:
    """Stop in the middle of the trial on the stage."""
    for _ in range(int(str(page.get_attribute("#scrub", "max"))) // 2):
        page.click("#jump-forward")


def show_pair(page: "Page") -> None:
    """Let both versions of the agent go half their way."""
    half(page)
    page.evaluate("document.getElementById('trial').scrollIntoView()")


def show_walk(page: "Page") -> None:
    """Let the random walk go half its way."""
    page.check('[name="policy"][value="random-walk"]')
    half(page)
    page.evaluate("document.getElementById('watch').scrollIntoView()")


def as_opened(_: "Page") -> None:
    """Show the first screen."""


SHOTS: dict[str, tuple[str, Callable[["Page"], None]]] = {
    "fitness": ("fitness", as_opened),
    "fitness-panel": ("fitness", show_panel),
    "recovery": ("recovery", as_opened),
    "recovery-trial": ("recovery", show_trial),
    "explorer": ("explorer", show_walk),
    "compare": ("compare", as_opened),
    "compare-recovery": ("compare-recovery", show_pair),
    "index": ("index", as_opened),
}


@contextmanager
def opened(
    browser: "Browser",
    path: Path,
    *,
    theme: str,
    language: str,
    size: tuple[int, int],
    zoom: float = 1,
    scripts: bool = True,
) -> "Iterator[Page]":
    """Open a page in a theme, a language, a size and a zoom, with or without scripts."""
    context = browser.new_context(
        viewport={"width": round(size[0] / zoom), "height": round(size[1] / zoom)},
        device_scale_factor=zoom,
        color_scheme="dark" if theme == "dark" else "light",
        locale=LOCALES[language],
        reduced_motion="reduce",
        java_script_enabled=scripts,
    )
    page = context.new_page()
    page.goto(path.as_uri())
    if scripts:
        page.wait_for_selector("html[data-ready]")
    yield page
    context.close()


def docs_images(browser: "Browser", pages: dict[str, Path]) -> None:
    """Remake docs/images."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, (source, prepare) in SHOTS.items():
        for theme in THEMES:
            with opened(
                browser, pages[source], theme=theme, language="en", size=DOCS_SIZE_PX
            ) as page:
                prepare(page)
                page.screenshot(path=IMAGES / f"{name}-{theme}.png")


def every_form(browser: "Browser", pages: dict[str, Path], out: Path) -> None:
    """Every page, whole, in every form."""
    out.mkdir(parents=True, exist_ok=True)
    for name, path in pages.items():
        for theme in THEMES:
            for language in LOCALES:
                for width in WIDTHS_PX:
                    with opened(
                        browser, path, theme=theme, language=language, size=(width, 900)
                    ) as page:
                        file = out / f"{name}-{width}-{theme}-{language}.png"
                        page.screenshot(path=file, full_page=True)
        wide: dict[str, Any] = {"theme": "light", "language": "en", "size": DOCS_SIZE_PX}
        with opened(browser, path, **wide) as page:
            page.emulate_media(media="print")
            page.set_viewport_size({"width": PAPER_PX, "height": 1000})
            page.evaluate("dispatchEvent(new Event('beforeprint'))")
            page.screenshot(path=out / f"{name}-printed.png", full_page=True)
        with opened(browser, path, **wide, scripts=False) as page:
            page.screenshot(path=out / f"{name}-without-scripts.png", full_page=True)
        with opened(browser, path, **wide, zoom=2) as page:
            page.screenshot(path=out / f"{name}-200-percent.png", full_page=True)


def run() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", metavar="DIR", type=Path, help="every page in every form")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="wayproof-pages-") as name, open_browser() as browser:
        pages = make_pages(Path(name))
        if args.all is None:
            docs_images(browser, pages)
        else:
            every_form(browser, pages, args.all)


if __name__ == "__main__":
    run()

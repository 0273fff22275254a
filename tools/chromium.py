"""Headless Chromium for the browser tests and the screenshots: Debian's, nothing downloaded."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

__all__ = ["ARGUMENTS", "find_chromium", "open_browser"]

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)


def find_chromium() -> str | None:
    """Return the path of an installed Chromium, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def open_browser() -> "Iterator[Browser]":
    """Start a headless browser with a new, empty profile; both are gone afterwards.

    Raises
    ------
    FileNotFoundError
        When no Chromium is installed.
    """
    from playwright.sync_api import sync_playwright

    path = find_chromium()
    if path is None:
        raise FileNotFoundError("chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, headless=True, args=list(ARGUMENTS)
        )
        try:
            yield browser
        finally:
            browser.close()

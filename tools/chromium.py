"""Headless Chromium for the browser tests and the screenshots: Debian's, nothing downloaded."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

__all__ = ["ARGUMENTS", "find_chromium", "open_context"]

ARGUMENTS = (
    "--headless",
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
def open_context(**settings: Any) -> "Iterator[BrowserContext]":
    """Open a browser with an empty profile; it and the profile are gone afterwards.

    ``settings`` are Playwright's: ``viewport``, ``color_scheme``, ``locale``.
    """
    from playwright.sync_api import sync_playwright

    path = find_chromium()
    if path is None:
        raise FileNotFoundError("chromium is not installed")
    with tempfile.TemporaryDirectory(prefix="wayproof-chromium-") as profile:  # noqa: SIM117
        with sync_playwright() as playwright:
            context = playwright.chromium.launch_persistent_context(
                profile, executable_path=path, headless=True, args=list(ARGUMENTS), **settings
            )
            try:
                yield context
            finally:
                context.close()

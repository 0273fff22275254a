"""The Explorer's page, joined from its sources and the public sample."""

import json
from pathlib import Path
from typing import Final

from wayproof.bundles.kinds import REPORT_KIND
from wayproof.bundles.reader import open_bundle
from wayproof.errors import InputError, IntegrityError
from wayproof.web.join import join_modules
from wayproof.web.page import DataBlock, Page, merged_messages, page_parts, source_text
from wayproof.web.template import render

__all__ = ["EXPLORER_LIMITS", "SAMPLE_PATH", "explorer_page", "is_explorer"]

SAMPLE_PATH = "explorer/static/sample.json"


EXPLORER_LIMITS: Final = (
    "A distinct public sample: its paths are not logs of WFRB agents.",
    "The controls are controls, not competitive agents.",
)


def is_explorer(folder: Path) -> bool:
    """Whether a folder is an Explorer as :func:`explorer_page` makes them, and nothing else.

    Another version's page is one too; a page that somebody has edited is not.
    """
    try:
        manifest = open_bundle(folder, kind=REPORT_KIND).manifest
    except (InputError, IntegrityError, OSError):
        return False
    return set(manifest.files) == {"index.html"} and tuple(manifest.limits) == EXPLORER_LIMITS


def explorer_page() -> Page:
    """Return the whole page: it opens from disk, makes no request and needs no build."""
    sample = source_text(SAMPLE_PATH)
    messages = merged_messages(
        *(json.loads(source_text(f"{room}/static/messages.json")) for room in ("web", "explorer"))
    )
    style = "".join(
        source_text(path)
        for path in (
            "web/static/base.css",
            "web/static/board.css",
            "explorer/static/explorer.css",
        )
    )
    parts = page_parts(
        title="wayproof Explorer",
        style=style,
        script=join_modules("explorer/static/app.js", source_text),
        body=render("explorer/templates/explorer.html.j2", sample=json.loads(sample)),
        messages=messages,
        data=[DataBlock("sample", [sample.encode("utf-8")])],
    )
    return Page("index.html", parts)

"""The frame that every report page has: style, script, messages and data."""

import json
from collections.abc import Iterable

from markupsafe import Markup

from wayproof.text import harmless
from wayproof.web.join import join_modules
from wayproof.web.page import DataBlock, Page, merged_messages, page_parts, source_text

__all__ = ["framed_page"]

_STYLES = ("web/static/base.css", "web/static/board.css", "report/static/report.css")


def framed_page(
    name: str, title: str, script: str, body: Markup, data: Iterable[DataBlock]
) -> Page:
    """Put a body and its data into the frame; ``script`` names the entry module."""
    rooms = ("web", "report")
    messages = merged_messages(
        *(json.loads(source_text(f"{room}/static/messages.json")) for room in rooms)
    )
    parts = page_parts(
        title=harmless(title),
        style="".join(source_text(path) for path in _STYLES),
        script=join_modules(f"report/static/{script}.js", source_text),
        body=body,
        messages=messages,
        data=data,
    )
    return Page(name, parts)

"""One self-contained page: styles, data and script inline, each executable part by hash.

The Content-Security-Policy comes first in the head, so nothing before it can run. It
allows one style sheet and two scripts, each by its SHA-256, and nothing else: no request,
no form, no frame, no style attribute, no string turned into markup (trusted types).
Data blocks are ``application/json``: browsers never execute them.
"""

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import NamedTuple

import msgspec
from markupsafe import Markup

__all__ = [
    "DataBlock",
    "Page",
    "in_english",
    "json_in_script",
    "merged_messages",
    "page_parts",
    "source_text",
]

_UNSAFE_IN_RAW_TEXT = re.compile(r"</|<!--", re.IGNORECASE)


class DataBlock(NamedTuple):
    """JSON (or lines of JSON) that the page's script reads by ``id``."""

    id: str
    chunks: Iterable[bytes]


def source_text(path: str) -> str:
    """Read one of the package's own page sources: ``web/static/base.css``."""
    return files("wayproof").joinpath(*path.split("/")).read_text("utf-8")


def json_in_script(data: bytes) -> bytes:
    r"""Make JSON safe inside a script element.

    ``<`` occurs in JSON only inside strings, where ``\u003c`` means the same. Without it
    no text can end the element or open a comment (HTML standard, section 4.12.1.3).
    """
    return data.replace(b"<", b"\\u003c")


def _hash_source(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


_EARLY_SCRIPT = 'document.documentElement.dataset.script="true"'
"""Runs before anything is drawn, so that what stands there for viewers that block scripts
never flashes up where they run."""


def _policy(style: str, script: str) -> str:
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hash_source(_EARLY_SCRIPT)} {_hash_source(script)}",
            f"style-src {_hash_source(style)}",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _raw_text(text: str, element: str) -> str:
    found = _UNSAFE_IN_RAW_TEXT.search(text)
    if found:
        raise ValueError(f"{found[0]!r} inside an inline {element}")
    return text


class Page(NamedTuple):
    """A file to write: its name, and its bytes in parts that are made when asked for."""

    name: str
    parts: Iterable[bytes]


_TEXT = re.compile(r'data-t="([^"]+)"([^>]*)>(?=<)')
_LABEL = re.compile(r'data-t-label="([^"]+)"((?:(?!aria-label)[^>])*)aria-label=""')


def in_english(body: str, messages: Mapping[str, Mapping[str, str]]) -> str:
    """Fill the English text in, so that a page says something before (and without) its script.

    Raises
    ------
    KeyError
        For a message that doesn't exist: a fault in our sources.
    """
    filled = _TEXT.sub(lambda found: f"{found[0]}{html.escape(messages[found[1]]['en'])}", body)
    return _LABEL.sub(
        lambda found: (
            f'data-t-label="{found[1]}"{found[2]}'
            f'aria-label="{html.escape(messages[found[1]]["en"])}"'
        ),
        filled,
    )


def page_parts(
    *,
    title: str,
    style: str,
    script: str,
    body: Markup,
    messages: Mapping[str, Mapping[str, str]],
    data: Iterable[DataBlock],
) -> Iterable[bytes]:
    """Yield a whole page in parts, so that a large one is never held in memory.

    Parameters
    ----------
    title
        Plain text; escaped here.
    style, script
        Our own sources, inlined as they are.
    body
        Markup that is safe already (it comes from an auto-escaping template).
    messages
        The page's texts, key → language → text.
    data
        The page's data; ``<`` is escaped here.

    Raises
    ------
    ValueError
        When a source would end its own element: a fault in our sources.
    """
    style = _raw_text(style, "style")
    script = _raw_text(script, "script")
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">\n'
        '<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{html.escape(title)}</title>\n<style>{style}</style>\n"
        f"<script>{_EARLY_SCRIPT}</script>\n</head>\n<body>\n"
    )
    yield head.encode("utf-8")
    yield in_english(str(body), messages).encode("utf-8")
    for block in (DataBlock("messages", [msgspec.json.encode(messages)]), *data):
        opening = f'\n<script type="application/json" id="{html.escape(block.id)}">'
        yield opening.encode("ascii")
        for chunk in block.chunks:
            yield json_in_script(chunk)
        yield b"</script>"
    yield f"\n<script>{script}</script>\n</body>\n</html>\n".encode()


def merged_messages(*parts: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Join message tables: key → language → text."""
    merged: dict[str, dict[str, str]] = {}
    for part in parts:
        merged.update({key: dict(texts) for key, texts in part.items()})
    return merged

"""The wheel's description: the README without what only the repository can show."""

import re
from pathlib import Path

__all__ = ["description"]

_IMAGE = re.compile(r"^!\[[^\]]*\]\([^)]*\)\n*", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)[^)\s]+\)")
_MARK = re.compile(r"^<!--.*?-->\n", re.MULTILINE)
_CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LEFT_OUT = ("## Read more",)


def description(readme: Path) -> str:
    """Return the text: images go, relative links become their words, code stays as it is."""
    text = readme.read_text("utf-8")
    for heading in _LEFT_OUT:
        text = re.sub(rf"^{heading}\n.*?(?=^## |\Z)", "", text, flags=re.MULTILINE | re.DOTALL)
    parts = _CODE.split(text)
    plain = [part if part.startswith("```") else _plain(part) for part in parts]
    return f"{''.join(plain).rstrip()}\n\nDocumentation: `docs/` in the source distribution.\n"


def _plain(text: str) -> str:
    return _LINK.sub(r"\1", _IMAGE.sub("", _MARK.sub("", text)))

"""Small pieces of Markdown."""

from collections.abc import Iterable, Sequence


def cell(text: str) -> str:
    """Bring text into one table cell."""
    return " ".join(text.split()).replace("|", "\\|")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out a table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cell(text) for text in line)} |" for line in lines)


def sentence(text: str) -> str:
    """Begin with a capital letter and end with a full stop."""
    ending = "" if text.endswith((".", "!", "?")) else "."
    return f"{text[:1].upper()}{text[1:]}{ending}"


def anchor(heading: str) -> str:
    """Return the fragment that a heading gets (GitHub's rule)."""
    kept = [c for c in heading.lower().replace(" ", "-") if c.isalnum() or c in "-_"]
    return "".join(kept)

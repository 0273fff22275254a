"""The list of decision notes, from their headings."""

from pathlib import Path

_INTRO = """\
# Decisions

One short note for each choice that someone could want to undo: what, why, and what it costs.
A note is changed only by a later one."""


def body(folder: Path) -> str:
    """List the numbered notes of ``folder``."""
    links = [f"- [{_title(path)}]({path.name})" for path in sorted(folder.glob("[0-9]*.md"))]
    return "\n\n".join([_INTRO, "\n".join(links)])


def _title(path: Path) -> str:
    """Return the first heading."""
    lines = path.read_text("utf-8").splitlines()
    return next((line[2:].strip() for line in lines if line.startswith("# ")), path.stem)

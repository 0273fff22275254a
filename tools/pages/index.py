"""The list of all generated pages."""

from collections.abc import Mapping


def body(bodies: Mapping[str, str]) -> str:
    """List the pages by their headings; ``bodies`` has their texts by path."""
    links = [f"- [{_title(text)}]({path})" for path, text in bodies.items()]
    return "\n\n".join(["# Reference", "\n".join(links)])


def _title(text: str) -> str:
    return text.partition("\n")[0].removeprefix("# ")

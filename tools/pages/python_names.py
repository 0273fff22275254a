"""The page of the Python face, from the public names' own signatures and docstrings."""

import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from tools.pages.markdown import table

import wayproof

__all__ = ["body"]

_INTRO = """\
# Python

`import wayproof` offers these names; each is fetched when it is first asked for. Records are
frozen and have the wire names of the files. Everything raised on purpose is a `WayproofError`.
How they are used: [From Python](../python.md)."""
_TITLES = {
    "Parameters": "parameter",
    "Returns": "returns",
    "Raises": "raises",
    "Attributes": "attribute",
}
_CONSTANTS = {"FINISH": "The action that asks to end the episode: `Action(finish=True)`."}


def body() -> str:
    """Return the page: functions first, then records and errors."""
    names = [name for name in wayproof.__all__ if not name.startswith("_")]
    functions = [name for name in names if inspect.isfunction(getattr(wayproof, name))]
    others = [name for name in names if name not in functions]
    parts = [_INTRO]
    for title, listed in (("Functions", functions), ("Records, policies and errors", others)):
        parts.append(f"## {title}")
        for name in listed:
            parts += [f"### {name}", *_described(name, getattr(wayproof, name))]
    return "\n\n".join(parts)


def _described(name: str, thing: Any) -> Iterator[str]:
    if name in _CONSTANTS:
        yield _CONSTANTS[name]
        return
    if inspect.isfunction(thing):
        yield f"```text\n{_signature(name, thing)}\n```"
    yield from _sections(inspect.cleandoc(thing.__doc__ or ""))
    if inspect.isclass(thing):
        rows = [
            [f"`{own}`", _first_sentence(member)]
            for own, member in vars(thing).items()
            if not own.startswith("_") and _is_method(member)
        ]
        if rows:
            yield table(["method", "what it does"], rows)


def _is_method(member: object) -> bool:
    return inspect.isfunction(member) or isinstance(member, classmethod | staticmethod | property)


def _first_sentence(member: Any) -> str:
    text = inspect.getdoc(member) or ""
    return _plain(" ".join(text.partition("\n\n")[0].split()))


def _signature(name: str, function: Any) -> str:
    parameters = list(inspect.signature(function).parameters.values())
    words, starred = [], False
    for parameter in parameters:
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            words.append("*")
            starred = True
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        words.append(f"{parameter.name}{default}")
    call = f"wayproof.{name}({', '.join(words)})"
    indent = " " * len(f"wayproof.{name}(")
    return textwrap.fill(call, 88, subsequent_indent=indent, break_on_hyphens=False)


def _sections(text: str) -> Iterator[str]:
    """Turn a docstring of numpy's convention into paragraphs and tables."""
    parts = re.split(r"^(\w+)\n-{3,}\n", text, flags=re.MULTILINE)
    if parts[0].strip():
        yield _plain(parts[0].strip())
    for title, block in zip(parts[1::2], parts[2::2], strict=True):
        if title in _TITLES:
            yield table([_TITLES[title], "meaning"], _entries(block))
        else:
            yield f"**{title}.** {_plain(block.strip())}"


def _entries(block: str) -> Iterator[list[str]]:
    names, meaning = "", []
    for line in [*block.strip().splitlines(), "end"]:
        if line.startswith(" ") or not line:
            meaning.append(line.strip())
            continue
        if names:
            shown = ", ".join(f"`{name}`" for name in re.split(r",\s*|\s+or\s+", names))
            yield [shown, _plain(" ".join(meaning).strip())]
        names, meaning = line.strip(), []


def _plain(text: str) -> str:
    """Write roles and double backticks as Markdown does."""
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text)
    return text.replace("``", "`").replace("<", "\\<")

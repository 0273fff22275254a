"""Templates of the package, auto-escaped: text that isn't ours can't become markup."""

import functools
import json
import re
from importlib.resources import files
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from wayproof.text import harmless
from wayproof.web.numbers import english_number

__all__ = ["hash_part", "in_french", "render"]


def _load(name: str) -> str | None:
    source = files("wayproof").joinpath(*name.split("/"))
    return source.read_text("utf-8") if source.is_file() else None


@functools.cache
def _french() -> dict[str, str]:
    source = files("wayproof").joinpath("web", "static", "sentences.fr.json")
    sentences: dict[str, str] = json.loads(source.read_text("utf-8"))
    return sentences


_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def in_french(sentence: str) -> str:
    """French for a sentence that travels in bundles; any other stays as it is.

    In the table ``#`` stands for a number: the sentence's own follow in their order.
    """
    whole = _french().get(sentence)
    if whole is not None:
        return whole
    french = _french().get(_NUMBER.sub("#", sentence))
    if french is None:
        return sentence
    numbers = iter(_NUMBER.findall(sentence))
    return re.sub("#", lambda _: next(numbers), french)


def hash_part(text: str) -> str:
    """Spell a text as a part of a hash, as the page's ``encodeURIComponent`` does."""
    return quote(text, safe="!'()*~-._")


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_load),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["harmless"] = harmless
    environment.filters["english"] = english_number
    environment.filters["hash_part"] = hash_part
    environment.filters["in_french"] = in_french
    return environment


def render(template: str, /, **context: object) -> Markup:
    """Render ``room/templates/name.html.j2`` with auto-escaping on."""
    return Markup(_environment().get_template(template).render(**context))  # noqa: S704 - escaped

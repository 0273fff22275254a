"""Templates of the package, auto-escaped: text that isn't ours can't become markup."""

import functools
from importlib.resources import files

import jinja2
from markupsafe import Markup

from wayproof.text import harmless

__all__ = ["render"]


def _load(name: str) -> str | None:
    source = files("wayproof").joinpath(*name.split("/"))
    return source.read_text("utf-8") if source.is_file() else None


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
    return environment


def render(template: str, /, **context: object) -> Markup:
    """Render ``room/templates/name.html.j2`` with auto-escaping on."""
    return Markup(_environment().get_template(template).render(**context))  # noqa: S704 - escaped

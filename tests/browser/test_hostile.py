"""Text from outside is text and nothing else, wherever a page shows it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tools.samples import HOSTILE_TEXTS

if TYPE_CHECKING:
    from playwright.sync_api import Page

OUR_ATTRIBUTES = {
    *("class", "id", "dir", "type", "readonly", "hidden", "aria-label", "aria-live"),
    *("data-take", "data-rung", "data-mark"),
}
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def test_hostile_texts_leave_no_trace_but_text(
    hostile_report: Path, visit: Callable[..., "Page"]
) -> None:
    """No element, attribute, handler, link or style comes from a packet; all of it is seen."""
    page = visit(hostile_report)
    title = page.title()
    page.click("#tab-all")
    elements = page.evaluate("document.querySelectorAll('script, style, img, iframe, a').length")
    page.locator(".list-body .task").first.click()
    for number in range(len(HOSTILE_TEXTS)):
        said = page.inner_text("#panel-body")
        text = HOSTILE_TEXTS[number]
        assert CONTROL.search(said) is None
        if text.isprintable() and text.isascii():
            # Once in each of: id, prompt (twice), command, ids, terms, error, source.
            assert said.count(text) >= 8
        names, values = page.evaluate(
            """() => {
                 const all = [...document.querySelectorAll('#panel-body *')];
                 const names = all.flatMap(e => e.getAttributeNames());
                 const values = all.flatMap(
                   e => e.getAttributeNames().map(n => e.getAttribute(n)));
                 return [names, values];
               }"""
        )
        assert set(names) <= OUR_ATTRIBUTES
        assert not any(text in value for value in values for text in HOSTILE_TEXTS)
        assert page.title() == title
        if number + 1 < len(HOSTILE_TEXTS):
            page.click("#panel-next")
    assert (
        page.evaluate("document.querySelectorAll('script, style, img, iframe, a').length")
        == elements
    )


@pytest.mark.parametrize("width", [360, pytest.param(1600, marks=pytest.mark.slow)])
def test_hostile_texts_do_not_break_the_layout(
    hostile_report: Path, visit: Callable[..., "Page"], width: int
) -> None:
    """Ids of 300 characters and right-to-left texts scroll in their place, not the page."""
    page = visit(hostile_report)
    page.set_viewport_size({"width": width, "height": 900})
    page.click("#tab-all")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.locator(".list-body .task").first.click()
    for _ in HOSTILE_TEXTS[1:]:
        box = page.evaluate(
            "(d => [d.scrollWidth, d.clientWidth])(document.getElementById('panel'))"
        )
        assert box[0] <= box[1]
        page.click("#panel-next")


def test_hostile_markup_stays_in_the_data(hostile_report: Path) -> None:
    """In the file itself, no hostile text stands outside a string or an escape."""
    source = hostile_report.read_text("utf-8")
    assert source.count("<script") == source.count("</script>")
    assert source.count("<style>") == source.count("</style>") == 1
    assert "<img" not in source
    assert "pwned'</script>" not in source

"""What holds on every page: policy, accessibility, layout, both themes, both languages."""

import re
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

PAGES = (
    "explorer",
    "fitness_report",
    "recovery_report",
    "hostile_report",
    "index_page",
    "compare_report",
    "walker_report",
)


@pytest.fixture(params=PAGES)
def path(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="module")
def inspected(browser: "Browser") -> "Iterator[BrowserContext]":
    """A browser whose pages let the checker's own script in."""
    opened = browser.new_context(viewport={"width": 1280, "height": 900}, bypass_csp=True)
    yield opened
    opened.close()


def serious(page: "Page") -> list[str]:
    """Run axe-core in the page and list its serious and critical violations."""
    page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {each['help']}: {[node['html'][:200] for node in each['nodes'][:3]]}"
        for each in found["violations"]
        if each["impact"] in {"serious", "critical"}
    ]


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_violation(
    path: Path, inspected: "BrowserContext", theme: str
) -> None:
    """In both themes, with the trial ended and with the panel open."""
    page = inspected.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    page.click(f'[data-theme-choice="{theme}"]')
    if page.locator("#jump-last").count():
        page.click("#jump-last")
    assert serious(page) == []
    if page.locator('[name="policy"][value="~you"]').count():
        page.check('[name="policy"][value="~you"]')
        assert serious(page) == []
    if page.locator("#panel").count():
        page.locator(".list-body .task").first.click()
        assert serious(page) == []
    page.close()


def test_the_policy_is_strict_and_first(path: Path, visit: Callable[..., "Page"]) -> None:
    """Our own scripts and one style sheet by hash; nothing else may run, load, or be sent."""
    page = visit(path)
    first = page.evaluate(
        "(e => [e.tagName, e.httpEquiv, e.content])(document.head.firstElementChild)"
    )
    assert first[:2] == ["META", "Content-Security-Policy"]
    policy = {part.split()[0]: part.split()[1:] for part in first[2].split("; ")}
    assert policy["default-src"] == ["'none'"]
    assert policy["base-uri"] == policy["form-action"] == ["'none'"]
    for kind in ("script-src", "style-src"):
        assert all(value.startswith("'sha256-") for value in policy[kind])
    assert "unsafe" not in first[2]
    assert page.locator("[style]:not(.list-row, .list-body, .list)").count() == 0


def test_the_policy_stops_what_gets_past(path: Path, context: "BrowserContext") -> None:
    """Were markup let in after all: handlers, scripts, styles and images still do nothing."""
    page = context.new_page()
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    stopped = page.evaluate(
        """() => new Promise((done) => {
             const seen = [];
             document.addEventListener('securitypolicyviolation', (event) =>
               seen.push(event.effectiveDirective));
             try { document.body.insertAdjacentHTML('beforeend', '<b>x</b>'); }
             catch { seen.push('markup refused'); }
             const script = document.createElement('script');
             try { script.textContent = 'window.pwned = 1'; } catch { seen.push('text refused'); }
             const image = document.createElement('img');
             image.src = 'https://example.invalid/x.png';
             document.body.append(image);
             setTimeout(() => done([seen, 'pwned' in window]), 300);
           })"""
    )
    assert "markup refused" in stopped[0]
    assert "text refused" in stopped[0]
    assert "img-src" in stopped[0]
    assert stopped[1] is False
    page.close()


def test_nothing_is_wider_than_the_window(path: Path, visit: Callable[..., "Page"]) -> None:
    """Wide tables scroll in their own frame; the page never scrolls sideways."""
    for language in ("en", "fr"):
        page = visit(path, query=f"?lang={language}")
        assert page.get_attribute("html", "lang") == language
        for width in (320, 360, 768, 1920):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        # On paper nothing scrolls: what is wider is lost.
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 720, "height": 1000})
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate("document.documentElement.scrollWidth") <= 720


def test_no_text_is_left_out_of_a_language(path: Path, visit: Callable[..., "Page"]) -> None:
    """Every translated element says something in both languages."""
    page = visit(path)
    for language in ("fr", "en"):
        page.click(f'[data-language="{language}"]')
        empty = page.evaluate(
            """[...document.querySelectorAll('[data-t]')].filter(e => e.textContent.trim() === '')
                 .map(e => e.dataset.t)"""
        )
        assert empty == []


def test_the_page_says_something_without_its_script(path: Path) -> None:
    """Headings and sentences stand in the file itself, in English."""
    source = path.read_text("utf-8")
    assert source.count('data-t="') > 10
    assert re.search(r'data-t="[^"]+"[^>]*></', source) is None

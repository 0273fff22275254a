"""The report's page of rejected calls."""

import re
from pathlib import Path

from rejections.rejection_logs import NO_MATCH, ClaudeLog, edit
from rejections.test_bundle import bundle_of
from wayproof.cli import main
from wayproof.evidence.rejection_names import (
    CHECKS,
    CLOSINGS,
    EVIDENCE,
    INVALID_KINDS,
    LIMITS,
    MALFORMED_KINDS,
    OUTCOMES,
    REFUSED_KINDS,
    STRATA,
)
from wayproof.report.rejection_page import _FRENCH, _SENSES
from wayproof.web.template import in_french


def _page(bundle: Path, tmp_path: Path) -> str:
    out = tmp_path / "page.html"
    assert main(["report", str(bundle), "--out", str(out)]) == 0
    return out.read_text("utf-8")


def test_page_holds_its_numbers(tmp_path: Path) -> None:
    """The first screen's sentences, limits, kinds, lanes and checks stand in the HTML."""
    _, bundle = bundle_of(tmp_path)
    page = _page(bundle, tmp_path)
    head = page[: page.index('id="kinds"')]
    assert "17 calls were rejected without effect in 9 sessions." in head
    assert "Reached again: at least 35 % (at most 95 %)" in head
    assert "Blind repeats: 0." in head
    assert "8 failed commands: counted, not judged." in head
    assert "17 appels rejetés sans effet en 9 sessions." in head
    for limit in LIMITS:
        assert limit.split("'")[0] in head
    assert page.count('<article class="card episode"') == 26
    assert "First failing check: " in page
    assert re.search(r'<li class="closing"><span class="place">1</span>', page)
    assert page.index("http-equiv") < page.index("<title>")
    assert "default-src &#x27;none&#x27;" in page or "default-src 'none'" in page


def test_page_escapes_what_logs_say(tmp_path: Path) -> None:
    """Names and texts from a log are shown, and are no markup."""
    log = ClaudeLog(session_id="<b>s")
    log.no("Edit", NO_MATCH, **edit("/w/<img src=x>.py", "a", "<script>alert(1)</script>"))
    path = log.say().write(tmp_path / "a.jsonl")
    out = tmp_path / "b"
    assert main(["rejections", str(path), "--out", str(out), "--with-text"]) == 0
    page = _page(out, tmp_path)
    assert "<img src" not in page
    assert "alert(1)</script>" not in page
    assert "&lt;img src=x&gt;.py" in page


def test_page_without_episodes(tmp_path: Path) -> None:
    """A bundle without a rejection has a page that says so, and no rate."""
    path = ClaudeLog().ok("Read", file_path="/w/a").say().write(tmp_path / "a.jsonl")
    out = tmp_path / "b"
    assert main(["rejections", str(path), "--out", str(out)]) == 0
    page = _page(out, tmp_path)
    assert "There are no episodes." in page
    assert "no rate below 10 episodes" in page


def test_every_word_is_french_too() -> None:
    """No word of the vocabulary is English on a French page."""
    words = (STRATA, OUTCOMES, EVIDENCE, CLOSINGS, CHECKS)
    names = {word.name for row in words for word in row}
    names |= {kind.name for kind in (*INVALID_KINDS, *MALFORMED_KINDS, *REFUSED_KINDS)}
    names |= {"exact", "same", "near", "file", "checked", "unchecked", "no_outcomes", "unknown"}
    assert names <= set(_FRENCH)
    assert set(_SENSES) == {word.name for word in CHECKS}
    for limit in LIMITS:
        assert in_french(limit) != limit

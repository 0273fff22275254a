"""The page of a private result: what was agreed, what was enforced, who signed, what came of it."""

from pathlib import Path
from typing import Any

import pytest

from wayproof.cli import main
from wayproof.private.cgroups import Groups
from wayproof.private.run import run_private
from wayproof.private.sandbox import Machine

BARE = Machine(None, "bubblewrap (bwrap) is not installed", Groups(), None, None, None)


def _page(bundle: Path, out: Path) -> str:
    assert main(["report", str(bundle), "--out", str(out)]) == 0
    return out.read_text("utf-8")


@pytest.mark.parametrize("name", ["result", "trial"])
def test_a_private_result_has_its_page(finished: Any, tmp_path: Path, name: str) -> None:
    """Both bundles show the terms, both keys, every limit and the starts, in both languages."""
    page = _page(finished.folder / name, tmp_path / "page.html")
    for said in (
        "Jane Doe, Example Ltd",
        finished.client.public.hex,
        finished.evaluator.public.hex,
        "agreement.client.sig.json",
        "python3 agent.py walk",
        "What was agreed and what was enforced",
        "Ce qui fut convenu et ce qui fut imposé",
        "aucune connexion hors du bac à sable",
        "the folder /usr, read-only",
        "Les scénarios sont ceux d’une seule suite cachée",
    ):
        assert said in page
    assert ("The disclosed trial" in page) is (name == "trial")


def test_what_was_not_enforced_is_seen(agreed: Any, tmp_path: Path) -> None:
    """A best-effort limit that failed stands on the page with its reason."""
    run_private(agreed.request(), agreed.folder / "result", looks=lambda *_: BARE)
    page = _page(agreed.folder / "result", tmp_path / "page.html")
    assert page.count("status bad") >= 5
    assert "no sandbox: bubblewrap (bwrap) is not installed" in page


def test_both_bundles_in_one_report(finished: Any, tmp_path: Path) -> None:
    """A folder of pages takes a run and a disclosed trial side by side."""
    bundles = [str(finished.folder / name) for name in ("result", "trial")]
    assert main(["report", *bundles, "--out", str(tmp_path / "pages")]) == 0
    assert main(["verify", str(tmp_path / "pages")]) == 0


def test_words_of_an_agreement_are_text(setting: Any, tmp_path: Path) -> None:
    """What stands in an agreement is shown, never run."""
    setting.plan(authorised_by="<script>alert(1)</script>")
    setting.sign()
    setting.start()
    setting.run()
    page = _page(setting.folder / "result", tmp_path / "page.html")
    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page

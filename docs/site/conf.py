"""How Sphinx makes the site; `make site` runs it over the project's folder.

The pages are read where they lie, so that their links are the same on the site and in the
repository. Their order comes from `tools/pages/site.py`, which also makes `docs/index.md`.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tools.pages import site  # noqa: E402 - the path comes first

from wayproof import __version__  # noqa: E402

project = "wayproof"
author = "the wayproof authors"
version = release = __version__
root_doc = "docs/index"
include_patterns = [*(f"{page}.md" for page in site.OUTSIDE), "docs/*.md", "docs/**/*.md"]
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
nitpicky = True
html_theme = "furo"
html_title = f"wayproof {__version__}"
html_copy_source = False
html_show_sphinx = False
html_extra_path = ["extra"]  # index.html: leads from the site's root to the overview


def setup(app: object) -> None:
    """Put the list of pages under the overview, which needs none of it elsewhere."""

    def add_toctrees(_app: object, name: str, source: list[str]) -> None:
        if name == root_doc:
            source[0] += site.toctrees(ROOT)

    app.connect("source-read", add_toctrees)  # type: ignore[attr-defined]

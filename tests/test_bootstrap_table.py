"""The bootstrap's table as the page describes it, rebuilt by somebody who has only the page."""

import re
from fractions import Fraction
from itertools import islice
from math import ceil, floor
from typing import Any

import pytest

from conftest import ROOT
from wayproof.stats.intervals import index_table, intervals_over_groups

PAGE = ROOT / "docs/recovery/reproducibility.md"


def _stranger() -> dict[str, Any]:
    (code,) = re.findall(
        r"^```python\n(import hashlib.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - the page's own code
    return names


@pytest.mark.parametrize("groups", [1, 2, 3, 12, 48, 50, 51, 1000, 65_536, 65_537])
def test_the_page_is_enough_to_rebuild_the_table(groups: int) -> None:
    """Also where words are thrown away, and where a row ends on a whole integer."""
    rows = _stranger()["table"](groups, rows=3)
    for theirs, ours in zip(rows, islice(index_table(groups), 3), strict=True):
        assert theirs == list(ours)


def test_the_page_is_enough_to_rebuild_the_ends() -> None:
    """Sums per row, the 50th from each end, rounded outward."""
    hits, cells = [3, 0, 2, 5, 1, 0, 4], [5, 0, 5, 5, 2, 3, 5]
    shares = []
    for row in _stranger()["table"](len(hits)):
        whole = sum(cells[group] for group in row)
        if whole:
            shares.append(Fraction(sum(hits[group] for group in row), whole))
    lows = sorted(floor(10**6 * share) for share in shares)
    highs = sorted(ceil(10**6 * share) for share in shares)
    (interval,) = intervals_over_groups([hits], [cells])
    assert (interval.low_ppm, interval.high_ppm) == (lows[49], highs[-50])


@pytest.mark.parametrize(("hit", "cell", "groups"), [(0, 5, 7), (2, 5, 7), (1, 1, 50), (1, 3, 1)])
def test_the_page_is_enough_where_all_groups_agree(hit: int, cell: int, groups: int) -> None:
    """The formula that stands there, in whole numbers."""
    low = max(p for p in range(10**6) if 40 * p**groups <= 10 ** (6 * groups))
    share = Fraction(hit, cell)
    ends = floor(share * low), min(10**6, ceil(share * low) + 10**6 - low)
    (interval,) = intervals_over_groups([[hit] * groups], [[cell] * groups])
    assert (interval.low_ppm, interval.high_ppm, interval.method) == (*ends, "agreement")

"""Display text of numbers."""

import pytest

from wayproof.recovery.display import percent


@pytest.mark.parametrize(
    ("ppm", "text"),
    [
        (0, "0"),
        (1_000_000, "100"),
        (928_878, "92.9"),
        (71_122, "7.1"),
        (500_000, "50"),
        (50_000, "5"),
        (100_000, "10"),
        (999_815, "99.98"),
        (999_999, "99.9999"),
        (185, "0.02"),
        (1, "0.0001"),
        (10_049, "1"),
        (10_050, "1"),
        (10_500, "1.1"),
    ],
)
def test_a_percentage_never_reads_as_certainty_by_rounding(ppm: int, text: str) -> None:
    """Rounded half up; only 0 reads as 0 and only 1,000,000 as 100."""
    assert percent(ppm) == text

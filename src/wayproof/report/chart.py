"""Where a chart's marks stand: numbers in, coordinates out; templates only place them."""

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Bar", "Whisker", "column_chart", "share_position"]


class Bar(NamedTuple):
    """One column of a chart, in the drawing's own units."""

    x: float
    y: float
    width: float
    height: float
    middle: float


class Whisker(NamedTuple):
    """A share with its interval, as positions along a horizontal axis."""

    at: float
    low: float | None
    high: float | None


def column_chart(
    values: Sequence[int], *, slot: float, width: float, height: float, baseline: float
) -> list[Bar]:
    """Columns on a baseline, the largest as high as ``height``.

    A count above zero is drawn at least one unit high: small isn't none.
    """
    largest = max(values, default=0)
    bars = []
    for index, value in enumerate(values):
        tall = 0.0 if value == 0 else max(1.0, height * value / largest)
        middle = slot * index + slot / 2
        bars.append(
            Bar(
                round(middle - width / 2, 2),
                round(baseline - tall, 2),
                width,
                round(tall, 2),
                middle,
            )
        )
    return bars


def share_position(share: float | None, *, left: float, width: float) -> float | None:
    """Position of a share of 1 along an axis."""
    return None if share is None else round(left + width * share, 2)

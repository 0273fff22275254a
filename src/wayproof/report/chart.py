"""Where a chart's marks stand: numbers in, coordinates out; templates only place them.

Each chart comes in two layouts, one for wide screens and one for phones. Style sheets show
exactly one of them.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

__all__ = [
    "NARROW_COLUMNS",
    "NARROW_FOREST",
    "NARROW_SHARES",
    "WIDE_COLUMNS",
    "WIDE_FOREST",
    "WIDE_SHARES",
    "Bar",
    "ColumnLayout",
    "ForestChart",
    "Interval",
    "ShareChart",
    "ShareLayout",
    "bar_chart",
    "column_chart",
    "forest_chart",
    "share_chart",
]


class Bar(NamedTuple):
    """One bar of a chart, in the drawing's own units.

    Attributes
    ----------
    label_x, label_y
        Where the bar's name stands.
    value_x, value_y
        Where its count stands.
    """

    x: float
    y: float
    width: float
    height: float
    label_x: float
    label_y: float
    value_x: float
    value_y: float


class ColumnLayout(NamedTuple):
    """Sizes of a chart of counts; ``length`` is what the largest count is drawn as."""

    slot: float
    thickness: float
    length: float
    baseline: float


WIDE_COLUMNS: Final = ColumnLayout(slot=80, thickness=52, length=150, baseline=200)
NARROW_COLUMNS: Final = ColumnLayout(slot=26, thickness=20, length=150, baseline=92)


def _length(value: int, largest: int, layout: ColumnLayout) -> float:
    """Length of a bar; a count above zero is at least one unit long: small isn't none."""
    return 0.0 if value == 0 else round(max(1.0, layout.length * value / largest), 2)


def column_chart(values: Sequence[int], layout: ColumnLayout = WIDE_COLUMNS) -> list[Bar]:
    """Upright columns on a baseline, from left to right."""
    largest = max(values, default=0)
    bars = []
    for index, value in enumerate(values):
        height = _length(value, largest, layout)
        middle = layout.slot * index + layout.slot / 2
        top = round(layout.baseline - height, 2)
        bars.append(
            Bar(
                x=round(middle - layout.thickness / 2, 2),
                y=top,
                width=layout.thickness,
                height=height,
                label_x=middle,
                label_y=layout.baseline + 19,
                value_x=middle,
                value_y=round(top - 6, 2),
            )
        )
    return bars


def bar_chart(values: Sequence[int], layout: ColumnLayout = NARROW_COLUMNS) -> list[Bar]:
    """Lying bars from a baseline to the right, from top to bottom: the form for phones."""
    largest = max(values, default=0)
    bars = []
    for index, value in enumerate(values):
        width = _length(value, largest, layout)
        top = layout.slot * index + 4
        bars.append(
            Bar(
                x=layout.baseline,
                y=top,
                width=width,
                height=layout.thickness,
                label_x=0,
                label_y=top + 15,
                value_x=round(layout.baseline + width + 6, 2),
                value_y=top + 15,
            )
        )
    return bars


class Interval(NamedTuple):
    """A share of 1 to draw, with its interval; ``name`` says which measurement it is."""

    name: str
    share: float | None
    low: float
    high: float
    said: str


class ShareLayout(NamedTuple):
    """Sizes of a chart of shares: one row a policy, one bar a measurement."""

    width: float
    left: float
    axis: float
    row: float
    top: float
    label_y: float
    first_bar: float
    bar_step: float
    value_x: float
    ticks: tuple[int, ...]


WIDE_SHARES: Final = ShareLayout(770, 190, 480, 66, 14, 30, 12, 26, 680, (0, 25, 50, 75, 100))
NARROW_SHARES: Final = ShareLayout(320, 10, 220, 78, 0, 16, 33, 24, 242, (0, 50, 100))


class ShareMark(NamedTuple):
    """One measurement of one row: its bar (``width`` 0 where there is none) and interval."""

    name: str
    said: str
    x: float
    y: float
    top: float
    width: float
    low: float
    high: float
    cap: float
    value_y: float


class ShareRow(NamedTuple):
    """One policy's name and its measurements."""

    label: str
    label_y: float
    marks: list[ShareMark]


class Tick(NamedTuple):
    """A grid line at a share of 1."""

    x: float
    share: float


class ShareChart(NamedTuple):
    """All coordinates of a chart of shares."""

    width: float
    height: float
    axis_end: float
    tick_y: float
    value_x: float
    ticks: list[Tick]
    rows: list[ShareRow]


BAR_HEIGHT: Final = 18


def share_chart(
    rows: Iterable[tuple[str, Sequence[Interval]]], layout: ShareLayout = WIDE_SHARES
) -> ShareChart:
    """Shares with their intervals along an axis from 0 to 1."""

    def at(share: float) -> float:
        return round(layout.left + layout.axis * share, 2)

    drawn = []
    for index, (label, intervals) in enumerate(rows):
        top = layout.row * index + layout.top
        marks = []
        for place, each in enumerate(intervals):
            y = top + layout.first_bar + layout.bar_step * place
            marks.append(
                ShareMark(
                    name=each.name,
                    said=each.said,
                    x=layout.left,
                    y=y,
                    top=y - BAR_HEIGHT / 2,
                    width=round(layout.axis * (each.share or 0), 2),
                    low=at(each.low),
                    high=at(each.high),
                    cap=y - 5,
                    value_y=y + 5,
                )
            )
        drawn.append(ShareRow(label, top + layout.label_y, marks))
    end = layout.row * len(drawn) + layout.top
    return ShareChart(
        width=layout.width,
        height=end + 32,
        axis_end=end,
        tick_y=end + 20,
        value_x=layout.value_x,
        ticks=[Tick(at(tick / 100), tick / 100) for tick in layout.ticks],
        rows=drawn,
    )


class ForestLayout(NamedTuple):
    """Sizes of a forest plot: a row a difference, zero in the middle of the axis."""

    width: float
    left: float
    axis: float
    row: float
    value_x: float


WIDE_FOREST: Final = ForestLayout(770, 190, 400, 44, 606)
NARROW_FOREST: Final = ForestLayout(320, 10, 300, 58, 10)


class ForestRow(NamedTuple):
    """One difference with its interval; ``low`` and ``high`` are None where it has none."""

    name: str
    difference: float
    low_value: float | None
    high_value: float | None
    label_y: float
    y: float
    top: float
    at: float
    low: float | None
    high: float | None
    value_y: float


class ForestChart(NamedTuple):
    """All coordinates of a forest plot; ``end`` is the difference at the axis's right end."""

    width: float
    height: float
    left: float
    right: float
    zero: float
    axis_end: float
    tick_y: float
    value_x: float
    value_side: str
    end: float
    rows: list[ForestRow]


def forest_chart(
    differences: Sequence[tuple[str, float, float | None, float | None]],
    layout: ForestLayout = WIDE_FOREST,
) -> ForestChart:
    """Differences as (name, difference, low, high) around zero, all on one axis."""
    known = [abs(end) for _, *ends in differences for end in ends if end is not None]
    end = max([*known, 1e-9])
    zero = layout.left + layout.axis / 2
    is_narrow = layout.value_x < layout.left + layout.axis

    def at(value: float) -> float:
        return round(zero + layout.axis / 2 * value / end, 2)

    rows = []
    for index, (name, difference, low, high) in enumerate(differences):
        y = layout.row * index + (38 if is_narrow else 24)
        rows.append(
            ForestRow(
                name=name,
                difference=difference,
                low_value=low,
                high_value=high,
                label_y=y - 20 if is_narrow else y + 5,
                y=y,
                top=y - 6,
                at=at(difference),
                low=None if low is None else at(low),
                high=None if high is None else at(high),
                value_y=y - 20 if is_narrow else y + 5,
            )
        )
    axis_end = layout.row * len(rows) + 8
    return ForestChart(
        width=layout.width,
        height=axis_end + 28,
        left=layout.left,
        right=layout.left + layout.axis,
        zero=zero,
        axis_end=axis_end,
        tick_y=axis_end + 18,
        value_x=layout.width - 4 if is_narrow else layout.value_x,
        value_side="end" if is_narrow else "start",
        end=end,
        rows=rows,
    )

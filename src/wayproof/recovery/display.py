"""Numbers to display text: the summary as a table."""

from wayproof.recovery.summary import IntervalRecord, PolicySummary, PublishedRecord, Summary
from wayproof.stats.intervals import MILLION

__all__ = ["percent", "summary_table"]


def percent(ppm: int) -> str:
    """Spell parts per million as a percentage, rounded half up.

    With one decimal, or as many as it takes for nothing but 0 to read as 0, and nothing
    but 100 as 100.
    """
    for decimals in (1, 2, 3, 4):
        unit = 10 ** (4 - decimals)
        rounded = (ppm + unit // 2) // unit
        if (rounded == 0) is (ppm == 0) and (rounded == 100 * 10**decimals) is (ppm == MILLION):
            break
    whole, part = divmod(rounded, 10**decimals)
    return f"{whole}.{part:0{decimals}d}".rstrip("0").rstrip(".") if part else f"{whole}"


def summary_table(summary: Summary) -> list[list[str]]:
    """Return the rows of the summary: a header, then a line a policy.

    Published counts stand beside ours where there are any.
    """
    published = {row.policy: row for row in summary.published}
    header = ["policy", "completed (95 % over grids)", "verified recovery (95 % over grids)"]
    rows = [header + (["published: completed, verified"] if published else [])]
    for policy in summary.policies:
        row = _row(policy)
        if published:
            row.append(_published(published.get(policy.policy)))
        rows.append(row)
    return rows


def _row(policy: PolicySummary) -> list[str]:
    total = policy.total
    return [
        policy.policy,
        f"{total.completed} of {total.cells} ({_interval(total.completed_interval)})",
        f"{total.verified} of {total.cells} ({_interval(total.verified_interval)})",
    ]


def _interval(interval: IntervalRecord) -> str:
    return f"{percent(interval.low_ppm)} – {percent(interval.high_ppm)} %"


def _published(row: PublishedRecord | None) -> str:
    return "" if row is None else f"{row.completed} of {row.cells}, {row.verified} of {row.cells}"

"""Numbers to display text: the summary as a table."""

from wayproof.recovery.summary import IntervalRecord, PolicySummary, PublishedRecord, Summary

__all__ = ["percent", "summary_table"]


def percent(ppm: int) -> str:
    """Spell parts per million as a percentage with one decimal, rounded half up."""
    tenths = (ppm + 500) // 1000
    whole, tenth = divmod(tenths, 10)
    return f"{whole}" if tenth == 0 else f"{whole}.{tenth}"


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

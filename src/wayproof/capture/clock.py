"""Timestamps of any spelling to milliseconds; the system's clock is never read."""

from datetime import UTC, datetime
from typing import Any

__all__ = ["at_ms"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EARLIEST_MS = 946_684_800_000  # 2000-01-01: smaller numbers are seconds


def at_ms(value: Any) -> float | None:
    """Return milliseconds since 1970, or None for what is no time.

    ISO 8601 with or without a zone (naive times count as UTC: only differences are
    used), seconds or milliseconds as numbers.
    """
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not 0 < value < 1e17:
        return None
    if value >= 1e15:
        return value / 1000  # microseconds
    return float(value) if value >= _EARLIEST_MS else float(value) * 1000


def _from_text(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        stripped = text.strip()
        if stripped != text:
            return _from_text(stripped)
        try:
            return at_ms(float(text))
        except ValueError:
            return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    try:
        since = moment - _EPOCH
    except OverflowError:
        return None
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds / 1000

"""Numbers as the page's script spells them in English, for the HTML itself.

A page holds its numbers in its text, so that a viewer that blocks scripts still shows
them. The script writes them again in the reader's language; a browser test holds the two
spellings against each other.
"""

from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

__all__ = ["english_number", "english_share"]

NOTHING: Final = "–"
_MOST_DIGITS: Final = 15


def _rounded(value: float, digits: int) -> Decimal:
    """Round half up from the shortest decimal form, as ECMA-402 does."""
    return Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def _digits_apart(value: float, others: Iterable[int], digits: int) -> int:
    """As many digits as keep a value apart from each of ``others``, at least ``digits``."""
    apart = [other for other in others if value != other]
    while digits < _MOST_DIGITS and any(_rounded(value, digits) == other for other in apart):
        digits += 1
    return digits


def english_number(value: float | None, digits: int = 0, unit: str = "") -> str:
    """Spell a number with up to ``digits`` decimals; a dash where there is none.

    ``unit`` is ``share`` (of 1, in per cent), ``mean`` (kept apart from 0 and 1) or nothing.
    """
    if value is None:
        return NOTHING
    if unit == "share":
        return english_share(value, digits)
    if unit == "mean":
        digits = _digits_apart(value, (0, 1), digits)
    text = f"{_rounded(value, digits):,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def english_share(share: float, digits: int = 1) -> str:
    """Spell a share of 1 in per cent; rounded to all or to nothing only if it is that."""
    shown = _digits_apart(share, (0, 1), digits + 2) - 2
    return f"{_rounded(share, shown + 2) * 100:,.{shown}f}%"

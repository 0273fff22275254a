"""Hostile text made harmless.

Text from logs and packets may hold terminal escape codes, control characters, or
direction overrides that make a line read as something it is not. Everything that
goes to a terminal or into an error message passes through :func:`harmless`.
"""

import re
import sys
import unicodedata
from fractions import Fraction

__all__ = ["clip", "exact_number", "harmless", "harmless_lines", "quoted"]

# Cc: control, Cf: format (bidi overrides, zero-width), Cs: lone surrogates,
# Zl/Zp: line and paragraph separators, Co/Cn: private use and unassigned.
_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn"})

# Zero-width joiner: emoji sequences are legitimate text and it reorders nothing.
_KEPT = "\u200d"


def _escaped(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    if code < 0x10000:
        return f"\\u{code:04x}"
    return f"\\U{code:08x}"


def harmless(text: str) -> str:
    r"""Return ``text`` on one line with every unsafe character spelled out.

    ``"\x1b[31m"`` comes back as the eight visible characters ``\x1b[31m``. A
    backslash that was in the text stays as it is: the result is for reading, not
    for parsing back.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character
        if character == _KEPT or unicodedata.category(character) not in _UNSAFE_CATEGORIES
        else _escaped(character)
        for character in text
    )


def harmless_lines(text: str) -> str:
    """Like :func:`harmless`, but keep line feeds: for text that is shown as a block."""
    return "\n".join(harmless(line) for line in text.split("\n"))


def clip(text: str, limit_chars: int) -> str:
    """Shorten ``text`` to ``limit_chars`` characters, saying how much was left out."""
    if len(text) <= limit_chars:
        return text
    return f"{text[:limit_chars]}… (+{len(text) - limit_chars} characters)"


def quoted(value: object, limit_chars: int = 120) -> str:
    """Show a value inside an error message: harmless, bounded, in JSON's spelling."""
    if isinstance(value, str):
        inner = harmless(clip(value, limit_chars))
        return f'"{inner}"'
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"an object with {len(value)} keys"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    return harmless(clip(str(value), limit_chars))


# At most three digits of exponent: ten of them would be gigabytes of a whole number.
_NUMBER = re.compile(r"[+-]?(?:\d+/\d+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)", re.ASCII)
_LONGEST_NUMBER = 400


def exact_number(text: str) -> Fraction | None:
    """Read a number that a user wrote, such as ``0.02``, ``1/3`` or ``1e3``, exactly.

    Returns
    -------
    Fraction or None
        None for what is no number, or one that no double can hold.
    """
    word = text.strip()
    if len(word) > _LONGEST_NUMBER or not _NUMBER.fullmatch(word):
        return None
    try:
        value = Fraction(word)
    except ZeroDivisionError:
        return None
    return value if abs(value) <= sys.float_info.max else None

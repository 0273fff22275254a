"""Hostile text is shown, never obeyed."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayproof.errors import InputError
from wayproof.text import clip, harmless, harmless_lines, quoted


@given(st.text())
def test_no_control_character_survives(text: str) -> None:
    """Escapes, bells, line ends, direction overrides and lone surrogates are spelled out."""
    shown = harmless(text)
    assert all(unicodedata.category(c) not in {"Cc", "Cs", "Zl", "Zp"} for c in shown)
    assert not set(shown) & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069\u200f\ufeff")
    assert harmless(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("naïve 漢字", "naïve 漢字"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\r\nb", "a\\x0d\\x0ab"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("\ud800", "\\ud800"),
        ("👩\u200d🔬", "👩\u200d🔬"),
    ],
)
def test_known_texts(text: str, shown: str) -> None:
    """What people write stays readable; what terminals obey does not get there."""
    assert harmless(text) == shown


def test_blocks_keep_their_lines() -> None:
    """Text that is shown as a block keeps line feeds and nothing else."""
    assert harmless_lines("a\n\x07b") == "a\n\\x07b"


def test_long_text_is_clipped_and_says_so() -> None:
    """Nothing is dropped in silence."""
    assert clip("x" * 10, 4) == "xxxx… (+6 characters)"
    assert quoted("x" * 500, 4) == '"xxxx… (+496 characters)"'


def test_values_are_named_by_their_json() -> None:
    """`true` is shown as true, null as null, large things by their size."""
    shown = [quoted(value) for value in (None, True, 5, [1, 2], {"a": 1})]
    assert shown == ["null", "true", "5", "a list of 2", "an object with 1 keys"]


def test_an_error_is_one_harmless_line() -> None:
    """File names and fields come from outside too."""
    error = InputError("wrong", file="a\nb\x1b[2J", field="x\u202e", found="\x07")
    assert "\n" not in str(error)
    assert "\x1b" not in str(error)
    assert str(error) == "a\\x0ab\\x1b[2J, x\\u202e: wrong; found \\x07"

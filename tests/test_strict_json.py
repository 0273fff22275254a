"""JSON from outside, read strictly."""

import pytest

from wayproof.errors import InputError
from wayproof.strict_json import refuse_unsafe_numbers, strict_value


@pytest.mark.parametrize(("levels", "is_read"), [(500, True), (501, False), (100_000, False)])
def test_nesting_has_one_limit_for_every_reader(levels: int, is_read: bool) -> None:
    """Not the parser's own, which depends on what called it; brackets in texts don't count."""
    text = b"[" * levels + b"]" * levels
    if is_read:
        strict_value(text)
        return
    with pytest.raises(InputError, match="nested too deeply"):
        strict_value(text)


def test_brackets_in_texts_are_no_nesting() -> None:
    """A text of a thousand brackets, escaped quotes among them, is one level."""
    assert strict_value(b'["' + b'[{\\"' * 1000 + b'"]') == ['[{"' * 1000]


def test_a_value_that_is_carried_on_leaves_room_for_its_record() -> None:
    """A packet's error may nest half as deep, so that the result that holds it can be read."""
    value: object = 1
    for _ in range(250):
        value = [value]
    refuse_unsafe_numbers(value, "error")
    with pytest.raises(InputError, match="error: nested too deeply"):
        refuse_unsafe_numbers({"x": value}, "error")

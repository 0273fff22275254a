"""One reader of lines, one limit."""

import io

import pytest

from wayproof import lines
from wayproof.errors import InputError


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 8)
    return 8


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_a_line_of_the_very_limit_is_read(limit: int, end: bytes) -> None:
    """The limit is that of the content: what ends the line doesn't count."""
    data = b"x" * limit + end
    assert list(lines.read_lines(io.BytesIO(data))) == [(0, b"x" * limit)]
    with pytest.raises(InputError, match="line is too long; expected at most 8 bytes"):
        list(lines.read_lines(io.BytesIO(b"x" + data)))


def test_a_line_over_the_limit_is_told_wherever_it_stands(limit: int) -> None:
    """Inputs name the offset, evidence the line; only the beginning is ever held."""
    data = b"{}\n\n" + b"x" * 1000 + b"\n{}\n"
    assert max(map(len, lines.raw_lines(io.BytesIO(data)))) == limit + 3
    with pytest.raises(InputError, match="byte 4: line is too long"):
        list(lines.read_lines(io.BytesIO(data)))
    with pytest.raises(InputError, match="f:3: line is too long"):
        list(lines.evidence_lines(io.BytesIO(data), "f"))
    told = [lines.is_too_long(line) for line in lines.raw_lines(io.BytesIO(data))][:3]
    assert told == [False, False, True]


def test_inputs_are_lenient_about_what_evidence_is_not() -> None:
    """Blank lines, CR LF, a byte-order mark, no last line feed: in an input all are passed over."""
    data = b"\xef\xbb\xbf{}\r\n  \n\n[]"
    assert list(lines.read_lines(io.BytesIO(data))) == [(3, b"{}"), (11, b"[]")]
    assert list(lines.evidence_lines(io.BytesIO(b"\n{}\r\n"), "f")) == [(1, b""), (2, b"{}\r")]
    with pytest.raises(InputError, match="f:2: last line is cut off"):
        list(lines.evidence_lines(io.BytesIO(b"{}\n[]"), "f"))


def test_a_part_of_a_file_ends_behind_the_line_that_reaches_its_end() -> None:
    """Whoever starts at a line's offset reads every line that begins before the end."""
    stream = io.BytesIO(b"one\ntwo\nthree\n")
    stream.seek(4)
    assert list(lines.read_lines(stream, 4, 8)) == [(4, b"two")]

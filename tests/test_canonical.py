"""Canonical JSON: two writers, one set of bytes."""

import importlib
import json
import pkgutil
from typing import Any

import msgspec
import pytest
import rfc8785
import strategies as our
from hypothesis import given
from hypothesis import strategies as st

import wayproof
from wayproof.canonical import (
    MAX_SAFE_INTEGER,
    Record,
    canonical_bytes,
    canonical_number,
    decode_record_line,
    record_bytes,
    record_lines,
    sha256_hex,
)
from wayproof.errors import InputError
from wayproof.evidence.fitness_records import TaskResult
from wayproof.fitness.debts import debts_of
from wayproof.fitness.judge import judge, result_of
from wayproof.fitness.packet import packet_of
from wayproof.fitness.task import need_of, task_line

OPTIONAL_LIBRARIES = ("inspect_ai", "pyarrow")
"""What a module of ours may need and development's set-up doesn't install."""


def _all_records() -> list[type[Record]]:
    for module in pkgutil.walk_packages(wayproof.__path__, "wayproof."):
        if module.name.endswith("__main__"):
            continue
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            if error.name not in OPTIONAL_LIBRARIES:
                raise
    found: list[type[Record]] = []
    waiting = [Record]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            if kind.__module__.startswith("wayproof."):  # other tests declare toys of their own
                found.append(kind)
            waiting.append(kind)
    return found


def test_every_record_declares_its_fields_in_order() -> None:
    """Sorted declarations are what makes the fast encoder canonical."""
    records = _all_records()
    assert len(records) >= 3
    for kind in records:
        names = list(kind.__struct_encode_fields__)
        tag = kind.__struct_config__.tag_field
        assert ([tag] if tag else []) + names == sorted(([tag] if tag else []) + names), kind


@given(our.tasks(), our.packets())
def test_the_fast_writer_gives_the_bytes_of_rfc8785(
    task: dict[str, Any], packet: dict[str, Any]
) -> None:
    """Results and debts are written by msgspec exactly as the standard's package writes them."""
    line, parsed = task_line(task), packet_of(packet)
    need = need_of(line)
    result = result_of(line, need, parsed, judge(need, parsed))
    assert record_bytes(result) == rfc8785.dumps(json.loads(record_bytes(result)))
    debts = debts_of(result, numbered=True)
    assert record_lines(debts) == b"".join(rfc8785.dumps(debt.as_dict()) + b"\n" for debt in debts)


@given(st.text(), st.floats(0, MAX_SAFE_INTEGER).map(lambda wall: round(wall, 3)))
def test_any_text_and_any_kept_time_is_canonical(text: str, wall_ms: float) -> None:
    """Every character and every time to three decimals comes out as RFC 8785 has it."""
    row = dict.fromkeys(TaskResult.__struct_fields__, text)
    fast = msgspec.json.encode([canonical_number(wall_ms), *sorted(row.values())])
    assert fast == rfc8785.dumps([wall_ms, *sorted(row.values())])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        # RFC 8785, section 3.2.2 and 3.2.3
        (
            {"numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 1e-27]},
            b'{"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27]}',
        ),
        ({"literals": [None, True, False]}, b'{"literals":[null,true,false]}'),
        (
            {"string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/"},
            '{"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'.encode(),
        ),
        (
            {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\U0001f600": 5, "\u0080": 6, "ö": 7},
            '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}'.encode(),
        ),
    ],
)
def test_the_standards_own_examples(value: Any, expected: bytes) -> None:
    """The vectors that RFC 8785 prints."""
    assert canonical_bytes(value) == expected


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 2**53, -(2**53), "\ud800", {"\udfff": 1}, {1: 2}],
)
def test_what_has_no_canonical_form_is_refused(value: Any) -> None:
    """Nothing that two readers could read differently is ever written."""
    with pytest.raises(InputError):
        canonical_bytes(value)


def test_bottomless_nesting_is_refused() -> None:
    """No traceback for a value that is nested without end."""
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(InputError, match="nested too deeply"):
        canonical_bytes(value)


class _Pair(Record, frozen=True, kw_only=True):
    a: int
    b: str


@pytest.mark.parametrize(
    "line",
    [b'{"b":"x","a":1}', b'{"a": 1,"b":"x"}', b'{"a":1,"b":"\\u0078"}', b'{"a":1}', b"{", b"[]"],
)
def test_a_line_that_is_not_its_own_canonical_bytes_is_refused(line: bytes) -> None:
    """Evidence has one spelling."""
    decoder = msgspec.json.Decoder(_Pair)
    assert decode_record_line(b'{"a":1,"b":"x"}', decoder) == _Pair(a=1, b="x")
    with pytest.raises(InputError):
        decode_record_line(line, decoder)


def test_sha256_is_the_standards() -> None:
    """FIPS 180-4's example."""
    assert sha256_hex(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

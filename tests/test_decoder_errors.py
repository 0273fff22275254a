"""What msgspec says, taken apart: pinned by its own messages."""

import math
from typing import Annotated, Literal

import msgspec
import pytest

from wayproof.canonical import decode_record_line
from wayproof.decoder_errors import NOWHERE, Fault, fault_in, json_words, value_at
from wayproof.errors import InputError
from wayproof.evidence.fitness_records import TaskResult
from wayproof.fitness.task import TaskLine
from wayproof.strict_json import convert_typed, explain_line
from wayproof.text import quoted


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    n: int = 0
    of: dict[str, int] = {}


class Sample(msgspec.Struct, forbid_unknown_fields=True):
    a: int
    b: Annotated[int, msgspec.Meta(ge=1, le=5)] = 1
    c: Annotated[str, msgspec.Meta(pattern="^x$")] = "x"
    d: dict[int, int] = {}
    e: tuple[int, int] = (0, 0)
    f: Literal["p", "q"] = "p"
    g: list[Inner] = []
    h: Annotated[float, msgspec.Meta(ge=0)] | None = None

    def __post_init__(self) -> None:
        if self.a == 9:
            msg = "nine is none"
            raise ValueError(msg)


class Tagged(msgspec.Struct, tag="t"):
    x: int


MESSAGES: dict[bytes, tuple[str | None, str | None, str | None]] = {
    # text -> field, expected, got
    b'{"a":"1"}': ("a", "`int`", "str"),
    b'{"a":true}': ("a", "`int`", "bool"),
    b'{"a":1,"b":0}': ("b", "`int` >= 1", None),
    b'{"a":1,"b":6}': ("b", "`int` <= 5", None),
    b'{"a":1,"c":"y"}': ("c", "`str` matching regex '^x$'", None),
    b'{"a":1,"d":{"k":1}}': ("d", "`int`", "str"),
    b'{"a":1,"e":[1]}': ("e", "`array` of length 2", None),
    b'{"a":1,"e":[1,"x"]}': ("e[1]", "`int`", "str"),
    b'{"a":1,"f":"z"}': ("f", None, None),
    b'{"a":1,"g":[{},{"n":[]}]}': ("g[1].n", "`int`", "array"),
    b'{"a":1,"g":[{"of":{"k":"v"}}]}': ("g[0].of[...]", "`int`", "str"),
    b'{"a":1,"g":[{"zz":1}]}': ("g[0].zz", None, None),
    b'{"a":1,"h":"x"}': ("h", "`float | null`", "str"),
    b'{"a":1,"h":-1}': ("h", "`float` >= 0.0", None),
    b"{}": ("a", None, None),
    b"[]": (None, "`object`", "array"),
    b'{"a":9}': (None, None, None),
    b"{": (None, None, None),
}


@pytest.mark.parametrize("data", MESSAGES)
def test_the_decoders_own_messages_are_understood(data: bytes) -> None:
    """Field, expectation and finding come out of the real message, whatever its form."""
    with pytest.raises(msgspec.DecodeError) as caught:
        msgspec.json.decode(data, type=Sample)
    fault = fault_in(str(caught.value))
    assert (fault.field, fault.expected, fault.got) == MESSAGES[data]


def test_missing_and_unknown_fields_are_told_apart() -> None:
    """A field that lacks is not one too many."""
    for data, kind in ((b"{}", "missing"), (b'{"a":1,"z":1}', "unknown")):
        with pytest.raises(msgspec.ValidationError) as caught:
            msgspec.json.decode(data, type=Sample)
        fault = fault_in(str(caught.value))
        assert (fault.missing is not None, fault.unknown is not None) == (
            kind == "missing",
            kind == "unknown",
        )
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(b'{"type":"u","x":1}', type=Tagged)
    assert fault_in(str(caught.value)) == Fault("Invalid value 'u'", "type")


def test_a_path_leads_to_its_value() -> None:
    """What is shown as found is the value that the decoder complained of."""
    value = {"g": [{"n": 1}, {"n": [7, 8]}], "b": {"c": 5}}
    assert value_at(value, "") is value
    assert value_at(value, "g[1].n[0]") == 7
    assert value_at(value, "b.c") == 5
    for path in ("g[2]", "g.n", "b[0]", "x", "b[...]"):
        assert value_at(value, path) is NOWHERE


def test_types_are_named_as_json_does() -> None:
    """Who reads a message knows strings and numbers, not str and float."""
    assert json_words("`float | null`") == "number or null"
    error = explain_line(b'{"a":1,"h":"x"}', Sample)
    assert str(error) == 'h: wrong type; expected number or null; found string "x"'
    error = explain_line(b'{"a":1,"g":[{"of":{"k":"v"}}]}', Sample)
    assert str(error) == 'g[0].of.k: wrong type; expected integer; found string "v"'
    assert str(explain_line(b"{}", Sample)) == "a: required field is missing"


def test_a_key_among_many_is_named() -> None:
    """The decoder leaves keys out; whoever mends the file needs to know which it was."""
    grades = {f"id{number}": number for number in range(1000)}
    for key, value in (("id0", None), ("id731", 1.5), ("id999", math.nan), ("a.b[0]", "2")):
        given = {"relevance": {**grades, key: value}}
        with pytest.raises(InputError) as caught:
            convert_typed(given, TaskLine)
        assert caught.value.field == f"relevance.{key}"
        assert caught.value.found is not None
        assert caught.value.found.endswith(quoted(value))
        assert [*given["relevance"]] == [*{**grades, key: value}]


def test_data_is_never_read_as_the_name_of_a_setting() -> None:
    """`{out}` in a record is text; only our own words name settings."""
    decoder = msgspec.json.Decoder(TaskResult)
    for line in (b'{"latency_status":"{out}"}', b'{"{out}":2}', b"{out}"):
        with pytest.raises(InputError) as caught:
            decode_record_line(line, decoder)
        assert "--out" not in caught.value.message(lambda name: f"--{name}")

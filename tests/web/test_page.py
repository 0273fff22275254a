"""The frame of every page: policy by hash, data that can't end its element, English inside."""

import base64
import hashlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from wayproof.web.page import DataBlock, in_english, json_in_script, page_parts

MESSAGES = {"hello": {"en": "Hello <you>", "fr": "Bonjour"}}


def page(**more: object) -> str:
    parts: dict[str, object] = {
        "title": "</title><script>x</script>",
        "style": "p { color: red }",
        "script": "const a = 1;",
        "body": Markup('<p data-t="hello"></p>'),
        "messages": MESSAGES,
        "data": [DataBlock("data", [b'{"a":"</script>"}'])],
    }
    return b"".join(page_parts(**{**parts, **more})).decode("utf-8")  # type: ignore[arg-type]


def test_the_policy_names_the_hashes_of_what_is_there() -> None:
    """A browser computes the same hashes from the text between the tags."""
    text = page()
    policy = re.search(r'content="([^"]+)"', text)
    assert policy is not None
    for element, count in (("style", 1), ("script", 2)):
        inline = re.findall(rf"<{element}>(.*?)</{element}>", text, re.DOTALL)
        hashes = [base64.b64encode(hashlib.sha256(part.encode()).digest()) for part in inline]
        allowed = " ".join(f"'sha256-{digest.decode()}'" for digest in hashes)
        assert len(inline) == count
        assert f"{element}-src {allowed};" in policy[1]
    assert text.index("<meta http-equiv") < text.index("<meta charset")


def test_hostile_title_and_data_stay_text() -> None:
    """Neither can end its element."""
    text = page()
    assert "<title>&lt;/title&gt;&lt;script&gt;" in text
    assert '{"a":"\\u003c/script>"}' in text
    assert text.count("</script>") == 4  # two scripts, the messages and the data


@pytest.mark.parametrize("fault", [{"script": "'</script>'"}, {"style": "</style>"}])
def test_a_source_that_ends_its_element_is_refused(fault: dict[str, str]) -> None:
    """Our own sources are inlined as they are, so they are checked."""
    with pytest.raises(ValueError, match="inside an inline"):
        page(**fault)


@given(st.recursive(st.text() | st.integers() | st.none(), st.lists))
def test_data_blocks_say_the_same_json(value: object) -> None:
    """The escape changes bytes, never meaning, and leaves no '<'."""
    encoded = json_in_script(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    assert b"<" not in encoded
    plain = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    assert json.loads(encoded) == json.loads(plain)


def test_english_is_filled_in_and_escaped() -> None:
    """Texts and labels; a key that doesn't exist is a fault of the page."""
    body = '<b data-t="hello"></b><nav data-t-label="hello" aria-label=""></nav>'
    filled = in_english(body, MESSAGES)
    assert filled == (
        '<b data-t="hello">Hello &lt;you&gt;</b>'
        '<nav data-t-label="hello" aria-label="Hello &lt;you&gt;"></nav>'
    )
    with pytest.raises(KeyError):
        in_english('<b data-t="nobody"></b>', MESSAGES)

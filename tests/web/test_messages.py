"""Every text a page can show exists in both languages, and none is dead."""

import json
import re
from pathlib import Path

import pytest

import wayproof
from wayproof.compare import fitness as compare_fitness
from wayproof.compare import recovery as compare_recovery
from wayproof.web.template import in_french

ROOT = Path(wayproof.__file__).parent
TABLES = {
    room: json.loads((ROOT / room / "static" / "messages.json").read_text("utf-8"))
    for room in ("web", "explorer", "report")
}
SOURCES = [
    re.sub(r"^\s*(?://|/?\*).*", "", path.read_text("utf-8"), flags=re.MULTILINE)
    for room in TABLES
    for pattern in ("static/*.js", "templates/*.j2")
    for path in sorted((ROOT / room).glob(pattern))
]


@pytest.mark.parametrize("room", sorted(TABLES))
def test_each_message_has_both_languages(room: str) -> None:
    """English and French, with the same values to fill in."""
    for key, texts in TABLES[room].items():
        assert set(texts) == {"en", "fr"}, key
        assert all(text.strip() for text in texts.values()), key
        values = [set(re.findall(r"\{(\w+)\}", text)) for text in texts.values()]
        assert values[0] == values[1], key


def test_no_key_stands_in_two_tables() -> None:
    """A page's table is a union: one key, one meaning."""
    keys = [key for table in TABLES.values() for key in table]
    assert len(keys) == len(set(keys))


def test_each_key_that_a_source_names_exists() -> None:
    """Keys written out in full; computed ones are met by the browser tests."""
    known = {key for table in TABLES.values() for key in table}
    named = {
        key
        for source in SOURCES
        for key in re.findall(r'(?:\btext\(|data-t(?:-\w+)?=)"([\w.-]+)"', source)
    }
    assert len(named) > 100
    assert named - known == set()


def test_no_message_is_dead() -> None:
    """A key is named in full, or by its beginning before a computed end."""
    whole = "\n".join(SOURCES)
    quoted = set(re.findall(r'"([\w.-]+)"', whole))
    begun = set(re.findall(r"[\"`]([\w.-]+\.)(?:\$\{|\{\{)", whole))
    dead = [
        key
        for table in TABLES.values()
        for key in table
        if not {key, key.rpartition(".")[0]} & quoted
        and not any(key.startswith(each) for each in begun)
    ]
    assert dead == []


def test_the_limits_that_travel_in_bundles_have_their_french() -> None:
    """The seed of the recovery benchmark is French: its limits read well in it."""
    from wayproof.evidence.fitness_names import LIMITS as FITNESS
    from wayproof.evidence.private_names import PRIVATE_LIMITS
    from wayproof.evidence.recovery_names import INDEPENDENCE
    from wayproof.evidence.recovery_names import LIMITS as RECOVERY

    compared = (*compare_fitness.LIMITS, compare_fitness.WITHOUT_NUMERIC, *compare_recovery.LIMITS)
    known = json.loads((ROOT / "web" / "static" / "sentences.fr.json").read_text("utf-8"))
    assert [
        each
        for each in (*FITNESS, *RECOVERY, *PRIVATE_LIMITS, INDEPENDENCE, *compared)
        if each not in known
    ] == []


def test_a_sentence_with_numbers_has_its_french() -> None:
    """Verdicts' reasons and warnings that hold a count: the numbers stay, the words change."""
    assert (
        in_french("4 grids; a verdict needs at least 6")
        == "4 grilles ; un verdict en demande au moins 6"
    )
    said = in_french("p is above .05 after adjusting for the policies")
    assert said == "p dépasse 0,05 après ajustement pour les politiques"
    assert in_french("3 # unknown sentences") == "3 # unknown sentences"

"""The honest direction: whatever scoring writes, verify accepts."""

from pathlib import Path
from random import Random

import pytest
from random_suites import random_suite

from wayproof.bundles.manifest import read_manifest
from wayproof.fitness.check_bundle import check_bundle, check_rescored
from wayproof.fitness.task import fold


def verify_all(folder: Path, seed: str, count: int) -> int:
    made = 0
    for number in range(count):
        suite = random_suite(folder, Random(f"{seed}/{number}"))
        if suite is None:
            continue
        made += 1
        manifest = read_manifest(suite.bundle)
        check_bundle(suite.bundle, manifest)
        if number % 10 == 0:
            check_rescored(suite.bundle, manifest, suite.tasks, suite.packets)
    return made


def test_bundles_of_random_input_verify(tmp_path: Path) -> None:
    """Either form, several attempts, many terms, odd texts: with and without their inputs."""
    assert verify_all(tmp_path, "some", 150) > 120


@pytest.mark.slow
@pytest.mark.parametrize("seed", [str(number) for number in range(5)])
def test_a_thousand_bundles_of_random_input_verify(tmp_path: Path, seed: str) -> None:
    """Five thousand in all."""
    assert verify_all(tmp_path, seed, 1000) > 900


def test_a_folded_term_is_its_own_fold() -> None:
    """Verify refuses a stored term that isn't folded, so folding twice must change nothing."""
    texts = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    folded = [fold(text) for text in texts]
    assert [text for text, once in zip(texts, folded, strict=True) if fold(once) != once] == []
    random = Random("marks")
    marks = [chr(code) for code in (*range(0x300, 0x370), 0x345, 0x1E9E, 0x130, 0x149)]
    letters = [text for text, once in zip(texts, folded, strict=True) if once != text]
    for _ in range(50_000):
        text = random.choice(letters) + "".join(random.choices(marks, k=random.randrange(3)))
        assert fold(fold(text)) == fold(text)

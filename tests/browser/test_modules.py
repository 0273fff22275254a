"""The Explorer's modules on their own, held against Python and published vectors."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from wayproof.canonical import canonical_bytes, sha256_hex
from wayproof.web.join import join_modules
from wayproof.web.page import source_text

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "src" / "wayproof" / "explorer" / "static" / "sample.json"
GOLDEN = ROOT / "tests" / "golden" / "canonical-json.json"
VECTORS: list[dict[str, str]] = json.loads(GOLDEN.read_text("utf-8"))["vectors"]

ENTRY = "explorer/static/under_test.js"
ENTRY_SOURCE = """\
import { sha256Hex } from "./sha256.js";
import { canonicalText, parseCanonical, linesOf } from "./canonical.js";
import { replay, step } from "./world.js";
import { certificateFault, judge, ruled } from "./verify.js";
import { unpackActions } from "./actions.js";
import { readSuite, deriveResult } from "./recovery_bundle.js";
import { readZip } from "./zip.js";
import {
  FITNESS_LIMITS, INDEPENDENCE, INTERVALS, PUBLISHED, PUBLISHED_SUITE, RECOVERY_LIMITS,
} from "./contract.js";
import { Shares, ratio } from "./shares.js";
import { compareText } from "./records.js";
import { fold } from "./fold.js";
import { forbiddenRanges } from "../../report/static/task_panel.js";
import { percent } from "../../web/static/locale.js";
import { visible, visibleBlock } from "../../web/static/dom.js";
globalThis.wayproof = {
  sha256Hex, canonicalText, parseCanonical, linesOf, replay, step, certificateFault, judge,
  ruled, unpackActions, readSuite, deriveResult, readZip, forbiddenRanges, visible,
  visibleBlock, percent, Shares, ratio, compareText, fold,
  contract: {
    FITNESS_LIMITS, INDEPENDENCE, INTERVALS, PUBLISHED, PUBLISHED_SUITE, RECOVERY_LIMITS,
  },
};
"""

# FIPS 180-4 examples and NIST's byte-oriented SHA256ShortMsg and SHA256LongMsg vectors.
NIST = {
    "": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "d3": "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1",
    "11af": "5ca7133fa735326081558ac312c620eeca9970d1e70a4b95533d956f072d1f98",
    "616263": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".hex(): (
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
}
MILLION_A = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"


def source(path: str) -> str:
    return ENTRY_SOURCE if path == ENTRY else source_text(path)


@pytest.fixture(scope="module")
def page(context: "BrowserContext") -> "Iterator[Page]":
    opened = context.new_page()
    opened.goto("about:blank")
    opened.add_script_tag(content=join_modules(ENTRY, source))
    yield opened
    opened.close()


def test_sha256_gives_nists_answers(page: "Page") -> None:
    """The digest is SHA-256, also where a message ends at, before and after a block."""
    digest = (
        "hex => wayproof.sha256Hex(Uint8Array.from(hex.match(/../g) ?? [], b => parseInt(b, 16)))"
    )
    for message, expected in NIST.items():
        assert page.evaluate(digest, message) == expected
    for size in (54, 55, 56, 57, 63, 64, 65, 119, 120, 127, 128, 129, 1000):
        data = bytes(index * 7 % 256 for index in range(size))
        assert page.evaluate(digest, data.hex()) == sha256_hex(data)
    million = "wayproof.sha256Hex(new Uint8Array(1e6).fill(97))"
    assert page.evaluate(million) == MILLION_A


@pytest.mark.parametrize("vector", VECTORS, ids=range(len(VECTORS)))
def test_canonical_json_is_pythons(page: "Page", vector: dict[str, str]) -> None:
    """One set of golden vectors for both implementations."""
    assert canonical_bytes(json.loads(vector["input"])).decode("utf-8") == vector["canonical"]
    assert sha256_hex(vector["canonical"].encode("utf-8")) == vector["sha256"]
    written, digest = page.evaluate(
        """input => {
             const text = wayproof.canonicalText(JSON.parse(input));
             return [text, wayproof.sha256Hex(new TextEncoder().encode(text))];
           }""",
        vector["input"],
    )
    assert written == vector["canonical"]
    assert digest == vector["sha256"]


@pytest.mark.parametrize(
    "line",
    [
        '{"b":1,"a":2}',
        '{"a": 1}',
        '{"a":1,"a":1}',
        '{"a":1.0}',
        '{"a":-0}',
        '{"a":1e2}',
        '{"a":9007199254740992}',
        '{"a":9007199254740993}',
        '{"a":"\\u0041"}',
        '{"a":"\\ud800"}',
        '{"a":NaN}',
        "",
        '\ufeff{"a":1}',
    ],
)
def test_a_line_that_is_not_its_own_canonical_text_is_refused(page: "Page", line: str) -> None:
    """Reordered, respaced, repeated, re-spelled or broken: each is refused."""
    refused = page.evaluate(
        "line => { try { wayproof.parseCanonical(line); return false; } catch { return true; } }",
        line,
    )
    assert refused is True


@pytest.mark.parametrize("data", [[0xC0, 0x80, 0x0A], [0xED, 0xA0, 0x80, 0x0A], [0x31]])
def test_bad_utf8_and_cut_off_lines_are_refused(page: "Page", data: list[int]) -> None:
    """Bytes that aren't UTF-8, and a last line without its end."""
    refused = page.evaluate(
        """data => { try { wayproof.linesOf(Uint8Array.from(data)); return false; }
                     catch { return true; } }""",
        data,
    )
    assert refused is True


def sample() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(SAMPLE.read_text("utf-8"))
    return read


def test_every_sample_trial_replays_to_pythons_trace(page: "Page") -> None:
    """The page's world, fed the actions alone, writes Python's trace, byte for byte."""
    found = page.evaluate(
        """sample => sample.trials.map((trial) => {
             const grid = sample.grids.find((each) =>
               each.scenarios.some((s) => s.scenario_id === trial.scenario_id));
             const scenario = grid.scenarios.find((s) => s.scenario_id === trial.scenario_id);
             const steps = wayproof.replay(
               grid, wayproof.unpackActions(grid, scenario, trial.actions));
             const trace = {policy: trial.policy, policy_seed: trial.policy_seed,
                            scenario_id: trial.scenario_id, steps};
             return wayproof.sha256Hex(
               new TextEncoder().encode(wayproof.canonicalText(trace)));
           })""",
        sample(),
    )
    assert found == [trial["trace_sha256"] for trial in sample()["trials"]]


def test_world_and_judge_agree_on_every_cell(page: "Page") -> None:
    """Two statements of the rules: from every cell, to every cell and one beyond, alike."""
    disagreements = page.evaluate(
        """grids => {
             const wrong = [];
             for (const grid of grids) {
               const actions = [{finish: true}];
               for (let row = -1; row <= grid.rows.length; row += 1) {
                 for (let column = -1; column <= grid.rows[0].length; column += 1) {
                   actions.push({move: [row, column]});
                 }
               }
               for (const from of actions.slice(1).map((action) => action.move)) {
                 for (const action of actions) {
                   const a = wayproof.step(
                     grid, {position: from, spent: 5, finished: false}, action);
                   const b = wayproof.ruled(grid, from, 5, action);
                   if (a.accepted !== b.accepted || a.rejection !== b.rejection ||
                       a.state.spent !== b.spent ||
                       String(a.state.position) !== String(b.position)) {
                     wrong.push([grid.grid_id, from, action]);
                   }
                 }
               }
             }
             return wrong;
           }""",
        sample()["grids"][:4],
    )
    assert disagreements == []


def test_the_certificate_finds_every_changed_potential(page: "Page") -> None:
    """Raise, lower or erase any one potential: the certificate no longer holds."""
    survivors = page.evaluate(
        """grid => {
             const survivors = [];
             const p = grid.potentials;
             for (let row = 0; row < p.length; row += 1) {
               for (let column = 0; column < p[row].length; column += 1) {
                 const right = p[row][column];
                 const others = right === null ? [0, 7] : [right + 1, right - 1, null];
                 for (const other of others) {
                   p[row][column] = other;
                   if (wayproof.certificateFault(grid) === null) {
                     survivors.push([row, column, other]);
                   }
                 }
                 p[row][column] = right;
               }
             }
             return [wayproof.certificateFault(grid), survivors];
           }""",
        sample()["grids"][0],
    )
    assert disagreements_free(survivors)


def disagreements_free(answer: list[Any]) -> bool:
    untouched, survivors = answer
    return untouched is None and survivors == []


JUDGED = """([grid, scenario, actions, change]) => {
  const played = actions.map((action, index) => ({
    phase: index < scenario.prefix_length ? "prefix"
      : index === scenario.prefix_length ? "injected" : "policy",
    action,
  }));
  const steps = wayproof.replay(grid, played).map((each) => ({...each}));
  if (change) {
    Object.assign(steps[change.at < 0 ? steps.length + change.at : change.at], change.with);
  }
  return wayproof.judge(grid, scenario, steps, wayproof.replay(grid, steps)).firstFailedCheck;
}"""


def judged(page: "Page", actions: list[Any], change: Any = None) -> Any:
    grid = sample()["grids"][0]
    scenario = grid["scenarios"][0]
    path = grid["reference_path"]
    prefix = [{"move": cell} for cell in path[1 : scenario["prefix_length"] + 1]]
    whole = [*prefix, scenario["injected_action"], *actions]
    return page.evaluate(JUDGED, [grid, scenario, whole, change])


def rest_of_path() -> list[Any]:
    grid = sample()["grids"][0]
    length = grid["scenarios"][0]["prefix_length"]
    return [{"move": cell} for cell in grid["reference_path"][length + 1 :]]


FINISH = {"finish": True}


def test_each_check_is_the_first_to_fail_for_its_own_fault(page: "Page") -> None:
    """A trace with one fault fails at that fault's check and at no other."""
    grid = sample()["grids"][0]
    length = grid["scenarios"][0]["prefix_length"]
    budget = grid["scenarios"][0]["budget"]
    right = [*rest_of_path(), FINISH]
    back = [{"move": grid["reference_path"][length - 1]}, {"move": grid["reference_path"][length]}]
    assert judged(page, right) is None
    assert judged(page, right, {"at": 0, "with": {"spent": 99}}) == "prefix_valid"
    assert judged(page, right, {"at": length, "with": {"rejection": None}}) == "injection_rejected"
    assert judged(page, right, {"at": length, "with": {"spent": 99}}) == "state_unchanged"
    assert judged(page, right, {"at": -1, "with": {"spent": 99}}) == "transitions_valid"
    assert judged(page, [FINISH] * (budget + 1)) == "within_budget"
    assert judged(page, rest_of_path()) == "finished_at_target"
    assert judged(page, [*back, *right]) == "cost_exact"


def test_hostile_text_is_spelled_out(page: "Page") -> None:
    """Escapes and direction overrides become visible text; emoji sequences stay whole."""
    assert page.evaluate("wayproof.visible('a\\u001b[31m\\u202e\\n')") == "a\\x1b[31m\\u202e\\x0a"
    assert page.evaluate("wayproof.visibleBlock('a\\n\\tb\\u2028')") == "a\n\tb\\u2028"
    family = "\U0001f469\u200d\U0001f680"
    assert page.evaluate("text => wayproof.visible(text)", family) == family


def test_forbidden_ranges_are_found_and_merged(page: "Page") -> None:
    """Every occurrence is marked; overlapping ones become one mark."""
    found = page.evaluate("wayproof.forbiddenRanges('grep -r x grep -r', ['grep -r', '-r x', ''])")
    assert found == [[0, 9], [10, 17]]


def test_a_zip_bomb_is_refused(page: "Page", tmp_path: Path) -> None:
    """What unpacks to more than it says, or to more than the limit, is not unpacked."""
    import zipfile

    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", b"0" * 5_000_000)
    data = bytearray(path.read_bytes())
    directory = data.rfind(b"PK\x01\x02")
    data[directory + 24 : directory + 28] = (100).to_bytes(4, "little")
    message = page.evaluate(
        """async bytes => { try { await wayproof.readZip(Uint8Array.from(bytes)); return null; }
                            catch (error) { return error.message; } }""",
        list(data),
    )
    assert message == "larger"
    data[directory + 24 : directory + 28] = (2**31).to_bytes(4, "little")
    message = page.evaluate(
        """async bytes => { try { await wayproof.readZip(Uint8Array.from(bytes)); return null; }
                            catch (error) { return error.message; } }""",
        list(data),
    )
    assert message == "limit"


def test_the_pages_contract_is_pythons(page: "Page") -> None:
    """Limits, independence, method and published counts: word for word."""
    from wayproof.evidence.fitness_names import LIMITS as FITNESS_LIMITS
    from wayproof.evidence.recovery_names import INDEPENDENCE, LIMITS, PUBLISHED
    from wayproof.recovery.summary import summarize

    assert page.evaluate("wayproof.contract") == {
        "FITNESS_LIMITS": list(FITNESS_LIMITS),
        "INDEPENDENCE": INDEPENDENCE,
        "INTERVALS": summarize([], "").intervals,
        "PUBLISHED": [row._asdict() for row in PUBLISHED],
        "PUBLISHED_SUITE": "wfrb-v0",
        "RECOVERY_LIMITS": list(LIMITS),
    }


def test_shares_round_as_pythons_do(page: "Page") -> None:
    """Every share up to 64ths, ties included, and exact means to 6 decimals."""
    from wayproof.fitness.judge import ratio

    pairs = [[part, whole] for whole in range(65) for part in range(whole + 1)]
    assert page.evaluate("pairs => pairs.map((each) => wayproof.ratio(...each))", pairs) == [
        ratio(part, whole) for part, whole in pairs
    ]
    mean = """pairs => { const all = new wayproof.Shares();
                         pairs.forEach((each) => all.add(...each)); return all.roundedMean(); }"""
    assert page.evaluate(mean, [[1, 3], [1, 3], [0, 1]]) == 0.222222
    assert page.evaluate(mean, [[1, 2_000_000]]) == 0
    assert page.evaluate(mean, [[3, 2_000_000]]) == 0.000002
    assert page.evaluate(mean, []) is None


def test_texts_sort_by_code_point(page: "Page") -> None:
    """As their UTF-8 bytes do, above the surrogates too."""
    texts = ["\U0001f600", "\uffee", "a", "", "ab", "\ud7ff", "\ue000"]
    assert page.evaluate("texts => texts.sort(wayproof.compareText)", texts) == sorted(texts)


def test_only_what_is_all_reads_100_per_cent(page: "Page") -> None:
    """Shares near all or nothing get the digits that keep them apart from it."""
    shown = page.evaluate(
        "shares => shares.map((share) => wayproof.percent(share))",
        [1, 0, 19_999 / 20_000, 1 / 20_000, 0.9995, 0.5],
    )
    assert shown == ["100.0%", "0.0%", "99.995%", "0.01%", "99.95%", "50.0%"]


def test_case_folds_as_pythons_does(page: "Page") -> None:
    """Every letter that Python knows, alone and after another, folds to the same text."""
    import unicodedata

    from wayproof.fitness.task import fold

    letters = [
        chr(code)
        for code in range(0x20, 0x1F000)
        if unicodedata.category(chr(code)).startswith(("L", "M", "N"))
        and not 0x3400 <= code <= 0xD7A3
    ]
    folded = page.evaluate("letters => letters.map((each) => wayproof.fold(each))", letters)
    different = [
        letter for letter, theirs in zip(letters, folded, strict=True) if theirs != fold(letter)
    ]
    assert different == []
    words = ["Stra\u00dfe", "\u0399\u03a3", "\u0130x", "e\u0301E\u0301", "\ufb01N"]
    assert page.evaluate("words => words.map((each) => wayproof.fold(each))", words) == [
        fold(word) for word in words
    ]

"""One verdict in both implementations: what Python refuses the page refuses, and the reverse.

Forged bundles with every digest mended go through `wayproof verify`, in this process, and
through the page's own JavaScript, in one browser. Where the two may differ is said in
docs/report/explorer.md, and `KNOWN` repeats it.
"""

import base64
import io
import json
import random
import shutil
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browser.forger import Files, forge, read_files
from wayproof.cli import main
from wayproof.web.join import join_modules
from wayproof.web.page import source_text

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

ENTRY = "explorer/static/under_test.js"
ENTRY_SOURCE = """\
import { checkBundle } from "./bundle.js";
globalThis.verdicts = async (bundles, pins) => {
  const found = [];
  for (const bundle of bundles) {
    const entries = bundle.map(([name, data]) => ({
      name,
      bytes: Uint8Array.from(atob(data), (each) => each.charCodeAt(0)),
    }));
    try {
      const { faults } = await checkBundle(entries, async () => {}, pins);
      found.push(faults.length === 0 ? null : faults[0]);
    } catch (error) {
      if (error.place === undefined) {
        throw error;
      }
      found.push(error.place);
    }
  }
  return found;
};
"""
BATCH = 50


def source(path: str) -> str:
    return ENTRY_SOURCE if path == ENTRY else source_text(path)


@pytest.fixture(scope="module")
def page(context: "BrowserContext") -> "Iterator[Page]":
    opened = context.new_page()
    opened.goto("about:blank")
    opened.add_script_tag(content=join_modules(ENTRY, source))
    yield opened
    opened.close()


def pins() -> dict[str, str]:
    found: dict[str, str] = json.loads(source_text("explorer/static/sample.json"))["pins"]
    return found


def pages_faults(page: "Page", bundles: list[Files]) -> list[Any]:
    """First fault that the page finds in each bundle; None for none."""
    packed = [
        [[name, base64.b64encode(data).decode("ascii")] for name, data in bundle.items()]
        for bundle in bundles
    ]
    found: list[Any] = page.evaluate(
        "([bundles, pins]) => verdicts(bundles, pins)", [packed, pins()]
    )
    return found


def pythons_words(folder: Path, bundle: Files) -> str | None:
    """What `wayproof verify` says against a bundle; None where it holds."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, data in bundle.items():
        (folder / name).write_bytes(data)
    said = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(said):
        status = main(["verify", str(folder)])
    assert status in {0, 2, 3}, status
    return None if status == 0 else said.getvalue().strip()


def honest(folder: Path) -> dict[str, Files]:
    """Return small bundles of every form that can be checked."""
    return {**recovery_bundles(folder), **fitness_bundles(folder)}


def quietly(*arguments: "str | Path") -> None:
    with redirect_stdout(io.StringIO()):
        assert main([*map(str, arguments)]) in {0, 1}


def recovery_bundles(folder: Path) -> dict[str, Files]:
    suite = folder / "suite.jsonl"
    quietly(
        *("recovery", "generate", "--suite", "wfrb-v0", "--grids", "2", "--seed", "4"),
        *("--side-max", "6", "--out", suite),
    )
    quietly("recovery", "run", "--suite", suite, "--seeds", "0,3", "--out", folder / "controls")
    return {
        "controls": read_files(folder / "controls"),
        "client": read_files(client_bundle(suite, folder / "client")),
        "inspect": read_files(inspect_bundle(suite, folder / "client", folder / "inspect")),
    }


class Wanderer:
    """A client agent that moves right and down, repeats itself, and sometimes breaks."""

    name = "wanderer"

    def __init__(self, draw: Any) -> None:
        self.draw = draw

    def propose(self, observation: Any) -> Any:
        from wayproof.evidence.recovery_records import FINISH, Action

        if observation.position == observation.grid.target:
            return FINISH
        how = self.draw.below(12)
        if how == 0:
            raise RuntimeError("lost")
        if how == 1:
            return "north"
        row, column = observation.position
        return Action.to(row + (how % 2), column + 1 - (how % 2))


def client_bundle(suite: Path, out: Path) -> Path:
    from wayproof.recovery.agents.policy import client_agent
    from wayproof.recovery.run import RunRequest, run_suite

    request = RunRequest(
        suite=suite, policies=(client_agent("wanderer", Wanderer),), policy_seeds=(0, 1)
    )
    run_suite(request, out)
    return out


def inspect_bundle(suite: Path, client: Path, out: Path) -> Path:
    """The same actions as from a log of Inspect, some of which come to an early end."""
    from wayproof.evidence.recovery_records import AgentRecord
    from wayproof.llm.dialogue import LoggedTrial, replaying_source
    from wayproof.recovery.agents.policy import client_stream_seed
    from wayproof.recovery.run import RunRequest, run_suite
    from wayproof.recovery.suite import SuiteReader

    with SuiteReader(suite) as reader:
        suite_id = reader.header.suite_id
        streams = {
            case.scenario_id: case.stream_id for _, grid in reader.grids() for case in grid.cases()
        }
    endings: tuple[Any, ...] = ("crashed", "limit_reached", "malformed")
    trials = {}
    for at, line in enumerate((client / "traces.jsonl").read_bytes().splitlines()):
        trace = json.loads(line)
        stream = streams[trace["scenario_id"]]
        seed = client_stream_seed(suite_id, stream, trace["policy_seed"])
        actions = tuple(action_of(step) for step in trace["steps"] if step["phase"] == "policy")
        trials[seed] = LoggedTrial(actions, endings[at % 3])
    details = {
        "generation config": '{"temperature": 0.0, "seed": null}',
        "log SHA-256": "0" * 64,
        "model": "maker/model:latest \u2028 <b>",
        "prompt SHA-256": "f" * 64,
        "protocol": "tools",
        "task version": "1",
        "token usage": '{"maker/model": {"input_tokens": 12}}',
        "versions": "{}",
    }
    identity = AgentRecord(details=details, kind="inspect", policy="maker-model")
    source = replaying_source("maker-model", trials, identity)
    run_suite(RunRequest(suite=suite, policies=(source,), policy_seeds=(0, 1)), out)
    outcomes = {json.loads(line)["agent_outcome"] for line in result_lines(out)}
    assert {"ok", *endings} >= outcomes > {"limit_reached"}
    return out


def result_lines(bundle: Path) -> list[bytes]:
    return (bundle / "results.jsonl").read_bytes().splitlines()


def action_of(step: Any) -> Any:
    from wayproof.evidence.recovery_records import FINISH, Action

    return FINISH if "finish" in step["action"] else Action.to(*step["action"]["move"])


def fitness_bundles(folder: Path) -> dict[str, Files]:
    bundles = {}
    for name, more in (("scored", []), ("brief", ["--summary-only"])):
        place = folder / name
        place.mkdir()
        tasks, packets = odd_inputs(random.Random(name))
        for file, rows in (("tasks", tasks), ("packets", packets)):
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (place / f"{file}.jsonl").write_text(text, "utf-8")
        inputs = [f"--{file}={place / file}.jsonl" for file in ("tasks", "packets")]
        quietly("fitness", "score", *inputs, "--out", place / "bundle", *more)
        bundles[name] = read_files(place / "bundle")
    return bundles


IDS = ("a", "a/b.py", "src/*", "\u00e9", "x:1", "lib/c.py", "\U0001f600*")
TERMS = ("cold", "Stra\u00dfe", "index", "\u0130", "x")


def odd_inputs(draw: random.Random) -> tuple[list[Any], list[Any]]:
    """Return tasks and packets with every odd thing that scoring takes."""
    tasks: list[Any] = []
    packets: list[Any] = []
    for number in range(14):
        task: dict[str, Any] = {
            "task_id": draw.choice(("t", "\u00e9", "\U0001f600", "z#2")) + f"{number}",
            "family": draw.choice(("f", "g")),
            "expected_artifacts": draw.sample(IDS, draw.randrange(4)),
            "forbidden_first_routes": draw.choice(([], ["grep"], ["cat", "rm -r"])),
            "scent_terms": draw.sample(TERMS, draw.randrange(4)),
            "latency_budget_ms": draw.choice((1, 100, 1500)),
        }
        for name in draw.sample(("family", "scent_terms", "latency_budget_ms"), draw.randrange(3)):
            del task[name]
        tasks.append(task)
        attempts = range(1, 1 + draw.randrange(3))
        packets.extend(odd_packet(draw, task["task_id"], attempt) for attempt in attempts)
    return tasks, packets


def odd_packet(draw: random.Random, task_id: str, attempt: int) -> dict[str, Any]:
    packet: dict[str, Any] = {
        "task_id": task_id,
        "attempt": attempt,
        "first_contact_command": draw.choice((None, " ", "grep -r x", "cat a && rm -r b")),
        "command_used": draw.choice((None, "other")),
        "wall_ms": draw.choice((None, 0, 1, 99.9996, 100, 1e6, 2**53 - 1)),
        "timed_out": draw.random() < 0.2,
        "error": draw.choice(
            (None, None, "", "broke", {}, {"code": 1.5, "x": [None, {"y": "\u2028"}]})
        ),
        "selected_artifacts": draw.sample(
            ("a", "src/x", "lib/c.py", "\u00e9", "q"), draw.randrange(4)
        ),
        "summary": " ".join(draw.sample(TERMS, draw.randrange(4))),
    }
    for name in draw.sample(sorted(packet), draw.randrange(2)):
        if name not in {"task_id", "attempt"}:
            del packet[name]
    return packet


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    return honest(tmp_path_factory.mktemp("honest"))


def test_both_accept_what_is_honest(
    page: "Page", bundles: dict[str, Files], tmp_path: Path
) -> None:
    """Bundles of controls, of client agents that break, of Inspect, and of odd fitness inputs."""
    assert pages_faults(page, list(bundles.values())) == [None] * len(bundles)
    for name, bundle in bundles.items():
        assert pythons_words(tmp_path / "bundle", bundle) is None, name


FORGED = {"controls": 500, "client": 250, "inspect": 250, "scored": 900, "brief": 100}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FORGED))
def test_forged_bundles_have_one_verdict(
    page: "Page", bundles: dict[str, Files], tmp_path: Path, name: str
) -> None:
    """2,000 forged bundles: refused by both or by none, but for what the docs list."""
    draw = random.Random(f"forged {name}")
    differences = []
    refused = 0
    for start in range(0, FORGED[name], BATCH):
        batch = [forge(draw, bundles[name]) for _ in range(min(BATCH, FORGED[name] - start))]
        for at, fault in enumerate(pages_faults(page, batch)):
            words = pythons_words(tmp_path / "bundle", batch[at])
            refused += words is not None
            if (fault is None) != (words is None):
                differences.append((start + at, words, fault))
    assert not differences, "\n".join(map(str, differences))
    assert refused > FORGED[name] // 2


@pytest.mark.slow
def test_both_accept_whatever_scoring_writes(page: "Page", tmp_path: Path) -> None:
    """Bundles scored from random odd inputs hold, in Python and in the page."""
    bundles = []
    for number in range(60):
        draw = random.Random(f"honest {number}")
        tasks, packets = odd_inputs(draw)
        tasks.append({"task_id": "stated", "expected_artifacts": ["a"]})
        for file, rows in (("tasks", tasks), ("packets", packets)):
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (tmp_path / f"{file}.jsonl").write_text(text, "utf-8")
        inputs = [f"--{file}={tmp_path / file}.jsonl" for file in ("tasks", "packets")]
        quietly("fitness", "score", *inputs, "--out", tmp_path / "bundle", "--overwrite")
        bundles.append(read_files(tmp_path / "bundle"))
    assert pages_faults(page, bundles) == [None] * len(bundles)
    for bundle in bundles:
        assert pythons_words(tmp_path / "again", bundle) is None

"""Known answers of the recovery room: make them, compare them, show the difference.

    python tests/golden/remake_recovery.py            compare with tests/golden/recovery
    python tests/golden/remake_recovery.py --write    write them anew

They are for anyone who implements the streams, the world or the verifier again:

* ``streams.json``: ids, the seed made from them, the first integers, bounded integers;
* ``suite.jsonl``, ``traces.jsonl``, ``results.jsonl``: the worked 4 x 4 grid, run by the
  three controls, seed 0, as canonical lines;
* ``verdicts.jsonl``: edited traces of one scenario, with the checks that each gets;
* ``digests.json``: SHA-256 of the shipped suites and of the reference result.
"""

import difflib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from wayproof.canonical import canonical_bytes, record_bytes
from wayproof.evidence.recovery_records import FINISH, Action, GridRecord, Step, SuiteHeader, Trace
from wayproof.recovery.agents.controls import CONTROL_SOURCES
from wayproof.recovery.suite import PINNED_SUITES, REFERENCE_RESULTS_SHA256
from wayproof.recovery.track import Agent, WrittenTrace
from wayproof.recovery.tracks.v0 import LoadedGrid, load_grid, verdict_on
from wayproof.recovery.trial import run_trial
from wayproof.stats.seeded import stream, stream_seed

FOLDER = Path(__file__).parent / "recovery"

HEADER = (
    b'{"generator":{"name":"by-hand","parameters":{},"seed":0},'
    b'"schema_version":"wayproof.recovery-suite/1","suite_id":"worked"}'
)
# docs/recovery/certificate.md works this grid out by hand.
WORKED = (
    b'{"grid_id":"worked-g000",'
    b'"potentials":[[8,9,4,1],[7,null,1,0],[6,3,2,1],[5,4,3,2]],'
    b'"reference_path":[[0,0],[1,0],[2,0],[3,0],[3,1],[3,2],[2,2],[2,3],[1,3]],'
    b'"rows":["1193","1#91","1911","1119"],"scenarios":['
    b'{"budget":28,"failure_kind":"collision","injected_action":{"move":[1,1]},'
    b'"prefix_length":1,"scenario_id":"worked-g000-collision"},'
    b'{"budget":28,"failure_kind":"invalid_path","injected_action":{"move":[2,2]},'
    b'"prefix_length":1,"scenario_id":"worked-g000-invalid_path"},'
    b'{"budget":20,"failure_kind":"premature_end","injected_action":{"finish":true},'
    b'"prefix_length":3,"scenario_id":"worked-g000-premature_end"}],'
    b'"start":[0,0],"target":[1,3]}'
)
STREAM_IDS: list[list[str | int]] = [
    ["wayproof.example/1"],
    ["wayproof.recovery.policy/1", "wfrb-v0", "wfrb-v0-g000-collision", "random-walk", 0],
    ["wayproof.recovery.policy/1", "wfrb-v0", "wfrb-v0-g000-collision", "random-walk", 1],
    ["wayproof.recovery.grids/1", 0, 0, 0],
    ["wayproof.statistics.index-table/1", 50],
]


def made() -> dict[str, bytes]:
    """Return every file of known answers by name."""
    worked = load_grid(msgspec.json.decode(WORKED, type=GridRecord))
    msgspec.json.decode(HEADER, type=SuiteHeader)
    traces, results = _run(worked)
    return {
        "digests.json": _pretty({"results": REFERENCE_RESULTS_SHA256, "suites": PINNED_SUITES}),
        "results.jsonl": _lines(results),
        "streams.json": _pretty([_stream(ids) for ids in STREAM_IDS]),
        "suite.jsonl": _lines([HEADER, WORKED]),
        "traces.jsonl": _lines(traces),
        "verdicts.jsonl": _lines(_verdicts(worked)),
    }


def _lines(lines: Iterator[bytes] | list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def _pretty(value: Any) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True).encode() + b"\n"


def _stream(ids: list[str | int]) -> dict[str, Any]:
    first, bounded, words = (stream(*ids) for _ in range(3))
    return {
        "ids": ids,
        "seed": f"{stream_seed(*ids):016x}",
        "first": [f"{first.next_u64():016x}" for _ in range(4)],
        "below": [[bound, bounded.below(bound)] for bound in (4, 9, 100, 3, 2**40 + 1)],
        "many_below_50": words.many_below(50, 12),
    }


def _run(worked: LoadedGrid) -> tuple[list[bytes], list[bytes]]:
    traces, results = [], []
    for source in CONTROL_SOURCES.values():
        for case in worked.cases():
            ran = run_trial("worked", case, source, 0)
            written = WrittenTrace(ran.trace, record_bytes(ran.trace))
            agent = Agent(source.evidence_class, ran.agent_outcome)
            traces.append(written.line)
            results.append(case.find("worked", written, agent).line)
    return traces, results


def _verdicts(worked: LoadedGrid) -> Iterator[bytes]:
    case = worked.cases()[0]
    honest = run_trial("worked", case, CONTROL_SOURCES["planner"], 0).trace
    for name, edit in _EDITS.items():
        steps = list(honest.steps)
        edit(steps)
        trace = Trace(
            policy="planner", policy_seed=0, scenario_id=case.scenario_id, steps=tuple(steps)
        )
        verdict = verdict_on(case, trace)
        failure = verdict.failure
        yield canonical_bytes(
            {
                "name": name,
                "trace": msgspec.to_builtins(trace),
                "checks": msgspec.to_builtins(verdict.checks),
                "first_failed_check": None if failure is None else failure.check,
                "step": None if failure is None else failure.step,
            }
        )


def _change(at: int, **fields: Any) -> Callable[[list[Step]], None]:
    def edit(steps: list[Step]) -> None:
        steps[at] = msgspec.structs.replace(steps[at], **fields)

    return edit


def _detour(steps: list[Step]) -> None:
    there = msgspec.structs.replace(steps[2], action=Action.to(0, 0), position=(0, 0), spent=2)
    back = msgspec.structs.replace(steps[2], action=Action.to(1, 0), position=(1, 0), spent=3)
    later = [msgspec.structs.replace(step, spent=step.spent + 2) for step in steps[2:]]
    steps[2:] = [there, back, *later]


_EDITS: dict[str, Callable[[list[Step]], None]] = {
    "honest": lambda _: None,
    "no steps": lambda steps: steps.clear(),
    "another prefix": _change(0, action=Action.to(0, 1)),
    "no injection": lambda steps: steps.__delitem__(slice(1, None)),
    "injection of another kind": _change(1, rejection="invalid_path"),
    "injection that moved": _change(1, position=(1, 1)),
    "rejection that cost": _change(3, accepted=False, rejection="collision", spent=9),
    "teleport": _change(4, position=(3, 3)),
    "cheaper step": _change(4, spent=3),
    "finish elsewhere": _change(4, action=FINISH),
    "step after the end": lambda steps: steps.append(steps[-1]),
    "no finish": lambda steps: steps.__delitem__(-1),
    "legal detour": _detour,
}


def main() -> int:
    """Compare or write; 1 when something differs."""
    write = sys.argv[1:] == ["--write"]
    different = 0
    for name, data in made().items():
        path = FOLDER / name
        before = path.read_bytes() if path.exists() else b""
        if before == data:
            continue
        different += 1
        sys.stdout.writelines(
            difflib.unified_diff(
                before.decode().splitlines(keepends=True),
                data.decode().splitlines(keepends=True),
                f"{name} (kept)",
                f"{name} (made)",
            )
        )
        if write:
            path.write_bytes(data)
    return 1 if different and not write else 0


if __name__ == "__main__":
    sys.exit(main())

"""What a user writes; every line must type-check under ``mypy --strict``."""

from pathlib import Path

import wayproof


class Patient:
    """A policy of one's own."""

    name = "patient"

    def __init__(self, stream: object) -> None:
        self.stream = stream

    def propose(self, seen: wayproof.Observation) -> wayproof.Action:
        """Ask to finish where the target is, else go down."""
        if seen.position == seen.target:
            return wayproof.FINISH
        return wayproof.Action(move=(seen.position[0] + 1, seen.position[1]))


task: wayproof.TaskDict = {"task_id": "t", "expected_artifacts": ["src/a.py"]}
packet: wayproof.PacketDict = {"task_id": "t", "selected_artifacts": ["src/a.py"], "wall_ms": 3}

result = wayproof.evaluate(task, packet)
recall: float = result.recall_at_packet
kind: str | None = result.sufficiency_failure_kind

scored = wayproof.score([task], [packet], gates=[wayproof.Gate.min_sufficient("60%")])
count: int = scored.summary.sufficiency_pass_count
first: wayproof.TaskResult = scored.results[0]
names: list[str] = [one.task_id for one in scored.results]
lines: list[str] = [gate.line() for gate in scored.gates]
rows = scored.to_dicts()

bundle = wayproof.run(Patient, out=Path("out"))
verified: int = bundle.summary.policies[0].total.verified
moves: int = sum(len(trace.steps) for trace in bundle.traces)
verdict: str = wayproof.verify("out").verdict

read = wayproof.read_bundle("out")
if isinstance(read, wayproof.RecoveryBundle):
    grids: int = read.summary.grids
typed: wayproof.FitnessBundle = wayproof.read_bundle("out", kind="fitness")

packets = wayproof.capture_logs("logs", select="matched").packets
again = wayproof.score("tasks.jsonl", packets)

try:
    wayproof.verify("nowhere")
except wayproof.IntegrityError as error:
    where: str | None = error.file
except wayproof.WayproofError:
    pass

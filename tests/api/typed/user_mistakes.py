"""What a user gets wrong; mypy must complain in each marked line, and nowhere else."""

import wayproof

result = wayproof.evaluate({"task_id": "t"}, {})
result.recal_at_packet  # fails: attr-defined
result.recall_at_packet = 1.0  # fails: misc
wayproof.scroe([], [])  # fails: attr-defined

task: wayproof.TaskDict = {"expected_artefacts": ["a"]}  # fails: typeddict-unknown-key
packet: wayproof.PacketDict = {"wall_ms": "5"}  # fails: typeddict-item

scored = wayproof.score([], [], ouput="x")  # fails: call-arg
scored.summary.sufficiency_passes  # fails: attr-defined
wayproof.score(3, [])  # fails: arg-type
wayproof.Gate.max_debts("speed", 3)  # fails: arg-type
wayproof.run(policy=3)  # fails: arg-type
wayproof.read_bundle("x", kind="report")  # fails: call-overload
wayproof.read_bundle("x").results[0].task_id  # fails: union-attr
wayproof.capture_logs("x", select="all")  # fails: arg-type

"""Task drafts from sessions: the prompt, and expectations for a person to fill in."""

from collections.abc import Sequence
from typing import Any

from wayproof.capture.collect import Captured

__all__ = ["draft_tasks"]


def draft_tasks(
    captured: Sequence[Captured], packets: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return one draft for each distinct task id, in order.

    A draft has ``draft: true`` and is refused by scoring until a person has filled in
    what the task needs and taken the mark away: nothing expected would score as perfect.
    """
    by_packet = {id(one.packet): one for one in captured}
    prompts = {one.session_id or one.file: one.route.prompt for one in by_packet.values()}
    drafts: dict[str, dict[str, Any]] = {}
    for packet in packets:
        task_id = packet["task_id"]
        if task_id in drafts:
            continue
        source = packet["source"]
        prompt = prompts.get(source.get("session_id") or source["file"])
        drafts[task_id] = {
            "task_id": task_id,
            "draft": True,
            "family": "captured",
            "task_prompt": prompt or "",
            "route_type": source["format"],
            "expected_artifacts": [],
            "forbidden_first_routes": [],
            "scent_terms": [],
            "latency_budget_ms": 1500,
        }
    return list(drafts.values())

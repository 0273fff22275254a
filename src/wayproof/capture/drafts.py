"""Task drafts from sessions: the prompt, and expectations for a person to fill in."""

from collections.abc import Sequence
from typing import Any

from wayproof.capture.collect import Captured

__all__ = ["SUGGESTION_LIMIT", "draft_tasks"]

SUGGESTION_LIMIT = (
    "Suggested: what a change touched is not all that a good first move may point at, and may be "
    "more than it must. Confirm or correct before use."
)
"""Said in every draft that suggests something."""

_BUDGET_MS = 1500


def draft_tasks(
    captured: Sequence[Captured],
    packets: Sequence[dict[str, Any]],
    *,
    accept_suggestions: bool = False,
) -> list[dict[str, Any]]:
    """Return one draft for each distinct task id, in order.

    A draft has ``draft: true`` and is set aside by scoring until a person has filled in
    what the task needs and taken the mark away: nothing expected would score as perfect.
    It suggests the files that the session edited. Sessions that asked nothing get none.

    Parameters
    ----------
    captured
        The sessions, with the files that they edited.
    packets
        The packets of those that belong to tasks.
    accept_suggestions
        Take suggestions for expectations: the task is no draft, and says where they are from.
    """
    by_place = {_place(one.packet["source"]): one for one in captured}
    drafts: dict[str, dict[str, Any]] = {}
    for packet in packets:
        session = by_place.get(_place(packet["source"]))
        if packet["task_id"] not in drafts and session is not None and _asks(session):
            drafts[packet["task_id"]] = _draft(packet, session, accept=accept_suggestions)
    return list(drafts.values())


def _place(source: dict[str, Any]) -> tuple[str, str | None, str | None]:
    return source["file"], source.get("session_id"), source.get("part")


def _asks(session: Captured) -> bool:
    """Whether a session asked something; without logged prompts, whether it called a tool."""
    if session.route.info.ranked is not None:
        return False
    return bool(session.route.prompt) or (
        not session.route.info.prompts_logged and bool(session.route.steps)
    )


def _draft(packet: dict[str, Any], session: Captured, *, accept: bool) -> dict[str, Any]:
    suggested = list(session.edited)
    draft: dict[str, Any] = {
        "task_id": packet["task_id"],
        "draft": True,
        "family": "captured",
        "task_prompt": session.route.prompt or "",
        "route_type": packet["source"]["format"],
        "expected_artifacts": [],
        "forbidden_first_routes": [],
        "scent_terms": [],
    }
    if "wall_ms" in packet and not packet.get("includes_wait"):
        draft["latency_budget_ms"] = _BUDGET_MS
    if suggested and accept:
        del draft["draft"]
        draft |= {"expected_artifacts": suggested, "expected_from": "session_edits"}
    elif suggested:
        draft |= {"suggested_artifacts": suggested, "_comment": SUGGESTION_LIMIT}
    return draft

"""The files that ``wayproof init`` writes: small, commented, and they score as they are.

JSON has no comments, so each record explains itself under ``_comment``, a key that
scoring ignores like every key it doesn't know.
"""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from wayproof.bundles.places import refuse_inside_bundle
from wayproof.bundles.whole_file import whole_file
from wayproof.errors import OutputError

__all__ = ["STARTER_FILES", "write_line_files", "write_starter"]

_TASKS: list[dict[str, Any]] = [
    {
        "_comment": "One task a line. expected_artifacts are the stable ids a good first route "
        "points at; an id that ends in * is a prefix.",
        "task_id": "find-retry-policy",
        "family": "getting_started",
        "task_prompt": "Where is it decided how often a failed request is tried again?",
        "route_type": "search",
        "expected_artifacts": ["src/http/retry.py"],
        "forbidden_first_routes": ["find /", "grep -r"],
        "latency_budget_ms": 1500,
        "scent_terms": ["retry"],
    },
    {
        "_comment": "What is left out takes a visible default: defaulted_fields lists it.",
        "task_id": "find-release-notes",
        "task_prompt": "What changed in the last release?",
        "route_type": "search",
        "expected_artifacts": ["CHANGELOG.md"],
        "latency_budget_ms": 500,
    },
    {
        "_comment": "No packet was captured for this one: it is scored as route_error.",
        "task_id": "find-owner",
        "route_type": "search",
        "expected_artifacts": [".github/CODEOWNERS"],
    },
]

_PACKETS: list[dict[str, Any]] = [
    {
        "_comment": "One packet a line, joined to its task by task_id. This one is sufficient "
        "and in time.",
        "task_id": "find-retry-policy",
        "first_contact_command": "rg --files-with-matches retry src",
        "wall_ms": 42.5,
        "timed_out": False,
        "error": None,
        "selected_artifacts": ["src/http/retry.py", "src/http/client.py"],
        "selected_rows": [],
        "summary": "two files mention retry",
    },
    {
        "_comment": "The right id, but 830 ms against a budget of 500: sufficient and slow, so "
        "one latency debt and no sufficiency debt.",
        "task_id": "find-release-notes",
        "first_contact_command": "repo-map --query 'what changed lately'",
        "wall_ms": 830,
        "selected_rows": [
            {"artifact_ids": ["CHANGELOG.md"], "title": "Changelog", "reason": "lists changes"}
        ],
    },
]

STARTER_FILES: dict[str, list[dict[str, Any]]] = {
    "tasks.jsonl": _TASKS,
    "packets.jsonl": _PACKETS,
}


def write_starter(folder: Path) -> list[Path]:
    """Write the starter files into ``folder``, which is made when it doesn't exist.

    Raises
    ------
    OutputError
        When one of the files exists already, or the folder can't be written to.
        Nothing is written then.
    """
    return write_line_files(folder, STARTER_FILES)


def write_line_files(folder: Path, files: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Path]:
    """Write JSON Lines files by name; an existing one is never touched.

    Raises
    ------
    OutputError
        As :func:`write_starter` does.
    """
    refuse_inside_bundle(folder, str(folder))
    paths = [folder / name for name in files]
    for path in paths:
        if os.path.lexists(path):
            raise OutputError(
                "already exists; nothing was written", file=str(path), mend="choose another folder"
            )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError("can't be written to", file=str(folder), found=error.strerror) from None
    with ExitStack() as stack:
        places = [stack.enter_context(whole_file(path, overwrite=False)) for path in paths]
        for file, records in zip(places, files.values(), strict=True):
            for record in records:
                file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
    return paths

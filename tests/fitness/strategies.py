"""Hypothesis strategies: tasks and packets small enough that they meet each other often."""

from typing import Any

from hypothesis import strategies as st

IDS = ("a", "a:1", "a:2", "b:1", "ab", "src/x.py", "src/y.py", "é", "e\u0301", " ", "", "zz")
WANTED = (*IDS, "a*", "src/*", "*", "b:*")
WORDS = (
    "Index",
    "index",
    "ledger",
    "STRASSE",
    "straße",
    "é",
    "e\u0301",
    "İ",
    "a:1",
    " ",
    "",
    "x\ny",
)
COMMANDS = ("", " ", "grep -r index", "kernel --paper-module x", "é", "find / -name ledger")

texts = st.one_of(st.none(), st.sampled_from(WORDS), st.text(max_size=6))
commands = st.one_of(st.none(), st.sampled_from(COMMANDS), st.text(max_size=6))


def _maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), strategy)


def tasks(task_id: st.SearchStrategy[Any] | None = None) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {} if task_id is None else {"task_id": task_id},
        optional={
            **({"task_id": texts} if task_id is None else {}),
            "family": texts,
            "task_prompt": texts,
            "route_type": _maybe(st.sampled_from(("search", "map", "context_pack"))),
            "expected_artifacts": _maybe(st.lists(st.sampled_from(WANTED), max_size=4)),
            "forbidden_first_routes": _maybe(
                st.lists(st.sampled_from(("grep -r", "--paper-module", " ", "", "é")), max_size=3)
            ),
            "latency_budget_ms": _maybe(st.integers(1, 2000)),
            "route_role": texts,
            "scent_terms": _maybe(st.lists(st.sampled_from(WORDS), max_size=4)),
            "literal_ids": _maybe(st.lists(st.sampled_from(WANTED), max_size=2)),
            "relevance": _maybe(
                st.dictionaries(
                    st.one_of(st.sampled_from(WANTED), st.text(max_size=3)),
                    st.integers(-2, 3),
                    max_size=3,
                )
            ),
            "notes": texts,
        },
    )


rows = st.fixed_dictionaries(
    {},
    optional={
        "kind_id": texts,
        "row_id": texts,
        "artifact_ids": _maybe(st.lists(st.sampled_from(IDS), max_size=2)),
        "title": texts,
        "summary": texts,
        "reason": texts,
        "rank": st.integers(),
    },
)
json_objects = st.dictionaries(
    st.text(max_size=4),
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53) + 1, 2**53 - 1), st.text(max_size=4)),
    max_size=3,
)
walls_ms = st.one_of(
    st.integers(0, 3000),
    st.floats(0, 3000, allow_nan=False),
    st.floats(0, 2**53 - 1, allow_nan=False),
    st.sampled_from((0, 0.0005, 1500, 1500.0004, 1500.0006, 2**53 - 1)),
)


def packets(**required: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        required,
        optional={
            "first_contact_command": commands,
            "command_used": commands,
            "wall_ms": _maybe(walls_ms),
            "timed_out": _maybe(st.booleans()),
            "error": st.one_of(st.none(), st.just(""), st.just("boom"), json_objects),
            "selected_artifacts": _maybe(st.lists(st.sampled_from(IDS), max_size=4)),
            "selected_rows": _maybe(st.lists(rows, max_size=3)),
            "summary": texts,
            "title": texts,
            "route_hint": texts,
            "unknown_key": st.integers(),
        },
    )

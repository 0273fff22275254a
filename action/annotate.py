"""Print GitHub annotations for new debts and failed gates, and set the output ``new-debts``.

    python annotate.py COMPARISON.json

Text from bundles may hold anything. In the workflow commands that annotations are, ``%``, CR
and LF are escaped, and in their properties ``:`` and ``,`` as well, so that no id can start a
command of its own.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

MOST = 10
"""GitHub shows ten annotations of a kind for a step."""


def data(text: str) -> str:
    """Escape the message of a workflow command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def value(text: str) -> str:
    """Escape a property of a workflow command."""
    return data(text).replace(":", "%3A").replace(",", "%2C")


def annotations(comparison: dict[str, Any]) -> list[str]:
    """Return a line for each failed or undecided gate, and for the first new debts."""
    lines = [
        f"::{'error' if gate['state'] == 'fail' else 'warning'} title={value(gate['name'])}::"
        f"{data(gate['line'])}"
        for gate in comparison["gates"]
        if gate["state"] != "pass"
    ]
    debts = [
        debt
        for queue in comparison.get("queues", ())
        for debt in queue["debts"]
        if debt["change"] == "new"
    ]
    lines += [
        f"::warning title={value('new debt: ' + debt['debt_id'][:200])}::"
        f"{data(debt['debt_id'][:500])} ({data(debt['after'])})"
        for debt in debts[:MOST]
    ]
    if len(debts) > MOST:
        lines.append(f"::warning::and {len(debts) - MOST} more new debts")
    return lines


def main() -> None:
    """Read the comparison, where there is one."""
    path = Path(sys.argv[1])
    if not path.is_file():
        return
    comparison = json.loads(path.read_text("utf-8"))
    count = sum(queue["new"] for queue in comparison.get("queues", ()))
    with Path(os.environ["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as out:
        out.write(f"new-debts={count}\n")
    for line in annotations(comparison):
        print(line)


if __name__ == "__main__":
    main()

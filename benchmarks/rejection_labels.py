"""The figures of rejected calls on logs that people labelled.

Run it as ``python benchmarks/rejection_labels.py EVENTS.jsonl``: the labels, one JSON object a
line; the logs lie beside them, under the paths that the labels name. Each labelled call is
judged as an opening of its own, since the labels were given call by call. It prints counts with
exact binomial intervals (Clopper and Pearson, 95 %), each bound, and every label that differs;
the exit status is 1 when a bound isn't met.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from wayproof.evidence.rejection_names import REACHED
from wayproof.evidence.rejection_records import Episode
from wayproof.rejections.collect import Watched, watch_logs

_FINER = {
    "failing": "not_reached", "not_pursued": "not_reached", "ended": "not_reached",
    "complied": "not_repeated",
}  # fmt: skip
"""Words of the labels' first draft."""
_MAY_NOT_EXIST = {"no_such_file", "is_a_directory", "edit_noop", "already_so"}


class Share(NamedTuple):
    """A count of a count, and what it must come to."""

    name: str
    hits: int
    of: int
    at_least: float | None = None
    most_wrong: int | None = None

    @property
    def holds(self) -> bool:
        """Whether the bound is met."""
        if self.most_wrong is not None:
            return self.of - self.hits <= self.most_wrong
        return self.at_least is None or self.hits >= self.at_least * self.of

    def __str__(self) -> str:
        low, high = exact_interval(self.hits, self.of)
        share = f"{self.hits / self.of:.3f}" if self.of else "–"
        bound = f"at most {self.most_wrong} wrong" if self.most_wrong is not None else ""
        if self.at_least is not None:
            bound = f"≥ {self.at_least:.2f}"
        mark = "ok" if self.holds else "NOT MET"
        return (
            f"{self.name:<34} {self.hits:>3} of {self.of:>3}  {share}  "
            f"[{low:.3f}, {high:.3f}]  {bound:<16} {mark if bound else ''}"
        )


def exact_interval(hits: int, count: int) -> tuple[float, float]:
    """Return the exact 95 % interval of a share (Clopper and Pearson), by bisection."""
    from math import comb

    def tail(p: float, least: int) -> float:
        return sum(comb(count, k) * p**k * (1 - p) ** (count - k) for k in range(least, count + 1))

    def solve(least: int, wanted: float) -> float:
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if tail(middle, least) < wanted else (low, middle)
        return low

    lower = 0.0 if hits == 0 else solve(hits, 0.025)
    upper = 1.0 if hits == count else solve(hits + 1, 0.975)
    return lower, upper


def wanted(event: dict[str, Any]) -> tuple[str, str]:
    """Return a label's stratum and outcome in the words of today."""
    stratum = "failed" if event["stratum"] == "script" else event["stratum"]
    outcome = _FINER.get(event["outcome"], event["outcome"])
    if outcome == "not_reached" and event["kind"] in _MAY_NOT_EXIST:
        outcome = "undecided"
    return stratum, outcome


def judged(events: list[dict[str, Any]], folder: Path) -> Iterator[tuple[Any, Episode | None]]:
    """Yield each label with the episode that its call opened."""
    by_file: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        by_file.setdefault(event["file"], []).append(event)
    for file, labels in sorted(by_file.items()):
        logs = watch_logs([folder / file], each_opens=True)
        for label in labels:
            yield label, _episode(logs.sessions, label)


def _episode(sessions: tuple[Watched, ...], label: dict[str, Any]) -> Episode | None:
    for session in sessions:
        several = len(sessions) > 1
        if several and session.record.session_id != label["session"]:
            continue
        for one in session.episodes:
            place = one.source.lines.rejection, one.source.call_id
            if place == (label["line"], label["call_id"]):
                return one
    return None


def figures(pairs: list[tuple[Any, Episode | None]]) -> Iterator[Share]:
    """Yield the figures and their bounds."""
    claims = right = floor = floor_right = equal = found = findable = 0
    called = called_right = labelled = labelled_found = 0
    decided = decidable = refused = refused_right = 0
    for label, episode in pairs:
        stratum, outcome = wanted(label)
        same = episode is not None and episode.stratum == stratum
        reached = label["outcome"] in REACHED
        labelled += stratum == "invalid"
        if episode is not None and episode.stratum == "invalid":
            called += 1
            called_right += stratum == "invalid"
        labelled_found += same and stratum == "invalid"
        if stratum in {"invalid", "malformed"}:
            findable += reached and not label["by_other_means"]
            if same and episode is not None and episode.outcome in REACHED:
                claims += 1
                right += reached
                found += reached and not label["by_other_means"]
                equal += reached and episode.extra_calls == label["extra_calls"]
                if episode.outcome == "recovered":
                    floor += 1
                    floor_right += label["outcome"] == "recovered"
        if same and stratum == "invalid" and outcome != "undecided" and episode is not None:
            decidable += 1
            decided += episode.outcome != "undecided"
        if stratum == "refused":
            refused += 1
            refused_right += same and episode is not None and episode.outcome == outcome
    yield Share("reached, claimed and right", right, claims, most_wrong=1)
    yield Share("reached, found", found, findable, at_least=0.80)
    yield Share("at the floor, claimed and right", floor_right, floor, most_wrong=1)
    yield Share("invalid: precision", called_right, called, at_least=0.97)
    yield Share("invalid: recall", labelled_found, labelled, at_least=0.90)
    yield Share("decided, of those that people did", decided, decidable, at_least=0.85)
    yield Share("extra_calls equal", equal, right, at_least=0.85)
    yield Share("refused: outcome", refused_right, refused, at_least=0.90)


def differences(pairs: list[tuple[Any, Episode | None]]) -> Iterator[str]:
    """Yield a line for each label that differs."""
    for label, episode in pairs:
        stratum, outcome = wanted(label)
        extra = label["extra_calls"]
        if episode is None:
            if stratum in {"invalid", "malformed", "refused"}:
                yield f"{label['id']}: {stratum} {label['kind']} {outcome}; no episode here"
            continue
        ours = (episode.stratum, episode.outcome)
        other_cost = outcome in REACHED and extra != episode.extra_calls
        if ours != (stratum, outcome) or other_cost:
            yield (
                f"{label['id']}: {stratum} {label['kind']} {outcome} {extra}; here "
                f"{episode.stratum} {episode.kind} {episode.outcome} {episode.extra_calls}"
            )


def main() -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("events", type=Path, help="the labels, events.jsonl")
    args = parser.parse_args()
    events = [json.loads(line) for line in args.events.read_text("utf-8").splitlines()]
    pairs = list(judged(events, args.events.parent))
    shares = list(figures(pairs))
    print(f"{len(events)} labels")
    for share in shares:
        print(share)
    print("\nlabels that differ:")
    for line in differences(pairs):
        print(f"  {line}")
    return 0 if all(share.holds for share in shares) else 1


if __name__ == "__main__":
    sys.exit(main())

"""The page of failure kinds and latency statuses, from ``wayproof.evidence.explanations``."""

from wayproof.evidence.explanations import EXPLANATIONS, Explanation

_INTRO = """\
# Failure kinds and latency statuses

A result fails sufficiency by the first rung of the ladder that fires; the other rungs that
would have fired stand in `failed_checks`. Latency is judged apart. Why there are two axes is
told in [semantics](../semantics.md). The same words on the terminal:
`wayproof explain FAILURE_KIND`."""


def body() -> str:
    """Return the page."""
    return "\n\n".join([_INTRO, *map(_section, EXPLANATIONS.values())])


def _section(explanation: Explanation) -> str:
    parts = [f"## `{explanation.kind}`", f"*{explanation.place}*"]
    parts += [f"**{title}.** {text}" for title, text in explanation.paragraphs]
    return "\n\n".join(parts)

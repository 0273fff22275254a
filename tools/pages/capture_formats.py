"""The table of log formats × fields, from the adapters' own descriptions."""

from tools.pages.markdown import table

from wayproof.capture.adapter import FIELDS, Format
from wayproof.capture.registry import formats

_INTRO = """\
# Log formats

`native`: the log has it. `derived`: worked out from other fields, or from text. `unknown`: the
log doesn't have it, so the packet doesn't either. How a packet is made of a log is told in
[semantics](semantics.md). The same on the terminal: `wayproof formats`."""


def body() -> str:
    """Return the page."""
    described = list(formats())
    rows = [[f"`{one.name}`", *(one.fields[field] for field in FIELDS)] for one in described]
    return "\n\n".join(
        [_INTRO, table(["format", *FIELDS.values()], rows), *map(_section, described)]
    )


def _section(one: Format) -> str:
    facts = [
        ["files", one.files.replace("<", "\\<")],
        ["versions", one.versions],
        ["told by", one.detected_by],
    ]
    facts.append(["newest sample", one.sampled])
    if one.sources:
        facts.append(["sources", "; ".join(one.sources)])
    limits = "\n".join(f"- {limit}" for limit in one.limits)
    return "\n\n".join([f"## `{one.name}`: {one.title}", table(["", ""], facts), limits])

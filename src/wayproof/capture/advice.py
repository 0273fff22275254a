"""What a person should know about packets before scoring them."""

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from wayproof.capture.ids import EXTERNAL

__all__ = ["better_root", "only_elapsed"]

_MANY = 3
_NEARLY_ALL = 0.8


def better_root(packets: Sequence[Mapping[str, Any]]) -> str | None:
    """Return a folder that holds what was selected, where nearly all ids lie outside the root."""
    ids = [one for packet in packets for one in packet["selected_artifacts"]]
    outside = [one.removeprefix(EXTERNAL) for one in ids if one.startswith(EXTERNAL)]
    if len(outside) < _MANY or len(outside) < _NEARLY_ALL * len(ids):
        return None
    absolute = [one for one in outside if one.startswith("/") or one[1:3] == ":/"]
    try:
        common = posixpath.commonpath([posixpath.dirname(one) for one in absolute])
    except ValueError:  # none, or on several drives
        return None
    return common if common.strip("/") else None


def only_elapsed(packets: Sequence[Mapping[str, Any]]) -> bool:
    """Whether no log measured a call's time, though timestamps would give some."""
    return (
        bool(packets)
        and all("wall_ms" not in packet and "wall_measured_ms" not in packet for packet in packets)
        and any("elapsed_ms" in packet for packet in packets)
    )

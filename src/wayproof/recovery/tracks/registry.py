"""The tracks there are: one row each, found by what a suite's header says."""

from typing import Final

import msgspec

from wayproof.errors import InputError
from wayproof.recovery.track import Track
from wayproof.recovery.tracks.v0 import V0
from wayproof.text import quoted

__all__ = ["TRACKS", "track_of_header"]

TRACKS: Final[dict[str, Track]] = {V0.name: V0}
"""Track by name. A track's module and its row here are all that it takes."""


class _Said(msgspec.Struct, frozen=True):
    """What tells a suite's track, whatever else its header holds."""

    schema_version: str | None = None
    track: str = V0.name


_decoder: Final = msgspec.json.Decoder(_Said)


def track_of_header(line: bytes) -> Track:
    """Return the track of a suite by its first line.

    Raises
    ------
    InputError
        When no track has such suites. A line that isn't JSON is left to v0 to refuse.
    """
    try:
        said = _decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return V0
    if said.schema_version is None:
        return V0
    track = TRACKS.get(said.track)
    if track is None:
        raise InputError(
            "suite of an unknown track",
            field="track",
            expected=" or ".join(sorted(TRACKS)),
            found=quoted(said.track),
        )
    if said.schema_version != track.suite_schema:
        raise InputError(
            "suite of another version",
            field="schema_version",
            expected=quoted(track.suite_schema),
            found=quoted(said.schema_version),
        )
    return track

"""Parts: what shards write, and how parts that belong together are told.

A shard is a share of the work; its part depends on the inputs, the settings and the share
alone, not on where, when or how often it was made. Each kind of part has its own writer
and merge; what all of them ask of a series of parts stands here.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Self

from wayproof.bundles.manifest import Manifest, read_manifest
from wayproof.bundles.reader import open_bundle
from wayproof.errors import InputError
from wayproof.text import quoted

__all__ = ["MAX_SHARDS", "Part", "Shard", "read_parts", "refuse_gaps", "refuse_strangers"]

MAX_SHARDS: Final = 256


class Shard(NamedTuple):
    """Shard ``number`` (from 1) of ``shard_count``."""

    number: int
    shard_count: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``i/N``.

        Raises
        ------
        InputError
            For anything but two whole numbers with 1 ≤ i ≤ N ≤ :data:`MAX_SHARDS`.
        """
        number, slash, count = text.partition("/")
        if slash and number.isdecimal() and count.isdecimal() and text.isascii():
            shard = cls(int(number), int(count))
            if shard.is_valid:
                return shard
        raise InputError(
            "not a shard",
            setting="shard",
            expected=f"i/N with 1 ≤ i ≤ N ≤ {MAX_SHARDS}",
            found=text or '""',
        )

    @property
    def is_valid(self) -> bool:
        """Whether there is such a shard."""
        return 1 <= self.number <= self.shard_count <= MAX_SHARDS

    def share(self, total: int) -> range:
        """Return this shard's numbers of ``total`` numbers from 0."""
        return range(
            total * (self.number - 1) // self.shard_count, total * self.number // self.shard_count
        )


class Part(NamedTuple):
    """A part whose files are what its manifest says."""

    folder: Path
    manifest: Manifest
    shard: Shard


def read_parts(folders: Sequence[Path], kind: str) -> list[Part]:
    """Check the digests of parts and put them in order: every shard of one count, once.

    Raises
    ------
    InputError
        For what is no part of the kind, another number of shards, a shard that is missing
        or stands twice.
    IntegrityError
        Naming the part's file that isn't what its manifest says.
    """
    if not folders:
        raise InputError("no part given", expected="every shard's part")
    parts = sorted(
        (_read_part(folder, kind) for folder in folders), key=lambda part: (part.shard, part.folder)
    )
    first = parts[0]
    for part in parts:
        if part.shard.shard_count != first.shard.shard_count:
            raise InputError(
                "parts of different numbers of shards",
                file=str(part.folder),
                expected=f"{first.shard.shard_count} shards, as {first.folder}",
                found=str(part.shard.shard_count),
            )
    _refuse_incomplete(parts)
    return parts


def _read_part(folder: Path, kind: str) -> Part:
    found = read_manifest(folder).kind
    if found != kind:
        raise InputError("not a part", file=str(folder), expected=kind, found=found)
    manifest = open_bundle(folder).manifest
    said = manifest.settings.get("shard")
    if isinstance(said, list) and len(said) == 2 and all(type(one) is int for one in said):
        shard = Shard(*said)
        if shard.is_valid:
            return Part(folder, manifest, shard)
    raise InputError("not a shard", file=str(folder), field="settings.shard", found=quoted(said))


def _refuse_incomplete(parts: Sequence[Part]) -> None:
    numbers = [part.shard.number for part in parts]
    wanted = list(range(1, parts[0].shard.shard_count + 1))
    if numbers == wanted:
        return
    missing = sorted(set(wanted) - set(numbers))
    twice = sorted({number for number in numbers if numbers.count(number) > 1})
    again = [str(part.folder) for part in parts if part.shard.number in twice]
    raise InputError(
        "not every shard once",
        expected=f"shards 1 to {wanted[-1]}",
        found="; ".join(
            f"{what} {', '.join(map(str, those))}"
            for what, those in (("missing", missing), ("twice", twice), ("in", again))
            if those
        ),
    )


def refuse_strangers(
    parts: Sequence[Part], names: Sequence[str], inputs: Mapping[str, str]
) -> None:
    """Refuse parts of another run.

    Parameters
    ----------
    names
        The settings that all parts share.
    inputs
        The inputs whose digests all parts share, by role; with what an error calls them.

    Raises
    ------
    InputError
        Naming the part and what differs.
    """
    first = parts[0]
    for part in parts[1:]:
        for role, called in inputs.items():
            if part.manifest.inputs.get(role) != first.manifest.inputs.get(role):
                raise InputError(
                    f"parts of different {called}",
                    file=str(part.folder),
                    expected=f"those of {first.folder}",
                )
        for name in names:
            expected, found = (one.manifest.settings.get(name) for one in (first, part))
            if expected != found or type(expected) is not type(found):
                raise InputError(
                    "parts of different settings",
                    file=str(part.folder),
                    field=f"settings.{name}",
                    expected=f"{quoted(expected)}, as {first.folder}",
                    found=quoted(found),
                )


def refuse_gaps(
    parts: Sequence[Part], ranges: Sequence[tuple[int, int]], end: int, unit: str
) -> None:
    """Refuse parts whose ranges leave something out, or have something twice.

    Parameters
    ----------
    ranges
        Each part's start and end.
    end
        Where the last one has to end.
    unit
        What is counted, in an error's words.

    Raises
    ------
    InputError
        Naming the first part that doesn't begin where the one before it ends.
    """
    place = 0
    for part, (start, stop) in zip([*parts, parts[-1]], [*ranges, (end, end)], strict=True):
        if start != place or stop < start:
            raise InputError(
                "parts leave a gap or overlap",
                file=str(part.folder),
                expected=f"{unit} {place}",
                found=f"{unit} {start}",
            )
        place = stop

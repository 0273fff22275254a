"""What a bundle doesn't hold but its inputs do: scent terms, and where packets came from."""

from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from wayproof.bundles.manifest import Manifest, digest_file
from wayproof.errors import InputError
from wayproof.lines import open_input, read_lines

__all__ = ["NO_PROVENANCE", "Provenance", "read_provenance"]

T = TypeVar("T")
_ABSENT = msgspec.Raw(b"null")


class _TaskTerms(msgspec.Struct, frozen=True, gc=False):
    task_id: str
    scent_terms: msgspec.Raw = _ABSENT


class _PacketSource(msgspec.Struct, frozen=True, gc=False):
    task_id: str
    attempt: int | None = None
    source: msgspec.Raw = _ABSENT


class Provenance(NamedTuple):
    """JSON texts to add to a result's panel, by task id and by (task id, attempt)."""

    terms: dict[str, bytes]
    sources: dict[tuple[str, int], bytes]

    def extras(self, task_id: str, attempt: int | None) -> list[tuple[bytes, bytes]]:
        """Return the fields that are known of one result, as (name, JSON)."""
        terms = self.terms.get(task_id)
        source = self.sources.get((task_id, attempt or 1))
        found = ((b"scent_terms", terms), (b"source", source))
        return [(name, value) for name, value in found if value is not None]


NO_PROVENANCE = Provenance({}, {})


def _lines(path: Path, role: str, manifest: Manifest, kind: type[T]) -> list[T]:
    if not path.is_file():
        raise InputError("can't be read", file=str(path), expected=f"the {role} file")
    stated = manifest.inputs.get(role)
    found = digest_file(path)
    if stated is None or stated.sha256 != found.sha256:
        raise InputError(
            f"not the {role} that this bundle was scored from",
            file=str(path),
            expected=f"SHA-256 {stated.sha256}" if stated else f"a bundle that names its {role}",
            found=f"SHA-256 {found.sha256}",
        )
    decode = msgspec.json.Decoder(kind).decode
    with open_input(path) as stream:
        try:
            return [decode(line) for _, line in read_lines(stream)]
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise InputError(
                "not a record of this file", file=str(path), found=str(error)
            ) from None


def read_provenance(manifest: Manifest, tasks: Path | None, packets: Path | None) -> Provenance:
    """Read what the panels can show beyond the bundle.

    Raises
    ------
    InputError
        When a file isn't the one that the bundle was scored from, by its digest.
    """
    terms: dict[str, bytes] = {}
    sources: dict[tuple[str, int], bytes] = {}
    if tasks is not None:
        for task in _lines(tasks, "tasks", manifest, _TaskTerms):
            if task.scent_terms != _ABSENT:
                terms[task.task_id] = bytes(task.scent_terms)
    if packets is not None:
        for packet in _lines(packets, "packets", manifest, _PacketSource):
            if packet.source != _ABSENT:
                sources[packet.task_id, packet.attempt or 1] = bytes(packet.source)
    return Provenance(terms, sources)

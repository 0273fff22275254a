"""Scoring in parts: shards of the packets, each scored anywhere, merged into one bundle.

A shard is a range of the packets' bytes; a line belongs to the shard that its first byte
lies in. A part depends on the inputs, the settings and the range alone, not on where, when
or how often it was made. Merging parts gives the bundle that scoring in one go would give,
byte for byte, its manifest apart.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from wayproof.bundles.kinds import CheckReport, CheckRequest
from wayproof.bundles.manifest import FileDigest, Manifest, digest_file
from wayproof.bundles.parts import MAX_SHARDS, Shard, read_parts, refuse_gaps, refuse_strangers
from wayproof.bundles.writer import BundleWriter
from wayproof.canonical import MAX_SAFE_INTEGER
from wayproof.errors import InputError
from wayproof.evidence.fitness_names import (
    BUNDLE_KIND,
    LIMITS,
    PART_KIND,
    PART_LINES_NAME,
    PART_RECORDS_NAME,
)
from wayproof.fitness.chunks import Chunk, Job, Progress, no_progress, score_chunk, shard_range
from wayproof.fitness.inputs import PlainFile, plain_file
from wayproof.fitness.merge import Merger
from wayproof.fitness.score import (
    ScoreRequest,
    Total,
    bundle_sinks,
    no_garbage_collection,
    refuse_drafts,
    refuse_nothing_stated,
    score_record,
    suite_of_file,
    write_bundle,
)
from wayproof.fitness.task_index import index_tasks
from wayproof.lines import STDIN_NAME, blocks, is_compressed, open_input, shown_name
from wayproof.parallel.external_sort import Run, copy_records, merge_runs
from wayproof.strict_json import convert_typed

__all__ = ["MAX_SHARDS", "Shard", "check", "merge_parts", "score_shard"]

_SHARED: Final = ("suite", "ignore_unknown", "summary_only", "packets_bytes")
_Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)]


class PartSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What decides a part, and what it counted."""

    draft_packet_count: _Count
    end: _Count
    ignore_unknown: bool
    ignored_packet_count: _Count
    packets_bytes: _Count
    shard: Annotated[list[int], msgspec.Meta(min_length=2, max_length=2)]
    start: _Count
    suite: str
    summary_only: bool


class _Part(NamedTuple):
    folder: Path
    manifest: Manifest
    settings: PartSettings


def score_shard(
    request: ScoreRequest,
    shard: Shard,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Progress = no_progress,
) -> PartSettings:
    """Score one shard of the packets and write the part ``out``.

    Parameters
    ----------
    request
        What to score, as for :func:`~wayproof.fitness.score.score`; ``processes`` is not
        used. Every shard has to be given the same.
    shard
        Which shard.
    out
        The part's folder.
    overwrite
        Replace an existing part.
    progress
        Called now and then with (bytes scored, where the shard ends).

    Returns
    -------
    PartSettings
        The part's range and counts.

    Raises
    ------
    InputError
        As scoring does, and for inputs that are no plain files.
    """
    with no_garbage_collection(), BundleWriter(out, kind=PART_KIND, overwrite=overwrite) as part:
        tasks, packets = (
            _plain(path, role, part.scratch)
            for role, path in (("tasks", request.tasks), ("packets", request.packets))
        )
        index = index_tasks(tasks)
        refuse_drafts(request, index, tasks)
        size = packets.path.stat().st_size
        start, end = shard_range(packets.path, *shard)
        job = Job(
            packets=packets.path,
            shown=packets.shown,
            scratch=part.scratch,
            tasks=index,
            ignore_unknown=request.ignore_unknown,
            summary_only=request.summary_only,
            on_disk=True,
            first_form=False,
        )
        chunk = score_chunk(job, Chunk(shard.number - 1, start, end), progress)
        records, lines = part.open(PART_RECORDS_NAME), part.open(PART_LINES_NAME)
        copy_records(merge_runs(chunk.runs), records)
        with chunk.store.open("rb") as store:
            for block in blocks(store):
                lines.write(block)
        settings = PartSettings(
            draft_packet_count=chunk.draft_count,
            end=end,
            ignore_unknown=request.ignore_unknown,
            ignored_packet_count=chunk.ignored_count,
            packets_bytes=size,
            shard=[*shard],
            start=start,
            suite=suite_of_file(request.tasks) if request.suite is None else request.suite,
            summary_only=request.summary_only,
        )
        inputs = {
            "tasks": digest_file(tasks.path),
            "packets": _range_digest(packets.path, start, end),
        }
        tasks.refuse_change()
        packets.refuse_change()
        refuse_nothing_stated(index, tasks.shown)
        part.commit(inputs=inputs, settings=msgspec.to_builtins(settings), limits=LIMITS)
    return settings


def merge_parts(
    parts: Sequence[Path],
    tasks: Path,
    packets: Path,
    out: Path,
    *,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Merge all parts of one scoring into the bundle ``out``.

    Parameters
    ----------
    parts
        The parts' folders, in any order: every shard once.
    tasks, packets
        The inputs that they were made from.
    out
        The bundle's folder.
    overwrite
        Replace an existing bundle.

    Returns
    -------
    dict
        What ``summary.json`` holds.

    Raises
    ------
    InputError
        When the parts don't belong together or to these inputs (a gap, a shard twice, other
        settings), or when two packets are for one task and attempt.
    """
    found = _read_parts(parts)
    first = found[0].settings
    with (
        no_garbage_collection(),
        BundleWriter(out, kind=BUNDLE_KIND, overwrite=overwrite) as bundle,
    ):
        plain_tasks, plain_packets = (
            _plain(path, role, bundle.scratch)
            for role, path in (("tasks", tasks), ("packets", packets))
        )
        inputs = _checked_inputs(found, plain_tasks, plain_packets)
        index = index_tasks(plain_tasks)
        job = Job(
            packets=plain_packets.path,
            shown=plain_packets.shown,
            scratch=bundle.scratch,
            tasks=index,
            ignore_unknown=first.ignore_unknown,
            summary_only=first.summary_only,
            on_disk=False,
            first_form=False,
        )
        sinks = bundle_sinks(bundle, summary_only=first.summary_only)
        stores = [part.folder / PART_LINES_NAME for part in found]
        runs = [Run(part.folder / PART_RECORDS_NAME, (), ()) for part in found]
        merged = Merger(job, range(len(index)), stores, bundle.scratch, sinks).merge(runs)
        total = Total(
            merged.totals,
            merged.wall_runs,
            merged.wall_count,
            sum(part.settings.ignored_packet_count for part in found),
            sum(part.settings.draft_packet_count for part in found),
        )
        plain_tasks.refuse_change()
        plain_packets.refuse_change()
        record = score_record(total, index, first.suite)
        settings = {
            "suite": first.suite,
            "ignore_unknown": first.ignore_unknown,
            "summary_only": first.summary_only,
        }
        write_bundle(bundle, record, inputs, settings, {"parts": len(found)})
    return record


def check(_folder: Path, manifest: Manifest, _request: CheckRequest) -> CheckReport:
    """Say what a part is: its digests hold, and only its bundle can be checked further."""
    settings = convert_typed(manifest.settings, PartSettings, prefix="settings")
    number, count = settings.shard
    return CheckReport(
        (f"part {number} of {count}: only what it is merged into can be checked further",),
        "verified: digests only",
    )


def _plain(path: Path, role: str, scratch: Path) -> PlainFile:
    """Refuse what can't be cut by bytes: a pipe, or a compressed file."""
    is_plain = str(path) != STDIN_NAME and (path.is_file() or not path.exists())
    if is_plain:
        with open_input(path) as stream:
            is_plain = not is_compressed(stream)
    if not is_plain:
        raise InputError(
            "shards are ranges of a plain file",
            file=shown_name(path),
            expected="a regular, uncompressed file",
            mend=f"unpack the {role} first",
        )
    return plain_file(path, scratch / role)


def _range_digest(path: Path, start: int, end: int) -> FileDigest:
    hashed = hashlib.sha256()
    with path.open("rb") as file:
        file.seek(start)
        for block in blocks(file, end - start):
            hashed.update(block)
    return FileDigest(bytes=end - start, sha256=hashed.hexdigest())


def _read_parts(folders: Sequence[Path]) -> list[_Part]:
    """Read the parts and put them in order; refuse those that don't belong together."""
    found = read_parts(folders, PART_KIND)
    refuse_strangers(found, _SHARED, {"tasks": "tasks"})
    parts = [
        _Part(
            part.folder,
            part.manifest,
            convert_typed(part.manifest.settings, PartSettings, prefix="settings"),
        )
        for part in found
    ]
    ranges = [(part.settings.start, part.settings.end) for part in parts]
    refuse_gaps(found, ranges, parts[0].settings.packets_bytes, "byte")
    return parts


def _checked_inputs(
    parts: Sequence[_Part], tasks: PlainFile, packets: PlainFile
) -> dict[str, FileDigest]:
    """Hash the inputs, once; refuse others than the parts were made from."""
    digests = {"tasks": digest_file(tasks.path)}
    if parts[0].manifest.inputs.get("tasks") != digests["tasks"]:
        raise InputError("not the tasks that the parts were made from", file=tasks.shown)
    whole, size = hashlib.sha256(), 0
    with packets.path.open("rb") as file:
        for part in parts:
            hashed = hashlib.sha256()
            for block in blocks(file, part.settings.end - part.settings.start):
                hashed.update(block)
                whole.update(block)
                size += len(block)
            if part.manifest.inputs["packets"].sha256 != hashed.hexdigest():
                raise InputError(
                    "not the packets that a part was made from",
                    file=packets.shown,
                    index=f"bytes {part.settings.start} to {part.settings.end}",
                    expected=f"those of {part.folder}",
                )
        if file.read(1):
            raise InputError("packets have grown since the parts were made", file=packets.shown)
    return digests | {"packets": FileDigest(bytes=size, sha256=whole.hexdigest())}

"""Shards of a suite: a part is some of its grids, made or run anywhere, to be merged.

A part of a run holds the traces and results of its grids, policy by policy. Merging takes
each policy's share from every part in turn, which is the order of a run's files, so that the
bundle has the very bytes that one process writes, its manifest's ``varies`` apart. A part of
a suite holds some of the generator's grids.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import IO, Annotated, Any, BinaryIO, Final, NamedTuple

import msgspec

from wayproof.bundles.kinds import CheckReport, CheckRequest
from wayproof.bundles.manifest import FileDigest, Manifest, digest_file
from wayproof.bundles.parts import Part, Shard, read_parts, refuse_gaps, refuse_strangers
from wayproof.bundles.whole_file import whole_file
from wayproof.bundles.writer import BundleWriter, DigestWriter
from wayproof.canonical import (
    MAX_SAFE_INTEGER,
    Record,
    decode_record_line,
    record_bytes,
    sha256_hex,
)
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.recovery_names import (
    BUNDLE_KIND,
    GRIDS_NAME,
    LIMITS,
    PART_KIND,
    RESULTS_NAME,
    SUITE_NAME,
    SUITE_PART_KIND,
    SUMMARY_NAME,
    TRACES_NAME,
)
from wayproof.evidence.recovery_records import HexSeed, trial_id
from wayproof.lines import blocks, evidence_lines
from wayproof.parallel.backend import backend
from wayproof.recovery.blocks import AgentLog, Job, check_portable, finished_blocks, sessions
from wayproof.recovery.generate import Recipe, suite_lines
from wayproof.recovery.run import (
    Progress,
    RunReport,
    RunRequest,
    RunSettings,
    check_pin,
    checked_seeds,
    checked_sources,
    run_settings,
)
from wayproof.recovery.suite import AcrossGrids, SuiteReader
from wayproof.recovery.track import GridCases, SuiteTally, Track
from wayproof.recovery.tracks.registry import track_of_header
from wayproof.strict_json import convert_typed

__all__ = [
    "PartSettings",
    "SuitePartSettings",
    "check",
    "generate_shard",
    "merge_run_parts",
    "merge_suite_parts",
    "run_shard",
]

_Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)]
_Pair = Annotated[list[_Count], msgspec.Meta(min_length=2, max_length=2)]
_RUN_NAMES: Final = ("agents", "grids", "policies", "policy_seeds", "suite_id")
_SUITE_NAMES: Final = ("grids", "parameters", "seed", "suite_id")


class PartSettings(RunSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What decides a part of a run, and how it is laid out.

    Attributes
    ----------
    first, end
        Its grids, numbered from 0: the first one, and the one after the last.
    grids
        How many the whole suite has.
    shard
        Which shard, of how many.
    sizes
        For each policy, how many bytes of results and of traces are its own.
    """

    end: _Count
    first: _Count
    grids: _Count
    shard: _Pair
    sizes: list[_Pair]


class SuitePartSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What decides a part of a suite: the recipe, and which of its grids.

    Attributes
    ----------
    first, end, grids, shard
        As for a part of a run.
    parameters, seed, suite_id
        The recipe.
    """

    end: _Count
    first: _Count
    grids: _Count
    parameters: dict[str, int]
    seed: _Count | HexSeed
    shard: _Pair
    suite_id: str


class _GridNames(Record, frozen=True):
    """What tells a grid from others; a line of ``grids.jsonl``."""

    fingerprint: str
    grid_id: str
    scenario_ids: tuple[str, ...]

    @classmethod
    def of(cls, grid: GridCases) -> "_GridNames":
        return cls(
            fingerprint=grid.fingerprint.hex(),
            grid_id=grid.grid_id,
            scenario_ids=tuple(case.scenario_id for case in grid.cases()),
        )


_names_decoder: Final = msgspec.json.Decoder(_GridNames)


# -- parts of a run ---------------------------------------------------------------------


def run_shard(
    request: RunRequest,
    shard: Shard,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Progress = lambda _done, _total: None,
) -> PartSettings:
    """Run one shard of a suite's grids and write the part ``out``.

    Parameters
    ----------
    request
        What to run, as for :func:`~wayproof.recovery.run.run_suite`. Every shard has to be
        given the same.
    shard
        Which shard.
    out
        The part's folder.
    overwrite
        Replace an existing part.
    progress
        Called with the trials done and the trials of the shard.

    Raises
    ------
    InputError
        As for a run. Nothing is written.
    """
    sources = checked_sources(request.policies)
    policy_seeds = checked_seeds(request.policy_seeds)
    suite_name = request.suite_name or str(request.suite)
    log = AgentLog(out)
    if any(source.identity is not None for source in sources):
        log.refuse_taken(overwrite=overwrite)
    with BundleWriter(out, kind=PART_KIND, overwrite=overwrite) as part:
        digest = digest_file(request.suite)
        track, suite_id, grids, share, scenarios = _copy_share(
            request.suite, suite_name, shard, part
        )
        if digest_file(request.suite) != digest:
            raise InputError("changed while it was read", file=suite_name)
        check_pin(suite_id, digest, suite_name)
        part.close(SUITE_NAME)
        job = Job(track.name, suite_id, policy_seeds)
        results, traces = part.open(RESULTS_NAME), part.open(TRACES_NAME)
        sizes: list[list[int]] = []
        done, total = 0, scenarios * len(sources) * len(policy_seeds)
        with sessions(sources), backend(request.processes, request.executor) as place:
            check_portable(sources, place)
            for source in sources:
                size = [0, 0]
                made = finished_blocks(place, part.path(SUITE_NAME), job, (source,))
                with contextlib.closing(made) as finished:
                    for block in finished:
                        results.write(block.results)
                        traces.write(block.traces)
                        size[0] += len(block.results)
                        size[1] += len(block.traces)
                        log.add(block.logs)
                        done += block.tally.trials
                        progress(done, total)
                sizes.append(size)
        run = msgspec.structs.asdict(run_settings(sources, policy_seeds, suite_id))
        settings = PartSettings(
            **run, end=share.stop, first=share.start, grids=grids, shard=[*shard], sizes=sizes
        )
        part.commit(inputs={"suite": digest}, settings=msgspec.to_builtins(settings), limits=LIMITS)
    log.write()
    return settings


def _copy_share(
    suite: Path, name: str, shard: Shard, part: BundleWriter
) -> tuple[Track, str, int, range, int]:
    """Check and copy a shard's grids.

    Return track, suite's id, how many grids there are, which are its own, and how many
    scenarios these have.
    """
    with SuiteReader(suite, name) as reader:
        grids = sum(1 for _ in reader.raw_grids())
    if not grids:
        raise InputError("suite without grids", file=name, expected="a line a grid")
    share = shard.share(grids)
    with SuiteReader(suite, name) as reader:
        lines, names = part.open(SUITE_NAME), part.open(GRIDS_NAME)
        lines.write(reader.header_line + b"\n")
        across, scenarios = AcrossGrids(reader.header.suite_id), 0
        for at, (number, line) in enumerate(reader.raw_grids()):
            if at >= share.stop:
                break
            if at < share.start:
                continue
            try:
                grid = reader.track.read_grid(line)
                across.check(number, grid)
            except InputError as error:
                raise error.at(file=name, line=number) from None
            lines.write(line + b"\n")
            names.write(record_bytes(_GridNames.of(grid)) + b"\n")
            scenarios += len(grid.cases())
        return reader.track, reader.header.suite_id, grids, share, scenarios


def merge_run_parts(parts: Sequence[Path], out: Path, *, overwrite: bool = False) -> RunReport:
    """Merge all parts of one run into the bundle ``out``.

    Parameters
    ----------
    parts
        The parts' folders, in any order: every shard once.
    out
        The bundle's folder.
    overwrite
        Replace an existing bundle.

    Raises
    ------
    InputError
        When the parts don't belong together: a gap, a shard twice, another suite or other
        settings; or when the suite is none, by what only all its grids show.
    IntegrityError
        Naming the part and the trial that isn't where it has to be.
    """
    found = read_parts(parts, PART_KIND)
    refuse_strangers(found, _RUN_NAMES, {"suite": "suites"})
    settings = [_settings(part, PartSettings) for part in found]
    first = settings[0]
    refuse_gaps(found, [(one.first, one.end) for one in settings], first.grids, "grid")
    with BundleWriter(out, kind=BUNDLE_KIND, overwrite=overwrite) as bundle:
        grids = list(_joined_suite(found, first.suite_id, bundle.open(SUITE_NAME)))
        suite = bundle.close(SUITE_NAME)
        if suite != found[0].manifest.inputs["suite"]:
            raise IntegrityError(
                "the parts' grids are not those of the suite that they name",
                file=str(found[0].folder),
                expected=f"SHA-256 {found[0].manifest.inputs['suite'].sha256}",
                found=f"SHA-256 {suite.sha256}",
            )
        official = check_pin(first.suite_id, suite, str(out))
        with SuiteReader(bundle.path(SUITE_NAME)) as reader:
            track = reader.track
        tally = track.tally()
        _join_trials(found, settings, grids, track, tally, bundle)
        bundle.close(TRACES_NAME)
        results = bundle.close(RESULTS_NAME)
        summary = tally.summary(results.sha256)
        bundle.write(SUMMARY_NAME, record_bytes(summary) + b"\n")
        run = {name: getattr(first, name) for name in RunSettings.__struct_fields__}
        bundle.commit(
            inputs={"suite": suite},
            settings=msgspec.to_builtins(RunSettings(**run)),
            limits=LIMITS,
            varies={"parts": len(found)},
        )
    return RunReport(summary, results, suite, official)


def _settings(part: Part, kind: type[Any]) -> Any:
    try:
        settings = convert_typed(part.manifest.settings, kind, prefix="settings")
    except InputError as error:
        raise error.at(file=str(part.folder)) from None
    sizes = getattr(settings, "sizes", None)
    if sizes is not None and (
        len(sizes) != len(settings.policies)
        or [sum(column) for column in zip(*sizes, strict=True)]
        != [part.manifest.files[name].bytes for name in (RESULTS_NAME, TRACES_NAME)]
    ):
        raise IntegrityError(
            "the policies' shares don't make up the part's files",
            file=str(part.folder),
            field="settings.sizes",
        )
    return settings


def _joined_suite(
    parts: Sequence[Part], suite_id: str, suite: "DigestWriter | IO[bytes]"
) -> Iterator[tuple[str, ...]]:
    """Write the suite, and check what holds between grids; yield each part's scenarios."""
    across, line = AcrossGrids(suite_id), 1
    header: bytes | None = None
    for part in parts:
        names = part.folder / GRIDS_NAME
        path = part.folder / SUITE_NAME
        with path.open("rb") as grids, names.open("rb") as told:
            its_header = grids.readline()
            if header is None:
                header = its_header
                suite.write(header)
            if its_header != header:
                raise IntegrityError("the parts' suites begin differently", file=str(path), line=1)
            for block in blocks(grids):
                suite.write(block)
            scenarios: list[str] = []
            for number, data in evidence_lines(told, str(names)):
                line += 1
                try:
                    grid = decode_record_line(data, _names_decoder)
                    across.check_names(
                        line, grid.grid_id, grid.scenario_ids, grid.fingerprint.encode()
                    )
                except InputError as error:
                    raise error.at(file=str(names), line=number) from None
                scenarios += grid.scenario_ids
        yield tuple(scenarios)


def _join_trials(
    parts: Sequence[Part],
    settings: Sequence[PartSettings],
    scenarios: Sequence[tuple[str, ...]],
    track: Track,
    tally: SuiteTally,
    bundle: BundleWriter,
) -> None:
    """Write results and traces, policy by policy; each trial has to stand where it belongs."""
    results, traces = bundle.open(RESULTS_NAME), bundle.open(TRACES_NAME)
    decode = msgspec.json.Decoder(track.result_type).decode
    with contextlib.ExitStack() as stack:
        files = [
            [stack.enter_context((part.folder / name).open("rb")) for part in parts]
            for name in (RESULTS_NAME, TRACES_NAME)
        ]
        for place, policy in enumerate(settings[0].policies):
            for at, part in enumerate(parts):
                sizes = settings[at].sizes[place]
                keys = (
                    (scenario, seed)
                    for scenario in scenarios[at]
                    for seed in settings[at].policy_seeds
                )
                trials = zip(
                    _lines(files[0][at], sizes[0]), _lines(files[1][at], sizes[1]), strict=True
                )
                for line, trace in _exactly(trials, part):
                    result: Any = decode(line)
                    expected = next(keys, None)
                    key = (result.scenario_id, result.policy_seed)
                    if (
                        key != expected
                        or result.policy != policy
                        or result.trace_sha256 != sha256_hex(trace[:-1])
                    ):
                        raise _misplaced(part, policy, expected, key)
                    tally.add(result)
                    results.write(line)
                    traces.write(trace)
                if (left := next(keys, None)) is not None:
                    raise _misplaced(part, policy, left, None)


def _exactly(trials: Iterable[tuple[bytes, bytes]], part: Part) -> Iterator[tuple[bytes, bytes]]:
    try:
        yield from trials
    except (ValueError, msgspec.MsgspecError) as error:
        raise IntegrityError(
            "results and traces are not one for one", file=str(part.folder), found=str(error)
        ) from None


def _misplaced(
    part: Part, policy: str, expected: tuple[str, int] | None, found: tuple[str, int] | None
) -> IntegrityError:
    return IntegrityError(
        "a trial is not where it belongs, or not its trace's",
        file=str(part.folder / RESULTS_NAME),
        expected="no further trial" if expected is None else trial_id(policy, *expected),
        found="no further trial" if found is None else trial_id(policy, *found),
    )


def _lines(file: BinaryIO, size: int) -> Iterator[bytes]:
    """Yield the lines of the next ``size`` bytes, each with its line feed."""
    while size > 0:
        line = file.readline()
        size -= len(line)
        if not line or size < 0:
            raise ValueError("a share ends inside a line")
        yield line


# -- parts of a suite -------------------------------------------------------------------


def generate_shard(
    recipe: Recipe,
    shard: Shard,
    out: Path,
    *,
    processes: int = 1,
    executor: Executor | None = None,
    overwrite: bool = False,
) -> SuitePartSettings:
    """Make one shard of a suite's grids and write the part ``out``.

    Raises
    ------
    InputError
        When the parameters are out of range, or no grid fits them.
    """
    recipe.parameters.check()
    grids = recipe.parameters.grids
    share = shard.share(grids)
    with BundleWriter(out, kind=SUITE_PART_KIND, overwrite=overwrite) as part:
        lines, names = part.open(SUITE_NAME), part.open(GRIDS_NAME)
        made = suite_lines(recipe, processes=processes, executor=executor, numbers=share)
        header = next(made)
        track = track_of_header(header[:-1])
        lines.write(header)
        for block in made:
            lines.write(block)
            for line in block.splitlines():
                names.write(record_bytes(_GridNames.of(track.read_grid(line))) + b"\n")
        settings = SuitePartSettings(
            end=share.stop,
            first=share.start,
            grids=grids,
            parameters=msgspec.to_builtins(recipe.parameters),
            seed=recipe.seed,
            shard=[*shard],
            suite_id=recipe.suite_id,
        )
        part.commit(inputs={}, settings=msgspec.to_builtins(settings), limits=LIMITS)
    return settings


class MergedSuite(NamedTuple):
    """The suite that parts made: its id, how many grids, and its file's digest."""

    suite_id: str
    grids: int
    digest: FileDigest


def merge_suite_parts(parts: Sequence[Path], out: Path, *, overwrite: bool = False) -> MergedSuite:
    """Merge all parts of one suite into the file ``out``.

    Raises
    ------
    InputError
        When the parts don't belong together, or grids of two parts are the same.
    """
    found = read_parts(parts, SUITE_PART_KIND)
    refuse_strangers(found, _SUITE_NAMES, {})
    settings = [_settings(part, SuitePartSettings) for part in found]
    first = settings[0]
    refuse_gaps(found, [(one.first, one.end) for one in settings], first.grids, "grid")
    with whole_file(out, overwrite=overwrite) as file:
        for _ in _joined_suite(found, first.suite_id, file):
            pass
    return MergedSuite(first.suite_id, first.grids, digest_file(out))


def check(_folder: Path, manifest: Manifest, _request: CheckRequest) -> CheckReport:
    """Say what a part is: its digests hold, and only what it becomes can be checked further."""
    kind = PartSettings if manifest.kind == PART_KIND else SuitePartSettings
    settings: Any = convert_typed(manifest.settings, kind, prefix="settings")
    number, count = settings.shard
    return CheckReport(
        (f"part {number} of {count}: only what it is merged into can be checked further",),
        "verified: digests only",
    )

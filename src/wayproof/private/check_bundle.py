"""Check private evidence: the bundle of a run, and the bundle of one disclosed trial."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec

from wayproof.bundles.kinds import CheckReport, CheckRequest
from wayproof.bundles.manifest import MANIFEST_NAME, Manifest
from wayproof.canonical import decode_record_line, record_bytes, sha256_hex
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.private_names import (
    LEAVES_NAME,
    PRIVATE_LIMITS,
    RESULT_NAME,
    TRIAL_NAME,
)
from wayproof.evidence.private_records import Leaf, PrivateTrial
from wayproof.evidence.recovery_names import RESULTS_NAME, SUMMARY_NAME, TRACES_NAME
from wayproof.evidence.recovery_records import Result, trial_id
from wayproof.lines import evidence_lines
from wayproof.private.commitment import policy_seeds, result_leaf_hash, scenario_leaf_hash
from wayproof.private.evidence_folder import (
    Signed,
    findings,
    one_line,
    read_signed,
    require,
    signature_files,
)
from wayproof.private.files import read_input
from wayproof.private.merkle import holds_inclusion, tree_root
from wayproof.private.run import passes
from wayproof.private.signing import read_trust
from wayproof.recovery.summary import Tally
from wayproof.recovery.track import Agent, WrittenTrace
from wayproof.recovery.tracks.v0 import V0, load_grid
from wayproof.recovery.trial import trial_has_ended
from wayproof.text import quoted

__all__ = ["check", "check_trial"]

_MOST_TRIAL_BYTES: Final = 64 << 20
_result_decoder: Final = msgspec.json.Decoder(Result)
_leaf_decoder: Final = msgspec.json.Decoder(Leaf)
_trial_decoder: Final = msgspec.json.Decoder(PrivateTrial)
_UNKNOWN: Final = "signature valid, signer unknown: name the keys that are trusted, by role"


def check(folder: Path, manifest: Manifest, request: CheckRequest) -> CheckReport:
    """Check the bundle of a private run: signatures, chain, root, counts and summary."""
    signed = _signed(folder, request)
    _check_manifest(folder, manifest, {"records_only": TRACES_NAME not in manifest.files})
    _check_lines(folder, manifest, signed)
    kept = (
        "traces are here, each with the hash that was signed; without the hidden grids none can "
        "be derived again"
        if TRACES_NAME in manifest.files
        else "no traces are here: attested, not re-derived"
    )
    return _report(
        signed,
        (
            *findings(signed),
            f"result root over {signed.result.leaf_count} leaves, records and summary hold",
            kept,
        ),
    )


def check_trial(folder: Path, manifest: Manifest, request: CheckRequest) -> CheckReport:
    """Check one disclosed trial: signatures, both proofs, grid, trace and record."""
    signed = _signed(folder, request)
    _check_manifest(folder, manifest, {})
    path = folder / TRIAL_NAME
    data = read_input(path, most_bytes=_MOST_TRIAL_BYTES)
    try:
        trial = decode_record_line(one_line(data), _trial_decoder)
    except InputError as error:
        raise IntegrityError(
            "not a disclosed trial",
            file=str(path),
            field=error.field,
            expected=error.expected,
            found=error.found or error.problem,
        ) from None
    try:
        _check_disclosed(signed, trial)
    except (InputError, IntegrityError) as error:
        raise IntegrityError.of(error, file=str(path)) from None
    record = trial.record
    name = trial_id(record.policy, record.scenario_id, record.policy_seed)
    came_to = (
        "a verified recovery"
        if record.verified_recovery
        else "completed, not verified"
        if record.completed
        else "not completed"
    )
    derived = (
        "the trace was kept: every step checked and replayed, the record derived again"
        if trial.trace is not None
        else "records only were kept: attested, not re-derived"
    )
    return _report(
        signed,
        (
            *findings(signed),
            f"trial {name}: {came_to}",
            f"leaf {trial.leaf.index} of {signed.result.leaf_count} under the signed result root",
            f"its scenario is leaf {trial.scenario_index} under the agreed suite root",
            "the grid's certificate holds",
            derived,
        ),
    )


def _signed(folder: Path, request: CheckRequest) -> Signed:
    trust = read_trust(request.trust)
    try:
        signed = read_signed(folder, trust)
    except InputError as error:
        raise IntegrityError.of(error, file=error.file or str(folder)) from None
    if trust.is_whole and not signed.known:
        raise IntegrityError(
            "signature valid, signer unknown: not by the keys that are trusted", file=str(folder)
        )
    return signed


def _report(signed: Signed, found: tuple[str, ...]) -> CheckReport:
    return CheckReport(
        findings=(*found, *(f"Not shown: {limit}" for limit in PRIVATE_LIMITS)),
        verdict="verified" if signed.known else _UNKNOWN,
        checked_signatures=tuple(signature_files(signed.result.run)),
        is_whole=signed.known,
    )


def _check_manifest(folder: Path, manifest: Manifest, settings: dict[str, Any]) -> None:
    facts: tuple[tuple[str, object, object], ...] = (
        ("inputs", {}, manifest.inputs),
        ("limits", list(PRIVATE_LIMITS), manifest.limits),
        ("settings", settings, manifest.settings),
    )
    for field, expected, found in facts:
        if expected != found:
            raise IntegrityError(
                "manifest doesn't say what a run would",
                file=str(folder / MANIFEST_NAME),
                field=field,
                expected=str(expected),
                found=quoted(str(found)),
            )


# -- the bundle of a run -------------------------------------------------------------------


def _lines(file: BinaryIO | None, name: str) -> Iterator[bytes]:
    return iter(()) if file is None else (line for _, line in evidence_lines(file, name))


def _check_lines(folder: Path, manifest: Manifest, signed: Signed) -> None:
    result, seeds = signed.result, _seeds(signed)
    for name, digest in (
        (RESULTS_NAME, result.results_sha256),
        (SUMMARY_NAME, result.summary_sha256),
    ):
        if manifest.files[name].sha256 != digest:
            raise IntegrityError(
                "not the file that was signed",
                file=str(folder / name),
                expected=f"SHA-256 {digest}",
                found=f"SHA-256 {manifest.files[name].sha256}",
            )
    traces_path = folder / TRACES_NAME if TRACES_NAME in manifest.files else None
    tally, hashes, passed = Tally(), [], 0
    scenario_leaves: dict[str, str] = {}
    with (folder / RESULTS_NAME).open("rb") as results, (folder / LEAVES_NAME).open("rb") as leaves:
        trace_file = traces_path.open("rb") if traces_path is not None else None
        try:
            traces = _lines(trace_file, TRACES_NAME)
            rows = zip(_lines(results, RESULTS_NAME), _lines(leaves, LEAVES_NAME), strict=True)
            for index, (line, leaf_line) in enumerate(rows):
                where = f"trial {index}"
                record = _decoded(line, _result_decoder, folder / RESULTS_NAME, index)
                leaf = _decoded(leaf_line, _leaf_decoder, folder / LEAVES_NAME, index)
                trace = next(traces, None) if trace_file is not None else None
                facts: tuple[tuple[str, object, object], ...] = (
                    ("index", index, leaf.index),
                    ("record_sha256", sha256_hex(line), leaf.record_sha256),
                    ("trace_sha256", record.trace_sha256, leaf.trace_sha256),
                    ("policy", signed.agreement.agent.name, record.policy),
                    ("policy_seed", seeds[index % len(seeds)], record.policy_seed),
                    ("evidence_class", "client_agent", record.evidence_class),
                    (
                        "scenario_leaf",
                        scenario_leaves.setdefault(record.scenario_id, leaf.scenario_leaf),
                        leaf.scenario_leaf,
                    ),
                )
                if trace_file is not None:
                    said = None if trace is None else sha256_hex(trace)
                    facts += (("trace", leaf.trace_sha256, said),)
                require(facts, folder / LEAVES_NAME, where)
                tally.add(record)
                hashes.append(result_leaf_hash(leaf))
                passed += passes(signed.agreement, record)
            if trace_file is not None and next(traces, None) is not None:
                raise IntegrityError("more traces than trials", file=str(traces_path))
        except ValueError as error:
            if isinstance(error, InputError):
                raise
            raise IntegrityError(
                "not as many leaves as records", file=str(folder / LEAVES_NAME)
            ) from None
        finally:
            if trace_file is not None:
                trace_file.close()
    counts = _totals(tally)
    require(
        (
            ("leaf_count", len(hashes), result.leaf_count),
            ("result_root", tree_root(hashes).hex(), result.result_root),
            ("trials", tally.trials, result.trials),
            ("completed", counts[0], result.completed),
            ("verified", counts[1], result.verified),
            ("passed", passed, result.passed),
        ),
        folder / RESULT_NAME,
        None,
    )
    summary = record_bytes(tally.summary(result.results_sha256)) + b"\n"
    if (folder / SUMMARY_NAME).read_bytes() != summary:
        raise IntegrityError(
            "summary doesn't follow from the results", file=str(folder / SUMMARY_NAME)
        )


def _seeds(signed: Signed) -> tuple[int, ...]:
    start = signed.chain[-1].start
    return policy_seeds(
        signed.agreement_sha256, start.run, start.client_nonce, signed.agreement.suite.seeds
    )


def _decoded(line: bytes, decoder: Any, path: Path, index: int) -> Any:
    try:
        return decode_record_line(line, decoder)
    except InputError as error:
        raise IntegrityError.of(error, file=str(path), line=index + 1) from None


def _totals(tally: Tally) -> tuple[int, int]:
    cells = [counts for grids in tally.cells.values() for counts in grids.values()]
    return sum(counts[1] for counts in cells), sum(counts[2] for counts in cells)


# -- one disclosed trial -----------------------------------------------------------------------


def _check_disclosed(signed: Signed, trial: PrivateTrial) -> None:
    agreement, result, leaf, record = signed.agreement, signed.result, trial.leaf, trial.record
    seeds = _seeds(signed)
    scenario_hash = scenario_leaf_hash(trial.scenario, bytes.fromhex(trial.scenario_salt))
    here = Path(TRIAL_NAME)
    require(
        (
            ("leaf.record_sha256", sha256_hex(record_bytes(record)), leaf.record_sha256),
            ("leaf.trace_sha256", record.trace_sha256, leaf.trace_sha256),
            ("leaf.scenario_leaf", scenario_hash.hex(), leaf.scenario_leaf),
            ("leaf.index", trial.scenario_index, leaf.index // len(seeds)),
            ("record.scenario_id", trial.scenario.scenario_id, record.scenario_id),
            ("record.grid_id", trial.scenario.grid.grid_id, record.grid_id),
            ("record.policy", agreement.agent.name, record.policy),
            ("record.policy_seed", seeds[leaf.index % len(seeds)], record.policy_seed),
            ("record.evidence_class", "client_agent", record.evidence_class),
        ),
        here,
        None,
    )
    _check_proof(
        "result_proof",
        result_leaf_hash(leaf),
        leaf.index,
        result.leaf_count,
        trial.result_proof,
        result.result_root,
    )
    _check_proof(
        "scenario_proof",
        scenario_hash,
        trial.scenario_index,
        agreement.suite.scenarios,
        trial.scenario_proof,
        agreement.suite.root,
    )
    cases = load_grid(trial.scenario.grid).cases()
    case = next((each for each in cases if each.scenario_id == record.scenario_id), None)
    if case is None:
        raise IntegrityError("the grid has no such scenario", field="scenario.scenario_id")
    if (trial.trace is None) is not (agreement.keep == "records"):
        raise IntegrityError("at odds with what was agreed to be kept", field="trace")
    if trial.trace is None:
        return
    line = record_bytes(trial.trace)
    found = case.find(
        record.suite_id,
        WrittenTrace(trial.trace, line),
        Agent("client_agent", record.agent_outcome),
    )
    failure = found.failure
    if failure is not None and failure.check not in V0.measured:
        raise IntegrityError(
            f"check {failure.check} fails",
            field="trace",
            expected=failure.expected,
            found=failure.found,
        )
    require(
        (
            ("trace.policy", record.policy, trial.trace.policy),
            ("trace.policy_seed", record.policy_seed, trial.trace.policy_seed),
            ("trace.scenario_id", record.scenario_id, trial.trace.scenario_id),
            ("record", record_bytes(record), found.line),
            (
                "record.agent_outcome",
                trial_has_ended(case, trial.trace),
                record.agent_outcome == "ok",
            ),
        ),
        here,
        None,
    )


def _check_proof(
    field: str, leaf: bytes, index: int, size: int, proof: tuple[str, ...], root: str
) -> None:
    parts = [bytes.fromhex(part) for part in proof]
    if not holds_inclusion(leaf, index, size, parts, bytes.fromhex(root)):
        raise IntegrityError(
            "the proof doesn't lead to the signed root", field=field, expected=f"root {root}"
        )

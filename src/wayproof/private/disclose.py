"""``disclose``: one trial of a private run, with all that shows where it belongs."""

from pathlib import Path
from typing import Final

import msgspec

from wayproof.bundles.reader import open_bundle
from wayproof.bundles.writer import BundleWriter
from wayproof.canonical import decode_record_line, record_bytes
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.private_names import (
    AGREEMENT_NAME,
    PRIVATE_KIND,
    PRIVATE_LIMITS,
    RESULT_NAME,
    TRIAL_KIND,
    TRIAL_NAME,
    start_name,
)
from wayproof.evidence.private_records import TRIAL_SCHEMA, Leaf, PrivateTrial
from wayproof.evidence.recovery_names import RESULTS_NAME, TRACES_NAME
from wayproof.evidence.recovery_records import Result, Trace, trial_id
from wayproof.lines import evidence_lines
from wayproof.private.commitment import Salts, result_leaf_hash, scenario_leaves, suite_tree
from wayproof.private.evidence_folder import read_signed, signature_files
from wayproof.private.files import read_input
from wayproof.private.merkle import inclusion_proof
from wayproof.private.plan import HIDDEN_SUITE, read_secret
from wayproof.private.run import RUNS_NAME, leaves_of
from wayproof.private.signing import Trust
from wayproof.text import quoted

__all__ = ["disclose"]

_trace_decoder: Final = msgspec.json.Decoder(Trace)


def disclose(folder: Path, trial: str, hidden: Path, out: Path) -> PrivateTrial:
    """Write the bundle ``out`` with one trial of the private bundle ``folder``.

    Parameters
    ----------
    folder
        The bundle of the run.
    trial
        ``POLICY/SCENARIO/SEED``, or the number of its line in ``results.jsonl``.
    hidden
        The evaluator's folder with suite and secret.
    out
        The folder to make; never one that exists.

    Raises
    ------
    InputError
        When there is no such trial.
    IntegrityError
        When bundle and hidden folder don't belong together.
    """
    open_bundle(folder, kind=PRIVATE_KIND)
    signed = read_signed(folder, Trust())
    agreement, run = signed.agreement, signed.result.run
    salts = Salts(read_secret(hidden), bytes.fromhex(agreement.nonce))
    suite = hidden / HIDDEN_SUITE
    tree = suite_tree(suite, salts)
    if tree.root != agreement.suite.root:
        raise IntegrityError("the hidden suite is not the bundle's", file=str(suite))
    with (folder / RESULTS_NAME).open("rb") as file:
        rows = list(leaves_of(file, tree, salts, agreement, run))
    hashes = [result_leaf_hash(leaf) for _, leaf in rows]
    record, leaf = _named(rows, trial, folder)
    at = leaf.index // agreement.suite.seeds
    scenario = next(each for number, each in enumerate(scenario_leaves(suite)) if number == at)
    disclosed = PrivateTrial(
        leaf=leaf,
        record=record,
        result_proof=tuple(part.hex() for part in inclusion_proof(hashes, leaf.index)),
        scenario=scenario,
        scenario_index=at,
        scenario_proof=tree.proof(at),
        scenario_salt=salts.of_scenario(at).hex(),
        schema_version=TRIAL_SCHEMA,
        trace=_trace(folder, hidden / RUNS_NAME / f"{run:04d}", leaf)
        if agreement.keep == "traces"
        else None,
    )
    with BundleWriter(out, kind=TRIAL_KIND) as bundle:
        names = [start_name(number) for number in range(1, run + 1)]
        for name in (AGREEMENT_NAME, *names, RESULT_NAME):
            bundle.write(name, read_input(folder / name))
        bundle.write(TRIAL_NAME, record_bytes(disclosed) + b"\n")
        for name in signature_files(run):
            bundle.path(name).write_bytes(read_input(folder / name))
        bundle.commit(inputs={}, settings={}, limits=PRIVATE_LIMITS)
    return disclosed


def _named(rows: list[tuple[Result, Leaf]], trial: str, folder: Path) -> tuple[Result, Leaf]:
    for record, leaf in rows:
        if trial == str(leaf.index + 1) or trial == trial_id(
            record.policy, record.scenario_id, record.policy_seed
        ):
            return record, leaf
    raise InputError(
        "no such trial",
        file=str(folder),
        setting="trial",
        expected="POLICY/SCENARIO/SEED, or the number of a line of results.jsonl",
        found=quoted(trial),
    )


def _trace(folder: Path, kept: Path, leaf: Leaf) -> Trace:
    """Return the trial's trace, from the bundle or from what the evaluator kept."""
    place = folder / TRACES_NAME
    path = place if place.exists() else kept / TRACES_NAME
    try:
        with path.open("rb") as file:
            for index, (_, line) in enumerate(evidence_lines(file, str(path))):
                if index == leaf.index:
                    return decode_record_line(line, _trace_decoder)
    except OSError as error:
        raise InputError("can't be read", file=str(path), found=error.strerror) from None
    raise IntegrityError("trace is missing", file=str(path))

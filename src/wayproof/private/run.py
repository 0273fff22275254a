"""``run``: refuse, clause by clause, what wasn't agreed; run the rest; sign what came of it."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import msgspec

from wayproof._version import __version__
from wayproof.bundles.places import refuse_existing
from wayproof.bundles.writer import BundleWriter
from wayproof.canonical import record_bytes, sha256_hex
from wayproof.errors import InputError, IntegrityError, OutputError
from wayproof.evidence.private_names import (
    ABANDONED,
    AGREEMENT_NAME,
    LEAVES_NAME,
    PRIVATE_KIND,
    PRIVATE_LIMITS,
    RESULT_NAME,
    ROLES,
    signature_name,
    start_name,
)
from wayproof.evidence.private_records import (
    RESULT_SCHEMA,
    Agreement,
    EnforcedClause,
    Leaf,
    PrivateResult,
)
from wayproof.evidence.recovery_names import RESULTS_NAME, SUMMARY_NAME, TRACES_NAME
from wayproof.evidence.recovery_records import Result
from wayproof.lines import evidence_lines
from wayproof.private.agent_files import copy_files
from wayproof.private.agreement import instant, read_agreement, refused
from wayproof.private.cgroups import run_groups
from wayproof.private.commitment import (
    Salts,
    SuiteTree,
    policy_seeds,
    result_leaf_hash,
    suite_tree,
)
from wayproof.private.files import read_input, write_private
from wayproof.private.keys import SigningKey
from wayproof.private.merkle import tree_root
from wayproof.private.plan import HIDDEN_SUITE, read_secret
from wayproof.private.sandbox import (
    ALWAYS_SHOWN,
    Machine,
    agent_command,
    agent_folder,
    enforced_clauses,
    look,
)
from wayproof.private.signing import Trust, check_agreement, sign_result
from wayproof.private.starts import SignedStart, moment_of, read_chain
from wayproof.recovery.agents.stdio import Deadlines, stdio_agent
from wayproof.recovery.blocks import AGENT_LOG_SUFFIX
from wayproof.recovery.run import RunReport, RunRequest, run_suite

__all__ = ["PrivateRunReport", "PrivateRunRequest", "leaves_of", "passes", "run_private"]

RUNS_NAME: Final = "runs"
_ANSWER_MS: Final = 10_000
_result_decoder: Final = msgspec.json.Decoder(Result)


class PrivateRunRequest(NamedTuple):
    """What a run needs.

    Attributes
    ----------
    agreement
        The agreement's file; both signatures stand beside it.
    start
        The start's file; its signature and the starts before it stand beside it.
    agent
        Folder with the agent's files.
    hidden
        The folder that ``plan`` made: suite, secret, and what was started.
    key
        The evaluator's key.
    trust
        Whose signatures count.
    moment
        The moment, which is compared with the dates.
    """

    agreement: Path
    start: Path
    agent: Path
    hidden: Path
    key: SigningKey
    trust: Trust
    moment: datetime
    processes: int = 1


class PrivateRunReport(NamedTuple):
    """What a run came to.

    Attributes
    ----------
    agent_log
        Where the agent's stderr went; None when nobody receives it, or there was none.
    """

    result: PrivateResult
    result_sha256: str
    agent_log: Path | None


class _Checked(NamedTuple):
    """A request in which nothing is to be refused."""

    data: bytes
    agreement: Agreement
    chain: tuple[SignedStart, ...]
    salts: Salts
    tree: SuiteTree

    @property
    def start(self) -> SignedStart:
        return self.chain[-1]


def run_private(
    request: PrivateRunRequest,
    out: Path,
    *,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    looks: Callable[..., Machine] = look,
) -> PrivateRunReport:
    """Run an agreed evaluation and write the bundle ``out``, signed.

    Parameters
    ----------
    request
        What to run.
    out
        The folder to make; never one that exists.
    progress
        Called with the trials done and the trials in all.
    looks
        Finds out what this machine enforces.

    Raises
    ------
    InputError, IntegrityError
        Naming the clause that forbids the run. Nothing is written, and the start isn't
        spent.
    """
    checked = _checked(request)
    agreement = checked.agreement
    log_place = out.with_name(f"{out.name}{AGENT_LOG_SUFFIX}")
    if "client" in agreement.receives.stderr:
        refuse_existing(log_place, overwrite=False)
    with ExitStack() as stack:
        copy = stack.enter_context(agent_folder())
        copy_files(request.agent, agreement.agent.files, copy)
        groups = stack.enter_context(run_groups())
        machine = looks(agreement, copy, groups)
        enforced = _enforced(agreement, machine)
        bundle = stack.enter_context(BundleWriter(out, kind=PRIVATE_KIND))
        place = _spend(request.hidden, checked)
        command = stack.enter_context(
            agent_command(agreement, copy, machine, keeps_stderr=bool(agreement.receives.stderr))
        )
        ran = _run(request, checked, command, place, progress)
        result, data = _write(bundle, request, checked, enforced, machine, place)
        write_private(place / RESULT_NAME, data)
        log = _keep(agreement, ran, place, log_place)
    return PrivateRunReport(result, sha256_hex(data), log)


# -- what is refused -----------------------------------------------------------------------


def _checked(request: PrivateRunRequest) -> _Checked:
    if not request.trust.is_whole:
        raise InputError(
            "a run needs a trusted key for each role",
            setting="trust",
            expected=" and ".join(f"{role}=KEY" for role in ROLES),
        )
    data = read_input(request.agreement)
    if request.agreement.name != AGREEMENT_NAME:
        raise InputError(
            "not a name for an agreement", file=str(request.agreement), expected=AGREEMENT_NAME
        )
    known = check_agreement(request.agreement, data, request.trust)
    for role in ROLES:
        if role not in known:
            raise refused(
                f"keys.{role}",
                f"signature valid, signer unknown: it is not the trusted key of the {role}",
            )
    agreement = read_agreement(data)
    if agreement.keys.evaluator != request.key.public.hex:
        raise refused(
            "keys.evaluator",
            "the key that is to sign the result is another",
            expected=agreement.keys.evaluator,
            found=request.key.public.hex,
        )
    _check_dates("validity", agreement, request.moment)
    chain = _chain(request, agreement, sha256_hex(data))
    salts = Salts(read_secret(request.hidden), bytes.fromhex(agreement.nonce))
    tree = _tree(request.hidden / HIDDEN_SUITE, agreement, salts)
    _check_hidden(request, agreement)
    return _Checked(data, agreement, chain, salts, tree)


def _check_dates(clause: str, agreement: Agreement, now: datetime) -> None:
    validity = agreement.validity
    if now < validity.not_before:
        raise refused(
            f"{clause}.not_before",
            "the agreement doesn't hold yet",
            expected=f"{instant(validity.not_before)} or later",
            found=instant(now),
        )
    if now > validity.not_after:
        raise refused(
            f"{clause}.not_after",
            "the agreement has expired",
            expected=f"{instant(validity.not_after)} at the latest",
            found=instant(now),
        )


def _chain(
    request: PrivateRunRequest, agreement: Agreement, agreement_sha256: str
) -> tuple[SignedStart, ...]:
    names = {start_name(run): run for run in range(1, agreement.runs + 1)}
    run = names.get(request.start.name)
    if run is None:
        raise refused(
            "runs",
            "not the start of a run that the agreement has",
            expected=f"{start_name(1)} … {start_name(agreement.runs)}",
            found=request.start.name,
        )
    chain = read_chain(request.start.parent, run, agreement, agreement_sha256, request.trust)
    last = chain[-1].start
    if not all(start.is_known for start in chain):
        raise refused("keys.client", "signature valid, signer unknown: of a start")
    if request.moment > moment_of(last.not_after):
        raise refused(
            "start.not_after",
            "the start has expired",
            expected=f"{last.not_after} at the latest",
            found=instant(request.moment),
            mend="ask the client for another start",
        )
    _check_ledger(request.hidden / RUNS_NAME, chain)
    return chain


def _check_ledger(ledger: Path, chain: tuple[SignedStart, ...]) -> None:
    """Refuse a start that was used, and one that says something else of the runs before."""
    taken = _taken(ledger)
    run = chain[-1].start.run
    if taken and max(taken) >= run:
        raise refused(
            "start",
            "the start is spent: this run, or a later one, was begun already",
            expected=f"a start of run {max(taken) + 1}",
            found=f"run {run}",
        )
    for before, after in pairwise(chain):
        number = before.start.run
        used = taken.get(number)
        if used is not None and used != before.sha256:
            raise refused("start", f"run {number} was begun under another start")
        path = ledger / f"{number:04d}" / RESULT_NAME
        if path.is_file():
            digest = sha256_hex(read_input(path))
            if after.start.previous_result != digest:
                raise refused(
                    "start.previous_result",
                    f"run {number} has a result, and the next start doesn't name it",
                    expected=digest,
                    found=after.start.previous_result,
                )
        elif used is None and after.start.previous_result != ABANDONED:
            raise refused("start.previous_result", f"run {number} was never begun here")


def _taken(ledger: Path) -> dict[int, str]:
    """Return the digest of the start of each run that was begun."""
    if not ledger.is_dir():
        return {}
    taken = {}
    for folder in ledger.iterdir():
        if folder.name.isdigit():
            start = folder / start_name(int(folder.name))
            taken[int(folder.name)] = sha256_hex(read_input(start)) if start.is_file() else ""
    return taken


def _tree(suite: Path, agreement: Agreement, salts: Salts) -> SuiteTree:
    try:
        tree = suite_tree(suite, salts)
    except InputError as error:
        raise refused("suite.root", f"the suite can't be used: {error}") from None
    if tree.root != agreement.suite.root or len(tree.ids) != agreement.suite.scenarios:
        raise refused(
            "suite.root",
            "another suite than the one that was committed to",
            expected=f"root {agreement.suite.root}",
            found=f"root {tree.root}",
        )
    if tree.most_budget > agreement.limits.moves.at_most:
        raise refused(
            "limits.moves",
            "a scenario allows more proposals",
            expected=f"at most {agreement.limits.moves.at_most}",
            found=str(tree.most_budget),
        )
    return tree


def _check_hidden(request: PrivateRunRequest, agreement: Agreement) -> None:
    """Refuse what would show an agent the suite: it lies in a folder that the agent may read."""
    hidden = request.hidden.resolve()
    for folder in agreement.agent.runtime:
        if hidden.is_relative_to(Path(folder).resolve()):
            raise refused(
                "agent.runtime",
                "the hidden suite lies in a folder that the agent may read",
                found=folder,
            )
    if hidden.is_relative_to(request.agent.resolve()):
        raise refused("agent.files", "the hidden suite lies among the agent's files")


def _enforced(agreement: Agreement, machine: Machine) -> tuple[EnforcedClause, ...]:
    enforced = enforced_clauses(agreement.limits, machine)
    for each in enforced:
        if each.agreed == "required" and not each.enforced:
            raise refused(
                f"limits.{each.clause}",
                "is required, and this machine can't enforce it",
                found=each.means,
                mend="run it elsewhere, or agree on best_effort",
            )
    return enforced


# -- running ----------------------------------------------------------------------------


def _spend(hidden: Path, checked: _Checked) -> Path:
    """Note that a run was begun, before it is: of two at once, one is refused."""
    ledger = hidden / RUNS_NAME
    run = checked.start.start.run
    place = ledger / f"{run:04d}"
    try:
        ledger.mkdir(mode=0o700, exist_ok=True)
        place.mkdir(mode=0o700)
    except FileExistsError:
        raise refused("start", "the start is spent: this run was begun already") from None
    except OSError as error:
        raise OutputError("can't be written to", file=str(place), found=error.strerror) from None
    write_private(place / start_name(run), checked.start.data)
    return place


def _run(
    request: PrivateRunRequest,
    checked: _Checked,
    command: str,
    place: Path,
    progress: Callable[[int, int], None],
) -> RunReport:
    agreement, start = checked.agreement, checked.start.start
    trial_ms = agreement.limits.seconds.at_most * 1000
    answer_ms = min(_ANSWER_MS, trial_ms)
    source = stdio_agent(
        agreement.agent.name,
        command,
        deadlines=Deadlines(hello_ms=answer_ms, move_ms=answer_ms, trial_ms=trial_ms),
    )
    seeds = policy_seeds(
        sha256_hex(checked.data), start.run, start.client_nonce, agreement.suite.seeds
    )
    return run_suite(
        RunRequest(
            suite=request.hidden / HIDDEN_SUITE,
            policies=(source,),
            policy_seeds=seeds,
            processes=request.processes,
        ),
        place / "work",
        progress=progress,
    )


def _keep(agreement: Agreement, ran: RunReport, place: Path, log_place: Path) -> Path | None:
    """Keep what somebody receives, and take the rest away."""
    kept = None
    if ran.agent_log is not None:
        if "client" in agreement.receives.stderr or "public" in agreement.receives.stderr:
            shutil.copyfile(ran.agent_log, log_place)
            kept = log_place
        if "evaluator" in agreement.receives.stderr:
            ran.agent_log.replace(place / "agent.log")
            kept = kept or place / "agent.log"
        else:
            ran.agent_log.unlink(missing_ok=True)
    if agreement.keep == "traces":
        (place / "work" / TRACES_NAME).replace(place / TRACES_NAME)
    shutil.rmtree(place / "work", ignore_errors=True)
    return kept


# -- writing ------------------------------------------------------------------------------


def _write(
    bundle: BundleWriter,
    request: PrivateRunRequest,
    checked: _Checked,
    enforced: tuple[EnforcedClause, ...],
    machine: Machine,
    place: Path,
) -> tuple[PrivateResult, bytes]:
    agreement, start = checked.agreement, checked.start.start
    work = place / "work"
    shares_traces = bool({"client", "public"} & set(agreement.receives.traces))
    bundle.write(AGREEMENT_NAME, checked.data)
    for signed in checked.chain:
        bundle.write(start_name(signed.start.run), signed.data)
    results = _copied(bundle, work, RESULTS_NAME)
    summary = _copied(bundle, work, SUMMARY_NAME)
    if shares_traces:
        _copied(bundle, work, TRACES_NAME)
    leaves = bundle.open(LEAVES_NAME)
    hashes: list[bytes] = []
    counts = {"completed": 0, "verified": 0, "passed": 0}
    with (work / RESULTS_NAME).open("rb") as file:
        for record, leaf in leaves_of(file, checked.tree, checked.salts, agreement, start.run):
            leaves.write(record_bytes(leaf) + b"\n")
            hashes.append(result_leaf_hash(leaf))
            counts["completed"] += record.completed
            counts["verified"] += record.verified_recovery
            counts["passed"] += passes(agreement, record)
    result = PrivateResult(
        agreement_sha256=sha256_hex(checked.data),
        completed=counts["completed"],
        enforced=enforced,
        keep=agreement.keep,
        leaf_count=len(hashes),
        not_hashed=_not_hashed(agreement, machine),
        passed=counts["passed"],
        result_root=tree_root(hashes).hex(),
        results_sha256=results,
        run=start.run,
        schema_version=RESULT_SCHEMA,
        start_sha256=checked.start.sha256,
        suite_root=checked.tree.root,
        summary_sha256=summary,
        trials=len(hashes),
        verified=counts["verified"],
        wayproof=__version__,
    )
    data = record_bytes(result) + b"\n"
    bundle.write(RESULT_NAME, data)
    # Signatures bear names that no evidence has: they are put beside it, before it is whole.
    for name, envelope in _signatures(request, checked, data):
        bundle.path(name).write_bytes(envelope)
    bundle.commit(inputs={}, settings={"records_only": not shares_traces}, limits=PRIVATE_LIMITS)
    return result, data


def _copied(bundle: BundleWriter, work: Path, name: str) -> str:
    writer = bundle.open(name)
    with (work / name).open("rb") as file:
        while block := file.read(1 << 20):
            writer.write(block)
    return bundle.close(name).sha256


def _signatures(
    request: PrivateRunRequest, checked: _Checked, result: bytes
) -> Iterator[tuple[str, bytes]]:
    for role in ROLES:
        name = signature_name(AGREEMENT_NAME, role)
        yield name, read_input(request.agreement.with_name(name))
    for signed in checked.chain:
        yield signature_name(start_name(signed.start.run), "client"), signed.envelope
    yield signature_name(RESULT_NAME, "evaluator"), sign_result(RESULT_NAME, result, request.key)


def _not_hashed(agreement: Agreement, machine: Machine) -> tuple[str, ...]:
    if machine.bubblewrap is None:
        return ("everything on the machine that its user may read: there was no sandbox",)
    return (
        *(f"the folder {folder}, read-only" for folder in agreement.agent.runtime),
        *(f"{path}, read-only" for path in ALWAYS_SHOWN),
        "the kernel",
    )


def leaves_of(
    results: BinaryIO, tree: SuiteTree, salts: Salts, agreement: Agreement, run: int
) -> Iterator[tuple[Result, Leaf]]:
    """Yield each trial's record and leaf, from the lines of its results.

    Raises
    ------
    IntegrityError
        When the lines aren't those of every scenario and seed, in order.
    """
    seeds = agreement.suite.seeds
    for index, (_, line) in enumerate(evidence_lines(results, RESULTS_NAME)):
        record = _result_decoder.decode(line)
        scenario = index // seeds
        if scenario >= len(tree.ids) or tree.ids[scenario] != record.scenario_id:
            raise IntegrityError(
                "results out of order", file=RESULTS_NAME, line=index + 1, found=record.scenario_id
            )
        yield (
            record,
            Leaf(
                index=index,
                record_sha256=sha256_hex(line),
                salt=salts.of_trial(run, index).hex(),
                scenario_leaf=tree.hashes[scenario].hex(),
                trace_sha256=record.trace_sha256,
            ),
        )


def passes(agreement: Agreement, record: Result) -> bool:
    """Tell whether every check that counts holds in a trial."""
    checks: Any = record.checks
    return all(getattr(checks, name) is True for name in agreement.checks)

"""``wayproof private``: key, plan, sign, start, run, disclose. The clock is read here alone."""

import argparse
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from wayproof.cli.progress import count_progress
from wayproof.cli.verify import trusted_keys
from wayproof.errors import InputError, OutputError
from wayproof.evidence.private_names import ROLES
from wayproof.text import harmless, quoted

if TYPE_CHECKING:
    from wayproof.evidence.private_records import Limits, PrivateTrial, Receives
    from wayproof.private.starts import SignedStart

__all__ = ["configure", "run"]

_LIMITS = (
    ("seconds", 60, "seconds that one trial may last"),
    ("memory-mib", 1024, "MiB of memory for all processes of one trial together"),
    ("processes", 64, "processes and threads at once in one trial"),
    ("file-mib", 64, "MiB of the largest file, and of the temporary folder"),
)
_MIB = 1 << 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands and their arguments."""
    actions = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="action", required=True
    )
    key = actions.add_parser(
        "key",
        help="draw a key to sign with",
        description="Draw an Ed25519 key: a private one that nobody else may read, and beside it "
        "the public one, with .pub at its end. Keys of openssl in PEM form are as good.",
    )
    key.add_argument("--out", metavar="FILE", type=Path, required=True, help="private key to make")
    _configure_plan(
        actions.add_parser(
            "plan",
            help="draw the hidden suite and write the agreement",
            description="The evaluator draws a suite that nobody can find again, and writes an "
            "agreement that commits to it. Both sides read the agreement and sign it.",
        )
    )
    sign = actions.add_parser(
        "sign", help="sign an agreement", description="Sign an agreement's exact bytes in one role."
    )
    sign.add_argument("agreement", metavar="AGREEMENT", type=Path, help="agreement.toml")
    sign.add_argument("--role", choices=ROLES, required=True, help="whose signature it is")
    sign.add_argument("--key", metavar="FILE", type=Path, required=True, help="the private key")
    _configure_start(
        actions.add_parser(
            "start",
            help="the client's word that a run may begin",
            description="Sign a start: the number of the run, a nonce that its seeds follow from, "
            "and what became of the run before. Each start is used once.",
        )
    )
    _configure_run(
        actions.add_parser(
            "run",
            help="run an agreed evaluation and sign the result",
            description="Refuse, naming the clause, what wasn't agreed; run the agent in its "
            "sandbox on the hidden suite; write a signed bundle.",
        )
    )
    disclose = actions.add_parser(
        "disclose",
        help="show one trial of a run, and nothing of the others",
        description="Write a bundle with one trial, its grid, its salts and both proofs. The "
        "client names the trial after the result is signed. All scenarios of its grid become "
        "known; 'wayproof verify' checks it without the rest.",
    )
    disclose.add_argument("bundle", metavar="DIR", type=Path, help="the bundle of the run")
    disclose.add_argument(
        "--trial", metavar="ID", required=True, help="POLICY/SCENARIO/SEED, or its line"
    )
    disclose.add_argument(
        "--hidden", metavar="DIR", type=Path, required=True, help="the evaluator's hidden folder"
    )
    disclose.add_argument("--out", metavar="DIR", type=Path, required=True, help="bundle to make")


def _configure_plan(parser: argparse.ArgumentParser) -> None:
    from wayproof.evidence.private_names import CLAUSES, Receiver
    from wayproof.evidence.recovery_names import CheckName

    add = parser.add_argument
    add("--agent", metavar="DIR", type=Path, required=True, help="folder with the agent's files")
    add(
        "--command",
        metavar="CMD",
        dest="agent_command",
        required=True,
        help="its command, run in that folder",
    )
    add("--name", metavar="NAME", required=True, help="what records call the agent")
    add("--runtime", metavar="DIR", action="append", help="what it may read (default: /usr)")
    add("--client", metavar="KEY", required=True, help="the client's public key")
    add("--evaluator", metavar="KEY", required=True, help="the evaluator's public key")
    add("--authorised-by", metavar="WHO", required=True, help="who authorises it, in words")
    add("--runs", metavar="N", type=int, default=1, help="runs that may be started (default: 1)")
    add("--days", metavar="N", type=int, default=30, help="valid from now for N days (default: 30)")
    add("--grids", metavar="N", type=int, default=50, help="hidden grids (default: 50)")
    add("--side-max", metavar="N", type=int, default=12, help="most rows and columns")
    add("--seeds", metavar="N", type=int, default=2, help="seeds a scenario (default: 2)")
    add("--moves", metavar="N", type=int, default=0, help="proposals a trial (default: suite's)")
    for name, value, text in _LIMITS:
        add(f"--{name}", metavar="N", type=int, default=value, help=f"{text} (default: {value})")
    add(
        "--best-effort",
        action="append",
        default=[],
        metavar="LIMIT",
        choices=[clause.name for clause in CLAUSES],
        help="a limit that a run may go on without, and say so: moves, seconds, memory_bytes, "
        "processes, file_bytes, network, isolation (default: all are required)",
    )
    add(
        "--counts",
        action="append",
        metavar="CHECK",
        choices=get_args(CheckName),
        help="a check that counts (default: all)",
    )
    add("--records-only", action="store_true", help="keep no traces: attested, not re-derived")
    for name, what in (("stderr", "the agent's stderr"), ("traces", "the traces")):
        add(
            f"--{name}-to",
            action="append",
            metavar="WHO",
            choices=get_args(Receiver),
            help=f"client, evaluator or public: who receives {what} "
            f"(default: {'nobody' if name == 'stderr' else 'both sides'})",
        )
    add("--hidden", metavar="DIR", type=Path, required=True, help="folder to make; never shown")
    add(
        "--out",
        metavar="FILE",
        type=Path,
        default=Path("agreement.toml"),
        help="the agreement (default: agreement.toml)",
    )


def _configure_start(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("agreement", metavar="AGREEMENT", type=Path, help="agreement.toml, signed by both")
    add("--key", metavar="FILE", type=Path, required=True, help="the client's private key")
    add("--trust", metavar="ROLE=KEY", action="append", help="whose signatures count, by role")
    add("--hours", metavar="N", type=int, default=72, help="begin within N hours (default: 72)")
    add("--result", metavar="DIR", type=Path, help="the bundle of the run before")
    add("--abandoned", action="store_true", help="the run before came to no result")
    add("--out", metavar="DIR", type=Path, default=Path(), help="where starts lie (default: here)")


def _configure_run(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("agreement", metavar="AGREEMENT", type=Path, help="agreement.toml, signed by both")
    add("--start", metavar="FILE", type=Path, required=True, help="the client's start")
    add("--agent", metavar="DIR", type=Path, required=True, help="folder with the agent's files")
    add("--hidden", metavar="DIR", type=Path, required=True, help="the folder that plan made")
    add("--key", metavar="FILE", type=Path, required=True, help="the evaluator's private key")
    add("--trust", metavar="ROLE=KEY", action="append", help="client=KEY and evaluator=KEY")
    add("--processes", metavar="N", type=int, default=1, help="worker processes")
    add("--out", metavar="DIR", type=Path, required=True, help="bundle to make")


def run(args: argparse.Namespace) -> int:
    """Run one subcommand."""
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise InputError(
            "private evaluations need the package cryptography",
            mend="pip install 'wayproof[private]'",
        ) from None
    commands = {
        "key": _key,
        "plan": _plan,
        "sign": _sign,
        "start": _start,
        "run": _run,
        "disclose": _disclose,
    }
    try:
        lines = commands[args.action](args)
    except OutputError as error:
        if "{overwrite}" not in (error.mend or ""):
            raise
        raise OutputError(
            error.problem, file=error.file, mend="nothing is overwritten here; choose another place"
        ) from None
    for line in lines:
        print(harmless(line))
    return 0


def _now() -> datetime:
    return datetime.now(tz=UTC)


def _later(now: datetime, setting: str, **span: int) -> datetime:
    [(unit, count)] = span.items()
    try:
        return now + timedelta(**{unit: count if count >= 1 else 1 << 60})
    except OverflowError:
        raise InputError(
            "not a span of time", setting=setting, expected="1 or more", found=str(count)
        ) from None


def _key(args: argparse.Namespace) -> list[str]:
    from wayproof.bundles.places import check_place
    from wayproof.private.files import write_private, write_public
    from wayproof.private.keys import new_key

    public = args.out.with_name(f"{args.out.name}.pub")
    check_place(public, overwrite=False)
    key = new_key()
    write_private(args.out, key.pem)
    write_public(public, key.public.pem)
    return [f"private key: {args.out}", f"public key:  {public}", f"key id {key.public.key_id}"]


def _plan(args: argparse.Namespace) -> list[str]:
    from wayproof.evidence.recovery_names import CHECKS
    from wayproof.private.keys import read_public_key
    from wayproof.private.plan import PlanRequest, plan
    from wayproof.recovery.generate import Parameters

    now = _now().replace(microsecond=0)
    request = PlanRequest(
        authorised_by=args.authorised_by,
        client=read_public_key(args.client),
        evaluator=read_public_key(args.evaluator),
        agent=args.agent,
        agent_name=args.name,
        command=_words(args.agent_command),
        runtime=tuple(args.runtime or ["/usr"]),
        runs=args.runs,
        seeds=args.seeds,
        checks=tuple(args.counts or [check.name for check in CHECKS]),
        keep="records" if args.records_only else "traces",
        not_before=now,
        not_after=_later(now, "days", days=args.days),
        limits=_limits(args),
        receives=_receives(args),
        parameters=Parameters(
            grids=args.grids, side_max=args.side_max, side_min=min(6, args.side_max)
        ),
    )
    agreement = plan(request, args.out, args.hidden)
    return [
        f"agreement: {args.out}",
        f"hidden, for the evaluator alone: {args.hidden}",
        f"{agreement.suite.scenarios} scenarios, {agreement.suite.seeds} seeds",
        f"suite root {agreement.suite.root}",
        "read it, and let both sides sign it",
    ]


def _words(command: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise InputError("not a command", setting="command", found=str(error)) from None
    if not words:
        raise InputError("not a command", setting="command", found=quoted(command))
    return words


def _limits(args: argparse.Namespace) -> "Limits":
    import msgspec

    from wayproof.evidence.private_records import Limits

    bounds = {
        "moves": max(1, args.moves),
        "seconds": args.seconds,
        "memory_bytes": args.memory_mib * _MIB,
        "processes": args.processes,
        "file_bytes": args.file_mib * _MIB,
    }
    said: dict[str, dict[str, object]] = {}
    for name in Limits.__struct_fields__:
        enforce = "best_effort" if name in args.best_effort else "required"
        said[name] = {"enforce": enforce}
        if name in bounds:
            said[name]["at_most"] = bounds[name]
    try:
        return msgspec.convert(said, Limits)
    except msgspec.ValidationError as error:
        raise InputError("not a limit", found=str(error)) from None


def _receives(args: argparse.Namespace) -> "Receives":
    from wayproof.evidence.private_records import Receives

    traces = tuple(args.traces_to or (() if args.records_only else ROLES))
    return Receives(results=ROLES, stderr=tuple(args.stderr_to or ()), traces=traces)


def _sign(args: argparse.Namespace) -> list[str]:
    from wayproof.evidence.private_names import AGREEMENT_NAME, signature_name
    from wayproof.private.files import read_input, write_public
    from wayproof.private.keys import read_signing_key
    from wayproof.private.signing import sign_agreement

    if args.agreement.name != AGREEMENT_NAME:
        raise InputError(
            "not a name for an agreement", file=str(args.agreement), expected=AGREEMENT_NAME
        )
    key = read_signing_key(args.key)
    envelope = sign_agreement(read_input(args.agreement), args.role, key)
    place = args.agreement.with_name(signature_name(args.agreement.name, args.role))
    write_public(place, envelope)
    return [f"signed as {args.role}, key id {key.public.key_id}: {place}"]


def _start(args: argparse.Namespace) -> list[str]:
    from wayproof.canonical import sha256_hex
    from wayproof.evidence.private_names import signature_name, start_name
    from wayproof.private.agreement import read_agreement, refused
    from wayproof.private.files import read_input, write_public
    from wayproof.private.keys import read_signing_key
    from wayproof.private.secrets import random_bytes
    from wayproof.private.signing import check_agreement, read_trust, sign_start
    from wayproof.private.starts import next_start, read_chain, start_line

    key, data = read_signing_key(args.key), read_input(args.agreement)
    trust = read_trust(trusted_keys(args.trust))
    known = check_agreement(args.agreement, data, trust)
    for role in ROLES:
        if trust.of(role) is not None and role not in known:
            raise refused(f"keys.{role}", "signature valid, signer unknown")
    agreement, digest = read_agreement(data), sha256_hex(data)
    if agreement.keys.client != key.public.hex:
        raise refused("keys.client", "a start is signed by the client", found=key.public.hex)
    last = 0
    while last < agreement.runs and (args.out / start_name(last + 1)).exists():
        last += 1
    if last == agreement.runs:
        raise refused("runs", "no run is left", expected=f"at most {agreement.runs}")
    chain = read_chain(args.out, last, agreement, digest, trust) if last else ()
    previous = _previous_result(args, chain)
    now = _now()
    start = next_start(
        digest, chain, previous, random_bytes(32).hex(), _later(now, "hours", hours=args.hours)
    )
    line = start_line(start)
    place = args.out / start_name(start.run)
    signature = args.out / signature_name(place.name, "client")
    write_public(signature, sign_start(place.name, line, key))
    write_public(place, line)
    return [f"start of run {start.run} of {agreement.runs}, until {start.not_after}: {place}"]


def _previous_result(args: argparse.Namespace, chain: "tuple[SignedStart, ...]") -> str | None:
    """Return the digest of the last run's result, which is checked; None: it was given up."""
    from wayproof.evidence.private_names import PRIVATE_KIND
    from wayproof.private.evidence_folder import read_signed
    from wayproof.private.signing import read_trust

    if not chain:
        if args.result is not None or args.abandoned:
            raise InputError("there is no run before the first", setting="result")
        return None
    if (args.result is None) is not args.abandoned:
        raise InputError(
            f"what became of run {len(chain)}?",
            setting="result",
            mend="name its bundle with {result}, or say {abandoned}",
        )
    if args.result is None:
        return None
    signed = read_signed(args.result, read_trust(trusted_keys(args.trust)))
    if signed.result.start_sha256 != chain[-1].sha256:
        raise InputError(
            "is the result of another start",
            file=str(args.result),
            expected=f"the {PRIVATE_KIND} bundle of run {len(chain)}",
        )
    return signed.result_sha256


def _run(args: argparse.Namespace) -> list[str]:
    from wayproof.private.keys import read_signing_key
    from wayproof.private.run import PrivateRunRequest, run_private
    from wayproof.private.signing import read_trust

    if args.processes < 1:
        raise InputError("at least one process", setting="processes", found=str(args.processes))
    request = PrivateRunRequest(
        agreement=args.agreement,
        start=args.start,
        agent=args.agent,
        hidden=args.hidden,
        key=read_signing_key(args.key),
        trust=read_trust(trusted_keys(args.trust)),
        moment=_now(),
        processes=args.processes,
    )
    with count_progress("running trials") as progress:
        report = run_private(request, args.out, progress=progress)
    result = report.result
    counts = f"{result.trials} trials, {result.completed} completed, {result.verified} verified"
    lines = [f"run {result.run}: {counts}, {result.passed} pass the agreed checks"]
    lines += [
        f"best effort, not enforced: {each.clause} ({each.means})"
        for each in result.enforced
        if not each.enforced
    ]
    lines.append(f"result SHA-256 {report.result_sha256}")
    if report.agent_log is not None:
        lines.append(f"what agents left to read: {report.agent_log}")
    return lines


def _disclose(args: argparse.Namespace) -> list[str]:
    from wayproof.private.disclose import disclose

    trial = disclose(args.bundle, args.trial, args.hidden, args.out)
    return [
        f"disclosed: {_name_of(trial)}, leaf {trial.leaf.index}",
        f"known with it: grid {trial.scenario.grid.grid_id} and all its scenarios",
        f"bundle: {args.out}",
    ]


def _name_of(trial: "PrivateTrial") -> str:
    from wayproof.evidence.recovery_records import trial_id

    record = trial.record
    return trial_id(record.policy, record.scenario_id, record.policy_seed)

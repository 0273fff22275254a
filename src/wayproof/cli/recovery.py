"""``wayproof recovery``: run, reproduce, replay, generate, from-inspect."""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from wayproof.bundles.whole_file import whole_file
from wayproof.cli import whole_number
from wayproof.cli.progress import count_progress
from wayproof.errors import InputError, IntegrityError
from wayproof.parallel import ENGINES
from wayproof.text import harmless

if TYPE_CHECKING:
    from wayproof.bundles.parts import Shard
    from wayproof.recovery.agents.policy import PolicySource
    from wayproof.recovery.generate import Recipe
    from wayproof.recovery.reading import RecordedTrial
    from wayproof.recovery.run import RunReport, RunRequest
    from wayproof.recovery.summary import Summary

__all__ = ["bench_holds", "configure", "print_report", "print_suite", "run", "run_lines"]

_PARAMETERS = (
    ("--grids", "N", "how many grids, three scenarios each"),
    ("--side-min", "N", "fewest rows and columns"),
    ("--side-max", "N", "most rows and columns"),
    ("--blocked-percent", "N", "chance of each cell to be blocked"),
    ("--cost-max", "N", "entry costs are 1 to N (at most 9)"),
    ("--prefix-min-moves", "N", "fewest moves of a prefix"),
    ("--remaining-min-moves", "N", "fewest reference moves that a prefix leaves"),
    ("--budget-factor", "N", "proposals per remaining reference move"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the subcommands and their arguments."""
    actions = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="action", required=True
    )
    run_parser = actions.add_parser(
        "run",
        help="run a suite's trials and write a bundle",
        description="Run every scenario x policy x seed of a suite, verify and replay each trial, "
        "and write a bundle: suite, traces, results, summary, manifest.",
    )
    _add_experiment(run_parser)
    _add_backend(run_parser)
    _add_agent(run_parser)
    run_parser.add_argument("--out", metavar="DIR", type=Path, required=True, help="bundle to make")
    run_parser.add_argument("--overwrite", action="store_true", help="replace an existing bundle")
    _add_shard(run_parser)
    reproduce = actions.add_parser(
        "reproduce",
        help="run twice in fresh processes and compare the bytes",
        description="Run twice, each time in a fresh process with another hash seed, locale and "
        "time zone, compare every evidence file, and print both digests.",
    )
    _add_experiment(reproduce)
    check_policy = actions.add_parser(
        "check-policy",
        help="try a policy of your own on the contract of policies",
        description="Run a policy on a few trials and name each rule of its contract that it "
        "breaks; exit 1 when it breaks one.",
    )
    check_policy.add_argument(
        "policy", metavar="POLICY", help="an entry point of the group, or module:factory"
    )
    replay = actions.add_parser(
        "replay",
        help="carry out recorded actions again, on the grid",
        description="Carry out a bundle's recorded actions in a fresh world and compare. With "
        "--trial, draw each step on the grid; without it, list the trials.",
    )
    replay.add_argument("bundle", metavar="DIR", type=Path, help="the result folder")
    replay.add_argument("--trial", metavar="ID", help="POLICY/SCENARIO/SEED, as in the list")
    generate = actions.add_parser(
        "generate",
        help="make a suite from a seed",
        description="Make a suite. A shipped suite's name gives its recipe; with nothing else "
        "changed, the bytes are those of the shipped file.",
    )
    _add_generate(generate)
    from_inspect = actions.add_parser(
        "from-inspect",
        help="make a bundle of a log of the Inspect task wayproof/wfrb",
        description="Take the actions of a finished log, run them again, and write a bundle. A log "
        "with missing trials makes none.",
    )
    _add_from_inspect(from_inspect)


def _add_experiment(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--suite", metavar="NAME|FILE", default="wfrb-v0", help="shipped suite or a suite file"
    )
    parser.add_argument(
        "--policy",
        metavar="NAME",
        action="extend",
        nargs="+",
        help="blind-repeat, planner, random-walk (default: all three); or a policy of your own: "
        "an entry point of the group wayproof.policies, or module:factory",
    )
    parser.add_argument(
        "--seeds", metavar="LIST", default="0,1", help="policy seeds: 0,1 or 0-9 (default: 0,1)"
    )
    parser.add_argument(
        "--processes",
        metavar="N",
        type=whole_number,
        help="worker processes; same bytes for any (default: 1; all processors with an engine)",
    )


def _add_backend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backend",
        choices=ENGINES,
        help="where the work is done: processes of this machine (local, the default), Ray or "
        "Dask (extras)",
    )


def _add_shard(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--shard",
        metavar="i/N",
        help="do the i-th of N shares of the grids into a part, for `wayproof merge`",
    )


def _add_agent(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("agents of your own")
    group.add_argument(
        "--agent", metavar="CMD", help="a program that speaks the agent protocol over stdio"
    )
    group.add_argument("--name", metavar="NAME", help="what records call the agent")
    group.add_argument(
        "--reuse-agent",
        action="store_true",
        help="one process for many trials: then nothing keeps a trial from knowing another",
    )
    for option, text in (
        ("--hello-ms", "deadline from the start of its process to its hello (default: 10000)"),
        ("--move-ms", "deadline for each action (default: 10000)"),
        ("--trial-ms", "deadline for a whole trial (default: 300000)"),
    ):
        group.add_argument(option, metavar="N", type=whole_number, help=text)


def _add_generate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--suite", metavar="NAME", default="wfrb-v0", help="recipe to start from")
    parser.add_argument("--seed", metavar="N", type=whole_number, help="generator seed")
    for option, metavar, text in _PARAMETERS:
        parser.add_argument(option, metavar=metavar, type=whole_number, help=text)
    parser.add_argument(
        "--processes",
        metavar="N",
        type=whole_number,
        help="worker processes; same bytes for any (default: 1; all processors with an engine)",
    )
    _add_backend(parser)
    parser.add_argument("--id", metavar="ID", help="id of a suite with other parameters")
    parser.add_argument("--out", metavar="FILE", type=Path, required=True, help="file to make")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing file")
    _add_shard(parser)


def _add_from_inspect(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("log", metavar="LOG", type=Path, help="the log: .eval or .json")
    parser.add_argument(
        "--suite", metavar="NAME|FILE", help="its suite, unless that ships with wayproof"
    )
    parser.add_argument(
        "--name", metavar="NAME", help="what records call the model (default: made of its name)"
    )
    parser.add_argument("--out", metavar="DIR", type=Path, required=True, help="bundle to make")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing bundle")


def run(args: argparse.Namespace) -> int:
    """Run one subcommand."""
    if args.action == "run":
        return _run(args)
    if args.action == "reproduce":
        return _reproduce(args)
    if args.action == "check-policy":
        return _check_policy(args)
    if args.action == "replay":
        return _replay(args)
    if args.action == "from-inspect":
        return _from_inspect(args)
    return _generate(args)


# -- run ------------------------------------------------------------------------------


def _run(args: argparse.Namespace) -> int:
    from wayproof.parallel.engines import engine
    from wayproof.recovery.run import RunRequest, run_suite
    from wayproof.recovery.suite import suite_path

    request = RunRequest(
        suite=suite_path(args.suite),
        suite_name=args.suite,
        policies=_policies(args),
        policy_seeds=_seeds(args.seeds),
    )
    with engine(args.backend, _processes(args.processes)) as place:
        request = request._replace(processes=place.width, executor=place.executor)
        if args.shard is not None:
            return _run_shard(request, args)
        with count_progress("running trials") as progress:
            report = run_suite(request, args.out, overwrite=args.overwrite, progress=progress)
    print_report(report)
    return 0 if bench_holds(report.summary) else 1


def _run_shard(request: "RunRequest", args: argparse.Namespace) -> int:
    from wayproof.bundles.parts import Shard
    from wayproof.recovery.parts import run_shard

    shard = Shard.parse(args.shard)
    with count_progress("running trials") as progress:
        part = run_shard(request, shard, args.out, overwrite=args.overwrite, progress=progress)
    _print_part(shard, part.first, part.end, part.grids, args.out)
    return 0


def _print_part(shard: "Shard", first: int, end: int, grids: int, out: Path) -> None:
    which = f"grids {first} to {end - 1}" if end > first else "no grid"
    print(f"part {shard.number} of {shard.shard_count}: {which} of {grids}")
    print(f"written: {out}")


def print_report(report: "RunReport") -> None:
    """Say what a run came to."""
    from wayproof.cli.terminal import say

    for line in run_lines(report):
        say(line, breaks_words=False)
    if report.agent_log is not None:
        print(f"what agents left to read: {report.agent_log}")


def _policies(args: argparse.Namespace) -> "tuple[PolicySource, ...]":
    """Return what the run is asked to measure: controls, policies in Python, or a program."""
    from wayproof.recovery.agents.controls import CONTROL_SOURCES
    from wayproof.recovery.agents.python import policy_source

    if args.agent is not None:
        if args.policy:
            raise InputError("{agent} and {policies} don't go together: one bundle a kind")
        return (_program(args),)
    named = args.policy or list(CONTROL_SOURCES)
    if args.name is not None and len(named) != 1:
        raise InputError("{name} names one agent", found=f"{len(named)} policies")
    # As for a script, what lies in the folder that one stands in can be imported.
    sys.path.insert(0, str(Path.cwd()))
    return tuple(policy_source(spelled, args.name) for spelled in named)


def _program(args: argparse.Namespace) -> "PolicySource":
    import msgspec

    from wayproof.recovery.agents.stdio import Deadlines, stdio_agent

    if args.name is None:
        raise InputError(
            "an agent needs a name for its records", setting="name", mend="{name} my-agent"
        )
    given = {
        field: getattr(args, field)
        for field in Deadlines.__struct_fields__
        if getattr(args, field) is not None
    }
    deadlines = msgspec.structs.replace(Deadlines(), **given)
    return stdio_agent(args.name, args.agent, deadlines=deadlines, reuse=args.reuse_agent)


def _seeds(text: str) -> tuple[int, ...]:
    from wayproof.recovery.run import MAX_POLICY_SEEDS

    seeds: list[int] = []
    for part in text.split(","):
        low, dash, high = part.strip().partition("-")
        if not (low.isascii() and low.isdigit()) or (
            dash and not (high.isascii() and high.isdigit())
        ):
            raise InputError(
                "not a list of seeds", field="--seeds", expected="0,1 or 0-9", found=text
            )
        if len(low) > 16 or len(high) > 16 or int(high or low) - int(low) >= MAX_POLICY_SEEDS:
            raise InputError(
                "too many seeds, or too large",
                field="--seeds",
                expected=f"at most {MAX_POLICY_SEEDS} below 2^53",
                found=text,
            )
        seeds += range(int(low), int(high or low) + 1)
    return tuple(seeds)


def _processes(processes: int | None) -> int | None:
    from wayproof.parallel.backend import MAX_PROCESSES

    if processes is not None and not 1 <= processes <= MAX_PROCESSES:
        raise InputError(
            "can't run in that many processes",
            field="--processes",
            expected=f"1 … {MAX_PROCESSES}",
            found=str(processes),
        )
    return processes


def run_lines(report: "RunReport") -> Iterator[str]:
    """Yield what a run prints: the counts beside the published ones, digest and limits."""
    from wayproof.recovery.suite import EXPECTED_RANDOM_WALK, REFERENCE_RESULTS_SHA256

    summary = report.summary
    standing = "official" if report.official else "custom"
    seeds = _listed(summary.policy_seeds)
    yield (
        f"suite {summary.suite_id} ({standing}, SHA-256 {report.suite.sha256}): {summary.grids} "
        f"grids, {summary.scenarios} scenarios, policy seeds {seeds}, {summary.trials} trials"
    )
    yield ""
    yield from _table(summary)
    expected = EXPECTED_RANDOM_WALK.get(summary.suite_id)
    if expected is not None and any(row.policy == "random-walk" for row in summary.policies):
        cells = next(row.total.cells for row in summary.policies if row.policy == "random-walk")
        factor = len(summary.policy_seeds)
        yield ""
        yield (
            f"random-walk, exact expectation over its draws: {factor * expected[0]:.2f} completed "
            f"and {factor * expected[1]:.2f} verified of {cells}"
        )
    yield ""
    yield summary.independence
    yield from (f"Limit: {limit}" for limit in summary.limits)
    yield ""
    known = " (the digest that is published with wayproof)"
    same = report.results.sha256 == REFERENCE_RESULTS_SHA256
    yield f"results.jsonl SHA-256 {report.results.sha256}{known if same else ''}"


def _listed(seeds: Iterable[int]) -> str:
    numbers = list(seeds)
    if len(numbers) > 8:
        return f"{numbers[0]} … {numbers[-1]} ({len(numbers)})"
    return ", ".join(map(str, numbers))


def _table(summary: "Summary") -> Iterator[str]:
    from wayproof.cli.terminal import fits
    from wayproof.recovery.display import summary_table

    rows = summary_table(summary)
    if not fits(rows):
        for row in rows[1:]:
            yield row[0]
            yield from (
                f"  {name}: {cell}" for name, cell in zip(rows[0][1:], row[1:], strict=True)
            )
        return
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def bench_holds(summary: "Summary") -> bool:
    """Whether the controls did what validates the bench: all exact, or none at all."""
    for row in summary.policies:
        total = row.total
        if row.policy == "planner" and total.verified != total.cells:
            return False
        if row.policy == "blind-repeat" and total.completed != 0:
            return False
    return True


# -- reproduce ------------------------------------------------------------------------


def _reproduce(args: argparse.Namespace) -> int:
    from wayproof.recovery.reproduce import first_different_file, invoke
    from wayproof.recovery.suite import REFERENCE_RESULTS_SHA256, suite_path

    suite_path(args.suite)
    _seeds(args.seeds)
    command = [sys.executable, "-m", "wayproof", "recovery", "run"]
    command += ["--suite", args.suite, "--seeds", args.seeds]
    command += ["--processes", str(_processes(args.processes) or 1)]
    for policy in args.policy or []:
        command += ["--policy", policy]
    with tempfile.TemporaryDirectory(prefix="wayproof-reproduce-") as folder:
        runs = []
        for number, name in enumerate(("first", "second")):
            out = Path(folder) / name
            runs.append(invoke(number, out, [*command, "--out", str(out)]))
            print(
                f"{name} invocation: results.jsonl SHA-256 {runs[-1].results_sha256}"
                f" ({runs[-1].duration_ms} ms)"
            )
        different = first_different_file(runs[0].out, runs[1].out)
    if different is not None:
        raise IntegrityError("two invocations differ in their bytes", file=different)
    print("suite, traces, results and summary are byte-identical")
    if args.suite == "wfrb-v0" and args.seeds == "0,1" and not args.policy:
        if runs[0].results_sha256 != REFERENCE_RESULTS_SHA256:
            raise IntegrityError(
                "both invocations agree, but not with the digest that is published with wayproof",
                expected=REFERENCE_RESULTS_SHA256,
                found=runs[0].results_sha256,
            )
        print("and equal to those that are published with wayproof")
    return 0


def _check_policy(args: argparse.Namespace) -> int:
    from wayproof.recovery.agents.python import policy_factory
    from wayproof.testing import POLICY_RULES, policy_breaches

    sys.path.insert(0, str(Path.cwd()))
    factory, _ = policy_factory(args.policy)
    breaches = policy_breaches(factory)
    for breach in breaches:
        print(harmless(f"{breach.rule}: {breach.found}"))
    if not breaches:
        print(f"{args.policy} keeps the contract of policies: {len(POLICY_RULES)} rules")
    return 1 if breaches else 0


# -- replay ---------------------------------------------------------------------------


def _replay(args: argparse.Namespace) -> int:
    from wayproof.bundles.reader import open_bundle
    from wayproof.evidence.recovery_names import BUNDLE_KIND
    from wayproof.recovery.reading import read_trials

    open_bundle(args.bundle, kind=BUNDLE_KIND)
    trials = (trial for trial in read_trials(args.bundle) if args.trial in {None, trial.id})
    shown = 0
    for trial in trials:
        _require_same_replay(args.bundle, trial)
        for line in _trial_line(trial) if args.trial is None else _trial_drawn(trial):
            print(line)
        shown += 1
        if args.trial is not None:
            break
    if shown == 0:
        raise InputError(
            "no such trial",
            file=str(args.bundle),
            field="--trial",
            found=args.trial,
            mend="'wayproof recovery replay DIR' lists them",
        )
    return 0


def _require_same_replay(bundle: Path, trial: "RecordedTrial") -> None:
    from wayproof.recovery.replay import first_difference

    different = first_difference(trial.case.begin(), trial.trace.steps)
    if different is not None:
        raise IntegrityError(
            "a fresh world does something else",
            file=str(bundle / "traces.jsonl"),
            line=trial.line,
            index=f"trial {trial.id}",
            field=f"steps[{different}]",
        )


def _trial_line(trial: "RecordedTrial") -> Iterator[str]:
    result = trial.result
    yield (
        f"{trial.id}  {_spelled(result.completed, result.verified_recovery)}, cost "
        f"{result.final_cost} of {result.optimal_cost}, {result.proposals} proposals"
    )


def _trial_drawn(trial: "RecordedTrial") -> Iterator[str]:
    result = trial.result
    yield f"trial {trial.id} on {result.grid_id}\n"
    for block in trial.case.drawing(trial.trace.steps):
        yield block + "\n"
    yield (
        f"{_spelled(result.completed, result.verified_recovery)}: cost {result.final_cost}, "
        f"optimum {result.optimal_cost}"
    )


def _spelled(completed: bool, verified: bool | None) -> str:
    if verified:
        return "verified recovery"
    return "completed, not at the optimal cost" if completed else "not completed"


# -- generate -------------------------------------------------------------------------


def _generate(args: argparse.Namespace) -> int:
    from wayproof.bundles.manifest import digest_file
    from wayproof.parallel.engines import engine
    from wayproof.recovery.generate import suite_lines

    recipe = _recipe(args)
    recipe.parameters.check()
    if args.shard is not None:
        return _generate_shard(recipe, args)
    done = 0
    with (
        engine(args.backend, _processes(args.processes)) as place,
        whole_file(args.out, overwrite=args.overwrite) as file,
        count_progress("making grids") as progress,
    ):
        for lines in suite_lines(recipe, processes=place.width, executor=place.executor):
            file.write(lines)
            done += lines.count(b"\n")
            progress(done, recipe.parameters.grids + 1)
    print_suite(recipe.suite_id, recipe.parameters.grids, digest_file(args.out).sha256, args.out)
    return 0


def _generate_shard(recipe: "Recipe", args: argparse.Namespace) -> int:
    from wayproof.bundles.parts import Shard
    from wayproof.parallel.engines import engine
    from wayproof.recovery.parts import generate_shard

    shard = Shard.parse(args.shard)
    processes = _processes(args.processes)
    with engine(args.backend, processes) as place:
        part = generate_shard(
            recipe,
            shard,
            args.out,
            processes=place.width,
            executor=place.executor,
            overwrite=args.overwrite,
        )
    _print_part(shard, part.first, part.end, part.grids, args.out)
    return 0


def print_suite(suite_id: str, grids: int, sha256: str, out: Path) -> None:
    """Say which suite was made."""
    from wayproof.recovery.suite import PINNED_SUITES

    official = " (official)" if PINNED_SUITES.get(suite_id) == sha256 else ""
    print(f"suite {suite_id}{official}: {grids} grids, {out}")
    print(f"SHA-256 {sha256}")


def _recipe(args: argparse.Namespace) -> "Recipe":
    """Return the shipped recipe with what was changed; another recipe gets another id."""
    import msgspec

    from wayproof.evidence.recovery_records import SUITE_ID_PATTERN
    from wayproof.recovery.generate import RECIPES, Recipe, custom_suite_id
    from wayproof.recovery.suite import PINNED_SUITES

    shipped = RECIPES.get(args.suite)
    if shipped is None:
        raise InputError(
            "no such recipe", field="--suite", expected=", ".join(RECIPES), found=args.suite
        )
    seed = shipped.seed if args.seed is None else args.seed
    if isinstance(seed, int) and not 0 <= seed < 1 << 53:
        raise InputError(
            "generator seed out of range", field="--seed", expected="0 … 2^53 - 1", found=str(seed)
        )
    names = [option.removeprefix("--").replace("-", "_") for option, _, _ in _PARAMETERS]
    changed = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    recipe = Recipe(args.suite, seed, msgspec.structs.replace(shipped.parameters, **changed))
    suite_id = custom_suite_id(recipe) if args.id is None else args.id
    if args.id is not None and (
        SUITE_ID_PATTERN.fullmatch(args.id) is None or args.id in PINNED_SUITES
    ):
        raise InputError(
            "not an id for a custom suite",
            field="--id",
            expected="1 to 64 of A-Z a-z 0-9 . _ -, and no official suite's id",
            found=args.id,
        )
    return msgspec.structs.replace(recipe, suite_id=suite_id)


# -- logs of Inspect --------------------------------------------------------------------


def _from_inspect(args: argparse.Namespace) -> int:
    from wayproof.cli.terminal import say
    from wayproof.llm.log import bundle_of_log

    made = bundle_of_log(
        args.log, args.out, suite=args.suite, name=args.name, overwrite=args.overwrite
    )
    print(harmless(f"the model {made.model} is called {made.policy} in the records"))
    for line in run_lines(made.report):
        say(line, breaks_words=False)
    if made.report.agent_log is not None:
        print(f"what agents left to read: {made.report.agent_log}")
    return 0

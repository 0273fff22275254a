"""A bundle of a finished Inspect log: only the actions are taken, the world runs them again."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from wayproof._version import __version__
from wayproof.bundles.manifest import digest_file
from wayproof.canonical import canonical_bytes, sha256_hex
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.recovery_names import AgentOutcome
from wayproof.evidence.recovery_records import AgentRecord
from wayproof.llm.dialogue import PROTOCOLS, LoggedTrial, Protocol, replaying_source
from wayproof.recovery.agents.policy import client_stream_seed
from wayproof.recovery.run import RunReport, RunRequest, checked_seeds, run_suite
from wayproof.recovery.suite import PINNED_SUITES, SuiteReader, suite_path
from wayproof.text import quoted

__all__ = ["FromLog", "bundle_of_log", "policy_name"]

_NAMED_TRIALS: Final = 10
_WORD_CHARS: Final = 4096
_NAME_CHARS: Final = 128
_LETTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")


class FromLog(NamedTuple):
    """What a log came to.

    Attributes
    ----------
    model, policy
        The model as the log calls it, and what records call it.
    report
        The run of its actions.
    """

    model: str
    policy: str
    report: RunReport


def bundle_of_log(
    log: Path,
    out: Path,
    *,
    suite: str | None = None,
    name: str | None = None,
    overwrite: bool = False,
) -> FromLog:
    """Run a log's actions again and write the bundle ``out``.

    Parameters
    ----------
    log
        A log of the task ``wayproof/wfrb``, ``.eval`` or ``.json``.
    suite
        The suite; an official one is found by the log's own word.
    name
        What records call the model; :func:`policy_name` of it when None.

    Raises
    ------
    InputError
        When the log is none of this task, or trials are missing, named in the message.
        Nothing is written.
    IntegrityError
        When the suite is not the one that the log's task read.
    """
    read = _read(log)
    protocol = _protocol(read, log)
    file = _suite(read, log, suite)
    trials, policy_seeds = _trials(read, log, file, protocol)
    model = read.eval.model
    policy = policy_name(model) if name is None else name
    identity = AgentRecord(
        details={key: _word(value) for key, value in _details(read, log, protocol).items()},
        kind="inspect",
        policy=policy,
    )
    source = replaying_source(policy, trials, identity)
    request = RunRequest(suite=file, policies=(source,), policy_seeds=policy_seeds)
    return FromLog(model, policy, run_suite(request, out, overwrite=overwrite))


def policy_name(model: str) -> str:
    """Make an identifier of a model's name: ``openai/x`` is called ``openai-x``."""
    kept = "".join(part if part in _LETTERS or part in "._-" else "-" for part in model)
    return kept.lstrip("._-")[:_NAME_CHARS] or "model"


def _read(log: Path) -> Any:
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise InputError(
            "reading a log of Inspect needs a package that isn't installed",
            expected="inspect_ai",
            mend="pip install 'wayproof[inspect]'",
        ) from None
    if not log.is_file():
        raise InputError("no such log", file=str(log))
    try:
        read = read_eval_log(str(log), resolve_attachments=True)
    except Exception as error:  # noqa: BLE001 - whatever Inspect raises on a broken file
        raise InputError(
            "can't be read as a log of Inspect",
            file=str(log),
            found=f"{type(error).__name__}: {error}",
        ) from None
    task = read.eval.task_registry_name or read.eval.task
    if task.rpartition("/")[2] != "wfrb":
        raise InputError(
            "a log of another task",
            file=str(log),
            field="eval.task",
            expected="wayproof/wfrb",
            found=quoted(task),
        )
    return read


def _said(read: Any, log: Path, key: str) -> str:
    value = (read.eval.metadata or {}).get(key)
    if not isinstance(value, str):
        raise InputError(
            "the log doesn't say what its task was",
            file=str(log),
            field=f"eval.metadata.{key}",
            expected="a text, as the task writes it",
            found=type(value).__name__,
        )
    return value


def _protocol(read: Any, log: Path) -> Protocol:
    said = _said(read, log, "protocol")
    for protocol in PROTOCOLS:
        if said == protocol:
            return protocol
    raise InputError(
        "unknown protocol",
        file=str(log),
        field="eval.metadata.protocol",
        expected=" or ".join(PROTOCOLS),
        found=quoted(said),
    )


def _suite(read: Any, log: Path, suite: str | None) -> Path:
    """Return the suite's file. A path that a log names is never opened."""
    suite_id, digest = _said(read, log, "suite_id"), _said(read, log, "suite_sha256")
    if suite is None and suite_id not in PINNED_SUITES:
        raise InputError(
            "the log is of a suite that doesn't ship with wayproof",
            file=str(log),
            setting="suite",
            found=quoted(suite_id),
            mend="give its file with {suite}",
        )
    file = suite_path(suite_id if suite is None else suite)
    found = digest_file(file).sha256
    if found != digest:
        raise IntegrityError(
            "the suite is not the one of the log",
            file=str(file),
            expected=f"SHA-256 {digest}",
            found=found,
        )
    return file


# -- trials -----------------------------------------------------------------------------


def _trials(
    read: Any, log: Path, suite: Path, protocol: Protocol
) -> tuple[dict[int, LoggedTrial], tuple[int, ...]]:
    """Return the actions of every trial by its stream's seed, and the policy seeds."""
    epochs = read.eval.config.epochs or 1
    policy_seeds = checked_seeds(tuple(range(epochs)))
    samples: dict[tuple[str, int], Any] = {}
    for sample in read.samples or ():
        key = (str(sample.id), sample.epoch - 1)
        if key in samples:
            raise InputError("a trial stands twice", file=str(log), index=_spelled(key))
        samples[key] = sample
    trials: dict[int, LoggedTrial] = {}
    missing: list[str] = []
    for suite_id, scenario_id, stream_id in _cases(suite):
        for policy_seed in policy_seeds:
            key = (scenario_id, policy_seed)
            sample = samples.pop(key, None)
            if sample is None:
                missing.append(_spelled(key))
                continue
            seed = client_stream_seed(suite_id, stream_id, policy_seed)
            if seed in trials:
                raise InputError(
                    "two scenarios share one stream, so that a log can't be run again",
                    file=str(suite),
                    index=scenario_id,
                )
            trials[seed] = LoggedTrial.of(sample.messages, protocol, _ending(sample))
    _require_whole(read, log, missing, [_spelled(key) for key in samples])
    return trials, policy_seeds


def _cases(suite: Path) -> Iterator[tuple[str, str, str]]:
    with SuiteReader(suite) as reader:
        for _, grid in reader.grids():
            for case in grid.cases():
                yield reader.header.suite_id, case.scenario_id, case.stream_id


def _require_whole(read: Any, log: Path, missing: list[str], strange: list[str]) -> None:
    if missing:
        named = ", ".join(missing[:_NAMED_TRIALS])
        more = len(missing) - _NAMED_TRIALS
        raise InputError(
            f"{len(missing)} trials are missing",
            file=str(log),
            expected="every scenario of the suite in every epoch",
            found=f"none of {named}" + (f" and {more} more" if more > 0 else ""),
            mend="run the whole task, or finish it with: inspect eval-retry LOG",
        )
    if strange:
        raise InputError(
            "a trial that the suite doesn't have", file=str(log), index=quoted(strange[0])
        )
    if read.status != "success":
        raise InputError(
            "the evaluation didn't come to its end",
            file=str(log),
            field="status",
            expected="success",
            found=quoted(str(read.status)),
            mend="finish it with: inspect eval-retry LOG",
        )


def _spelled(key: tuple[str, int]) -> str:
    return f"{key[0]}/{key[1]}"


def _ending(sample: Any) -> AgentOutcome:
    """Tell what became of the agent, unless its actions bring the trial to its own end."""
    if sample.error is not None:
        return "crashed"
    return "malformed" if sample.limit is None else "limit_reached"


# -- what the manifest says -------------------------------------------------------------


def _details(read: Any, log: Path, protocol: Protocol) -> dict[str, str]:
    return {
        "generation config": _json(read.plan.config.model_dump(mode="json", exclude_none=True)),
        "log SHA-256": digest_file(log).sha256,
        "model": read.eval.model,
        "prompt SHA-256": _prompts_sha256(read),
        "protocol": protocol,
        "task version": str(read.eval.task_version),
        "token usage": _json(
            {
                model: usage.model_dump(mode="json", exclude_none=True)
                for model, usage in read.stats.model_usage.items()
            }
        ),
        "versions": _json({**read.eval.packages, "wayproof, reading": __version__}),
    }


def _prompts_sha256(read: Any) -> str:
    """Digest of what the model was told before its first answer, over all trials."""
    prompts = []
    for sample in sorted(read.samples, key=lambda one: (str(one.id), one.epoch)):
        opening: list[list[str]] = []
        for message in sample.messages:
            if message.role == "assistant":
                break
            opening.append([message.role, message.text])
        prompts.append([str(sample.id), str(sample.epoch), opening])
    return sha256_hex(canonical_bytes(prompts))


def _json(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=True)


def _word(text: str) -> str:
    """Keep a text that a manifest has room for, else its digest."""
    if len(text) <= _WORD_CHARS:
        return text
    digest = sha256_hex(text.encode("utf-8", "backslashreplace"))
    return f"{len(text)} characters, SHA-256 {digest}"

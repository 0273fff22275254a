"""Language models through Inspect: the task, its scores, and bundles of its logs."""

import gc
import hashlib
import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="the extra [inspect] is not installed")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from inspect_ai import eval as inspect_eval
    from inspect_ai.log import write_eval_log
    from inspect_ai.model import ChatMessageAssistant, ModelOutput, ModelUsage, get_model
    from inspect_ai.tool import ToolCall

    from wayproof.llm.task import wfrb

from wayproof.cli import main
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.recovery_records import FINISH, Action
from wayproof.llm.dialogue import action_of_call, action_of_text, opening_words
from wayproof.llm.log import bundle_of_log, policy_name
from wayproof.recovery.agents.controls import Planner
from wayproof.recovery.agents.policy import client_agent
from wayproof.recovery.grid import Grid
from wayproof.recovery.planner import cost_to_go, next_cell
from wayproof.recovery.run import RunRequest, run_suite
from wayproof.recovery.suite import suite_path
from wayproof.recovery.trial import until_failure

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # somebody else's package warns as it likes
]
Answer = Callable[[list[Any], str], ModelOutput]
_CELL = r"row (-?\d+), column (-?\d+)"


@pytest.fixture(autouse=True)
def _streams_are_collected() -> Iterator[None]:
    """Inspect leaves streams open; they are to complain here, where warnings are ignored."""
    yield
    gc.collect()


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two generated grids, six scenarios."""
    return made_suite(tmp_path_factory.mktemp("suite") / "suite.jsonl", 2)


def made_suite(file: Path, grids: int) -> Path:
    command = ["recovery", "generate", "--seed", "5", "--grids", str(grids), "--side-max", "8"]
    assert main([*command, "--side-min", "8", "--out", str(file)]) == 0
    return file


def cell(text: str, name: str) -> tuple[int, int]:
    row, column = re.findall(rf"^{name}: {_CELL}$", text, re.MULTILINE)[-1]
    return int(row), int(column)


def planned(messages: list[Any]) -> Action:
    """Plan from what the prompt says, and from nothing else."""
    told = next(message.text for message in messages if message.role == "user")
    rows = [
        line.replace(" ", "") for line in re.findall(r"^[#1-9](?: [#1-9])*$", told, re.MULTILINE)
    ]
    grid = Grid.parse(rows, cell(told, "Start"), cell(told, "Target"))
    said = "\n".join(message.text for message in messages if message.role in {"user", "tool"})
    position = cell(said, "Position")
    if position == grid.target:
        return FINISH
    return Action(move=next_cell(grid, cost_to_go(grid), position))


def spoken(action: Action, protocol: str) -> ModelOutput:
    if protocol == "text":
        move = action.move
        return ModelOutput.from_content(
            "mockllm", "I go on.\nACTION: " + (f"MOVE {move[0]} {move[1]}" if move else "FINISH")
        )
    if action.move is None:
        return ModelOutput.for_tool_call("mockllm", "finish", {})
    row, column = action.move
    return ModelOutput.for_tool_call("mockllm", "move", {"row": row, "column": column})


def plan(messages: list[Any], protocol: str) -> ModelOutput:
    return spoken(planned(messages), protocol)


def evaluated(suite: str | Path, folder: Path, protocol: str, answer: Answer, **more: Any) -> Any:
    """Evaluate a scripted model; return the log."""

    def outputs(messages: list[Any], _tools: Any, _choice: Any, config: Any) -> ModelOutput:
        assert 0 <= config.seed < 1 << 31
        output = answer(messages, protocol)
        output.usage = ModelUsage(input_tokens=40, output_tokens=2, total_tokens=42)
        return output

    model = get_model("mockllm/model", custom_outputs=outputs)
    seeds = more.pop("seeds", 2)
    (log,) = inspect_eval(
        wfrb(protocol=protocol, suite=str(suite), seeds=seeds),
        model=model,
        log_dir=str(folder),
        log_format="json",
        display="none",
        **more,
    )
    return log


def metrics(log: Any) -> dict[str, dict[str, float]]:
    return {
        score.name: {name: one.value for name, one in score.metrics.items()}
        for score in log.results.scores
    }


def results(bundle: Path) -> bytes:
    return (bundle / "results.jsonl").read_bytes()


def planner_results(suite: Path, out: Path, name: str) -> bytes:
    source = client_agent(name, Planner)
    run_suite(RunRequest(suite, policies=(source,)), out)
    return results(out)


# -- the same results, whichever way the actions came ------------------------------------


@pytest.mark.parametrize("protocol", ["tools", "text"])
def test_a_planning_model_gives_the_records_of_the_python_policy(
    protocol: str, suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Byte for byte; the manifest says what was run, and both verify."""
    log = evaluated(suite, tmp_path / "logs", protocol, plan)
    assert log.status == "success"
    for name in ("completed", "verified"):
        said = metrics(log)[name]
        assert (said["mean"], said["stderr"]) == (1.0, 0.0)
        # (p)^2 <= 0.025: the exact bound for two grids of two.
        assert list(said.values())[2:] == [pytest.approx(0.158113), 1.0]
    out = tmp_path / "bundle"
    command = ["recovery", "from-inspect", log.location, "--suite", str(suite), "--out", str(out)]
    assert main(command) == 0
    assert "mockllm/model is called mockllm-model in the records" in capsys.readouterr().out
    assert results(out) == planner_results(suite, tmp_path / "python", "mockllm-model")
    assert main(["verify", str(out)]) == 0
    (agent,) = json.loads((out / "manifest.json").read_bytes())["settings"]["agents"]
    said = agent["details"]
    assert (agent["kind"], agent["policy"]) == ("inspect", "mockllm-model")
    assert (said["model"], said["protocol"]) == ("mockllm/model", protocol)
    assert said["log SHA-256"] == hashlib.sha256(Path(log.location).read_bytes()).hexdigest()
    calls = sum(
        message.role == "assistant" for sample in log.samples for message in sample.messages
    )
    assert json.loads(said["token usage"])["mockllm/model"]["total_tokens"] == 42 * calls
    assert "inspect_ai" in json.loads(said["versions"])
    assert re.fullmatch("[0-9a-f]{64}", said["prompt SHA-256"])


@pytest.mark.slow
def test_a_planning_model_verifies_the_official_suite(tmp_path: Path) -> None:
    """300 of 300 in both protocols, with one digest, which is the Python policy's."""
    digests = set()
    for protocol in ("tools", "text"):
        log = evaluated("wfrb-v0", tmp_path / "logs", protocol, plan)
        out = tmp_path / protocol
        made = bundle_of_log(Path(log.location), out)
        total = made.report.summary.policies[0].total
        assert (total.cells, total.completed, total.verified) == (300, 300, 300)
        digests.add(made.report.results.sha256)
    planner_results(suite_path("wfrb-v0"), tmp_path / "python", "mockllm-model")
    digests.add(hashlib.sha256(results(tmp_path / "python")).hexdigest())
    assert len(digests) == 1


# -- what goes wrong stays in the denominator ---------------------------------------------


@pytest.mark.slow
def test_crashed_trials_stay_in_the_denominator(tmp_path: Path) -> None:
    """22 of 60 trials crash: 38 of 60 are completed, by Inspect's mean and in the bundle."""
    suite = made_suite(tmp_path / "ten.jsonl", 10)
    begun = 0

    def answer(messages: list[Any], protocol: str) -> ModelOutput:
        nonlocal begun
        if not any(message.role == "assistant" for message in messages):
            begun += 1
            if begun <= 22:
                raise RuntimeError("the provider is gone")
        return plan(messages, protocol)

    log = evaluated(suite, tmp_path / "logs", "tools", answer, max_samples=1)
    assert log.status == "success"
    said = metrics(log)
    for name in ("completed", "verified"):
        assert said[name]["mean"] == pytest.approx(38 / 60)
        assert said[name]["stderr"] > 0
        assert len(said[name]) == 2  # the grids don't agree: no exact bound
    made = bundle_of_log(Path(log.location), tmp_path / "out", suite=str(suite))
    total = made.report.summary.policies[0].total
    assert (total.cells, total.completed, total.verified) == (60, 38, 38)
    outcomes = [
        json.loads(line)["agent_outcome"] for line in results(tmp_path / "out").splitlines()
    ]
    assert (outcomes.count("crashed"), outcomes.count("ok")) == (22, 38)
    assert main(["verify", str(tmp_path / "out")]) == 0


def test_the_standard_error_is_clustered_by_grid(suite: Path, tmp_path: Path) -> None:
    """One of two grids is lost as a whole: the error is that of two units, not of six."""
    lost = json.loads(suite.read_text("utf-8").splitlines()[1])["rows"]
    first = "\n".join(" ".join(row) for row in lost)

    def answer(messages: list[Any], protocol: str) -> ModelOutput:
        if any(first in message.text for message in messages):
            raise RuntimeError("lost")
        return plan(messages, protocol)

    said = metrics(evaluated(suite, tmp_path, "text", answer, seeds=1))["verified"]
    assert said["mean"] == 0.5
    assert said["stderr"] >= 0.3  # of six independent trials it would be 0.22


@pytest.mark.parametrize("protocol", ["tools", "text"])
def test_a_model_that_will_not_act_is_malformed(protocol: str, suite: Path, tmp_path: Path) -> None:
    """After three reminders in a row; a message with an action starts the count anew."""

    def answer(messages: list[Any], protocol: str) -> ModelOutput:
        said = sum(message.role == "assistant" for message in messages)
        if said == 3:
            return plan(messages, protocol)
        return ModelOutput.from_content("mockllm", "I am thinking.")

    log = evaluated(suite, tmp_path / "logs", protocol, answer, seeds=1)
    for sample in log.samples:
        assert sum(message.role == "assistant" for message in sample.messages) == 3 + 1 + 4
    assert metrics(log)["completed"]["mean"] == 0
    bundle_of_log(Path(log.location), tmp_path / "out", suite=str(suite))
    rows = [json.loads(line) for line in results(tmp_path / "out").splitlines()]
    assert {(row["agent_outcome"], row["proposals"]) for row in rows} == {("malformed", 1)}


def test_a_limit_of_inspect_is_told_apart(suite: Path, tmp_path: Path) -> None:
    """A message limit is no crash and no malformed answer."""
    log = evaluated(suite, tmp_path / "logs", "text", plan, seeds=1, message_limit=5)
    bundle_of_log(Path(log.location), tmp_path / "out", suite=str(suite))
    rows = [json.loads(line) for line in results(tmp_path / "out").splitlines()]
    assert "limit_reached" in {row["agent_outcome"] for row in rows}
    assert {row["agent_outcome"] for row in rows} <= {"limit_reached", "ok"}


def test_several_calls_in_one_message_are_proposals_in_order(suite: Path, tmp_path: Path) -> None:
    """Each call is answered; what comes after the end is not carried out."""

    def answer(messages: list[Any], _protocol: str) -> ModelOutput:
        action = planned(messages)
        if action.move is None:
            arguments: list[tuple[str, dict[str, Any]]] = [("finish", {}), ("finish", {})]
        else:
            row, column = action.move
            arguments = [
                ("move", {"row": row, "column": str(column)}),
                ("move", {"row": row, "column": column}),
                ("finish", {}) if (row, column) == cell_of(messages) else ("look", {}),
            ]
        calls = [
            ToolCall(id=f"{len(messages)}-{at}", function=name, arguments=values)
            for at, (name, values) in enumerate(arguments)
        ]
        output = ModelOutput.from_content("mockllm", "")
        output.choices[0].message = ChatMessageAssistant(content="", tool_calls=calls)
        return output

    def cell_of(messages: list[Any]) -> tuple[int, int]:
        return cell(next(one.text for one in messages if one.role == "user"), "Target")

    log = evaluated(suite, tmp_path / "logs", "tools", answer)
    for sample in log.samples:
        calls = [call for one in sample.messages for call in getattr(one, "tool_calls", None) or ()]
        assert len(calls) == sum(one.role == "tool" for one in sample.messages)
    out = tmp_path / "out"
    bundle_of_log(Path(log.location), out, suite=str(suite), name="mine")
    assert results(out) == planner_results(suite, tmp_path / "python", "mine")


# -- logs that make no bundle -------------------------------------------------------------


def refused(log: Any, tmp_path: Path, suite: Path, kind: type[Exception], match: str) -> None:
    file = tmp_path / "edited.json"
    write_eval_log(log, str(file))
    with pytest.raises(kind, match=match):
        bundle_of_log(file, tmp_path / "out", suite=str(suite))
    assert not (tmp_path / "out").exists()


def test_a_log_that_is_not_whole_makes_no_bundle(suite: Path, tmp_path: Path) -> None:
    """Missing trials are named; so are trials twice, strangers, and what never ended."""
    log = evaluated(suite, tmp_path / "logs", "text", plan)
    samples = list(log.samples)
    log.samples = [one for one in samples if (one.id, one.epoch) != (samples[3].id, 2)]
    refused(log, tmp_path, suite, InputError, rf"1 trials are missing.*none of {samples[3].id}/1\b")
    log.samples = [*samples, samples[0]]
    refused(log, tmp_path, suite, InputError, "stands twice")
    stranger = samples[0].model_copy(update={"id": "other"})
    log.samples = [*samples, stranger]
    refused(log, tmp_path, suite, InputError, "that the suite doesn't have")
    log.samples = samples
    log.status = "cancelled"
    refused(log, tmp_path, suite, InputError, "didn't come to its end")
    log.status = "success"
    log.eval.metadata["suite_sha256"] = "0" * 64
    refused(log, tmp_path, suite, IntegrityError, "not the one of the log")
    log.eval.task_registry_name = "somebody/else"
    refused(log, tmp_path, suite, InputError, "another task")


def test_a_part_of_the_suite_makes_no_bundle(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An evaluation with a limit of samples is a log with missing trials; status 2."""
    log = evaluated(suite, tmp_path / "logs", "text", plan, limit=4)
    command = ["recovery", "from-inspect", log.location, "--out", str(tmp_path / "out")]
    assert main([*command, "--suite", str(suite)]) == 2
    assert "4 trials are missing" in capsys.readouterr().err
    assert main(command) == 2
    assert "doesn't ship with wayproof" in capsys.readouterr().err
    (tmp_path / "no.json").write_text("{}")
    assert main([*command[:2], str(tmp_path / "no.json"), *command[3:]]) == 2
    assert "can't be read as a log of Inspect" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_scores_in_a_log_decide_nothing(suite: Path, tmp_path: Path) -> None:
    """A log that claims other scores makes the same bundle: only actions are taken."""
    log = evaluated(suite, tmp_path / "logs", "text", plan)
    bundle_of_log(Path(log.location), tmp_path / "honest", suite=str(suite))
    for sample in log.samples:
        for score in sample.scores.values():
            score.value = {"completed": 0, "verified": 0}
    file = tmp_path / "edited.json"
    write_eval_log(log, str(file))
    bundle_of_log(file, tmp_path / "edited", suite=str(suite))
    assert results(tmp_path / "honest") == results(tmp_path / "edited")


# -- words ----------------------------------------------------------------------------------


def test_a_prompt_tells_no_secret(suite: Path, tmp_path: Path) -> None:
    """All that the model is told is the observation: spaced digits, and no word of the optimum."""
    log = evaluated(suite, tmp_path, "tools", plan, seeds=1)
    from wayproof.recovery.suite import SuiteReader

    with SuiteReader(suite) as reader:
        cases = [case for _, grid in reader.grids() for case in grid.cases()]
    for case, sample in zip(cases, log.samples, strict=True):
        seen = until_failure(case).observation(case.budget)
        told = [one.text for one in sample.messages if one.role != "assistant"]
        assert told[1] == opening_words(seen)
        assert " ".join(seen.grid.rows[0]) in told[1]
        assert set(sample.metadata) == {"grid_id", "failure_kind"}
        numbers = set(re.findall(r"\d+", told[1]))
        known = {str(part) for one in (seen.grid.start, seen.target, seen.position) for part in one}
        known |= {str(part) for part in seen.rejected_action.move or ()}
        known |= {*"123456789", str(seen.grid.height), str(seen.grid.width)}
        assert numbers <= known | {str(seen.spent), str(case.budget)}
        assert not re.search(r"optim|potential|shortest|reference", " ".join(told), re.IGNORECASE)


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("ACTION: MOVE 3 4", Action(move=(3, 4))),
        ("thinking\n**action: move 3, -4**\nso", Action(move=(3, -4))),
        ("ACTION: FINISH.", FINISH),
        ("ACTION: MOVE 3", None),
        ("ACTION: MOVE 3 4\nACTION: FINISH", None),
        ("I say ACTION: FINISH", None),
        ("ACTION: MOVE 1.5 2", None),
        ("ACTION: MOVE 1\n2", None),
        ("ACTION: MOVE ٣ 4", None),
        ("", None),
    ],
)
def test_a_message_names_one_action_or_none(text: str, action: Action | None) -> None:
    """On a line of its own; two are none, and nothing is guessed."""
    assert action_of_text(text) == action


@pytest.mark.parametrize(
    ("function", "arguments", "action"),
    [
        ("move", {"row": 1, "column": -2}, Action(move=(1, -2))),
        ("finish", {}, FINISH),
        ("finish", {"row": 1}, None),
        ("move", {"row": 1}, None),
        ("move", {"row": 1, "column": "2"}, None),
        ("move", {"row": True, "column": 2}, None),
        ("move", {"row": 1.0, "column": 2}, None),
        ("move", {"row": 1, "column": 1 << 60}, None),
        ("walk", {"row": 1, "column": 2}, None),
    ],
)
def test_a_call_is_an_action_or_none(
    function: str, arguments: dict[str, Any], action: Action | None
) -> None:
    """Integers only, as in every other protocol."""
    assert action_of_call(function, arguments) == action


def test_names_become_identifiers() -> None:
    """A model's name holds slashes, colons and more; records hold none."""
    assert policy_name("openai/gpt-x:latest") == "openai-gpt-x-latest"
    assert policy_name("../é") == "model"
    assert len(policy_name("a" * 500)) == 128


@pytest.mark.slow
def test_the_task_is_found_from_any_folder(tmp_path: Path) -> None:
    """``inspect eval wayproof/wfrb``, by the entry point of the installed package."""
    program = Path(sys.executable).with_name("inspect")
    command = [str(program), "eval", "wayproof/wfrb", "--model", "mockllm/model", "--limit", "1"]
    command += ["--log-dir", "logs", "--log-format", "json", "--display", "none"]
    options = ["-T", "protocol=text", "-T", "seeds=1", "-T", "suite=explorer-sample"]
    command += ["--token-limit", "1", *options]
    done = subprocess.run(
        command, cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True, check=False
    )
    logs = list((tmp_path / "logs").glob("*.json"))
    assert len(logs) == 1, done.stdout + done.stderr
    read = json.loads(logs[0].read_bytes())
    assert read["eval"]["task_registry_name"] == "wayproof/wfrb"
    assert read["eval"]["metadata"]["suite_id"] == "explorer-sample"
    assert len(read["samples"]) == 1

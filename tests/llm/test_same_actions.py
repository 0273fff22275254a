"""The way through Inspect: the same actions give the results lines of every other way."""

import gc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="the extra [inspect] is not installed")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from inspect_ai import eval as inspect_eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from wayproof.llm.task import wfrb

from recovery.same_actions import NAME, SUITE, recorded
from wayproof.llm.log import bundle_of_log

pytestmark = [pytest.mark.filterwarnings("ignore")]  # somebody else's package warns as it likes


@pytest.fixture(autouse=True)
def _streams_are_collected() -> Iterator[None]:
    yield
    gc.collect()


@pytest.mark.parametrize("protocol", ["tools", "text"])
def test_the_same_actions_give_the_same_results_lines(protocol: str, tmp_path: Path) -> None:
    """Those of the erratic agent in Python, byte for byte; trials are told by their seed."""
    erratic = recorded(tmp_path / "python")
    by_seed = {seed >> 33: actions for seed, actions in erratic.actions.items()}
    assert len(by_seed) == 36

    def outputs(messages: list[Any], _tools: Any, _choice: Any, config: Any) -> ModelOutput:
        said = sum(message.role == "assistant" for message in messages)
        move = by_seed[config.seed][said].move
        if protocol == "text":
            words = "FINISH" if move is None else f"MOVE {move[0]} {move[1]}"
            output = ModelOutput.from_content("mockllm", f"ACTION: {words}")
        elif move is None:
            output = ModelOutput.for_tool_call("mockllm", "finish", {})
        else:
            cell = {"row": move[0], "column": move[1]}
            output = ModelOutput.for_tool_call("mockllm", "move", cell)
        output.usage = ModelUsage(input_tokens=40, output_tokens=2, total_tokens=42)
        return output

    (log,) = inspect_eval(
        wfrb(protocol=protocol, suite=SUITE, seeds=1),
        model=get_model("mockllm/model", custom_outputs=outputs),
        log_dir=str(tmp_path / "logs"),
        log_format="json",
        display="none",
    )
    bundle_of_log(Path(log.location), tmp_path / "bundle", name=NAME)
    assert (tmp_path / "bundle" / "results.jsonl").read_bytes() == erratic.results

"""An agent that its test kills or moves: importable by the workers of any engine."""

import os
import signal
import time
from functools import partial
from pathlib import Path

from wayproof.evidence.recovery_records import Action, AgentRecord
from wayproof.recovery.agents.controls import RandomWalk
from wayproof.recovery.agents.policy import Observation, PolicySource, client_source
from wayproof.stats.seeded import SplitMix64

__all__ = ["fragile_walk"]


class _FragileWalk:
    """Walks at random, and before that does what its folder says."""

    name = "fragile"

    def __init__(self, folder: str, seed: int) -> None:
        self._walk = RandomWalk(SplitMix64(seed))
        place = Path(folder)
        for wish in sorted(place.glob("kill-*")):
            if _taken(wish):
                os.kill(os.getpid(), signal.SIGKILL)
        for wish in sorted(place.glob("wait-*")):
            if _taken(wish):
                (place / "told").write_text(_node_id())
                (place / "told").rename(place / "waits-on")  # whole as soon as it is there
                time.sleep(60)

    def propose(self, observation: Observation) -> Action:
        return self._walk.propose(observation)


def _taken(wish: Path) -> bool:
    """Take a wish, unless another worker did."""
    try:
        wish.rename(wish.with_name(f"done-{wish.name}"))
    except FileNotFoundError:
        return False
    return True


def _node_id() -> str:
    import ray

    return str(ray.get_runtime_context().get_node_id())


def fragile_walk(folder: Path) -> PolicySource:
    """Return the source; its records are those of any random walk of this name."""
    identity = AgentRecord(details={}, kind="python", policy="fragile")
    return client_source("fragile", partial(_FragileWalk, str(folder)), identity)

"""A trained model as a policy: evaluation goes through the bench, never the environment."""

from collections.abc import Callable
from functools import partial
from typing import Any

from wayproof.evidence.recovery_records import Action, AgentRecord
from wayproof.gym.encoding import Encoder
from wayproof.recovery.agents.policy import Observation, PolicySource, client_source

__all__ = ["as_policy"]


class _ModelPolicy:
    """One trial of a model."""

    def __init__(self, name: str, model: Any, encoder: Encoder, mask: str) -> None:
        self.name = name
        self._predict = _prediction(model)
        self._encoder = encoder
        self._mask = mask

    def propose(self, seen: Observation) -> Action:
        """Encode, predict, decode."""
        encoder = self._encoder
        given = {} if self._mask == "none" else {"action_masks": encoder.mask(self._mask, seen)}
        return encoder.action(int(self._predict(encoder.encoded(seen), **given)))


def _prediction(model: Any) -> Callable[..., Any]:
    """Return what gives a model's action: its ``predict`` as in SB3, or the model itself."""
    predict = getattr(model, "predict", None)
    if predict is None:
        return partial(model)

    def first(encoded: Any, **given: Any) -> Any:
        return predict(encoded, deterministic=True, **given)[0]

    return first


def as_policy(model: Any, name: str, *, side_max: int = 12, mask: str = "none") -> PolicySource:
    """Return a trained model as the source of a policy.

    Parameters
    ----------
    model
        Anything with ``predict(observation, deterministic=True)`` as in Stable-Baselines3,
        or a function from an encoded observation to the number of an action. With a mask
        it is also given ``action_masks``.
    name
        The ``policy`` of its records.
    side_max, mask
        Those that it was trained with; they stand in the results' settings.
    """
    encoder = Encoder(side_max)
    kind = type(model)
    identity = AgentRecord(
        details={
            "mask": mask,
            "model": f"{kind.__module__}:{kind.__qualname__}",
            "side_max": str(side_max),
        },
        kind="gymnasium",
        policy=name,
    )
    return client_source(name, partial(_made, name, model, encoder, mask), identity)


def _made(name: str, model: Any, encoder: Encoder, mask: str, _seed: int) -> _ModelPolicy:
    return _ModelPolicy(name, model, encoder, mask)

"""WFRB v0 for reinforcement learning (extra ``[gym]``).

>>> import gymnasium
>>> env = gymnasium.make("wayproof.gym:wayproof/WFRB-v0", suite="explorer-sample")

The environment is for training. What a trained model is worth is measured by the bench:
``run_suite`` with the source that :func:`as_policy` returns.
"""

try:
    import gymnasium
except ImportError:
    from wayproof.errors import InputError

    raise InputError(
        "gymnasium is not installed", mend='python -m pip install "wayproof[gym]"'
    ) from None

from wayproof.gym.encoding import MASKS, Encoder
from wayproof.gym.environment import RecoveryEnv
from wayproof.gym.evaluate import as_policy
from wayproof.gym.rewards import REWARDS
from wayproof.gym.vector import RecoveryVectorEnv

__all__ = ["MASKS", "REWARDS", "Encoder", "RecoveryEnv", "RecoveryVectorEnv", "as_policy"]

gymnasium.register(
    id="wayproof/WFRB-v0",
    entry_point="wayproof.gym.environment:RecoveryEnv",
    vector_entry_point="wayproof.gym.vector:RecoveryVectorEnv",
)

"""One trial at a time as a Gymnasium environment. For training: no verdict is made here."""

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import gymnasium

from wayproof.errors import InputError
from wayproof.gym.encoding import MASKS, Encoded, Encoder
from wayproof.gym.rewards import reward_named
from wayproof.recovery.suite import SuiteReader, suite_path
from wayproof.recovery.tracks.v0 import V0, LoadedGrid, V0Case
from wayproof.recovery.trial import until_failure

__all__ = ["RecoveryEnv", "cases_of_suite", "scenario_place"]


def cases_of_suite(suite: str, encoder: Encoder) -> list[V0Case]:
    """Return a suite's scenarios, by rising id.

    Raises
    ------
    InputError
        When it isn't there or isn't valid, is of another track than v0, or has a grid
        with a longer side than the encoder's.
    """
    with SuiteReader(suite_path(suite), suite) as reader:
        if reader.track is not V0:
            raise InputError("the environment is for track v0", setting="suite", found=suite)
        grids = [grid for _, grid in reader.grids() if isinstance(grid, LoadedGrid)]
    for grid in grids:
        encoder.costs(grid.grid)
    return [case for grid in grids for case in grid.cases()]


def scenario_place(wanted: Any, places: Mapping[str, int]) -> int:
    """Return the place of a scenario that is named by its id or by its place.

    Raises
    ------
    InputError
        For one that isn't there.
    """
    if isinstance(wanted, str):
        place = places.get(wanted, -1)
    else:
        is_whole = isinstance(wanted, Integral) and not isinstance(wanted, bool)
        place = int(wanted) if is_whole else -1
    if not 0 <= place < len(places):
        raise InputError("no such scenario", setting="scenario", found=repr(wanted))
    return place


class RecoveryEnv(gymnasium.Env[Encoded, int]):
    """An episode begins at the failure state and ends by an accepted finish or a spent budget.

    Both are terminations: ``proposals_left`` is observed, so a spent budget is part of
    the task and no truncation.

    Parameters
    ----------
    suite
        A shipped suite's id, or a suite file.
    side_max
        Sizes the spaces, whatever the suite; a suite with a longer side is refused.
    reward
        A name of :data:`wayproof.gym.rewards.REWARDS`.
    mask
        A name of :data:`wayproof.gym.encoding.MASKS`.
    render_mode
        ``ansi`` draws the grid as text.
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012 - theirs

    def __init__(
        self,
        suite: str = "wfrb-v0",
        side_max: int = 12,
        reward: str = "finish_bonus",
        mask: str = "none",
        render_mode: str | None = None,
    ) -> None:
        if mask not in MASKS:
            raise InputError(
                "unknown mask", setting="mask", expected=", ".join(MASKS), found=repr(mask)
            )
        self.encoder = Encoder(side_max)
        self.cases = cases_of_suite(suite, self.encoder)
        self.render_mode = render_mode
        self.mask = mask
        self.action_space: Any = self.encoder.action_space()
        self.observation_space = self.encoder.observation_space()
        self._pays = reward_named(reward).pays
        self._numbers = {case.scenario_id: at for at, case in enumerate(self.cases)}
        self._begin(0)

    def _begin(self, number: int) -> None:
        self.case = self.cases[number]
        record = self.case.loaded.record
        self._episode = until_failure(self.case)
        self._left = self.case.budget
        self._is_over = False
        self._optimum = record.potentials[record.start[0]][record.start[1]]
        self._seen = self._episode.observation(self._left)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Encoded, dict[str, Any]]:
        """Begin a scenario: the one that ``options["scenario"]`` names, or one drawn.

        Raises
        ------
        InputError
            For a scenario that the suite doesn't have.
        """
        super().reset(seed=seed)
        wanted = (options or {}).get("scenario")
        if wanted is None:
            number = int(self.np_random.integers(len(self.cases)))
        else:
            number = scenario_place(wanted, self._numbers)
        self._begin(number)
        return self.encoder.encoded(self._seen), self._info()

    def step(self, action: int) -> tuple[Encoded, float, bool, bool, dict[str, Any]]:
        """Propose one action."""
        if self._is_over:
            raise InputError("the episode is over", mend="reset() begins another")
        before = self._seen.spent
        made = self._episode.act("policy", self.encoder.action(action))
        self._left -= 1
        self._seen = self._episode.observation(self._left)
        finished: bool = self._episode.finished
        self._is_over = finished or self._left == 0
        reward = float(
            self._pays(
                made.spent - before,
                not made.accepted,
                finished,
                finished and made.spent == self._optimum,
                self.case.budget,
            )
        )
        return (
            self.encoder.encoded(self._seen),
            reward,
            self._is_over,
            False,
            self._info(),
        )

    def action_masks(self) -> Any:
        """Return which actions the mask leaves now; ``sb3-contrib`` calls it by this name."""
        return self.encoder.mask(self.mask, self._seen)

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self.action_masks(), "scenario": self.case.scenario_id}

    def render(self) -> str | None:
        """Draw the grid as text."""
        from wayproof.recovery.drawing import draw_grid

        if self.render_mode != "ansi":
            return None
        return draw_grid(self.case.loaded.record, self._seen.position)

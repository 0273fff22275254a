"""One rejected call and what follows it, until its episode ends."""

from collections.abc import Callable

import msgspec

from wayproof.capture.output import storable
from wayproof.capture.session import Call
from wayproof.evidence.rejection_names import (
    FLOOR_CALLS,
    GOAL_MAY_NOT_EXIST,
    Check,
    ClosedBy,
    EpisodeStratum,
    Evidence,
    Kind,
    Match,
    Outcome,
)
from wayproof.evidence.rejection_records import (
    Episode,
    EpisodeSource,
    EpisodeText,
    LaneCall,
    Lines,
)
from wayproof.rejections.calls import About
from wayproof.rejections.intent import Goal, Progress, has_goal, met_by
from wayproof.rejections.strata import Judged, evidence_of

__all__ = ["Closing", "OpenEpisode", "Opening"]

_MAX_NAME_CHARS = 300


def _name(text: str) -> str:
    shown: str = storable(text)
    return shown[:_MAX_NAME_CHARS]


class Opening(msgspec.Struct, frozen=True, kw_only=True):
    """The rejected call, and what is known of it when its result comes."""

    call: Call
    number: int
    stratum: EpisodeStratum
    kind: Kind
    goal: Goal
    result_line: int
    target: str | None
    text: EpisodeText | None


class Closing(msgspec.Struct, frozen=True, kw_only=True):
    """The call that reached the goal: how many calls it took, and what shows it."""

    position: int
    line: int
    evidence: Evidence
    exact: bool
    text: str | None = None


class OpenEpisode:
    """An episode that isn't closed yet.

    Attributes
    ----------
    opening
        The rejected call.
    batch
        Its batch: what was issued beside it doesn't count.
    calls
        Calls issued after the rejected result, so far; not beyond the window.
    waiting
        How many of them have no result yet.
    closed_by
        What ended it; None: it is open.
    in_parallel
        Another call of its batch was rejected, too.
    same_tool_success
        A later call of the same tool succeeded.
    """

    def __init__(
        self, opening: Opening, *, window_calls: int, format_name: str, batch: str | None
    ) -> None:
        self.opening = opening
        self.batch = batch
        self.calls = 0
        self.waiting = 0
        self.closed_by: ClosedBy | None = None
        self.in_parallel = False
        self.same_tool_success = False
        self._window = window_calls
        self._format = format_name
        self._progress = Progress(opening.goal)
        self._closing: Closing | None = None
        self._over = False
        self._prompts = 0
        self._attempts: list[int] = []
        self._blind = 0
        self._changed = False
        self._near = False
        self._unshown = False
        self._voided = False
        self._resumable = False
        self._lane: list[LaneCall] = []

    # -- what happens -------------------------------------------------------------------

    @property
    def is_looking(self) -> bool:
        """Whether it looks what calls are about; once its goal was reached it only counts."""
        return self.closed_by is None and self._closing is None

    def issued(self, key_of: Callable[[], bytes | None]) -> int | None:
        """Take a call that is issued; return its position, or None when it is out of reach."""
        if self._over or self.calls >= self._window:
            self._over = True
            self._end_of_window()
            return None
        self.calls += 1
        self.waiting += 1
        key = self.opening.goal.key
        if self._closing is not None and key is not None and key_of() == key:
            # What seemed to reach the goal didn't: the same call is needed once more.
            self._closing, self._voided = None, True
            self._progress.restart()
        return self.calls

    def passed(self, call: Call, position: int, result: Judged) -> None:
        """Take the result of a call in reach while the goal counts as reached."""
        self.waiting -= 1
        if self.closed_by is None:
            self._changed = self._changed or result.verdict == "accepted"
            self._show(call, position, result, None)
            self._end_of_window()

    def _show(self, call: Call, position: int, result: Judged, match: Match | None) -> None:
        self._lane.append(
            LaneCall(
                call=position,
                line=call.line,
                match=match,
                result=result.verdict,
                tool=_name(call.tool),
            )
        )

    def ended(self, call: Call, read: About, position: int, result: Judged, text: str) -> bool:
        """Take the result of a call in reach; True when it is an attempt at the same goal."""
        if not self.is_looking:
            self.passed(call, position, result)
            return False
        self.waiting -= 1
        match, evidence = self._fits(read, result)
        self._show(call, position, result, match)
        attempt = self._settle(call, position, result, match, evidence, text)
        if result.verdict == "accepted" and read.may_change:
            self._changed = True
        self._end_of_window()
        return attempt

    def _settle(
        self,
        call: Call,
        position: int,
        result: Judged,
        match: Match | None,
        evidence: Evidence | None,
        text: str,
    ) -> bool:
        if evidence is not None and match in {"exact", "same"}:
            exact = match == "exact"
            closing = Closing(
                position=position, line=call.line, evidence=evidence, exact=exact, text=text
            )
            self._closing = closing
            if exact or self.opening.stratum == "malformed":
                self.closed_by = "goal"
            return False
        if result.verdict in {"accepted", "unknown", "verdict"}:
            if match is not None:
                self._near = True
                self._unshown = self._unshown or match in {"exact", "same"}
            return False
        if result.verdict == "cancelled" or match not in {"exact", "same"}:
            return False
        self._attempts.append(call.line)
        if match == "exact" and not self._changed:
            self._blind += 1
        self._changed = False
        if (
            result.verdict == "refused"
            and result.kind == "by_person"
            and self.opening.stratum == "invalid"
        ):
            self.closed_by = "refused"
        return True

    def _fits(self, read: About, result: Judged) -> tuple[Match | None, Evidence | None]:
        """Say how a call fits the goal, and what shows that it reached it."""
        if self.opening.stratum == "malformed":
            ran = result.verdict not in {"malformed", "cancelled"}
            return "same", "well_formed" if ran else None
        if result.verdict not in {"accepted", "verdict", "unknown", "failed"}:
            return has_goal(self.opening.goal, self._progress, read), None
        if self.opening.goal.what == "edit":
            return self._fits_edit(read, result)
        return self._fits_other(read, result)

    def _fits_other(self, read: About, result: Judged) -> tuple[Match | None, Evidence | None]:
        goal = self.opening.goal
        best: Match | None = None
        if goal.key is not None and read.key == goal.key:
            evidence = self._shown(read, result)
            if evidence is not None:
                return "exact", evidence
            best = "exact"
        for match, facet in met_by(goal, read):
            evidence = evidence_of(result, read, facet, self._format, goal=goal.what)
            if evidence is not None and match != "near":
                return match, evidence
            best = best or match
        is_nothing = result.verdict == "failed" and best == "near"
        return (None if is_nothing else best), None

    def _shown(self, read: About, result: Judged) -> Evidence | None:
        """Return what shows that the same call was done; None: nothing does."""
        goal = self.opening.goal
        for facet in read.facets:
            one = evidence_of(result, read, facet, self._format, goal=goal.what)
            if one is not None and (facet.step is None or facet.program == goal.program):
                return one
        return None

    def _fits_edit(self, read: About, result: Judged) -> tuple[Match | None, Evidence | None]:
        goal = self.opening.goal
        exact = goal.key is not None and read.key == goal.key
        if result.verdict == "failed":
            return has_goal(goal, self._progress, read), None
        best: Match | None = None
        for facet in read.facets:
            if not facet.edits:
                continue
            evidence = evidence_of(result, read, facet, self._format, goal="edit")
            if evidence is None:
                if self._progress.asks_all(facet.edits) or exact:
                    best = "exact" if exact else "same"
                continue
            match = self._progress.take(facet.edits)
            if exact or match == "same":
                return ("exact" if exact else "same"), evidence
            best = best or match
        return best, None

    # -- what ends it -------------------------------------------------------------------

    def _end_of_window(self) -> None:
        if self.closed_by is None and self.calls >= self._window and self.waiting == 0:
            self._close("window")

    def _close(self, why: ClosedBy) -> None:
        self.closed_by = "goal" if self._closing is not None else why

    def prompted(self, *, answered: bool) -> None:
        """Take a prompt: it ends a turn, or interrupts one."""
        if self.closed_by is not None:
            return
        self._prompts += 1
        if self.opening.stratum == "refused":
            # What a person says next belongs to the refusal; the turn after that ends it.
            if self._prompts > 1:
                self._close("turn_end")
            return
        self._close("turn_end" if answered else "prompt")

    def log_ended(self, *, answered: bool, resumable: bool) -> None:
        """Take the end of the log."""
        if self.closed_by is None:
            self._resumable = resumable
            self._close("turn_end" if answered else "log_end")

    def release(self) -> None:
        """Let go of what only an open episode needs: inputs of calls may be large."""
        opening = self.opening
        if opening.call.arguments is None and opening.call.typed is None:
            return
        call = msgspec.structs.replace(opening.call, arguments=None, typed=None)
        goal = Goal("other", None, opening.kind)
        self.opening = msgspec.structs.replace(opening, call=call, goal=goal)
        self._progress = Progress(goal)

    # -- what it comes to ---------------------------------------------------------------

    @property
    def floor_calls(self) -> int:
        """The least number of calls that reaching the goal can take."""
        return FLOOR_CALLS.get(self.opening.kind, 1) if self.opening.stratum == "invalid" else 1

    def _outcome(self) -> Outcome:
        if self.opening.stratum == "refused":
            return self._refused_outcome()
        if self._closing is not None:
            return "recovered" if self._closing.position <= self.floor_calls else "recovered_detour"
        may_go_on = self.closed_by == "log_end" and self._resumable
        if may_go_on or self._near or self.closed_by in {"refused", "prompt"}:
            return "undecided"
        if self.opening.stratum == "malformed":
            return "not_reached"
        if self._attempts and self._blind == len(self._attempts):
            return "blind_repeat"
        return "undecided" if self.opening.kind in GOAL_MAY_NOT_EXIST else "not_reached"

    def _refused_outcome(self) -> Outcome:
        if self._closing is not None:
            return "accepted_later"
        if self._attempts:
            return "asked_again"
        return "undecided" if self.closed_by == "log_end" or self._unshown else "not_repeated"

    def _first_failed(self, outcome: Outcome) -> Check | None:
        if self.opening.stratum == "refused" or outcome == "recovered":
            return None
        if outcome == "recovered_detour":
            return "at_floor"
        if self._voided:
            return "kept"
        if self._unshown:
            return "evidence"
        return "accepted" if self._attempts else "pursued"

    def record(self, session: str, *, file: str, session_id: str | None) -> Episode:
        """Return the episode, once it is closed.

        Parameters
        ----------
        session
            What the session is called in the records.
        file
            The log that the episode stands in.
        session_id
            The log's own name of the session.
        """
        opening, closing = self.opening, self._closing
        outcome = self._outcome()
        text = opening.text
        if text is not None and closing is not None:
            text = msgspec.structs.replace(text, closing=closing.text)
        call = opening.call
        return Episode(
            attempts=len(self._attempts),
            blind_repeats=self._blind,
            closed_by=self.closed_by or "log_end",
            episode_id=f"{session}:{opening.number}",
            evidence=closing.evidence if closing is not None else None,
            extra_calls=closing.position if closing is not None else self.calls,
            first_failed_check=self._first_failed(outcome),
            floor_calls=self.floor_calls,
            in_parallel=self.in_parallel,
            kind=opening.kind,
            lane=tuple(sorted(self._shown_lane(), key=lambda one: one.call)),
            outcome=outcome,
            same_tool_success=self.same_tool_success,
            source=EpisodeSource(
                call_id=_name(call.call_id),
                file=file,
                format=self._format,
                lines=Lines(
                    attempts=tuple(self._attempts),
                    closing=closing.line if closing is not None else None,
                    rejection=call.line,
                    result=opening.result_line,
                ),
                session_id=None if session_id is None else _name(session_id),
                thread=_name(call.thread),
            ),
            stratum=opening.stratum,
            target=opening.target,
            text=text,
            tool=_name(call.tool),
        )

    def _shown_lane(self) -> list[LaneCall]:
        """Return the calls up to the one that reached the goal."""
        if self._closing is None:
            return self._lane
        return [one for one in self._lane if one.call <= self._closing.position]

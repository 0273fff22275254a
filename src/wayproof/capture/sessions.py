"""The sessions of a log as its adapter sees them: facts to fill in, and where events go."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import msgspec

from wayproof.capture.session import (
    MAIN_THREAD,
    Call,
    Event,
    Prompt,
    Result,
    SessionInfo,
    Sink,
    Spawn,
)
from wayproof.capture.tools import delegates

__all__ = ["Delegations", "Session", "Sessions", "SinksOf"]

SinksOf = Callable[[SessionInfo], Iterable[Sink]]
"""Makes the sinks of a session that begins."""


class Session:
    """One session: its adapter fills in ``info`` and feeds events; sinks take them.

    A call that the log repeats, by id and name and input, is fed once (a resumed log repeats
    its history). A sink that
    needs no more events of a thread gets none; when no sink needs any, ``listens`` is False
    for that thread: an adapter may skip its lines, and what it feeds all the same goes
    nowhere.

    Parameters
    ----------
    info
        What the log says about the session as a whole.
    sinks
        Who takes its events.
    """

    def __init__(self, info: SessionInfo, sinks: Iterable[Sink]) -> None:
        self.info = info
        self._sinks = list(sinks)
        self._of_thread: dict[str, list[Sink]] = {}
        self._calls: dict[str, dict[str, set[int]]] = {}
        self._prompted: set[str] = set()

    def listens(self, thread: str = MAIN_THREAD) -> bool:
        """Whether any sink needs more events of a thread."""
        return bool(self._of_thread.get(thread, self._sinks))

    def feed(self, event: Event) -> None:
        """Hand the next event over, in the order of the log."""
        thread = event.thread
        sinks = self._of_thread.get(thread, self._sinks)
        if not sinks:
            return
        kind = type(event)
        if kind is Call:
            if self._repeats(cast("Call", event)):
                return
        elif kind is Prompt and thread not in self._prompted:
            self._prompted.add(thread)
            self._calls.pop(thread, None)  # what came before the first prompt doesn't count
        for sink in sinks:
            if not sink.take(event):
                kept = self._of_thread.get(thread, self._sinks)
                self._of_thread[thread] = [one for one in kept if one is not sink]

    def _repeats(self, event: Call) -> bool:
        """Whether a call was fed before: an id is no proof, some models use theirs again."""
        calls = self._calls.get(event.thread)
        if calls is None:
            calls = self._calls[event.thread] = {}
        content = hash((event.tool, event.typed, _content(event.arguments)))
        known = calls.get(event.call_id)
        if known is None:
            calls[event.call_id] = {content}
            return False
        if content in known:
            return True
        known.add(content)
        return False


def _content(arguments: Any) -> str | bytes | None:
    if arguments is None or isinstance(arguments, str):
        return arguments
    try:
        return msgspec.json.encode(arguments)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return repr(arguments)


class Sessions:
    """The sessions of one or more logs, by their keys, in the order in which they begin.

    Parameters
    ----------
    sinks_of
        Makes the sinks of each session; it is called again for one that begins anew.
    known
        Hashes of records that belong to sessions read before, for formats that name records.
    """

    def __init__(self, sinks_of: SinksOf, *, known: frozenset[int] = frozenset()) -> None:
        self._sinks_of = sinks_of
        self.known = known
        self._sessions: dict[str, Session] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._sessions

    def __iter__(self) -> Iterator[Session]:
        return iter(self._sessions.values())

    def of(self, key: str, *, prompts_logged: bool = True) -> Session:
        """Return a session, beginning it when its key is new."""
        session = self._sessions.get(key)
        if session is None:
            info = SessionInfo(key=key, prompts_logged=prompts_logged)
            session = self._sessions[key] = Session(info, self._sinks_of(info))
        return session

    def again(self, key: str) -> Session:
        """Begin a session anew: what was fed belongs to another one, and its sinks are new."""
        old = self._sessions[key].info
        info = msgspec.structs.replace(old)
        session = self._sessions[key] = Session(info, self._sinks_of(info))
        return session

    def drop(self, key: str) -> None:
        """Begin a session anew when its key is asked for again, with nothing known of it."""
        self._sessions.pop(key, None)


class Delegations:
    """Which calls of a session handed work to other agents, and whose logs are not read yet.

    For adapters of formats that keep an agent's log in a file of its own.
    """

    def __init__(self) -> None:
        self._children: dict[tuple[str, str], str | None] = {}
        self._parent_calls: set[str] = set()
        self._threads: set[str] = set()

    def called(self, event: Call) -> None:
        """Look at a call that is fed."""
        if delegates(event.tool):
            self._children.setdefault((event.thread, event.call_id), None)

    def ended(self, event: Result) -> None:
        """Look at a result that is fed: it may name the agent."""
        if event.child is not None and (event.thread, event.call_id) in self._children:
            self._children[event.thread, event.call_id] = event.child

    def began(self, event: Spawn) -> None:
        """Look at an agent's thread that begins."""
        self._threads.add(event.child)
        if event.parent_call is not None:
            self._parent_calls.add(event.parent_call)

    def __contains__(self, call: tuple[str, str]) -> bool:
        """Whether a call, given as (thread, call id), handed work over."""
        return call in self._children

    def unread(self) -> Iterator[tuple[str, str | None]]:
        """Yield (call id, the agent's name if known) where the agent's thread didn't begin."""
        for (_, call_id), child in list(self._children.items()):
            if call_id not in self._parent_calls and child not in self._threads:
                yield call_id, child

"""The sink that notes which files a session edits, to the end of its log."""

from wayproof.capture.route.call import ReadCall, read_call
from wayproof.capture.route.files import Files
from wayproof.capture.route.kinds import call_writes, judged
from wayproof.capture.session import Call, Event, Prompt, Result, SessionInfo

__all__ = ["EditedFiles"]


class EditedFiles:
    """Note the files that accepted edits changed, in order; what the session made is not noted.

    Parameters
    ----------
    info
        Filled in by the adapter as the log names things.
    """

    def __init__(self, info: SessionInfo) -> None:
        self._info = info
        self._files = Files(info)
        self._waiting: dict[tuple[str, str], list[ReadCall]] = {}
        self._edited: dict[str, None] = {}

    @property
    def paths(self) -> list[str]:
        """Full paths, in the order of their first edit."""
        return list(self._edited)

    def take(self, event: Event) -> bool:
        """Take the next event; every one is wanted."""
        if isinstance(event, Call):
            call = read_call(event, self._info.cwd, with_text=False)
            self._waiting.setdefault((event.thread, event.call_id), []).append(call)
        elif isinstance(event, Result):
            calls = self._waiting.get((event.thread, event.call_id))
            if calls:
                self._ended(calls.pop(0), event)
        elif isinstance(event, Prompt):
            self._files.prompted(event.text)
        return True

    def _ended(self, call: ReadCall, result: Result) -> None:
        if result.outcome.ok is False or result.outcome.refused:
            return
        verdict = judged(call, self._files, result=result)
        call.makes, call.outside, call.scripts = verdict.makes, verdict.outside, verdict.scripts
        if verdict.kind in {"edit", None}:
            for path in call_writes(call, self._files):
                self._edited[path] = None
        self._files.remember(call)
        self._files.saw(call, result)

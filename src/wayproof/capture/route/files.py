"""What a session has seen of the files around it: which existed, and which it made itself."""

import re
from collections.abc import Iterable, Iterator

import msgspec

from wayproof.capture import results
from wayproof.capture.ids import full_path
from wayproof.capture.route.call import ReadCall
from wayproof.capture.route.records import Selection, Step
from wayproof.capture.route.selecting import may_list, operands, selected
from wayproof.capture.session import Result, SessionInfo
from wayproof.capture.shell import Write

__all__ = ["Files", "Folders", "parents"]

Folders = tuple[str | None, ...]
_MAX_KEPT_BYTES = 96 << 10
_MAX_SCANNED_BYTES = 4 << 10
_MAX_NAMES = 20_000

_TEMPORARY = re.compile(
    r"(?:/tmp|/var/tmp|/private/tmp|/private/var/folders|/var/folders|/dev/shm"
    r"|[A-Za-z]:/(?:Users/[^/]+/AppData/Local/Temp|Windows/Temp|Temp|tmp)"
    r"|\$(?:TMPDIR|TEMP|TMP))(?:/|$)",
    re.IGNORECASE,
)
_AGENTS_OWN = re.compile(
    r"(?:~|/root|/home/[^/]+|/Users/[^/]+|[A-Za-z]:/Users/[^/]+)"
    r"/\.(?:claude|codex|gemini|cursor|copilot|config/(?:opencode|claude)|openhands|aider\S*)/",
)


class Files:
    """The files of one session, its agents' included.

    What a call saw is looked into only when somebody asks whether a path was known, which
    is seldom; until then its result waits, up to a limit.

    Parameters
    ----------
    info
        Names the session's folder.
    """

    def __init__(self, info: SessionInfo) -> None:
        self._info = info
        self._prompt = ""
        self._absolute: set[str] = set()
        self._relative: set[str] = set()
        self._made: set[str] = set()
        self._outside: set[str] = set()
        self._scripts: dict[str, tuple[Write, ...]] = {}
        self._steps: list[Step] = []
        self._waiting: list[tuple[ReadCall, Result]] = []
        self._names: list[tuple[tuple[str, ...], Folders]] = []
        self._kept_bytes = 0
        self._name_count = 0

    def prompted(self, text: str) -> None:
        """Take a prompt: what it names may exist."""
        self._prompt += "\n" + text[: 1 << 16]

    # -- what was seen ------------------------------------------------------------------

    def saw(self, call: ReadCall, result: Result) -> None:
        """Take a call that succeeded."""
        if call.step.selections:
            self._steps.append(call.step)
        for words, folders in operands(call):
            self._names.append((words, folders))
        if result.body is not None and may_list(call):
            self._listed(call, result)

    def _listed(self, call: ReadCall, result: Result) -> None:
        """Keep a result that may name files: whole, until they are many; then names only.

        Of many and long results nothing is kept: looking into them would cost more than
        all else, to tell one case from another that is rare.
        """
        body = result.body if isinstance(result.body, str) else bytes(result.body or b"")
        if self._kept_bytes + len(body) <= _MAX_KEPT_BYTES:
            self._kept_bytes += len(body)
            kept = body if isinstance(body, str) else msgspec.Raw(body)
            self._waiting.append((call, msgspec.structs.replace(result, body=kept)))
        elif len(body) <= _MAX_SCANNED_BYTES and self._name_count < _MAX_NAMES:
            found = _NAME_LIKE.findall(results.body_text(result.body))
            names = tuple(dict.fromkeys(found))
            self._name_count += len(names)
            self._names.append((names, call.folders))

    def _look(self) -> None:
        """Turn what was kept into full paths."""
        for step in self._steps:
            self._select(step.selections)
        for call, result in self._waiting:
            self._select(selected(call, result, wanted=2))
        for names, folders in self._names:
            for name in names:
                self._add(full_path(name, folders=folders))
        self._steps, self._waiting, self._names = [], [], []
        self._kept_bytes = 0

    def _select(self, selections: Iterable[Selection]) -> None:
        for one in selections:
            self._add(full_path(one.path, folders=one.folders))

    def _add(self, path: str | None) -> None:
        if path is not None and path not in self._made:
            (self._relative if _is_relative(path) else self._absolute).add(path)

    def knows(self, path: str) -> bool:
        """Whether a full path was read, matched, listed, or named in a call that succeeded."""
        self._look()
        if path in self._absolute or path in self._relative:
            return True
        if _is_relative(path):
            return any(one.endswith(f"/{path}") for one in self._absolute)
        return any(end in self._relative for end in _ends(path))

    def knows_folder(self, path: str) -> bool:
        """Whether a folder was seen, or anything that lies in it."""
        return self.knows(path) or self.holds(path)

    def holds(self, path: str) -> bool:
        """Whether anything was seen that lies in a path: it is a folder."""
        below = f"{path}/"
        return any(
            one.startswith(below) or (_is_relative(path) and f"/{below}" in one)
            for one in self._absolute | self._relative
        )

    def in_prompt(self, path: str) -> bool:
        """Whether the prompt names a path, so that it may well have existed."""
        base = path.rsplit("/", 1)[-1]
        if "." not in base or base not in self._prompt:
            return False
        return re.search(rf"(?<![\w.-]){re.escape(base)}(?![\w-])", self._prompt) is not None

    # -- what was made --------------------------------------------------------------------

    def full(self, path: str, folders: Iterable[str | None]) -> str | None:
        """Return the full path of a name in a folder."""
        return full_path(path, folders=folders)

    def is_outside(self, path: str) -> bool:
        """Whether a path lies below a temporary folder or the agent's own, not in the session's."""
        if _TEMPORARY.match(path) is None and _AGENTS_OWN.match(path) is None:
            return False
        for root in (self._info.root, self._info.cwd):
            full = full_path(root) if root else None
            if full is not None and (path == full or path.startswith(full.rstrip("/") + "/")):
                return False
        return True

    def remember(self, call: ReadCall) -> None:
        """Take what a call that succeeded made."""
        call.step.made = tuple(path for path in call.makes if self.make(path))
        for path in call.outside:
            self.make_outside(path)
        for path, writes in call.scripts:
            self.wrote(path, writes)

    def make(self, path: str) -> bool:
        """Remember a file that the session made; False for one that it had seen before."""
        if path in self._made or self.knows(path):
            return False
        self._made.add(path)
        return True

    def make_outside(self, path: str) -> None:
        """Remember a file that was written below a temporary folder."""
        self._outside.add(path)

    def wrote(self, path: str, writes: tuple[Write, ...]) -> None:
        """Remember what a script that the session wrote would write, if it is run."""
        self._scripts[path] = writes

    def written_by(self, path: str) -> tuple[Write, ...]:
        """Return what running a file of the session's own writes, as far as its text tells."""
        return self._scripts.get(path, ())

    def is_made(self, path: str) -> bool:
        """Whether the session made a file, or the folder that it lies in."""
        if path in self._made:
            return True
        return any(parent in self._made for parent in parents(path))

    def is_program_made(self, path: str) -> bool:
        """Whether running a file runs what the session wrote, wherever it lies."""
        return path in self._outside or self.is_made(path)


_NAME_LIKE = re.compile(r"^[\w.@+~-]*[./][^\s:]*", re.MULTILINE)
"""What may be a file's name at the beginning of a line."""


def _is_relative(path: str) -> bool:
    return not (path.startswith(("/", "~", "$")) or path[1:3] == ":/")


def _ends(path: str) -> Iterator[str]:
    parts = path.split("/")
    for start in range(1, len(parts)):
        yield "/".join(parts[start:])


def parents(path: str) -> Iterator[str]:
    """Yield the folders that a full path lies in, from the innermost outwards."""
    end = path.rfind("/")
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)

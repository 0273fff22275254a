"""Task drafts from a repository's history: one a commit, with the files that it changed.

Only suggestions: a person confirms them. ``git`` is called with fixed arguments, never
through a shell, and with what could run a program of the repository's choice turned off.
"""

import re
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import msgspec

from wayproof.capture.drafts import SUGGESTION_LIMIT
from wayproof.errors import InputError

__all__ = ["LEFT_OUT", "Commit", "commits_of", "drafts_from_git", "prompt_of"]

LEFT_OUT = (
    "vendor/*", "*/vendor/*", "third_party/*", "*/third_party/*", "node_modules/*",
    "*/node_modules/*", "dist/*", "*/dist/*", "generated/*", "*/generated/*", "*.pb.go", "*_pb2.py",
    "*.lock", "*.lockb", "*.lockfile", "*-lock.json", "*-lock.yaml", "*npm-shrinkwrap.json",
    "*Package.resolved", "go.sum", "*/go.sum", "go.work.sum", "*.min.js", "*.min.css", "*.map",
    "*.snap",
)  # fmt: skip
"""Globs of vendored, generated and lock files, which no task is about."""

_TESTS = re.compile(
    r"(?:^|/)(?:tests?|specs?|__tests__|testing|testdata|test_?harness|e2e)/|(?:^|/)(?:test_[^/]*|conftest\.py)$"
    r"|[._-](?:test|spec|tests)\.\w+$|_test\.\w+$",
    re.IGNORECASE,
)
_SAFE = (
    "-c", "core.quotePath=false", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
    "-c", "log.showSignature=false", "-c", "diff.external=", "-c", "log.mailmap=false",
)  # fmt: skip
_RECORD, _FIELD, _END = "\x02", "\x03", "\x04"


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit that changed something: its parent, its message, and (status, path before it)."""

    revision: str
    parent: str
    message: str
    changed: tuple[tuple[str, str], ...]


def _git(repo: Path, *arguments: str) -> str:
    command = ["git", "--no-pager", "-C", str(repo), *_SAFE, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise InputError("git can't be started", found=error.strerror) from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InputError(
            "git can't read this history", file=str(repo), found=said[-1] if said else "no message"
        )
    return done.stdout.decode("utf-8", "replace")


def commits_of(repo: Path, *, since: str | None = None) -> Iterator[Commit]:
    """Yield the commits of a history that have one parent, oldest first.

    Parameters
    ----------
    repo
        A working tree or a bare repository.
    since
        Only commits behind this revision.

    Raises
    ------
    InputError
        When git isn't there, or can't read the history.
    """
    if since is not None and since.startswith("-"):
        raise InputError("not a revision", field="since", found=since)
    text = _git(
        repo, "log", "--no-merges", "--reverse", "--name-status", "-M", "-z", "--no-ext-diff",
        "--no-textconv", "--no-color", "--no-relative", "--encoding=UTF-8", "-l1000", "-O/dev/null",
        f"--pretty=tformat:{_RECORD}%H{_FIELD}%P{_FIELD}%B{_END}",
        "HEAD" if since is None else f"{since}..HEAD", "--",
    )  # fmt: skip
    for record in text.split(_RECORD)[1:]:
        head, _, names = record.partition(_END)
        fields = head.split(_FIELD, 2)
        if len(fields) == 3 and fields[1] and " " not in fields[1]:
            yield Commit(
                revision=fields[0], parent=fields[1], message=fields[2], changed=_changed(names)
            )


def _changed(names: str) -> tuple[tuple[str, str], ...]:
    """Return (status, name before the commit); a rename has a second name."""
    parts = iter([part for part in names.strip("\n").split("\0") if part.strip()])
    found = []
    for status in parts:
        letter = status.strip()[:1]
        path = next(parts, "")
        if letter in {"R", "C"}:
            next(parts, None)
        if path:
            found.append((letter, path))
    return tuple(found)


_REFERENCE = (
    r"(?:[\w./-]*#\d+|https?://\S+|[A-Z]{2,10}-\d+|\d+\b|[0-9a-f]{7,40}\b|[^<\n]*<[^>\n]+@)"
)
_TRAILER = re.compile(
    r"^[ \t]*(?:[A-Z][A-Za-z]*-)+(?:by|url|id|to|link|session): .*$"
    r"|^(?:Differential Revision|PiperOrigin-RevId|git-svn-id|X-[\w-]+): .*$"
    # These words begin sentences, too: they make a trailer where a reference follows.
    rf"|^(?:Cc|Fix(?:es)?|Closes|Resolves|Refs?|See|Bugs?|Issues?|Links?|Tasks?): {_REFERENCE}.*$"
    r"|^\(cherry picked from commit [0-9a-f]+\)$|^(?:fix(?:es|ed)?|close[sd]?|resolve[sd]?|refs?)"
    r"(?:,? (?:and )?(?:[\w./-]*#\d+|https?://\S+))+\.?$",
    re.IGNORECASE | re.MULTILINE,
)
_LEADS = (
    r"(?:fix(?:es|ed)?|close[sd]?|refs?|resolve[sd]?|see|part of|related to"
    r"|follow[- ]?ups? (?:to|of)"
    r"|(?:(?:in|from|to|of|on|by|after|with) )?(?:the )?(?:PR|issue|pull request)"
    r"|in|from|to|of|on|by|after|since)"
)
_NUMBER = re.compile(
    rf"\s*[(\[](?:(?:{_LEADS}|[A-Z]{{2,10}}-\d+|[\w./-]*#\d+|GH-\d+)[,:\s]*)+[)\]]"
    rf"|[ \t]*\b{_LEADS}\s+[\w./-]*#\d+\b:?|(?:^|(?<=\s))[\w./-]*#\d+\b:?",
    re.IGNORECASE | re.MULTILINE,
)
_SIGNED = re.compile(
    r"-----BEGIN PGP.*?-----END PGP[^\n]*"
    # What bots and hosts put around a message: folded details, pictures, comments, a rule
    # above the trailers, the name of the tool that wrote it.
    r"|<details>.*?</details>|<!--.*?-->|!\[[^\]\n]*\]\([^)\n]*\)|<(?:img|br)\b[^>]*>"
    r"|^---\nupdated-dependencies:\n.*?(?:^\.\.\.$|\Z)"
    r"|^-{3,}\s*$(?=\n*(?:[A-Z][\w-]*: .*\n*)*\Z)"
    r"|^(?:\N{ROBOT FACE}\s*)?Generated (?:with|by) \[?[^\n]*$",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)


_LEFT_OVER = re.compile(r"(?<=[^.\s]\.)\.(?!\.)|^[ \t]*[.,;:]+[ \t]*$", re.MULTILINE)
"""The full stop of a sentence that is gone."""


def prompt_of(message: str) -> str:
    """Return a commit's message without trailers, issue numbers and signatures."""
    text = _SIGNED.sub("", message.replace("\r\n", "\n"))
    text = _NUMBER.sub("", _TRAILER.sub("", text))
    text = _LEFT_OVER.sub("", text)
    lines = [re.sub(r"(?<=\S) {2,}", " ", line).rstrip() for line in text.split("\n")]
    subject, *body = lines
    # A squashed commit's body begins with the subject again.
    body = [line for line in body if line.removeprefix("* ").strip() != subject.strip() or not line]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join([subject.lstrip(" :"), *body]))
    return text.strip()


_NOT_A_TASK = re.compile(
    r"(?:revert|reapply|back(?:ed)? out)\b"
    r"|merge (?:pull request|branch|remote-tracking branch|tag|commit) ",  # rebased: one parent
    re.IGNORECASE,
)


def _is_no_task(message: str) -> bool:
    """Tell a revert or a merge by its message; a merge that was rebased has one parent."""
    return _NOT_A_TASK.match(message) is not None or (
        re.search(r"^This reverts commit [0-9a-f]{7,40}", message, re.MULTILINE) is not None
    )


def _left_out(path: str) -> bool:
    return any(fnmatchcase(path, glob) for glob in LEFT_OUT)


def drafts_from_git(
    repo: Path, *, since: str | None = None, max_files: int = 5
) -> list[dict[str, Any]]:
    """Return one draft for each commit whose change a task could be about, oldest first.

    Merges and reverts are left out, and commits that changed no file that existed before
    them, or more than ``max_files`` of them. Tests are listed apart. The parent commit is
    where the task stands: there the suggested files still are as they were.

    Raises
    ------
    InputError
        When git isn't there, or can't read the history.
    """
    name = _name(repo)
    drafts = []
    for commit in commits_of(repo, since=since):
        kept = [path for status, path in commit.changed if status != "A" and not _left_out(path)]
        suggested = [path for path in kept if _TESTS.search(path) is None]
        prompt = prompt_of(commit.message)
        if _is_no_task(commit.message) or not prompt or not 0 < len(suggested) <= max_files:
            continue
        draft: dict[str, Any] = {
            "task_id": f"{name}-{commit.revision[:12]}",
            "draft": True,
            "family": name,
            "task_prompt": prompt,
            "route_type": "git",
            "repo_revision": commit.parent,
            "expected_artifacts": [],
            "suggested_artifacts": suggested,
            "suggested_tests": [path for path in kept if _TESTS.search(path) is not None],
            "forbidden_first_routes": [],
            "scent_terms": [],
            "_comment": SUGGESTION_LIMIT,
        }
        drafts.append(draft)
    return drafts


def _name(repo: Path) -> str:
    """Return the repository's name: as its origin has it, which no folder of a clone changes."""
    listed = _git(repo, "config", "--null", "--list").split("\0")
    origin = [one.partition("\n")[2] for one in listed if one.startswith("remote.origin.url\n")]
    folder = _git(repo, "rev-parse", "--absolute-git-dir").strip()
    if "/worktrees/" in folder:
        folder = folder.split("/worktrees/", 1)[0]
    for place in (*origin[-1:], folder):
        base = place.replace("\\", "/").rstrip("/").removesuffix("/.git")
        base = re.split(r"[/:]", base)[-1].removesuffix(".git")
        if base:
            return base
    return "repository"

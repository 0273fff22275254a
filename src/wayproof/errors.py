"""One error tree; each branch has its exit status and a slug for the docs.

=====================  ======  ==========================================================
error                  status  meaning
=====================  ======  ==========================================================
:class:`InputError`    2       input or arguments can't be used; nothing was written
:class:`IntegrityError`  3     a digest, a certificate or a replay doesn't match
=====================  ======  ==========================================================

Status 1 is no error: it says that something was measured and failed.

A message may name a *setting* of the call that failed: an argument in Python, a flag on the
command line. Errors hold its plain name (``setting="policies"``, or ``{overwrite}`` within
``problem`` or ``mend``); whoever shows the message says how a setting is spelled.
"""

import re
from collections.abc import Callable
from typing import ClassVar, Self

from wayproof.text import clip, harmless

__all__ = ["InputError", "IntegrityError", "LocatedError", "OutputError", "WayproofError"]


_SETTING = re.compile(r"\{([a-z][a-z_]*)\}")
_SHOWN_CHARS = 2000
"""No part of a message is longer: what was found comes from outside."""


def _as_argument(setting: str) -> str:
    return f"`{setting}`"


class WayproofError(Exception):
    """The root: everything wayproof raises on purpose."""

    exit_status: ClassVar[int] = 2
    slug: ClassVar[str] = "error"


class LocatedError(WayproofError):
    """An error with a place: file, line or index, and field.

    Parameters
    ----------
    problem
        What is wrong, in one clause.
    file
        The file or folder, as the user named it.
    line
        Line number from 1, for line-based files.
    index
        Where in a list: ``"case 3"``, ``"trial planner/s-001/0"``.
    field
        Path of the field inside the record: ``selected_rows[2].title``.
    setting
        The setting of the call that was unusable, by its plain name: ``policies``.
    expected, found
        What the contract asks for, and what stood there instead.
    mend
        How to put it right.
    """

    def __init__(  # noqa: PLR0913 - the parts of one message, all optional and named
        self,
        problem: str,
        *,
        file: str | None = None,
        line: int | None = None,
        index: str | None = None,
        field: str | None = None,
        setting: str | None = None,
        expected: str | None = None,
        found: str | None = None,
        mend: str | None = None,
    ) -> None:
        self.problem = problem
        self.file = file
        self.line = line
        self.index = index
        self.field = field
        self.setting = setting
        self.expected = expected
        self.found = found
        self.mend = mend
        super().__init__(self.message())

    def message(self, spelled: Callable[[str], str] = _as_argument) -> str:
        """Return the whole message on one line, safe to print.

        Parameters
        ----------
        spelled
            Says how the reader writes a setting.
        """

        def named(text: str) -> str:
            return _SETTING.sub(lambda match: spelled(match[1]), text)

        place = ""
        if self.file is not None:
            place = self.file if self.line is None else f"{self.file}:{self.line}"
        field = None if self.field is None else clip(self.field, _SHOWN_CHARS)
        setting = None if self.setting is None else spelled(self.setting)
        where = [part for part in (place, self.index, setting, field) if part]
        problem = named(self.problem)
        text = ": ".join([", ".join(where), problem]) if where else problem
        if self.expected is not None:
            text += f"; expected {clip(self.expected, _SHOWN_CHARS)}"
        if self.found is not None:
            text += f"; found {clip(self.found, _SHOWN_CHARS)}"
        if self.mend is not None:
            text += f" ({named(self.mend)})"
        return harmless(text)

    def at(
        self, *, file: str | None = None, line: int | None = None, index: str | None = None
    ) -> Self:
        """Return the same error with the places that its raiser could not know."""
        return type(self)(
            self.problem,
            file=self.file if self.file is not None else file,
            line=self.line if self.line is not None else line,
            index=self.index if self.index is not None else index,
            field=self.field,
            setting=self.setting,
            expected=self.expected,
            found=self.found,
            mend=self.mend,
        )

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process borders whole.
        return (_rebuild, (type(self), dict(self.__dict__)))


def _rebuild(error_type: "type[LocatedError]", parts: dict[str, object]) -> "LocatedError":
    problem = parts.pop("problem")
    return error_type(str(problem), **parts)  # type: ignore[arg-type]


class InputError(LocatedError, ValueError):
    """Input or arguments that can't be used."""

    exit_status: ClassVar[int] = 2
    slug: ClassVar[str] = "input"


class OutputError(InputError):
    """A place that can't be written to: it exists, is not a folder, or is full."""

    slug: ClassVar[str] = "output"


class IntegrityError(LocatedError):
    """Evidence that does not hold: a digest, a certificate, a transition, a replay."""

    exit_status: ClassVar[int] = 3
    slug: ClassVar[str] = "integrity"

    @classmethod
    def of(
        cls, error: LocatedError, *, file: str, line: int | None = None, field: str | None = None
    ) -> Self:
        """Return what is wrong with input as what is wrong with evidence.

        Parameters
        ----------
        error
            What a reader of input found.
        file, line
            Where the evidence stands; they replace the error's own.
        field
            The field, where the error names none.
        """
        return cls(
            error.problem,
            file=file,
            line=line,
            field=error.field or field,
            expected=error.expected,
            found=error.found,
        )

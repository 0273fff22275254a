"""One error tree; each branch has its exit status and a slug for the docs.

=====================  ======  ==========================================================
error                  status  meaning
=====================  ======  ==========================================================
:class:`InputError`    2       input or arguments can't be used; nothing was written
:class:`IntegrityError`  3     a digest, a certificate or a replay doesn't match
=====================  ======  ==========================================================

Status 1 is no error: it says that something was measured and failed.
"""

from typing import ClassVar, Self

from wayproof.text import clip, harmless

__all__ = ["InputError", "IntegrityError", "OutputError", "WayproofError"]


_SHOWN_CHARS = 2000
"""No part of a message is longer: what was found comes from outside."""


class WayproofError(Exception):
    """The root: everything wayproof raises on purpose."""

    exit_status: ClassVar[int] = 2
    slug: ClassVar[str] = "error"


class _LocatedError(WayproofError):
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
        expected: str | None = None,
        found: str | None = None,
        mend: str | None = None,
    ) -> None:
        self.problem = problem
        self.file = file
        self.line = line
        self.index = index
        self.field = field
        self.expected = expected
        self.found = found
        self.mend = mend
        super().__init__(self.message())

    def message(self) -> str:
        """Return the whole message on one line, safe to print."""
        place = ""
        if self.file is not None:
            place = self.file if self.line is None else f"{self.file}:{self.line}"
        field = None if self.field is None else clip(self.field, _SHOWN_CHARS)
        where = [part for part in (place, self.index, field) if part]
        text = ": ".join([", ".join(where), self.problem]) if where else self.problem
        if self.expected is not None:
            text += f"; expected {clip(self.expected, _SHOWN_CHARS)}"
        if self.found is not None:
            text += f"; found {clip(self.found, _SHOWN_CHARS)}"
        if self.mend is not None:
            text += f" ({self.mend})"
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
            expected=self.expected,
            found=self.found,
            mend=self.mend,
        )

    def __reduce__(self) -> tuple[object, ...]:
        # Errors cross process borders whole.
        return (_rebuild, (type(self), dict(self.__dict__)))


def _rebuild(kind: "type[_LocatedError]", parts: dict[str, object]) -> "_LocatedError":
    problem = parts.pop("problem")
    return kind(str(problem), **parts)  # type: ignore[arg-type]


class InputError(_LocatedError, ValueError):
    """Input or arguments that can't be used."""

    exit_status: ClassVar[int] = 2
    slug: ClassVar[str] = "input"


class OutputError(InputError):
    """A place that can't be written to: it exists, is not a folder, or is full."""

    slug: ClassVar[str] = "output"


class IntegrityError(_LocatedError):
    """Evidence that does not hold: a digest, a certificate, a transition, a replay."""

    exit_status: ClassVar[int] = 3
    slug: ClassVar[str] = "integrity"

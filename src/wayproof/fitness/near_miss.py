"""Keys that are nearly known ones: passed over in silence, what they say would be lost."""

from collections.abc import Iterable

from wayproof.errors import InputError
from wayproof.text import quoted

__all__ = ["refuse_nearly", "refuse_nearly_known", "shown_key"]

_SHORT_NAME_LETTERS = 7


def refuse_nearly(key: str, known: Iterable[str], *, prefix: str = "") -> None:
    """Refuse an unknown key that is nearly one of the known ones.

    Near is an edit distance of 2; of 1 for known names of up to seven letters. An edit
    inserts, drops or changes a letter, or swaps two neighbours. Case doesn't count.

    Raises
    ------
    InputError
        Naming the key, with ``prefix`` before it, and the name that it is near to.
    """
    folded = key.casefold()
    for name in known:
        limit = 1 if len(name) <= _SHORT_NAME_LETTERS else 2
        if abs(len(folded) - len(name)) <= limit and _edit_distance(folded, name) <= limit:
            raise InputError(
                "unknown key that is nearly a known one",
                field=shown_key(key, prefix),
                expected=name,
                mend=f"spell it {name}, or name it otherwise: unknown keys are passed over",
            )


def refuse_nearly_known(keys: Iterable[str], known: tuple[str, ...], *, prefix: str = "") -> None:
    """Refuse the first of an object's keys that is not a known one, but nearly."""
    for key in keys:
        if key not in known:
            refuse_nearly(key, known, prefix=prefix)


def shown_key(key: str, prefix: str) -> str:
    """Show a key's place in a message."""
    shown = quoted(key).strip('"')
    return f"{prefix}.{shown}" if prefix else shown


def _edit_distance(one: str, other: str) -> int:
    """Optimal string alignment: insert, drop, change, or swap two neighbours."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        above, row = row, [at]
        for to, wanted in enumerate(other, 1):
            cost = min(above[to] + 1, row[to - 1] + 1, above[to - 1] + (letter != wanted))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == wanted:
                cost = min(cost, before[to - 2] + 1)
            row.append(cost)
        before = above
    return row[-1]

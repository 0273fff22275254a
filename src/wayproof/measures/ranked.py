"""Ranked measures: name, formula and source of each in one place, over one ranking.

A :class:`Ranking` is what all of them need to know of one task: at which ranks something
expected was found. It is made from ids in the packet's order, whether they come from the
packet or from a bundle, so a measure is the same number from both. Names and definitions
are those of ir_measures, numbers those of trec_eval.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from wayproof.errors import InputError

__all__ = ["MEASURES", "Definition", "Measure", "Ranking", "parse_measures", "ranking_of"]


class Ranking(NamedTuple):
    """Where a ranked list of ids finds what a task expects.

    Attributes
    ----------
    found
        Per rank (from 1) at which something was found for the first time: how many
        expected ids. More than one only where an id meets a prefix as well.
    gains
        Per rank at which something of a positive grade was found: the highest such grade.
    judged
        Ranks whose id was judged at all: expected, or graded.
    relevant
        How many ids the task expects; a prefix is one.
    ideal
        Positive grades, highest first.
    length
        How many ids the list has.
    """

    found: Sequence[tuple[int, int]]
    gains: Sequence[tuple[int, int]]
    judged: Sequence[int]
    relevant: int
    ideal: tuple[int, ...]
    length: int


def ranking_of(
    ordered: Sequence[str],
    expected: Sequence[str],
    *,
    literal_ids: Sequence[str] = (),
    relevance: Mapping[str, int] | None = None,
) -> Ranking:
    """Look expected ids up in a ranked list.

    Parameters
    ----------
    ordered
        Distinct ids, best first.
    expected
        Distinct expected ids; one that ends in ``*`` is a prefix: one relevant item,
        found at its first match.
    literal_ids
        Those that end in ``*`` and are no prefixes.
    relevance
        Grades by id, where the task has them; an expected id without grade has 1.
    """
    wanted = set(expected)
    if not relevance and "*" not in "".join(expected):
        # Nearly all tasks: each expected id is found as itself, once, with grade 1.
        ranks = [ordered.index(one) + 1 for one in wanted.intersection(ordered)]
        ranks.sort()
        each = [(rank, 1) for rank in ranks]
        return Ranking(each, each, ranks, len(wanted), (1,) * len(wanted), len(ordered))
    literal = set(literal_ids)
    grades = dict.fromkeys(expected, 1)
    if relevance:
        grades.update(relevance)
    prefixes = [one[:-1] for one in grades if one[-1:] == "*" and one not in literal]
    found: list[tuple[int, int]] = []
    gains: list[tuple[int, int]] = []
    judged: list[int] = []
    met: set[str] = set()
    for rank, one in enumerate(ordered, start=1):
        keys = [one] if one in grades and (one[-1:] != "*" or one in literal) else []
        if prefixes:
            keys += [f"{prefix}*" for prefix in prefixes if one.startswith(prefix)]
        if not keys:
            continue
        judged.append(rank)
        fresh = [key for key in keys if key not in met]
        met.update(fresh)
        count = sum(key in wanted for key in fresh)
        if count:
            found.append((rank, count))
        gain = max((grades[key] for key in fresh), default=0)
        if gain > 0:
            gains.append((rank, gain))
    ideal = tuple(sorted((grade for grade in grades.values() if grade > 0), reverse=True))
    return Ranking(found, gains, judged, len(wanted), ideal, len(ordered))


# -- definitions ----------------------------------------------------------------------


def _recall(ranking: Ranking, cutoff: int) -> float:
    found = 0
    for rank, count in ranking.found:
        if rank <= cutoff:
            found += count
    return found / ranking.relevant if found else 0.0


def _precision(ranking: Ranking, cutoff: int) -> float:
    return sum(rank <= cutoff for rank, _ in ranking.found) / cutoff


def _reciprocal_rank(ranking: Ranking, cutoff: int) -> float:
    return 1 / ranking.found[0][0] if ranking.found and ranking.found[0][0] <= cutoff else 0.0


def _success(ranking: Ranking, cutoff: int) -> float:
    return float(bool(ranking.found) and ranking.found[0][0] <= cutoff)


def _average_precision(ranking: Ranking, cutoff: int) -> float:
    total = 0.0
    for place, (rank, count) in enumerate(ranking.found, start=1):
        if rank > cutoff:
            break
        total += count * place / rank
    return total / ranking.relevant if total else 0.0


def _ndcg(ranking: Ranking, cutoff: int) -> float:
    gained = 0.0
    for rank, gain in ranking.gains:
        if rank <= cutoff:
            gained += gain / math.log2(rank + 1)
    return gained / _best_gain(ranking.ideal, cutoff) if gained else 0.0


@lru_cache(maxsize=1 << 10)
def _best_gain(ideal: tuple[int, ...], cutoff: int) -> float:
    best = 0.0
    for rank, gain in enumerate(ideal[:cutoff], start=1):
        best += gain / math.log2(rank + 1)
    return best


def _judged(ranking: Ranking, cutoff: int) -> float:
    looked_at = min(cutoff, ranking.length)
    return sum(rank <= cutoff for rank in ranking.judged) / looked_at if looked_at else 0.0


Cutoff = Literal["required", "optional"]
NO_CUTOFF: Final = 1 << 62


class Definition(NamedTuple):
    """One measure: its name, whether it takes ``@k``, its formula and where it comes from."""

    name: str
    cutoff: Cutoff
    meaning: str
    formula: str
    source: str
    function: Callable[[Ranking, int], float]


MEASURES: Final = (
    Definition(
        "AP",
        "optional",
        "average precision: precision at each rank that finds something, summed over what is "
        "expected",
        "(1/R) · Σ over ranks r that find something: items found at r · P@r",
        "C. Buckley and E. M. Voorhees, “Evaluating evaluation measure stability”, SIGIR 2000; "
        "trec_eval `map`, `map_cut`",
        _average_precision,
    ),
    Definition(
        "Judged",
        "optional",
        "share of the first k ids that the task judges at all",
        "(ids among the first k that are expected or graded) / min(k, length of the list)",
        "ir_measures `Judged`",
        _judged,
    ),
    Definition(
        "P",
        "required",
        "precision: share of the first k ids that find something expected",
        "(ranks ≤ k that find something) / k",
        "C. J. van Rijsbergen, “Information retrieval”, 1979, chapter 7; trec_eval `P`",
        _precision,
    ),
    Definition(
        "R",
        "required",
        "recall: share of the expected ids found among the first k",
        "(items found at ranks ≤ k) / R",
        "C. J. van Rijsbergen, “Information retrieval”, 1979, chapter 7; trec_eval `recall`",
        _recall,
    ),
    Definition(
        "RR",
        "optional",
        "reciprocal rank of the first id that finds something; 0 when none does",
        "1 / (first rank that finds something)",
        "P. B. Kantor and E. M. Voorhees, “The TREC-5 confusion track”, Information Retrieval 2 "
        "(2000); trec_eval `recip_rank`",
        _reciprocal_rank,
    ),
    Definition(
        "Success",
        "required",
        "1 when something expected is among the first k, else 0",
        "[first rank that finds something ≤ k]",
        "trec_eval `success`",
        _success,
    ),
    Definition(
        "nDCG",
        "optional",
        "discounted cumulative gain over the ideal order's, by grade",
        "Σ grade(r) / log₂(r + 1) over ranks ≤ k, divided by the same of the grades sorted",
        "K. Järvelin and J. Kekäläinen, “Cumulated gain-based evaluation of IR techniques”, ACM "
        "TOIS 20 (2002); trec_eval `ndcg`, `ndcg_cut`",
        _ndcg,
    ),
)
"""Every ranked measure, by name. R is how many ids the task expects."""

_BY_NAME: Final = {definition.name: definition for definition in MEASURES}
_SPELLING: Final = re.compile(r"(?P<name>[A-Za-z]+)(?:@(?P<cutoff>[0-9]{1,9}))?")
_ATTEMPTS: Final = re.compile(r"pass(?P<kind>[@^])(?P<k>[1-9][0-9]{0,3})")


class Measure(NamedTuple):
    """A measure as asked for: ``nDCG@10``; ``pass@3`` and ``pass^3`` look at attempts."""

    name: str
    definition: Definition | None
    cutoff: int

    def of(self, ranking: Ranking) -> float:
        """Return a ranked measure's value for one ranking; 0 where nothing is expected."""
        return 0.0 if self.definition is None else self.definition.function(ranking, self.cutoff)

    def of_attempts(self, passed: int, attempts: int) -> float | None:
        """Return ``pass@k`` or ``pass^k`` of a task; None with fewer than k attempts.

        Unbiased over the choice of k among n attempts of which c passed: pass@k is
        1 - C(n-c, k) / C(n, k) (M. Chen et al., "Evaluating large language models trained
        on code", 2021), pass^k is C(c, k) / C(n, k) (S. Yao et al., "τ-bench", 2024).
        """
        if attempts < self.cutoff:
            return None
        ways = math.comb(attempts, self.cutoff)
        if self.name[4] == "^":
            return float(Fraction(math.comb(passed, self.cutoff), ways))
        return float(1 - Fraction(math.comb(attempts - passed, self.cutoff), ways))


def parse_measures(text: str | Sequence[str]) -> tuple[Measure, ...]:
    """Read measures as ir_measures spells them, parted by white space or commas.

    Raises
    ------
    InputError
        For an unknown name, a cutoff that is missing or not taken, or 0.
    """
    words = text.replace(",", " ").split() if isinstance(text, str) else list(text)
    return tuple(dict.fromkeys(map(_parse, words)))


def _parse(word: str) -> Measure:
    attempts = _ATTEMPTS.fullmatch(word)
    if attempts is not None:
        return Measure(word, None, int(attempts["k"]))
    spelled = _SPELLING.fullmatch(word)
    definition = None if spelled is None else _BY_NAME.get(_known_name(spelled["name"]))
    if spelled is None or definition is None:
        raise InputError(
            "not a measure",
            setting="measures",
            expected=", ".join(_examples()),
            found=word,
        )
    cutoff = spelled["cutoff"]
    if cutoff is None and definition.cutoff == "required":
        raise InputError(
            "measure without cutoff", setting="measures", expected=f"{word}@10", found=word
        )
    if cutoff is not None and int(cutoff) < 1:
        raise InputError("cutoff below 1", setting="measures", expected="1 or more", found=word)
    name = definition.name if cutoff is None else f"{definition.name}@{int(cutoff)}"
    return Measure(name, definition, NO_CUTOFF if cutoff is None else int(cutoff))


def _known_name(name: str) -> str:
    return "Judged" if name == "judged" else name


def _examples() -> list[str]:
    return [
        f"{one.name}@k" if one.cutoff == "required" else f"{one.name} or {one.name}@k"
        for one in MEASURES
    ] + ["pass@k", "pass^k"]

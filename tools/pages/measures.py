"""The ranked measures, from their one definition each."""

from tools.pages.markdown import table

from wayproof.measures.ranked import MEASURES
from wayproof.measures.values import DEFAULT_MEASURES

__all__ = ["body"]

_INTRO = f"""\
# Measures

`--measures "R@20 nDCG@10 RR"` on `score` and `compare` takes these names, as ir_measures spells
them; numbers are those of trec_eval. Without it, `compare` looks at
{", ".join(f"`{name}`" for name in DEFAULT_MEASURES)}.

They look at the distinct selected ids in the packet's order. R is how many ids the task expects. An
id that ends in `*` is a prefix and counts as one relevant item, found at its first match; later
matches find nothing. Grades come from the task's `relevance`; an expected id without grade has 1.
A missing packet scores 0 and is counted. Tasks that expect nothing are left out and counted;
`--all-topics` counts them as 0, as `trec_eval -c` does. Several attempts are averaged within their
task."""

_ATTEMPTS = """\
## Attempts

`pass@k` and `pass^k` look at a task's attempts: that at least one of k passes, or that all do,
without bias over the choice of k among n attempts of which c passed: 1 − C(n−c, k) / C(n, k)
(M. Chen et al., 2021) and C(c, k) / C(n, k) (S. Yao et al., τ-bench, 2024). Tasks with fewer than k
attempts are left out and counted."""


def body() -> str:
    """Return the page of measures."""
    rows = [
        [
            f"`{one.name}@k`" if one.cutoff == "required" else f"`{one.name}`, `{one.name}@k`",
            one.meaning,
            one.formula.replace("|", "\\|"),
            one.source,
        ]
        for one in MEASURES
    ]
    return "\n\n".join([_INTRO, table(["name", "meaning", "formula", "source"], rows), _ATTEMPTS])

"""The rules of the taxonomy, as errors that name them."""

from typing import Final

from wayproof.errors import InputError
from wayproof.evidence.recovery_names import SUITE_RULES, SuiteRuleName

__all__ = ["broken_rule"]

_MEANINGS: Final = {rule.name: rule.meaning for rule in SUITE_RULES}


def broken_rule(
    rule: SuiteRuleName,
    *,
    found: str,
    field: str | None = None,
    index: str | None = None,
    mend: str | None = None,
) -> InputError:
    """Return the error of a suite that breaks a rule, with the rule's own words."""
    return InputError(
        f"breaks the rule {rule}",
        index=index,
        field=field,
        expected=f"that {_MEANINGS[rule]}",
        found=found,
        mend=mend,
    )

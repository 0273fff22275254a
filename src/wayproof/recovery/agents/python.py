"""Policies of somebody else's package: by entry point, or as ``module:factory``.

A package announces a policy in its ``pyproject.toml``::

    [project.entry-points."wayproof.policies"]
    my-policy = "my_package.module:MyPolicy"
"""

import re
from typing import TYPE_CHECKING, Any, Final

from wayproof.errors import InputError
from wayproof.evidence.recovery_records import IDENTIFIER_PATTERN, AgentRecord
from wayproof.recovery.agents.controls import CONTROL_SOURCES
from wayproof.recovery.agents.policy import Factory, PolicySource, client_agent
from wayproof.text import quoted

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["GROUP", "policy_factory", "policy_source"]

GROUP: Final = "wayproof.policies"
"""The entry points that name policies."""
_SPELLED: Final = re.compile(r"[\w.]+:[\w.]+")


def policy_source(spelled: str, name: str | None = None) -> PolicySource:
    """Return a control by its name, or another policy by entry point or ``module:factory``.

    Parameters
    ----------
    name
        The ``policy`` of its records. A control keeps its own; any other policy is called
        by its ``name``, or else as it was asked for.

    Raises
    ------
    InputError
        When there is no such policy, or it can't be imported or called.
    """
    if spelled in CONTROL_SOURCES:
        if name is not None:
            raise InputError(
                "a reference control keeps its name", setting="name", found=quoted(name)
            )
        return CONTROL_SOURCES[spelled]
    factory, details = policy_factory(spelled)
    if name is None:
        name = _own_name(factory) or spelled.rpartition(":")[2]
    identity = AgentRecord(details=details, kind="python", policy=name)
    return client_agent(name, factory, identity)


def _own_name(factory: object) -> str | None:
    """Return what a factory calls itself, where that can be a name of records."""
    try:
        own = getattr(factory, "name", None)
    except Exception:  # noqa: BLE001 - somebody else's property
        return None
    return str(own) if isinstance(own, str) and IDENTIFIER_PATTERN.fullmatch(own) else None


def policy_factory(spelled: str) -> tuple[Factory, dict[str, str]]:
    """Return a policy's factory, and what is known of where it came from.

    Raises
    ------
    InputError
        When there is no such policy, or it can't be imported or called.
    """
    from importlib.metadata import EntryPoint, entry_points  # slow, and controls need none

    if ":" in spelled:
        if _SPELLED.fullmatch(spelled) is None:
            raise InputError(
                "not the name of a policy",
                setting="policies",
                expected="module:factory",
                found=quoted(spelled),
            )
        return _loaded(EntryPoint(spelled, spelled, GROUP)), {"factory": spelled}
    if spelled in CONTROL_SOURCES:
        raise InputError(
            "is a reference control, and no policy of somebody else's",
            setting="policies",
            found=spelled,
        )
    found = {point.name: point for point in entry_points(group=GROUP)}
    point = found.get(spelled)
    if point is None:
        raise InputError(
            "unknown policy",
            setting="policies",
            expected=", ".join([*CONTROL_SOURCES, *sorted(found), "or module:factory"]),
            found=quoted(spelled),
        )
    details = {"factory": point.value}
    if point.dist is not None:
        details["package"] = f"{point.dist.name} {point.dist.version}"
    return _loaded(point), details


def _loaded(point: "EntryPoint") -> Factory:
    try:
        found: Any = point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever somebody else's module raises
        raise InputError(
            "the policy can't be imported",
            setting="policies",
            expected="module:factory",
            found=f"{quoted(point.value)}: {type(error).__name__}: {error}",
        ) from None
    if not callable(found):
        raise InputError(
            "the policy's factory can't be called",
            setting="policies",
            expected="a class or function that takes the trial's stream",
            found=f"{quoted(point.value)}, {type(found).__name__}",
        )
    factory: Factory = found
    return factory

"""What measures and comparisons need of one result."""

from typing import Any

import msgspec

__all__ = ["Row", "is_vacuous"]


class Row(msgspec.Struct, frozen=True, gc=False):
    """What comparing needs of one result; its other fields are passed over."""

    task_id: str
    attempt: int = 1
    defaulted_fields: list[str] = []
    error: Any = None
    expected_artifacts: list[str] = []
    failed_checks: list[str] = []
    family: str = ""
    forbidden_status: str = "unscored"
    found_expected_artifacts: list[str] = []
    latency_status: str = "unmeasured"
    literal_ids: list[str] = []
    relevance: dict[str, int] | None = None
    route_type: str = ""
    scent_coverage: float | None = None
    scent_status: str = "unscored"
    selected_artifacts: list[str] = []
    selection_order: list[int] | None = None
    sufficiency_failure_kind: str | None = None
    task_sha256: str | None = None
    timed_out: bool = False
    wall_ms: float | None = None

    @property
    def state(self) -> str:
        """``sufficient``, ``vacuous`` or the failure kind."""
        if self.sufficiency_failure_kind is not None:
            return self.sufficiency_failure_kind
        return "vacuous" if is_vacuous(self) else "sufficient"

    @property
    def lacks_packet(self) -> bool:
        """Whether scoring had no packet for it."""
        return self.error == "no packet captured" and not self.selected_artifacts


def is_vacuous(row: Row) -> bool:
    """Tell whether no rung was examined: the result could not fail."""
    return (
        not row.expected_artifacts
        and row.scent_status == row.forbidden_status == "unscored"
        and row.sufficiency_failure_kind is None
    )

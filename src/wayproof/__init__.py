"""wayproof: evidence about an agent's first move and its recovery after a refusal.

Two benchmarks share one evidence format:

* :mod:`wayproof.fitness` scores captured route packets against typed tasks;
* :mod:`wayproof.recovery` measures verified recovery after a rejected action.

The functions and records below are fetched when they are first asked for, so that
``import wayproof`` costs next to nothing.
"""

from importlib import import_module

from wayproof._version import __version__

TYPE_CHECKING = False  # type checkers take it for true; importing typing takes longer than all else
if TYPE_CHECKING:
    from wayproof.api.bundle import (
        FitnessBundle,
        RecoveryBundle,
        RejectionBundle,
        Verification,
        read_bundle,
        verify,
    )
    from wayproof.api.comparison import compare_bundles
    from wayproof.api.fitness import PacketDict, RowDict, Score, TaskDict, evaluate, score
    from wayproof.api.lines import Lines
    from wayproof.api.logs import CapturedLogs, capture_logs
    from wayproof.api.recovery import run
    from wayproof.api.rejections import MeasuredRejections, measure_rejections
    from wayproof.errors import InputError, IntegrityError, OutputError, WayproofError
    from wayproof.evidence.comparison_records import (
        Comparison,
        RecoveryComparison,
        RejectionComparison,
    )
    from wayproof.evidence.fitness_records import LatencyDebt, SufficiencyDebt, TaskResult
    from wayproof.evidence.fitness_summary import RouteTypeMetrics, SuiteSummary
    from wayproof.evidence.recovery_records import FINISH, Action
    from wayproof.fitness.gates import Gate, GateVerdict
    from wayproof.fitness.task import NavigationFitnessTask
    from wayproof.recovery.agents.policy import Observation, Policy

__all__ = [
    "FINISH",
    "Action",
    "CapturedLogs",
    "Comparison",
    "FitnessBundle",
    "Gate",
    "GateVerdict",
    "InputError",
    "IntegrityError",
    "LatencyDebt",
    "Lines",
    "MeasuredRejections",
    "NavigationFitnessTask",
    "Observation",
    "OutputError",
    "PacketDict",
    "Policy",
    "RecoveryBundle",
    "RecoveryComparison",
    "RejectionBundle",
    "RejectionComparison",
    "RouteTypeMetrics",
    "RowDict",
    "Score",
    "SufficiencyDebt",
    "SuiteSummary",
    "TaskDict",
    "TaskResult",
    "Verification",
    "WayproofError",
    "__version__",
    "capture_logs",
    "compare_bundles",
    "evaluate",
    "measure_rejections",
    "read_bundle",
    "run",
    "score",
    "verify",
]

# Name -> the module that defines it. A function here never bears the name of a package:
# importing the package would replace it.
_PLACES = {
    "FINISH": "wayproof.evidence.recovery_records",
    "Action": "wayproof.evidence.recovery_records",
    "CapturedLogs": "wayproof.api.logs",
    "Comparison": "wayproof.evidence.comparison_records",
    "FitnessBundle": "wayproof.api.bundle",
    "Gate": "wayproof.fitness.gates",
    "GateVerdict": "wayproof.fitness.gates",
    "InputError": "wayproof.errors",
    "IntegrityError": "wayproof.errors",
    "LatencyDebt": "wayproof.evidence.fitness_records",
    "Lines": "wayproof.api.lines",
    "MeasuredRejections": "wayproof.api.rejections",
    "NavigationFitnessTask": "wayproof.fitness.task",
    "Observation": "wayproof.recovery.agents.policy",
    "OutputError": "wayproof.errors",
    "PacketDict": "wayproof.api.fitness",
    "Policy": "wayproof.recovery.agents.policy",
    "RecoveryBundle": "wayproof.api.bundle",
    "RecoveryComparison": "wayproof.evidence.comparison_records",
    "RejectionBundle": "wayproof.api.bundle",
    "RejectionComparison": "wayproof.evidence.comparison_records",
    "RouteTypeMetrics": "wayproof.evidence.fitness_summary",
    "RowDict": "wayproof.api.fitness",
    "Score": "wayproof.api.fitness",
    "SufficiencyDebt": "wayproof.evidence.fitness_records",
    "SuiteSummary": "wayproof.evidence.fitness_summary",
    "TaskDict": "wayproof.api.fitness",
    "TaskResult": "wayproof.evidence.fitness_records",
    "Verification": "wayproof.api.bundle",
    "WayproofError": "wayproof.errors",
    "capture_logs": "wayproof.api.logs",
    "compare_bundles": "wayproof.api.comparison",
    "evaluate": "wayproof.api.fitness",
    "measure_rejections": "wayproof.api.rejections",
    "read_bundle": "wayproof.api.bundle",
    "run": "wayproof.api.recovery",
    "score": "wayproof.api.fitness",
    "verify": "wayproof.api.bundle",
}


if not TYPE_CHECKING:  # a type checker that saw this would believe in any name

    def __getattr__(name: str) -> object:
        """Fetch a public name from where it is defined."""
        place = _PLACES.get(name)
        if place is None:
            msg = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(msg)
        value = getattr(import_module(place), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the public names, and what modules have anyway."""
    return sorted({*globals(), *__all__})

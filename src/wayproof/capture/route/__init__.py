"""The cut: one route out of a session's events.

A route starts at the first genuine prompt and ends at the first mutation, else at the
final answer, else where the log ends. Between the two stand the navigation calls; the
first of them, in call order, is the first contact.

``cutter`` is the sink that a session's events go to, ``thread`` cuts one thread, ``call``
reads a call, ``selecting`` its result, and ``assembly`` puts the threads together.
"""

from wayproof.capture.route.cutter import RouteCutter
from wayproof.capture.route.records import Cut, Route, Selection, Step, Tier, Until

__all__ = ["Cut", "Route", "RouteCutter", "Selection", "Step", "Tier", "Until"]

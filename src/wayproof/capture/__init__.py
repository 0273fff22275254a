"""Packets from the logs people have.

An adapter reads one log format into a neutral stream of events
(:mod:`wayproof.capture.session`); one shared module cuts a route out of a session
(:mod:`wayproof.capture.route`) and another makes the packet (:mod:`wayproof.capture.packet`).
Adapters know formats, the cutter knows routes, and neither scores. Text from a log is data:
nothing of it is ever run.
"""

from wayproof.capture.collect import Captured, capture, capture_file
from wayproof.capture.lines import Problem, Problems
from wayproof.capture.packet import PacketOptions
from wayproof.capture.registry import FORMATS, formats

__all__ = [
    "FORMATS",
    "Captured",
    "PacketOptions",
    "Problem",
    "Problems",
    "capture",
    "capture_file",
    "formats",
]

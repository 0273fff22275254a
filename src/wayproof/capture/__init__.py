"""Packets from the logs people have.

:func:`capture_logs` takes log files and folders and gives sessions with their packets.

An adapter reads one log format into a neutral stream of events
(:mod:`wayproof.capture.session`), and hands them to the sinks of each session
(:mod:`wayproof.capture.sessions`): one cuts the route (:mod:`wayproof.capture.route`) that a
packet is made of (:mod:`wayproof.capture.packet`). Adapters know formats, the cutter knows
routes, and neither scores. Text from a log is data: nothing of it is ever run.
"""

from wayproof.capture.collect import Capture, Captured, capture_file, capture_logs
from wayproof.capture.lines import Problem, Problems
from wayproof.capture.packet import PacketOptions
from wayproof.capture.registry import FORMATS, formats

__all__ = [
    "FORMATS",
    "Capture",
    "Captured",
    "PacketOptions",
    "Problem",
    "Problems",
    "capture_file",
    "capture_logs",
    "formats",
]

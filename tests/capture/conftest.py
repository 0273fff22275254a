"""Fixtures of the capture room's tests."""

from capture.capture_logs import real_logs, write_log

__all__ = ["real_logs", "write_log"]

"""Tracks of the recovery benchmark: contracts on grids, of which v0 is one."""

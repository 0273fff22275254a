"""WFRB v0: verified recovery after a rejected action, in a defined environment.

Deterministic scenarios on weighted, fully observable, solvable grids. A trial replays a
reference prefix, injects an action that the world rejects, hands over to a local policy
with a bounded number of proposals, and then checks every transition and the exact cost.

This module imports nothing, so that :mod:`wayproof.recovery.referee` can be loaded
without the world or the planner that it judges.
"""

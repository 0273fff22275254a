"""Counts, intervals and the one seeded generator."""

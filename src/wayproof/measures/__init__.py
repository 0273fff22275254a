"""Ranked measures of what a packet selected: one definition each, from results of a bundle."""

"""One module per log format; each knows its format and nothing of routes or scores.

An adapter module has ``FORMAT`` (what it is and what it can know), ``claims(head)`` (is this
log mine, by its content) and ``read(source, sessions)`` (hand the events over). They are
listed in :mod:`wayproof.capture.registry`.
"""

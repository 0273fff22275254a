"""Private evaluation: a client's agent, hidden scenarios, and what both sides signed.

Needs the extra ``[private]``. Signatures are Ed25519 in DSSE envelopes over in-toto
statements; scenarios and results are committed to by Merkle roots. What that shows, and
what nothing here stops, stands in the documentation's threat model.
"""

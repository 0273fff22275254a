"""The Explorer: one static page that plays trials and re-verifies bundles by itself.

Its JavaScript (``static/``) is a second, independent implementation of the world, the
checks, canonical JSON, SHA-256 and the result records.
"""

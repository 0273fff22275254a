"""Work on several processes, and work that is larger than memory."""

from typing import Final

__all__ = ["ENGINES"]

ENGINES: Final = ("local", "ray", "dask")
"""Names of the places where work is done; ``local`` is processes of this machine."""

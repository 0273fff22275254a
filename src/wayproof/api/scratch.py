"""A temporary folder that lives as long as what was read from it."""

import shutil
import tempfile
import weakref
from pathlib import Path

__all__ = ["Scratch"]


class Scratch:
    """A folder that is removed once nobody holds it, at the latest when Python ends."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="wayproof-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

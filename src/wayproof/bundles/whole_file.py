"""A single file, written whole or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from wayproof.bundles.places import (
    check_place,
    hold,
    partial_prefix,
    permissions,
    refuse_existing,
    sweep,
    turn,
)
from wayproof.bundles.written import note_written
from wayproof.errors import OutputError

__all__ = ["whole_file"]


@contextlib.contextmanager
def whole_file(path: Path, *, overwrite: bool) -> Iterator[IO[bytes]]:
    """Yield a binary file that takes its place only when the block ends well.

    Of several runs into one place each gives a whole file or, without ``overwrite``, is
    refused. What killed runs to the same place left behind is swept away.

    Raises
    ------
    OutputError
        When the place is taken or inside a bundle (see
        :func:`~wayproof.bundles.places.check_place`), or can't be written to.
    """
    check_place(path, overwrite=overwrite)
    try:
        with contextlib.ExitStack() as stack:
            with turn(path.parent):
                sweep(path.parent, path.name)
                file = stack.enter_context(
                    tempfile.NamedTemporaryFile(
                        dir=path.parent, prefix=partial_prefix(path.name), delete=False
                    )
                )
                partial = Path(file.name)
                held = hold(partial)
            try:
                yield file
                file.close()
                partial.chmod(permissions(0o666))
                with turn(path.parent):
                    refuse_existing(path, overwrite=overwrite)
                    partial.replace(path)
                note_written(path)
            finally:
                partial.unlink(missing_ok=True)
                if held is not None:
                    os.close(held)
    except OSError as error:
        raise OutputError("can't be written to", file=str(path), found=error.strerror) from None

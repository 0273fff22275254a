"""Takes the files that the gates name from where the gates come from.

Beside the settings they can't be changed by a pull request; what isn't copied here is a pattern.
"""

import os
import subprocess
import sys
import tomllib
from pathlib import Path, PurePosixPath


def main(settings: Path, base: str) -> None:
    """Copy each file of ``must-pass`` beside the settings: of the base, or of this revision."""
    try:
        document = tomllib.loads(settings.read_text("utf-8"))
    except ValueError:
        return  # the scoring step says what is wrong with it
    gates = document.get("gates")
    named = (
        [gates.get(key) for key in ("must-pass", "must_pass")] if isinstance(gates, dict) else []
    )
    for value in named:
        for name in [value] if isinstance(value, str) else value or []:
            path = PurePosixPath(str(name))
            if not path.is_absolute() and ".." not in path.parts:
                _copy(str(path), settings.parent / path, base)


def _copy(name: str, place: Path, base: str) -> None:
    if base:
        done = subprocess.run(
            ["git", "cat-file", "blob", f"{base}:{name}"], check=False, capture_output=True
        )
        data = done.stdout if done.returncode == 0 else None
    else:
        data = Path(name).read_bytes() if Path(name).is_file() else None
    if data is not None and place.name != "wayproof.toml":
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]), os.environ.get("BASE_REF", ""))

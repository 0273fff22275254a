"""``wayproof formats``: the log formats, and what each can't know."""

import argparse

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--json", action="store_true", help="the same as JSON")


def run(args: argparse.Namespace) -> int:
    """Describe every format."""
    from wayproof.capture.adapter import FIELDS
    from wayproof.capture.registry import formats

    described = list(formats())
    if args.json:
        import msgspec

        print(msgspec.json.encode(described).decode())
        return 0
    for one in described:
        print(f"{one.name}: {one.title}")
        print(f"  files     {one.files}")
        print(f"  versions  {one.versions}")
        print(f"  sample    {one.sampled}")
        print(f"  told by   {one.detected_by}")
        for level in ("native", "derived", "unknown"):
            names = [FIELDS[key] for key, value in one.fields.items() if value == level]
            if names:
                print(f"  {level:<9} {', '.join(names)}")
        for limit in one.limits:
            print(f"  note      {limit}")
        print()
    return 0

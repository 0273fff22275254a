"""The bundles that these tests compare."""

from compare_bundles import make_bundle

__all__ = ["make_bundle"]

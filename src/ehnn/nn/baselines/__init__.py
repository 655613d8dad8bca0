"""The models that the paper compares with, one file per paper, as layers ``layer(x, overlap) -> y``."""

from .all_set import AllDeepSets, AllSetTransformer

__all__ = ["AllDeepSets", "AllSetTransformer"]

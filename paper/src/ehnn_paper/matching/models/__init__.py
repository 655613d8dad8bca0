"""Matchers: networks that say which keypoints of two images belong together."""

from .controls import Control
from .embedding import EmbeddingMatcher
from .matcher import Matcher, Middle
from .named import CONTROLS, LOSSES, MATCHERS, make_matcher

__all__ = [
    "CONTROLS",
    "LOSSES",
    "MATCHERS",
    "Control",
    "EmbeddingMatcher",
    "Matcher",
    "Middle",
    "make_matcher",
]

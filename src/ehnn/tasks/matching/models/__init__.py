"""Matchers: networks that say which keypoints of two images belong together."""

from .controls import Control
from .embedding import EmbeddingMatcher
from .matcher import Matcher, Middle
from .named import CONTROLS, JOINT, LOSSES, MATCHERS, make_matcher

__all__ = [
    "CONTROLS",
    "JOINT",
    "LOSSES",
    "MATCHERS",
    "Control",
    "EmbeddingMatcher",
    "Matcher",
    "Middle",
    "make_matcher",
]

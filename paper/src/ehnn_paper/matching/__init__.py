"""Visual keypoint matching as hypergraph learning (section 4.3 of the paper)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# A function with the name of its module is imported from there: `from ehnn_paper.matching.voc import voc`.
if TYPE_CHECKING:
    from .feature_cache import FeatureStore
    from .keypoints import Keypoints, KeypointSet
    from .match import match_images
    from .models import make_matcher
    from .own_images import own_image
    from .pairs import make_pair
    from .positional import make_model
    from .storage import load_matcher, save_matcher
    from .task import Matching, MatchingData
    from .vgg import load_vgg16

_PLACES = {
    "FeatureStore": "feature_cache",
    "KeypointSet": "keypoints",
    "Keypoints": "keypoints",
    "Matching": "task",
    "MatchingData": "task",
    "load_matcher": "storage",
    "load_vgg16": "vgg",
    "make_matcher": "models",
    "make_model": "positional",
    "make_pair": "pairs",
    "match_images": "match",
    "own_image": "own_images",
    "save_matcher": "storage",
}
__all__ = [
    "FeatureStore",
    "KeypointSet",
    "Keypoints",
    "Matching",
    "MatchingData",
    "load_matcher",
    "load_vgg16",
    "make_matcher",
    "make_model",
    "make_pair",
    "match_images",
    "own_image",
    "save_matcher",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)

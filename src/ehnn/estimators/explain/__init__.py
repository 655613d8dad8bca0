"""Why a prediction is what it is: by occlusion, one hyperedge, co-member or feature at a time."""

from .explanation import Contribution, Explanation, Explanations

__all__ = ["Contribution", "Explanation", "Explanations"]

"""Labels that the user sets apart to compare members and to choose the epoch."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray


def judging_labels(validation: Any, labelled: Array, row: str) -> Array:
    """``validation`` as booleans ``[rows]``; ``labelled [rows]``. A ValueError calls a row ``row``."""
    found = np.asarray(validation)
    if found.dtype != bool or found.shape != labelled.shape:
        raise ValueError(
            f"validation must be a boolean for each {row} ({len(labelled)}), got {found.dtype} of shape "
            f"{list(found.shape)}"
        )
    if not (found & labelled).any() or not (~found & labelled).any():
        raise ValueError(
            f"validation must leave labels to train on and labels to compare with, got "
            f"{int((found & labelled).sum())} of {int(labelled.sum())}"
        )
    return found

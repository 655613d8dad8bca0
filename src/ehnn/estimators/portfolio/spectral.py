"""Spectral features: singular vectors of the normalised incidence matrix."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..spectral import right_vectors

Array = np.ndarray


def spectral_features(incidence: Any, rank: int) -> Array:
    r"""``[rows, ≤ rank]``: :math:`D_v^{-1/2}` times left singular vectors of :math:`D_v^{-1/2} H D_e^{-1/2}`.

    The mean degree and the mean order are added to each degree and order: otherwise small disconnected
    components take up the first dimensions. Rows without hyperedges are zero.
    """
    kept = np.asarray((incidence != 0).sum(0)).ravel() >= 2
    matrix = incidence[:, np.flatnonzero(kept)]
    if min(matrix.shape) < 2 or rank < 1:
        return np.zeros((incidence.shape[0], 0), np.float32)
    degrees, orders = (np.asarray(matrix.sum(axis)).ravel() for axis in (1, 0))
    of_rows, of_groups = (1 / np.sqrt(d + max(d.mean(), 1e-12)) for d in (degrees, orders))
    scaled = matrix.multiply(of_rows[:, None]).multiply(of_groups[None]).tocsr().astype(np.float32)
    right = right_vectors(scaled, rank)
    found = of_rows[:, None] * np.asarray(scaled @ right)
    return (found / np.maximum(np.sqrt((found**2).mean(0)), 1e-12)).astype(np.float32)

"""Spectral features: singular vectors of the normalised incidence matrix.

Without features of their own, nodes that play the same part in different circles look alike to an equivariant
model. These tell the circles apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray
_DENSE = 1_000_000  # entries of a matrix that is decomposed as a whole
_SMALLEST = 1e-4  # the share of the largest singular value below which a direction is none
_MORE, _STEPS = 8, 6  # further dimensions and products of an approximate decomposition


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


def right_vectors(matrix: Any, rank: int) -> Array:
    """``[columns, ≤ rank]`` right singular vectors, largest first; the largest entry of each is positive.

    Those that the matrix takes to next to nothing are left out: in its own rows they read rounding alone, and
    in the rows of another matrix anything. Of a large matrix they are approximate: a random subspace, brought
    near by a few products with the matrix (Halko, Martinsson, Tropp 2011), linear in its entries.
    """
    if min(matrix.shape) <= rank + _MORE or matrix.shape[0] * matrix.shape[1] <= _DENSE:
        right = np.linalg.svd(
            matrix.toarray() if hasattr(matrix, "toarray") else matrix, full_matrices=False
        )[2][:rank].T
    else:
        right = np.random.default_rng(0).standard_normal((matrix.shape[1], rank + _MORE), np.float32)
        for _ in range(_STEPS):
            right = matrix.T @ _orthonormal(matrix @ _orthonormal(right))
        right = _orthonormal(right)[:, :rank]
    size = np.linalg.norm(matrix @ right, axis=0)
    right = right[:, size > _SMALLEST * size.max(initial=0.0)]
    top = np.abs(right).argmax(0)
    return np.ascontiguousarray(right * np.sign(right[top, np.arange(right.shape[1])]))


def _orthonormal(columns: Array) -> Array:
    """An orthonormal basis of the columns, by their few scalar products; the longest direction first."""
    squares, turn = np.linalg.eigh((columns.T @ columns).astype(np.float64))
    turn = turn / np.sqrt(np.maximum(squares, 1e-6 * squares[-1]))
    return columns @ turn[:, ::-1].astype(columns.dtype)

"""Spectral features of the incidence matrix.

Without features of their own, nodes that play the same part in different circles look alike to an equivariant
model. A truncated singular value decomposition of the incidence matrix tells the circles apart.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ehnn.hypergraph import Hypergraph
from ehnn.io._names import factorize

RANK = 64
_DENSE = 1_000_000  # entries of a matrix that is decomposed as a whole
_SMALLEST = 1e-4  # the share of the largest singular value below which a direction is none
_MORE, _STEPS = 8, 6  # further dimensions and products of an approximate decomposition


@dataclass(frozen=True)
class SpectralEmbedding:
    """A vector for each named hyperedge; a node gets the mean over those it is in.

    Attributes:
        names: of the hyperedges.
        vectors: ``[names, rank]``.
    """

    names: tuple[str, ...]
    vectors: Tensor

    @classmethod
    def none(cls) -> SpectralEmbedding:
        return cls((), torch.zeros(0, 0))

    @classmethod
    def learn(cls, h: Hypergraph, rank: int = RANK) -> SpectralEmbedding:
        """From the hyperedges of at least 2 nodes: W = D_e^{-1/2} V of D_v^{-1/2} H D_e^{-1/2} = U Σ Vᵀ.

        Each degree and order counts as much more as their mean, or else small components, cut off from all
        others, would take up the first dimensions.
        """
        from scipy.sparse import diags

        kept = (h.orders >= 2).numpy()
        names = tuple(np.array(h.edge_names, dtype=object)[kept].tolist())
        if h.num_nodes < 2 or not names:
            return cls.none()
        matrix = incidence(h)[:, kept]
        degrees, orders = (np.asarray(matrix.sum(axis)).ravel() for axis in (1, 0))
        of_nodes, of_edges = (1 / np.sqrt(d + d.mean()) for d in (degrees, orders))
        right = right_vectors(diags(of_nodes) @ matrix @ diags(of_edges), rank)
        vectors = of_edges[:, None] * right
        return cls(names, torch.from_numpy(vectors * np.sqrt(len(names))).to(torch.get_default_dtype()))

    def encode(self, h: Hypergraph) -> tuple[Tensor, np.ndarray]:
        """``[num_nodes, rank]``, and ``[num_edges]`` bool: which hyperedges are known by name."""
        code, _ = factorize(h.edge_names or (), self.names)
        known = code < len(self.names)
        matrix = incidence(h)[:, known]
        count = np.maximum(np.asarray(matrix.sum(1)), 1)[:, None]
        rows = (matrix @ self.vectors.double().numpy()[code[known]]) / count
        return torch.from_numpy(rows).to(self.vectors.dtype), known


def incidence(h: Hypergraph):  # type: ignore[no-untyped-def]
    """The incidence matrix ``[num_nodes, num_edges]`` of scipy."""
    from scipy.sparse import csr_array

    node, edge = h.index.numpy()
    return csr_array((np.ones(len(node), np.float32), (node, edge)), (h.num_nodes, h.num_edges))


def right_vectors(matrix, rank: int) -> np.ndarray:  # type: ignore[no-untyped-def]
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


def _orthonormal(columns: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the columns, by their few scalar products; the longest direction first."""
    squares, turn = np.linalg.eigh((columns.T @ columns).astype(np.float64))
    turn = turn / np.sqrt(np.maximum(squares, 1e-6 * squares[-1]))
    return columns @ turn[:, ::-1].astype(columns.dtype)

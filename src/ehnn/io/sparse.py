"""scipy sparse incidence matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ehnn.hypergraph import Hypergraph

from ._support import single

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def to_scipy(h: Hypergraph, *, signed: bool = False) -> csr_array:
    """The incidence matrix ``[num_nodes, num_edges]``, with the incidence weights (or ones) as entries.

    With ``signed``, of a directed hypergraph: entries of a tail are negative, those of a head positive, as in
    a stoichiometric matrix. A node in both has no sign and is refused, and so are weights below 0.

    It carries the structure, isolated nodes, empty hyperedges and incidence weights (bfloat16 and
    float16 as float32); not features, labels, hyperedge weights or names. Weights of 0 are
    refused, because a sparse matrix does not store them; weights that are all 1 read back as none.

    >>> to_scipy(Hypergraph.from_edges([[0, 1], [1, 2]])).toarray().tolist()
    [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
    """
    from scipy.sparse import csr_array

    h = single(h, "to_scipy", carries=("direction", "incidence_x") if signed else ("incidence_x",))
    weight = torch.ones(h.num_incidences) if h.incidence_weight is None else h.incidence_weight.cpu().detach()
    if weight.dtype in (torch.bfloat16, torch.float16):
        weight = weight.float()
    if bool((weight == 0).any()):
        raise ValueError("incidence_weight has zeros, which a sparse matrix does not store")
    if signed:
        weight = weight * _signs(h, weight)
    node, edge = h.index.cpu().numpy()
    return csr_array((weight.numpy(), (node, edge)), shape=(h.num_nodes, h.num_edges))


def _signs(h: Hypergraph, weight: torch.Tensor) -> torch.Tensor:
    if h.roles is None or int(h.roles.max() if h.num_incidences else 0) > 1:
        raise ValueError(
            "signed=True needs a directed hypergraph with every node in the tail or in the head, got "
            + ("no roles" if h.roles is None else "a node in both")
        )
    if bool((weight < 0).any()):
        raise ValueError("incidence_weight must be positive with signed=True, got negative ones")
    return 2 * h.roles.cpu().to(weight.dtype) - 1


def from_scipy(matrix: Any, *, signed: bool = False) -> Hypergraph:
    """A hypergraph from a sparse incidence matrix ``[num_nodes, num_edges]`` of any scipy format.

    Nonzero entries are incidences; entries other than 1 become incidence weights. Entries given twice
    in COO form are added up, because scipy defines the matrix so; `Hypergraph.from_incidence` counts equal
    ones once and refuses others. Add features and names with ``.replace``. With ``signed``,
    negative entries are tails (role 0), positive ones heads (role 1), and their sizes the weights.

    >>> import scipy.sparse
    >>> from_scipy(scipy.sparse.csr_array([[1, 0], [1, 1], [0, 1]])).edges()
    [[0, 1], [1, 2]]
    """
    from scipy.sparse import issparse

    if not issparse(matrix) or len(matrix.shape) != 2:
        raise ValueError(f"from_scipy takes a two-dimensional sparse matrix, got {type(matrix).__name__}")
    if matrix.dtype.kind not in "iufb":
        raise ValueError(f"incidence entries must be real numbers, got dtype {matrix.dtype}")
    rows = matrix.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    if rows.dtype.kind == "u":
        rows = rows.astype(np.int64)
    if not signed:
        return Hypergraph.from_incidence(rows)
    h = Hypergraph.from_incidence(abs(rows))
    sign = Hypergraph.from_incidence(rows).incidence_weight
    heads = torch.ones(h.num_incidences, dtype=torch.int64) if sign is None else (sign > 0).long()
    return h.replace(roles=heads, num_roles=2)

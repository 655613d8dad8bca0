"""scipy sparse incidence matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ehnn.hypergraph import Hypergraph

from ._support import single

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def to_scipy(h: Hypergraph) -> csr_array:
    """The incidence matrix ``[num_nodes, num_edges]``, with the incidence weights (or ones) as entries.

    It carries the structure, isolated nodes, empty hyperedges and incidence weights (bfloat16 and
    float16 as float32); not features, labels, hyperedge weights or names. Weights of 0 cannot be told
    from absence and are refused; weights that are all 1 read back as none.
    """
    from scipy.sparse import csr_array

    h = single(h, "to_scipy")
    weight = torch.ones(h.num_incidences) if h.incidence_weight is None else h.incidence_weight.cpu().detach()
    if weight.dtype in (torch.bfloat16, torch.float16):
        weight = weight.float()
    if bool((weight == 0).any()):
        raise ValueError("incidence_weight has zeros, which a sparse matrix cannot tell from no incidence")
    node, edge = h.index.cpu().numpy()
    return csr_array((weight.numpy(), (node, edge)), shape=(h.num_nodes, h.num_edges))


def from_scipy(matrix: Any) -> Hypergraph:
    """A hypergraph from a sparse incidence matrix ``[num_nodes, num_edges]`` of any scipy format.

    Nonzero entries are incidences; entries other than 1 become incidence weights. Entries given twice
    in COO form are added up, as scipy does. Add features and names with ``.replace``.
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
    return Hypergraph.from_incidence(rows)

"""The dense, exact reference: equivariant linear layers for small n. Pure functions.

An order-k tensor over n nodes with d channels has shape ``[n]*k + [d]``. The sparse layers are tested
against the functions here, and the paper's theorems are tests of them.
"""

from ehnn._utils.moved import former

from .conversions import read_hyperedges, to_tensor, to_tensor_sequence
from .dimension import equivariant_dimension, sequence_dimension, symmetric_dimension, uniform_dimension
from .layers import general_layer, permute_tensor, symmetric_layer
from .packed import pack
from .patterns import bell, canonical_patterns, set_partitions
from .reductions import pool_overlaps, uniform_from_symmetric
from .roles import overlap_matrices, role_dimension, role_hyperedges, role_layer
from .sequence import sequence_layer
from .symmetric import symmetric_classes, untie
from .uniform import distinct_mask, uniform_layer
from .uniform_sequence import UniformHypergraph

__all__ = [
    "UniformHypergraph",
    "bell",
    "canonical_patterns",
    "distinct_mask",
    "equivariant_dimension",
    "general_layer",
    "overlap_matrices",
    "pack",
    "permute_tensor",
    "pool_overlaps",
    "read_hyperedges",
    "role_dimension",
    "role_hyperedges",
    "role_layer",
    "sequence_dimension",
    "sequence_layer",
    "set_partitions",
    "symmetric_classes",
    "symmetric_dimension",
    "symmetric_layer",
    "to_tensor",
    "to_tensor_sequence",
    "uniform_dimension",
    "uniform_from_symmetric",
    "uniform_layer",
    "untie",
]

__getattr__ = former(
    __name__,
    internal={
        ".checks": "MAX_ENTRIES",
        ".conversions": "from_tensor from_tensor_sequence",
        ".packed": "unpack",
        ".patterns": "multi_indices num_distinct pattern_basis pattern_numbers stirling2",
        ".reductions": "packed_from_sequence unpool_overlaps",
        ".roles": "overlap_matrix role_counts",
        ".symmetric": "SymmetricClasses overlap_class tie",
        ".uniform": "overlap_table",
        ".uniform_sequence": "to_uniform_sequence from_uniform_sequence",
    },
)

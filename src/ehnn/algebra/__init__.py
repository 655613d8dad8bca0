"""The law: equivariant linear layers, dense and exact, for small n. Pure functions.

An order-k tensor over n nodes with d channels has shape ``[n]*k + [d]``. The sparse layers are tested
against the functions here, and the paper's theorems are tests of them.
"""

from .checks import MAX_ENTRIES
from .conversions import (
    from_tensor,
    from_tensor_sequence,
    read_hyperedges,
    to_tensor,
    to_tensor_sequence,
)
from .dimension import equivariant_dimension, sequence_dimension, symmetric_dimension, uniform_dimension
from .layers import general_layer, permute_tensor, symmetric_layer
from .packed import pack, unpack
from .patterns import (
    bell,
    canonical_patterns,
    multi_indices,
    num_distinct,
    pattern_basis,
    pattern_numbers,
    set_partitions,
    stirling2,
)
from .reductions import packed_from_sequence, pool_overlaps, uniform_from_symmetric, unpool_overlaps
from .sequence import sequence_layer
from .symmetric import SymmetricClasses, overlap_class, symmetric_classes, tie, untie
from .uniform import distinct_mask, overlap_table, uniform_layer
from .uniform_sequence import UniformHypergraph, from_uniform_sequence, to_uniform_sequence

__all__ = [
    "MAX_ENTRIES",
    "SymmetricClasses",
    "UniformHypergraph",
    "bell",
    "canonical_patterns",
    "distinct_mask",
    "equivariant_dimension",
    "from_tensor",
    "from_tensor_sequence",
    "from_uniform_sequence",
    "general_layer",
    "multi_indices",
    "num_distinct",
    "overlap_class",
    "overlap_table",
    "pack",
    "packed_from_sequence",
    "pattern_basis",
    "pattern_numbers",
    "permute_tensor",
    "pool_overlaps",
    "read_hyperedges",
    "sequence_dimension",
    "sequence_layer",
    "set_partitions",
    "stirling2",
    "symmetric_classes",
    "symmetric_dimension",
    "symmetric_layer",
    "tie",
    "to_tensor",
    "to_tensor_sequence",
    "to_uniform_sequence",
    "uniform_dimension",
    "uniform_from_symmetric",
    "uniform_layer",
    "unpack",
    "unpool_overlaps",
    "untie",
]

"""Operations: a folder each, with the definition (``naive.py``) beside the fast versions."""

from ehnn._utils.malloc import keep_freed_memory
from ehnn._utils.moved import former

from .additive_attention import additive_attention as additive_attention
from .attention_logits import attention_logits as attention_logits
from .dispatch import explain, use_backend
from .dropout import Mask as Mask
from .dropout import of_part as of_part
from .dropout import seeded_dropout
from .ehnn_mlp import EhnnMlpParts as EhnnMlpParts
from .ehnn_mlp import ehnn_mlp as ehnn_mlp
from .generated_matmul import generated_matmul as generated_matmul
from .generated_matmul import generated_mix as generated_mix
from .grouped_matmul import grouped_matmul
from .linear import linear as linear
from .memory import bounded_memory
from .norm import layer_norm as layer_norm
from .overlap_sums import members_to_targets as members_to_targets
from .overlap_sums import pool as pool
from .overlap_sums import to_targets as to_targets
from .phi import Fusable as Fusable
from .phi import PhiWeights as PhiWeights
from .phi import Residual as Residual
from .phi import phi as phi
from .segment_sum import aggregate as aggregate
from .segment_sum import broadcast_rows, segment_mean, segment_sum
from .softmax_sum import segment_softmax_sum

# "x as x": for the layers of ehnn.nn, not public.
__all__ = [
    "bounded_memory",
    "broadcast_rows",
    "explain",
    "grouped_matmul",
    "keep_freed_memory",
    "seeded_dropout",
    "segment_mean",
    "segment_softmax_sum",
    "segment_sum",
    "use_backend",
]

__getattr__ = former(__name__, {"spread": "ehnn.ops:broadcast_rows"})

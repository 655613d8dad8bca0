"""Association hypergraph, matcher and loss as one compiled graph, run by test_matching_compiled.py.

In processes of their own, with ``EHNN_BACKEND=triton`` and interpreted kernels or without.
"""

import sys

import torch
from matching_examples import CHANNELS, WHOLE, random_batch
from torch import Tensor

from ehnn.hypergraph import pairs as pairs_module
from ehnn_paper.matching.loss import permutation_loss
from ehnn_paper.matching.models import make_matcher
from ehnn_paper.matching.pair_batch import PairBatch

pairs_module.LONG = 3  # rows of more than three pairs are cut
BATCHES = {  # five pairs, since a size that happens to equal a constant is taken for it
    "ehnn-mlp": [[(5, 6), (6, 5), (7, 5), (5, 5), (4, 5)], [(6, 4), (5, 5), (4, 4), (7, 6), (3, 4), (5, 4)]],
    "ehnn-transformer": [[(4, 4)]],
}


def compare(name: str) -> None:
    """Values and gradients of batches of different sizes, or of a single pair."""
    torch.manual_seed(0)
    model = make_matcher(name, CHANNELS, WHOLE, refine=1, width=16)
    parameters = list(model.parameters())

    def whole(batch: PairBatch) -> Tensor:
        association = model.associate(batch)
        return permutation_loss(model(batch, association), batch, association.candidates)

    compiled = torch.compile(whole, fullgraph=True, dynamic=True, backend="aot_eager")
    for seed, counts in enumerate(BATCHES[name]):
        if seed:
            torch.compiler.set_stance("fail_on_recompile")  # one graph serves them
        batch = random_batch(counts, seed).to("cpu")  # which counts its sizes
        found, wanted = (
            (loss, *torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True))
            for loss in (compiled(batch), whole(batch))
        )
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        compare(name)
    print("all agree")

"""Cases for Sinkhorn as one kernel, run by test_matching_solvers.py in a process of their own.

Triton decides at import whether its kernels are interpreted, so the variable must be set before.
"""

import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
from matching_examples import random_batch

from ehnn.ops import use_backend
from ehnn_paper.matching.candidates import candidates_of
from ehnn_paper.matching.sinkhorn import sinkhorn
from ehnn_paper.matching.triton_sinkhorn import triton_sinkhorn


def compare(counts: list[tuple[int, int]], iterations: int) -> None:
    candidates = candidates_of(random_batch(counts))
    scores = torch.randn(len(candidates), generator=torch.Generator().manual_seed(1))
    weights = torch.rand(len(candidates), generator=torch.Generator().manual_seed(2))
    found = {}
    for backend in ("reference", "triton"):
        given = scores.clone().requires_grad_()
        with use_backend(backend):
            log_p = sinkhorn(given, candidates, iterations)
            (log_p * weights).sum().backward()
        found[backend] = log_p.detach(), given.grad
    torch.testing.assert_close(found["triton"], found["reference"], rtol=1e-4, atol=1e-4)


def runs_side_by_side() -> None:
    x = torch.randn(2, 3, 5, 5)
    together = torch.vmap(lambda one: triton_sinkhorn(one, 4))(x)
    apart = torch.stack([triton_sinkhorn(one, 4) for one in x])
    torch.testing.assert_close(together, apart)


if __name__ == "__main__":
    for iterations in (1, 2, 7, 20):
        compare([(4, 6), (5, 5), (9, 3), (1, 1)], iterations)
    compare([(18, 17)], 20)
    runs_side_by_side()
    print("all agree")

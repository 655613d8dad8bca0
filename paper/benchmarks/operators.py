"""What PyTorch's way to a custom operator costs beside a plain call of the same function.

``python paper/benchmarks/operators.py``: microseconds of a call of a function that returns an empty tensor,
as an operator and as it is (`ehnn.ops.autograd.opaque`), the least of several rounds, as a line of JSON.
"""

from __future__ import annotations

import json
import timeit

import torch
from torch import Tensor

from ehnn.ops.autograd import opaque
from ehnn_paper.results import provenance

CALLS, ROUNDS = 10_000, 7


@opaque("ehnn_benchmarks::nothing", fake=torch.empty_like)
def nothing(x: Tensor) -> Tensor:
    return torch.empty_like(x)


def microseconds(call: str) -> float:
    x = torch.ones(1)
    return min(timeit.repeat(call, number=CALLS, repeat=ROUNDS, globals={**globals(), "x": x})) / CALLS * 1e6


if __name__ == "__main__":
    found = {"operator_us": microseconds("nothing.op(x)"), "plain_us": microseconds("nothing(x)")}
    print(json.dumps(provenance("python paper/benchmarks/operators.py") | found))

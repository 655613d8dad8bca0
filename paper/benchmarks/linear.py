"""Products of many float32 rows: three products of halves each (`ehnn.ops.linear`) against cuBLAS.

``python paper/benchmarks/linear.py``, on a GPU: as many rows as walmart-trips has nodes and hyperedges,
width 256, forward and backward; medians. The error is the root mean square of the
difference from float64.
"""

from __future__ import annotations

import argparse

import torch
import torch.nn.functional as F

from ehnn.ops import linear
from ehnn_paper.measure.timing import median, milliseconds
from ehnn_paper.results import provenance, write_rows

ROWS, WIDTH = 158_766, 256
KINDS = {"three products of halves": linear, "cuBLAS float32": F.linear}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--out", default="results")
    given = parser.parse_args()
    if not torch.cuda.is_available():
        print("skipped: this benchmark needs a GPU")
        return
    torch.manual_seed(0)
    x = torch.randn(ROWS, WIDTH, device="cuda", requires_grad=True)
    w = (torch.randn(WIDTH, WIDTH, device="cuda") / WIDTH**0.5).requires_grad_()
    exact = F.linear(x.detach().double(), w.detach().double())
    about = provenance(f"python paper/benchmarks/linear.py --repeats {given.repeats}")
    rows = []
    for name, product in KINDS.items():
        y = product(x, w)
        seed = torch.randn_like(y)
        found = {
            "forward_ms": milliseconds(lambda f=product: f(x, w), given.repeats, "cuda"),
            "backward_ms": milliseconds(lambda y=y, g=seed: _gradients(y, (x, w), g), given.repeats, "cuda"),
            "error": [float((y.detach().double() - exact).square().mean().sqrt())],
        }
        print(name, "  ".join(f"{k} {median(v):.3g}" for k, v in found.items()))
        rows += [
            {"setting": f"{ROWS} rows, width {WIDTH}", "model": name, "selection": "none", "metric": metric,
             "mean": median(values), "std": None, "runs": len(values), "paper": None, **about}
            for metric, values in found.items()
        ]  # fmt: skip
    write_rows("linear", rows, given.out)


def _gradients(y: torch.Tensor, inputs: tuple[torch.Tensor, ...], grad: torch.Tensor) -> None:
    torch.autograd.grad(y, inputs, grad, retain_graph=True)


if __name__ == "__main__":
    main()

"""What roles cost: V→E→V of EHNN layers on a directed hypergraph against the same one without direction.

``python paper/benchmarks/roles.py``: 10⁶ incidences, 200,000 nodes, 250,000 hyperedges of order 4, two sides
drawn at random, width 64, float32, forward and backward. ``one role`` has roles that are all equal, and must
cost what no roles cost. The three take turns; times are medians, ratios are medians of those of the turns.
"""

from __future__ import annotations

import argparse
from functools import partial

import torch
from torch import Tensor, nn

from ehnn import Hypergraph
from ehnn.nn import EHNNMLP, EHNNTransformer
from ehnn_paper.measure.timing import make_step, median, split_times
from ehnn_paper.results import provenance, write_rows

NODES, EDGES, ORDER, WIDTH = 200_000, 250_000, 4, 64
LAYERS = {"ehnn-mlp": EHNNMLP, "ehnn-transformer": partial(EHNNTransformer, heads=4)}
KINDS = ("undirected", "one role", "directed")


class Pair(nn.Module):
    """A layer from nodes to hyperedges, and one back."""

    def __init__(self, layer: type[nn.Module]) -> None:
        super().__init__()
        self.there, self.back = layer(WIDTH, WIDTH), layer(WIDTH, WIDTH)

    def forward(self, h: Hypergraph, x: Tensor) -> Tensor:
        return self.back(self.there(x, h.overlap("nodes", "edges")), h.overlap("edges", "nodes"))


def hypergraphs(scale: float, device: str) -> dict[str, Hypergraph]:
    """The same incidences with each of `KINDS`."""
    n, m = int(NODES * scale), int(EDGES * scale)
    g = torch.Generator().manual_seed(0)
    first = torch.randint(n, (m, 1), generator=g)
    step = torch.randint(1, n // ORDER, (m, 1), generator=g)  # so that members differ
    node = ((first + step * torch.arange(ORDER)) % n).flatten()
    edge = torch.arange(m).repeat_interleave(ORDER)
    side = torch.randint(2, (m * ORDER,), generator=g)
    roles = {"undirected": None, "one role": torch.zeros_like(side), "directed": side}
    return {
        kind: Hypergraph.from_incidence((node, edge), n, m, roles=role).to(device)
        for kind, role in roles.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--scale", type=float, default=1.0, help="part of the incidences")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", default="results")
    given = parser.parse_args()
    torch.set_num_threads(1)
    command = f"python paper/benchmarks/roles.py --repeats {given.repeats} --device {given.device}"
    about = provenance(command)
    graphs = hypergraphs(given.scale, given.device)
    for name, layer in LAYERS.items():
        torch.manual_seed(0)
        x = torch.randn(graphs["undirected"].num_nodes, WIDTH, device=given.device)
        model = Pair(layer).to(given.device)
        steps = {kind: make_step(model, partial(model, h, x)) for kind, h in graphs.items()}
        times = {k: v["total"] for k, v in split_times(steps, given.repeats, given.device).items()}
        found = {f"{kind}, ms": median(times[kind]) for kind in KINDS}
        for kind in KINDS[1:]:
            ratios = [a / b for a, b in zip(times[kind], times["undirected"], strict=True)]
            found[f"{kind} / undirected"] = median(ratios)
        print(name, "  ".join(f"{k} {v:.3g}" for k, v in found.items()), flush=True)
        size = graphs["undirected"].num_incidences
        rows = [
            {"setting": f"{size} incidences, {given.device}", "model": name, "selection": "none",
             "metric": metric, "mean": value, "std": None, "runs": given.repeats, "paper": None, **about}
            for metric, value in found.items()
        ]  # fmt: skip
        write_rows("roles", rows, given.out)


if __name__ == "__main__":
    main()
